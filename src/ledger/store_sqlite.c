/* A ledger in one SQLite file. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/sidecar.h"
#include "ledger/store.h"

enum {
  APPLICATION_ID = 0x4c594e4c /* "LYNL" */,
  WAIT_MS = 60000,
  READER_WAIT_MS = 10000,
  LOG_ALONE_MS = 1000,
  LOG_LOOK_MS = 20,
  CLOSE_LOOKS = 5,
  CUT_WAIT_MS = 200
};
enum { LOG_PAGES = 1000, LOG_PAGES_MOST = 8192 }; /* of 4 KiB */

/* Values of some kilobytes lie better in tables with rows of their own; hashes and mentions in the key's tree. */
#define TABLE(name, rest) "CREATE TABLE " name "(key BLOB PRIMARY KEY NOT NULL,value BLOB NOT NULL)" rest
#define GUARD(name)                                                                                                                        \
  "CREATE TRIGGER " name "_kept BEFORE UPDATE ON " name " BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END",                      \
      "CREATE TRIGGER " name "_stays BEFORE DELETE ON " name " BEGIN SELECT RAISE(ABORT,'a ledger is only added to');END"

static const char *const schema[] = {TABLE("entry", ""),
                                     TABLE("hash", " WITHOUT ROWID"),
                                     TABLE("mention", " WITHOUT ROWID"),
                                     TABLE("checkpoint", ""),
                                     TABLE("blob", ""),
                                     GUARD("entry"),
                                     GUARD("hash"),
                                     GUARD("mention"),
                                     GUARD("checkpoint"),
                                     GUARD("blob"),
                                     TABLE("run", ""),
                                     GUARD("run")};
static const char *const names[STORE_SPACES] = {"entry", "hash", "mention", "checkpoint", "blob", "run"};

extern const struct store_table store_sqlite;

/* How a file is opened. */
enum way {
  WAY_SHARED,    /* with the log and its index, as SQLite's writers do; a reader changes neither */
  WAY_ALONE,     /* by a reader that found no log: as a file that nobody changes */
  WAY_OWN_INDEX, /* by a reader that found a log that nobody writes: with an index of it in memory */
};

struct sqlite_store {
  struct store store;
  sqlite3 *db;
  sqlite3_stmt *insert[STORE_SPACES], *find[STORE_SPACES];
  bool in_transaction;
  enum store_access access;
  char path[PATH_MAX]; /* without links: what lies beside it is looked for where SQLite does */
  enum way way;
  bool unreadable; /* of a reader: nobody writes, and SQLite does not get through what a killed writer left */
  struct stat seen, seen_log;
  int folder_fd; /* of the file's folder; -1: none. Who reads the file alone holds a shared lock of it: see checkpoint */
};

static enum lynx_status sql_fail(struct sqlite_store *s, struct lynx_error *error, const char *doing) {
  int code = sqlite3_errcode(s->db) & 0xff;
  lynx_error_at(error, s->path, 0, NULL);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    return lynx_fail(error, LYNX_INPUT, "%s: %s: no ledger, or a damaged one", doing, sqlite3_errmsg(s->db));
  bool disk = code == SQLITE_FULL || code == SQLITE_IOERR;
  return lynx_fail(error,
                   code == SQLITE_CONSTRAINT ? LYNX_INPUT
                   : disk                    ? LYNX_MACHINE
                                             : LYNX_IO,
                   "%s: %s%s", doing, sqlite3_errmsg(s->db),
                   code == SQLITE_BUSY   ? ": others held it all the while"
                   : code == SQLITE_FULL ? ": make room and do it again"
                                         : "");
}

/* --- what SQLite may do to files --- */

/* As root it gives a log to the ledger's owner, whatever lies under that name: only what was just made is given away, and read-only nothing
 * is made. */
static int give(int fd, uid_t user, gid_t group) {
  struct stat info;
  int mode = fcntl(fd, F_GETFL);
  bool writes = mode >= 0 && (mode & O_ACCMODE) != O_RDONLY;
  bool fresh = writes && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 && info.st_nlink == 1;
  return fresh ? fchown(fd, user, group) : 0;
}

static int open_to_read(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags) {
  const sqlite3_vfs *plain = sqlite3_vfs_find("unix");
  flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  return plain->xOpen(vfs, name, file, flags | SQLITE_OPEN_READONLY, ret_flags);
}

/* SQLite takes away the log of an empty file: a reader leaves it. */
static int delete_nothing(sqlite3_vfs *vfs, const char *name, int sync) {
  (void)vfs, (void)name, (void)sync;
  return SQLITE_OK;
}

static sqlite3_vfs reading, reading_unlocked;

static void make_reading(const char *of, const char *name, sqlite3_vfs *ret) {
  const sqlite3_vfs *plain = sqlite3_vfs_find(of);
  lynx_assert(plain != NULL);
  *ret = *plain;
  ret->zName = name;
  ret->xOpen = open_to_read;
  ret->xDelete = delete_nothing;
  (void)sqlite3_vfs_register(ret, 0); /* fails only where SQLite could not be set up: opening says so */
}

static void set_rules(void) {
  sqlite3_vfs *plain = sqlite3_vfs_find("unix");
  lynx_assert(plain != NULL);
  (void)plain->xSetSystemCall(plain, "fchown", (sqlite3_syscall_ptr)give); /* it has that call on every Unix */
  make_reading("unix", "lynxbench-reading", &reading);
  make_reading("unix-none", "lynxbench-reading-unlocked", &reading_unlocked);
}

/* The VFS for that; NULL: SQLite's own. */
static const char *vfs_for(enum store_access access, enum way way) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)pthread_once(&once, set_rules);
  if (access != STORE_READ) return NULL;
  return way == WAY_OWN_INDEX ? reading_unlocked.zName : reading.zName;
}

static enum lynx_status execute(struct sqlite_store *s, const char *sql, struct lynx_error *error) {
  return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? LYNX_OK : sql_fail(s, error, "the ledger");
}

/* --- the log of what was added --- */

/* Only a checkpoint writes into the file itself: what the log holds. It waits for another time where somebody reads the file alone, which
 * the lock of the folder says: SQLite's own locks need files beside it, and a reader makes none. (A lock of the file would not do: closing a
 * second descriptor of it gives up SQLite's.) */
static bool checkpoint_allowed(const struct sqlite_store *s) {
  return s->access != STORE_READ && s->folder_fd >= 0 && flock(s->folder_fd, LOCK_EX | LOCK_NB) == 0;
}

static int take_log_in(void *context, sqlite3 *db, const char *name, int n_pages) {
  const struct sqlite_store *s = context;
  if (n_pages < LOG_PAGES || !checkpoint_allowed(s)) return SQLITE_OK;
  /* A long log is cut off too, or it keeps the length of the largest upload; who looks meanwhile is not waited for long. */
  (void)sqlite3_busy_timeout(db, CUT_WAIT_MS);
  (void)sqlite3_wal_checkpoint_v2(db, name, n_pages < LOG_PAGES_MOST ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                  NULL); /* what is not taken in now is the next time */
  (void)sqlite3_busy_timeout(db, WAIT_MS);
  (void)flock(s->folder_fd, LOCK_UN);
  return SQLITE_OK;
}

static void close_file(struct sqlite_store *s) {
  for (int i = 0; i < STORE_SPACES; i++) {
    (void)sqlite3_finalize(s->insert[i]); /* errors were reported by the step */
    (void)sqlite3_finalize(s->find[i]);
    s->insert[i] = s->find[i] = NULL;
  }
  bool allowed = checkpoint_allowed(s);
  /* Looks are short: a ledger that is one file again can be copied. */
  for (int k = 0; k < CLOSE_LOOKS && !allowed && s->access != STORE_READ; k++) {
    const struct timespec look = {.tv_nsec = LOG_LOOK_MS * 1000000L};
    (void)nanosleep(&look, NULL);
    allowed = checkpoint_allowed(s);
  }
  if (s->db != NULL && !allowed) (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
  (void)sqlite3_close(s->db);
  if (s->folder_fd >= 0) (void)close(s->folder_fd); /* and its lock */
  s->db = NULL;
  s->folder_fd = -1;
}

static void sqlite_close(struct store *store) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  if (s == NULL) return;
  close_file(s);
  free(s);
}

static enum lynx_status make_tables(struct sqlite_store *s, struct lynx_error *error) {
  char sql[128];
  (void)snprintf(sql, sizeof sql, "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID, STORE_FORMAT);
  enum lynx_status status = execute(s, "PRAGMA journal_mode=WAL; BEGIN IMMEDIATE", error);
  if (status == LYNX_OK) status = execute(s, sql, error);
  for (size_t i = 0; i < LYNX_COUNT(schema) && status == LYNX_OK; i++) status = execute(s, schema[i], error);
  return status == LYNX_OK ? execute(s, "COMMIT", error) : status;
}

static int64_t pragma(struct sqlite_store *s, const char *sql) {
  sqlite3_stmt *statement = NULL;
  int64_t value = -1;
  if (sqlite3_prepare_v2(s->db, sql, -1, &statement, NULL) == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW)
    value = sqlite3_column_int64(statement, 0);
  (void)sqlite3_finalize(statement); /* repeats the step's error */
  return value;
}

/* Whatever is in the file's schema runs when the file is used: only ours may be. */
static enum lynx_status check_tables(struct sqlite_store *s, struct lynx_error *error) {
  sqlite3_stmt *statement = NULL;
  size_t n_found = 0, n_other = 0;
  lynx_error_at(error, s->path, 0, NULL);
  int64_t n_pages = pragma(s, "PRAGMA page_count");
  if (n_pages < 0) return sql_fail(s, error, "cannot be read");
  if (n_pages == 0)
    return lynx_fail(error, LYNX_INPUT,
                     "empty: a ledger's making was cut short; remove it and its .key, and `lynxbench ledger create` it again");
  if (pragma(s, "PRAGMA application_id") != APPLICATION_ID)
    return lynx_fail(error, LYNX_INPUT, "not a ledger; `lynxbench ledger create LEDGER --key TEAM.key` makes one");
  int64_t format = pragma(s, "PRAGMA user_version");
  if (format != STORE_FORMAT)
    return lynx_fail(error, LYNX_UNSUPPORTED, "a ledger of format %lld; this lynxbench reads format %d", (long long)format, STORE_FORMAT);
  if (sqlite3_prepare_v2(s->db, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", -1, &statement, NULL) != SQLITE_OK)
    return sql_fail(s, error, "its schema");
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const char *sql = (const char *)sqlite3_column_text(statement, 0);
    size_t i = 0;
    while (i < LYNX_COUNT(schema) && strcmp(schema[i], sql != NULL ? sql : "") != 0) i++;
    *(i < LYNX_COUNT(schema) ? &n_found : &n_other) += 1;
  }
  (void)sqlite3_finalize(statement);
  if (n_found == LYNX_COUNT(schema) && n_other == 0) return LYNX_OK;
  return lynx_fail(error, LYNX_INPUT, "its tables were altered: %zu of %zu are as they should be, %zu are others", n_found,
                   LYNX_COUNT(schema), n_other);
}

static enum lynx_status prepare(struct sqlite_store *s, struct lynx_error *error) {
  for (int i = 0; i < STORE_SPACES; i++) {
    char insert[64], find[64];
    (void)snprintf(insert, sizeof insert, "INSERT INTO %s VALUES(?1,?2)", names[i]);
    (void)snprintf(find, sizeof find, "SELECT value FROM %s WHERE key=?1", names[i]);
    if (sqlite3_prepare_v3(s->db, insert, -1, SQLITE_PREPARE_PERSISTENT, &s->insert[i], NULL) != SQLITE_OK ||
        sqlite3_prepare_v3(s->db, find, -1, SQLITE_PREPARE_PERSISTENT, &s->find[i], NULL) != SQLITE_OK)
      return sql_fail(s, error, "cannot be read");
  }
  return LYNX_OK;
}

/* With its tables under another name first: a ledger is there whole or not at all, whenever its making ends. */
static enum lynx_status make_file(const char *path, struct lynx_error *error) {
  char temporary[4200];
  struct sqlite_store s = {.db = NULL};
  if (access(path, F_OK) == 0) return lynx_fail(error, LYNX_INPUT, "the file exists; a ledger is never overwritten: name another");
  if (!file_temporary_name(path, temporary, sizeof temporary)) return lynx_fail(error, LYNX_IO, "cannot be created: its name is too long");
  int why = file_create_private(temporary, "", 0);
  if (why != 0) return lynx_fail(error, LYNX_IO, "cannot be created: %s", strerror(why));
  (void)snprintf(s.path, sizeof s.path, "%s", path);
  enum lynx_status status = LYNX_OK;
  if (sqlite3_open_v2(temporary, &s.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs_for(STORE_CREATE, WAY_SHARED)) != SQLITE_OK)
    status = sql_fail(&s, error, "cannot be opened");
  if (status == LYNX_OK) status = execute(&s, "PRAGMA synchronous=FULL", error);
  if (status == LYNX_OK) status = make_tables(&s, error);
  bool closed = sqlite3_close(s.db) == SQLITE_OK; /* its log is in it then */
  if (status == LYNX_OK && !closed) status = lynx_fail(error, LYNX_IO, "cannot be created");
  if (status == LYNX_OK && link(temporary, path) != 0)
    status = errno == EEXIST ? lynx_fail(error, LYNX_INPUT, "the file exists; a ledger is never overwritten: name another")
                             : lynx_fail(error, LYNX_IO, "cannot be created: %s", strerror(errno));
  (void)unlink(temporary); /* a link to it stays */
  return status;
}

/* --- opening --- */

/* The log that lies beside it; absent: all zero. */
static void look_at_log(const struct sqlite_store *s, struct stat *ret) {
  char name[PATH_MAX + 8];
  (void)snprintf(name, sizeof name, "%s-wal", s->path);
  if (lstat(name, ret) != 0) *ret = (struct stat){.st_size = 0};
}

/* How a reader opens it. Beside a ledger that somebody writes to lie its log and the index of that: they are read, with locks and without a
 * change. Where nobody does, there is no log, and the file is read as it is: SQLite would make one otherwise, and fold a log that it finds
 * into the file; or a killed writer left one, which is read with an index of our own, and writers add to it meanwhile but take nothing in
 * (the folder's lock). */
static enum lynx_status reader_uri(struct sqlite_store *s, char *uri, size_t size, struct lynx_error *error) {
  static const char *const queries[] = {
      [WAY_SHARED] = "mode=ro&readonly_shm=1", [WAY_ALONE] = "mode=ro&immutable=1", [WAY_OWN_INDEX] = "mode=ro"};
  const struct timespec look = {.tv_nsec = LOG_LOOK_MS * 1000000L};
  enum sidecar_log log = SIDECAR_LOG_NONE;
  bool held = false, shared = false;
  /* Not at once where a writer is just taking the log in. */
  for (int waited_ms = 0; !held && !shared && log != SIDECAR_LOG_STRANGE && waited_ms < LOG_ALONE_MS; waited_ms += LOG_LOOK_MS) {
    if (waited_ms > 0) (void)nanosleep(&look, NULL);
    held = s->folder_fd < 0 || flock(s->folder_fd, LOCK_SH | LOCK_NB) == 0;
    log = sidecar_log_of(s->path);
    shared = log == SIDECAR_LOG_SHARED && !s->unreadable;
  }
  if (log == SIDECAR_LOG_STRANGE)
    return lynx_fail(error, LYNX_INPUT,
                     "found %.200s-wal beside it, which is no plain file: lynxbench never makes one there. Accepted: none; look where it "
                     "comes from, and take it away",
                     s->path);
  if (!held && !shared) return lynx_fail(error, LYNX_IO, "its folder is locked by another process all the while");
  if (shared && s->folder_fd >= 0) (void)flock(s->folder_fd, LOCK_UN);
  s->way = shared ? WAY_SHARED : log == SIDECAR_LOG_NONE ? WAY_ALONE : WAY_OWN_INDEX;
  sidecar_uri(s->path, queries[s->way], uri, size);
  look_at_log(s, &s->seen_log);
  return stat(s->path, &s->seen) == 0 ? LYNX_OK : lynx_fail(error, LYNX_IO, "%s", strerror(errno));
}

static enum lynx_status open_folder(struct sqlite_store *s, struct lynx_error *error) {
  char folder[PATH_MAX];
  (void)snprintf(folder, sizeof folder, "%s", s->path);
  char *slash = strrchr(folder, '/');
  slash[slash == folder] = 0; /* the path is absolute */
  s->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* Who may not list it reads the file without that lock. */
  return s->folder_fd >= 0 || (errno == EACCES && s->access == STORE_READ)
             ? LYNX_OK
             : lynx_fail(error, LYNX_IO, "%.200s: %s", folder, strerror(errno));
}

static enum lynx_status open_once(struct sqlite_store *s, struct lynx_error *error) {
  char uri[3 * PATH_MAX];
  bool reads = s->access == STORE_READ;
  enum lynx_status status = sidecar_refuse_journal(s->path, error);
  if (status == LYNX_OK) status = open_folder(s, error);
  if (status == LYNX_OK && reads) status = reader_uri(s, uri, sizeof uri, error);
  if (status == LYNX_OK && !reads) sidecar_uri(s->path, "mode=rw", uri, sizeof uri);
  if (status != LYNX_OK) return status;
  int flags = (reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(uri, &s->db, flags, vfs_for(s->access, s->way)) != SQLITE_OK) return sql_fail(s, error, "cannot be opened");
  (void)sqlite3_busy_timeout(s->db, reads ? READER_WAIT_MS : WAIT_MS);
  (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  (void)sqlite3_limit(s->db, SQLITE_LIMIT_LENGTH, 4 * STORE_VALUE_MAX);
  if (!reads) (void)sqlite3_wal_hook(s->db, take_log_in, s);
  if (s->way == WAY_OWN_INDEX) status = execute(s, "PRAGMA locking_mode=EXCLUSIVE", error); /* SQLite's index is in memory then */
  if (status == LYNX_OK) status = check_tables(s, error);
  if (status == LYNX_OK)
    status = execute(s, reads ? "PRAGMA cell_size_check=ON" : "PRAGMA synchronous=FULL; PRAGMA cell_size_check=ON", error);
  return status == LYNX_OK ? prepare(s, error) : status;
}

/* The log and its index, just found, may be taken away by the last writer before SQLite opens them, or be at their beginning, where only a
 * writer may go on: looked for again. */
static enum lynx_status open_file(struct sqlite_store *s, struct lynx_error *error) {
  const struct timespec look = {.tv_nsec = LOG_LOOK_MS * 1000000L};
  enum lynx_status status = LYNX_IO;
  s->unreadable = false;
  for (int waited_ms = 0; waited_ms < LOG_ALONE_MS; waited_ms += LOG_LOOK_MS) {
    struct lynx_error own = *error; /* it names the ledger already */
    status = open_once(s, &own);
    int code = s->db != NULL ? sqlite3_errcode(s->db) & 0xff : SQLITE_OK;
    bool left = status == LYNX_IO && s->access == STORE_READ && code == SQLITE_PROTOCOL && !s->unreadable;
    bool again = left || (status == LYNX_IO && s->access == STORE_READ && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY));
    if (status == LYNX_OK) return status;
    close_file(s); /* of what could not be opened nothing is used */
    if (!again) *error = own;
    if (!again) return status;
    s->unreadable = left;
    *error = own;
    (void)nanosleep(&look, NULL);
  }
  return status;
}

/* What the kernel makes (/proc/kmsg) looks like a plain file, and is waited for. */
static bool is_plain(const char *path) {
  struct stat info;
  struct statfs system;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && !(statfs(path, &system) == 0 && system.f_type == PROC_SUPER_MAGIC);
}

static bool has_other_names(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1;
}

static enum lynx_status sqlite_open(const char *address, enum store_access access, struct store **ret, struct lynx_error *error) {
  struct sqlite_store *s = xalloc(1, sizeof *s);
  enum lynx_status status = LYNX_OK;
  s->store.table = &store_sqlite;
  s->access = access;
  s->folder_fd = -1;
  lynx_error_at(error, address, 0, NULL);
  if (access == STORE_CREATE) status = make_file(address, error);
  if (status == LYNX_OK && realpath(address, s->path) == NULL)
    status = errno == ENOENT ? lynx_fail(error, LYNX_NOT_FOUND, "there is no such ledger; `lynxbench ledger create` makes one")
                             : lynx_fail(error, LYNX_IO, "%s", strerror(errno));
  if (status == LYNX_OK && access != STORE_READ && has_other_names(s->path))
    status = lynx_fail(error, LYNX_INPUT,
                       "found another name (hard link) of the same file: SQLite keeps a log for each name, and two would destroy it. "
                       "Accepted: one name (`find -samefile` finds the other)");
  if (status == LYNX_OK && !is_plain(s->path)) status = lynx_fail(error, LYNX_INPUT, "found no plain file; accepted: a ledger's file");
  if (status == LYNX_OK) status = open_file(s, error);
  if (status == LYNX_OK) *ret = &s->store;
  else sqlite_close(&s->store);
  return status;
}

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool is_as_seen(const struct sqlite_store *s) {
  struct stat now, log;
  look_at_log(s, &log);
  return stat(s->path, &now) == 0 && is_same(&now, &s->seen) && is_same(&log, &s->seen_log);
}

/* What a writer adds lies in its log first: a reader of the file alone begins again with both. */
static enum lynx_status sqlite_renew(struct store *store, struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  if (s->db != NULL && (s->way == WAY_SHARED || s->in_transaction || is_as_seen(s))) return LYNX_OK;
  close_file(s);
  return open_file(s, error);
}

/* A reader may meet the index of the log while a writer is changing it: that is over at once. */
static bool is_passing(const struct sqlite_store *s, int code, int *waited_ms) {
  const struct timespec look = {.tv_nsec = LOG_LOOK_MS * 1000000L};
  if (s->access != STORE_READ || s->in_transaction || (code & 0xff) != SQLITE_READONLY || *waited_ms >= LOG_ALONE_MS) return false;
  *waited_ms += LOG_LOOK_MS;
  (void)nanosleep(&look, NULL);
  return true;
}

static enum lynx_status not_open(struct lynx_error *error) {
  return lynx_fail(error, LYNX_IO, "it could not be opened again after it had changed");
}

static enum lynx_status sqlite_snapshot(struct store *store, struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  lynx_assert(!s->in_transaction);
  if (s->db == NULL) return not_open(error);
  struct lynx_error own = *error; /* it names the ledger already */
  int code, waited_ms = 0;
  do {
    code = sqlite3_exec(s->db, "BEGIN; SELECT key FROM entry LIMIT 1", NULL, NULL, NULL); /* it begins with the first reading */
    if (code != SQLITE_OK) (void)sql_fail(s, &own, "the ledger");
    if (code != SQLITE_OK && sqlite3_get_autocommit(s->db) == 0) (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* begun again */
  } while (is_passing(s, code, &waited_ms));
  s->in_transaction = code == SQLITE_OK;
  if (!s->in_transaction) *error = own;
  return s->in_transaction ? LYNX_OK : own.status;
}

static enum lynx_status sqlite_begin(struct store *store, struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  lynx_assert(!s->in_transaction);
  enum lynx_status status = execute(s, "BEGIN IMMEDIATE", error);
  s->in_transaction = status == LYNX_OK;
  return status;
}

static enum lynx_status sqlite_append(struct store *store, enum store_space space, struct bytes key, struct bytes value,
                                      struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  sqlite3_stmt *insert = s->insert[space];
  lynx_assert(s->in_transaction && key.length <= STORE_KEY_MAX && value.length <= STORE_VALUE_MAX);
  bool good = sqlite3_bind_blob(insert, 1, key.ptr, (int)key.length, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_bind_blob(insert, 2, value.length > 0 ? value.ptr : "", (int)value.length, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_step(insert) == SQLITE_DONE;
  enum lynx_status status = good ? LYNX_OK : sql_fail(s, error, "cannot be added to");
  (void)sqlite3_reset(insert); /* repeats the step's error */
  return status;
}

static void sqlite_abort(struct store *store) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  if (s->in_transaction && sqlite3_get_autocommit(s->db) == 0)
    (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL); /* nothing is kept either way */
  s->in_transaction = false;
}

static enum lynx_status sqlite_commit(struct store *store, struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  enum lynx_status status = execute(s, "COMMIT", error);
  if (status != LYNX_OK) sqlite_abort(store);
  s->in_transaction = false;
  return status;
}

/* SQLite gives NULL for what has no bytes. */
static struct bytes column(sqlite3_stmt *row, int i) {
  const void *bytes = sqlite3_column_blob(row, i);
  return (struct bytes){bytes != NULL ? bytes : "", (size_t)sqlite3_column_bytes(row, i)};
}

/* Who may not list the folder cannot lock it: what was read is taken only where nothing changed until then. */
static enum lynx_status check_unchanged(const struct sqlite_store *s, struct lynx_error *error) {
  if (s->folder_fd >= 0 || s->way == WAY_SHARED || is_as_seen(s)) return LYNX_OK;
  return lynx_fail(error, LYNX_IO,
                   "it changed while it was read, and its folder may not be listed by this user, so that it cannot be locked: do it again, "
                   "or ask for the right to list the folder");
}

static enum lynx_status sqlite_get(struct store *store, enum store_space space, struct bytes key, struct buffer *ret,
                                   struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  if (s->db == NULL) return not_open(error);
  sqlite3_stmt *find = s->find[space];
  enum lynx_status status = LYNX_OK;
  int waited_ms = 0,
      code = sqlite3_bind_blob(find, 1, key.ptr, (int)key.length, SQLITE_STATIC) == SQLITE_OK ? sqlite3_step(find) : SQLITE_ERROR;
  while (is_passing(s, code, &waited_ms)) {
    (void)sqlite3_reset(find); /* repeats the step's error */
    code = sqlite3_step(find);
  }
  if (code == SQLITE_DONE) status = lynx_fail(error, LYNX_NOT_FOUND, "the ledger holds no such %s", names[space]);
  else if (code != SQLITE_ROW) status = sql_fail(s, error, "cannot be read");
  else if (!buffer_append(ret, column(find, 0).ptr, column(find, 0).length))
    status = lynx_fail(error, LYNX_LIMIT, "a value of more than %zu bytes", ret->limit);
  (void)sqlite3_reset(find); /* repeats the step's error */
  if (status != LYNX_OK && status != LYNX_NOT_FOUND) return status;
  struct lynx_error own = *error;
  enum lynx_status unchanged = check_unchanged(s, &own);
  if (unchanged != LYNX_OK) *error = own;
  return unchanged != LYNX_OK ? unchanged : status;
}

static enum lynx_status sqlite_list(struct store *store, const struct store_range *range, store_visit *visit, void *context,
                                    struct lynx_error *error) {
  struct sqlite_store *s = (struct sqlite_store *)store;
  char sql[128];
  struct store_bounds bounds;
  sqlite3_stmt *select = NULL;
  int code = SQLITE_ERROR, waited_ms = 0;
  if (s->db == NULL) return not_open(error);
  store_bounds_of(range, &bounds);
  (void)snprintf(sql, sizeof sql, "SELECT key,value FROM %s WHERE key>=?1 AND key<=?2 ORDER BY key%s", names[range->space],
                 range->backwards ? " DESC" : "");
  if (sqlite3_prepare_v2(s->db, sql, -1, &select, NULL) == SQLITE_OK &&
      sqlite3_bind_blob(select, 1, bounds.least, (int)bounds.n_least, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_bind_blob(select, 2, bounds.most, (int)bounds.n_most, SQLITE_STATIC) == SQLITE_OK)
    do {                           /* only the first step begins to read */
      (void)sqlite3_reset(select); /* repeats the step's error */
      while ((code = sqlite3_step(select)) == SQLITE_ROW && visit(context, column(select, 0), column(select, 1))) continue;
    } while (is_passing(s, code, &waited_ms));
  enum lynx_status status = code == SQLITE_DONE || code == SQLITE_ROW ? LYNX_OK : sql_fail(s, error, "cannot be read");
  (void)sqlite3_finalize(select); /* repeats the step's error */
  return status == LYNX_OK ? check_unchanged(s, error) : status;
}

const struct store_table store_sqlite = {.abi = STORE_ABI,
                                         .name = "sqlite",
                                         .summary = "one file, no set-up",
                                         .scheme = "",
                                         .open = sqlite_open,
                                         .snapshot = sqlite_snapshot,
                                         .begin = sqlite_begin,
                                         .append = sqlite_append,
                                         .commit = sqlite_commit,
                                         .abort = sqlite_abort,
                                         .get = sqlite_get,
                                         .list = sqlite_list,
                                         .renew = sqlite_renew,
                                         .close = sqlite_close};
