#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/random.h"
#include "record/bundle_private.h"

enum section_index { META, INPUT, FACT, SESSION, REQUEST, PHASE, SAMPLE, ACCURACY, ANSWER, EVENT, THREAD, ACTIVITY, STACK, BLOCK };

void bundle_close(struct bundle *bundle) {
  if (bundle == NULL) return;
  for (int i = 0; i < BUNDLE_SECTIONS; i++) (void)sqlite3_finalize(bundle->insert[i]); /* errors were reported by the step */
  (void)sqlite3_close(bundle->db);
  arena_release(&bundle->arena);
  free(bundle);
}

void bundle_remove(struct bundle *bundle, const char *path) {
  static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
  char file[sizeof bundle->path + 16];
  bundle_close(bundle);
  for (size_t i = 0; i < LYNX_COUNT(beside) && strlen(path) < sizeof bundle->path; i++) {
    (void)snprintf(file, sizeof file, "%s%s", path, beside[i]);
    (void)unlink(file); /* what is not there need not go */
  }
}

static enum lynx_status create_tables(struct bundle *bundle, struct lynx_error *error) {
  char sql[128];
  (void)snprintf(sql, sizeof sql,
                 "PRAGMA application_id=%d; PRAGMA user_version=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN",
                 BUNDLE_APPLICATION_ID, BUNDLE_FORMAT);
  enum lynx_status status = bundle_exec(bundle, sql, error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++) status = bundle_exec(bundle, bundle_sections[i].schema, error);
  if (status == LYNX_OK) status = bundle_exec(bundle, bundle_section_schema, error);
  if (status == LYNX_OK) status = bundle_exec(bundle, bundle_seal_schema, error);
  if (status == LYNX_OK) status = bundle_exec(bundle, "COMMIT", error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++)
    if (sqlite3_prepare_v3(bundle->db, bundle_sections[i].insert, -1, SQLITE_PREPARE_PERSISTENT, &bundle->insert[i], NULL) != SQLITE_OK)
      status = bundle_sql_fail(bundle, error, "bundle");
  return status;
}

enum lynx_status bundle_create(const char *path, struct bundle **ret, struct lynx_error *error) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* an earlier record is never overwritten */
  if (fd < 0) {
    lynx_error_at(error, path, 0, NULL);
    if (errno == EEXIST) return lynx_fail(error, LYNX_INPUT, "the file exists; records are never overwritten: name another with --out");
    return lynx_fail(error, LYNX_IO, "cannot be created: %s", strerror(errno));
  }
  (void)close(fd); /* nothing was written through it */
  bundle_prepare_sqlite();
  struct bundle *bundle = xalloc(1, sizeof *bundle);
  (void)snprintf(bundle->path, sizeof bundle->path, "%s", path);
  enum lynx_status status;
  if (sqlite3_open_v2(path, &bundle->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
    status = bundle_sql_fail(bundle, error, "cannot be opened");
  else {
    (void)sqlite3_busy_timeout(bundle->db, 10000); /* somebody may be looking at it */
    status = create_tables(bundle, error);
  }
  if (status != LYNX_OK) {
    bundle_close(bundle);
    return status;
  }
  *ret = bundle;
  return LYNX_OK;
}

/* --- rows: bind in column order, then step --- */

struct row {
  struct bundle *bundle;
  sqlite3_stmt *insert;
  int column;
  bool good;
};

static void keep_failure(struct bundle *bundle, const struct lynx_error *error) {
  if (bundle->failure.status == LYNX_OK) bundle->failure = *error;
}

static struct row row_begin(struct bundle *bundle, enum section_index section) {
  struct lynx_error error = {0};
  bool good = bundle->failure.status == LYNX_OK && (bundle->in_transaction || bundle_exec(bundle, "BEGIN", &error) == LYNX_OK);
  if (error.status != LYNX_OK) keep_failure(bundle, &error);
  bundle->in_transaction = bundle->in_transaction || good;
  return (struct row){.bundle = bundle, .insert = bundle->insert[section], .good = good};
}

static void put_int(struct row *row, int64_t value) {
  row->good = row->good && sqlite3_bind_int64(row->insert, ++row->column, value) == SQLITE_OK;
}

/* A time or count that never came about is stored as NULL. */
static void put_known(struct row *row, int64_t value) {
  if (value >= 0) put_int(row, value);
  else row->good = row->good && sqlite3_bind_null(row->insert, ++row->column) == SQLITE_OK;
}

static void put_text(struct row *row, const char *text) {
  row->good = row->good && sqlite3_bind_text(row->insert, ++row->column, text != NULL ? text : "", -1, SQLITE_STATIC) == SQLITE_OK;
}

static void put_blob(struct row *row, const void *data, size_t length) {
  row->good = row->good && length <= INT32_MAX &&
              sqlite3_bind_blob(row->insert, ++row->column, length > 0 ? data : "", (int)length, SQLITE_STATIC) == SQLITE_OK;
}

static void put_double(struct row *row, double value) {
  row->good = row->good && sqlite3_bind_double(row->insert, ++row->column, value) == SQLITE_OK;
}

static void row_end(struct row *row) {
  struct bundle *bundle = row->bundle;
  if (bundle->failure.status != LYNX_OK) return;
  row->good = row->good && sqlite3_step(row->insert) == SQLITE_DONE;
  if (!row->good) (void)bundle_sql_fail(bundle, &bundle->failure, "cannot be written");
  (void)sqlite3_reset(row->insert);                                                     /* repeats the step's error */
  if (!row->good && sqlite3_get_autocommit(bundle->db)) bundle->in_transaction = false; /* SQLite rolled back */
}

void bundle_put_meta(struct bundle *bundle, const char *key, const char *value) {
  struct row row = row_begin(bundle, META);
  put_text(&row, key);
  put_text(&row, value);
  row_end(&row);
}

void bundle_put_input(struct bundle *bundle, int64_t id, const char *text, size_t length) {
  struct row row = row_begin(bundle, INPUT);
  put_int(&row, id);
  put_blob(&row, text, length);
  row_end(&row);
}

void bundle_put_facts(struct bundle *bundle, const char *moment, const struct fact_list *facts) {
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *fact = &facts->items[i];
    struct row row = row_begin(bundle, FACT);
    put_text(&row, moment);
    put_text(&row, layer_text(fact->layer));
    put_text(&row, fact->key);
    put_text(&row, fact_kind_text(fact->kind));
    put_text(&row, fact_status_text(fact->status));
    put_text(&row, fact->value);
    put_text(&row, fact->unit);
    put_text(&row, fact->source);
    put_int(&row, fact->at_ns);
    row_end(&row);
  }
}

void bundle_put_session(struct bundle *bundle, const struct bundle_session *s) {
  struct row row = row_begin(bundle, SESSION);
  put_int(&row, s->id);
  put_text(&row, s->precision);
  put_int(&row, s->index);
  put_int(&row, s->seed);
  put_text(&row, executor_start_text(s->executor));
  char end[400];
  (void)snprintf(end, sizeof end, s->why[0] != 0 ? "%s: %s" : "%s%s", session_end_text(s->end), s->why);
  put_text(&row, end);
  put_int(&row, s->start_realtime_ns);
  put_int(&row, s->warm_up_ns);
  put_int(&row, s->counted_ns);
  put_int(&row, s->drain_ns);
  put_text(&row, s->schedule_digest);
  put_text(&row, s->executed_json);
  put_text(&row, s->instrument_json);
  put_text(&row, purpose_text(s->purpose));
  put_double(&row, s->rate_per_s);
  put_int(&row, s->concurrency);
  put_text(&row, session_began_text(s->began));
  row_end(&row);
}

void bundle_put_request(struct bundle *bundle, const struct bundle_request *r) {
  struct row row = row_begin(bundle, REQUEST);
  put_int(&row, r->session);
  put_int(&row, r->id);
  put_text(&row, phase_text(r->phase));
  put_text(&row, outcome_text(r->outcome));
  put_text(&row, r->reason);
  put_int(&row, r->http_status);
  put_int(&row, r->input);
  put_int(&row, r->scheduled_ns);
  put_int(&row, r->issued_ns);
  put_known(&row, r->written_ns);
  put_known(&row, r->first_byte_ns);
  put_known(&row, r->first_token_ns);
  put_known(&row, r->last_token_ns);
  put_known(&row, r->end_ns);
  put_known(&row, r->prompt_tokens);
  put_known(&row, r->output_tokens);
  put_int(&row, r->n_text_events);
  put_known(&row, r->read_lag_ns);
  put_int(&row, r->flags);
  put_blob(&row, r->events, r->events_length);
  row_end(&row);
}

void bundle_put_phase(struct bundle *bundle, const struct bundle_phase *p) {
  struct row row = row_begin(bundle, PHASE);
  put_int(&row, p->session);
  put_int(&row, p->request);
  put_int(&row, p->place);
  put_text(&row, p->name);
  put_known(&row, p->from_ns);
  put_int(&row, p->took_ns);
  row_end(&row);
}

void bundle_put_sample(struct bundle *bundle, int64_t session, int64_t at_ns, const char *series, double value) {
  struct row row = row_begin(bundle, SAMPLE);
  put_int(&row, session);
  put_text(&row, series);
  put_int(&row, at_ns);
  put_double(&row, value);
  row_end(&row);
}

void bundle_put_accuracy(struct bundle *bundle, int64_t session, int64_t window, const char *measure, double value, int64_t weight) {
  struct row row = row_begin(bundle, ACCURACY);
  put_int(&row, session);
  put_text(&row, measure);
  put_int(&row, window);
  put_double(&row, value);
  put_int(&row, weight);
  row_end(&row);
}

void bundle_put_answer(struct bundle *bundle, int64_t session, int64_t input, const char *text, size_t length) {
  struct row row = row_begin(bundle, ANSWER);
  put_int(&row, session);
  put_int(&row, input);
  put_blob(&row, text, length);
  row_end(&row);
}

void bundle_put_thread(struct bundle *bundle, int64_t session, const struct thread_name *name) {
  struct row row = row_begin(bundle, THREAD);
  put_int(&row, session);
  put_int(&row, name->process);
  put_int(&row, name->thread);
  put_text(&row, name->program);
  put_text(&row, name->name);
  put_int(&row, name->n_processors);
  row_end(&row);
}

void bundle_put_activity(struct bundle *bundle, int64_t session, const struct thread_activity *a) {
  struct row row = row_begin(bundle, ACTIVITY);
  put_int(&row, session);
  put_int(&row, a->process);
  put_int(&row, a->thread);
  put_int(&row, a->at_ns);
  put_int(&row, a->span_ns);
  put_int(&row, a->running_ns);
  put_int(&row, a->system_ns);
  put_int(&row, a->ready_ns);
  for (int i = 0; i < WAIT_COUNT; i++) put_int(&row, a->looks[i]);
  put_int(&row, a->processor);
  row_end(&row);
}

void bundle_put_stack(struct bundle *bundle, const struct bundle_stack *stack) {
  struct row row = row_begin(bundle, STACK);
  put_int(&row, stack->session);
  put_text(&row, stack->source);
  put_int(&row, stack->process);
  put_int(&row, stack->thread);
  put_text(&row, stack->frames);
  put_int(&row, stack->n);
  row_end(&row);
}

void bundle_put_block(struct bundle *bundle, const struct bundle_block *block) {
  struct row row = row_begin(bundle, BLOCK);
  put_int(&row, block->session);
  put_int(&row, block->number);
  put_int(&row, block->cycle);
  put_text(&row, block->target);
  put_double(&row, block->asked);
  put_double(&row, block->given);
  put_int(&row, block->from_ns);
  put_int(&row, block->to_ns);
  put_int(&row, block->running_ns);
  put_int(&row, block->ready_ns);
  row_end(&row);
}

void bundle_put_event(struct bundle *bundle, int64_t realtime_ns, enum event_kind kind, const char *text) {
  struct row row = row_begin(bundle, EVENT);
  put_int(&row, realtime_ns);
  put_text(&row, event_kind_text(kind));
  put_text(&row, text);
  row_end(&row);
}

enum lynx_status bundle_written(const struct bundle *bundle, struct lynx_error *error) {
  if (bundle->failure.status != LYNX_OK && error != NULL) *error = bundle->failure;
  return bundle->failure.status;
}

enum lynx_status bundle_commit(struct bundle *bundle, struct lynx_error *error) {
  struct lynx_error own = {0};
  if (bundle->in_transaction) {
    if (bundle_exec(bundle, "COMMIT", &own) != LYNX_OK) keep_failure(bundle, &own);
    /* After a failed commit SQLite may have rolled it back itself. */
    if (own.status == LYNX_OK || sqlite3_get_autocommit(bundle->db)) bundle->in_transaction = false;
  }
  return bundle_written(bundle, error);
}

static enum lynx_status store_section(struct bundle *bundle, const char *name, const uint8_t *salt, const uint8_t *digest,
                                      struct lynx_error *error) {
  sqlite3_stmt *insert;
  if (sqlite3_prepare_v2(bundle->db, "INSERT INTO section VALUES (?1, ?2, ?3, 0)", -1, &insert, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "seal");
  bool good = sqlite3_bind_text(insert, 1, name, -1, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_blob(insert, 2, salt, BUNDLE_SALT_BYTES, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_blob(insert, 3, digest, DIGEST_BYTES, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(insert) == SQLITE_DONE;
  enum lynx_status status = good ? LYNX_OK : bundle_sql_fail(bundle, error, "seal");
  (void)sqlite3_finalize(insert);
  return status;
}

static enum lynx_status store_seal(struct bundle *bundle, const char *end, const char *why, const uint8_t root[DIGEST_BYTES],
                                   struct lynx_error *error) {
  sqlite3_stmt *insert;
  if (sqlite3_prepare_v2(bundle->db, "INSERT INTO seal VALUES (?1, ?2, ?3, ?4)", -1, &insert, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "seal");
  bool good = sqlite3_bind_int(insert, 1, BUNDLE_FORMAT) == SQLITE_OK &&
              sqlite3_bind_text(insert, 2, end, -1, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_text(insert, 3, why, -1, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_blob(insert, 4, root, DIGEST_BYTES, SQLITE_STATIC) == SQLITE_OK && sqlite3_step(insert) == SQLITE_DONE;
  enum lynx_status status = good ? LYNX_OK : bundle_sql_fail(bundle, error, "seal");
  (void)sqlite3_finalize(insert);
  return status;
}

/* One file again, durable, without free pages; never by way of a journal, which who reads would refuse. */
static enum lynx_status tidy_up(struct bundle *bundle, struct lynx_error *error) {
  struct stat info;
  char log[600];
  (void)sqlite3_exec(bundle->db, "PRAGMA synchronous=FULL; VACUUM", NULL, NULL, NULL); /* without room for it the file is longer */
  (void)sqlite3_exec(bundle->db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
  (void)snprintf(log, sizeof log, "%s-wal", bundle->path);
  if (lstat(log, &info) != 0) return LYNX_OK;
  lynx_error_at(error, bundle->path, 0, NULL);
  return lynx_fail(error, LYNX_IO,
                   "it is sealed, but the disk is full or cannot be written: the log beside it holds the end of it. Free some space, then "
                   "`lynxbench recover` puts it in");
}

enum lynx_status bundle_seal(struct bundle *bundle, enum bundle_end end, const char *why, char ret_root[DIGEST_HEX],
                             struct lynx_error *error) {
  uint8_t digests[BUNDLE_SECTIONS][DIGEST_BYTES], root[DIGEST_BYTES];
  enum lynx_status status = bundle_commit(bundle, error);
  if (status != LYNX_OK && end != BUNDLE_FAILED) return status;
  status = bundle->in_transaction ? status : bundle_exec(bundle, "BEGIN", error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++) {
    uint8_t salt[BUNDLE_SALT_BYTES];
    if (!random_salt(salt, sizeof salt)) status = lynx_fail(error, LYNX_IO, "the system gives no random bytes");
    if (status == LYNX_OK) status = bundle_section_digest(bundle, &bundle_sections[i], salt, digests[i], error);
    if (status == LYNX_OK) status = store_section(bundle, bundle_sections[i].name, salt, digests[i], error);
  }
  if (status == LYNX_OK) {
    bundle_root(digests, bundle_end_text(end), why, root);
    digest_hex(root, ret_root);
    status = store_seal(bundle, bundle_end_text(end), why, root, error);
  }
  if (status == LYNX_OK) status = bundle_exec(bundle, "COMMIT", error);
  return status == LYNX_OK ? tidy_up(bundle, error) : status;
}
