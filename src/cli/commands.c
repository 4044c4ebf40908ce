#include "cli/commands.h"

extern const struct command command_init, command_lint, command_profile, command_calibrate, command_envelope, command_run, command_compare,
    command_gate, command_schedule, command_merge, command_recover, command_sample, command_show, command_claim, command_report,
    command_history, command_metrics, command_export, command_import, command_diagnose, command_attribute, command_capture, command_diff,
    command_confirm, command_perturb, command_bisect, command_experiment, command_iterate, command_decide, command_verify, command_contest,
    command_audit, command_evidence, command_key, command_sign, command_log, command_witness, command_push, command_pull, command_serve,
    command_reader, command_site, command_version, command_help;

static const struct command_group groups[] = {
    {"Prepare", &command_init},     {"Measure", &command_run},   {"Read", &command_show},
    {"Explain", &command_diagnose}, {"Verify", &command_verify}, {"Sign and record", &command_key},
    {"Pages", &command_serve},      {"Help", &command_version},  {NULL, NULL}};

static const struct command *const commands[] = {
    &command_init,    &command_lint,       &command_profile,  &command_calibrate, &command_envelope,
    &command_run,     &command_compare,    &command_gate,     &command_schedule,  &command_merge,
    &command_recover, &command_show,       &command_claim,    &command_report,    &command_history,
    &command_metrics, &command_export,     &command_import,   &command_diagnose,  &command_attribute,
    &command_capture, &command_sample,     &command_diff,     &command_confirm,   &command_perturb,
    &command_bisect,  &command_experiment, &command_iterate,  &command_decide,    &command_verify,
    &command_contest, &command_audit,      &command_evidence, &command_key,       &command_sign,
    &command_log,     &command_witness,    &command_push,     &command_pull,      &command_serve,
    &command_reader,  &command_site,       &command_version,  &command_help,      NULL};

const struct command_list all_commands = {commands, groups};
