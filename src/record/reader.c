#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/sidecar.h"
#include "record/bundle_private.h"

enum { VALUE_BYTES_MAX = 64 << 20 };

static int open_database(const char *path, sqlite3 **ret) {
  char uri[2048];
  bundle_prepare_sqlite();
  sidecar_uri(path, "mode=ro&immutable=1", uri, sizeof uri);
  return sqlite3_open_v2(uri, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
}

static enum lynx_status altered(struct bundle *bundle, struct lynx_error *error, const char *what) {
  lynx_error_at(error, bundle->path, 0, NULL);
  return lynx_fail(error, LYNX_INPUT,
                   "this bundle was altered or damaged after it was sealed: %s. Nothing in it can be relied on; get the original", what);
}

static enum lynx_status single_int(struct bundle *bundle, const char *sql, int64_t *ret, struct lynx_error *error) {
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, sql, -1, &row, NULL) != SQLITE_OK) return bundle_sql_fail(bundle, error, "cannot be read");
  int step = sqlite3_step(row);
  enum lynx_status status = LYNX_OK;
  if (step == SQLITE_ROW) *ret = sqlite3_column_int64(row, 0);
  else if (step == SQLITE_DONE) *ret = 0;
  else status = bundle_sql_fail(bundle, error, "cannot be read");
  (void)sqlite3_finalize(row);
  return status;
}

static enum lynx_status check_format(struct bundle *bundle, struct lynx_error *error) {
  int64_t application = 0, format = 0;
  enum lynx_status status = single_int(bundle, "PRAGMA application_id", &application, error);
  if (status == LYNX_OK) status = single_int(bundle, "PRAGMA user_version", &format, error);
  if (status != LYNX_OK) return status;
  lynx_error_at(error, bundle->path, 0, NULL);
  if (application != BUNDLE_APPLICATION_ID)
    return lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle (an SQLite file of something else)");
  if (format == 0) return lynx_fail(error, LYNX_INPUT, "the bundle holds no contract: the run ended while its file was made");
  if (format != BUNDLE_FORMAT)
    return lynx_fail(error, LYNX_UNSUPPORTED, "found bundle format %lld, which lynxbench %s reads; accepted: format %d", (long long)format,
                     format < 3               ? "0.1"
                     : format < 4             ? "0.2"
                     : format < BUNDLE_FORMAT ? "0.3"
                                              : "of a later version",
                     BUNDLE_FORMAT);
  return LYNX_OK;
}

static bool known_schema(const char *sql) {
  for (int i = 0; i < BUNDLE_SECTIONS; i++)
    if (strcmp(sql, bundle_sections[i].schema) == 0) return true;
  return strcmp(sql, bundle_section_schema) == 0 || strcmp(sql, bundle_seal_schema) == 0;
}

/* Exactly our tables: a view or trigger could make a query lie. */
static enum lynx_status check_schema(struct bundle *bundle, struct lynx_error *error) {
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL", -1, &row, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "cannot be read");
  int step, n = 0;
  bool good = true;
  while ((step = sqlite3_step(row)) == SQLITE_ROW) {
    const char *sql = (const char *)sqlite3_column_text(row, 0);
    good = good && sql != NULL && known_schema(sql);
    n++;
  }
  enum lynx_status status = step == SQLITE_DONE ? LYNX_OK : bundle_sql_fail(bundle, error, "cannot be read");
  (void)sqlite3_finalize(row);
  if (status == LYNX_OK && (!good || n != BUNDLE_SECTIONS + 2)) status = altered(bundle, error, "its tables are not those of a bundle");
  return status;
}

static enum lynx_status check_structure(struct bundle *bundle, struct lynx_error *error) {
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, "PRAGMA integrity_check(1)", -1, &row, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "cannot be read");
  int step = sqlite3_step(row);
  const char *word = step == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
  enum lynx_status status = LYNX_OK;
  if (step != SQLITE_ROW) status = bundle_sql_fail(bundle, error, "cannot be read");
  else if (word == NULL || strcmp(word, "ok") != 0) status = altered(bundle, error, word != NULL ? word : "its structure is damaged");
  (void)sqlite3_finalize(row);
  return status;
}

static enum lynx_status check_section(struct bundle *bundle, int index, struct bundle_seal_info *seal, uint8_t ret_digest[DIGEST_BYTES],
                                      struct lynx_error *error) {
  const struct bundle_section *section = &bundle_sections[index];
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, "SELECT salt, digest, withheld FROM section WHERE name = ?1", -1, &row, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "seal");
  (void)sqlite3_bind_text(row, 1, section->name, -1, SQLITE_STATIC); /* an unbound name finds no row, which is reported below */
  enum lynx_status status = LYNX_OK;
  uint8_t salt[BUNDLE_SALT_BYTES], computed[DIGEST_BYTES];
  bool withheld = false;
  if (sqlite3_step(row) != SQLITE_ROW || sqlite3_column_bytes(row, 0) != BUNDLE_SALT_BYTES || sqlite3_column_bytes(row, 1) != DIGEST_BYTES)
    status = altered(bundle, error, "a section's digest is missing");
  else {
    memcpy(salt, sqlite3_column_blob(row, 0), sizeof salt);
    memcpy(ret_digest, sqlite3_column_blob(row, 1), DIGEST_BYTES);
    withheld = sqlite3_column_int(row, 2) != 0;
  }
  (void)sqlite3_finalize(row);
  if (status != LYNX_OK) return status;
  if (withheld) {
    char sql[80];
    int64_t n = 1;
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", section->name);
    status = single_int(bundle, sql, &n, error);
    if (status == LYNX_OK && n != 0) return altered(bundle, error, "a section said to be withheld holds rows");
    size_t used = strlen(seal->withheld);
    (void)snprintf(seal->withheld + used, sizeof seal->withheld - used, "%s%s", used > 0 ? ", " : "", section->name);
    seal->n_withheld++;
    return status;
  }
  status = bundle_section_digest(bundle, section, salt, computed, error);
  if (status != LYNX_OK || memcmp(computed, ret_digest, DIGEST_BYTES) == 0) return status;
  char what[80];
  (void)snprintf(what, sizeof what, "the digest of section '%s' does not match its rows", section->name);
  return altered(bundle, error, what);
}

static enum lynx_status check_seal(struct bundle *bundle, struct bundle_seal_info *ret, struct lynx_error *error) {
  int64_t n_seals = 0;
  enum lynx_status status = single_int(bundle, "SELECT count(*) FROM seal", &n_seals, error);
  if (status != LYNX_OK) return status;
  if (n_seals == 0) {
    ret->end = BUNDLE_UNSEALED;
    (void)snprintf(ret->why, sizeof ret->why, "the run has not ended, or was killed before it could seal");
    return LYNX_OK;
  }
  uint8_t digests[BUNDLE_SECTIONS][DIGEST_BYTES] = {{0}}, root[DIGEST_BYTES], stored[DIGEST_BYTES];
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++) status = check_section(bundle, i, ret, digests[i], error);
  if (status != LYNX_OK) return status;
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, "SELECT format, ended, why, root FROM seal", -1, &row, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "seal");
  char ended[32] = "", why[256] = "";
  bool good = sqlite3_step(row) == SQLITE_ROW && n_seals == 1 && sqlite3_column_int(row, 0) == BUNDLE_FORMAT &&
              sqlite3_column_bytes(row, 3) == DIGEST_BYTES;
  if (good) {
    (void)snprintf(ended, sizeof ended, "%s", (const char *)sqlite3_column_text(row, 1));
    (void)snprintf(why, sizeof why, "%s", (const char *)sqlite3_column_text(row, 2));
    memcpy(stored, sqlite3_column_blob(row, 3), DIGEST_BYTES);
  }
  (void)sqlite3_finalize(row);
  if (!good) return altered(bundle, error, "the seal is not of this format");
  bundle_root((const uint8_t(*)[DIGEST_BYTES])digests, ended, why, root);
  if (memcmp(root, stored, DIGEST_BYTES) != 0) return altered(bundle, error, "the root does not match the sections");
  ret->end = strcmp(ended, "complete") == 0 ? BUNDLE_COMPLETE : strcmp(ended, "interrupted") == 0 ? BUNDLE_INTERRUPTED : BUNDLE_FAILED;
  (void)snprintf(ret->why, sizeof ret->why, "%s", why);
  digest_hex(root, ret->root);
  return LYNX_OK;
}

bool seal_withholds(const struct bundle_seal_info *seal, const char *section) {
  size_t n = strlen(section);
  for (const char *p = strstr(seal->withheld, section); p != NULL; p = strstr(p + n, section))
    if ((p == seal->withheld || p[-1] == ' ' || p[-1] == ',') && (p[n] == 0 || p[n] == ',' || p[n] == ' ')) return true;
  return false;
}

enum lynx_status bundle_open(const char *path, struct bundle **ret, struct bundle_seal_info *ret_seal, struct lynx_error *error) {
  if (access(path, R_OK) != 0) {
    lynx_error_at(error, path, 0, NULL);
    return lynx_fail(error, errno == ENOENT ? LYNX_NOT_FOUND : LYNX_IO, "%s", strerror(errno));
  }
  struct bundle *bundle = xalloc(1, sizeof *bundle);
  (void)snprintf(bundle->path, sizeof bundle->path, "%s", path);
  *ret_seal = (struct bundle_seal_info){.end = BUNDLE_UNSEALED};
  enum lynx_status status = LYNX_OK;
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a pipe would be waited for */
    lynx_error_at(error, path, 0, NULL);
    status = lynx_fail(error, LYNX_INPUT, "found what is no plain file; accepted: a bundle, as `lynxbench run` writes it");
  } else
    status = sidecar_refuse_all(
        path, "If it is your own run, which was killed: `lynxbench recover` finishes the file; if it goes on: wait until it ends", error);
  if (status == LYNX_OK && open_database(path, &bundle->db) != SQLITE_OK) status = bundle_sql_fail(bundle, error, "cannot be opened");
  if (status == LYNX_OK) {
    (void)sqlite3_limit(bundle->db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    (void)sqlite3_limit(bundle->db, SQLITE_LIMIT_ATTACHED, 0);
    (void)sqlite3_limit(bundle->db, SQLITE_LIMIT_VDBE_OP, 25000);
    (void)sqlite3_limit(bundle->db, SQLITE_LIMIT_EXPR_DEPTH, 20);
    bundle_defend(bundle->db);
    status = bundle_exec(bundle, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY", error);
  }
  if (status == LYNX_OK) status = check_format(bundle, error);
  if (status == LYNX_OK) status = check_schema(bundle, error);
  if (status == LYNX_OK) status = check_structure(bundle, error);
  if (status == LYNX_OK) status = check_seal(bundle, ret_seal, error);
  if (status != LYNX_OK) {
    bundle_close(bundle);
    return status;
  }
  *ret = bundle;
  return LYNX_OK;
}

/* --- rows --- */

static const char *text_at(sqlite3_stmt *row, int column) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  return text != NULL ? text : "";
}

static int64_t known_at(sqlite3_stmt *row, int column) {
  return sqlite3_column_type(row, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, column);
}

typedef enum lynx_status row_visit(void *context, sqlite3_stmt *row);

static enum lynx_status each_row(struct bundle *bundle, const char *sql, const int64_t *session, const char *moment, row_visit *visit,
                                 void *context, struct lynx_error *error) {
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, sql, -1, &row, NULL) != SQLITE_OK) return bundle_sql_fail(bundle, error, "cannot be read");
  if (session != NULL) (void)sqlite3_bind_int64(row, 1, *session); /* unbound it matches nothing */
  if (moment != NULL) (void)sqlite3_bind_text(row, 1, moment, -1, SQLITE_STATIC);
  enum lynx_status status = LYNX_OK;
  int step = SQLITE_DONE;
  while (status == LYNX_OK && (step = sqlite3_step(row)) == SQLITE_ROW) status = visit(context, row);
  if (status == LYNX_OK && step != SQLITE_DONE) status = bundle_sql_fail(bundle, error, "cannot be read");
  (void)sqlite3_finalize(row);
  return status;
}

struct keep_text {
  struct bundle *bundle;
  const char *text;
};

static enum lynx_status keep_meta(void *context, sqlite3_stmt *row) {
  struct keep_text *keep = context;
  keep->text = arena_text(&keep->bundle->arena, text_at(row, 0), (size_t)sqlite3_column_bytes(row, 0));
  return LYNX_OK;
}

const char *bundle_meta(struct bundle *bundle, const char *key) {
  struct keep_text keep = {.bundle = bundle};
  if (each_row(bundle, "SELECT value FROM meta WHERE key = ?1", NULL, key, keep_meta, &keep, NULL) != LYNX_OK) return NULL;
  return keep.text;
}

static enum lynx_status keep_fact(void *context, sqlite3_stmt *row) {
  struct fact fact = {.key = text_at(row, 1),
                      .value = text_at(row, 4),
                      .unit = text_at(row, 5),
                      .source = text_at(row, 6),
                      .at_ns = sqlite3_column_int64(row, 7)};
  if (!layer_parse(text_at(row, 0), &fact.layer) || !fact_status_parse(text_at(row, 3), &fact.status) ||
      !fact_kind_parse(text_at(row, 2), &fact.kind))
    return LYNX_INPUT;
  fact_add(context, &fact);
  return LYNX_OK;
}

enum lynx_status bundle_facts(struct bundle *bundle, const char *moment, struct fact_list *ret, struct lynx_error *error) {
  enum lynx_status status = each_row(
      bundle, "SELECT layer, key, kind, status, value, unit, source, at_ns FROM fact WHERE moment = ?1 ORDER BY layer, key", NULL, moment,
      keep_fact, ret, error);
  fact_sort(ret);
  return status == LYNX_OK ? LYNX_OK : lynx_fail(error, status, "a fact has a layer, kind or status that this build does not know");
}

enum lynx_status bundle_start_facts(struct bundle *bundle, const char *precision, struct fact_list *ret, struct lynx_error *error) {
  struct arena arena = {0};
  enum lynx_status status = bundle_facts(bundle, arena_printf(&arena, "start:%s", precision), ret, error);
  arena_release(&arena);
  return status;
}

struct visiting {
  bundle_session_visit *session;
  bundle_request_visit *request;
  bundle_phase_visit *phase;
  bundle_sample_visit *sample;
  bundle_accuracy_visit *accuracy;
  bundle_answer_visit *answer;
  bundle_input_visit *input;
  bundle_event_visit *event;
  bundle_thread_visit *thread;
  bundle_activity_visit *activity;
  bundle_stack_visit *stack;
  bundle_block_visit *block;
  void *context;
  struct bundle *bundle;
  struct lynx_error *error;
};

/* A word that no build of this format writes. */
static enum lynx_status unknown_word(const struct visiting *v, const char *what, int64_t id, const char *field, const char *word) {
  char found[80];
  lynx_error_at(v->error, v->bundle->path, 0, field);
  return lynx_fail(v->error, LYNX_INPUT, "%s %lld: found '%s'; accepted: a word of bundle format %d (docs/bundle.md)", what, (long long)id,
                   text_sanitise(found, sizeof found, word, strlen(word)), BUNDLE_FORMAT);
}

static enum lynx_status visit_session(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  struct bundle_session s = {
      .id = sqlite3_column_int64(row, 0),
      .precision = text_at(row, 1),
      .index = sqlite3_column_int64(row, 2),
      .seed = sqlite3_column_int64(row, 3),
      .start_realtime_ns = sqlite3_column_int64(row, 6),
      .warm_up_ns = sqlite3_column_int64(row, 7),
      .counted_ns = sqlite3_column_int64(row, 8),
      .drain_ns = sqlite3_column_int64(row, 9),
      .schedule_digest = text_at(row, 10),
      .executed_json = text_at(row, 11),
      .instrument_json = text_at(row, 12),
      .rate_per_s = sqlite3_column_double(row, 14),
      .concurrency = sqlite3_column_int64(row, 15),
  };
  if (!executor_start_parse(text_at(row, 4), &s.executor)) return unknown_word(v, "session", s.id, "executor_started", text_at(row, 4));
  if (!session_end_parse(text_at(row, 5), &s.end, &s.why)) return unknown_word(v, "session", s.id, "status", text_at(row, 5));
  if (!purpose_parse(text_at(row, 13), &s.purpose)) return unknown_word(v, "session", s.id, "purpose", text_at(row, 13));
  if (!session_began_parse(text_at(row, 16), &s.began)) return unknown_word(v, "session", s.id, "began", text_at(row, 16));
  return v->session(v->context, &s);
}

static enum lynx_status visit_request(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  struct bundle_request r = {
      .session = sqlite3_column_int64(row, 0),
      .id = sqlite3_column_int64(row, 1),
      .reason = text_at(row, 4),
      .http_status = sqlite3_column_int64(row, 5),
      .input = sqlite3_column_int64(row, 6),
      .scheduled_ns = sqlite3_column_int64(row, 7),
      .issued_ns = sqlite3_column_int64(row, 8),
      .written_ns = known_at(row, 9),
      .first_byte_ns = known_at(row, 10),
      .first_token_ns = known_at(row, 11),
      .last_token_ns = known_at(row, 12),
      .end_ns = known_at(row, 13),
      .prompt_tokens = known_at(row, 14),
      .output_tokens = known_at(row, 15),
      .n_text_events = sqlite3_column_int64(row, 16),
      .read_lag_ns = known_at(row, 17),
      .flags = sqlite3_column_int64(row, 18),
      .events = sqlite3_column_blob(row, 19),
      .events_length = (size_t)sqlite3_column_bytes(row, 19),
  };
  if (!phase_parse(text_at(row, 2), &r.phase)) return unknown_word(v, "request", r.id, "phase", text_at(row, 2));
  if (!outcome_parse(text_at(row, 3), &r.outcome)) return unknown_word(v, "request", r.id, "outcome", text_at(row, 3));
  return v->request(v->context, &r);
}

static enum lynx_status visit_phase(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  struct bundle_phase phase = {.session = sqlite3_column_int64(row, 0),
                               .request = sqlite3_column_int64(row, 1),
                               .place = sqlite3_column_int64(row, 2),
                               .name = text_at(row, 3),
                               .from_ns = known_at(row, 4),
                               .took_ns = sqlite3_column_int64(row, 5)};
  return v->phase(v->context, &phase);
}

static enum lynx_status visit_sample(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  return v->sample(v->context, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 2), text_at(row, 1), sqlite3_column_double(row, 3));
}

static enum lynx_status visit_accuracy(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  return v->accuracy(v->context, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 2), text_at(row, 1), sqlite3_column_double(row, 3),
                     sqlite3_column_int64(row, 4));
}

static enum lynx_status visit_answer(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  const char *text = sqlite3_column_blob(row, 2);
  return v->answer(v->context, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1), text != NULL ? text : "",
                   (size_t)sqlite3_column_bytes(row, 2));
}

static enum lynx_status visit_input(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  const char *text = sqlite3_column_blob(row, 1);
  return v->input(v->context, sqlite3_column_int64(row, 0), text != NULL ? text : "", (size_t)sqlite3_column_bytes(row, 1));
}

static enum lynx_status visit_event(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  enum event_kind kind;
  if (!event_kind_parse(text_at(row, 2), &kind))
    return lynx_fail(v->error, LYNX_INPUT, "event: found a kind that no run writes (docs/bundle.md)");
  return v->event(v->context, sqlite3_column_int64(row, 1), kind, text_at(row, 3));
}

static enum lynx_status visit_thread(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  const struct thread_name name = {.process = sqlite3_column_int64(row, 1),
                                   .thread = sqlite3_column_int64(row, 2),
                                   .program = text_at(row, 3),
                                   .name = text_at(row, 4),
                                   .n_processors = sqlite3_column_int64(row, 5)};
  return v->thread(v->context, sqlite3_column_int64(row, 0), &name);
}

static enum lynx_status visit_activity(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  struct thread_activity activity = {.process = sqlite3_column_int64(row, 1),
                                     .thread = sqlite3_column_int64(row, 2),
                                     .at_ns = sqlite3_column_int64(row, 3),
                                     .span_ns = sqlite3_column_int64(row, 4),
                                     .running_ns = sqlite3_column_int64(row, 5),
                                     .system_ns = sqlite3_column_int64(row, 6),
                                     .ready_ns = sqlite3_column_int64(row, 7),
                                     .processor = sqlite3_column_int64(row, 8 + WAIT_COUNT)};
  for (int i = 0; i < WAIT_COUNT; i++) activity.looks[i] = sqlite3_column_int64(row, 8 + i);
  return v->activity(v->context, sqlite3_column_int64(row, 0), &activity);
}

static enum lynx_status visit_stack(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  const struct bundle_stack stack = {.session = sqlite3_column_int64(row, 0),
                                     .source = text_at(row, 1),
                                     .process = sqlite3_column_int64(row, 2),
                                     .thread = sqlite3_column_int64(row, 3),
                                     .frames = text_at(row, 4),
                                     .n = sqlite3_column_int64(row, 5)};
  return v->stack(v->context, &stack);
}

static enum lynx_status visit_block(void *context, sqlite3_stmt *row) {
  const struct visiting *v = context;
  const struct bundle_block block = {.session = sqlite3_column_int64(row, 0),
                                     .number = sqlite3_column_int64(row, 1),
                                     .cycle = sqlite3_column_int64(row, 2),
                                     .target = text_at(row, 3),
                                     .asked = sqlite3_column_double(row, 4),
                                     .given = sqlite3_column_double(row, 5),
                                     .from_ns = sqlite3_column_int64(row, 6),
                                     .to_ns = sqlite3_column_int64(row, 7),
                                     .running_ns = sqlite3_column_int64(row, 8),
                                     .ready_ns = sqlite3_column_int64(row, 9)};
  return v->block(v->context, &block);
}

static const char *select_all(struct bundle *bundle, const char *section, const char *where) {
  for (int i = 0; i < BUNDLE_SECTIONS; i++)
    if (strcmp(bundle_sections[i].name, section) == 0)
      return arena_printf(&bundle->arena, "SELECT %s FROM %s%s ORDER BY %s", bundle_sections[i].columns, section, where,
                          bundle_sections[i].order);
  lynx_assert(!"a section of that name");
  return NULL;
}

struct bundle_session bundle_session_copy(const struct bundle_session *session, struct arena *arena) {
  struct bundle_session copy = *session;
  copy.precision = arena_copy(arena, session->precision);
  copy.why = arena_copy(arena, session->why);
  copy.schedule_digest = arena_copy(arena, session->schedule_digest);
  copy.executed_json = arena_copy(arena, session->executed_json);
  copy.instrument_json = arena_copy(arena, session->instrument_json);
  return copy;
}

enum lynx_status bundle_each_session(struct bundle *bundle, bundle_session_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.session = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, select_all(bundle, "session", ""), NULL, NULL, visit_session, &v, error);
}

enum lynx_status bundle_each_request(struct bundle *bundle, int64_t session, bundle_request_visit *visit, void *context,
                                     struct lynx_error *error) {
  struct visiting v = {.request = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, select_all(bundle, "request", " WHERE session = ?1"), &session, NULL, visit_request, &v, error);
}

enum lynx_status bundle_each_phase(struct bundle *bundle, int64_t session, bundle_phase_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.phase = visit, .context = context};
  return each_row(bundle, select_all(bundle, "phase", " WHERE session = ?1"), &session, NULL, visit_phase, &v, error);
}

enum lynx_status bundle_each_sample(struct bundle *bundle, int64_t session, bundle_sample_visit *visit, void *context,
                                    struct lynx_error *error) {
  struct visiting v = {.sample = visit, .context = context};
  return each_row(bundle, select_all(bundle, "sample", " WHERE session = ?1"), &session, NULL, visit_sample, &v, error);
}

enum lynx_status bundle_each_accuracy(struct bundle *bundle, bundle_accuracy_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.accuracy = visit, .context = context};
  return each_row(bundle, select_all(bundle, "accuracy", ""), NULL, NULL, visit_accuracy, &v, error);
}

enum lynx_status bundle_each_event(struct bundle *bundle, bundle_event_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.event = visit, .context = context, .error = error};
  return each_row(bundle, select_all(bundle, "event", ""), NULL, NULL, visit_event, &v, error);
}

enum lynx_status bundle_each_answer(struct bundle *bundle, bundle_answer_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.answer = visit, .context = context};
  return each_row(bundle, select_all(bundle, "answer", ""), NULL, NULL, visit_answer, &v, error);
}

enum lynx_status bundle_each_input(struct bundle *bundle, bundle_input_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.input = visit, .context = context};
  return each_row(bundle, select_all(bundle, "input", ""), NULL, NULL, visit_input, &v, error);
}

enum lynx_status bundle_each_thread(struct bundle *bundle, int64_t session, bundle_thread_visit *visit, void *context,
                                    struct lynx_error *error) {
  struct visiting v = {.thread = visit, .context = context};
  return each_row(bundle, select_all(bundle, "thread", " WHERE session = ?1"), &session, NULL, visit_thread, &v, error);
}

enum lynx_status bundle_each_activity(struct bundle *bundle, int64_t session, bundle_activity_visit *visit, void *context,
                                      struct lynx_error *error) {
  struct visiting v = {.activity = visit, .context = context};
  return each_row(bundle, select_all(bundle, "activity", " WHERE session = ?1"), &session, NULL, visit_activity, &v, error);
}

enum lynx_status bundle_each_stack(struct bundle *bundle, int64_t session, bundle_stack_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.stack = visit, .context = context};
  return each_row(bundle, select_all(bundle, "stack", " WHERE session = ?1"), &session, NULL, visit_stack, &v, error);
}

enum lynx_status bundle_each_block(struct bundle *bundle, int64_t session, bundle_block_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.block = visit, .context = context};
  return each_row(bundle, select_all(bundle, "block", " WHERE session = ?1"), &session, NULL, visit_block, &v, error);
}
