/* cli/server_look.h: what a server says of itself before it is measured.
 * Errors   what is wrong was reported, as the tool's; never with the URL, which may hold a password
 */
#ifndef CLI_SERVER_LOOK_H
#define CLI_SERVER_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVER_URL = 1000, SERVER_MODEL = 300 };

struct server_look {
  char model[SERVER_MODEL]; /* the one that was given, or the first that it lists */
  const char *ready;        /* a route that says that it is ready */
};

bool server_is_url(const char *text);

/* As a contract takes it: routes are added to it. */
bool server_url_read(const char *tool, const char *given, char url[SERVER_URL]);

/* model NULL: it is asked. An exit code. */
int server_look(const char *tool, const char *url, const char *model, struct server_look *ret);

/* How long an answer of so many tokens takes, in ns; -1: it did not answer. */
int64_t server_time_answer(const char *url, const char *model, bool chat, int tokens);

#endif
