/* cli/standing_file.h: the standing of a bundle that a command shows, where a ledger is at hand. */
#ifndef CLI_STANDING_FILE_H
#define CLI_STANDING_FILE_H

#include "cli/bundle_file.h"
#include "ledger/standing.h"

/* True with *ret_known false where no ledger is named (option, LYNXBENCH_LEDGER); false: one is, and cannot be read (told). */
bool standing_file_read(const char *option, const struct bundle_file *file, struct standing *ret, bool *ret_known);
#endif
