/* cli/compare_instruments.h: `lynxbench compare --instruments A B`: reads what two instruments measured, and shows why they differ. */
#ifndef CLI_COMPARE_INSTRUMENTS_H
#define CLI_COMPARE_INSTRUMENTS_H

#include "cli/command.h"

/* Files: a bundle, or what another tool wrote, is one side; two metrics pages of the server, before and after, are one. The exit code. */
int compare_instruments(const char *const *files, size_t n, double margin, bool json);

#endif
