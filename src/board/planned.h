/* board/planned.h: what a re-run of a contract's newest run could decide, by how its sessions vary: the plan that `verify` makes, of one
 * throughput and from the signed summary alone.
 * Source   the summary's interval is Student's over its sessions, so that it gives their deviation back; stats/compare.h */
#ifndef BOARD_PLANNED_H
#define BOARD_PLANNED_H

#include "board/board.h"

enum { PLANNED_MOST = 100 };

struct planned {
  size_t have, needed; /* sessions of the run; of a re-run that decides, 0: not even PLANNED_MOST do */
  double deviation;    /* of the sessions, as a share of their mean */
  double margin, power;
};

/* False: it cannot be said of this figure, or of a run with fewer than 2 sessions. */
bool planned_of(const struct board_contract *contract, const struct history_series *series, struct planned *ret);

#endif
