/* cli/command.h: one table per subcommand; from it come the parser, --help, the manual page and completion.
 *
 * cli is the only place that prints errors and exits. One file per subcommand, listed in commands.c. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <string.h>

#include "base/typed_value.h"
#include "cli/output.h"

enum { ARGUMENTS_MAX = 64, FILES_MAX = 4096, OPTIONS_MAX = 24 }; /* FILES_MAX: of a command that takes so many */

struct option_spec {
  const char *name;     /* without the dashes */
  const char *argument; /* what it takes; NULL: a switch; "FILE ...": all words up to the next option */
  const char *help;
  /* The parser refuses what is none of it, in one form for all commands, so that a command reads what is right. */
  enum value_type type;
  double least, most;   /* both are accepted */
  const char *accepted; /* in words, for who is refused */
};

#define OPTION(name, argument, help)                                                                                                       \
  { name, argument, help, VALUE_TEXT, 0, 0, NULL }
#define SWITCH(name, help)                                                                                                                 \
  { name, NULL, help, VALUE_TEXT, 0, 0, NULL }
#define OPTION_WITH(name, argument, help, type, least, most, accepted)                                                                     \
  { name, argument, help, type, least, most, accepted }
/* Rows that many commands have. */
#define SWITCH_QUIET SWITCH("quiet", "no progress")
#define SWITCH_JSON SWITCH("json", "JSON")

struct command;
struct confinement;

/* A group goes as far as the next one's first command. */
struct command_group {
  const char *title;
  const struct command *first;
};

struct command_list {
  const struct command *const *items; /* in the order of the groups; ends in NULL */
  const struct command_group *groups; /* ends in NULL */
};

struct arguments {
  const struct command_list *list; /* of all commands, for help */
  const char *positional[FILES_MAX];
  int n_positional;
  const char *option[OPTIONS_MAX];   /* by index of the spec: its value (of several the first), "" for a switch that was given, NULL */
  const char *listed[ARGUMENTS_MAX]; /* the values of options that take several, in the order of the command line */
  size_t listed_by[ARGUMENTS_MAX], n_listed;
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
  /* Does this call parse what others wrote? Then it runs in a cage (cli/confine.h), and says what it needs there. NULL: no. */
  bool (*confines)(const struct arguments *arguments, struct confinement *ret);
};

/* "push" of "ledger push"; NULL: its name is one word. */
static inline const char *command_verb(const struct command *command) {
  const char *blank = strchr(command->name, ' ');
  return blank != NULL ? blank + 1 : NULL;
}

/* What the first argument of `ledger` may be, besides the commands of two words. */
#define LEDGER_ACTIONS "create, policy, list, entry, proof, checkpoint, add, put, get, export"

#endif
