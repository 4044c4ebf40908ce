#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/known_file.h"
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
  if (application != BUNDLE_APPLICATION_ID) {
    const char *other = known_file_at(bundle->path, "show");
    return lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle: it is %s", other != NULL ? other : "an SQLite file of something else");
  }
  if (format == 0) return lynx_fail(error, LYNX_INPUT, "the bundle holds no contract: the run ended while its file was made");
  if (format < BUNDLE_FORMAT_LEAST || format > BUNDLE_FORMAT)
    return lynx_fail(error, LYNX_UNSUPPORTED, "found bundle format %lld, which lynxbench %s reads; accepted: formats %d to %d",
                     (long long)format,
                     format < 3                     ? "0.1"
                     : format < 4                   ? "0.2"
                     : format < BUNDLE_FORMAT_LEAST ? "0.3"
                                                    : "of a later version",
                     BUNDLE_FORMAT_LEAST, BUNDLE_FORMAT);
  bundle->format = (int)format;
  return LYNX_OK;
}

static bool known_schema(const char *sql, int format) {
  char own[BUNDLE_SQL];
  for (int i = 0; i < BUNDLE_SECTIONS; i++)
    if (strcmp(sql, bundle_schema(&bundle_sections[i], format, own)) == 0) return true;
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
    good = good && sql != NULL && known_schema(sql, bundle->format);
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
  bool good = sqlite3_step(row) == SQLITE_ROW && n_seals == 1 && sqlite3_column_int(row, 0) == bundle->format &&
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
  bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file || info.st_size < BUNDLE_HEAD) { /* a pipe, or a file that the kernel makes, would be waited for */
    lynx_error_at(error, path, 0, NULL);
    const char *other = is_file ? known_file_at(path, "show") : NULL;
    if (!is_file) status = lynx_fail(error, LYNX_INPUT, "found what is no plain file; accepted: a bundle, as `lynxbench run` writes it");
    else if (other != NULL) status = lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle: it is %s", other);
    else status = lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle (%s)", info.st_size == 0 ? "it is empty" : "a few bytes");
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

int bundle_format(const struct bundle *bundle) {
  return bundle->format;
}

/* --- rows --- */

static const char *text_at(sqlite3_stmt *stored, int column) {
  const char *text = (const char *)sqlite3_column_text(stored, column);
  return text != NULL ? text : "";
}

/* A word that no build of this format writes. row: the last column of its key. */
static enum lynx_status unknown_word(const struct bundle *bundle, const char *section, const char *row, const char *column,
                                     const char *word, struct lynx_error *error) {
  char id[80], found[80];
  lynx_error_at(error, bundle->path, 0, column);
  return lynx_fail(error, LYNX_INPUT, "%s %s: found '%s'; accepted: a word of bundle format %d (docs/bundle.md)", section,
                   text_sanitise(id, sizeof id, row, strlen(row)), text_sanitise(found, sizeof found, word, strlen(word)), bundle->format);
}

/* Texts and bytes are SQLite's until the next row. False: a word that is not of its vocabulary. */
static bool read_column(sqlite3_stmt *stored, int i, const struct bundle_column *column, union bundle_row *row) {
  void *at = (char *)row + column->offset;
  switch (column->kind) {
    case COLUMN_NUMBER: *(int64_t *)at = sqlite3_column_int64(stored, i); return true;
    case COLUMN_KNOWN: *(int64_t *)at = sqlite3_column_type(stored, i) == SQLITE_NULL ? -1 : sqlite3_column_int64(stored, i); return true;
    case COLUMN_REAL: *(double *)at = sqlite3_column_double(stored, i); return true;
    case COLUMN_TEXT: *(const char **)at = text_at(stored, i); return true;
    case COLUMN_WORD: return column->words->parse(text_at(stored, i), at);
    case COLUMN_BYTES: {
      const void *bytes = sqlite3_column_blob(stored, i);
      *(const void **)at = bytes != NULL ? bytes : "";
      *(size_t *)(void *)((char *)row + column->length) = (size_t)sqlite3_column_bytes(stored, i);
      return true;
    }
  }
  return false;
}

/* What files of an older format do not have. */
static void read_absent(const struct bundle_column *column, union bundle_row *row) {
  lynx_assert(column->kind == COLUMN_KNOWN);
  *(int64_t *)(void *)((char *)row + column->offset) = -1;
}

/* Which rows: all (both NULL), or those whose first column has that value. */
struct which {
  const int64_t *number;
  const char *text;
};

typedef enum lynx_status row_visit(void *context, const void *row);

static enum lynx_status each_row(struct bundle *bundle, enum bundle_section_index index, struct which which, row_visit *visit,
                                 void *context, struct lynx_error *error) {
  const struct bundle_section *section = &bundle_sections[index];
  char where[80] = "", sql[BUNDLE_SQL];
  sqlite3_stmt *stored;
  if (which.number != NULL || which.text != NULL) (void)snprintf(where, sizeof where, " WHERE %s = ?1", section->columns[0].name);
  if (sqlite3_prepare_v2(bundle->db, bundle_select(section, bundle->format, where, sql), -1, &stored, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, "cannot be read");
  if (which.number != NULL) (void)sqlite3_bind_int64(stored, 1, *which.number); /* unbound it matches nothing */
  if (which.text != NULL) (void)sqlite3_bind_text(stored, 1, which.text, -1, SQLITE_STATIC);
  enum lynx_status status = LYNX_OK;
  int step = SQLITE_DONE, n_columns = bundle_n_columns(section, bundle->format);
  while (status == LYNX_OK && (step = sqlite3_step(stored)) == SQLITE_ROW) {
    union bundle_row row = {0};
    for (int i = n_columns; i < section->n_columns; i++) read_absent(&section->columns[i], &row);
    for (int i = 0; i < n_columns && status == LYNX_OK; i++)
      if (!read_column(stored, i, &section->columns[i], &row))
        status = unknown_word(bundle, section->name, text_at(stored, section->n_key - 1), section->columns[i].name, text_at(stored, i),
                              error);
    if (status == LYNX_OK) status = visit(context, &row);
  }
  if (status == LYNX_OK && step != SQLITE_DONE) status = bundle_sql_fail(bundle, error, "cannot be read");
  (void)sqlite3_finalize(stored);
  return status;
}

struct keep_text {
  struct bundle *bundle;
  const char *text;
};

static enum lynx_status keep_meta(void *context, const void *row) {
  struct keep_text *keep = context;
  const struct meta_row *meta = row;
  keep->text = arena_copy(&keep->bundle->arena, meta->value);
  return LYNX_OK;
}

const char *bundle_meta(struct bundle *bundle, const char *key) {
  struct keep_text keep = {.bundle = bundle};
  if (each_row(bundle, SECTION_META, (struct which){.text = key}, keep_meta, &keep, NULL) != LYNX_OK) return NULL;
  return keep.text;
}

static enum lynx_status keep_fact(void *context, const void *row) {
  const struct fact_row *stored = row;
  fact_add(context, &stored->fact);
  return LYNX_OK;
}

enum lynx_status bundle_facts(struct bundle *bundle, const char *moment, struct fact_list *ret, struct lynx_error *error) {
  enum lynx_status status = each_row(bundle, SECTION_FACT, (struct which){.text = moment}, keep_fact, ret, error);
  fact_sort(ret);
  return status;
}

enum lynx_status bundle_start_facts(struct bundle *bundle, const char *precision, struct fact_list *ret, struct lynx_error *error) {
  struct arena arena = {0};
  enum lynx_status status = bundle_facts(bundle, arena_printf(&arena, "start:%s", precision), ret, error);
  arena_release(&arena);
  return status;
}

/* The caller's visit, for the visits below: each calls it with what it takes. */
struct visiting {
  union {
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
  } visit;
  void *context;
  struct bundle *bundle;
  struct lynx_error *error;
};

static enum lynx_status visit_session(void *context, const void *row) {
  const struct visiting *v = context;
  const struct session_row *stored = row;
  struct bundle_session session = stored->session;
  if (session_end_parse(stored->status, &session.end, &session.why)) return v->visit.session(v->context, &session);
  char id[24];
  (void)snprintf(id, sizeof id, "%lld", (long long)session.id);
  return unknown_word(v->bundle, "session", id, "status", stored->status, v->error);
}

static enum lynx_status visit_request(void *context, const void *row) {
  const struct visiting *v = context;
  return v->visit.request(v->context, row);
}

static enum lynx_status visit_phase(void *context, const void *row) {
  const struct visiting *v = context;
  return v->visit.phase(v->context, row);
}

static enum lynx_status visit_stack(void *context, const void *row) {
  const struct visiting *v = context;
  return v->visit.stack(v->context, row);
}

static enum lynx_status visit_block(void *context, const void *row) {
  const struct visiting *v = context;
  return v->visit.block(v->context, row);
}

static enum lynx_status visit_sample(void *context, const void *row) {
  const struct visiting *v = context;
  const struct sample_row *s = row;
  return v->visit.sample(v->context, s->session, s->at_ns, s->series, s->value);
}

static enum lynx_status visit_accuracy(void *context, const void *row) {
  const struct visiting *v = context;
  const struct accuracy_row *a = row;
  return v->visit.accuracy(v->context, a->session, a->window, a->measure, a->value, a->weight);
}

static enum lynx_status visit_answer(void *context, const void *row) {
  const struct visiting *v = context;
  const struct answer_row *a = row;
  return v->visit.answer(v->context, a->session, a->input, a->text, a->length);
}

static enum lynx_status visit_input(void *context, const void *row) {
  const struct visiting *v = context;
  const struct input_row *input = row;
  return v->visit.input(v->context, input->id, input->text, input->length);
}

static enum lynx_status visit_event(void *context, const void *row) {
  const struct visiting *v = context;
  const struct event_row *event = row;
  return v->visit.event(v->context, event->realtime_ns, event->kind, event->text);
}

static enum lynx_status visit_thread(void *context, const void *row) {
  const struct visiting *v = context;
  const struct thread_row *thread = row;
  return v->visit.thread(v->context, thread->session, &thread->thread);
}

static enum lynx_status visit_activity(void *context, const void *row) {
  const struct visiting *v = context;
  const struct activity_row *activity = row;
  return v->visit.activity(v->context, activity->session, &activity->activity);
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
  struct visiting v = {.visit.session = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_SESSION, (struct which){0}, visit_session, &v, error);
}

enum lynx_status bundle_each_request(struct bundle *bundle, int64_t session, bundle_request_visit *visit, void *context,
                                     struct lynx_error *error) {
  struct visiting v = {.visit.request = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_REQUEST, (struct which){.number = &session}, visit_request, &v, error);
}

enum lynx_status bundle_each_phase(struct bundle *bundle, int64_t session, bundle_phase_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.visit.phase = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_PHASE, (struct which){.number = &session}, visit_phase, &v, error);
}

enum lynx_status bundle_each_sample(struct bundle *bundle, int64_t session, bundle_sample_visit *visit, void *context,
                                    struct lynx_error *error) {
  struct visiting v = {.visit.sample = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_SAMPLE, (struct which){.number = &session}, visit_sample, &v, error);
}

enum lynx_status bundle_each_accuracy(struct bundle *bundle, bundle_accuracy_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.visit.accuracy = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_ACCURACY, (struct which){0}, visit_accuracy, &v, error);
}

enum lynx_status bundle_each_event(struct bundle *bundle, bundle_event_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.visit.event = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_EVENT, (struct which){0}, visit_event, &v, error);
}

enum lynx_status bundle_each_answer(struct bundle *bundle, bundle_answer_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.visit.answer = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_ANSWER, (struct which){0}, visit_answer, &v, error);
}

enum lynx_status bundle_each_input(struct bundle *bundle, bundle_input_visit *visit, void *context, struct lynx_error *error) {
  struct visiting v = {.visit.input = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_INPUT, (struct which){0}, visit_input, &v, error);
}

enum lynx_status bundle_each_thread(struct bundle *bundle, int64_t session, bundle_thread_visit *visit, void *context,
                                    struct lynx_error *error) {
  struct visiting v = {.visit.thread = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_THREAD, (struct which){.number = &session}, visit_thread, &v, error);
}

enum lynx_status bundle_each_activity(struct bundle *bundle, int64_t session, bundle_activity_visit *visit, void *context,
                                      struct lynx_error *error) {
  struct visiting v = {.visit.activity = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_ACTIVITY, (struct which){.number = &session}, visit_activity, &v, error);
}

enum lynx_status bundle_each_stack(struct bundle *bundle, int64_t session, bundle_stack_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.visit.stack = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_STACK, (struct which){.number = &session}, visit_stack, &v, error);
}

enum lynx_status bundle_each_block(struct bundle *bundle, int64_t session, bundle_block_visit *visit, void *context,
                                   struct lynx_error *error) {
  struct visiting v = {.visit.block = visit, .context = context, .bundle = bundle, .error = error};
  return each_row(bundle, SECTION_BLOCK, (struct which){.number = &session}, visit_block, &v, error);
}
