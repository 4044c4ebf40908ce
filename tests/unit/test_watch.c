/* Packets to requests: the same rows however a conversation is cut, ordered or repeated; what is lost, late or ambiguous is counted. */
#include <stdlib.h>

#include "load/driver.h"
#include "load/events.h"
#include "tests/check.h"
#include "watch/connections.h"
#include "watch/watch_record.h"

enum { SERVER = 8000, CLIENT = 40000, PACKETS_MAX = 4000 };

static const char request[] = "POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 67\r\n\r\n"
                              "{\"model\": \"m\", \"prompt\": \"say it\", \"max_tokens\": 3, \"stream\": true}";
static const char answer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "32\r\ndata: {\"choices\": [{\"index\":0,\"text\": \"One\"}]}\r\n\r\n\r\n"
    "32\r\ndata: {\"choices\": [{\"index\":0,\"text\": \"two\"}]}\r\n\r\n\r\n"
    "a7\r\ndata: {\"choices\": [{\"index\":0,\"text\": \"six\", \"finish_reason\": \"length\"}], \"usage\": {\"prompt_tokens\": 5, "
    "\"completion_tokens\": 3, \"total_tokens\": 8}}\r\n\r\ndata: [DONE]\r\n\r\n\r\n"
    "0\r\n\r\n";

/* --- packets as a tap has them --- */

struct packet {
  bool from_client;
  uint32_t sequence, acknowledged;
  uint8_t flags;
  const char *data;
  size_t length;
  int64_t at_ns;
};

struct seen {
  struct watched_request rows[64];
  size_t n, n_events;
  int64_t tokens;
  bool has_bytes;
};

static void on_done(void *context, const struct watched_request *row) {
  struct seen *seen = context;
  struct events_reader reader;
  struct answer_event event;
  events_begin(&reader, row->events, row->events_length);
  while (events_next(&reader, &event) > 0) {
    seen->n_events++;
    seen->tokens += event.n_tokens;
    seen->has_bytes = seen->has_bytes || event.n_bytes > 0;
  }
  if (seen->n < LYNX_COUNT(seen->rows)) seen->rows[seen->n] = *row;
  seen->n++;
}

static void put_16(uint8_t *at, unsigned value) {
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

static void put_32(uint8_t *at, uint32_t value) {
  put_16(at, value >> 16);
  put_16(at + 2, value & 0xffff);
}

static size_t frame(const struct packet *p, uint8_t *bytes, unsigned client_port) {
  memset(bytes, 0, 40);
  bytes[0] = 0x45;
  put_16(bytes + 2, (unsigned)(40 + p->length));
  bytes[8] = 64;
  bytes[9] = 6;
  memcpy(bytes + 12, p->from_client ? "\x0a\x00\x00\x02" : "\x0a\x00\x00\x01", 4);
  memcpy(bytes + 16, p->from_client ? "\x0a\x00\x00\x01" : "\x0a\x00\x00\x02", 4);
  put_16(bytes + 20, p->from_client ? client_port : SERVER);
  put_16(bytes + 22, p->from_client ? SERVER : client_port);
  put_32(bytes + 24, p->sequence);
  put_32(bytes + 28, p->acknowledged);
  bytes[32] = 0x50;
  bytes[33] = p->flags;
  if (p->length > 0) memcpy(bytes + 40, p->data, p->length);
  return 40 + p->length;
}

static void send_by(struct connections *all, const struct packet *p, unsigned client_port, int interface, enum packet_way way) {
  static uint8_t bytes[66000];
  size_t n = frame(p, bytes, client_port);
  uint8_t *exact = malloc(n); /* so that a sanitizer sees what is read beyond it */
  memcpy(exact, bytes, n);
  connections_packet(all, interface, way, exact, n, n, p->at_ns);
  free(exact);
}

static void send_from(struct connections *all, const struct packet *p, unsigned client_port) {
  send_by(all, p, client_port, 1, PACKET_EITHER_WAY);
}

static void send_packet(struct connections *all, const struct packet *p) {
  send_from(all, p, CLIENT);
}

/* --- a conversation: handshake, request, answer; cut into pieces of so many bytes --- */

struct talk {
  struct packet packets[PACKETS_MAX];
  size_t n;
  uint32_t client, server; /* sequence numbers */
  int64_t now_ns;
};

static void add(struct talk *t, bool from_client, uint8_t flags, const char *data, size_t length) {
  uint32_t *own = from_client ? &t->client : &t->server, other = from_client ? t->server : t->client;
  t->now_ns += 1000000;
  t->packets[t->n++] = (struct packet){from_client, *own, other, flags, data, length, t->now_ns};
  *own += (uint32_t)length + ((flags & (TCP_SYN | TCP_FIN)) != 0);
}

static void begin(struct talk *t, uint32_t client, uint32_t server) {
  *t = (struct talk){.client = client, .server = server, .now_ns = INT64_C(1700000000000000000)};
  add(t, true, TCP_SYN, NULL, 0);
  add(t, false, TCP_SYN | TCP_ACK, NULL, 0);
}

static void say(struct talk *t, bool from_client, const char *text, size_t length, size_t piece) {
  for (size_t at = 0; at < length; at += piece) add(t, from_client, TCP_ACK, text + at, length - at < piece ? length - at : piece);
}

static void finish(struct talk *t) {
  add(t, false, TCP_FIN | TCP_ACK, NULL, 0);
  add(t, true, TCP_FIN | TCP_ACK, NULL, 0);
}

static struct connections *watch_all(struct seen *seen) {
  *seen = (struct seen){.n = 0};
  return connections_open(SERVER, 7, 1, on_done, seen);
}

static void check_row(const struct seen *seen, size_t n) {
  CHECK_INT(seen->n, n);
  CHECK_INT(seen->n_events, 3 * n);
  CHECK_INT(seen->tokens, 3 * n);
  CHECK(!seen->has_bytes); /* lengths of words are not kept */
  for (size_t i = 0; i < n; i++) {
    const struct watched_request *r = &seen->rows[i];
    CHECK_INT(r->outcome, OUTCOME_OK);
    CHECK_INT(r->http_status, 200);
    CHECK_INT(r->prompt_tokens, 5);
    CHECK_INT(r->output_tokens, 3);
    CHECK_INT(r->asked_tokens, 3);
    CHECK_INT(r->prompt_bytes, 6);
    CHECK_INT(r->n_text_events, 3);
    CHECK(r->begun_ns <= r->asked_ns && r->asked_ns <= r->first_byte_ns && r->first_byte_ns <= r->first_token_ns &&
          r->first_token_ns <= r->last_token_ns && r->last_token_ns <= r->end_ns);
  }
}

/* Of every size of pieces, and with sequence numbers that pass 2^32 in the middle. */
static void test_every_cut(void) {
  static struct talk t;
  for (size_t piece = 1; piece < sizeof answer; piece = piece < 40 ? piece + 1 : piece * 2)
    for (uint32_t from = 0; from < 2; from++) {
      struct seen seen;
      struct connections *all = watch_all(&seen);
      begin(&t, from == 0 ? 1000 : UINT32_MAX - 50, from == 0 ? 5000 : UINT32_MAX - 100);
      say(&t, true, request, sizeof request - 1, piece);
      say(&t, false, answer, sizeof answer - 1, piece);
      say(&t, true, request, sizeof request - 1, piece); /* on the same connection */
      say(&t, false, answer, sizeof answer - 1, piece);
      finish(&t);
      for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
      check_row(&seen, 2);
      CHECK_INT(connections_counts(all)->n_in_flight, 0);
      CHECK(seen.rows[0].connecting_ns == 1000000 && seen.rows[1].connecting_ns == -1); /* the connection was there already */
      connections_close(all, t.now_ns);
    }
}

/* Neighbours change places, and each packet comes twice: the rows are the same. */
static void test_order_and_repetition(void) {
  static struct talk t;
  for (size_t piece = 3; piece < 200; piece *= 3) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    begin(&t, 1, 1);
    size_t data = t.n;
    say(&t, true, request, sizeof request - 1, piece);
    say(&t, false, answer, sizeof answer - 1, piece);
    size_t end = t.n;
    for (size_t i = data; i + 1 < end; i += 2) {
      struct packet one = t.packets[i];
      if (one.from_client != t.packets[i + 1].from_client) continue;
      t.packets[i] = t.packets[i + 1];
      t.packets[i + 1] = one;
    }
    for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]), send_packet(all, &t.packets[i]);
    check_row(&seen, 1);
    CHECK(connections_counts(all)->n_again > 0);
    connections_close(all, t.now_ns);
  }
}

/* One packet is missing: what it belonged to is no row, and the next request is. */
static void test_loss(void) {
  static struct talk t;
  begin(&t, 1, 1);
  size_t first = t.n;
  say(&t, true, request, sizeof request - 1, 50);
  say(&t, false, answer, sizeof answer - 1, 50);
  size_t second = t.n;
  t.now_ns += 3 * STREAM_HOLE_NS;
  say(&t, true, request, sizeof request - 1, 50);
  say(&t, false, answer, sizeof answer - 1, 50);
  for (size_t lost = first; lost + 1 < second; lost++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    for (size_t i = 0; i < second; i++)
      if (i != lost) send_packet(all, &t.packets[i]);
    connections_age(all, t.packets[second].at_ns - 1); /* the hole is given up */
    for (size_t i = second; i < t.n; i++) send_packet(all, &t.packets[i]);
    check_row(&seen, 1);
    CHECK(seen.rows[0].asked_ns > t.packets[second].at_ns - 1);
    CHECK_INT(connections_counts(all)->n_in_flight, 0);
    connections_close(all, t.now_ns);
  }
}

/* From any packet on: a request is measured whole, or not at all. */
static void test_joining(void) {
  static struct talk t;
  begin(&t, 1, 1);
  say(&t, true, request, sizeof request - 1, 60);
  say(&t, false, answer, sizeof answer - 1, 60);
  size_t second = t.n;
  say(&t, true, request, sizeof request - 1, 60);
  say(&t, false, answer, sizeof answer - 1, 60);
  for (size_t from = 2; from < second; from++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    for (size_t i = from; i < t.n; i++) send_packet(all, &t.packets[i]);
    check_row(&seen, from <= 2 ? 2 : 1);
    connections_close(all, t.now_ns);
  }
}

/* Nobody can say what a server makes of these: the connection is left, and another one is not. */
static void test_ambiguous(void) {
  static const char *const heads[] = {
      "POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\nContent-Length: 5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nContent-Length : 5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nA: b\r\n Content-Length: 5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nContent-Length: +5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\nabcde",
      "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\nabcde\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nabcde\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdef\r\n0\r\n\r\n",
      "POST /v1/completions HTTP/2.0\r\nContent-Length: 5\r\n\r\nabcde",
  };
  static struct talk t;
  for (size_t i = 0; i < LYNX_COUNT(heads); i++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    begin(&t, 1, 1);
    say(&t, true, heads[i], strlen(heads[i]), 1000);
    say(&t, false, answer, sizeof answer - 1, 1000);
    say(&t, true, request, sizeof request - 1, 1000);
    say(&t, false, answer, sizeof answer - 1, 1000);
    for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
    CHECK_INT(seen.n, 0);
    CHECK_INT(connections_counts(all)->n_left[LEFT_AMBIGUOUS], 1);
    begin(&t, 9000, 9000); /* the port is used again */
    say(&t, true, request, sizeof request - 1, 1000);
    say(&t, false, answer, sizeof answer - 1, 1000);
    for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
    check_row(&seen, 1);
    connections_close(all, t.now_ns);
  }
}

static size_t one_talk(struct seen *seen, const char *client, const char *server, uint8_t end_flags, bool by_client) {
  static struct talk t;
  struct connections *all = watch_all(seen);
  begin(&t, 1, 1);
  say(&t, true, client, strlen(client), 1000);
  if (server[0] != 0) say(&t, false, server, strlen(server), 1000);
  if (end_flags != 0) add(&t, by_client, end_flags, NULL, 0);
  for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
  size_t n = seen->n;
  connections_close(all, t.now_ns + 1);
  return n;
}

/* How requests end, besides well. */
static void test_ends(void) {
  struct seen seen;
  char half[sizeof answer];
  (void)snprintf(half, sizeof half, "%.*s", 160, answer);
  CHECK_INT(one_talk(&seen, request, "", 0, false), 0);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_UNFINISHED); /* what is under way is told of at the end */
  CHECK_INT(one_talk(&seen, request, "", TCP_RST, true), 1);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_UNFINISHED);
  CHECK(seen.rows[0].cancelled); /* by its client, before any token */
  CHECK_INT(one_talk(&seen, request, half, TCP_RST, true), 1);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_OK);
  CHECK(seen.rows[0].cancelled && (seen.rows[0].flags & ANSWER_CANCELLED) != 0 && seen.rows[0].first_token_ns > 0);
  CHECK_INT(one_talk(&seen, request, half, TCP_RST, false), 1);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_CLOSED);
  CHECK_INT(one_talk(&seen, request, half, TCP_FIN | TCP_ACK, false), 1);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_CLOSED);
  CHECK_INT(one_talk(&seen, request, "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno", 0, false), 1);
  CHECK_INT(seen.rows[0].outcome, OUTCOME_HTTP_STATUS);
  CHECK_INT(seen.rows[0].http_status, 503);
  CHECK_INT(one_talk(&seen, "GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", 0, false), 0);
  CHECK_INT(one_talk(&seen, "HEAD /health HTTP/1.1\r\n\r\nPOST /v1/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
                     "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 0, false),
            1); /* the answer to HEAD has no body, whatever it says */
  CHECK_INT(seen.rows[0].http_status, 500);
  CHECK_INT(one_talk(&seen, "POST /v1/completions HTTP/1.1\r\nContent-Length: 20\r\n\r\n{",
                     "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n", 0, false),
            1); /* answered before it was whole */
  CHECK_INT(seen.rows[0].http_status, 413);
}

static void test_other_protocols(void) {
  static const struct {
    const char *bytes;
    size_t n;
    enum request_left left;
  } others[] = {{"\x16\x03\x01\x02\x00\x01\x00", 7, LEFT_TLS},
                {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24, LEFT_HTTP2},
                {"GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", 40, LEFT_UPGRADE}};
  static struct talk t;
  for (size_t i = 0; i < LYNX_COUNT(others); i++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    begin(&t, 1, 1);
    say(&t, true, others[i].bytes, others[i].n, 1000);
    for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
    CHECK_INT(connections_counts(all)->n_left[others[i].left], 1);
    connections_close(all, t.now_ns);
  }
}

/* A SYN that is sent again was not accepted in time; two copies of a segment that differ are nobody's evidence. */
static void test_kernel_signs(void) {
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  begin(&t, 1, 1);
  struct packet late = t.packets[0];
  late.at_ns += 1000000000;
  send_packet(all, &t.packets[0]);
  send_packet(all, &late);
  CHECK_INT(connections_counts(all)->n_syn_again, 1);
  connections_close(all, t.now_ns);

  all = watch_all(&seen);
  begin(&t, 1, 1);
  send_packet(all, &t.packets[0]);
  send_packet(all, &t.packets[1]);
  struct packet a = {true, 10, 2, TCP_ACK, "abcd", 4, t.now_ns}, b = a;
  b.data = "abXd";
  send_packet(all, &a);
  send_packet(all, &b);
  CHECK_INT(connections_counts(all)->n_left[LEFT_AMBIGUOUS], 1);
  connections_close(all, t.now_ns);
}

/* Every header cut short, and lengths that are not so: nothing is read that is not there. */
static void test_packets(void) {
  uint8_t bytes[200] = {0};
  struct segment s;
  struct packet p = {true, 1, 1, TCP_ACK, "hello", 5, 0};
  size_t n = frame(&p, bytes, CLIENT);
  for (size_t cut = 0; cut < n; cut++) {
    uint8_t *exact = malloc(cut > 0 ? cut : 1);
    memcpy(exact, bytes, cut);
    bool good = packet_read(exact, cut, n, &s);
    CHECK(good == (cut >= 40));
    if (good) CHECK_INT(s.length + s.missing, 5);
    free(exact);
  }
  CHECK(packet_read(bytes, n + 6, n + 6, &s) && s.length == 5); /* what pads a short frame is no data */
  bytes[6] = 0x20;
  CHECK(!packet_read(bytes, n, n, &s)); /* a fragment */
  bytes[6] = 0;
  bytes[32] = 0x40;
  CHECK(!packet_read(bytes, n, n, &s)); /* a TCP header that is shorter than one */
  bytes[32] = 0xf0;
  CHECK(!packet_read(bytes, n, n, &s)); /* and one that is longer than the packet */
}

static void test_records(void) {
  struct watched_request row = {.outcome = OUTCOME_OK,
                                .asked_ns = 10,
                                .begun_ns = 5,
                                .first_byte_ns = 20,
                                .first_token_ns = 20,
                                .first_answer_ns = 20,
                                .first_tool_call_ns = -1,
                                .last_token_ns = 30,
                                .end_ns = 40,
                                .prompt_tokens = -1,
                                .output_tokens = 3,
                                .asked_tokens = -1,
                                .prompt_bytes = -1},
                         read;
  char bytes[sizeof row + 3];
  memcpy(bytes, &row, sizeof row);
  CHECK(watch_record_request(bytes, sizeof row, &read));
  CHECK(!watch_record_request(bytes, sizeof row - 1, &read));
  CHECK(!watch_record_request(bytes, sizeof bytes, &read)); /* more than it says */
  row.outcome = (enum outcome)OUTCOME_COUNT;
  memcpy(bytes, &row, sizeof row);
  CHECK(!watch_record_request(bytes, sizeof row, &read));
  row.outcome = OUTCOME_OK;
  row.first_token_ns = 50; /* after its end */
  memcpy(bytes, &row, sizeof row);
  CHECK(!watch_record_request(bytes, sizeof row, &read));
  row.first_token_ns = 20;
  row.events_length = 3;
  memcpy(bytes, &row, sizeof row);
  memcpy(bytes + sizeof row, "\x01\x03\x05", 3); /* an event with five bytes of text: no parser of ours writes it */
  CHECK(!watch_record_request(bytes, sizeof bytes, &read));
}

/* Half-open connections without end, and bodies without end: who comes behind them is measured all the same. */
static void test_floods(void) {
  static struct talk t;
  static char filler[60000];
  struct seen seen;
  struct connections *all = watch_all(&seen);
  for (unsigned i = 0; i < CONNECTIONS_MAX + 2000; i++) {
    const struct packet syn = {true, 1, 0, TCP_SYN, NULL, 0, INT64_C(1700000000000000000) + i};
    send_from(all, &syn, 1000 + i);
  }
  begin(&t, 1, 1);
  say(&t, true, request, sizeof request - 1, 100);
  say(&t, false, answer, sizeof answer - 1, 100);
  for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
  check_row(&seen, 1);
  CHECK_INT(connections_counts(all)->n_unfollowed, 0);
  connections_close(all, t.now_ns);

  all = watch_all(&seen);
  static const char head[] = "POST /v1/completions HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n{\"prompt\": \"";
  memset(filler, 'x', sizeof filler);
  for (unsigned i = 0; i < 300; i++) {
    begin(&t, 1, 1);
    say(&t, true, head, sizeof head - 1, sizeof head);
    for (int k = 0; k < 17; k++) say(&t, true, filler, sizeof filler, sizeof filler);
    for (size_t k = 0; k < t.n; k++) send_from(all, &t.packets[k], 1000 + i);
  }
  begin(&t, 1, 1);
  say(&t, true, request, sizeof request - 1, 100);
  say(&t, false, answer, sizeof answer - 1, 100);
  for (size_t k = 0; k < t.n; k++) send_packet(all, &t.packets[k]);
  CHECK_INT(seen.n, 1);
  CHECK(connections_counts(all)->n_unfollowed > 0);
  connections_close(all, t.now_ns);
}

/* --- what strangers and the way do --- */

/* A request and its answer in pieces; returns where the answer begins. */
static size_t ask_and_answer(struct talk *t) {
  begin(t, 1000000, 5000000);
  say(t, true, request, sizeof request - 1, 100);
  size_t ret = t->n;
  say(t, false, answer, sizeof answer - 1, 60);
  return ret;
}

/* Anybody can send these in another's name; no kernel takes them, and nor do we. */
static void test_forged(void) {
  static struct talk t;
  size_t middle = ask_and_answer(&t) + 3;
  uint32_t client = t.packets[middle].acknowledged, server = t.packets[middle].sequence;
  const struct packet forged[] = {{true, client + 7000000, 0, TCP_RST, NULL, 0, 0},
                                  {false, server + 7000000, 0, TCP_RST, NULL, 0, 0},
                                  {true, client + 100, 0, TCP_RST, NULL, 0, 0}, /* near, and others follow */
                                  {false, server + 100, 0, TCP_RST, NULL, 0, 0},
                                  {true, 77, 0, TCP_SYN, NULL, 0, 0}};
  for (size_t f = 0; f < LYNX_COUNT(forged); f++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    for (size_t i = 0; i < t.n; i++) {
      struct packet one = forged[f];
      one.at_ns = t.packets[i].at_ns;
      if (i == middle) send_packet(all, &one);
      send_packet(all, &t.packets[i]);
    }
    connections_age(all, t.now_ns + INT64_C(11000000000));
    check_row(&seen, 1);
    CHECK_INT(connections_counts(all)->n_joined_late, 0);
    CHECK_INT(connections_counts(all)->n_lost, 0);
    connections_close(all, t.now_ns);
  }
}

/* The client's own end: at the place that its server waits for; or near it, where we miss packets, and then silence. */
static void test_resets(void) {
  static struct talk t;
  size_t middle = ask_and_answer(&t) + 3;
  for (uint32_t away = 0; away < 200; away += 100) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    for (size_t i = 0; i < middle; i++) send_packet(all, &t.packets[i]);
    int64_t at_ns = t.packets[middle].at_ns;
    const struct packet reset = {true, t.packets[middle].acknowledged + away, 0, TCP_RST, NULL, 0, at_ns};
    send_packet(all, &reset);
    CHECK_INT(seen.n, away == 0);
    connections_age(all, at_ns + INT64_C(11000000000));
    CHECK_INT(seen.n, 1);
    CHECK(seen.rows[0].cancelled);
    CHECK(seen.rows[0].end_ns == at_ns);
    connections_close(all, t.now_ns);
  }
}

/* Who says goodbye before the first token has waited until then, not until the server sees it. */
static void test_leaves_before(void) {
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  begin(&t, 1, 1);
  say(&t, true, request, sizeof request - 1, 100);
  add(&t, true, TCP_FIN | TCP_ACK, NULL, 0);
  int64_t left_ns = t.now_ns;
  t.now_ns += 500000000;
  say(&t, false, answer, 70, 70);
  add(&t, true, TCP_RST, NULL, 0);
  for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
  CHECK_INT(seen.n, 1);
  CHECK(seen.rows[0].cancelled && seen.rows[0].outcome == OUTCOME_UNFINISHED);
  CHECK(seen.rows[0].end_ns == left_ns);
  CHECK(seen.rows[0].first_byte_ns == -1);
  connections_close(all, t.now_ns);
}

/* Looking at what is old moves no times. */
static void test_age(void) {
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  size_t middle = ask_and_answer(&t) + 3;
  for (size_t i = 0; i < t.n; i++) {
    if (i == middle) connections_age(all, t.packets[i].at_ns + 90000000);
    send_packet(all, &t.packets[i]);
  }
  check_row(&seen, 1);
  CHECK(seen.rows[0].end_ns == t.now_ns);
  connections_close(all, t.now_ns);
}

/* Requests come by one interface and answers leave by another; a third one shows both again. */
static void test_ways(void) {
  static struct talk t;
  (void)ask_and_answer(&t);
  struct seen seen;
  struct connections *all = watch_all(&seen);
  for (size_t i = 0; i < t.n; i++) {
    bool from_client = t.packets[i].from_client;
    send_by(all, &t.packets[i], CLIENT, from_client ? 1 : 2, from_client ? PACKET_INTO : PACKET_OUT_OF);
    send_by(all, &t.packets[i], CLIENT, 3, from_client ? PACKET_INTO : PACKET_OUT_OF);
  }
  check_row(&seen, 1);
  CHECK_INT(connections_counts(all)->n_again, 0);
  CHECK_INT(connections_counts(all)->n_syn_again, 0);
  connections_close(all, t.now_ns);

  all = watch_all(&seen); /* nothing comes in that our server sent */
  for (size_t i = 0; i < t.n; i++) send_by(all, &t.packets[i], CLIENT, 1, PACKET_INTO);
  CHECK_INT(seen.n, 0);
  CHECK_INT(connections_counts(all)->n_one_sided, 1);
  CHECK_INT(connections_counts(all)->n_joined_late, 0);
  connections_close(all, t.now_ns);
  CHECK_INT(seen.n, 0);
}

static void test_addresses(void) {
  static const uint8_t own[16] = {10, 0, 0, 1}, others[16] = {10, 0, 0, 9}, more[16] = {10, 0, 0, 4};
  static struct talk t;
  (void)ask_and_answer(&t);
  for (int is_own = 0; is_own < 2; is_own++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    connections_address(all, others, false);
    connections_address(all, own, true); /* another family's */
    if (is_own) connections_address(all, own, false);
    connections_address(all, more, false);
    connections_loopback(all);
    for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
    CHECK_INT(seen.n, is_own);
    connections_close(all, t.now_ns);
  }
}

/* The first request came in the SYN itself (TCP Fast Open): it is counted, and the second one is read. */
static void test_fast_open(void) {
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  t = (struct talk){.client = 1, .server = 1, .now_ns = INT64_C(1700000000000000000)};
  add(&t, true, TCP_SYN, request, sizeof request - 1);
  add(&t, false, TCP_SYN | TCP_ACK, NULL, 0);
  say(&t, false, answer, sizeof answer - 1, 100);
  say(&t, true, request, sizeof request - 1, 100);
  say(&t, false, answer, sizeof answer - 1, 100);
  for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
  check_row(&seen, 1);
  CHECK_INT(connections_counts(all)->n_lost, 1);
  CHECK_INT(connections_counts(all)->n_joined_late, 0);
  connections_close(all, t.now_ns);
}

/* Of what waits behind a hole: a longer copy, and one that overlaps, with the same bytes and with others. */
static void test_contradictions(void) {
  static const struct {
    uint32_t sequence;
    const char *data;
    bool differs;
  } copies[] = {{10, "abcdef", false}, {10, "abXdef", true}, {8, "zzab", false},
                {8, "zzaX", true},     {12, "cdef", false},  {12, "Xdef", true}};
  static struct talk t;
  for (size_t i = 0; i < LYNX_COUNT(copies); i++) {
    struct seen seen;
    struct connections *all = watch_all(&seen);
    begin(&t, 1, 1);
    send_packet(all, &t.packets[0]);
    send_packet(all, &t.packets[1]);
    const struct packet held = {true, 10, 2, TCP_ACK, "abcd", 4, t.now_ns},
                        again = {true, copies[i].sequence, 2, TCP_ACK, copies[i].data, strlen(copies[i].data), t.now_ns};
    send_packet(all, &held);
    send_packet(all, &again);
    CHECK_INT(connections_counts(all)->n_left[LEFT_AMBIGUOUS], copies[i].differs);
    connections_close(all, t.now_ns);
  }
}

/* "As many as there are" is no reason to end. */
static void test_most_tokens(void) {
  static const char most[] = "POST /v1/completions HTTP/1.1\r\nContent-Length: 57\r\n\r\n"
                             "{\"prompt\": \"x\", \"max_tokens\": 2147483647, \"stream\": true}";
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  struct watched_request read;
  CHECK_INT(strlen(strstr(most, "\r\n\r\n") + 4), 57);
  begin(&t, 1, 1);
  say(&t, true, most, sizeof most - 1, 100);
  say(&t, false, answer, sizeof answer - 1, 100);
  for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
  CHECK_INT(seen.n, 1);
  CHECK_INT(seen.rows[0].asked_tokens, WATCHED_COUNT_MAX);
  seen.rows[0].events = NULL;
  seen.rows[0].events_length = 0;
  CHECK(watch_record_request((const char *)&seen.rows[0], sizeof seen.rows[0], &read));
  connections_close(all, t.now_ns);
}

/* A long answer meets our limit, and is no failure of the server's. */
static void test_long_answers(void) {
  static char filler[60000];
  static struct talk t;
  memset(filler, 'x', sizeof filler);
  for (unsigned pieces = 100; pieces <= 300; pieces += 200) { /* 6 MB, and 18 */
    struct seen seen;
    struct connections *all = watch_all(&seen);
    char head[200];
    int n = snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n{\"text\": \"",
                     10 + pieces * sizeof filler + 2);
    begin(&t, 1, 1);
    say(&t, true, request, sizeof request - 1, 100);
    say(&t, false, head, (size_t)n, 200);
    for (unsigned i = 0; i < pieces; i++) say(&t, false, filler, sizeof filler, sizeof filler);
    say(&t, false, "\"}", 2, 2);
    for (size_t i = 0; i < t.n; i++) send_packet(all, &t.packets[i]);
    CHECK_INT(seen.n, pieces == 100);
    CHECK_INT(connections_counts(all)->n_too_long, pieces != 100);
    CHECK_INT(connections_counts(all)->n_in_flight, 0);
    connections_close(all, t.now_ns);
  }
}

/* Half-open connections push out nobody who is in the middle of a request. */
static void test_flood_in_between(void) {
  static struct talk t;
  struct seen seen;
  struct connections *all = watch_all(&seen);
  size_t answers = ask_and_answer(&t);
  for (size_t i = 0; i < t.n; i++) {
    send_packet(all, &t.packets[i]);
    for (unsigned k = 0; i + 2 == answers && k < CONNECTIONS_MAX + 2000; k++) { /* half of it was sent */
      const struct packet syn = {true, 1, 0, TCP_SYN, NULL, 0, t.packets[i].at_ns + k};
      send_from(all, &syn, 1000 + k);
    }
  }
  check_row(&seen, 1);
  connections_close(all, t.now_ns);
}

int main(void) {
  CHECK_INT(strlen(strstr(request, "\r\n\r\n") + 4), 67);
  test_packets();
  test_every_cut();
  test_order_and_repetition();
  test_loss();
  test_joining();
  test_ambiguous();
  test_ends();
  test_other_protocols();
  test_kernel_signs();
  test_records();
  test_floods();
  test_forged();
  test_resets();
  test_leaves_before();
  test_age();
  test_ways();
  test_addresses();
  test_fast_open();
  test_contradictions();
  test_most_tokens();
  test_long_answers();
  test_flood_in_between();
  return check_end();
}
