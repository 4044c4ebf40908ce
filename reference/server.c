#include "reference/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/number.h"

enum { CONNECTIONS_MAX = GENERATIONS_PER_ID, HEAD_MAX = 65536, OUT_MAX = 16 << 20, LISTENER = UINT32_MAX, BACKEND = UINT32_MAX - 1 };

struct connection {
  int fd; /* -1: free */
  struct buffer in, out;
  bool writing, close_after, hung;
  /* The request being answered. */
  int64_t generation; /* 0: none */
  struct arena arena;
  struct api_request request;
  struct api_usage usage;
  struct buffer text; /* everything generated */
  size_t text_sent;   /* of it, what was streamed (whole characters, not part of a stop string) */
  struct api_token *tokens;
  size_t n_tokens, room_tokens;
  enum fault fault;
  bool head_sent;
};

struct server {
  const struct options *options;
  const struct backend *backend;
  void *backend_state;
  int listener, epoll;
  struct connection *connections;
  size_t n_used; /* connections beyond were never used */
  struct histogram {
    int64_t in[12]; /* 1, 2, 4, ... 1024, more */
    double sum;
  } prompts, outputs;
  int64_t next_generation, n_requests, n_ok, n_stopped, n_failed, n_prompt_tokens, n_output_tokens;
  FILE *log;
  struct buffer scratch, event;
};

static int64_t now(void) {
  return clock_now(&clock_system);
}

/* --- writing --- */

static void drop(struct server *server, struct connection *c) {
  if (c->generation != 0) server->backend->cancel(server->backend_state, c->generation);
  (void)close(c->fd); /* leaves the epoll set with it */
  buffer_release(&c->in);
  buffer_release(&c->out);
  buffer_release(&c->text);
  arena_release(&c->arena);
  free(c->tokens);
  *c = (struct connection){.fd = -1};
}

static void want(struct server *server, const struct connection *c, uint32_t events) {
  struct epoll_event event = {.events = events, .data.u32 = (uint32_t)(c - server->connections)};
  (void)epoll_ctl(server->epoll, EPOLL_CTL_MOD, c->fd, &event); /* the descriptor is ours and in the set */
}

/* Sends what it can now; false if the connection is gone. */
static bool flush_out(struct server *server, struct connection *c) {
  while (c->out.length > 0) {
    ssize_t n = send(c->fd, c->out.data, c->out.length, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      drop(server, c);
      return false;
    }
    buffer_drop_front(&c->out, (size_t)n);
  }
  if (c->out.length == 0 && c->close_after) {
    drop(server, c);
    return false;
  }
  bool writing = c->out.length > 0;
  if (writing != c->writing) want(server, c, EPOLLIN | (writing ? (uint32_t)EPOLLOUT : 0u));
  c->writing = writing;
  return true;
}

static bool send_piece(struct server *server, struct connection *c, const char *kind, int64_t planned_ns, const char *data, size_t length) {
  int64_t id = c->generation / GENERATIONS_PER_ID, before = now();
  if (!buffer_append(&c->out, data, length)) {
    drop(server, c);
    return false;
  }
  bool alive = flush_out(server, c);
  if (server->log != NULL)
    (void)fprintf(server->log, "%lld,%s,%lld,%lld,%lld,%zu\n", (long long)id, kind, (long long)planned_ns, (long long)before,
                  (long long)now(), length);
  return alive;
}

static void log_arrival(struct server *server, int64_t id) {
  if (server->log != NULL) (void)fprintf(server->log, "%lld,request,0,%lld,0,0\n", (long long)id, (long long)now());
}

static bool respond(struct server *server, struct connection *c, int status, const char *type, const char *body, size_t length) {
  const char *phrase = status == 200   ? "OK"
                       : status == 400 ? "Bad Request"
                       : status == 404 ? "Not Found"
                       : status == 405 ? "Method Not Allowed"
                       : status == 413 ? "Content Too Large"
                       : status == 429 ? "Too Many Requests"
                       : status == 503 ? "Service Unavailable"
                                       : "Internal Server Error";
  buffer_clear(&server->scratch);
  (void)buffer_printf(&server->scratch, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", status, phrase, type, length,
                      status == 429 ? "Retry-After: 1\r\n" : "");
  (void)buffer_append(&server->scratch, body, length);
  return send_piece(server, c, "answer", now(), server->scratch.data, server->scratch.length);
}

static bool respond_error(struct server *server, struct connection *c, int status, const char *message) {
  buffer_clear(&server->event);
  (void)api_error(message, status == 429 ? "overloaded" : "invalid_request_error", status, &server->event);
  server->n_failed++;
  char *copy = xcopy(server->event.data);
  bool alive = respond(server, c, status, "application/json", copy, strlen(copy));
  free(copy);
  return alive;
}

/* One event as one chunk of the chunked encoding, in one send. */
static bool send_event(struct server *server, struct connection *c, const char *kind, int64_t planned_ns, const char *json, size_t length) {
  buffer_clear(&server->scratch);
  (void)buffer_printf(&server->scratch, "%zx\r\ndata: ", length + 8);
  (void)buffer_append(&server->scratch, json, length);
  (void)buffer_text(&server->scratch, "\n\n\r\n");
  return send_piece(server, c, kind, planned_ns, server->scratch.data, server->scratch.length);
}

static bool send_stream_head(struct server *server, struct connection *c) {
  static const char head[] =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";
  if (c->head_sent) return true;
  c->head_sent = true;
  if (!send_piece(server, c, "head", now(), head, sizeof head - 1)) return false;
  if (!c->request.chat) return true;
  buffer_clear(&server->event);
  return api_event(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, "", 0, NULL, NULL, NULL, &server->event) &&
         send_event(server, c, "role", now(), server->event.data, server->event.length);
}

/* --- an answer --- */

static void end_generation(struct connection *c) {
  c->generation = 0;
  c->n_tokens = 0;
  c->head_sent = false;
  c->text_sent = 0;
  buffer_clear(&c->text);
  arena_release(&c->arena);
}

/* How much of the text may be shown: whole UTF-8 characters only, and nothing that could be the beginning of a stop string. */
static size_t showable(const struct connection *c, bool last, bool *ret_stopped) {
  size_t end = c->text.length;
  *ret_stopped = false;
  for (size_t s = 0; s < c->request.n_stops; s++) {
    const char *found = c->text.length > 0 ? memmem(c->text.data, c->text.length, c->request.stops[s], strlen(c->request.stops[s])) : NULL;
    if (found == NULL || (size_t)(found - c->text.data) > end) continue;
    end = (size_t)(found - c->text.data);
    *ret_stopped = true;
  }
  if (*ret_stopped || last) return end;
  for (size_t s = 0; s < c->request.n_stops; s++) {
    size_t n = strlen(c->request.stops[s]);
    for (size_t k = n - 1; k > 0; k--)
      if (k <= end && memcmp(c->text.data + end - k, c->request.stops[s], k) == 0) {
        end -= k;
        break;
      }
  }
  for (size_t back = 1; back <= 3 && back <= end; back++) { /* a character whose last bytes are still to come */
    unsigned char byte = (unsigned char)c->text.data[end - back];
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    size_t needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (needs > back) end -= back;
    break;
  }
  return end < c->text_sent ? c->text_sent : end;
}

static void keep_token(struct connection *c, const struct api_token *token) {
  if (c->n_tokens == c->room_tokens) {
    c->room_tokens = c->room_tokens == 0 ? 256 : 2 * c->room_tokens;
    c->tokens = xgrow(c->tokens, c->room_tokens, sizeof *c->tokens);
  }
  c->tokens[c->n_tokens] = *token;
  c->tokens[c->n_tokens++].bytes = arena_text(&c->arena, token->bytes, token->length);
}

static bool finish_stream(struct server *server, struct connection *c, const char *finish, int64_t planned_ns) {
  if (c->fault == FAULT_NO_DONE) {
    c->close_after = true;
    return send_piece(server, c, "end", planned_ns, "0\r\n\r\n", 5);
  }
  struct api_usage usage = c->usage;
  if (c->fault == FAULT_USAGE) usage.output_tokens /= 2;
  if (server->options->cheat == CHEAT_USAGE) usage.output_tokens *= 2;
  buffer_clear(&server->event);
  (void)api_event(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, "", 0, NULL, finish, &usage, &server->event);
  if (!send_event(server, c, "finish", planned_ns, server->event.data, server->event.length)) return false;
  if (c->request.include_usage) {
    buffer_clear(&server->event);
    (void)api_usage_event(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, &usage, &server->event);
    if (!send_event(server, c, "usage", planned_ns, server->event.data, server->event.length)) return false;
  }
  return send_event(server, c, "done", planned_ns, "[DONE]", 6) && send_piece(server, c, "end", planned_ns, "0\r\n\r\n", 5);
}

static void observe(struct histogram *h, int64_t value) {
  int bucket = 0;
  while (bucket < 11 && value > (int64_t)1 << bucket) bucket++;
  h->in[bucket]++;
  h->sum += (double)value;
}

static bool finish_answer(struct server *server, struct connection *c, const char *finish, int64_t planned_ns) {
  server->n_ok++;
  server->n_stopped += strcmp(finish, "stop") == 0;
  server->n_prompt_tokens += c->usage.prompt_tokens;
  server->n_output_tokens += c->usage.output_tokens;
  observe(&server->prompts, c->usage.prompt_tokens);
  observe(&server->outputs, c->usage.output_tokens);
  bool alive;
  if (c->request.stream) alive = finish_stream(server, c, finish, planned_ns);
  else {
    buffer_clear(&server->event);
    const char *text = c->text.data != NULL ? c->text.data : "";
    (void)api_answer(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, text, c->text_sent, c->tokens, c->n_tokens,
                     finish, &c->usage, &server->event);
    char *copy = xalloc(server->event.length + 1, 1);
    size_t length = server->event.length;
    memcpy(copy, server->event.data, length);
    alive = respond(server, c, 200, "application/json", copy, length);
    free(copy);
  }
  if (alive) end_generation(c);
  return alive;
}

/* Faults that show in the middle of a stream. True: the connection is gone or done with. */
static bool inject(struct server *server, struct connection *c) {
  if (c->usage.output_tokens != 3) return false;
  switch (c->fault) {
    case FAULT_CLOSE: drop(server, c); return true;
    case FAULT_ERROR: {
      static const char json[] = "{\"error\":{\"message\":\"planted: the engine died\",\"type\":\"internal\",\"code\":500}}";
      if (!send_event(server, c, "error", now(), json, sizeof json - 1)) return true;
      server->backend->cancel(server->backend_state, c->generation);
      c->close_after = true;
      if (send_piece(server, c, "end", now(), "0\r\n\r\n", 5)) end_generation(c);
      return true;
    }
    case FAULT_UTF8: {
      static const char json[] =
          "{\"choices\":[{\"index\":0,\"text\":\"\xff\xfe\",\"delta\":{\"content\":\"\xff\xfe\"},\"finish_reason\":null}]}";
      return !send_event(server, c, "utf8", now(), json, sizeof json - 1);
    }
    case FAULT_ENDLESS: {
      static char filler[65536];
      memset(filler, 'x', sizeof filler);
      for (int i = 0; i < 40; i++)
        if (!send_piece(server, c, "endless", now(), "10000\r\n", 7) || !send_piece(server, c, "endless", now(), filler, sizeof filler) ||
            !send_piece(server, c, "endless", now(), "\r\n", 2))
          return true;
      return false;
    }
    default: return false;
  }
}

static void on_emission(void *context, const struct emission *emission) {
  struct server *server = context;
  struct connection *c = &server->connections[emission->generation % GENERATIONS_PER_ID];
  if (c->fd < 0 || c->generation != emission->generation) return;
  if (emission->error != NULL) {
    if (respond_error(server, c, 400, emission->error)) end_generation(c);
    return;
  }
  if (emission->is_prompt) { /* echo */
    (void)buffer_append(&c->text, emission->token.bytes, emission->token.length);
    keep_token(c, &emission->token);
    return;
  }
  if (emission->token.length > 0) {
    c->usage.output_tokens++;
    if (!buffer_append(&c->text, emission->token.bytes, emission->token.length)) return;
    if (c->request.logprobs || !c->request.stream) keep_token(c, &emission->token);
  }
  bool stopped;
  size_t end = showable(c, emission->finish != NULL, &stopped);
  const char *finish = stopped ? "stop" : emission->finish;
  if (c->request.stream && c->usage.output_tokens == 1 && c->text_sent == 0 && !send_stream_head(server, c)) return;
  if (c->request.stream && emission->token.length > 0) { /* every token is an event; its text may be empty while a character is held back */
    struct api_token token = emission->token;
    token.has_logprob = c->request.logprobs;
    buffer_clear(&server->event);
    (void)api_event(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, c->text.data + c->text_sent,
                    end - c->text_sent, &token, NULL, &c->usage, &server->event);
    if (!send_event(server, c, "token", emission->planned_ns, server->event.data, server->event.length)) return;
    if (inject(server, c)) return;
  }
  c->text_sent = end;
  if (finish == NULL) return;
  if (stopped && emission->finish == NULL) server->backend->cancel(server->backend_state, c->generation);
  (void)finish_answer(server, c, finish, emission->planned_ns); /* what becomes of the connection is settled there */
}

/* --- requests --- */

static void put_help(struct buffer *out, const char *name, const char *kind, const char *help) {
  (void)buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void put_histogram(struct buffer *out, const char *name, const char *help, const char *model, const struct histogram *h) {
  int64_t n = 0;
  put_help(out, name, "histogram", help);
  for (int i = 0; i < 12; i++) {
    char bound[24] = "+Inf";
    n += h->in[i];
    if (i < 11) (void)snprintf(bound, sizeof bound, "%d.0", 1 << i);
    (void)buffer_printf(out, "%s_bucket{model_name=\"%s\",le=\"%s\"} %lld\n", name, model, bound, (long long)n);
  }
  (void)buffer_printf(out, "%s_sum{model_name=\"%s\"} %.1f\n%s_count{model_name=\"%s\"} %lld\n", name, model, h->sum, name, model,
                      (long long)n);
}

static bool serve_metrics(struct server *server, struct connection *c) {
  struct backend_stats stats = {0};
  server->backend->stats(server->backend_state, &stats);
  struct buffer out;
  buffer_init(&out, 1 << 20);
  const char *model = server->options->shape;
  put_help(&out, "vllm:num_requests_running", "gauge", "Requests being computed.");
  (void)buffer_printf(&out, "vllm:num_requests_running{model_name=\"%s\"} %lld\n", model, (long long)stats.running);
  put_help(&out, "vllm:num_requests_waiting", "gauge", "Requests waiting in the queue.");
  (void)buffer_printf(&out, "vllm:num_requests_waiting{model_name=\"%s\"} %lld\n", model, (long long)stats.waiting);
  put_help(&out, "vllm:prompt_tokens_total", "counter", "Prompt tokens of finished requests.");
  (void)buffer_printf(&out, "vllm:prompt_tokens_total{model_name=\"%s\"} %lld\n", model, (long long)server->n_prompt_tokens);
  put_help(&out, "vllm:generation_tokens_total", "counter", "Tokens generated for finished requests.");
  (void)buffer_printf(&out, "vllm:generation_tokens_total{model_name=\"%s\"} %lld\n", model, (long long)server->n_output_tokens);
  put_help(&out, "vllm:request_success_total", "counter", "Finished requests.");
  (void)buffer_printf(&out,
                      "vllm:request_success_total{model_name=\"%s\",finished_reason=\"length\"} "
                      "%lld\nvllm:request_success_total{model_name=\"%s\",finished_reason=\"stop\"} %lld\n",
                      model, (long long)(server->n_ok - server->n_stopped), model, (long long)server->n_stopped);
  const struct {
    const char *name, *help;
    double sum;
  } sums[] = {{"vllm:request_queue_time_seconds", "From arrival to the first step.", stats.queue_seconds},
              {"vllm:request_prefill_time_seconds", "From the first step to the first token.", stats.prefill_seconds},
              {"vllm:request_decode_time_seconds", "From the first token to the last.", stats.decode_seconds}};
  for (size_t i = 0; i < LYNX_COUNT(sums); i++) {
    put_help(&out, sums[i].name, "histogram", sums[i].help);
    (void)buffer_printf(&out,
                        "%s_bucket{model_name=\"%s\",le=\"+Inf\"} %lld\n%s_sum{model_name=\"%s\"} %.9f\n%s_count{model_name=\"%s\"} %lld\n",
                        sums[i].name, model, (long long)stats.n_finished, sums[i].name, model, sums[i].sum, sums[i].name, model,
                        (long long)stats.n_finished);
  }
  put_histogram(&out, "vllm:request_prompt_tokens", "Prompt tokens of a request.", model, &server->prompts);
  put_histogram(&out, "vllm:request_generation_tokens", "Tokens generated for a request.", model, &server->outputs);
  put_help(&out, "lynx_ref:steps_total", "counter", "Batches computed.");
  (void)buffer_printf(&out, "lynx_ref:steps_total %lld\n", (long long)stats.steps);
  put_help(&out, "lynx_ref:step_rows_total", "counter", "Rows in those batches.");
  (void)buffer_printf(&out, "lynx_ref:step_rows_total %lld\n", (long long)stats.step_rows);
  put_help(&out, "lynx_ref:requests_refused_total", "counter", "Requests answered with an error.");
  (void)buffer_printf(&out, "lynx_ref:requests_refused_total %lld\n", (long long)server->n_failed);
  bool alive = respond(server, c, 200, "text/plain; version=0.0.4", out.data, out.length);
  buffer_release(&out);
  return alive;
}

static bool serve_models(struct server *server, struct connection *c) {
  struct buffer out;
  buffer_init(&out, 65536);
  (void)buffer_printf(
      &out,
      "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":0,\"owned_by\":\"lynxbench-ref\",\"executed\":{",
      server->options->shape);
  server->backend->describe(server->backend_state, &out);
  (void)buffer_text(&out, "}}]}");
  bool alive = respond(server, c, 200, "application/json", out.data, out.length);
  buffer_release(&out);
  return alive;
}

/* The cheat: something that looks like a first token, before there is one. */
static bool send_blank(struct server *server, struct connection *c) {
  if (!send_stream_head(server, c)) return false;
  buffer_clear(&server->event);
  return api_event(&c->request, server->options->shape, c->generation / GENERATIONS_PER_ID, " ", 1, NULL, NULL, NULL, &server->event) &&
         send_event(server, c, "blank", now(), server->event.data, server->event.length);
}

static bool serve_generation(struct server *server, struct connection *c, const char *body, size_t length, bool chat) {
  struct lynx_error error = {0};
  server->n_requests++;
  int64_t id = ++server->next_generation;
  c->fault = server->options->fault != FAULT_NONE && id % server->options->fault_every == 0 ? server->options->fault : FAULT_NONE;
  log_arrival(server, id);
  static const char html[] = "<!doctype html><title>It works!</title><p>This is not the page that you are looking for.";
  if (c->fault == FAULT_HANG) {
    c->hung = true;
    return true;
  }
  if (c->fault == FAULT_HTML) return respond(server, c, 200, "text/html", html, sizeof html - 1);
  if (c->fault == FAULT_429) return respond_error(server, c, 429, "planted: too many requests");
  if (c->fault == FAULT_500) return respond_error(server, c, 500, "planted: internal error");
  if (api_parse(body, length, chat, &c->arena, &c->request, &error) != LYNX_OK) {
    arena_release(&c->arena);
    return respond_error(server, c, 400, error.message);
  }
  c->generation = id * GENERATIONS_PER_ID + (c - server->connections);
  c->usage = (struct api_usage){.prompt_tokens = (int64_t)c->request.prompt_length};
  if (server->options->cheat == CHEAT_LENGTH && c->request.max_tokens > 1) c->request.max_tokens /= 2;
  if (server->backend->submit(server->backend_state, c->generation, &c->request, now()))
    return server->options->cheat != CHEAT_FIRST_TOKEN || !c->request.stream || send_blank(server, c);
  bool alive = respond_error(server, c, 429, "the queue is full; try again later");
  if (alive) end_generation(c);
  return alive;
}

static bool serve(struct server *server, struct connection *c, const char *method, const char *path, const char *body, size_t length) {
  bool get = strcmp(method, "GET") == 0, post = strcmp(method, "POST") == 0;
  if (get && strcmp(path, "/health") == 0) return respond(server, c, 200, "application/json", "{\"status\":\"ok\"}", 15);
  if (get && strcmp(path, "/metrics") == 0) return serve_metrics(server, c);
  if (get && strcmp(path, "/v1/models") == 0) return serve_models(server, c);
  bool completions = strcmp(path, "/v1/completions") == 0, chat = strcmp(path, "/v1/chat/completions") == 0;
  if (post && (completions || chat)) return serve_generation(server, c, body, length, chat);
  if (completions || chat) return respond_error(server, c, 405, "use POST");
  return respond_error(server, c, 404, "no such route; there are /health, /metrics, /v1/models, /v1/completions and /v1/chat/completions");
}

/* Takes one whole request from the connection's input, if there is one. */
static void take_request(struct server *server, struct connection *c) {
  while (c->fd >= 0 && c->generation == 0 && !c->hung && c->in.length > 0) {
    const char *end = memmem(c->in.data, c->in.length, "\r\n\r\n", 4);
    if (end == NULL) {
      if (c->in.length > HEAD_MAX) drop(server, c);
      return;
    }
    size_t head = (size_t)(end - c->in.data) + 4;
    char method[16] = "", path[256] = "", version[16] = "";
    int64_t length = 0;
    bool good = sscanf(c->in.data, "%15s %255s %15s", method, path, version) == 3 && strncmp(version, "HTTP/1.", 7) == 0;
    for (const char *line = memchr(c->in.data, '\n', head); line != NULL && line + 1 < end;
         line = memchr(line + 1, '\n', (size_t)(end - line - 1))) {
      if (strncasecmp(line + 1, "content-length:", 15) != 0) continue;
      const char *digits = line + 16 + strspn(line + 16, " ");
      good = good && number_int64(digits, strspn(digits, "0123456789"), &length) && length <= API_BODY_MAX;
    }
    if (!good) {
      c->close_after = true;
      (void)respond_error(server, c, 400, "not a request that this server understands"); /* closes */
      return;
    }
    if (c->in.length < head + (size_t)length) return;
    char *body = xalloc((size_t)length + 1, 1);
    memcpy(body, c->in.data + head, (size_t)length);
    buffer_drop_front(&c->in, head + (size_t)length);
    char *question = strchr(path, '?');
    if (question != NULL) *question = 0;
    (void)serve(server, c, method, path, body, (size_t)length); /* false: the connection is gone, seen by fd */
    free(body);
  }
}

static void on_readable(struct server *server, struct connection *c) {
  char chunk[65536];
  ssize_t n = recv(c->fd, chunk, sizeof chunk, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0 || !buffer_append(&c->in, chunk, (size_t)n)) {
    drop(server, c);
    return;
  }
  take_request(server, c);
}

static void on_connection(struct server *server) {
  for (;;) {
    int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    struct connection *c = NULL;
    for (size_t i = 0; i < CONNECTIONS_MAX && c == NULL; i++)
      if (server->connections[i].fd < 0) c = &server->connections[i];
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = c != NULL ? (uint32_t)(c - server->connections) : 0};
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* without it gaps grow by delayed acknowledgements; not fatal */
    if (c == NULL || epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
      (void)close(fd);
      continue;
    }
    *c = (struct connection){.fd = fd};
    if ((size_t)(c - server->connections) >= server->n_used) server->n_used = (size_t)(c - server->connections) + 1;
    buffer_init(&c->in, HEAD_MAX + API_BODY_MAX + 65536);
    buffer_init(&c->out, OUT_MAX);
    buffer_init(&c->text, OUT_MAX);
  }
}

enum lynx_status server_open(const struct options *options, const struct backend *backend, void *backend_state, struct server **ret,
                             int *ret_port, struct lynx_error *error) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options->port)};
  if (inet_pton(AF_INET, options->address, &address.sin_addr) != 1)
    return lynx_fail(error, LYNX_INPUT, "--address %s is not an IPv4 address", options->address);
  struct server *server = xalloc(1, sizeof *server);
  *server = (struct server){.options = options, .backend = backend, .backend_state = backend_state, .listener = -1, .epoll = -1};
  server->connections = xalloc(CONNECTIONS_MAX, sizeof *server->connections);
  for (size_t i = 0; i < CONNECTIONS_MAX; i++) server->connections[i].fd = -1;
  buffer_init(&server->scratch, OUT_MAX);
  buffer_init(&server->event, OUT_MAX);
  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  server->epoll = epoll_create1(EPOLL_CLOEXEC);
  int on = 1;
  socklen_t size = sizeof address;
  bool good = server->listener >= 0 && server->epoll >= 0 && setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
              bind(server->listener, (const struct sockaddr *)&address, sizeof address) == 0 && listen(server->listener, 1024) == 0 &&
              getsockname(server->listener, (struct sockaddr *)&address, &size) == 0;
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = LISTENER};
  good = good && epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->listener, &event) == 0;
  event.data.u32 = BACKEND;
  if (good && backend->descriptor(backend_state) >= 0)
    good = epoll_ctl(server->epoll, EPOLL_CTL_ADD, backend->descriptor(backend_state), &event) == 0;
  enum lynx_status status = good ? LYNX_OK : lynx_fail(error, LYNX_IO, "%s port %d: %s", options->address, options->port, strerror(errno));
  if (good && options->log != NULL) {
    server->log = fopen(options->log, "we");
    if (server->log == NULL) status = lynx_fail(error, LYNX_IO, "%s: %s", options->log, strerror(errno));
    else (void)fprintf(server->log, "request,kind,planned_ns,before_ns,after_ns,bytes\n");
  }
  if (status != LYNX_OK) {
    server_close(server);
    return status;
  }
  *ret_port = ntohs(address.sin_port);
  *ret = server;
  return LYNX_OK;
}

void server_run(struct server *server, const atomic_int *stop) {
  while (atomic_load(stop) == 0) {
    int64_t next = server->backend->pump(server->backend_state, now(), on_emission, server);
    int64_t left = next == INT64_MAX ? 200000000 : next - now();
    if (left > 200000000) left = 200000000; /* look at `stop` now and then */
    if (left < 0) left = 0;
    struct timespec timeout = {.tv_sec = 0, .tv_nsec = left};
    struct epoll_event events[64];
    int n = epoll_pwait2(server->epoll, events, (int)LYNX_COUNT(events), &timeout, NULL);
    for (int i = 0; i < n; i++) {
      if (events[i].data.u32 == LISTENER) on_connection(server);
      else if (events[i].data.u32 != BACKEND) {
        struct connection *c = &server->connections[events[i].data.u32];
        if (c->fd < 0) continue;
        if ((events[i].events & EPOLLOUT) != 0 && !flush_out(server, c)) continue;
        if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) on_readable(server, c);
      }
    }
    for (size_t i = 0; n > 0 && i < server->n_used; i++) /* a request that was sent before the last answer was over */
      if (server->connections[i].fd >= 0 && server->connections[i].generation == 0 && server->connections[i].in.length > 0)
        take_request(server, &server->connections[i]);
  }
}

void server_close(struct server *server) {
  if (server == NULL) return;
  for (size_t i = 0; i < CONNECTIONS_MAX; i++)
    if (server->connections[i].fd >= 0) drop(server, &server->connections[i]);
  if (server->listener >= 0) (void)close(server->listener);
  if (server->epoll >= 0) (void)close(server->epoll);
  if (server->log != NULL) (void)fclose(server->log);
  buffer_release(&server->scratch);
  buffer_release(&server->event);
  free(server->connections);
  free(server);
}
