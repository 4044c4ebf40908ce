/* help, and what is generated from the command tables: manual pages and shell completion. */
#include <string.h>

#include "cli/command_help.h"

enum { FLAG_MAN, FLAG_BASH };

static const struct option_spec options[] = {[FLAG_MAN] = {"man", NULL, "the manual page of COMMAND, or of lynxbench, in troff"},
                                             [FLAG_BASH] = {"bash", NULL, "completion for bash: source it"}};

/* What a script branches on: the same in every page. */
static void print_exit_status(void) {
  (void)printf(".SH EXIT STATUS\n");
  for (size_t i = 0; i < n_exit_codes; i++) (void)printf(".TP\n.B %d\n%s\n", exit_codes[i].code, exit_codes[i].meaning);
}

static void print_man(const struct command *const *commands, const struct command *only) {
  (void)printf(".TH LYNXBENCH%s%s 1 \"\" \"lynxbench %s\"\n.SH NAME\nlynxbench%s%s \\- %s\n", only != NULL ? "-" : "",
               only != NULL ? only->name : "", LYNX_VERSION, only != NULL ? "-" : "", only != NULL ? only->name : "",
               only != NULL ? only->summary : "measure an AI workload on the whole stack that runs it");
  if (only == NULL) {
    (void)printf(".SH SYNOPSIS\n.B lynxbench\nCOMMAND [options]\n.SH COMMANDS\n");
    for (int i = 0; commands[i] != NULL; i++) (void)printf(".TP\n.B %s\n%s\n", commands[i]->name, commands[i]->summary);
    print_exit_status();
    return;
  }
  (void)printf(".SH SYNOPSIS\n.B lynxbench %s\n%s%s\n", only->name, only->usage, only->n_options > 0 ? " [options]" : "");
  if (only->details != NULL) (void)printf(".SH DESCRIPTION\n%s\n", only->details);
  if (only->n_options > 0) (void)printf(".SH OPTIONS\n");
  for (size_t i = 0; i < only->n_options; i++)
    (void)printf(".TP\n.B \\-\\-%s%s%s\n%s\n", only->options[i].name, only->options[i].argument != NULL ? " " : "",
                 only->options[i].argument != NULL ? only->options[i].argument : "", only->options[i].help);
  print_exit_status();
  (void)printf(".SH EXAMPLE\n.nf\n%s\n.fi\n", only->example);
}

static void print_bash(const struct command *const *commands) {
  (void)printf("_lynxbench() {\n  local word=${COMP_WORDS[COMP_CWORD]} list\n  case ${COMP_WORDS[1]} in\n");
  for (int i = 0; commands[i] != NULL; i++) {
    (void)printf("    %s) list='--help", commands[i]->name);
    for (size_t k = 0; k < commands[i]->n_options; k++) (void)printf(" --%s", commands[i]->options[k].name);
    (void)printf("' ;;\n");
  }
  (void)printf("  esac\n  if [ \"$COMP_CWORD\" = 1 ]; then list='");
  for (int i = 0; commands[i] != NULL; i++) (void)printf("%s%s", i > 0 ? " " : "", commands[i]->name);
  (void)printf("'; fi\n  case $word in\n    -*) COMPREPLY=($(compgen -W \"$list\" -- \"$word\")) ;;\n    *) COMPREPLY=($(compgen -f -- "
               "\"$word\")); if [ \"$COMP_CWORD\" = 1 ]; then COMPREPLY=($(compgen -W \"$list\" -- \"$word\")); fi ;;\n  esac\n}\ncomplete "
               "-o filenames -F _lynxbench lynxbench\n");
}

static int run(const struct arguments *arguments) {
  const struct command *const *commands = arguments->commands;
  const struct command *only = NULL;
  for (int i = 0; commands[i] != NULL && arguments->n_positional > 0; i++)
    if (strcmp(commands[i]->name, arguments->positional[0]) == 0) only = commands[i];
  if (arguments->n_positional > 0 && only == NULL) {
    (void)fprintf(stderr, "lynxbench help: there is no command '%s'\nnext: lynxbench --help\n", arguments->positional[0]);
    return EXIT_WRONG_INPUT;
  }
  if (arguments->option[FLAG_MAN] != NULL) print_man(commands, only);
  else if (arguments->option[FLAG_BASH] != NULL) print_bash(commands);
  else if (only != NULL) print_command_help(only, stdout);
  else
    for (int i = 0; commands[i] != NULL; i++) (void)printf("%-9s %s\n", commands[i]->name, commands[i]->summary);
  return EXIT_HOLDS;
}

const struct command command_help = {.name = "help",
                                     .summary = "help on a command; manual pages and completion",
                                     .usage = "[COMMAND]",
                                     .most = 1,
                                     .options = options,
                                     .n_options = LYNX_COUNT(options),
                                     .example = "build/lynxbench help run --man | man -l -",
                                     .run = run};
