/* The list of subcommands, in the order of the work. */
#include "cli/command.h"

const struct command *const commands[] = {&command_init,  &command_lint,   &command_capture, &command_diff, &command_run, &command_show,
                                          &command_claim, &command_report, &command_version, &command_help, NULL};
