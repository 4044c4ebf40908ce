/* lynxbench: the command line. */
#include <signal.h>
#include <string.h>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "executor/library_ask.h"
#include "experiment/undo.h"

static void print_help(FILE *to) {
  (void)fprintf(to, "lynxbench measures an AI workload on the whole stack that runs it, by a method agreed in advance,\nand keeps a record "
                    "that anybody can check.\n\nusage: lynxbench COMMAND [options]\n\ncommands:\n");
  for (int i = 0; commands[i] != NULL; i++) (void)fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
  (void)fprintf(to, "\nA first measurement of a server of yours:\n"
                    "  lynxbench init --endpoint http://127.0.0.1:8000 --model my-model --rate 2 --out first.yaml\n"
                    "  lynxbench run first.yaml --out first.lynx\n"
                    "  lynxbench claim first.lynx\n"
                    "  lynxbench report first.lynx --out first.html\n"
                    "\nexit codes:\n");
  for (size_t i = 0; i < n_exit_codes; i++) (void)fprintf(to, "  %-4d%s\n", exit_codes[i].code, exit_codes[i].meaning);
  (void)fprintf(to, "\n`lynxbench COMMAND --help` tells more, with an example.\n");
}

static int wrong_usage(const struct command *command, const char *what, const char *found) {
  (void)fprintf(stderr, "lynxbench %s: %s%s%s%s\nusage: lynxbench %s %s%s\nnext: lynxbench %s --help\n", command->name, what,
                found != NULL ? " '" : "", found != NULL ? found : "", found != NULL ? "'" : "", command->name, command->usage,
                command->n_options > 0 ? " [options]" : "", command->name);
  return EXIT_WRONG_INPUT;
}

/* A leak checker looks at its own process as a debugger does, which the cage forbids. */
#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = true };
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
#else
enum { SANITIZED = false };
#endif

/* Whoever comes next brings back what a killed run and its killed watchdog left. */
static void undo_left_behind(void) {
  const struct root root = {""};
  struct undo_left left = undo_restore_left(&root);
  if (left.n_restored > 0)
    (void)fprintf(stderr, "note: what %d killed run%s had perturbed was undone\n", left.n_restored, left.n_restored > 1 ? "s" : "");
  if (left.n_failed > 0)
    (void)fprintf(
        stderr,
        "warning: what a killed run had perturbed cannot be undone: %s; `lynxbench perturb --restore` as who ran it, or remove the "
        "file if nothing is perturbed any more\n",
        left.failed);
}

static int run_command(const struct command *command, int argc, char **argv) {
  struct arguments arguments = {.commands = commands};
  lynx_assert(command->n_options <= OPTIONS_MAX);
  bool only_positional = false;
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i];
    if (only_positional || word[0] != '-' || word[1] == 0) {
      if (arguments.n_positional == command->most)
        return wrong_usage(command, "too many arguments; the first that is not understood is", word);
      arguments.positional[arguments.n_positional++] = word;
      continue;
    }
    if (strcmp(word, "--") == 0) {
      only_positional = true;
      continue;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
      print_command_help(command, stdout);
      return EXIT_HOLDS;
    }
    const char *equals = strchr(word, '=');
    size_t n = equals != NULL ? (size_t)(equals - word) : strlen(word), o = 0;
    while (o < command->n_options &&
           !(n == strlen(command->options[o].name) + 2 && strncmp(word + 2, command->options[o].name, n - 2) == 0 && word[1] == '-'))
      o++;
    if (o == command->n_options) return wrong_usage(command, "there is no option", word);
    if (command->options[o].argument == NULL) {
      if (equals != NULL) return wrong_usage(command, "this option takes no value:", word);
      arguments.option[o] = "";
    } else if (equals != NULL) arguments.option[o] = equals + 1;
    else if (i + 1 < argc) arguments.option[o] = argv[++i];
    else return wrong_usage(command, "this option needs a value:", word);
  }
  if (arguments.n_positional < command->least) return wrong_usage(command, "an argument is missing:", command->usage);
  if (strcmp(command->name, "perturb") != 0) undo_left_behind(); /* it tells by itself */
  struct confinement confinement = {.ledger = NULL};
  if (command->confines != NULL && command->confines(&arguments, &confinement)) {
    if (!confine_sound(command, &arguments, &confinement)) return EXIT_WRONG_INPUT;
    if (!SANITIZED) return confine_run(command, &arguments, &confinement);
  }
  return command->run(&arguments);
}

int main(int argc, char **argv) {
  (void)signal(SIGPIPE, SIG_IGN);
  if (argc < 2) {
    print_help(stderr);
    return EXIT_WRONG_INPUT;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(stdout);
    return EXIT_HOLDS;
  }
  if (argc == 3 && strcmp(argv[1], LIBRARY_ASK_OPTION) == 0) library_ask_main(argv[2]); /* by a capture, of itself */
  const char *name = strcmp(argv[1], "--version") == 0 ? "version" : argv[1];
  for (int i = 0; commands[i] != NULL; i++)
    if (strcmp(commands[i]->name, name) == 0) return run_command(commands[i], argc - 2, argv + 2);
  (void)fprintf(stderr, "lynxbench: there is no command '%s'\nnext: lynxbench --help\n", name);
  return EXIT_WRONG_INPUT;
}
