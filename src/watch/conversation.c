#include "watch/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "drivers/dialect.h"
#include "drivers/model_answer.h"
#include "drivers/sse.h"
#include "load/events.h"

enum { KEPT_BYTES = 65536, RESET_NEAR = 1 << 20 };
#define RESET_SILENT_NS INT64_C(10000000000)

enum following { JOINING, FOLLOWING, LEFT };

/* One request of the connection: answers come in the order of the requests. */
struct asked {
  bool is_model, is_head, whole, in_flight;
  struct path_route route;
  int64_t begun_ns, asked_ns, connecting_ns;
  struct request_asks asks;
};

struct conversation {
  enum following state;
  bool saw_beginning, client_ended, server_ended, broken, was_late;
  bool answered_early; /* the request that is being read was answered before it was whole */
  bool one_sided;      /* it was opened, and nothing was seen that the server sent */
  /* A SYN that its server has not answered: anybody can send one in another's name. */
  bool has_syn;
  uint32_t syn;
  size_t syn_bytes;
  int64_t syn_ns;
  uint32_t client_begin; /* of the SYN that was answered: one more of the same is a repetition */
  uint32_t client_fin, server_fin;
  bool has_client_fin, has_server_fin;
  bool has_reset, reset_by_client; /* one that may be forged: only silence after it shows that it is not */
  int64_t reset_ns, client_end_ns, connecting_ns, latest_ns;
  struct stream client, server;
  struct request_reader reader;
  struct asked *asked; /* the first is the one that is answered now */
  size_t n_asked, room;
  /* The answer that is coming now. */
  struct http_parser http;
  struct sse_parser sse;
  struct answer answer;
  struct answer_rules rules;
  struct route route; /* of it: the list of requests moves */
  struct buffer body, events;
  struct watched_request row;
  bool answering;
  int64_t last_event_ns;
  enum outcome trouble;
};

struct conversation *conversation_open(void) {
  struct conversation *c = xalloc(1, sizeof *c);
  c->connecting_ns = -1;
  request_reader_init(&c->reader);
  http_parser_init(&c->http);
  sse_init(&c->sse);
  buffer_init(&c->body, CONVERSATION_BODY_MAX);
  buffer_init(&c->events, CONVERSATION_EVENTS_MAX);
  return c;
}

static struct asked *first_asked(struct conversation *c) {
  return c->n_asked > 0 ? &c->asked[0] : NULL;
}

/* What grew for one long text is not kept for the short ones behind it. */
static void give_back(struct buffer *buffer) {
  size_t limit = buffer->limit;
  if (buffer->capacity <= KEPT_BYTES) return;
  buffer_release(buffer);
  buffer_init(buffer, limit);
}

static void drop_first(struct conversation *c, const struct conversation_sink *sink) {
  sink->counts->n_in_flight -= c->asked[0].in_flight;
  c->n_asked--;
  memmove(c->asked, c->asked + 1, c->n_asked * sizeof *c->asked); /* few */
  c->answering = false;
  give_back(&c->body);
  give_back(&c->events);
}

/* --- an answer --- */

static int64_t rounded(const struct conversation_sink *sink, int64_t ns) {
  return ns < 0 ? ns : ns - ns % sink->resolution_ns;
}

static void begin_answer(struct conversation *c, const struct asked *a, int64_t at_ns) {
  http_parser_reset(&c->http);
  c->http.no_body = a->is_head;
  sse_reset(&c->sse);
  buffer_clear(&c->body);
  buffer_clear(&c->events);
  answer_begin(&c->answer, &c->http, 0, 0, 0);
  c->route = a->route.route;
  c->rules = (struct answer_rules){
      .route = &c->route, .embeddings = a->route.embeddings, .running_usage = a->route.route.running_usage || a->asks.running_usage};
  int64_t asked_ns = a->asked_ns >= 0 ? a->asked_ns : at_ns; /* answered before the request was whole */
  c->row = (struct watched_request){.begun_ns = a->begun_ns,
                                    .asked_ns = asked_ns,
                                    .connecting_ns = a->connecting_ns,
                                    .first_byte_ns = at_ns,
                                    .first_token_ns = -1,
                                    .first_answer_ns = -1,
                                    .first_tool_call_ns = -1,
                                    .last_token_ns = -1,
                                    .end_ns = -1,
                                    .prompt_tokens = -1,
                                    .output_tokens = -1,
                                    .asked_tokens = a->asks.max_tokens,
                                    .prompt_bytes = a->asks.prompt_bytes};
  c->last_event_ns = -1;
  c->trouble = OUTCOME_OK;
  c->answering = true;
}

/* Bytes of text are what an eavesdropper guesses words from: they are not kept. */
static void add_event(struct conversation *c, const struct completion *event, const struct conversation_sink *sink) {
  struct watched_request *row = &c->row;
  int64_t at_ns = c->answer.at_ns, base_ns = rounded(sink, row->asked_ns);
  struct answer_event kept = {.at_ns = rounded(sink, at_ns) - base_ns, .n_tokens = event->n_tokens, .carries_text = event->carries_text};
  int64_t before_ns = c->last_event_ns >= 0 ? rounded(sink, c->last_event_ns) - base_ns : 0;
  if (kept.at_ns < before_ns) kept.at_ns = before_ns;
  (void)events_append(&c->events, before_ns, &kept); /* cut at its limit; the counts go on */
  row->n_shared += c->last_event_ns == at_ns;
  c->last_event_ns = at_ns > base_ns ? at_ns : base_ns;
  if (event->carries_text && row->first_token_ns < 0) row->first_token_ns = at_ns;
  if (event->carries_answer && row->first_answer_ns < 0) row->first_answer_ns = at_ns;
  if (event->carries_tool_call && row->first_tool_call_ns < 0) row->first_tool_call_ns = at_ns;
  if (event->carries_text || event->n_tokens > 0) row->last_token_ns = at_ns;
  row->n_text_events += event->carries_text;
}

struct feeding {
  struct conversation *conversation;
  const struct conversation_sink *sink;
};

static void take_piece(void *context, const char *data, size_t length) {
  const struct feeding *f = context;
  struct conversation *c = f->conversation;
  struct completion event;
  const char *reason;
  if (c->trouble != OUTCOME_OK || c->answer.done || c->answer.failed) return;
  if (!model_answer_piece(&c->rules, &c->answer, (struct bytes){data, length}, &event, &reason)) c->trouble = OUTCOME_PROTOCOL;
  else if (event.kind == COMPLETION_EVENT) add_event(c, &event, f->sink);
}

static void take_lines(struct feeding *f, const char *data, size_t length) {
  struct buffer *line = &f->conversation->body;
  while (length > 0) {
    const char *end = memchr(data, '\n', length);
    size_t n = end != NULL ? (size_t)(end - data) : length;
    if (!buffer_append(line, data, n)) f->conversation->trouble = OUTCOME_LIMIT;
    if (end != NULL && line->length > 0) take_piece(f, line->data, line->length);
    if (end != NULL) buffer_clear(line);
    n += end != NULL ? 1 : 0;
    data += n;
    length -= n;
  }
}

static void take_body(void *context, const char *data, size_t length) {
  struct feeding *f = context;
  struct conversation *c = f->conversation;
  const struct asked *a = first_asked(c);
  if (!a->is_model || c->trouble != OUTCOME_OK || c->http.encoded) return; /* a compressed answer: when it came, and nothing else */
  bool good = c->http.status == 200, events = good && c->http.event_stream,
       lines = good && !events && a->route.route.framing == FRAMING_LINES;
  c->answer.in_pieces = events || lines;
  if (lines) take_lines(f, data, length);
  else if (!(events ? sse_feed(&c->sse, data, length, take_piece, f) : buffer_append(&c->body, data, length))) c->trouble = OUTCOME_LIMIT;
}

static int64_t bounded(int64_t n) {
  return n < WATCHED_COUNT_MAX ? n : WATCHED_COUNT_MAX;
}

static void report(struct conversation *c, enum outcome outcome, int64_t at_ns, const struct conversation_sink *sink) {
  struct watched_request row = c->row;
  int64_t *times[] = {&row.begun_ns,        &row.asked_ns,           &row.first_byte_ns, &row.first_token_ns,
                      &row.first_answer_ns, &row.first_tool_call_ns, &row.last_token_ns, &row.end_ns};
  row.outcome = outcome;
  row.cancelled = outcome == OUTCOME_ABANDONED;
  /* Who stops reading has had what he wanted, or waited too long: then it counts as at least its age. */
  if (row.cancelled) row.outcome = row.first_token_ns >= 0 ? OUTCOME_OK : OUTCOME_UNFINISHED;
  row.end_ns = at_ns;
  row.http_status = c->answering ? c->http.status : 0;
  row.prompt_tokens = bounded(c->answer.end.prompt_tokens);
  row.output_tokens = bounded(c->answer.end.output_tokens);
  row.asked_tokens = bounded(row.asked_tokens);
  row.flags = c->answer.end.flags | (row.cancelled && row.first_token_ns >= 0 ? ANSWER_CANCELLED | ANSWER_NO_USAGE : 0);
  row.events = c->events.data;
  row.events_length = c->events.length;
  for (size_t i = 0; i < LYNX_COUNT(times); i++) *times[i] = rounded(sink, *times[i]);
  sink->counts->n_requests++;
  sink->done(sink->context, &row);
}

static void finish_answer(struct conversation *c, int64_t at_ns, const struct conversation_sink *sink) {
  struct asked *a = first_asked(c);
  struct feeding f = {c, sink};
  struct completion event;
  if (a->is_model) {
    if (c->answer.in_pieces && c->body.length > 0) take_piece(&f, c->body.data, c->body.length); /* a last line without its end */
    struct bytes body = {c->answer.in_pieces || c->body.data == NULL ? "" : c->body.data, c->answer.in_pieces ? 0 : c->body.length};
    if (c->http.encoded && c->http.status == 200) sink->counts->n_compressed++; /* when it came is known, and what it was is not */
    else if (c->trouble == OUTCOME_LIMIT) sink->counts->n_too_long++;           /* it is our limit, not the server's */
    else {
      if (c->trouble == OUTCOME_OK) {
        model_answer_end(&c->rules, &c->answer, body, 0, &event);
        if (event.kind == COMPLETION_EVENT) add_event(c, &event, sink);
      }
      if (!a->whole && c->http.status < 400) sink->counts->n_lost++; /* nobody answers well what has not come: we missed some of it */
      else report(c, c->trouble != OUTCOME_OK ? c->trouble : c->answer.end.outcome, at_ns, sink);
    }
  } else sink->counts->n_other++;
  c->answered_early = !a->whole;
  drop_first(c, sink);
}

/* --- what goes wrong --- */

/* When its client went away: when it said so, or at the last that it can have had. Of an answer that begins later it has had nothing. */
static int64_t gone_at(struct conversation *c, int64_t at_ns) {
  if (!c->client_ended) return at_ns;
  int64_t ret = c->client_end_ns > c->row.asked_ns ? c->client_end_ns : c->row.asked_ns;
  if (c->last_event_ns > ret) ret = c->last_event_ns;
  if (c->last_event_ns < 0 && c->row.first_byte_ns > ret) c->row.first_byte_ns = -1;
  if (c->row.first_byte_ns > ret) ret = c->row.first_byte_ns;
  return ret < at_ns ? ret : at_ns;
}

/* Everything under way, as it stands. */
static void end_all(struct conversation *c, enum outcome outcome, int64_t at_ns, const struct conversation_sink *sink) {
  while (c->n_asked > 0) {
    struct asked *a = first_asked(c);
    if (a->is_model) {
      if (!c->answering) {
        begin_answer(c, a, at_ns);
        c->row.first_byte_ns = -1;
        c->http.status = 0;
      }
      if (c->trouble == OUTCOME_LIMIT) sink->counts->n_too_long++;
      else report(c, outcome, outcome == OUTCOME_ABANDONED ? gone_at(c, at_ns) : at_ns, sink);
    }
    drop_first(c, sink);
  }
}

static void join_again(struct conversation *c, const struct conversation_sink *sink) {
  while (c->n_asked > 0) drop_first(c, sink);
  request_reader_reset(&c->reader);
  c->answered_early = false;
  c->client.begun = c->server.begun = false;
  stream_release(&c->client, sink->held_in_all);
  stream_release(&c->server, sink->held_in_all);
  c->state = JOINING;
}

/* Packets are missing: what they belonged to cannot be known. */
static void lose_requests(struct conversation *c, const struct conversation_sink *sink) {
  sink->counts->n_lost += c->reader.first_ns >= 0 && (c->reader.state == REQUEST_HEAD || c->reader.is_post);
  for (size_t i = 0; i < c->n_asked; i++) sink->counts->n_lost += c->asked[i].is_model;
  join_again(c, sink);
}

static void leave(struct conversation *c, enum request_left why, const struct conversation_sink *sink) {
  join_again(c, sink);
  sink->counts->n_left[why]++;
  c->state = LEFT;
}

/* --- both sides --- */

static void learn_request(struct conversation *c, struct asked *a, const struct conversation_sink *sink) {
  const struct request_reader *r = &c->reader;
  a->asks = r->asks;
  a->is_model = r->is_post && dialect_of_path(r->path, r->asks.streams_said, r->asks.streams, &a->route);
  sink->counts->n_in_flight += a->is_model && !a->in_flight;
  a->in_flight = a->is_model;
}

/* whole: its last byte is there; else it is answered while it is still being sent. */
static void begin_request(struct conversation *c, bool whole, const struct conversation_sink *sink) {
  const struct request_reader *r = &c->reader;
  c->asked = xroom(c->asked, c->n_asked, &c->room, sizeof *c->asked);
  struct asked *a = &c->asked[c->n_asked];
  *a = (struct asked){.is_head = r->is_head,
                      .whole = whole,
                      .begun_ns = r->first_ns,
                      .asked_ns = whole ? r->last_ns : -1,
                      .connecting_ns = c->connecting_ns};
  c->connecting_ns = -1; /* it was the first one's */
  learn_request(c, a, sink);
  c->n_asked++;
}

/* The reader has a whole request. False: too many wait for their answers. */
static bool take_request(struct conversation *c, const struct conversation_sink *sink) {
  struct asked *last = c->n_asked > 0 ? &c->asked[c->n_asked - 1] : NULL;
  if (last != NULL && !last->whole) { /* "100 Continue" came before its body, or a refusal is on its way */
    last->whole = true;
    last->asked_ns = c->reader.last_ns;
    learn_request(c, last, sink);
    if (c->n_asked == 1) {
      c->route = last->route.route;
      c->rules.embeddings = last->route.embeddings;
      c->rules.running_usage = last->route.route.running_usage || last->asks.running_usage;
    }
    if (c->answering && c->n_asked == 1 && c->last_event_ns < 0) {
      c->row.asked_ns = last->asked_ns;
      c->row.first_byte_ns = -1; /* that was the interim answer's */
    }
    c->row.asked_tokens = last->asks.max_tokens;
    c->row.prompt_bytes = last->asks.prompt_bytes;
  } else if (c->answered_early) c->answered_early = false;
  else if (c->n_asked == CONVERSATION_PIPELINED_MAX) return false;
  else begin_request(c, true, sink);
  request_reader_reset(&c->reader);
  return true;
}

static void take_client(void *context, const char *data, size_t length, int64_t at_ns) {
  const struct feeding *f = context;
  struct conversation *c = f->conversation;
  while (length > 0 && c->state == FOLLOWING) {
    size_t used = request_reader_feed(&c->reader, data, length, at_ns);
    if (c->reader.state == REQUEST_LEFT) leave(c, c->reader.left, f->sink);
    else if (c->reader.state == REQUEST_WHOLE && !take_request(c, f->sink)) leave(c, LEFT_PIPELINED, f->sink);
    data += used;
    length -= used;
  }
}

static void take_server(void *context, const char *data, size_t length, int64_t at_ns) {
  struct feeding *f = context;
  struct conversation *c = f->conversation;
  while (length > 0 && c->state == FOLLOWING) {
    if (c->n_asked == 0 && (c->reader.state == REQUEST_HEAD || c->answered_early)) return; /* what nobody asked for: a farewell */
    if (c->n_asked == 0) begin_request(c, false, f->sink);
    if (!c->answering) begin_answer(c, first_asked(c), at_ns);
    c->answer.at_ns = at_ns;
    if (c->row.first_byte_ns < 0) c->row.first_byte_ns = at_ns;
    size_t used = http_parser_feed(&c->http, data, length, take_body, f);
    data += used;
    length -= used;
    if (c->http.state == HTTP_DONE) finish_answer(c, at_ns, f->sink);
    else if (c->http.state > HTTP_DONE) leave(c, LEFT_AMBIGUOUS, f->sink);
  }
}

static void lose(void *context, int64_t at_ns) {
  const struct feeding *f = context;
  (void)at_ns;
  if (f->conversation->state == FOLLOWING) lose_requests(f->conversation, f->sink);
}

static void take_syn(struct conversation *c, const struct segment *s, int64_t at_ns, const struct conversation_sink *sink) {
  bool again = (c->has_syn && c->syn == s->sequence) || (c->saw_beginning && c->client_begin == s->sequence);
  if (again) {
    sink->counts->n_syn_again++; /* its connection was not accepted: the client's kernel asks again */
    return;
  }
  c->has_syn = true;
  c->syn = s->sequence;
  c->syn_bytes = s->length + s->missing;
  c->syn_ns = at_ns;
}

/* The server opens it: from here on it is a new connection, whatever the port was before. */
static void take_syn_ack(struct conversation *c, const struct segment *s, int64_t at_ns, const struct conversation_sink *sink) {
  uint32_t beyond = s->acknowledged - c->syn - 1;
  if (!c->has_syn || beyond > c->syn_bytes) return;
  end_all(c, OUTCOME_CLOSED, at_ns, sink);
  join_again(c, sink);
  c->saw_beginning = true;
  c->client_begin = c->syn;
  c->has_syn = c->client_ended = c->server_ended = c->broken = c->has_client_fin = c->has_server_fin = c->has_reset = false;
  c->connecting_ns = at_ns - c->syn_ns;
  c->was_late = beyond > 0;
  sink->counts->n_lost += beyond > 0; /* a request that came with the SYN (TCP Fast Open) was not kept */
  if (beyond > 0) return;
  c->state = FOLLOWING;
  stream_begin(&c->client, c->client_begin + 1);
  stream_begin(&c->server, s->sequence + 1);
}

/* It was opened, and we did not see that the server agreed: its answers may leave by a way that is not read. */
static void look_at_unanswered(struct conversation *c, const struct segment *s, bool from_client, const struct conversation_sink *sink) {
  if (!c->has_syn || c->state != JOINING || s->length == 0) return;
  if (from_client && !c->one_sided) sink->counts->n_one_sided++, c->one_sided = true;
  if (from_client) return;
  sink->counts->n_one_sided -= c->one_sided;
  sink->counts->n_lost++;
  c->one_sided = c->has_syn = false;
  c->was_late = true;
}

/* In the middle of a connection: nothing of what is under way can be known. The first request that surely begins is followed. */
static void try_to_join(struct conversation *c, const struct segment *s) {
  if (s->length == 0 || (s->flags & TCP_ACK) == 0 || !request_begins(s->data, s->length)) return;
  request_reader_reset(&c->reader);
  stream_begin(&c->client, s->sequence);
  stream_begin(&c->server, s->acknowledged);
  c->state = FOLLOWING;
}

static void end_side(struct conversation *c, bool client, int64_t at_ns, const struct conversation_sink *sink) {
  if (client) {
    c->client_ended = true; /* only half of it: servers answer all the same */
    c->client_end_ns = at_ns;
    return;
  }
  c->server_ended = true;
  if (c->n_asked == 0) return;
  if (c->answering && http_parser_eof(&c->http)) finish_answer(c, at_ns, sink);
  end_all(c, c->client_ended ? OUTCOME_ABANDONED : OUTCOME_CLOSED, at_ns, sink);
}

static void break_off(struct conversation *c, bool by_client, int64_t at_ns, const struct conversation_sink *sink) {
  if (c->state == FOLLOWING) end_all(c, by_client || c->client_ended ? OUTCOME_ABANDONED : OUTCOME_CLOSED, at_ns, sink);
  c->broken = true;
}

/* Only what is at the very place that the other side waits for is taken by its kernel (RFC 5961, 3.2). What is near it may be right where
 * packets are missing here; the rest is a stranger's. */
static void take_reset(struct conversation *c, const struct segment *s, bool from_client, int64_t at_ns,
                       const struct conversation_sink *sink) {
  const struct stream *stream = from_client ? &c->client : &c->server;
  if (c->state != FOLLOWING) {
    bool refuses = !from_client && s->acknowledged == c->syn + 1;
    c->broken = !c->has_syn || refuses;
    return;
  }
  int64_t away = (int32_t)(s->sequence - stream->next);
  bool ended = from_client ? c->has_client_fin : c->has_server_fin;
  if (away == 0 || (ended && s->sequence == (from_client ? c->client_fin : c->server_fin) + 1)) break_off(c, from_client, at_ns, sink);
  else if (away > -RESET_NEAR && away < RESET_NEAR) {
    c->has_reset = true;
    c->reset_by_client = from_client;
    c->reset_ns = at_ns;
  }
}

/* Two interfaces, or a clock that is set, may show an answer before its question: time does not go back within a connection. */
static int64_t latest(struct conversation *c, int64_t at_ns) {
  if (at_ns > c->latest_ns) c->latest_ns = at_ns;
  return c->latest_ns;
}

static bool is_reached(const struct stream *stream, uint32_t sequence) {
  return stream->begun && (int32_t)(stream->next - sequence) >= 0;
}

void conversation_segment(struct conversation *c, const struct segment *s, bool from_client, int64_t at_ns,
                          const struct conversation_sink *sink) {
  at_ns = latest(c, at_ns);
  struct feeding f = {c, sink};
  struct stream *stream = from_client ? &c->client : &c->server;
  const struct stream_sink to = {&f, from_client ? take_client : take_server, lose};
  int64_t again = stream->n_again, conflicts = stream->n_conflicts;
  if ((s->flags & TCP_RST) != 0) {
    take_reset(c, s, from_client, at_ns, sink);
    return;
  }
  if (!from_client || c->reset_by_client) c->has_reset = false; /* nobody goes on after it */
  if ((s->flags & TCP_SYN) != 0) {
    if (from_client) take_syn(c, s, at_ns, sink);
    else take_syn_ack(c, s, at_ns, sink);
    return;
  }
  look_at_unanswered(c, s, from_client, sink);
  if (c->state == JOINING && from_client && !c->one_sided) try_to_join(c, s);
  if (c->state == JOINING && !c->saw_beginning && !from_client && s->length > 0 && !c->was_late) {
    c->was_late = true;
    sink->counts->n_joined_late++;
  }
  if (c->state != FOLLOWING) return;
  /* The server has bytes that we have not: it is we who lost them, and no waiting brings them. (One more may be its client's FIN.) */
  if (!from_client && (s->flags & TCP_ACK) != 0 && c->client.begun && (int32_t)(s->acknowledged - c->client.next) > 1) {
    lose_requests(c, sink);
    return;
  }
  stream_feed(stream, s->sequence, s->data, s->length, s->missing, at_ns, sink->held_in_all, &to);
  sink->counts->n_again += stream->n_again - again;
  sink->counts->n_conflicts += stream->n_conflicts - conflicts;
  if (c->state != FOLLOWING) return;
  if (stream->n_conflicts > conflicts) { /* two copies that differ: which of them the host took is not known */
    leave(c, LEFT_AMBIGUOUS, sink);
    return;
  }
  bool *has_fin = from_client ? &c->has_client_fin : &c->has_server_fin;
  uint32_t *fin = from_client ? &c->client_fin : &c->server_fin;
  if ((s->flags & TCP_FIN) != 0) {
    *has_fin = true;
    *fin = s->sequence + (uint32_t)(s->length + s->missing);
  }
  if (*has_fin && is_reached(stream, *fin) && !(from_client ? c->client_ended : c->server_ended)) end_side(c, from_client, at_ns, sink);
}

void conversation_age(struct conversation *c, int64_t now_ns, const struct conversation_sink *sink) {
  struct feeding f = {c, sink};
  const struct stream_sink client = {&f, take_client, lose}, server = {&f, take_server, lose};
  if (c->state == FOLLOWING) stream_age(&c->client, now_ns, sink->held_in_all, &client);
  if (c->state == FOLLOWING) stream_age(&c->server, now_ns, sink->held_in_all, &server);
  if (c->has_reset && now_ns - c->reset_ns > RESET_SILENT_NS) break_off(c, c->reset_by_client, c->latest_ns, sink);
}

bool conversation_is_open(const struct conversation *c) {
  return c->n_asked > 0;
}

bool conversation_is_busy(const struct conversation *c) {
  return c->n_asked > 0 || c->reader.first_ns >= 0;
}

int64_t conversation_oldest(const struct conversation *c) {
  for (size_t i = 0; i < c->n_asked; i++) {
    const struct asked *a = &c->asked[i];
    if (a->is_model && a->asked_ns >= 0) return a->asked_ns;
  }
  return INT64_MAX;
}

bool conversation_is_over(const struct conversation *c) {
  return c->broken || (c->client_ended && c->server_ended);
}

void conversation_forget(struct conversation *c, const struct conversation_sink *sink) {
  lose_requests(c, sink);
}

void conversation_close(struct conversation *c, int64_t now_ns, const struct conversation_sink *sink) {
  if (c == NULL) return;
  end_all(c, OUTCOME_UNFINISHED, latest(c, now_ns), sink);
  stream_release(&c->client, sink->held_in_all);
  stream_release(&c->server, sink->held_in_all);
  request_reader_release(&c->reader);
  http_parser_release(&c->http);
  sse_release(&c->sse);
  buffer_release(&c->body);
  buffer_release(&c->events);
  free(c->asked);
  free(c);
}

size_t conversation_bytes(const struct conversation *c) {
  return sizeof *c + c->room * sizeof *c->asked + c->reader.line.capacity + c->reader.body.capacity + c->http.line.capacity +
         c->sse.line.capacity + c->sse.data.capacity + c->body.capacity + c->events.capacity + c->client.n_held_bytes +
         c->server.n_held_bytes;
}
