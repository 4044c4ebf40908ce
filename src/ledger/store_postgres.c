/* A ledger in a PostgreSQL database, in a schema of its own: shared by writers on many machines. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ledger/store.h"

enum { LOCK = 0x4c594e4c /* "LYNL": who writes holds it */ };

/* What is appended is sent and not waited for, up to so much: its answers are read before the next question. */
enum { SENT_MOST = 64, SENT_BYTES = 8192 };

/* A list comes in pages: who wants one row is not made to wait for hundreds, and who wants all has them in few answers. */
enum { PAGE_KINDS = 3 };
static const int page_rows[PAGE_KINDS] = {20, 200, 1000};

/* What is asked many times over: the server parses and plans it once for each connection. */
enum frequent { GET, APPEND, PAGES, PAGES_BACKWARDS = PAGES + PAGE_KINDS, FREQUENT = PAGES_BACKWARDS + PAGE_KINDS };

static const char *const names[STORE_SPACES] = {"entry", "hash", "mention", "checkpoint", "blob", "run"};

struct postgres_store {
  struct store store;
  PGconn *connection;
  bool in_transaction;
  int n_sent; /* statements in the pipeline */
  bool prepared[FREQUENT][STORE_SPACES];
};

/* What the database's role may do is for the database to say; here even its owner is told no. */
static const char guard[] = "CREATE FUNCTION lynxbench.refuse() RETURNS trigger LANGUAGE plpgsql AS "
                            "$$ BEGIN RAISE EXCEPTION 'a ledger is only added to'; END $$";

static enum lynx_status fail(struct postgres_store *s, const PGresult *result, struct lynx_error *error, const char *doing) {
  const char *state = result != NULL ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *text = result != NULL && PQresultErrorMessage(result)[0] != 0 ? PQresultErrorMessage(result) : PQerrorMessage(s->connection);
  char safe[400];
  (void)text_sanitise(safe, sizeof safe, text, strcspn(text, "\n"));
  if (state != NULL && strcmp(state, "23505") == 0) return lynx_fail(error, LYNX_INPUT, "%s: the key exists already", doing);
  if (state != NULL && strncmp(state, "53", 2) == 0) return lynx_fail(error, LYNX_MACHINE, "%s: PostgreSQL: %s", doing, safe);
  return lynx_fail(error, LYNX_IO, "%s: PostgreSQL: %s", doing, safe);
}

/* Until the answer to the last statement; of several that failed, the first one's: the others were not done for its sake. */
static enum lynx_status read_answers(struct postgres_store *s, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  bool last = false, silent = false;
  while (!last) {
    PGresult *result = PQgetResult(s->connection);
    const ExecStatusType got = PQresultStatus(result);
    if (result == NULL && silent) break; /* one NULL ends a statement's answers, a second one the connection */
    silent = result == NULL;
    last = got == PGRES_PIPELINE_SYNC;
    if (!silent && !last && got != PGRES_COMMAND_OK && status == LYNX_OK) status = fail(s, result, error, "cannot be added to");
    PQclear(result);
  }
  return last || status != LYNX_OK ? status : fail(s, NULL, error, "cannot be added to");
}

static enum lynx_status settle(struct postgres_store *s, struct lynx_error *error) {
  if (PQpipelineStatus(s->connection) == PQ_PIPELINE_OFF) return LYNX_OK;
  enum lynx_status status = PQpipelineSync(s->connection) == 1 ? read_answers(s, error) : fail(s, NULL, error, "cannot be added to");
  s->n_sent = 0;
  if (PQexitPipelineMode(s->connection) != 1 && status == LYNX_OK) status = fail(s, NULL, error, "cannot be added to");
  return status;
}

static enum lynx_status execute(struct postgres_store *s, const char *sql, struct lynx_error *error) {
  enum lynx_status status = settle(s, error);
  if (status != LYNX_OK) return status;
  PGresult *result = PQexec(s->connection, sql);
  ExecStatusType got = PQresultStatus(result);
  if (got != PGRES_COMMAND_OK && got != PGRES_TUPLES_OK) status = fail(s, result, error, "the ledger");
  PQclear(result);
  return status;
}

/* Bytes as they are, in and out. */
enum { VALUES_MAX = 2 };
static const Oid value_types[VALUES_MAX] = {17, 17}; /* bytea */

struct sent {
  const char *pointers[VALUES_MAX];
  int lengths[VALUES_MAX], formats[VALUES_MAX];
};

static struct sent sent_of(const struct bytes *values, int n) {
  struct sent sent = {.formats = {1, 1}};
  for (int i = 0; i < n; i++) {
    sent.pointers[i] = values[i].length > 0 ? values[i].ptr : "";
    sent.lengths[i] = (int)values[i].length;
  }
  return sent;
}

static const char *name_of(enum frequent what, enum store_space space, char name[40]) {
  (void)snprintf(name, 40, "%s_%d", names[space], (int)what);
  return name;
}

static int rows_of(int page, enum store_space space) {
  const int last = space == STORE_BLOB ? 0 : space == STORE_ENTRY ? 1 : PAGE_KINDS - 1; /* values of a MiB; of up to 64 KiB */
  return page_rows[page < last ? page : last];
}

/* The first page begins with the least key, later ones behind the last key of the one before. */
static void page_sql(enum frequent what, enum store_space space, char sql[200]) {
  const bool backwards = what >= PAGES_BACKWARDS;
  const int page = (int)(what - (backwards ? PAGES_BACKWARDS : PAGES));
  (void)snprintf(sql, 200, "SELECT key,value FROM lynxbench.%s WHERE key>%s$1 AND key<%s$2 ORDER BY key%s LIMIT %d", names[space],
                 page > 0 && !backwards ? "" : "=", page > 0 && backwards ? "" : "=", backwards ? " DESC" : "", rows_of(page, space));
}

static enum lynx_status prepare(struct postgres_store *s, enum frequent what, enum store_space space, struct lynx_error *error) {
  char name[40], sql[200];
  if (s->prepared[what][space]) return LYNX_OK;
  if (what == GET) (void)snprintf(sql, sizeof sql, "SELECT value FROM lynxbench.%s WHERE key=$1", names[space]);
  else if (what == APPEND) (void)snprintf(sql, sizeof sql, "INSERT INTO lynxbench.%s VALUES($1,$2)", names[space]);
  else page_sql(what, space, sql);
  enum lynx_status status = settle(s, error);
  if (status != LYNX_OK) return status;
  PGresult *result = PQprepare(s->connection, name_of(what, space, name), sql, what == GET ? 1 : 2, value_types);
  if (PQresultStatus(result) != PGRES_COMMAND_OK) status = fail(s, result, error, "the ledger");
  s->prepared[what][space] = status == LYNX_OK;
  PQclear(result);
  return status;
}

static void postgres_close(struct store *store) {
  struct postgres_store *s = (struct postgres_store *)store;
  if (s == NULL) return;
  PQfinish(s->connection);
  free(s);
}

static enum lynx_status make_table(struct postgres_store *s, const char *name, struct lynx_error *error) {
  char sql[300];
  (void)snprintf(sql, sizeof sql, "CREATE TABLE lynxbench.%s(key bytea PRIMARY KEY, value bytea NOT NULL)", name);
  enum lynx_status status = execute(s, sql, error);
  (void)snprintf(
      sql, sizeof sql,
      "CREATE TRIGGER kept BEFORE UPDATE OR DELETE OR TRUNCATE ON lynxbench.%s FOR EACH STATEMENT EXECUTE FUNCTION lynxbench.refuse()",
      name);
  return status == LYNX_OK ? execute(s, sql, error) : status;
}

static enum lynx_status make_tables(struct postgres_store *s, struct lynx_error *error) {
  char sql[300];
  enum lynx_status status = execute(s, "BEGIN", error);
  if (status == LYNX_OK) status = execute(s, "CREATE SCHEMA lynxbench", error);
  if (status == LYNX_OK) status = execute(s, "CREATE TABLE lynxbench.format(version int NOT NULL)", error);
  (void)snprintf(sql, sizeof sql, "INSERT INTO lynxbench.format VALUES(%d)", STORE_FORMAT);
  if (status == LYNX_OK) status = execute(s, sql, error);
  if (status == LYNX_OK) status = execute(s, guard, error);
  for (int i = 0; i < STORE_SPACES && status == LYNX_OK; i++) status = make_table(s, names[i], error);
  if (status == LYNX_OK) return execute(s, "COMMIT", error);
  struct lynx_error ignored = {0};
  (void)execute(s, "ROLLBACK", &ignored); /* nothing is kept either way */
  return status;
}

/* 0: none there. */
static enum lynx_status read_format(struct postgres_store *s, int *ret, struct lynx_error *error) {
  PGresult *result = PQexec(s->connection, "SELECT to_regclass('lynxbench.format') IS NOT NULL");
  bool there = PQresultStatus(result) == PGRES_TUPLES_OK && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
  enum lynx_status status = PQresultStatus(result) == PGRES_TUPLES_OK ? LYNX_OK : fail(s, result, error, "the ledger");
  PQclear(result);
  *ret = 0;
  if (status != LYNX_OK || !there) return status;
  result = PQexec(s->connection, "SELECT version FROM lynxbench.format");
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1) status = fail(s, result, error, "its format");
  else *ret = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
  PQclear(result);
  return status;
}

/* Each statement outside of a transaction is as of its own moment. */
static enum lynx_status postgres_renew(struct store *store, struct lynx_error *error) {
  (void)store, (void)error;
  return LYNX_OK;
}

static void no_notice(void *context, const char *message) {
  (void)context, (void)message; /* the library prints nothing */
}

extern const struct store_table store_postgres;

/* Nothing that is read is to be steered by what others put into the search path. */
static const char settings[] = "SET search_path=pg_catalog; SET synchronous_commit=on; SET lock_timeout='60s'";

/* A server that is gone without a word is given up within a minute, unless the address says otherwise. */
static PGconn *connect_to(const char *address) {
  const char *const names_of[] = {
      "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname", NULL};
  const char *const values[] = {"10", "20", "10", "3", "50000", address, NULL};
  return PQconnectdbParams(names_of, values, 1);
}

/* What was cut off is connected again, between transactions: a server that was started again has the same ledger. */
static bool revive(struct postgres_store *s) {
  struct lynx_error ignored = {0};
  if (PQstatus(s->connection) == CONNECTION_OK || s->in_transaction) return false;
  PQreset(s->connection);
  s->n_sent = 0;
  memset(s->prepared, 0, sizeof s->prepared);
  return PQstatus(s->connection) == CONNECTION_OK && execute(s, settings, &ignored) == LYNX_OK;
}

/* One that begins a transaction; after a cut, on a new connection. */
static enum lynx_status execute_first(struct postgres_store *s, const char *sql, struct lynx_error *error) {
  struct lynx_error first = *error;
  enum lynx_status status = execute(s, sql, &first);
  if (status != LYNX_OK && revive(s)) return execute(s, sql, error);
  if (status != LYNX_OK) *error = first;
  return status;
}

static enum lynx_status postgres_open(const char *address, enum store_access access, struct store **ret, struct lynx_error *error) {
  struct postgres_store *s = xalloc(1, sizeof *s);
  int format = 0;
  bool create = access == STORE_CREATE;
  s->store.table = &store_postgres;
  s->connection = connect_to(address);
  enum lynx_status status = LYNX_OK;
  if (PQstatus(s->connection) != CONNECTION_OK) status = fail(s, NULL, error, "cannot be reached");
  (void)PQsetNoticeProcessor(s->connection, no_notice, NULL);
  if (status == LYNX_OK) status = execute(s, settings, error);
  if (status == LYNX_OK && access == STORE_READ) status = execute(s, "SET default_transaction_read_only=on", error);
  if (status == LYNX_OK) status = read_format(s, &format, error);
  if (status == LYNX_OK && create && format != 0)
    status = lynx_fail(error, LYNX_INPUT, "there is a ledger in this database; a ledger is never overwritten: name another");
  if (status == LYNX_OK && create) status = make_tables(s, error);
  if (status == LYNX_OK && !create && format == 0)
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no ledger in this database; `lynxbench ledger create` makes one");
  if (status == LYNX_OK && !create && format != STORE_FORMAT)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "a ledger of format %d; this lynxbench reads format %d", format, STORE_FORMAT);
  if (status == LYNX_OK) *ret = &s->store;
  else postgres_close(&s->store);
  return status;
}

static enum lynx_status postgres_snapshot(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  lynx_assert(!s->in_transaction);
  enum lynx_status status = execute_first(s, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error);
  s->in_transaction = status == LYNX_OK;
  return status;
}

static enum lynx_status postgres_begin(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  char sql[100];
  lynx_assert(!s->in_transaction);
  (void)snprintf(sql, sizeof sql, "BEGIN; SELECT pg_advisory_xact_lock(%d)", LOCK);
  enum lynx_status status = execute_first(s, sql, error);
  s->in_transaction = status == LYNX_OK;
  struct lynx_error ignored = {0};
  if (status != LYNX_OK) (void)execute(s, "ROLLBACK", &ignored); /* the lock was not had */
  return status;
}

static enum lynx_status postgres_append(struct store *store, enum store_space space, struct bytes key, struct bytes value,
                                        struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  const struct bytes values[] = {key, value};
  const struct sent sent = sent_of(values, 2);
  char name[40];
  lynx_assert(s->in_transaction && key.length <= STORE_KEY_MAX && value.length <= STORE_VALUE_MAX);
  enum lynx_status status = prepare(s, APPEND, space, error);
  if (status != LYNX_OK) return status;
  if (PQpipelineStatus(s->connection) == PQ_PIPELINE_OFF && PQenterPipelineMode(s->connection) != 1)
    return fail(s, NULL, error, "cannot be added to");
  if (PQsendQueryPrepared(s->connection, name_of(APPEND, space, name), 2, sent.pointers, sent.lengths, sent.formats, 1) != 1)
    status = fail(s, NULL, error, "cannot be added to");
  else s->n_sent++;
  return status == LYNX_OK && (s->n_sent == SENT_MOST || value.length > SENT_BYTES) ? settle(s, error) : status;
}

static void postgres_abort(struct store *store) {
  struct postgres_store *s = (struct postgres_store *)store;
  struct lynx_error ignored = {0};
  (void)settle(s, &ignored);
  if (s->in_transaction) (void)execute(s, "ROLLBACK", &ignored); /* nothing is kept either way */
  s->in_transaction = false;
}

static enum lynx_status postgres_commit(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  enum lynx_status status = settle(s, error);
  if (status != LYNX_OK) {
    postgres_abort(store);
    return status;
  }
  PGresult *result = PQexec(s->connection, "COMMIT");
  /* After a failed statement, COMMIT answers «ROLLBACK», and that is no error to PostgreSQL. */
  bool done = PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
  if (!done) status = fail(s, result, error, "cannot be committed");
  PQclear(result);
  s->in_transaction = false;
  return status;
}

/* One question for a key, or for a page between two. */
static enum lynx_status ask(struct postgres_store *s, enum frequent what, enum store_space space, const struct bytes *keys, PGresult **ret,
                            struct lynx_error *error) {
  const int n = what == GET ? 1 : 2;
  const struct sent sent = sent_of(keys, n);
  char name[40];
  enum lynx_status status = settle(s, error);
  if (status == LYNX_OK) status = prepare(s, what, space, error);
  *ret = NULL;
  if (status != LYNX_OK) return status;
  *ret = PQexecPrepared(s->connection, name_of(what, space, name), n, sent.pointers, sent.lengths, sent.formats, 1);
  return PQresultStatus(*ret) == PGRES_TUPLES_OK ? LYNX_OK : fail(s, *ret, error, "cannot be read");
}

/* Once more, where the connection was cut. */
static enum lynx_status ask_again(struct postgres_store *s, enum frequent what, enum store_space space, const struct bytes *keys,
                                  PGresult **ret, struct lynx_error *error) {
  struct lynx_error first = *error;
  enum lynx_status status = ask(s, what, space, keys, ret, &first);
  if (status != LYNX_OK && revive(s)) {
    PQclear(*ret);
    return ask(s, what, space, keys, ret, error);
  }
  if (status != LYNX_OK) *error = first;
  return status;
}

static enum lynx_status postgres_get(struct store *store, enum store_space space, struct bytes key, struct buffer *ret,
                                     struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  PGresult *result;
  enum lynx_status status = ask_again(s, GET, space, &key, &result, error);
  if (status == LYNX_OK && PQntuples(result) == 0) status = lynx_fail(error, LYNX_NOT_FOUND, "the ledger holds no such %s", names[space]);
  if (status == LYNX_OK && !buffer_append(ret, PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0)))
    status = lynx_fail(error, LYNX_LIMIT, "a value of more than %zu bytes", ret->limit);
  PQclear(result);
  return status;
}

/* Page by page: what is visited may ask the store for more meanwhile. */
static enum lynx_status postgres_list(struct store *store, const struct store_range *range, store_visit *visit, void *context,
                                      struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  struct store_bounds bounds;
  bool more = true;
  enum lynx_status status = LYNX_OK;
  store_bounds_of(range, &bounds);
  for (int page = 0; more && status == LYNX_OK; page += page + 1 < PAGE_KINDS) {
    const struct bytes keys[] = {{bounds.least, bounds.n_least}, {bounds.most, bounds.n_most}};
    PGresult *result;
    status = ask_again(s, (enum frequent)((int)(range->backwards ? PAGES_BACKWARDS : PAGES) + page), range->space, keys, &result, error);
    int n = status == LYNX_OK ? PQntuples(result) : 0;
    for (int i = 0; i < n && more; i++) {
      struct bytes key = {PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0)},
                   value = {PQgetvalue(result, i, 1), (size_t)PQgetlength(result, i, 1)};
      more = visit(context, key, value);
      if (i + 1 == n) store_bounds_from(&bounds, range->backwards, key);
    }
    more = more && n == rows_of(page, range->space);
    PQclear(result);
  }
  return status;
}

const struct store_table store_postgres = {.abi = STORE_ABI,
                                           .name = "postgres",
                                           .summary = "a database that several machines share",
                                           .scheme = "postgresql://",
                                           .open = postgres_open,
                                           .snapshot = postgres_snapshot,
                                           .begin = postgres_begin,
                                           .append = postgres_append,
                                           .commit = postgres_commit,
                                           .abort = postgres_abort,
                                           .get = postgres_get,
                                           .list = postgres_list,
                                           .renew = postgres_renew,
                                           .close = postgres_close};
