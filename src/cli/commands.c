#include "cli/commands.h"

extern const struct command command_init, command_lint, command_capture, command_diff, command_run, command_diagnose, command_show,
    command_claim, command_report, command_key, command_sign, command_log, command_witness, command_pull, command_push, command_serve,
    command_site, command_verify, command_contest, command_audit, command_evidence, command_attribute, command_compare, command_calibrate,
    command_envelope, command_perturb, command_confirm, command_bisect, command_experiment, command_profile, command_export, command_import,
    command_history, command_gate, command_iterate, command_schedule, command_metrics, command_merge, command_recover, command_version,
    command_help;

const struct command *const commands[] = {
    &command_diagnose,   &command_init,    &command_lint,    &command_key,       &command_sign,     &command_capture,   &command_diff,
    &command_profile,    &command_run,     &command_merge,   &command_recover,   &command_compare,  &command_calibrate, &command_envelope,
    &command_show,       &command_claim,   &command_report,  &command_attribute, &command_confirm,  &command_perturb,   &command_bisect,
    &command_experiment, &command_verify,  &command_contest, &command_audit,     &command_evidence, &command_log,       &command_witness,
    &command_push,       &command_pull,    &command_serve,   &command_site,      &command_history,  &command_gate,      &command_iterate,
    &command_schedule,   &command_metrics, &command_export,  &command_import,    &command_version,  &command_help,      NULL};
