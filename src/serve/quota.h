/* serve/quota.h: how much each team has brought to a ledger that is served, against what its policy lets it bring.
 * Units    bytes: of entries, and of the files that they name, whether these have come or not
 * Threads  the one of the ledger that it counts */
#ifndef SERVE_QUOTA_H
#define SERVE_QUOTA_H

#include "ledger/ledger.h"

struct quota {
  uint64_t next; /* the first entry that is not counted yet */
  struct quota_team {
    char name[NOTE_NAME_MAX];
    int64_t bytes, promised;
  } * teams; /* of every policy that there was */
  size_t n_teams;
};

/* Counts what was added since, and forgets what was promised. What it cannot read it does not count. most: entries of this call; ret_all:
 * none is left; NULL: of course. */
enum lynx_status quota_count(struct quota *quota, struct ledger *ledger, uint64_t most, bool *ret_all,
                             struct lynx_error *error) LYNX_MUST_CHECK;
/* LIMIT: with this entry and the file that it names its team would have brought more than it may. What is allowed is promised: the next
 * question counts it. An entry that is not well formed, or of no team, is not judged here. */
enum lynx_status quota_allows(struct quota *quota, const struct ledger *ledger, struct bytes entry,
                              struct lynx_error *error) LYNX_MUST_CHECK;
/* It was added at that place: where all before it are counted, it need not be read again. */
void quota_added(struct quota *quota, uint64_t index, struct bytes entry);
/* What was counted, in a file, with the tree that it is of: another server of the same ledger goes on from there. Of another tree, or
 * damaged, it is as none. Not written: the next one counts again. */
void quota_recall(struct quota *quota, struct ledger *ledger, const char *path);
void quota_remember(const struct quota *quota, struct ledger *ledger, const char *path);
void quota_release(struct quota *quota);

#endif
