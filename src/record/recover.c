#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/sidecar.h"
#include "record/bundle_private.h"

/* "SQLite format 3", and at 68 the application's number. */
bool bundle_head(const char *head, size_t length) {
  static const char application[4] = {(char)(BUNDLE_APPLICATION_ID >> 24), (char)(BUNDLE_APPLICATION_ID >> 16 & 0xff),
                                      (char)(BUNDLE_APPLICATION_ID >> 8 & 0xff), (char)(BUNDLE_APPLICATION_ID & 0xff)};
  return length >= BUNDLE_HEAD && memcmp(head, "SQLite format 3", 16) == 0 && memcmp(head + 68, application, sizeof application) == 0;
}

bool bundle_is(const char *path) {
  char head[BUNDLE_HEAD];
  return file_head(path, head, sizeof head) == sizeof head && bundle_head(head, sizeof head);
}

/* One row with one number, or one that failed. */
static int first_number(sqlite3 *db, const char *sql) {
  sqlite3_stmt *row = NULL;
  int number = sqlite3_prepare_v2(db, sql, -1, &row, NULL) == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int(row, 0)
                                                                                                           : -1;
  (void)sqlite3_finalize(row);
  return number;
}

enum lynx_status bundle_recover(const char *path, struct lynx_error *error) {
  struct bundle bundle = {.db = NULL};
  (void)snprintf(bundle.path, sizeof bundle.path, "%s", path);
  lynx_error_at(error, path, 0, NULL);
  if (access(path, F_OK) != 0) return lynx_fail(error, LYNX_NOT_FOUND, "there is no such file");
  if (!bundle_is(path)) return lynx_fail(error, LYNX_INPUT, "not a lynxbench bundle");
  enum lynx_status status = sidecar_check_own(path, error);
  if (status != LYNX_OK) return status;
  bundle_prepare_sqlite();
  if (sqlite3_open_v2(path, &bundle.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, NULL) != SQLITE_OK)
    status = bundle_sql_fail(&bundle, error, "cannot be opened");
  if (status == LYNX_OK) {
    bundle_defend(bundle.db);
    bool busy = first_number(bundle.db, "PRAGMA wal_checkpoint(TRUNCATE)") != 0 ||
                sqlite3_exec(bundle.db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK;
    if (busy && (sqlite3_errcode(bundle.db) & 0xff) != SQLITE_BUSY && sqlite3_errcode(bundle.db) != SQLITE_OK)
      status = bundle_sql_fail(&bundle, error, "cannot be recovered");
    else if (busy) {
      lynx_error_at(error, path, 0, NULL);
      status = lynx_fail(error, LYNX_INPUT, "a run is writing it; wait until it ends");
    }
  }
  (void)sqlite3_close(bundle.db);
  return status;
}
