#include "cli/commands.h"

extern const struct command command_init, command_lint, command_profile, command_calibrate, command_run, command_watch, command_compare,
    command_gate, command_schedule, command_merge, command_recover, command_show, command_history, command_export, command_import,
    command_diagnose, command_attribute, command_capture, command_diff, command_confirm, command_perturb, command_bisect,
    command_experiment, command_iterate, command_decide, command_verify, command_contest, command_audit, command_evidence, command_ledger,
    command_key, command_sign, command_witness, command_push, command_pull, command_reader, command_serve, command_site, command_help;

static const struct command_group groups[] = {{"Prepare", &command_init},  {"Measure", &command_run},
                                              {"Read", &command_show},     {"Explain", &command_diagnose},
                                              {"Try", &command_confirm},   {"Verify", &command_verify},
                                              {"Record", &command_ledger}, {"Pages", &command_serve},
                                              {"Help", &command_help},     {NULL, NULL}};

/* Those of a ledger stand behind it, as "ledger VERB". */
static const struct command *const commands[] = {
    &command_init,     &command_lint,      &command_profile,    &command_calibrate, &command_run,
    &command_watch,    &command_compare,   &command_gate,       &command_schedule,  &command_merge,
    &command_recover,  &command_show,      &command_history,    &command_export,    &command_import,
    &command_diagnose, &command_attribute, &command_capture,    &command_diff,      &command_confirm,
    &command_perturb,  &command_bisect,    &command_experiment, &command_iterate,   &command_decide,
    &command_verify,   &command_contest,   &command_audit,      &command_evidence,  &command_ledger,
    &command_key,      &command_sign,      &command_witness,    &command_push,      &command_pull,
    &command_reader,   &command_serve,     &command_site,       &command_help,      NULL};

const struct command_list all_commands = {commands, groups};
