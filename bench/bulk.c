#include "bench/bulk.h"

#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "bench/measuring.h"
#include "ledger/ledger_private.h"

enum { STREAMS = 4, SENT_AT = 1 << 20, SQL = 200 };

/* One connection for each space that grows with every entry: their tables are filled side by side. */
struct stream {
  PGconn *connection;
  struct buffer rows; /* not sent yet */
};

struct bulk {
  struct store store;
  struct ledger ledger;
  const char *address;
  struct stream streams[STREAMS];
};

static const enum store_space spaces[STREAMS] = {STORE_ENTRY, STORE_HASH, STORE_MENTION, STORE_RUN};
static const char *const tables[STREAMS] = {"entry", "hash", "mention", "run"};

/* What COPY's binary format begins and ends with, in front of each row's two values, and in the place of a further row. */
static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", two_values[] = {0, 2}, no_more[] = {(char)0xff, (char)0xff};

static void ask(PGconn *connection, ExecStatusType wanted, const char *format, ...) LYNX_PRINTF(3, 4);
static void ask(PGconn *connection, ExecStatusType wanted, const char *format, ...) {
  char sql[SQL];
  va_list more;
  va_start(more, format);
  (void)vsnprintf(sql, sizeof sql, format, more);
  va_end(more);
  PGresult *result = PQexec(connection, sql);
  if (PQresultStatus(result) != wanted) {
    (void)fprintf(stderr, "%s: %s\n", sql, PQerrorMessage(connection));
    exit(1);
  }
  PQclear(result);
}

static void put(struct stream *to, const void *bytes, size_t n) {
  if (buffer_append(&to->rows, bytes, n)) return;
  (void)fprintf(stderr, "a row is too long\n");
  exit(1);
}

static void put_value(struct stream *to, struct bytes value) {
  const char length[] = {(char)(value.length >> 24), (char)(value.length >> 16), (char)(value.length >> 8), (char)value.length};
  put(to, length, sizeof length);
  put(to, value.ptr, value.length);
}

static void send_rows(struct stream *to) {
  if (PQputCopyData(to->connection, to->rows.data, (int)to->rows.length) != 1) {
    (void)fprintf(stderr, "COPY: %s\n", PQerrorMessage(to->connection));
    exit(1);
  }
  buffer_clear(&to->rows);
}

static enum lynx_status append(struct store *store, enum store_space space, struct bytes key, struct bytes value,
                               struct lynx_error *error) {
  struct bulk *b = (struct bulk *)store;
  size_t i = 0;
  while (i < STREAMS && spaces[i] != space) i++;
  if (i == STREAMS) return lynx_fail(error, LYNX_UNSUPPORTED, "not filled here");
  put(&b->streams[i], two_values, sizeof two_values);
  put_value(&b->streams[i], key);
  put_value(&b->streams[i], value);
  if (b->streams[i].rows.length >= SENT_AT) send_rows(&b->streams[i]);
  return LYNX_OK;
}

/* That is all that putting an entry asks of its store. */
static const struct store_table filled = {.abi = STORE_ABI, .name = "bulk", .append = append};

static void begin_stream(struct bulk *b, size_t i) {
  struct stream *s = &b->streams[i];
  s->connection = PQconnectdb(b->address);
  buffer_init(&s->rows, SENT_AT + STORE_VALUE_MAX + SQL);
  ask(s->connection, PGRES_COMMAND_OK, "BEGIN");
  ask(s->connection, PGRES_COMMAND_OK, "ALTER TABLE lynxbench.%s DISABLE TRIGGER kept", tables[i]);
  ask(s->connection, PGRES_COMMAND_OK, "ALTER TABLE lynxbench.%s DROP CONSTRAINT %s_pkey", tables[i], tables[i]);
  ask(s->connection, PGRES_COMMAND_OK, "TRUNCATE lynxbench.%s", tables[i]);
  ask(s->connection, PGRES_COPY_IN, "COPY lynxbench.%s FROM STDIN (FORMAT binary, FREEZE)", tables[i]);
  put(s, head, sizeof head - 1);
}

struct bulk *bulk_begin(const char *address) {
  struct lynx_error error = {0};
  struct ledger *made;
  struct buffer first;
  struct bulk *b = xalloc(1, sizeof *b);
  b->store.table = &filled;
  b->ledger.store = &b->store;
  b->address = address;
  buffer_init(&first, ENVELOPE_MAX);
  must(ledger_open(address, STORE_READ, NULL, &made, &error), &error);
  must(ledger_entry_bytes(made, 0, &first, &error), &error);
  ledger_close(made);
  for (size_t i = 0; i < STREAMS; i++) begin_stream(b, i);
  bulk_add(b, (struct bytes){first.data, first.length}); /* its policy, which was there */
  buffer_release(&first);
  return b;
}

void bulk_add(struct bulk *b, struct bytes envelope) {
  struct arena arena = {0};
  struct lynx_error error = {0};
  struct envelope parsed;
  struct statement statement = {0};
  uint8_t leaf[DIGEST_BYTES];
  merkle_leaf(envelope, leaf);
  must(envelope_parse(envelope, &arena, &parsed, &error), &error);
  must(statement_parse(&parsed, &arena, &statement, &error), &error);
  must(ledger_put_one(&b->ledger, envelope, &statement, leaf, &error), &error);
  statement_release(&statement);
  arena_release(&arena);
}

static void end_stream(struct stream *s, const char *table) {
  put(s, no_more, sizeof no_more);
  send_rows(s);
  if (PQputCopyEnd(s->connection, NULL) != 1) s->rows.length = 0; /* what is wrong is said by the answer */
  PGresult *result = PQgetResult(s->connection);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) {
    (void)fprintf(stderr, "COPY: %s\n", PQerrorMessage(s->connection));
    exit(1);
  }
  PQclear(result);
  PQclear(PQgetResult(s->connection)); /* NULL: no more of it */
  ask(s->connection, PGRES_COMMAND_OK, "ALTER TABLE lynxbench.%s ADD PRIMARY KEY(key)", table);
  ask(s->connection, PGRES_COMMAND_OK, "ALTER TABLE lynxbench.%s ENABLE TRIGGER kept", table);
  ask(s->connection, PGRES_COMMAND_OK, "COMMIT");
  ask(s->connection, PGRES_COMMAND_OK, "ANALYZE lynxbench.%s", table);
  PQfinish(s->connection);
  buffer_release(&s->rows);
}

const struct merkle_edge *bulk_edge(const struct bulk *bulk) {
  return &bulk->ledger.edge;
}

void bulk_end(struct bulk *b, struct bytes checkpoint) {
  const struct ledger_key at = ledger_key_checkpoint(b->ledger.edge.size, 0);
  struct lynx_error error = {0};
  struct store *store;
  for (size_t i = 0; i < STREAMS; i++) end_stream(&b->streams[i], tables[i]);
  must(store_open(b->address, false, &store, &error), &error);
  must(store->table->begin(store, &error), &error);
  must(store->table->append(store, STORE_CHECKPOINT, ledger_key_bytes(&at), checkpoint, &error), &error);
  must(store->table->commit(store, &error), &error);
  store->table->close(store);
  free(b->ledger.history);
  free(b);
}
