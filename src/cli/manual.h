/* cli/manual.h: manual pages, in troff, from the tables of commands. */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/command.h"

/* Of one command, or, only NULL, of the program. */
void print_manual(const struct command_list *list, const struct command *only);

#endif
