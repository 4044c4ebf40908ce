/* cli/command_help.h: `lynxbench COMMAND --help`, from the command's table. */
#ifndef CLI_COMMAND_HELP_H
#define CLI_COMMAND_HELP_H

#include "cli/command.h"

void print_command_help(const struct command *command, FILE *to);

#endif
