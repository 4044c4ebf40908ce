/* The SQL of the bundle's tables, and the bytes that are hashed. docs/bundle.md says the same in words. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/known_file.h"
#include "record/bundle_private.h"

const char bundle_section_schema[] = "CREATE TABLE section (name TEXT PRIMARY KEY, salt BLOB NOT NULL, digest BLOB NOT NULL, withheld "
                                     "INTEGER NOT NULL) STRICT, WITHOUT ROWID";
const char bundle_seal_schema[] =
    "CREATE TABLE seal (format INTEGER NOT NULL, ended TEXT NOT NULL, why TEXT NOT NULL, root BLOB NOT NULL) STRICT";

/* Adds to the text in `ret`, which has room for what any section needs. */
__attribute__((format(printf, 2, 3))) static void add(char ret[BUNDLE_SQL], const char *format, ...) {
  size_t used = strlen(ret);
  va_list values;
  va_start(values, format);
  int n = vsnprintf(ret + used, BUNDLE_SQL - used, format, values);
  va_end(values);
  lynx_assert(n >= 0 && (size_t)n < BUNDLE_SQL - used);
}

static void add_names(char ret[BUNDLE_SQL], const struct bundle_section *section, int n) {
  for (int i = 0; i < n; i++) add(ret, "%s%s", i > 0 ? ", " : "", section->columns[i].name);
}

const char *bundle_names(const struct bundle_section *section, int n, char ret[BUNDLE_SQL]) {
  ret[0] = 0;
  add_names(ret, section, n);
  return ret;
}

const char *bundle_schema(const struct bundle_section *section, int format, char ret[BUNDLE_SQL]) {
  static const char *const types[] = {[COLUMN_NUMBER] = "INTEGER", [COLUMN_KNOWN] = "INTEGER", [COLUMN_REAL] = "REAL",
                                      [COLUMN_TEXT] = "TEXT",      [COLUMN_WORD] = "TEXT",     [COLUMN_BYTES] = "BLOB"};
  bool single = section->n_key == 1, numbered = single && section->columns[0].kind != COLUMN_TEXT;
  ret[0] = 0;
  add(ret, "CREATE TABLE %s (", section->name);
  for (int i = 0; i < bundle_n_columns(section, format); i++) {
    const struct bundle_column *column = &section->columns[i];
    const char *rule = single && i == 0 ? " PRIMARY KEY" : column->kind == COLUMN_KNOWN ? "" : " NOT NULL";
    add(ret, "%s%s %s%s", i > 0 ? ", " : "", column->name, types[column->kind], rule);
  }
  if (!single) {
    add(ret, ", PRIMARY KEY (");
    add_names(ret, section, section->n_key);
    add(ret, ")");
  }
  add(ret, ") STRICT%s", numbered ? "" : ", WITHOUT ROWID");
  return ret;
}

const char *bundle_select(const struct bundle_section *section, int format, const char *where, char ret[BUNDLE_SQL]) {
  ret[0] = 0;
  add(ret, "SELECT ");
  add_names(ret, section, bundle_n_columns(section, format));
  add(ret, " FROM %s%s ORDER BY ", section->name, where);
  add_names(ret, section, section->n_key);
  return ret;
}

const char *bundle_insert(const struct bundle_section *section, const char *conflict, const char *otherwise, char ret[BUNDLE_SQL]) {
  ret[0] = 0;
  add(ret, "INSERT %sINTO %s VALUES (", conflict, section->name);
  for (int i = 0; i < section->n_columns; i++) add(ret, "%s?%d", i > 0 ? ", " : "", i + 1);
  add(ret, ")%s", otherwise);
  return ret;
}

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
  const char *other = primary == SQLITE_NOTADB ? known_file_at(bundle->path, "show") : NULL;
  if (other != NULL) return lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle: it is %s", other);
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
  char sql[BUNDLE_SQL];
  sqlite3_stmt *row;
  if (sqlite3_prepare_v2(bundle->db, bundle_select(section, bundle->format, "", sql), -1, &row, NULL) != SQLITE_OK)
    return bundle_sql_fail(bundle, error, section->name);
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
