/* base/sidecar.h: the logs that SQLite keeps beside a file, NAME-journal and NAME-wal. Whoever sends a file can send them with it, and
 * SQLite applies them when it opens the file to write: a journal can name another file, which is then deleted.
 * Errors   INPUT: there is one that is not accepted (which, and what to do)
 * Source   SQLite: «Atomic Commit In SQLite», 5 (multi-file commit); «Write-Ahead Logging» */
#ifndef BASE_SIDECAR_H
#define BASE_SIDECAR_H

#include <stddef.h>

#include "base/status.h"

/* For who only reads: neither may be there. next: what to do about it, in words. */
enum lynx_status sidecar_refuse_all(const char *path, const char *next, struct lynx_error *error) LYNX_MUST_CHECK;
/* For who writes a database that is always in WAL mode: no journal may be there. */
enum lynx_status sidecar_refuse_journal(const char *path, struct lynx_error *error) LYNX_MUST_CHECK;
/* For who recovers: what is there must be a plain file of this user, and a journal must name no other file. */
enum lynx_status sidecar_check_own(const char *path, struct lynx_error *error) LYNX_MUST_CHECK;
/* The log of a database in WAL mode. Where nobody writes, its index may be missing or unfinished: a writer was killed. */
enum sidecar_log {
  SIDECAR_LOG_NONE,   /* or one that holds nothing: no more than its header, or the header of no log */
  SIDECAR_LOG_SHARED, /* with its index: somebody writes, or was killed while he did */
  SIDECAR_LOG_ALONE,  /* without its index: nobody writes */
  SIDECAR_LOG_STRANGE /* no plain file */
};
enum sidecar_log sidecar_log_of(const char *path);
/* The name by which SQLite opens the file with these parameters. "mode=ro&immutable=1": as a file that nobody changes: no lock, no log, no
 * right to write beside it. */
void sidecar_uri(const char *path, const char *query, char *ret, size_t size);

#endif
