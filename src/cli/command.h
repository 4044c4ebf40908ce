/* cli/command.h: one table per subcommand; from it come the parser, --help, the manual page and completion.
 *
 * cli is the only place that prints errors and exits. One file per subcommand, listed in commands.c. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

#include "base/buffer.h"
#include "base/status.h"

enum { ARGUMENTS_MAX = 64, OPTIONS_MAX = 24 };

/* Whose fault it was. One table, also in the README and every manual page. */
enum exit_code {
  EXIT_HOLDS = 0,
  EXIT_DOES_NOT_HOLD = 1, /* claim refused, executors differ */
  EXIT_WRONG_INPUT = 2,
  EXIT_INCONCLUSIVE = 3, /* or nothing was measured */
  EXIT_CONDITIONS = 4,   /* the machine: disk full, instrument-limited, abort SLO */
  EXIT_EXECUTOR = 5,     /* cannot be reached, or failed */
  EXIT_OUR_BUG = 70,
  EXIT_INTERRUPTED = 130
};

struct option_spec {
  const char *name;     /* without the dashes */
  const char *argument; /* what it takes; NULL: a switch */
  const char *help;
};

struct arguments {
  const char *positional[ARGUMENTS_MAX];
  int n_positional;
  const char *option[OPTIONS_MAX]; /* by index of the spec: its value, "" for a switch that was given, NULL */
};

struct command {
  const char *name, *summary;
  const char *usage; /* the positional arguments, as in "CONTRACT" */
  int least, most;   /* how many of them */
  const struct option_spec *options;
  size_t n_options;
  const char *details; /* a paragraph or two */
  const char *example; /* works when pasted in the source tree after `make build` */
  int (*run)(const struct arguments *arguments);
};

extern const struct command *const commands[]; /* ends in NULL */

/* The value of an option by name; NULL if it was not given. */
const char *argument_option(const struct command *command, const struct arguments *arguments, const char *name);

/* Says it once, on standard error, and returns the exit code that fits. */
int report_error(const struct lynx_error *error);

/* A whole file; on failure the error is told and false returned. "-" is standard input. */
bool read_file(const char *path, size_t limit, struct buffer *ret);
/* To a temporary name beside it, then renamed. "-" or NULL is standard output. */
bool write_output(const char *path, const char *data, size_t length);

/* The same for a buffer; one that overflowed (its limit, or no memory) is an error, and told. */
bool write_buffer(const char *path, const struct buffer *buffer);

bool color_wanted(FILE *to);
void print_command_help(const struct command *command, FILE *to);

extern const struct command command_init, command_lint, command_capture, command_diff, command_run, command_show, command_claim,
    command_report, command_key, command_sign, command_log, command_witness, command_pull, command_push, command_serve, command_verify,
    command_contest, command_audit, command_evidence, command_attribute, command_compare, command_calibrate, command_profile,
    command_export, command_import, command_merge, command_version, command_help;

#endif
