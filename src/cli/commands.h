/* cli/commands.h: the list of subcommands, in the order of the work. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/command.h"

extern const struct command *const commands[]; /* ends in NULL */

#endif
