/* bench/bulk.h: a ledger in PostgreSQL that is filled as PostgreSQL is filled fast: tables that are made in the transaction that copies into
 * them, their keys afterwards. For ledgers of which a benchmark knows that every entry is good: nothing is checked.
 *
 * Order    bulk_begin of a ledger that was made; bulk_add of each entry; bulk_end, after which it is a ledger like any other
 * Errors   end the process, with their reason */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "ledger/merkle.h"

struct bulk;

struct bulk *bulk_begin(const char *address);
void bulk_add(struct bulk *bulk, struct bytes envelope);
/* Of the entries so far. */
const struct merkle_edge *bulk_edge(const struct bulk *bulk);
/* checkpoint: the signed note of that edge. */
void bulk_end(struct bulk *bulk, struct bytes checkpoint);

#endif
