/* help, and what is generated from the command tables: manual pages and shell completion. */
#include <string.h>

#include "cli/command_help.h"
#include "cli/completion.h"
#include "cli/manual.h"

enum { FLAG_ALL, FLAG_MAN, FLAG_BASH, FLAG_ZSH, FLAG_FISH };

static const struct option_spec options[] = {[FLAG_ALL] = SWITCH("all", "every command with what it does, and the exit codes"),
                                             [FLAG_MAN] = SWITCH("man", "the manual page of COMMAND, or of lynxbench, in troff"),
                                             [FLAG_BASH] = SWITCH("bash", "completion for bash: source it"),
                                             [FLAG_ZSH] = SWITCH("zsh", "completion for zsh: the file _lynxbench in a folder of fpath"),
                                             [FLAG_FISH] = SWITCH("fish", "completion for fish: source it")};

/* "run", or "ledger push" as one word or two. */
static const struct command *named(const struct command_list *list, const struct arguments *arguments) {
  char name[80];
  (void)snprintf(name, sizeof name, "%s%s%s", arguments->positional[0], arguments->n_positional > 1 ? " " : "",
                 arguments->n_positional > 1 ? arguments->positional[1] : "");
  for (size_t i = 0; list->items[i] != NULL; i++)
    if (strcmp(list->items[i]->name, name) == 0) return list->items[i];
  complain("lynxbench help: there is no command '%s'\nnext: lynxbench help --all\n", name);
  return NULL;
}

static void print_all(const struct command_list *list) {
  print_commands(list, stdout);
  say("\nexit codes:\n");
  for (size_t i = 0; i < n_exit_codes; i++) say("  %-4d%s\n", exit_codes[i].code, exit_codes[i].meaning);
}

static int run(const struct arguments *arguments) {
  const struct command *const *commands = arguments->list->items;
  const struct command *only = arguments->n_positional > 0 ? named(arguments->list, arguments) : NULL;
  if (arguments->n_positional > 0 && only == NULL) return EXIT_WRONG_INPUT;
  if (arguments->option[FLAG_MAN] != NULL) print_manual(arguments->list, only);
  else if (arguments->option[FLAG_BASH] != NULL) print_bash_completion(commands);
  else if (arguments->option[FLAG_ZSH] != NULL) print_zsh_completion(commands);
  else if (arguments->option[FLAG_FISH] != NULL) print_fish_completion(commands);
  else if (only != NULL) print_command_help(only, stdout);
  else if (arguments->option[FLAG_ALL] != NULL) print_all(arguments->list);
  else print_help(arguments->list, stdout);
  return EXIT_HOLDS;
}

const struct command command_help = {.name = "help",
                                     .summary = "show help, manual pages and shell completion",
                                     .usage = "[COMMAND]",
                                     .most = 2,
                                     .options = options,
                                     .n_options = LYNX_COUNT(options),
                                     .example = "build/lynxbench help run --man | man -l -",
                                     .run = run};
