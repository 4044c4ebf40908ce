/* drivers/dialect.h: what the servers of language models send and expect, as bytes; no socket. A dialect is a server's way of speaking
 * the routes; a route is a path, a request body and the meaning of what comes back.
 * Shapes   a request body per input; answers as pieces: an event's data, a line, or a whole body
 * Source   the OpenAI API (completions, chat completions, responses, embeddings) as served by vLLM, SGLang, TGI, llama.cpp, Ollama and
 *          TensorRT-LLM; llama.cpp's, Ollama's and TGI's own routes as their documents describe them. docs/drivers.md says which of them
 *          were recorded from a running server, and of which version
 * Note     a chunk is not a token: tokens come from usage (per chunk where the server keeps it running, else the final one) */
#ifndef DRIVERS_DIALECT_H
#define DRIVERS_DIALECT_H

#include "drivers/route.h"

/* The dialects by name ("any" is first), in the order in which documents list them. */
extern const struct dialect dialects[];
extern const size_t n_dialects;
const struct dialect *dialect_find(const char *name); /* NULL: there is none */

/* UNSUPPORTED: that server has no such route. */
enum lynx_status dialect_route(const struct dialect *dialect, enum request_route route, bool stream, struct route *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;

/* Which route a request is for that somebody else sent, by the end of its path: "/api/v1/completions". Whether it streams is the body's
 * word, or where that says nothing the server's own default. False: none of these. */
struct path_route {
  struct route route;
  bool embeddings;
};
bool dialect_of_path(const char *path, bool streams_said, bool streams, struct path_route *ret);

#endif
