/* cli/commands.h: the list of subcommands, in groups, in the order of the work. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command_list all_commands;

#endif
