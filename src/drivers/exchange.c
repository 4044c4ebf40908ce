#include "drivers/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/secret.h"
#include "drivers/sse.h"
#include "drivers/transport.h"
#include "drivers/wait.h"

/* CONNECTING_MAX: a server's queue of connections not yet accepted is often 128 long (SYNs beyond it are dropped and sent again a
 * second later), so no more than half of that are opened at once; the others wait here, and their lag says so. */
enum {
  READ_BYTES = 65536,
  EVENTS_AT_ONCE = 256,
  LINE_MAX_BYTES = 1 << 20,
  CONNECTING_MAX = 64,
  FULL_QUEUE_PAUSE_NS = 1000000,
  CLOSED_IN_A_ROW_MAX = 8,
  TRY_AGAIN_EVERY = 256
};

enum connection_state { CLOSED, WAITING, CONNECTING, WRITING, READING, IDLE };

/* The connection of a slot: it is free where the slot is, and kept for the slot's next request. */
struct connection {
  enum connection_state state;
  bool busy; /* a request is on it */
  bool reused, any_byte;
  uint32_t watched; /* the epoll events asked for */
  struct transport transport;
  size_t written;
  struct http_parser http;
  struct sse_parser sse;
  struct buffer body; /* what did not come as an event stream */
  struct answer answer;
};

struct exchange {
  struct driver_options options;
  struct exchange_reader reader;
  void *reader_context;
  struct transport_address address;
  struct waiter waiter;
  struct connection *connections; /* n_slots of them */
  uint32_t *waiting;              /* a ring of slots that may not connect yet */
  uint32_t waiting_from, n_waiting, n_connecting;
  uint32_t connecting_max; /* of this thread */
  uint32_t n_not_kept;
  uint32_t n_closed_under_us; /* kept connections in a row that were of no use */
  struct bytes *requests;     /* per input: head and body, ready to send */
  size_t n_requests, room;
  struct arena arena;
  char *scratch;
  struct epoll_event *ready;
  /* During reap. */
  driver_deliver *deliver;
  void *context;
  /* What happened while issuing, delivered by the next reap: a first byte written, or a failure. */
  struct pending {
    uint32_t slot;
    bool failed;
    int64_t at_ns;
  } * pending;
  size_t n_pending;
};

void exchange_close(struct exchange *exchange) {
  if (exchange == NULL) return;
  for (uint32_t i = 0; exchange->connections != NULL && i < exchange->options.n_slots; i++) {
    struct connection *c = &exchange->connections[i];
    if (c->state > WAITING) transport_close(&c->transport);
    http_parser_release(&c->http);
    sse_release(&c->sse);
    buffer_release(&c->body);
  }
  if (exchange->waiter.epoll >= 0) (void)close(exchange->waiter.epoll);
  transport_address_release(&exchange->address);
  arena_release(&exchange->arena);
  free(exchange->connections);
  free(exchange->waiting);
  free(exchange->requests);
  free(exchange->scratch);
  free(exchange->ready);
  free(exchange->pending);
  free(exchange);
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
  if (limit.rlim_cur >= (rlim_t)n_slots + 64) return LYNX_OK; /* of all load threads together */
  return lynx_fail(error, LYNX_LIMIT,
                   "regime.concurrency needs %u connections, and this process may open %llu files; raise it with ulimit -n", n_slots,
                   (unsigned long long)limit.rlim_cur);
}

enum lynx_status exchange_open(const struct driver_options *options, const struct exchange_reader *reader, void *context,
                               struct exchange **ret, struct lynx_error *error) {
  struct exchange *exchange = xalloc(1, sizeof *exchange);
  exchange->options = *options;
  exchange->reader = *reader;
  exchange->reader_context = context;
  uint32_t n_threads = options->n_slots > 0 && options->n_slots_in_all > options->n_slots
                           ? (options->n_slots_in_all + options->n_slots - 1) / options->n_slots
                           : 1;
  exchange->connecting_max = CONNECTING_MAX / n_threads > 0 ? CONNECTING_MAX / n_threads : 1;
  exchange->waiter.epoll = -1;
  uint32_t n_slots = options->n_slots_in_all > options->n_slots ? options->n_slots_in_all : options->n_slots;
  /* A proxy of our own has two more for each. */
  enum lynx_status status = raise_descriptor_limit(options->through_port > 0 ? 3 * n_slots : n_slots, error);
  if (status == LYNX_OK) status = transport_resolve(options->endpoint, options->ca_file, &exchange->address, error);
  if (status == LYNX_OK && options->through_port > 0) transport_address_through(&exchange->address, options->through_port);
  if (status == LYNX_OK && (exchange->waiter.epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
    status = lynx_fail(error, LYNX_IO, "epoll: %s", strerror(errno));
  if (status != LYNX_OK) {
    exchange_close(exchange);
    return status;
  }
  exchange->connections = xalloc(options->n_slots, sizeof *exchange->connections);
  exchange->waiting = xalloc(options->n_slots, sizeof *exchange->waiting);
  exchange->pending = xalloc(options->n_slots, sizeof *exchange->pending);
  exchange->scratch = xalloc(READ_BYTES, 1);
  exchange->ready = xalloc(EVENTS_AT_ONCE, sizeof *exchange->ready);
  for (uint32_t i = 0; i < options->n_slots; i++) {
    struct connection *c = &exchange->connections[i];
    c->transport.fd = -1;
    http_parser_init(&c->http);
    sse_init(&c->sse);
    buffer_init(&c->body, EXCHANGE_BODY_MAX);
  }
  *ret = exchange;
  return LYNX_OK;
}

enum lynx_status exchange_add(struct exchange *exchange, const struct exchange_post *post, struct lynx_error *error) {
  const struct endpoint *to = &exchange->address.url;
  struct buffer request;
  bool brackets = strchr(to->host, ':') != NULL;
  buffer_init(&request, EXCHANGE_BODY_MAX + 65536);
  bool good = post->body.length <= EXCHANGE_BODY_MAX && buffer_printf(&request, "POST %s%s HTTP/1.1\r\nHost: %s%s%s", to->base, post->path,
                                                                      brackets ? "[" : "", to->host, brackets ? "]" : "");
  if (good && to->socket_path[0] == 0) good = buffer_printf(&request, ":%d", to->port);
  good = good && buffer_printf(&request, "\r\nContent-Type: %s\r\nAccept: %s\r\nAccept-Encoding: identity\r\nContent-Length: %zu\r\n%s",
                               post->content_type, post->accept, post->body.length, post->headers != NULL ? post->headers : "");
  if (good && exchange->options.user_agent != NULL && exchange->options.user_agent[0] != 0)
    good = buffer_printf(&request, "User-Agent: %s\r\n", exchange->options.user_agent);
  if (good && exchange->options.bearer != NULL) good = buffer_printf(&request, "Authorization: Bearer %s\r\n", exchange->options.bearer);
  good = good && buffer_text(&request, "\r\n") && buffer_append(&request, post->body.ptr, post->body.length);
  if (good) {
    exchange->requests = xroom(exchange->requests, exchange->n_requests, &exchange->room, sizeof *exchange->requests);
    exchange->requests[exchange->n_requests++] = (struct bytes){arena_text(&exchange->arena, request.data, request.length), request.length};
  }
  buffer_release(&request);
  if (good) return LYNX_OK;
  return lynx_fail(error, LYNX_LIMIT, "input %zu makes a request of more than %d bytes", exchange->n_requests, EXCHANGE_BODY_MAX);
}

void exchange_deliver(const struct exchange *exchange, const struct answer *answer, const struct completion *event) {
  struct completion whole = *event;
  whole.kind = COMPLETION_EVENT;
  whole.slot = answer->slot;
  whole.at_ns = answer->at_ns;
  whole.read_lag_ns = answer->read_lag_ns;
  exchange->deliver(exchange->context, &whole);
}

static uint32_t slot_of(const struct exchange *exchange, const struct connection *c) {
  return (uint32_t)(c - exchange->connections);
}

static void watch(const struct exchange *exchange, struct connection *c, uint32_t events) {
  if (c->watched == events) return;
  struct epoll_event event = {.events = events, .data.u32 = slot_of(exchange, c)};
  int how = c->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  lynx_assert(epoll_ctl(exchange->waiter.epoll, how, c->transport.fd, &event) == 0);
  c->watched = events;
}

static void drop_connection(struct exchange *exchange, struct connection *c) {
  if (c->state == CONNECTING) exchange->n_connecting--;
  if (c->state > WAITING) transport_close(&c->transport); /* closing takes it out of the epoll set */
  c->state = CLOSED;                                      /* one that waits is passed over when its turn comes */
  c->watched = 0;
}

static void begin_answer(struct exchange *exchange, struct connection *c, size_t input, unsigned flags) {
  http_parser_reset(&c->http);
  sse_reset(&c->sse);
  buffer_clear(&c->body);
  c->any_byte = false;
  c->written = 0;
  answer_begin(&c->answer, &c->http, slot_of(exchange, c), input, flags);
}

static void deliver_written(const struct exchange *exchange, uint32_t slot, int64_t at_ns) {
  exchange->deliver(exchange->context, &(struct completion){.kind = COMPLETION_WRITTEN, .slot = slot, .at_ns = at_ns, .read_lag_ns = -1});
}

/* The engine may issue the slot's next request from here: nothing of the connection is touched afterwards. */
static void deliver_end(struct exchange *exchange, struct connection *c, int64_t at_ns) {
  c->busy = false;
  secret_redact(c->answer.end.reason, exchange->options.bearer); /* a server may repeat what it was sent */
  exchange->deliver(
      exchange->context,
      &(struct completion){.kind = COMPLETION_END, .slot = slot_of(exchange, c), .at_ns = at_ns, .read_lag_ns = -1, .end = &c->answer.end});
}

static void set_failure(struct answer *answer, enum outcome outcome, const char *reason) {
  char clean[sizeof answer->end.reason]; /* the reason may stand in the answer itself */
  answer->end.outcome = outcome;
  text_sanitise(clean, sizeof clean, reason, strlen(reason));
  memcpy(answer->end.reason, clean, sizeof clean);
}

static void fail_request(struct exchange *exchange, struct connection *c, enum outcome outcome, const char *reason) {
  set_failure(&c->answer, outcome, reason);
  c->answer.end.http_status = c->http.status;
  drop_connection(exchange, c);
  if (c->busy) deliver_end(exchange, c, clock_now(exchange->options.clock));
}

/* --- sending --- */

static struct bytes request_of(const struct exchange *exchange, const struct connection *c) {
  return exchange->requests[c->answer.input];
}

static void after_write(struct exchange *exchange, struct connection *c) {
  bool all = c->written == request_of(exchange, c).length;
  c->state = all ? READING : WRITING;
  watch(exchange, c, EPOLLIN | (all && !c->transport.wants_write ? 0u : (uint32_t)EPOLLOUT));
}

static void start_connecting(struct exchange *exchange, struct connection *c);

static bool retry_fresh(struct exchange *exchange, struct connection *c) {
  /* A kept connection that the server closed before the first byte of the answer: its idle timer, not a failure. */
  if (!c->reused || c->any_byte) return false;
  exchange->n_closed_under_us++;
  drop_connection(exchange, c);
  c->reused = false;
  begin_answer(exchange, c, c->answer.input, ANSWER_RETRIED);
  start_connecting(exchange, c);
  return true;
}

static void write_request(struct exchange *exchange, struct connection *c) {
  struct bytes request = request_of(exchange, c);
  bool first = c->written == 0;
  int64_t at_ns = first ? clock_now(exchange->options.clock) : 0;
  size_t n;
  enum transport_answer answer = transport_write(&c->transport, request.ptr + c->written, request.length - c->written, &n);
  if (answer == TRANSPORT_OK) {
    c->written += n;
    if (first && n > 0) {
      c->answer.written_ns = at_ns;
      deliver_written(exchange, c->answer.slot, at_ns);
    }
  }
  if (answer == TRANSPORT_OK || answer == TRANSPORT_RETRY) {
    after_write(exchange, c);
    return;
  }
  if (c->written == 0) {
    if (!retry_fresh(exchange, c)) fail_request(exchange, c, OUTCOME_CLOSED, c->transport.reason);
    return;
  }
  c->state = READING; /* it stopped listening: what it says about that is read next */
  watch(exchange, c, EPOLLIN);
}

static void keep_waiting(struct exchange *exchange, struct connection *c) {
  c->state = WAITING;
  lynx_assert(exchange->n_waiting < exchange->options.n_slots);
  exchange->waiting[(exchange->waiting_from + exchange->n_waiting++) % exchange->options.n_slots] = slot_of(exchange, c);
}

/* False: the server's queue is full, and the connection waits. */
static bool open_connection(struct exchange *exchange, struct connection *c) {
  enum transport_answer answer = transport_open(&c->transport, &exchange->address);
  if (answer == TRANSPORT_OK) {
    c->state = CONNECTING;
    exchange->n_connecting++;
    c->watched = 0;
    watch(exchange, c, EPOLLOUT | EPOLLIN);
    return true;
  }
  if (answer == TRANSPORT_RETRY) {
    keep_waiting(exchange, c);
    return false;
  }
  set_failure(&c->answer, OUTCOME_REFUSED, c->transport.reason);
  c->state = IDLE; /* so that the descriptor, if any, is closed */
  drop_connection(exchange, c);
  exchange->pending[exchange->n_pending++] = (struct pending){
      .slot = slot_of(exchange, c), .failed = true, .at_ns = clock_now(exchange->options.clock)};
  return true;
}

/* What fails at once is kept for the next reap, as issue may not deliver. */
static void start_connecting(struct exchange *exchange, struct connection *c) {
  if (exchange->n_connecting < exchange->connecting_max) (void)open_connection(exchange, c);
  else keep_waiting(exchange, c);
}

static void let_waiting_connect(struct exchange *exchange) {
  while (exchange->n_waiting > 0 && exchange->n_connecting < exchange->connecting_max) {
    struct connection *c = &exchange->connections[exchange->waiting[exchange->waiting_from]];
    exchange->waiting_from = (exchange->waiting_from + 1) % exchange->options.n_slots;
    exchange->n_waiting--;
    if (c->state == WAITING && !open_connection(exchange, c)) break;
  }
}

static void stop_waiting(struct exchange *exchange, const struct connection *c) {
  uint32_t n = 0, n_slots = exchange->options.n_slots, slot = slot_of(exchange, c);
  for (uint32_t i = 0; i < exchange->n_waiting; i++) {
    uint32_t other = exchange->waiting[(exchange->waiting_from + i) % n_slots];
    if (other != slot) exchange->waiting[(exchange->waiting_from + n++) % n_slots] = other;
  }
  exchange->n_waiting = n;
}

void exchange_issue(struct exchange *exchange, uint32_t slot, size_t input) {
  lynx_assert(slot < exchange->options.n_slots && input < exchange->n_requests);
  struct connection *c = &exchange->connections[slot];
  lynx_assert(!c->busy);
  begin_answer(exchange, c, input, 0);
  c->busy = true;
  c->reused = c->state == IDLE;
  if (!c->reused) {
    start_connecting(exchange, c);
    return;
  }
  /* A kept connection takes the request now, not after another round of the loop. */
  struct bytes request = request_of(exchange, c);
  int64_t at_ns = clock_now(exchange->options.clock);
  size_t n;
  enum transport_answer answer = transport_write(&c->transport, request.ptr, request.length, &n);
  if (answer != TRANSPORT_OK && answer != TRANSPORT_RETRY) {
    drop_connection(exchange, c);
    c->reused = false;
    c->answer.end.flags = ANSWER_RETRIED;
    start_connecting(exchange, c);
    return;
  }
  c->written = n;
  if (n > 0) {
    c->answer.written_ns = at_ns;
    exchange->pending[exchange->n_pending++] = (struct pending){.slot = slot, .at_ns = at_ns};
  }
  after_write(exchange, c);
}

/* --- reading an answer --- */

struct feeding {
  struct exchange *exchange;
  struct connection *connection;
  enum outcome trouble; /* OUTCOME_OK while all is well */
  const char *reason;
};

static void take_piece(void *context, const char *data, size_t length) {
  struct feeding *feeding = context;
  struct answer *answer = &feeding->connection->answer;
  struct exchange *exchange = feeding->exchange;
  if (feeding->trouble != OUTCOME_OK || answer->done) return;
  if (exchange->reader.piece(exchange->reader_context, answer, (struct bytes){data, length}, &feeding->reason)) return;
  feeding->trouble = OUTCOME_PROTOCOL;
}

/* Lines of JSON: a blank one says nothing. */
static bool feed_lines(struct feeding *feeding, const char *data, size_t length) {
  struct buffer *line = &feeding->connection->body;
  while (length > 0) {
    const char *end = memchr(data, '\n', length);
    size_t n = end != NULL ? (size_t)(end - data) : length;
    if (line->length + n > LINE_MAX_BYTES) return false;
    if (end == NULL) return buffer_append(line, data, n);
    if (line->length == 0) {
      if (n > 0) take_piece(feeding, data, n); /* whole in this read: no copy */
    } else {
      if (!buffer_append(line, data, n)) return false;
      take_piece(feeding, line->data, line->length);
      buffer_clear(line);
    }
    data += n + 1;
    length -= n + 1;
  }
  return true;
}

static void take_body(void *context, const char *data, size_t length) {
  struct feeding *feeding = context;
  struct connection *c = feeding->connection;
  if (feeding->trouble != OUTCOME_OK) return;
  bool good = c->http.status == 200, events = good && c->http.event_stream,
       lines = good && !events && feeding->exchange->reader.framing == FRAMING_LINES;
  c->answer.in_pieces = events || lines;
  bool fits = events  ? sse_feed(&c->sse, data, length, take_piece, feeding)
              : lines ? feed_lines(feeding, data, length)
                      : buffer_append(&c->body, data, length);
  if (fits) return;
  feeding->trouble = OUTCOME_LIMIT;
  feeding->reason = events ? "an event of more than 1 MiB" : lines ? "a line of more than 1 MiB" : "a body of more than 16 MiB";
}

static void finish_answer(struct exchange *exchange, struct connection *c) {
  struct answer *answer = &c->answer;
  answer->end.http_status = c->http.status;
  struct feeding last = {.exchange = exchange, .connection = c};
  if (answer->in_pieces && c->body.length > 0) { /* a last line that no line end follows */
    take_piece(&last, c->body.data, c->body.length);
    buffer_clear(&c->body);
  }
  struct bytes body = {c->body.data != NULL ? c->body.data : "", c->body.length};
  if (last.trouble != OUTCOME_OK) set_failure(answer, last.trouble, last.reason);
  else if (c->http.status == 200 && c->http.encoded) set_failure(answer, OUTCOME_PROTOCOL, "a compressed answer, which was not asked for");
  else exchange->reader.judge(exchange->reader_context, answer, body);
  /* A server that always closes what it says it keeps (llama.cpp after a stream) would cost every request a wasted write. */
  if (c->reused) exchange->n_closed_under_us = 0;
  else if (exchange->n_closed_under_us >= CLOSED_IN_A_ROW_MAX && ++exchange->n_not_kept % TRY_AGAIN_EVERY == 0)
    exchange->n_closed_under_us = CLOSED_IN_A_ROW_MAX - 1; /* one is kept, to see whether that still holds */
  if (c->http.keep_alive && c->http.state == HTTP_DONE && exchange->n_closed_under_us < CLOSED_IN_A_ROW_MAX) {
    c->state = IDLE;
    watch(exchange, c, EPOLLIN);
  } else drop_connection(exchange, c);
  deliver_end(exchange, c, answer->at_ns);
}

static void read_failed(struct exchange *exchange, struct connection *c, enum transport_answer answer) {
  if (retry_fresh(exchange, c)) return;
  if (answer == TRANSPORT_CLOSED && http_parser_eof(&c->http)) finish_answer(exchange, c);
  else
    fail_request(exchange, c, OUTCOME_CLOSED,
                 answer != TRANSPORT_CLOSED ? c->transport.reason
                 : c->any_byte              ? "the connection ended in the middle of the answer"
                                            : "the connection ended before any answer");
}

static void read_answer(struct exchange *exchange, struct connection *c) {
  size_t n;
  struct answer *a = &c->answer;
  enum transport_answer answer = transport_read(&c->transport, exchange->options.clock, exchange->scratch, READ_BYTES, &n, &a->read_lag_ns);
  a->at_ns = clock_now(exchange->options.clock);
  if (answer == TRANSPORT_RETRY) {
    watch(exchange, c, EPOLLIN | (c->transport.wants_write || c->state == WRITING ? (uint32_t)EPOLLOUT : 0u));
    return;
  }
  if (answer != TRANSPORT_OK) {
    read_failed(exchange, c, answer);
    return;
  }
  if (!c->any_byte) {
    c->any_byte = true;
    exchange->deliver(exchange->context,
                      &(struct completion){
                          .kind = COMPLETION_FIRST_BYTE, .slot = slot_of(exchange, c), .at_ns = a->at_ns, .read_lag_ns = a->read_lag_ns});
  }
  struct feeding feeding = {.exchange = exchange, .connection = c};
  size_t used = http_parser_feed(&c->http, exchange->scratch, n, take_body, &feeding);
  if (feeding.trouble != OUTCOME_OK) fail_request(exchange, c, feeding.trouble, feeding.reason);
  else if (c->http.state == HTTP_BROKEN) fail_request(exchange, c, OUTCOME_PROTOCOL, c->http.reason);
  else if (c->http.state == HTTP_TOO_LARGE) fail_request(exchange, c, OUTCOME_LIMIT, c->http.reason);
  else if (a->failed) /* nothing that follows can make it a success */
    fail_request(exchange, c, OUTCOME_ERROR_IN_STREAM, a->end.reason[0] != 0 ? a->end.reason : "an error object after 200");
  else if (c->http.state == HTTP_DONE) {
    /* Bytes that nobody asked for, or an answer before the question was out: the connection is not used again. */
    if (used < n || c->state == WRITING) c->http.keep_alive = false;
    finish_answer(exchange, c);
  }
}

static void on_ready(struct exchange *exchange, struct connection *c, uint32_t events) {
  switch (c->state) {
    case CONNECTING: {
      enum transport_answer answer = transport_connected(&c->transport);
      if (answer == TRANSPORT_RETRY) watch(exchange, c, c->transport.wants_write ? (EPOLLIN | EPOLLOUT) : EPOLLIN);
      else if (answer == TRANSPORT_OK) {
        exchange->n_connecting--;
        c->state = WRITING;
        write_request(exchange, c);
      } else {
        bool tls = c->transport.tls != NULL && strncmp(c->transport.reason, "connect", 7) != 0;
        fail_request(exchange, c, tls ? OUTCOME_TLS : OUTCOME_REFUSED, c->transport.reason);
      }
      break;
    }
    case WRITING:
      /* Readable before all is written: an early answer (413, 429), or the end of a kept connection. */
      if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_answer(exchange, c);
      else write_request(exchange, c);
      break;
    case READING: read_answer(exchange, c); break;
    case IDLE: drop_connection(exchange, c); break; /* the server ended a kept connection, or speaks out of turn */
    case WAITING:
    case CLOSED: break;
  }
}

void exchange_reap(struct exchange *exchange, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  exchange->deliver = deliver;
  exchange->context = context;
  for (size_t i = 0; i < exchange->n_pending; i++) {
    struct pending pending = exchange->pending[i];
    if (!pending.failed) deliver_written(exchange, pending.slot, pending.at_ns);
    else deliver_end(exchange, &exchange->connections[pending.slot], pending.at_ns);
    if (pending.failed) deadline_ns = 0; /* a slot is free: do not wait */
  }
  exchange->n_pending = 0;
  let_waiting_connect(exchange);
  if (exchange->n_pending > 0) deadline_ns = 0;
  int64_t soon_ns = clock_now(exchange->options.clock) + FULL_QUEUE_PAUSE_NS;
  if (exchange->n_waiting > 0 && exchange->n_connecting == 0 && deadline_ns > soon_ns) deadline_ns = soon_ns;
  int n = wait_until(&exchange->waiter, exchange->options.clock, deadline_ns, exchange->ready, EVENTS_AT_ONCE);
  for (int i = 0; i < n; i++) on_ready(exchange, &exchange->connections[exchange->ready[i].data.u32], exchange->ready[i].events);
}

void exchange_cancel(struct exchange *exchange, uint32_t slot) {
  struct connection *c = &exchange->connections[slot];
  if (!c->busy) return;
  if (c->state == WAITING) stop_waiting(exchange, c);
  drop_connection(exchange, c);
  c->busy = false;
  for (size_t i = 0; i < exchange->n_pending; i++)
    if (exchange->pending[i].slot == slot) exchange->pending[i--] = exchange->pending[--exchange->n_pending];
}
