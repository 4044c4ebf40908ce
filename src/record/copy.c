#include "record/bundle_private.h"

#include <stdio.h>
#include <string.h>

static enum lynx_status copy_rows(struct bundle *from, struct bundle *to, sqlite3_stmt *rows, sqlite3_stmt *insert,
                                  struct lynx_error *error) {
  int step, n = sqlite3_column_count(rows);
  while ((step = sqlite3_step(rows)) == SQLITE_ROW) {
    for (int i = 0; i < n; i++)
      if (sqlite3_bind_value(insert, i + 1, sqlite3_column_value(rows, i)) != SQLITE_OK) return bundle_sql_fail(to, error, "copying");
    if (sqlite3_step(insert) != SQLITE_DONE) return bundle_sql_fail(to, error, "copying");
    (void)sqlite3_reset(insert); /* that it went well was said by the step */
  }
  return step == SQLITE_DONE ? LYNX_OK : bundle_sql_fail(from, error, "reading");
}

/* A row that is there already is a failure here, whatever the section does about it while it is written. */
static enum lynx_status copy_section(struct bundle *from, struct bundle *to, const struct bundle_section *section, const char *which,
                                     struct lynx_error *error) {
  char sql[BUNDLE_SQL];
  sqlite3_stmt *rows = NULL, *into = NULL;
  enum lynx_status status = LYNX_OK;
  if (sqlite3_prepare_v2(from->db, bundle_select(section, from->format, which, sql), -1, &rows, NULL) != SQLITE_OK)
    status = bundle_sql_fail(from, error, "reading");
  if (status == LYNX_OK && sqlite3_prepare_v2(to->db, bundle_insert(section, "", "", sql), -1, &into, NULL) != SQLITE_OK)
    status = bundle_sql_fail(to, error, "copying");
  if (status == LYNX_OK) status = copy_rows(from, to, rows, into, error);
  (void)sqlite3_finalize(rows); /* what went wrong was said by the steps */
  (void)sqlite3_finalize(into);
  return status;
}

static enum lynx_status begin_copy(struct bundle *to, struct lynx_error *error) {
  enum lynx_status status = bundle_commit(to, error);
  if (status == LYNX_OK) status = bundle_exec(to, "BEGIN", error);
  if (status == LYNX_OK) to->in_transaction = true;
  return status;
}

enum lynx_status bundle_copy(struct bundle *from, struct bundle *to, const char *but, struct lynx_error *error) {
  enum lynx_status status = begin_copy(to, error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++)
    if (strcmp(bundle_sections[i].name, but) != 0) status = copy_section(from, to, &bundle_sections[i], "", error);
  return status == LYNX_OK ? bundle_commit(to, error) : status;
}

enum lynx_status bundle_copy_sessions(struct bundle *from, struct bundle *to, int64_t last, struct lynx_error *error) {
  enum lynx_status status = begin_copy(to, error);
  for (int i = 0; i < BUNDLE_SECTIONS && status == LYNX_OK; i++) {
    const struct bundle_section *section = &bundle_sections[i];
    bool itself = i == SECTION_SESSION;
    char which[64];
    if (!itself && strcmp(section->columns[0].name, "session") != 0) continue; /* of the whole run */
    (void)snprintf(which, sizeof which, " WHERE %s <= %lld", itself ? "id" : "session", (long long)last);
    status = copy_section(from, to, section, which, error);
  }
  return status == LYNX_OK ? bundle_commit(to, error) : status;
}
