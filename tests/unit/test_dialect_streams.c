/* Answers as servers sent them, replayed to the http driver over a real socket and cut in two at every byte: what is said of them does
 * not depend on where they were cut. */
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/drivers.h"
#include "tests/check.h"

struct stream {
  const char *file, *server;
  enum request_route route;
  bool stream, continuous_usage;
  enum outcome outcome;
  int64_t n_tokens, n_text_events, text_bytes; /* as delivered with events */
  int64_t prompt_tokens, output_tokens;
  size_t n_phases;
};

/* The llamacpp files were recorded from llama.cpp (tests/recorded/README.md); the others were written by hand, from the documents. */
static const struct stream streams[] = {
    {"llamacpp-completions.http", "llamacpp", ROUTE_COMPLETIONS, true, false, OUTCOME_OK, 0, 0, 0, 9, 6, 2},
    {"llamacpp-completions-whole.http", "llamacpp", ROUTE_COMPLETIONS, false, false, OUTCOME_OK, 1, 1, 0, 9, 6, 2},
    {"llamacpp-chat.http", "llamacpp", ROUTE_CHAT, true, false, OUTCOME_OK, 0, 0, 0, 10, 6, 2},
    {"llamacpp-responses.http", "llamacpp", ROUTE_RESPONSES, true, false, OUTCOME_OK, 0, 0, 0, 10, 6, 0},
    {"llamacpp-embeddings.http", "llamacpp", ROUTE_EMBEDDINGS, true, false, OUTCOME_OK, 0, 0, 0, 9, -1, 0},
    {"llamacpp-native.http", "llamacpp", ROUTE_NATIVE, true, false, OUTCOME_OK, 6, 0, 0, 9, 6, 2},
    {"llamacpp-native-whole.http", "llamacpp", ROUTE_NATIVE, false, false, OUTCOME_OK, 6, 1, 0, 9, 6, 2},
    {"llamacpp-native-error.http", "llamacpp", ROUTE_NATIVE, true, false, OUTCOME_HTTP_STATUS, 0, 0, 0, -1, -1, 0},
    {"synthetic-ollama-native.http", "ollama", ROUTE_NATIVE, true, false, OUTCOME_OK, 2, 2, 9, 5, 3, 3},
    {"synthetic-tgi-native.http", "tgi", ROUTE_NATIVE, true, false, OUTCOME_OK, 3, 2, 3, 4, 3, 0},
    {"synthetic-vllm-chat.http", "vllm", ROUTE_CHAT, true, true, OUTCOME_OK, 3, 2, 3, 9, 3, 0},
};

/* --- the server --- */

struct server {
  int listener;
  char bytes[65536];
  size_t length, cut;
};

static void read_request(int fd) {
  char text[65536];
  size_t n = 0;
  for (;;) {
    ssize_t got = read(fd, text + n, sizeof text - 1 - n);
    if (got <= 0) return;
    n += (size_t)got;
    text[n] = 0;
    const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    if (end != NULL && length != NULL && n >= (size_t)(end + 4 - text) + (size_t)atoi(length + 16)) return;
  }
}

static void *serve(void *context) {
  struct server *server = context;
  for (;;) {
    int fd = accept(server->listener, NULL, NULL), left = 1;
    if (fd < 0) return NULL;
    read_request(fd);
    if (write(fd, server->bytes, server->cut) < 0) return NULL;
    while (server->cut > 0 && ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0) (void)sched_yield(); /* until the driver has read it */
    if (write(fd, server->bytes + server->cut, server->length - server->cut) < 0) return NULL;
    (void)close(fd);
  }
}

/* --- what the driver says --- */

struct said {
  int64_t n_tokens, n_text_events, text_bytes, prompt_tokens, output_tokens;
  size_t n_phases;
  int64_t phases_ns;
  enum outcome outcome;
  unsigned flags;
  bool over;
};

static void hear(void *context, const struct completion *c) {
  struct said *said = context;
  if (c->kind == COMPLETION_EVENT) {
    said->n_tokens += c->n_tokens;
    said->n_text_events += c->carries_text;
    said->text_bytes += c->n_bytes;
  }
  if (c->kind != COMPLETION_END) return;
  said->over = true;
  said->outcome = c->end->outcome;
  said->flags = c->end->flags & ~(unsigned)ANSWER_RETRIED; /* this server closes every connection */
  said->prompt_tokens = c->end->prompt_tokens;
  said->output_tokens = c->end->output_tokens;
  said->n_phases = c->end->n_phases;
  for (size_t i = 0; i < c->end->n_phases; i++) said->phases_ns += c->end->phases[i].took_ns;
}

static struct said ask(const struct driver *driver, void *state) {
  struct said said = {0};
  (void)driver->issue(state, 0, 0);
  for (int i = 0; i < 1000 && !said.over; i++) driver->reap(state, clock_now(&clock_system) + 1000000000, hear, &said);
  return said;
}

static bool same(const struct said *a, const struct said *b) {
  return a->n_tokens == b->n_tokens && a->n_text_events == b->n_text_events && a->text_bytes == b->text_bytes &&
         a->prompt_tokens == b->prompt_tokens && a->output_tokens == b->output_tokens && a->n_phases == b->n_phases &&
         a->phases_ns == b->phases_ns && a->outcome == b->outcome && a->flags == b->flags && a->over == b->over;
}

static void replay(struct server *server, const char *endpoint, const struct stream *s) {
  char path[512];
  (void)snprintf(path, sizeof path, RECORDED "/dialects/%s", s->file);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  if (file == NULL) return;
  server->length = fread(server->bytes, 1, sizeof server->bytes, file);
  (void)fclose(file);
  const struct driver *driver = drivers_find("http");
  const char *values[] = {s->server, NULL};
  struct driver_options options = {.endpoint = endpoint,
                                   .route = s->route,
                                   .stream = s->stream,
                                   .continuous_usage = s->continuous_usage,
                                   .model = "m",
                                   .n_slots = 1,
                                   .values = values,
                                   .clock = &clock_system};
  struct driver_input input = {.prompt = "hello", .length = 5, .output_tokens = 6};
  struct lynx_error error = {0};
  void *state = NULL;
  CHECK(driver->open(&options, &state, &error) == LYNX_OK && driver->prepare(state, &input, 1, &error) == LYNX_OK);
  server->cut = 0;
  struct said whole = ask(driver, state);
  CHECK(whole.over);
  CHECK_INT(whole.outcome, s->outcome);
  CHECK_INT(whole.prompt_tokens, s->prompt_tokens);
  CHECK_INT(whole.output_tokens, s->output_tokens);
  CHECK_INT(whole.n_phases, s->n_phases);
  if (s->n_tokens > 0) CHECK_INT(whole.n_tokens, s->n_tokens);
  if (s->n_text_events > 0) CHECK_INT(whole.n_text_events, s->n_text_events);
  if (s->text_bytes > 0) CHECK_INT(whole.text_bytes, s->text_bytes);
  CHECK(s->outcome != OUTCOME_OK || s->route == ROUTE_EMBEDDINGS || whole.text_bytes > 0);
  size_t n_other = 0;
  for (server->cut = 1; server->cut < server->length; server->cut++) {
    struct said cut = ask(driver, state);
    if (same(&cut, &whole)) continue;
    if (n_other++ == 0) (void)printf("%s is another when it is cut at byte %zu\n", s->file, server->cut);
  }
  CHECK_INT(n_other, 0);
  driver->close(state);
}

int main(void) {
  char folder[] = "/tmp/lynx-streams-XXXXXX", endpoint[100];
  struct server *server = calloc(1, sizeof *server);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  pthread_t thread;
  CHECK(mkdtemp(folder) != NULL);
  (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  (void)snprintf(endpoint, sizeof endpoint, "http://unix:%s/socket", folder);
  server->listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(server->listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(server->listener, 8) == 0);
  CHECK(pthread_create(&thread, NULL, serve, server) == 0);
  for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) replay(server, endpoint, &streams[i]);
  (void)shutdown(server->listener, SHUT_RDWR);
  (void)pthread_join(thread, NULL);
  (void)close(server->listener);
  (void)unlink(address.sun_path);
  (void)rmdir(folder);
  free(server);
  return check_end();
}
