/* ledger/seen.h: what this client saw of each ledger last, so that one that is rolled back, forked or replaced is found out.
 * Shapes   in a folder: per log key the newest checkpoint whose consistency was shown; per address the log key that was found there
 * Threads  several processes: each check is under a lock of that ledger's memory
 * Errors   PROTOCOL: the ledger went back, does not continue what was seen, or has another log key than before; INPUT: what was remembered
 *          is damaged; MACHINE: it cannot be remembered; and what reading the ledger gives */
#ifndef LEDGER_SEEN_H
#define LEDGER_SEEN_H

#include "ledger/ledger.h"

/* Holds the ledger's newest checkpoint against the one remembered, then remembers it. ret_note: that checkpoint, as it was checked; NULL.
 */
enum lynx_status seen_check(struct ledger *ledger, const char *address, const char *folder, struct buffer *ret_note,
                            struct lynx_error *error) LYNX_MUST_CHECK;
/* Of which tree every entry was checked from here, by this version: remembered, so that a later start checks what is new alone
 * (ledger_trust). What cannot be remembered, or is damaged, is checked again. */
void seen_remember_checked(struct ledger *ledger, const char *folder, uint64_t size);
void seen_trust_checked(struct ledger *ledger, const char *folder);
/* The path of a file in that folder which is this ledger's by its log key. */
char *seen_path(const struct ledger *ledger, const char *folder, const char *ending, char *path, size_t size);
/* A ledger was begun at that address on purpose: what stood there before is forgotten. */
void seen_forget(const char *address, const char *folder);

#endif
