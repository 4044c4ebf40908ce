/* The http driver: OpenAI-compatible servers over HTTP/1.1, one epoll loop, kept connections.
 *
 * A request takes an idle connection or opens one; the connection belongs to the slot until the answer ends. Times are stamped
 * right after the system call that they belong to, before anything is parsed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "drivers/http_parser.h"
#include "drivers/openai.h"
#include "drivers/sse.h"
#include "drivers/transport.h"

enum { READ_BYTES = 65536, BODY_MAX = 16 << 20, NO_SLOT = -1 };

enum connection_state { CONNECTION_CLOSED, CONNECTION_CONNECTING, CONNECTION_WRITING, CONNECTION_READING, CONNECTION_IDLE };

struct connection {
  enum connection_state state;
  struct transport transport;
  uint32_t watched; /* the epoll events asked for */
  int32_t slot;
  bool reused, any_byte;
  size_t written;
  struct http_parser http;
  struct sse_parser sse;
  struct buffer body; /* an answer that is not an event stream, up to BODY_MAX */
  /* What this answer has said so far. */
  bool finished, done, error_seen;
  int64_t tokens_before; /* running usage at the event before */
  int64_t n_text_events;
  struct answer_end end;
};

struct slot_state {
  int32_t connection;
  size_t input;
};

struct http_driver {
  struct driver_options options;
  struct transport_address address;
  int epoll;
  bool coarse;                    /* no nanosecond waits on this kernel */
  struct connection *connections; /* n_slots of them: each request in flight has one */
  struct slot_state *slots;
  struct bytes *requests; /* per input: head and body, ready to send */
  int64_t *asked;         /* per input: max_tokens */
  size_t n_requests;
  struct arena arena;
  /* During reap. */
  driver_deliver *deliver;
  void *context;
  int64_t read_at_ns, read_lag_ns;
  char *scratch;
  /* What happened while issuing, delivered by the next reap: a first byte written, or a failure. */
  struct pending {
    uint32_t slot;
    bool failed;
    int64_t at_ns;
    struct answer_end end;
  } * pending;
  size_t n_pending;
};

static void http_close(void *state) {
  struct http_driver *driver = state;
  if (driver == NULL) return;
  for (uint32_t i = 0; driver->connections != NULL && i < driver->options.n_slots; i++) {
    struct connection *c = &driver->connections[i];
    if (c->state != CONNECTION_CLOSED) transport_close(&c->transport);
    http_parser_release(&c->http);
    sse_release(&c->sse);
    buffer_release(&c->body);
  }
  if (driver->epoll >= 0) (void)close(driver->epoll);
  transport_address_release(&driver->address);
  arena_release(&driver->arena);
  free(driver->connections);
  free(driver->slots);
  free(driver->requests);
  free(driver->asked);
  free(driver->scratch);
  free(driver->pending);
  free(driver);
}

/* Running out of descriptors would look like a server that refuses connections. */
static enum lynx_status raise_descriptor_limit(uint32_t n_slots, struct lynx_error *error) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return LYNX_OK;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what it is then is checked below */
    (void)getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= (rlim_t)n_slots + 64) return LYNX_OK;
  return lynx_fail(error, LYNX_LIMIT,
                   "regime.concurrency needs %u connections, and this process may open %llu files; raise it with ulimit -n", n_slots,
                   (unsigned long long)limit.rlim_cur);
}

static enum lynx_status http_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  struct http_driver *driver = xalloc(1, sizeof *driver);
  driver->options = *options;
  driver->epoll = -1;
  enum lynx_status status = raise_descriptor_limit(options->n_slots, error);
  if (status == LYNX_OK) status = transport_resolve(options->endpoint, options->ca_file, &driver->address, error);
  if (status == LYNX_OK && (driver->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
    status = lynx_fail(error, LYNX_IO, "epoll: %s", strerror(errno));
  driver->connections = xalloc(options->n_slots, sizeof *driver->connections);
  driver->slots = xalloc(options->n_slots, sizeof *driver->slots);
  driver->pending = xalloc(options->n_slots, sizeof *driver->pending);
  driver->scratch = xalloc(READ_BYTES, 1);
  for (uint32_t i = 0; i < options->n_slots; i++) {
    struct connection *c = &driver->connections[i];
    c->slot = NO_SLOT;
    c->transport.fd = -1;
    http_parser_init(&c->http);
    sse_init(&c->sse);
    buffer_init(&c->body, BODY_MAX);
    driver->slots[i].connection = -1;
  }
  if (status != LYNX_OK) {
    http_close(driver);
    return status;
  }
  *ret_state = driver;
  return LYNX_OK;
}

static enum lynx_status http_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  struct http_driver *driver = state;
  const struct transport_address *to = &driver->address;
  driver->requests = xalloc(n_inputs, sizeof *driver->requests);
  driver->asked = xalloc(n_inputs, sizeof *driver->asked);
  driver->n_requests = n_inputs;
  struct buffer body, request;
  buffer_init(&body, BODY_MAX);
  buffer_init(&request, BODY_MAX);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++) {
    buffer_clear(&body);
    buffer_clear(&request);
    bool good = openai_body(&driver->options, &inputs[i], &body);
    bool brackets = strchr(to->url.host, ':') != NULL;
    good = good && buffer_printf(&request,
                                 "POST %s%s HTTP/1.1\r\nHost: %s%s%s:%d\r\nContent-Type: application/json\r\nAccept: "
                                 "%s\r\nAccept-Encoding: identity\r\nContent-Length: %zu\r\n",
                                 to->url.base, openai_path(&driver->options), brackets ? "[" : "", to->url.host, brackets ? "]" : "",
                                 to->url.port, driver->options.stream ? "text/event-stream" : "application/json", body.length);
    if (good && driver->options.bearer != NULL) good = buffer_printf(&request, "Authorization: Bearer %s\r\n", driver->options.bearer);
    good = good && buffer_text(&request, "\r\n") && buffer_append(&request, body.data, body.length);
    if (!good) status = lynx_fail(error, LYNX_LIMIT, "input %zu makes a request of more than %d bytes", i, BODY_MAX);
    driver->asked[i] = inputs[i].output_tokens;
    if (good) driver->requests[i] = (struct bytes){arena_text(&driver->arena, request.data, request.length), request.length};
  }
  buffer_release(&body);
  buffer_release(&request);
  return status;
}

static void watch(struct http_driver *driver, struct connection *c, uint32_t events) {
  if (c->watched == events) return;
  struct epoll_event event = {.events = events, .data.u32 = (uint32_t)(c - driver->connections)};
  int how = c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  lynx_assert(epoll_ctl(driver->epoll, how, c->transport.fd, &event) == 0);
  c->watched = events;
}

static void drop_connection(struct connection *c) {
  if (c->state != CONNECTION_CLOSED) transport_close(&c->transport); /* closing takes it out of the epoll set */
  c->state = CONNECTION_CLOSED;
  c->watched = 0;
  c->slot = NO_SLOT;
}

static void begin_answer(struct connection *c) {
  http_parser_reset(&c->http);
  sse_reset(&c->sse);
  buffer_clear(&c->body);
  c->finished = c->done = c->error_seen = c->any_byte = false;
  c->written = 0;
  c->tokens_before = 0;
  c->n_text_events = 0;
  c->end = (struct answer_end){.prompt_tokens = -1, .output_tokens = -1, .flags = c->end.flags & ANSWER_RETRIED};
}

static void deliver_end(struct http_driver *driver, uint32_t slot, int64_t at_ns, const struct answer_end *end) {
  driver->slots[slot].connection = -1;
  driver->deliver(driver->context,
                  &(struct completion){.kind = COMPLETION_END, .slot = slot, .at_ns = at_ns, .read_lag_ns = -1, .end = end});
}

static void fail_connection(struct http_driver *driver, struct connection *c, enum outcome outcome, const char *reason) {
  struct answer_end end = c->end;
  int32_t slot = c->slot;
  end.outcome = outcome;
  end.http_status = c->http.status;
  text_sanitise(end.reason, sizeof end.reason, reason, strlen(reason));
  drop_connection(c);
  if (slot != NO_SLOT) deliver_end(driver, (uint32_t)slot, clock_now(driver->options.clock), &end);
}

static void write_request(struct http_driver *driver, struct connection *c) {
  struct bytes request = driver->requests[driver->slots[c->slot].input];
  bool first = c->written == 0;
  int64_t at_ns = first ? clock_now(driver->options.clock) : 0;
  size_t n;
  enum transport_answer answer = transport_write(&c->transport, request.ptr + c->written, request.length - c->written, &n);
  if (answer == TRANSPORT_OK) {
    c->written += n;
    if (first && n > 0)
      driver->deliver(driver->context,
                      &(struct completion){.kind = COMPLETION_WRITTEN, .slot = (uint32_t)c->slot, .at_ns = at_ns, .read_lag_ns = -1});
  }
  if (answer == TRANSPORT_OK || answer == TRANSPORT_RETRY) {
    bool all = c->written == request.length;
    c->state = all ? CONNECTION_READING : CONNECTION_WRITING;
    watch(driver, c, EPOLLIN | (all && !c->transport.wants_write ? 0u : (uint32_t)EPOLLOUT));
    return;
  }
  if (c->written == 0) {
    fail_connection(driver, c, OUTCOME_CLOSED, c->transport.reason);
    return;
  }
  c->state = CONNECTION_READING; /* it stopped listening: what it says about that is read next */
  watch(driver, c, EPOLLIN);
}

/* Starts a connection for the slot; what fails at once is kept for the next reap, as issue may not deliver. */
static void start_connecting(struct http_driver *driver, struct connection *c) {
  if (transport_open(&c->transport, &driver->address) == TRANSPORT_OK) {
    c->state = CONNECTION_CONNECTING;
    c->watched = 0;
    watch(driver, c, EPOLLOUT | EPOLLIN);
    return;
  }
  struct pending *pending = &driver->pending[driver->n_pending++];
  *pending = (struct pending){.slot = (uint32_t)c->slot, .failed = true, .at_ns = clock_now(driver->options.clock), .end = c->end};
  pending->end.outcome = OUTCOME_REFUSED;
  memcpy(pending->end.reason, c->transport.reason, sizeof pending->end.reason);
  c->state = CONNECTION_IDLE; /* so that the descriptor, if any, is closed */
  drop_connection(c);
}

/* A kept connection takes the request now, not after another round of the loop. */
static void write_at_once(struct http_driver *driver, struct connection *c) {
  struct bytes request = driver->requests[driver->slots[c->slot].input];
  int64_t at_ns = clock_now(driver->options.clock);
  size_t n;
  enum transport_answer answer = transport_write(&c->transport, request.ptr, request.length, &n);
  if (answer != TRANSPORT_OK && answer != TRANSPORT_RETRY) {
    int32_t slot = c->slot;
    drop_connection(c);
    c->slot = slot;
    c->reused = false;
    c->end.flags = ANSWER_RETRIED;
    start_connecting(driver, c);
    return;
  }
  c->written = n;
  if (n > 0) driver->pending[driver->n_pending++] = (struct pending){.slot = (uint32_t)c->slot, .at_ns = at_ns};
  c->state = n == request.length ? CONNECTION_READING : CONNECTION_WRITING;
  watch(driver, c, EPOLLIN | (n == request.length ? 0u : (uint32_t)EPOLLOUT));
}

static enum driver_answer http_issue(void *state, uint32_t slot, size_t input) {
  struct http_driver *driver = state;
  lynx_assert(slot < driver->options.n_slots && input < driver->n_requests);
  struct connection *chosen = NULL;
  for (uint32_t i = 0; i < driver->options.n_slots; i++) { /* the slot's own connection first: it is the warm one */
    struct connection *c = &driver->connections[(slot + i) % driver->options.n_slots];
    if (c->state == CONNECTION_IDLE) {
      chosen = c;
      break;
    }
    if (c->state == CONNECTION_CLOSED && c->slot == NO_SLOT && chosen == NULL) chosen = c;
  }
  if (chosen == NULL) return DRIVER_BUSY;
  driver->slots[slot] = (struct slot_state){.connection = (int32_t)(chosen - driver->connections), .input = input};
  chosen->slot = (int32_t)slot;
  chosen->reused = chosen->state == CONNECTION_IDLE;
  chosen->end.flags = 0;
  begin_answer(chosen);
  if (!chosen->reused) {
    start_connecting(driver, chosen);
    return DRIVER_ACCEPTED;
  }
  write_at_once(driver, chosen);
  return DRIVER_ACCEPTED;
}

/* --- reading an answer --- */

static void take_event(struct http_driver *driver, struct connection *c, const struct openai_event *event) {
  if (event->has_error) {
    c->error_seen = true;
    memcpy(c->end.reason, event->error, sizeof c->end.reason);
    return;
  }
  if (event->prompt_tokens >= 0) c->end.prompt_tokens = event->prompt_tokens;
  if (event->cached_tokens > 0) c->end.flags |= ANSWER_CACHED_PROMPT;
  if (event->invalid_utf8) c->end.flags |= ANSWER_INVALID_UTF8;
  if (event->finished) c->finished = true;
  uint32_t n_tokens = event->carries_text ? 1 : 0; /* until usage tells better; docs/method.md#tokens */
  if (event->output_tokens >= 0) {
    c->end.output_tokens = event->output_tokens;
    if (event->total_tokens >= 0 && event->prompt_tokens >= 0 && event->total_tokens != event->prompt_tokens + event->output_tokens)
      c->end.flags |= ANSWER_USAGE_CONTRADICTS;
    if (driver->options.continuous_usage) {
      int64_t more = event->output_tokens - c->tokens_before;
      if (more < 0) c->end.flags |= ANSWER_USAGE_CONTRADICTS;
      n_tokens = more > 0 && more <= UINT32_MAX ? (uint32_t)more : 0;
      c->tokens_before = event->output_tokens;
    }
  }
  if (event->carries_text && event->output_tokens < 0) c->tokens_before += n_tokens; /* running usage was asked for and does not come */
  if (event->has_reasoning) c->end.flags |= ANSWER_REASONING;
  if (event->has_tool_call) c->end.flags |= ANSWER_TOOL_CALL;
  if (event->carries_text && c->n_text_events++ == 0 && event->is_blank) c->end.flags |= ANSWER_BLANK_FIRST;
  if (!event->carries_text && n_tokens == 0) return;
  driver->deliver(driver->context, &(struct completion){.kind = COMPLETION_EVENT,
                                                        .slot = (uint32_t)c->slot,
                                                        .at_ns = driver->read_at_ns,
                                                        .read_lag_ns = driver->read_lag_ns,
                                                        .n_tokens = n_tokens,
                                                        .n_bytes = event->n_bytes,
                                                        .carries_text = event->carries_text,
                                                        .content = event->content});
}

struct feeding {
  struct http_driver *driver;
  struct connection *connection;
  enum outcome trouble; /* OUTCOME_OK while all is well */
  const char *reason;
};

static void on_event(void *context, const char *data, size_t length) {
  struct feeding *feeding = context;
  struct openai_event event;
  if (feeding->trouble != OUTCOME_OK || feeding->connection->done) return;
  openai_read(&event, data, length);
  if (event.is_done) feeding->connection->done = true;
  else if (!event.is_json) {
    feeding->trouble = OUTCOME_PROTOCOL;
    feeding->reason = "an event that is not JSON";
  } else take_event(feeding->driver, feeding->connection, &event);
}

static void on_body(void *context, const char *data, size_t length) {
  struct feeding *feeding = context;
  struct connection *c = feeding->connection;
  if (feeding->trouble != OUTCOME_OK) return;
  bool fits = c->http.event_stream && c->http.status == 200 ? sse_feed(&c->sse, data, length, on_event, feeding)
                                                            : buffer_append(&c->body, data, length);
  if (fits) return;
  feeding->trouble = OUTCOME_LIMIT;
  feeding->reason = c->http.event_stream ? "an event of more than 1 MiB" : "a body of more than 16 MiB";
}

/* The answer is whole: what was it? */
static void judge(struct http_driver *driver, struct connection *c, struct answer_end *end) {
  if (c->http.status != 200) {
    struct openai_event event;
    openai_read(&event, c->body.data != NULL ? c->body.data : "", c->body.length);
    end->outcome = OUTCOME_HTTP_STATUS;
    if (event.has_error && event.error[0] != 0) memcpy(end->reason, event.error, sizeof end->reason);
    else text_sanitise(end->reason, sizeof end->reason, c->body.data != NULL ? c->body.data : "", c->body.length);
    return;
  }
  if (c->http.encoded) {
    end->outcome = OUTCOME_PROTOCOL;
    (void)snprintf(end->reason, sizeof end->reason, "a compressed answer, which was not asked for");
    return;
  }
  if (!c->http.event_stream) {
    struct openai_event event;
    openai_read(&event, c->body.data != NULL ? c->body.data : "", c->body.length);
    if (!event.is_json || driver->options.stream) {
      end->outcome = event.has_error ? OUTCOME_ERROR_IN_STREAM : OUTCOME_PROTOCOL;
      char found[60];
      text_sanitise(found, sizeof found, c->body.data != NULL ? c->body.data : "", c->body.length);
      (void)snprintf(end->reason, sizeof end->reason, "%s; it begins '%s'",
                     driver->options.stream ? "200, but not an event stream" : "200, but not JSON", found);
      if (event.has_error) memcpy(end->reason, event.error, sizeof end->reason);
      return;
    }
    take_event(driver, c, &event);
    *end = c->end;
  }
  end->outcome = c->error_seen ? OUTCOME_ERROR_IN_STREAM : OUTCOME_OK;
  if (c->error_seen) return;
  if (c->http.event_stream && !c->done && !c->finished) {
    end->outcome = OUTCOME_NOT_FINISHED;
    (void)snprintf(end->reason, sizeof end->reason, "the stream ended without [DONE] or a finish reason");
    return;
  }
  if (c->http.event_stream && !c->done) end->flags |= ANSWER_NO_DONE;
  if (end->output_tokens < 0) end->flags |= ANSWER_NO_USAGE;
  if (end->output_tokens >= 0 && end->output_tokens < c->n_text_events) end->flags |= ANSWER_USAGE_CONTRADICTS;
  if (driver->options.ignore_eos && end->output_tokens >= 0 && end->output_tokens < driver->asked[driver->slots[c->slot].input])
    end->flags |= ANSWER_SHORT;
}

static void finish_answer(struct http_driver *driver, struct connection *c) {
  struct answer_end end = c->end;
  judge(driver, c, &end);
  end.http_status = c->http.status;
  uint32_t slot = (uint32_t)c->slot;
  if (c->http.keep_alive && c->http.state == HTTP_DONE) {
    c->state = CONNECTION_IDLE;
    c->slot = NO_SLOT;
    watch(driver, c, EPOLLIN);
  } else drop_connection(c);
  deliver_end(driver, slot, driver->read_at_ns, &end);
}

static bool retry_fresh(struct http_driver *driver, struct connection *c) {
  /* A kept connection that the server closed before the first byte of the answer: its idle timer, not a failure. */
  if (!c->reused || c->any_byte) return false;
  int32_t slot = c->slot;
  drop_connection(c);
  c->slot = slot;
  c->reused = false;
  begin_answer(c);
  c->end.flags = ANSWER_RETRIED;
  start_connecting(driver, c);
  return true;
}

static void read_answer(struct http_driver *driver, struct connection *c) {
  size_t n;
  enum transport_answer answer = transport_read(&c->transport, driver->options.clock, driver->scratch, READ_BYTES, &n,
                                                &driver->read_lag_ns);
  driver->read_at_ns = clock_now(driver->options.clock);
  if (answer == TRANSPORT_RETRY) {
    watch(driver, c, EPOLLIN | (c->transport.wants_write || c->state == CONNECTION_WRITING ? (uint32_t)EPOLLOUT : 0u));
    return;
  }
  if (answer != TRANSPORT_OK) {
    if (retry_fresh(driver, c)) return;
    if (answer == TRANSPORT_CLOSED && http_parser_eof(&c->http)) finish_answer(driver, c);
    else
      fail_connection(driver, c, OUTCOME_CLOSED,
                      answer == TRANSPORT_CLOSED
                          ? (c->any_byte ? "the connection ended in the middle of the answer" : "the connection ended before any answer")
                          : c->transport.reason);
    return;
  }
  if (!c->any_byte) {
    c->any_byte = true;
    driver->deliver(driver->context, &(struct completion){.kind = COMPLETION_FIRST_BYTE,
                                                          .slot = (uint32_t)c->slot,
                                                          .at_ns = driver->read_at_ns,
                                                          .read_lag_ns = driver->read_lag_ns});
  }
  struct feeding feeding = {.driver = driver, .connection = c};
  size_t used = http_parser_feed(&c->http, driver->scratch, n, on_body, &feeding);
  if (feeding.trouble != OUTCOME_OK) fail_connection(driver, c, feeding.trouble, feeding.reason);
  else if (c->http.state == HTTP_BROKEN) fail_connection(driver, c, OUTCOME_PROTOCOL, c->http.reason);
  else if (c->http.state == HTTP_TOO_LARGE) fail_connection(driver, c, OUTCOME_LIMIT, c->http.reason);
  else if (c->error_seen) { /* nothing that follows can make it a success */ char reason[160];
    memcpy(reason, c->end.reason, sizeof reason);
    fail_connection(driver, c, OUTCOME_ERROR_IN_STREAM, reason[0] != 0 ? reason : "an error object after 200");
  } else if (c->http.state == HTTP_DONE) {
    /* Bytes that nobody asked for, or an answer before the question was out: the connection is not used again. */
    if (used < n || c->state == CONNECTION_WRITING) c->http.keep_alive = false;
    finish_answer(driver, c);
  }
}

static void ready(struct http_driver *driver, struct connection *c, uint32_t events) {
  switch (c->state) {
    case CONNECTION_CONNECTING: {
      enum transport_answer answer = transport_connected(&c->transport);
      if (answer == TRANSPORT_OK) write_request(driver, c);
      else if (answer == TRANSPORT_RETRY) watch(driver, c, c->transport.wants_write ? (EPOLLIN | EPOLLOUT) : EPOLLIN);
      else
        fail_connection(driver, c,
                        c->transport.tls != NULL && strncmp(c->transport.reason, "connect", 7) != 0 ? OUTCOME_TLS : OUTCOME_REFUSED,
                        c->transport.reason);
      break;
    }
    case CONNECTION_WRITING:
      /* Readable before all is written: an early answer (413, 429), or the end of a kept connection. */
      if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_answer(driver, c);
      else write_request(driver, c);
      break;
    case CONNECTION_READING: read_answer(driver, c); break;
    case CONNECTION_IDLE: drop_connection(c); break; /* the server ended a kept connection, or speaks out of turn */
    case CONNECTION_CLOSED: break;
  }
}

static int wait_events(struct http_driver *driver, struct epoll_event *events, int n, int64_t deadline_ns) {
  int64_t left = deadline_ns - clock_now(driver->options.clock);
  if (left < 0) left = 0;
  struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
  int got = driver->coarse ? -1 : epoll_pwait2(driver->epoll, events, n, &timeout, NULL);
  if (driver->coarse ||
      (got < 0 && (errno == ENOSYS || errno == EPERM))) { /* Linux before 5.11: to the millisecond, and the lag shows it */
    driver->coarse = true;
    got = epoll_wait(driver->epoll, events, n, (int)(left / 1000000));
  }
  return got;
}

static void http_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  struct http_driver *driver = state;
  driver->deliver = deliver;
  driver->context = context;
  for (size_t i = 0; i < driver->n_pending; i++) {
    const struct pending *pending = &driver->pending[i];
    if (!pending->failed)
      deliver(context, &(struct completion){.kind = COMPLETION_WRITTEN, .slot = pending->slot, .at_ns = pending->at_ns, .read_lag_ns = -1});
    else deliver_end(driver, pending->slot, pending->at_ns, &pending->end);
    if (pending->failed) deadline_ns = 0; /* a slot is free: do not wait */
  }
  driver->n_pending = 0;
  struct epoll_event events[64];
  int n = wait_events(driver, events, (int)LYNX_COUNT(events), deadline_ns);
  for (int i = 0; i < n; i++) ready(driver, &driver->connections[events[i].data.u32], events[i].events);
}

static void http_cancel(void *state, uint32_t slot) {
  struct http_driver *driver = state;
  int32_t index = driver->slots[slot].connection;
  if (index >= 0 && driver->connections[index].slot == (int32_t)slot) drop_connection(&driver->connections[index]);
  driver->slots[slot].connection = -1;
  for (size_t i = 0; i < driver->n_pending; i++)
    if (driver->pending[i].slot == slot) driver->pending[i--] = driver->pending[--driver->n_pending];
}

const struct driver driver_http;
const struct driver driver_http = {
    .abi = DRIVER_ABI,
    .name = "http",
    .summary = "OpenAI-compatible completions and chat completions over HTTP/1.1, streamed or not",

    .open = http_open,
    .prepare = http_prepare,
    .issue = http_issue,
    .reap = http_reap,
    .cancel = http_cancel,
    .close = http_close,
};
