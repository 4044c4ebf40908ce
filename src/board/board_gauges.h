/* board/board_gauges.h: a ledger's contracts as gauges: figures, changes, findings by owner, verifications, contests, signatures.
 * Limits   judges every contract that was not judged since its last run, which may take long */
#ifndef BOARD_BOARD_GAUGES_H
#define BOARD_BOARD_GAUGES_H

#include "board/board.h"
#include "report/gauges.h"

void board_gauges(struct board *board, struct gauges *ret);

#endif
