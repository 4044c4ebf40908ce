/* cli/command_help.h: commands as people read about them. */
#ifndef CLI_COMMAND_HELP_H
#define CLI_COMMAND_HELP_H

#include "cli/command.h"

/* What it is for, how to begin, the groups with their names, exit codes: one screen of 80 x 24. */
void print_help(const struct command_list *list, FILE *to);
/* Every one with its summary, by groups. */
void print_commands(const struct command_list *list, FILE *to);
void print_command_help(const struct command *command, FILE *to);

#endif
