/* cli/server_look.h: what a server says of itself before it is measured.
 * Errors   what is wrong was reported, as the tool's; never with the URL, which may hold a password
 */
#ifndef CLI_SERVER_LOOK_H
#define CLI_SERVER_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVER_URL = 1000, SERVER_MODEL = 300 };

/* How a server is asked. */
struct server_access {
  const char *given;        /* its URL, as it was given */
  const char *key_variable; /* the name of the variable that holds its key; NULL: none is sent */
  const char *ca_file;      /* NULL: the system's certificates */
  char url[SERVER_URL];     /* as a contract takes it: routes are added to it */
  const char *key;
};

struct server_look {
  char model[SERVER_MODEL]; /* the one that was given, or the first that it lists */
  const char *ready;        /* a route that says that it is ready */
  bool chat;                /* it answers by the chat route only, or that one was wanted */
  bool ends_itself;         /* it refuses ignore_eos */
};

bool server_is_url(const char *text);

/* Fills in url and key. */
bool server_access_read(const char *tool, const struct server_access *given, struct server_access *ret);

/* model NULL: it is asked. It is asked for one token, too: what a run would be refused for is reported now, in its own words, with what helps.
 * An exit code. */
int server_look(const char *tool, const struct server_access *server, const char *model, bool chat, struct server_look *ret);

/* How long an answer of so many tokens takes, in ns; -1: it did not answer. */
int64_t server_time_answer(const struct server_access *server, const struct server_look *look, int tokens);

#endif
