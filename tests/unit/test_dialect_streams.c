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

/* The llamacpp, transformers and vllm files (but for a synthetic one) were recorded from them (tests/recorded/README.md); the others were
 * written by hand, from documents.
 */
static const struct stream streams[] = {
    {"llamacpp-completions.http", "llamacpp", ROUTE_COMPLETIONS, true, false, OUTCOME_OK, 0, 0, 0, 9, 6, 2},
    {"llamacpp-completions-whole.http", "llamacpp", ROUTE_COMPLETIONS, false, false, OUTCOME_OK, 1, 1, 0, 9, 6, 2},
    {"llamacpp-chat.http", "llamacpp", ROUTE_CHAT, true, false, OUTCOME_OK, 0, 0, 0, 10, 6, 2},
    {"llamacpp-responses.http", "llamacpp", ROUTE_RESPONSES, true, false, OUTCOME_OK, 0, 0, 0, 10, 6, 0},
    {"llamacpp-embeddings.http", "llamacpp", ROUTE_EMBEDDINGS, true, false, OUTCOME_OK, 0, 0, 0, 9, -1, 0},
    {"llamacpp-native.http", "llamacpp", ROUTE_NATIVE, true, false, OUTCOME_OK, 6, 0, 0, 9, 6, 2},
    {"llamacpp-native-whole.http", "llamacpp", ROUTE_NATIVE, false, false, OUTCOME_OK, 6, 1, 0, 9, 6, 2},
    {"llamacpp-native-error.http", "llamacpp", ROUTE_NATIVE, true, false, OUTCOME_HTTP_STATUS, 0, 0, 0, -1, -1, 0},
    {"transformers-completions.http", "transformers", ROUTE_COMPLETIONS, true, false, OUTCOME_OK, 0, 0, 0, 5, 6, 0},
    {"transformers-chat.http", "transformers", ROUTE_CHAT, true, false, OUTCOME_OK, 0, 0, 0, 6, 6, 0},
    {"transformers-responses.http", "transformers", ROUTE_RESPONSES, true, false, OUTCOME_OK, 0, 0, 0, 6, 6, 0},
    {"vllm-completions.http", "vllm", ROUTE_COMPLETIONS, true, false, OUTCOME_OK, 4, 4, 10, 9, 6, 0},
    {"vllm-completions-continuous.http", "vllm", ROUTE_COMPLETIONS, true, true, OUTCOME_OK, 6, 4, 10, 9, 6, 0},
    {"vllm-completions-whole.http", "vllm", ROUTE_COMPLETIONS, false, false, OUTCOME_OK, 1, 1, 10, 9, 6, 0},
    {"vllm-chat.http", "vllm", ROUTE_CHAT, true, false, OUTCOME_OK, 6, 6, 6, 10, 6, 0},
    {"vllm-chat-whole.http", "vllm", ROUTE_CHAT, false, false, OUTCOME_OK, 1, 1, 6, 10, 6, 0},
    {"vllm-responses.http", "vllm", ROUTE_RESPONSES, true, false, OUTCOME_OK, 2, 2, 11, 10, 6, 0},
    {"vllm-error.http", "vllm", ROUTE_COMPLETIONS, true, false, OUTCOME_HTTP_STATUS, 0, 0, 0, -1, -1, 0},
    {"synthetic-ollama-native.http", "ollama", ROUTE_NATIVE, true, false, OUTCOME_OK, 2, 2, 9, 5, 3, 3},
    {"synthetic-tgi-native.http", "tgi", ROUTE_NATIVE, true, false, OUTCOME_OK, 3, 2, 3, 4, 3, 0},
    {"synthetic-tgi-native-whole.http", "tgi", ROUTE_NATIVE, false, false, OUTCOME_OK, 1, 1, 3, 4, 2, 2},
    {"synthetic-vllm-empty.http", "vllm", ROUTE_COMPLETIONS, true, false, OUTCOME_OK, 1, 1, 2, 9, 4, 0},
    {"synthetic-vllm-chat.http", "vllm", ROUTE_CHAT, true, true, OUTCOME_OK, 3, 2, 3, 9, 3, 0},
};

/* Of the Open Inference Protocol: what an inference is answered with, after the server's and the model's own words. */
static const struct tensors {
  const char *file, *options[2]; /* tensors, sizes */
  enum outcome outcome;
  int http_status;
} tensor_streams[] = {
    {"triton-binary.http", {"binary", "x.0=2, x.1=3, t.0=2"}, OUTCOME_OK, 200},
    {"triton-json.http", {"json", NULL}, OUTCOME_OK, 200},
    {"triton-error.http", {"json", NULL}, OUTCOME_HTTP_STATUS, 400},
    {"mlserver-json.http", {"auto", NULL}, OUTCOME_OK, 200},
};

/* --- the server --- */

struct server {
  int listener;
  char bytes[65536], about_server[65536], about_model[65536];
  size_t length, cut, n_about_server, n_about_model;
};

static size_t read_file(const char *name, char *to, size_t room) {
  char path[512];
  (void)snprintf(path, sizeof path, RECORDED "/dialects/%s", name);
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t n = file != NULL ? fread(to, 1, room, file) : 0;
  if (file != NULL) (void)fclose(file);
  return n;
}

/* Returns whether it is a POST, and writes the path. */
static bool read_request(int fd, char path[128]) {
  char text[65536];
  size_t n = 0;
  path[0] = 0;
  for (;;) {
    ssize_t got = read(fd, text + n, sizeof text - 1 - n);
    if (got <= 0) return false;
    n += (size_t)got;
    text[n] = 0;
    const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    if (end == NULL) continue;
    if (strncmp(text, "GET ", 4) == 0) {
      (void)sscanf(text + 4, "%127s", path);
      return false;
    }
    if (length != NULL && n >= (size_t)(end + 4 - text) + (size_t)atoi(length + 16)) return true;
  }
}

static void *serve(void *context) {
  struct server *server = context;
  char path[128];
  for (;;) {
    int fd = accept(server->listener, NULL, NULL), left = 1;
    if (fd < 0) return NULL;
    if (read_request(fd, path)) {
      if (write(fd, server->bytes, server->cut) < 0) return NULL;
      while (server->cut > 0 && ioctl(fd, SIOCOUTQ, &left) == 0 && left > 0) (void)sched_yield(); /* until the driver has read it */
      if (write(fd, server->bytes + server->cut, server->length - server->cut) < 0) return NULL;
    } else {
      bool model = strstr(path, "/models/") != NULL;
      if (write(fd, model ? server->about_model : server->about_server, model ? server->n_about_model : server->n_about_server) < 0)
        return NULL;
    }
    (void)close(fd);
  }
}

/* --- what the driver says --- */

struct said {
  int64_t n_tokens, n_text_events, text_bytes, prompt_tokens, output_tokens;
  size_t n_phases;
  int64_t phases_ns;
  enum outcome outcome;
  int http_status;
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
  said->http_status = c->end->http_status;
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

static void cut_everywhere(struct server *server, const struct driver *driver, void *state, const char *file, const struct said *whole) {
  size_t n_other = 0;
  for (server->cut = 1; server->cut < server->length; server->cut++) {
    struct said cut = ask(driver, state);
    if (same(&cut, whole)) continue;
    if (n_other++ == 0) (void)printf("%s is another when it is cut at byte %zu\n", file, server->cut);
  }
  CHECK_INT(n_other, 0);
}

static void replay(struct server *server, const char *endpoint, const struct stream *s) {
  server->length = read_file(s->file, server->bytes, sizeof server->bytes);
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
  CHECK(((whole.flags & ANSWER_EMPTY_TOKENS) != 0) == (strstr(s->file, "-empty") != NULL));
  if (s->n_tokens > 0) CHECK_INT(whole.n_tokens, s->n_tokens);
  if (s->n_text_events > 0) CHECK_INT(whole.n_text_events, s->n_text_events);
  if (s->text_bytes > 0) CHECK_INT(whole.text_bytes, s->text_bytes);
  CHECK(s->outcome != OUTCOME_OK || s->route == ROUTE_EMBEDDINGS || whole.text_bytes > 0);
  cut_everywhere(server, driver, state, s->file, &whole);
  driver->close(state);
}

static void replay_tensors(struct server *server, const char *endpoint, const struct tensors *t) {
  server->length = read_file(t->file, server->bytes, sizeof server->bytes);
  const struct driver *driver = drivers_find("kserve");
  const char *keys[] = {"tensors", "sizes"}, *values[8] = {NULL}, *key;
  struct lynx_error error = {0};
  CHECK_INT(driver_read_options(driver, keys, t->options, t->options[1] != NULL ? 2 : 1, values, &key, &error), LYNX_OK);
  struct driver_options options = {.endpoint = endpoint, .model = "double", .n_slots = 1, .values = values, .clock = &clock_system};
  struct driver_input input = {.prompt = "hello", .length = 5};
  void *state = NULL;
  CHECK_INT(driver->open(&options, &state, &error), LYNX_OK);
  CHECK_TEXT(error.message, "");
  if (state == NULL) return;
  CHECK_INT(driver->prepare(state, &input, 1, &error), LYNX_OK);
  server->cut = 0;
  struct said whole = ask(driver, state);
  CHECK(whole.over);
  CHECK_INT(whole.outcome, t->outcome);
  CHECK_INT(whole.http_status, t->http_status);
  CHECK_INT(whole.n_tokens, 0);
  cut_everywhere(server, driver, state, t->file, &whole);
  driver->close(state);
}

/* Triton's statistics, as it keeps them: the counters of a session. */
static void statistics(struct server *server, const char *endpoint) {
  const struct driver *driver = drivers_find("kserve");
  const char *values[8] = {NULL}, *key;
  struct lynx_error error = {0};
  CHECK_INT(driver_read_options(driver, NULL, NULL, 0, values, &key, &error), LYNX_OK);
  struct driver_options options = {.endpoint = endpoint, .model = "double", .n_slots = 1, .values = values, .clock = &clock_system};
  void *state = NULL;
  struct driver_counter counters[8];
  CHECK_INT(driver->open(&options, &state, &error), LYNX_OK);
  if (state == NULL) return;
  server->n_about_model = read_file("triton-stats.http", server->about_model, sizeof server->about_model);
  CHECK_INT(driver->counters(state, counters, 8), 4);
  CHECK_TEXT(counters[0].name, "queue");
  CHECK(counters[0].n > 1000 && counters[2].sum_ns > counters[0].sum_ns);
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
  server->n_about_server = read_file("triton-server.http", server->about_server, sizeof server->about_server);
  server->n_about_model = read_file("triton-model.http", server->about_model, sizeof server->about_model);
  for (size_t i = 0; i < sizeof tensor_streams / sizeof tensor_streams[0]; i++) replay_tensors(server, endpoint, &tensor_streams[i]);
  statistics(server, endpoint);
  (void)shutdown(server->listener, SHUT_RDWR);
  (void)pthread_join(thread, NULL);
  (void)close(server->listener);
  (void)unlink(address.sun_path);
  (void)rmdir(folder);
  free(server);
  return check_end();
}
