/* The bundle's tables, and the bytes that are hashed. docs/bundle.md says the same in words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "record/bundle_private.h"

#define REQUEST_COLUMNS                                                                                                                    \
  "session, id, phase, outcome, reason, http_status, input, scheduled_ns, issued_ns, written_ns, first_byte_ns, first_token_ns, "          \
  "last_token_ns, end_ns, prompt_tokens, "                                                                                                 \
  "output_tokens, n_text_events, read_lag_ns, flags, events"
#define SESSION_COLUMNS                                                                                                                    \
  "id, precision, number, seed, executor_started, status, start_realtime_ns, warm_up_ns, counted_ns, drain_ns, schedule_digest, "          \
  "executed, instrument, purpose, rate_per_s, concurrency, began"
#define ACTIVITY_COLUMNS                                                                                                                   \
  "session, process, thread, at_ns, span_ns, running_ns, system_ns, ready_ns, timer, lock, network, disk, other, unknown, processor"

const struct bundle_section bundle_sections[BUNDLE_SECTIONS] = {
    {"meta", "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID", "key, value", "key",
     "INSERT OR REPLACE INTO meta VALUES (?1, ?2)"},
    {"input", "CREATE TABLE input (id INTEGER PRIMARY KEY, text BLOB NOT NULL) STRICT", "id, text", "id",
     "INSERT INTO input VALUES (?1, ?2)"},
    {"fact",
     "CREATE TABLE fact (moment TEXT NOT NULL, layer TEXT NOT NULL, key TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, value "
     "TEXT NOT NULL, unit TEXT NOT NULL, source TEXT "
     "NOT NULL, at_ns INTEGER NOT NULL, PRIMARY KEY (moment, layer, key)) STRICT, WITHOUT ROWID",
     "moment, layer, key, kind, status, value, unit, source, at_ns", "moment, layer, key",
     "INSERT OR REPLACE INTO fact VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
    {"session",
     "CREATE TABLE session (id INTEGER PRIMARY KEY, precision TEXT NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL, "
     "executor_started TEXT NOT NULL, status TEXT NOT NULL, "
     "start_realtime_ns INTEGER NOT NULL, warm_up_ns INTEGER NOT NULL, counted_ns INTEGER NOT NULL, drain_ns INTEGER NOT NULL, "
     "schedule_digest TEXT NOT NULL, executed TEXT NOT NULL, "
     "instrument TEXT NOT NULL, purpose TEXT NOT NULL, rate_per_s REAL NOT NULL, concurrency INTEGER NOT NULL, began TEXT NOT NULL) STRICT",
     SESSION_COLUMNS, "id",
     "INSERT OR REPLACE INTO session VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"},
    {"request",
     "CREATE TABLE request (session INTEGER NOT NULL, id INTEGER NOT NULL, phase TEXT NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT "
     "NULL, http_status INTEGER NOT NULL, input INTEGER NOT "
     "NULL, scheduled_ns INTEGER NOT NULL, issued_ns INTEGER NOT NULL, written_ns INTEGER, first_byte_ns INTEGER, first_token_ns INTEGER, "
     "last_token_ns INTEGER, end_ns INTEGER, prompt_tokens INTEGER, output_tokens "
     "INTEGER, n_text_events INTEGER NOT NULL, read_lag_ns INTEGER, flags INTEGER NOT NULL, events BLOB NOT NULL, PRIMARY KEY (session, "
     "id)) STRICT, WITHOUT ROWID",
     REQUEST_COLUMNS, "session, id",
     "INSERT INTO request VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)"},
    {"phase",
     "CREATE TABLE phase (session INTEGER NOT NULL, request INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, from_ns INTEGER, "
     "took_ns INTEGER NOT NULL, PRIMARY KEY (session, request, place)) STRICT, WITHOUT ROWID",
     "session, request, place, name, from_ns, took_ns", "session, request, place", "INSERT INTO phase VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    {"sample",
     "CREATE TABLE sample (session INTEGER NOT NULL, series TEXT NOT NULL, at_ns INTEGER NOT NULL, value REAL NOT NULL, PRIMARY KEY "
     "(session, series, at_ns)) STRICT, WITHOUT ROWID",
     "session, series, at_ns, value", "session, series, at_ns", "INSERT OR REPLACE INTO sample VALUES (?1, ?2, ?3, ?4)"},
    {"accuracy",
     "CREATE TABLE accuracy (session INTEGER NOT NULL, measure TEXT NOT NULL, window INTEGER NOT NULL, value REAL NOT NULL, weight INTEGER "
     "NOT NULL, PRIMARY KEY (session, measure, window)) "
     "STRICT, WITHOUT ROWID",
     "session, measure, window, value, weight", "session, measure, window", "INSERT OR REPLACE INTO accuracy VALUES (?1, ?2, ?3, ?4, ?5)"},
    {"answer",
     "CREATE TABLE answer (session INTEGER NOT NULL, input INTEGER NOT NULL, text BLOB NOT NULL, PRIMARY KEY (session, input)) STRICT, "
     "WITHOUT ROWID",
     "session, input, text", "session, input", "INSERT OR IGNORE INTO answer VALUES (?1, ?2, ?3)"},
    {"event", "CREATE TABLE event (id INTEGER PRIMARY KEY, realtime_ns INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL) STRICT",
     "id, realtime_ns, kind, text", "id", "INSERT INTO event (realtime_ns, kind, text) VALUES (?1, ?2, ?3)"},
    {"thread",
     "CREATE TABLE thread (session INTEGER NOT NULL, process INTEGER NOT NULL, thread INTEGER NOT NULL, program TEXT NOT NULL, name TEXT "
     "NOT NULL, processors INTEGER NOT NULL, PRIMARY KEY (session, process, thread)) STRICT, WITHOUT ROWID",
     "session, process, thread, program, name, processors", "session, process, thread",
     "INSERT OR REPLACE INTO thread VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
    {"activity",
     "CREATE TABLE activity (session INTEGER NOT NULL, process INTEGER NOT NULL, thread INTEGER NOT NULL, at_ns INTEGER NOT NULL, span_ns "
     "INTEGER NOT NULL, running_ns INTEGER NOT NULL, system_ns INTEGER NOT NULL, ready_ns INTEGER NOT NULL, timer INTEGER NOT NULL, lock "
     "INTEGER NOT NULL, network INTEGER NOT NULL, disk INTEGER NOT NULL, other INTEGER NOT NULL, unknown INTEGER NOT NULL, processor "
     "INTEGER "
     "NOT NULL, PRIMARY KEY (session, process, thread, at_ns)) STRICT, WITHOUT ROWID",
     ACTIVITY_COLUMNS, "session, process, thread, at_ns",
     "INSERT OR REPLACE INTO activity VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"},
    {"stack",
     "CREATE TABLE stack (session INTEGER NOT NULL, source TEXT NOT NULL, process INTEGER NOT NULL, thread INTEGER NOT NULL, frames TEXT "
     "NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (session, source, process, thread, frames)) STRICT, WITHOUT ROWID",
     "session, source, process, thread, frames, n", "session, source, process, thread, frames",
     "INSERT INTO stack VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET n = n + excluded.n"},
    {"block",
     "CREATE TABLE block (session INTEGER NOT NULL, number INTEGER NOT NULL, cycle INTEGER NOT NULL, target TEXT NOT NULL, asked REAL NOT "
     "NULL, given REAL NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL, running_ns INTEGER NOT NULL, ready_ns INTEGER NOT NULL, "
     "PRIMARY KEY (session, number)) STRICT, WITHOUT ROWID",
     "session, number, cycle, target, asked, given, from_ns, to_ns, running_ns, ready_ns", "session, number",
     "INSERT INTO block VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
};

const char bundle_section_schema[] = "CREATE TABLE section (name TEXT PRIMARY KEY, salt BLOB NOT NULL, digest BLOB NOT NULL, withheld "
                                     "INTEGER NOT NULL) STRICT, WITHOUT ROWID";
const char bundle_seal_schema[] =
    "CREATE TABLE seal (format INTEGER NOT NULL, ended TEXT NOT NULL, why TEXT NOT NULL, root BLOB NOT NULL) STRICT";

const char *bundle_end_text(enum bundle_end end) {
  static const char *const names[] = {
      [BUNDLE_COMPLETE] = "complete", [BUNDLE_INTERRUPTED] = "interrupted", [BUNDLE_FAILED] = "failed", [BUNDLE_UNSEALED] = "unsealed"};
  return names[end];
}

void bundle_prepare_sqlite(void) {
  (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* refused once SQLite is in use, which costs a little time */
}

void bundle_defend(sqlite3 *db) {
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
}

enum lynx_status bundle_sql_fail(struct bundle *bundle, struct lynx_error *error, const char *doing) {
  int code = sqlite3_extended_errcode(bundle->db);
  int primary = code & 0xff;
  bool content = primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_ERROR || primary == SQLITE_MISMATCH ||
                 primary == SQLITE_TOOBIG || primary == SQLITE_CONSTRAINT;
  lynx_error_at(error, bundle->path, 0, NULL);
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && sqlite3_system_errno(bundle->db) == ENOSPC))
    return lynx_fail(error, LYNX_IO, "%s: the disk is full; free some space. What was recorded before is intact", doing);
  if (primary == SQLITE_NOTADB)
    return lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle; `lynxbench run CONTRACT --out NAME.lynx` makes one");
  if (code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE)
    return lynx_fail(error, LYNX_EXISTS, "%s: there is such a row already", doing);
  return lynx_fail(error, content ? LYNX_INPUT : LYNX_IO, "%s: %s", doing, sqlite3_errmsg(bundle->db));
}

enum lynx_status bundle_exec(struct bundle *bundle, const char *sql, struct lynx_error *error) {
  return sqlite3_exec(bundle->db, sql, NULL, NULL, NULL) == SQLITE_OK ? LYNX_OK : bundle_sql_fail(bundle, error, "bundle");
}

static void hash_u64(struct digest *digest, uint64_t value) {
  uint8_t bytes[8];
  for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)(value >> (56 - 8 * k));
  digest_update(digest, bytes, sizeof bytes);
}

/* One column: a type letter, then for i and r eight big-endian bytes, for t and b the length in eight and the bytes. */
static void hash_column(struct digest *digest, sqlite3_stmt *row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
      digest_update(digest, "i", 1);
      hash_u64(digest, (uint64_t)sqlite3_column_int64(row, column));
      break;
    case SQLITE_FLOAT: {
      double value = sqlite3_column_double(row, column);
      uint64_t bits;
      memcpy(&bits, &value, sizeof bits);
      digest_update(digest, "r", 1);
      hash_u64(digest, bits);
      break;
    }
    case SQLITE_NULL: digest_update(digest, "n", 1); break;
    default: {
      bool text = sqlite3_column_type(row, column) == SQLITE_TEXT;
      const void *data = text ? (const void *)sqlite3_column_text(row, column) : sqlite3_column_blob(row, column);
      size_t n = (size_t)sqlite3_column_bytes(row, column);
      digest_update(digest, text ? "t" : "b", 1);
      hash_u64(digest, n);
      if (n > 0) digest_update(digest, data, n);
    }
  }
}

enum lynx_status bundle_section_digest(struct bundle *bundle, const struct bundle_section *section, const uint8_t salt[BUNDLE_SALT_BYTES],
                                       uint8_t ret[DIGEST_BYTES], struct lynx_error *error) {
  char sql[1024];
  (void)snprintf(sql, sizeof sql, "SELECT %s FROM %s ORDER BY %s", section->columns, section->name, section->order);
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, sql, -1, &row, NULL) != SQLITE_OK) return bundle_sql_fail(bundle, error, section->name);
  struct digest digest = {{0}};
  digest_init(&digest);
  digest_update(&digest, salt, BUNDLE_SALT_BYTES);
  int step;
  while ((step = sqlite3_step(row)) == SQLITE_ROW) {
    int n = sqlite3_column_count(row);
    digest_update(&digest, "R", 1);
    for (int i = 0; i < n; i++) hash_column(&digest, row, i);
  }
  digest_final(&digest, ret);
  enum lynx_status status = step == SQLITE_DONE ? LYNX_OK : bundle_sql_fail(bundle, error, section->name);
  (void)sqlite3_finalize(row); /* repeats the step's error, which is reported already */
  return status;
}

void bundle_root(const uint8_t digests[BUNDLE_SECTIONS][DIGEST_BYTES], const char *end, const char *why, uint8_t ret[DIGEST_BYTES]) {
  struct digest digest = {{0}};
  char hex[DIGEST_HEX];
  digest_init(&digest);
  digest_update(&digest, "lynx-bundle-1\n", 14);
  for (int i = 0; i < BUNDLE_SECTIONS; i++) {
    digest_hex(digests[i], hex);
    digest_update(&digest, bundle_sections[i].name, strlen(bundle_sections[i].name));
    digest_update(&digest, " ", 1);
    digest_update(&digest, hex, DIGEST_HEX - 1);
    digest_update(&digest, "\n", 1);
  }
  digest_update(&digest, end, strlen(end));
  digest_update(&digest, "\n", 1);
  digest_update(&digest, why, strlen(why));
  digest_update(&digest, "\n", 1);
  digest_final(&digest, ret);
}
