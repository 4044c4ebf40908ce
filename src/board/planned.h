/* board/planned.h: what a re-run of a contract's newest run could decide, by how its sessions vary: the plan that `verify` makes, of one
 * throughput and from the signed summary alone.
 * Result   on the safe side: the summary's interval is Student's over its sessions, and as wide as their counting is coarse
 * Source   stats/compare.h */
#ifndef BOARD_PLANNED_H
#define BOARD_PLANNED_H

#include "board/board.h"
#include "stats/compare.h"

struct planned {
  size_t have, needed; /* sessions of the run; of a re-run that decides, 0: not even PLAN_SESSIONS_MAX do */
  double deviation;    /* of the sessions at most, as a share of their mean */
  double margin;
};

/* False: it cannot be said of this figure, or of a run with fewer than 2 sessions. */
bool planned_of(const struct board_contract *contract, const struct history_series *series, struct planned *ret);

#endif
