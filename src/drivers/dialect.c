#include "drivers/dialect.h"

#include <string.h>

#include "base/number.h"
#include "base/json_scan.h"
#include "drivers/native.h"
#include "drivers/openai.h"

const struct dialect dialects[] = {
    {.name = "any",
     .ignores_eos = true,
     .continuous_usage = true,
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "an OpenAI-compatible server, lynxbench-ref among them: unknown members are taken or ignored by most"},
    {.name = "openai",
     .chat_tokens = "max_completion_tokens",
     .extra = "",
     .summary = "refuses unknown members: nothing but what its documents name is sent, and answers end where the model ends them"},
    {.name = "vllm",
     .ignores_eos = true,
     .continuous_usage = true,
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "ignore_eos, running usage; cached tokens are told with --enable-prompt-tokens-details"},
    {.name = "sglang",
     .ignores_eos = true,
     .continuous_usage = true,
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "ignore_eos, running usage; cached tokens are told with --enable-cache-report"},
    {.name = "tgi",
     .times_in_head = true,
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "cannot be told to ignore the end: lengths vary, and what came is reported; native: /generate_stream, a token per event; "
                "x-queue-time and x-inference-time become phases"},
    {.name = "llamacpp",
     .ignores_eos = true,
     .chat_tokens = "max_tokens",
     .extra = "\"cache_prompt\":false",
     .summary = "its prompt cache is switched off; its own times of prefill and decoding become phases; native: /completion"},
    {.name = "ollama",
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "cannot be told to ignore the end; native: /api/generate, native_chat: /api/chat, with its own times as phases"},
    {.name = "transformers",
     .chat_tokens = "max_tokens",
     .extra = "",
     .summary = "`transformers serve`: refuses unknown members, and cannot be told to ignore the end"},
    {.name = "trtllm", .ignores_eos = true, .chat_tokens = "max_tokens", .extra = "", .summary = "trtllm-serve: ignore_eos"},
};
const size_t n_dialects = LYNX_COUNT(dialects);

const struct dialect *dialect_find(const char *name) {
  for (size_t i = 0; i < n_dialects; i++)
    if (strcmp(dialects[i].name, name) == 0) return &dialects[i];
  return NULL;
}

static const struct route openai_routes[] = {
    [ROUTE_COMPLETIONS] = {"/v1/completions", FRAMING_EVENTS, true, true, false, openai_completions_body, openai_read},
    [ROUTE_CHAT] = {"/v1/chat/completions", FRAMING_EVENTS, true, true, false, openai_chat_body, openai_read},
    [ROUTE_RESPONSES] = {"/v1/responses", FRAMING_EVENTS, true, false, false, openai_responses_body, responses_read},
    [ROUTE_EMBEDDINGS] = {"/v1/embeddings", FRAMING_WHOLE, false, false, false, openai_embeddings_body, openai_read},
};

static const struct native_route {
  const char *dialect;
  enum request_route route;
  struct route streamed;
  const char *whole_path; /* without a stream */
} native_routes[] = {
    {"llamacpp", ROUTE_NATIVE, {"/completion", FRAMING_EVENTS, true, false, true, llamacpp_body, llamacpp_read}, "/completion"},
    {"ollama", ROUTE_NATIVE, {"/api/generate", FRAMING_LINES, true, false, false, ollama_generate_body, ollama_read}, "/api/generate"},
    {"ollama", ROUTE_NATIVE_CHAT, {"/api/chat", FRAMING_LINES, true, false, false, ollama_chat_body, ollama_read}, "/api/chat"},
    {"tgi", ROUTE_NATIVE, {"/generate_stream", FRAMING_EVENTS, true, false, false, tgi_body, tgi_read}, "/generate"},
};

enum lynx_status dialect_route(const struct dialect *dialect, enum request_route route, bool stream, struct route *ret,
                               struct lynx_error *error) {
  if ((size_t)route < LYNX_COUNT(openai_routes)) {
    *ret = openai_routes[route];
    if (!stream) ret->framing = FRAMING_WHOLE;
    return LYNX_OK;
  }
  for (size_t i = 0; i < LYNX_COUNT(native_routes); i++) {
    if (native_routes[i].route != route || strcmp(native_routes[i].dialect, dialect->name) != 0) continue;
    *ret = native_routes[i].streamed;
    if (!stream) {
      ret->path = native_routes[i].whole_path;
      ret->framing = FRAMING_WHOLE;
    }
    return LYNX_OK;
  }
  return lynx_fail(error, LYNX_UNSUPPORTED, "%s is a route of one server; workload.options.server is %s, and %s",
                   route == ROUTE_NATIVE ? "native" : "native_chat", dialect->name,
                   route == ROUTE_NATIVE ? "llamacpp, ollama and tgi have one" : "ollama has one");
}

static bool path_ends_with(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n >= m && strcmp(path + n - m, end) == 0;
}

bool dialect_of_path(const char *path, bool streams_said, bool streams, struct path_route *ret) {
  for (size_t i = 0; i < LYNX_COUNT(openai_routes); i++) {
    const char *whole = openai_routes[i].path, *short_path = whole + strlen("/v1"); /* llama.cpp serves both */
    if (!path_ends_with(path, whole) && strcmp(path, short_path) != 0) continue;
    *ret = (struct path_route){.route = openai_routes[i], .embeddings = i == ROUTE_EMBEDDINGS};
    if (!streams) ret->route.framing = FRAMING_WHOLE;
    return true;
  }
  for (size_t i = 0; i < LYNX_COUNT(native_routes); i++) {
    const char *streamed = native_routes[i].streamed.path, *whole = native_routes[i].whole_path;
    bool one_path = strcmp(streamed, whole) == 0;
    if (!path_ends_with(path, streamed) && !path_ends_with(path, whole)) continue;
    bool lines = native_routes[i].streamed.framing == FRAMING_LINES; /* Ollama streams unless it is told not to */
    bool does = one_path ? (streams_said ? streams : lines) : path_ends_with(path, streamed);
    *ret = (struct path_route){.route = native_routes[i].streamed};
    if (!does) ret->route.framing = FRAMING_WHOLE;
    return true;
  }
  return false;
}
