/* Bundles whose seal is right and whose rows are anything: whoever alters rows can seal them again. The input says which cells of a good
 * bundle become what; then everything that is made of a bundle for people is made: figures, claims, the audit, the report. */
#include <stdio.h>
#include <string.h>

#include "attribute/live.h"
#include "base/root.h"
#include "record/bundle_private.h"
#include "report/audit_report.h"
#include "report/bisection_report.h"
#include "report/factorial_report.h"
#include "report/html.h"
#include "report/live_report.h"
#include "report/sensitivity_report.h"
#include "result/claim.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EDITS_MAX = 24, COLUMNS_MAX = 24, OUT_MAX = 64 << 20 };

struct input {
  const uint8_t *at, *end;
};

static unsigned byte_of(struct input *in) {
  return in->at < in->end ? *in->at++ : 0;
}

static int64_t number_of(struct input *in, unsigned n) {
  uint64_t x = 0;
  for (unsigned i = 0; i < n; i++) x = x << 8 | byte_of(in);
  return (int64_t)(n < 8 && (x >> (8 * n - 1) & 1) != 0 ? x | UINT64_MAX << 8 * n : x);
}

/* A value that SQLite's types allow, or a step from what is there. */
static void bind(sqlite3_stmt *set, struct input *in, unsigned kind) {
  static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, 1000000000, (int64_t)1 << 53};
  unsigned n = byte_of(in);
  double value = (double)number_of(in, 4) / (1 + n % 7);
  switch (kind) {
    case 0: (void)sqlite3_bind_null(set, 1); break;
    case 1: (void)sqlite3_bind_int64(set, 1, number_of(in, 1 + n % 8)); break;
    case 2: (void)sqlite3_bind_int64(set, 1, edges[n % LYNX_COUNT(edges)]); break;
    case 3: (void)sqlite3_bind_double(set, 1, n % 16 == 0 ? 1e308 * 10 : value); break;
    default: {
      size_t left = (size_t)(in->end - in->at);
      int length = (int)(n < left ? n : left);
      (void)(kind == 4 ? sqlite3_bind_text(set, 1, (const char *)in->at, length, SQLITE_TRANSIENT)
                       : sqlite3_bind_blob(set, 1, in->at, length, SQLITE_TRANSIENT));
      in->at += length;
    }
  }
}

/* What the types refuse stays as it was. */
static void edit(sqlite3 *db, struct input *in) {
  const struct bundle_section *section = &bundle_sections[byte_of(in) % BUNDLE_SECTIONS];
  char sql[4 * BUNDLE_SQL], order[BUNDLE_SQL];
  sqlite3_stmt *set = NULL;
  const char *column = section->columns[byte_of(in) % (unsigned)section->n_columns].name;
  unsigned row = byte_of(in), kind = byte_of(in) % 8;
  const char *table = section->name, *to = kind == 7 ? "?1 || ' 1'" : "?1";
  (void)bundle_names(section, section->n_key, order);
  if (kind == 6)
    (void)snprintf(sql, sizeof sql, "DELETE FROM %s WHERE (%s) = (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %u)", table, order, order,
                   table, order, row);
  else
    (void)snprintf(sql, sizeof sql, "UPDATE OR IGNORE %s SET %s = %s WHERE (%s) = (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %u)", table,
                   column, to, order, order, table, order, row);
  if (sqlite3_prepare_v2(db, sql, -1, &set, NULL) != SQLITE_OK) return;
  if (kind != 6) bind(set, in, kind);
  (void)sqlite3_step(set);
  (void)sqlite3_finalize(set);
}

static bool put(sqlite3 *db, const char *sql, const char *name, const void *bytes, int length) {
  sqlite3_stmt *set = NULL;
  bool good = sqlite3_prepare_v2(db, sql, -1, &set, NULL) == SQLITE_OK &&
              sqlite3_bind_blob(set, 1, bytes, length, SQLITE_STATIC) == SQLITE_OK &&
              (name == NULL || sqlite3_bind_text(set, 2, name, -1, SQLITE_STATIC) == SQLITE_OK) && sqlite3_step(set) == SQLITE_DONE;
  (void)sqlite3_finalize(set);
  return good;
}

static bool seal(sqlite3 *db) {
  static const uint8_t salt[BUNDLE_SALT_BYTES];
  static struct bundle bundle;
  uint8_t digests[BUNDLE_SECTIONS][DIGEST_BYTES], root[DIGEST_BYTES];
  struct lynx_error error = {0};
  bundle.db = db;
  bool good = true;
  for (int i = 0; i < BUNDLE_SECTIONS && good; i++)
    good = bundle_section_digest(&bundle, &bundle_sections[i], salt, digests[i], &error) == LYNX_OK &&
           put(db, "UPDATE section SET salt = zeroblob(16), digest = ?1 WHERE name = ?2", bundle_sections[i].name, digests[i],
               DIGEST_BYTES);
  bundle_root(digests, "complete", "all sessions ran", root);
  return good && put(db, "UPDATE seal SET root = ?1", NULL, root, DIGEST_BYTES);
}

static bool forge(struct input *in, unsigned char **ret, sqlite3_int64 *ret_length) {
  static const char *const templates[] = {TEMPLATES "/small.lynx", TEMPLATES "/small.lynx", TEMPLATES "/experiment.lynx",
                                          TEMPLATES "/bisect.lynx"};
  static struct buffer all[4];
  size_t which = (size_t)(in->end - in->at) % 4;
  struct buffer *good = &all[which];
  sqlite3 *db = NULL;
  struct lynx_error error = {0};
  if (good->length == 0) {
    buffer_init(good, 1 << 22);
    HOLDS(root_read(&(struct root){""}, templates[which], good, &error) == LYNX_OK);
  }
  unsigned char *copy = sqlite3_malloc64(good->length);
  if (copy == NULL) return false;
  memcpy(copy, good->data, good->length);
  bool done = sqlite3_open(":memory:", &db) == SQLITE_OK &&
              sqlite3_deserialize(db, "main", copy, (sqlite3_int64)good->length, (sqlite3_int64)good->length,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK;
  /* Some inputs make the session that has blocks a perturbed one. */
  if (done && in->at < in->end && *in->at % 4 == 3)
    done = sqlite3_exec(db, "UPDATE session SET purpose = 'perturb' WHERE id = 2", NULL, NULL, NULL) == SQLITE_OK;
  for (int i = 0; done && i < EDITS_MAX && in->at < in->end; i++) edit(db, in);
  done = done && seal(db);
  *ret = done ? sqlite3_serialize(db, "main", ret_length, 0) : NULL;
  (void)sqlite3_close(db);
  return *ret != NULL;
}

/* What the threads did, wherever it can be told. */
static void make_live(struct bundle *bundle, struct result *result) {
  struct live live;
  struct buffer text, json, page;
  if (!live_read(bundle, result, &live)) return;
  buffer_init(&text, OUT_MAX);
  buffer_init(&json, OUT_MAX);
  buffer_init(&page, OUT_MAX);
  (void)live_text(&live, "b.lynx", false, &text);
  if (live_json(&live, &json)) {
    json_t *parsed = json_parse(json.data, json.length, OUT_MAX, NULL);
    HOLDS(parsed != NULL);
    json_decref(parsed);
  }
  if (live_html(&live, "b.lynx", &page)) HOLDS(strstr(page.data, "<script") == NULL);
  buffer_release(&text);
  buffer_release(&json);
  buffer_release(&page);
  live_release(&live);
}

/* What its blocks say. */
static void make_sensitivities(struct bundle *bundle, const struct result *result) {
  static struct sensitivities all;
  struct buffer text, out;
  struct json_writer json;
  if (sensitivities_read(bundle, &result->contract, result->contract.method.confidence, &all, NULL) != LYNX_OK) return;
  buffer_init(&text, OUT_MAX);
  buffer_init(&out, OUT_MAX);
  (void)sensitivity_text(&all, &result->contract, NULL, 0, false, &text);
  json_begin(&json, &out);
  json_open_object(&json);
  sensitivity_json(&all, &result->contract, NULL, 0, &json);
  json_close(&json);
  if (json_finish(&json)) {
    json_t *parsed = json_parse(out.data, out.length, OUT_MAX, NULL);
    HOLDS(parsed != NULL);
    json_decref(parsed);
  }
  for (size_t i = 0; i < all.n; i++) HOLDS(strchr(all.items[i].target, 27) == NULL);
  buffer_release(&text);
  buffer_release(&out);
}

/* What its mixtures say, where settings were swapped in it. */
static void make_mixtures(struct bundle *bundle, const struct result *result) {
  static struct bisected bisected;
  static struct factored factored;
  struct buffer out;
  struct json_writer json;
  const struct contract *c = &result->contract;
  buffer_init(&out, OUT_MAX);
  json_begin(&json, &out);
  json_open_object(&json);
  if (bisected_read(bundle, c, &bisected, NULL) == LYNX_OK) bisection_json(&bisected, c, &json);
  if (factored_read(bundle, c, &factored, NULL) == LYNX_OK) factorial_json(&factored, c, &json);
  json_close(&json);
  if (json_finish(&json)) {
    json_t *parsed = json_parse(out.data, out.length, OUT_MAX, NULL);
    HOLDS(parsed != NULL);
    json_decref(parsed);
  }
  out.length = 0;
  if (bisected_is(bundle) && bisected.swaps.n > 0) (void)bisection_text(&bisected, c, false, &out);
  if (factored_is(bundle) && factored.design.n_runs > 0) {
    (void)factorial_text(&factored, c, false, &out);
    (void)factorial_html(&factored, c, &out);
  }
  if (out.data != NULL) HOLDS(strchr(out.data, 27) == NULL && strstr(out.data, "<script") == NULL);
  bisected_release(&bisected);
  factored_release(&factored);
  buffer_release(&out);
}

static void make_all(struct bundle *bundle, struct result *result) {
  make_sensitivities(bundle, result);
  make_mixtures(bundle, result);
  struct buffer json, page;
  struct claim claim;
  struct lynx_error error = {0};
  buffer_init(&json, OUT_MAX);
  buffer_init(&page, OUT_MAX);
  if (result_write(result, &json)) {
    json_t *parsed = json_parse(json.data, json.length, OUT_MAX, &error);
    HOLDS(parsed != NULL);
    json_decref(parsed);
  }
  for (size_t i = 0; i < result->n_precisions; i++) claim_build(result, i, &claim);
  if (html_report(bundle, result, &(struct html_report_options){.level = DISCLOSE_FULL}, &page, &error) == LYNX_OK)
    HOLDS(strstr(page.data, "<script") == NULL);
  make_live(bundle, result);
  buffer_release(&json);
  buffer_release(&page);
}

/* good: nothing was altered, and then it is read whole; what reads nothing finds nothing. */
static void look(const char *path, bool good) {
  struct bundle *bundle;
  struct bundle_seal_info info;
  struct result result;
  struct audit audit;
  struct buffer text;
  struct lynx_error error = {0};
  if (bundle_open(path, &bundle, &info, &error) == LYNX_OK) {
    if (result_compute(bundle, &info, &result, &error) == LYNX_OK) {
      good = false;
      make_all(bundle, &result);
      result_release(&result);
    } else HOLDS(error.message[0] != 0);
    bundle_close(bundle);
  } else HOLDS(error.message[0] != 0);
  HOLDS(!good);
  audit_bundle(&(struct audit_bundle_request){.path = path}, &audit);
  HOLDS(audit.n_checks > 0 && audit.n_checks == audit.n_passed + audit.n_failed + audit.n_not_established);
  buffer_init(&text, OUT_MAX);
  (void)text_audit(&audit, false, &text);
  (void)json_audit(&audit, &text);
  (void)html_audit(&audit, "now", &text);
  buffer_release(&text);
  audit_release(&audit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, data + size};
  unsigned char *forged;
  sqlite3_int64 length = 0;
  if (!forge(&in, &forged, &length)) return 0;
  const char *path = fuzz_file(forged, (size_t)length);
  if (path != NULL) look(path, size == 0);
  sqlite3_free(forged);
  return 0;
}
