/* ledger/seen.h: what this client saw of each ledger last, so that one that is rolled back or forked is found out.
 * Shapes   a file per log key in a folder: the newest checkpoint whose consistency was shown
 * Errors   PROTOCOL: the ledger went back, or does not continue what was seen; IO: the folder cannot be written */
#ifndef LEDGER_SEEN_H
#define LEDGER_SEEN_H

#include "ledger/ledger.h"

/* Holds the ledger's newest checkpoint against the one remembered, then remembers it. */
enum lynx_status seen_check(struct ledger *ledger, const char *folder, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
