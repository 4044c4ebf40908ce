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
  char sql[BUNDLE_SQL];
  (void)snprintf(sql, sizeof sql,
                 "PRAGMA application_id=%d; PRAGMA user_version=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; BEGIN",
                 BUNDLE_APPLICATION_ID, BUNDLE_FORMAT);
  enum lynx_status status = bundle_exec(bundle, sql, error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++)
    status = bundle_exec(bundle, bundle_schema(&bundle_sections[i], BUNDLE_FORMAT, sql), error);
  if (status == LYNX_OK) status = bundle_exec(bundle, bundle_section_schema, error);
  if (status == LYNX_OK) status = bundle_exec(bundle, bundle_seal_schema, error);
  if (status == LYNX_OK) status = bundle_exec(bundle, "COMMIT", error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++) {
    (void)bundle_insert(&bundle_sections[i], bundle_sections[i].conflict, bundle_sections[i].otherwise, sql);
    if (sqlite3_prepare_v3(bundle->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &bundle->insert[i], NULL) != SQLITE_OK)
      status = bundle_sql_fail(bundle, error, "bundle");
  }
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
  bundle->format = BUNDLE_FORMAT;
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

/* --- rows --- */

static void keep_failure(struct bundle *bundle, const struct lynx_error *error) {
  if (bundle->failure.status == LYNX_OK) bundle->failure = *error;
}

static bool begin(struct bundle *bundle) {
  struct lynx_error error = {0};
  bool good = bundle->failure.status == LYNX_OK && (bundle->in_transaction || bundle_exec(bundle, "BEGIN", &error) == LYNX_OK);
  if (error.status != LYNX_OK) keep_failure(bundle, &error);
  bundle->in_transaction = bundle->in_transaction || good;
  return good;
}

static int bind_text(sqlite3_stmt *insert, int place, const char *text) {
  return sqlite3_bind_text(insert, place, text != NULL ? text : "", -1, SQLITE_STATIC);
}

static int bind_bytes(sqlite3_stmt *insert, int place, const void *data, size_t length) {
  if (length > INT32_MAX) return SQLITE_TOOBIG;
  return sqlite3_bind_blob(insert, place, length > 0 ? data : "", (int)length, SQLITE_STATIC);
}

static int bind_column(sqlite3_stmt *insert, int place, const struct bundle_column *column, const void *row) {
  const void *at = bundle_column_at(column, row);
  switch (column->kind) {
    case COLUMN_NUMBER: return sqlite3_bind_int64(insert, place, *(const int64_t *)at);
    case COLUMN_KNOWN: {
      int64_t value = *(const int64_t *)at;
      return value >= 0 ? sqlite3_bind_int64(insert, place, value) : sqlite3_bind_null(insert, place);
    }
    case COLUMN_REAL: return sqlite3_bind_double(insert, place, *(const double *)at);
    case COLUMN_TEXT: return bind_text(insert, place, *(const char *const *)at);
    case COLUMN_WORD: return bind_text(insert, place, column->words->text(at));
    case COLUMN_BYTES:
      return bind_bytes(insert, place, *(const void *const *)at, *(const size_t *)(const void *)((const char *)row + column->length));
  }
  return SQLITE_MISUSE;
}

static void put(struct bundle *bundle, enum bundle_section_index index, const void *row) {
  const struct bundle_section *section = &bundle_sections[index];
  sqlite3_stmt *insert = bundle->insert[index];
  bool good = begin(bundle);
  for (int i = 0; i < section->n_columns && good; i++) good = bind_column(insert, i + 1, &section->columns[i], row) == SQLITE_OK;
  if (bundle->failure.status != LYNX_OK) return;
  good = good && sqlite3_step(insert) == SQLITE_DONE;
  if (!good) (void)bundle_sql_fail(bundle, &bundle->failure, "cannot be written");
  (void)sqlite3_reset(insert);                                                     /* repeats the step's error */
  if (!good && sqlite3_get_autocommit(bundle->db)) bundle->in_transaction = false; /* SQLite rolled back */
}

void bundle_put_meta(struct bundle *bundle, const char *key, const char *value) {
  put(bundle, SECTION_META, &(struct meta_row){.key = key, .value = value});
}

void bundle_put_input(struct bundle *bundle, int64_t id, const char *text, size_t length) {
  put(bundle, SECTION_INPUT, &(struct input_row){.id = id, .text = text, .length = length});
}

void bundle_put_facts(struct bundle *bundle, const char *moment, const struct fact_list *facts) {
  for (size_t i = 0; i < facts->n_items; i++) put(bundle, SECTION_FACT, &(struct fact_row){.moment = moment, .fact = facts->items[i]});
}

void bundle_put_session(struct bundle *bundle, const struct bundle_session *s) {
  char status[400];
  (void)snprintf(status, sizeof status, s->why[0] != 0 ? "%s: %s" : "%s%s", session_end_text(s->end), s->why);
  put(bundle, SECTION_SESSION, &(struct session_row){.session = *s, .status = status});
}

void bundle_put_request(struct bundle *bundle, const struct bundle_request *request) {
  put(bundle, SECTION_REQUEST, request);
}

void bundle_put_phase(struct bundle *bundle, const struct bundle_phase *phase) {
  put(bundle, SECTION_PHASE, phase);
}

void bundle_put_sample(struct bundle *bundle, int64_t session, int64_t at_ns, const char *series, double value) {
  put(bundle, SECTION_SAMPLE, &(struct sample_row){.session = session, .at_ns = at_ns, .series = series, .value = value});
}

void bundle_put_accuracy(struct bundle *bundle, int64_t session, int64_t window, const char *measure, double value, int64_t weight) {
  put(bundle, SECTION_ACCURACY,
      &(struct accuracy_row){.session = session, .window = window, .measure = measure, .value = value, .weight = weight});
}

void bundle_put_answer(struct bundle *bundle, int64_t session, int64_t input, const char *text, size_t length) {
  put(bundle, SECTION_ANSWER, &(struct answer_row){.session = session, .input = input, .text = text, .length = length});
}

void bundle_put_thread(struct bundle *bundle, int64_t session, const struct thread_name *name) {
  put(bundle, SECTION_THREAD, &(struct thread_row){.session = session, .thread = *name});
}

void bundle_put_activity(struct bundle *bundle, int64_t session, const struct thread_activity *activity) {
  put(bundle, SECTION_ACTIVITY, &(struct activity_row){.session = session, .activity = *activity});
}

void bundle_put_stack(struct bundle *bundle, const struct bundle_stack *stack) {
  put(bundle, SECTION_STACK, stack);
}

void bundle_put_block(struct bundle *bundle, const struct bundle_block *block) {
  put(bundle, SECTION_BLOCK, block);
}

void bundle_put_event(struct bundle *bundle, int64_t realtime_ns, enum event_kind kind, const char *text) {
  put(bundle, SECTION_EVENT, &(struct event_row){.id = -1, .realtime_ns = realtime_ns, .kind = kind, .text = text});
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
