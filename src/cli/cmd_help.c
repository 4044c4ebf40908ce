/* help, and what is generated from the command tables: manual pages and shell completion. */
#include <string.h>

#include "cli/command_help.h"
#include "cli/completion.h"
#include "cli/manual.h"

enum { FLAG_MAN, FLAG_BASH, FLAG_ZSH, FLAG_FISH };

static const struct option_spec options[] = {[FLAG_MAN] = SWITCH("man", "the manual page of COMMAND, or of lynxbench, in troff"),
                                             [FLAG_BASH] = SWITCH("bash", "completion for bash: source it"),
                                             [FLAG_ZSH] = SWITCH("zsh", "completion for zsh: the file _lynxbench in a folder of fpath"),
                                             [FLAG_FISH] = SWITCH("fish", "completion for fish: source it")};

static int run(const struct arguments *arguments) {
  const struct command *const *commands = arguments->list->items;
  const struct command *only = NULL;
  for (int i = 0; commands[i] != NULL && arguments->n_positional > 0; i++)
    if (strcmp(commands[i]->name, arguments->positional[0]) == 0) only = commands[i];
  if (arguments->n_positional > 0 && only == NULL) {
    complain("lynxbench help: there is no command '%s'\nnext: lynxbench --help\n", arguments->positional[0]);
    return EXIT_WRONG_INPUT;
  }
  if (arguments->option[FLAG_MAN] != NULL) print_manual(arguments->list, only);
  else if (arguments->option[FLAG_BASH] != NULL) print_bash_completion(commands);
  else if (arguments->option[FLAG_ZSH] != NULL) print_zsh_completion(commands);
  else if (arguments->option[FLAG_FISH] != NULL) print_fish_completion(commands);
  else if (only != NULL) print_command_help(only, stdout);
  else
    for (int i = 0; commands[i] != NULL; i++) say("%-10s %s\n", commands[i]->name, commands[i]->summary);
  return EXIT_HOLDS;
}

const struct command command_help = {.name = "help",
                                     .summary = "show help, manual pages and shell completion",
                                     .usage = "[COMMAND]",
                                     .most = 1,
                                     .options = options,
                                     .n_options = LYNX_COUNT(options),
                                     .example = "build/lynxbench help run --man | man -l -",
                                     .run = run};
