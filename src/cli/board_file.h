/* cli/board_file.h: a ledger that is open, as a board. */
#ifndef CLI_BOARD_FILE_H
#define CLI_BOARD_FILE_H

#include "board/board.h"
#include "cli/ledger_file.h"

/* All of its entries. False: it was reported. board_release in any case. */
bool board_file_read(const struct ledger_file *file, struct board *ret);

#endif
