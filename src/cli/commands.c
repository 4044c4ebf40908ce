/* The list of subcommands, in the order of the work. */
#include "cli/command.h"

const struct command *const commands[] = {
    &command_init,   &command_lint,    &command_key,       &command_sign,     &command_capture, &command_diff,    &command_profile,
    &command_run,    &command_compare, &command_calibrate, &command_show,     &command_claim,   &command_report,  &command_attribute,
    &command_verify, &command_contest, &command_audit,     &command_evidence, &command_log,     &command_witness, &command_push,
    &command_pull,   &command_serve,   &command_export,    &command_import,   &command_version, &command_help,    NULL};
