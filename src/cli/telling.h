/* cli/telling.h: a run that is recorded in a served ledger tells its server, once a second, how far it is (ledger/running.h): the pages
 * show it.
 *
 * Cost     a thread of its own, which sleeps but for one small request a second; what the load does never waits for it
 * Errors   a server that takes none at first is told nothing; one that is gone meanwhile is tried every ten seconds. The run goes on
 * Order    ledger and signer stay, and sign nothing else, until telling_end */
#ifndef CLI_TELLING_H
#define CLI_TELLING_H

#include "cli/ledger_file.h"
#include "measure/run_request.h"

struct telling;

/* intent: of the entry, 64 digits. NULL: its ledger is not served, or takes none. */
struct telling *telling_begin(const struct ledger_file *ledger, const struct signer *signer, const char *intent);
void telling_take(struct telling *telling, const struct run_progress *progress); /* accepts NULL */
void telling_end(struct telling *telling);                                       /* accepts NULL */

#endif
