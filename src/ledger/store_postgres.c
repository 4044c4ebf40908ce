/* A ledger in a PostgreSQL database, in a schema of its own: shared by writers on many machines. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ledger/store.h"

enum { PAGE_FIRST = 20, PAGE_MOST = 200, LOCK = 0x4c594e4c /* "LYNL": who writes holds it */ };

static const char *const names[STORE_SPACES] = {"entry", "hash", "mention", "checkpoint", "blob", "run"};

struct postgres_store {
  struct store store;
  PGconn *connection;
  bool in_transaction;
  bool prepared[2][STORE_SPACES]; /* of enum single */
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

static enum lynx_status execute(struct postgres_store *s, const char *sql, struct lynx_error *error) {
  PGresult *result = PQexec(s->connection, sql);
  ExecStatusType got = PQresultStatus(result);
  enum lynx_status status = got == PGRES_COMMAND_OK || got == PGRES_TUPLES_OK ? LYNX_OK : fail(s, result, error, "the ledger");
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

enum single { GET, APPEND };

/* What every entry asks many times over: the server parses and plans it once for each connection. */
static PGresult *query_single(struct postgres_store *s, enum single what, enum store_space space, const struct bytes *values) {
  const int n = what == GET ? 1 : 2;
  const struct sent sent = sent_of(values, n);
  char name[40], sql[100];
  (void)snprintf(name, sizeof name, "%s_%s", what == GET ? "get" : "append", names[space]);
  if (what == GET) (void)snprintf(sql, sizeof sql, "SELECT value FROM lynxbench.%s WHERE key=$1", names[space]);
  else (void)snprintf(sql, sizeof sql, "INSERT INTO lynxbench.%s VALUES($1,$2)", names[space]);
  if (!s->prepared[what][space]) {
    PGresult *result = PQprepare(s->connection, name, sql, n, value_types);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) return result;
    PQclear(result);
    s->prepared[what][space] = true;
  }
  return PQexecPrepared(s->connection, name, n, sent.pointers, sent.lengths, sent.formats, 1);
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

/* What the format before lacks, still empty; unless somebody else was first. */
static enum lynx_status add_tables(struct postgres_store *s, struct lynx_error *error) {
  char sql[100];
  (void)snprintf(sql, sizeof sql, "BEGIN; SELECT pg_advisory_xact_lock(%d)", LOCK);
  enum lynx_status status = execute(s, sql, error);
  PGresult *result = status == LYNX_OK ? PQexec(s->connection, "SELECT to_regclass('lynxbench.run') IS NOT NULL") : NULL;
  if (status == LYNX_OK && PQresultStatus(result) != PGRES_TUPLES_OK) status = fail(s, result, error, "its tables");
  bool there = status == LYNX_OK && strcmp(PQgetvalue(result, 0, 0), "t") == 0;
  PQclear(result);
  if (status == LYNX_OK && !there) status = make_table(s, names[STORE_RUN], error);
  if (status == LYNX_OK) return execute(s, "COMMIT", error);
  struct lynx_error ignored = {0};
  (void)execute(s, "ROLLBACK", &ignored); /* nothing is kept either way */
  return status;
}

static enum lynx_status postgres_format(struct store *store, int *ret, struct lynx_error *error) {
  return read_format((struct postgres_store *)store, ret, error);
}

static enum lynx_status postgres_upgraded(struct store *store, struct lynx_error *error) {
  char sql[80];
  (void)snprintf(sql, sizeof sql, "UPDATE lynxbench.format SET version=%d", STORE_FORMAT);
  return execute((struct postgres_store *)store, sql, error);
}

static void no_notice(void *context, const char *message) {
  (void)context, (void)message; /* the library prints nothing */
}

extern const struct store_table store_postgres;

static enum lynx_status postgres_open(const char *address, bool create, struct store **ret, struct lynx_error *error) {
  struct postgres_store *s = xalloc(1, sizeof *s);
  int format = 0;
  s->store.table = &store_postgres;
  s->connection = PQconnectdb(address);
  enum lynx_status status = LYNX_OK;
  if (PQstatus(s->connection) != CONNECTION_OK) status = fail(s, NULL, error, "cannot be reached");
  (void)PQsetNoticeProcessor(s->connection, no_notice, NULL);
  /* Nothing that is read is to be steered by what others put into the search path. */
  if (status == LYNX_OK) status = execute(s, "SET search_path=pg_catalog; SET synchronous_commit=on; SET lock_timeout='60s'", error);
  if (status == LYNX_OK) status = read_format(s, &format, error);
  if (status == LYNX_OK && create && format != 0)
    status = lynx_fail(error, LYNX_INPUT, "there is a ledger in this database; a ledger is never overwritten: name another");
  if (status == LYNX_OK && create) status = make_tables(s, error);
  if (status == LYNX_OK && !create && format == 0)
    status = lynx_fail(error, LYNX_NOT_FOUND, "there is no ledger in this database; `lynxbench log create` makes one");
  if (status == LYNX_OK && !create && format != STORE_FORMAT && format != STORE_FORMAT_BEFORE)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "a ledger of format %d; this lynxbench reads formats %d and %d", format,
                       STORE_FORMAT_BEFORE, STORE_FORMAT);
  if (status == LYNX_OK && !create && format == STORE_FORMAT_BEFORE) status = add_tables(s, error);
  if (status == LYNX_OK) *ret = &s->store;
  else postgres_close(&s->store);
  return status;
}

static enum lynx_status postgres_snapshot(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  lynx_assert(!s->in_transaction);
  enum lynx_status status = execute(s, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error);
  s->in_transaction = status == LYNX_OK;
  return status;
}

static enum lynx_status postgres_begin(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  char sql[100];
  lynx_assert(!s->in_transaction);
  (void)snprintf(sql, sizeof sql, "BEGIN; SELECT pg_advisory_xact_lock(%d)", LOCK);
  enum lynx_status status = execute(s, sql, error);
  s->in_transaction = status == LYNX_OK;
  struct lynx_error ignored = {0};
  if (status != LYNX_OK) (void)execute(s, "ROLLBACK", &ignored); /* the lock was not had */
  return status;
}

static enum lynx_status postgres_append(struct store *store, enum store_space space, struct bytes key, struct bytes value,
                                        struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  const struct bytes values[] = {key, value};
  lynx_assert(s->in_transaction && key.length <= STORE_KEY_MAX && value.length <= STORE_VALUE_MAX);
  PGresult *result = query_single(s, APPEND, space, values);
  enum lynx_status status = PQresultStatus(result) == PGRES_COMMAND_OK ? LYNX_OK : fail(s, result, error, "cannot be added to");
  PQclear(result);
  return status;
}

static void postgres_abort(struct store *store) {
  struct postgres_store *s = (struct postgres_store *)store;
  struct lynx_error ignored = {0};
  if (s->in_transaction) (void)execute(s, "ROLLBACK", &ignored); /* nothing is kept either way */
  s->in_transaction = false;
}

static enum lynx_status postgres_commit(struct store *store, struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  PGresult *result = PQexec(s->connection, "COMMIT");
  /* After a failed statement, COMMIT answers «ROLLBACK», and that is no error to PostgreSQL. */
  bool done = PQresultStatus(result) == PGRES_COMMAND_OK && strcmp(PQcmdStatus(result), "COMMIT") == 0;
  enum lynx_status status = done ? LYNX_OK : fail(s, result, error, "cannot be committed");
  PQclear(result);
  s->in_transaction = false;
  return status;
}

static enum lynx_status postgres_get(struct store *store, enum store_space space, struct bytes key, struct buffer *ret,
                                     struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  PGresult *result = query_single(s, GET, space, &key);
  enum lynx_status status = LYNX_OK;
  if (PQresultStatus(result) != PGRES_TUPLES_OK) status = fail(s, result, error, "cannot be read");
  else if (PQntuples(result) == 0) status = lynx_fail(error, LYNX_NOT_FOUND, "the ledger holds no such %s", names[space]);
  else if (!buffer_append(ret, PQgetvalue(result, 0, 0), (size_t)PQgetlength(result, 0, 0)))
    status = lynx_fail(error, LYNX_LIMIT, "a value of more than %zu bytes", ret->limit);
  PQclear(result);
  return status;
}

/* Page by page: what is visited may ask the store for more meanwhile. */
static enum lynx_status postgres_list(struct store *store, const struct store_range *range, store_visit *visit, void *context,
                                      struct lynx_error *error) {
  struct postgres_store *s = (struct postgres_store *)store;
  char sql[200];
  struct store_bounds bounds;
  int page = PAGE_FIRST;           /* who wants one row is not made to wait for hundreds; who wants all has them in few answers */
  bool more = true, after = false; /* after: the page begins behind the last key of the one before */
  enum lynx_status status = LYNX_OK;
  store_bounds_of(range, &bounds);
  while (more && status == LYNX_OK) {
    const struct bytes keys[] = {{bounds.least, bounds.n_least}, {bounds.most, bounds.n_most}};
    (void)snprintf(sql, sizeof sql, "SELECT key,value FROM lynxbench.%s WHERE key>%s$1 AND key<%s$2 ORDER BY key%s LIMIT %d",
                   names[range->space], after && !range->backwards ? "" : "=", after && range->backwards ? "" : "=",
                   range->backwards ? " DESC" : "", page);
    const struct sent sent = sent_of(keys, 2);
    PGresult *result = PQexecParams(s->connection, sql, 2, value_types, sent.pointers, sent.lengths, sent.formats, 1);
    int n = PQresultStatus(result) == PGRES_TUPLES_OK ? PQntuples(result) : 0;
    if (PQresultStatus(result) != PGRES_TUPLES_OK) status = fail(s, result, error, "cannot be read");
    for (int i = 0; i < n && more; i++) {
      struct bytes key = {PQgetvalue(result, i, 0), (size_t)PQgetlength(result, i, 0)},
                   value = {PQgetvalue(result, i, 1), (size_t)PQgetlength(result, i, 1)};
      more = visit(context, key, value);
      if (i + 1 == n) store_bounds_from(&bounds, range->backwards, key);
    }
    more = more && n == page;
    page = range->space == STORE_BLOB ? PAGE_FIRST : PAGE_MOST; /* parts of a file are a MiB each */
    after = true;
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
                                           .format = postgres_format,
                                           .upgraded = postgres_upgraded,
                                           .close = postgres_close};
