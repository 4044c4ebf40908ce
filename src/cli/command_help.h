/* cli/command_help.h: `lynxbench --help` and `lynxbench COMMAND --help`, from the tables of commands. */
#ifndef CLI_COMMAND_HELP_H
#define CLI_COMMAND_HELP_H

#include "cli/command.h"

/* Every command with its summary, in its group. */
void print_commands(const struct command_list *list, FILE *to);
void print_command_help(const struct command *command, FILE *to);

#endif
