/* lynxbench: the command line. */
#include <signal.h>
#include <string.h>

#include "base/words.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/option_value.h"
#include "cli/version.h"
#include "executor/library_ask.h"
#include "telemetry/unwound.h"
#include "experiment/gpu_share.h"
#include "experiment/undo.h"

enum { NEAR = 3 }; /* mistyped letters, one less at most */

static int wrong_usage(const struct command *command, const char *what, const char *found) {
  complain("lynxbench %s: %s%s%s%s\nusage: lynxbench %s %s%s\nnext: lynxbench %s --help\n", command->name, what, found != NULL ? " '" : "",
           found != NULL ? found : "", found != NULL ? "'" : "", command->name, command->usage, command->n_options > 0 ? " [options]" : "",
           command->name);
  return EXIT_WRONG_INPUT;
}

/* NULL: none is near. One that stands behind another word may have been meant without it. */
static const char *nearest_command(const char *name) {
  static const char *const elsewhere[][2] = {
      {"claim", "show --claim"},         {"report", "show --html"}, {"log", "ledger"},
      {"metrics", "history --export"},   {"version", "--version"},  {"envelope", "calibrate --only machine"},
      {"sample", "watch --samples-only"}};
  const char *found = NULL;
  for (size_t i = 0; i < LYNX_COUNT(elsewhere); i++)
    if (strcmp(name, elsewhere[i][0]) == 0) return elsewhere[i][1];
  for (size_t i = 0, best = NEAR; all_commands.items[i] != NULL; i++) {
    const char *own = all_commands.items[i]->name, *verb = command_verb(all_commands.items[i]);
    size_t distance = words_distance(name, own);
    if (verb != NULL && strcmp(name, verb) == 0) distance = 0;
    if (distance < best) best = distance, found = own;
  }
  return found;
}

/* One of two words before one of its first word; ret_words: how many. NULL: there is none. */
static const struct command *find_command(int argc, char **argv, int *ret_words) {
  const struct command *found = NULL;
  for (size_t i = 0; all_commands.items[i] != NULL; i++) {
    const char *name = all_commands.items[i]->name;
    size_t first = strcspn(name, " ");
    if (strlen(argv[1]) != first || strncmp(argv[1], name, first) != 0) continue;
    bool two = name[first] == ' ';
    if (two && (argc < 3 || strcmp(argv[2], name + first + 1) != 0)) continue;
    if (found != NULL && !two) continue;
    found = all_commands.items[i];
    *ret_words = two ? 2 : 1;
  }
  return found;
}

static int wrong_option(const struct command *command, const char *word) {
  char typed[64], what[160] = "there is no option";
  size_t n = strcspn(word, "="), dashes = strspn(word, "-");
  (void)snprintf(typed, sizeof typed, "%.*s", (int)(n > dashes ? n - dashes : 0), word + dashes);
  for (size_t i = 0, best = NEAR; i < command->n_options; i++)
    if (words_distance(typed, command->options[i].name) < best) {
      best = words_distance(typed, command->options[i].name);
      (void)snprintf(what, sizeof what, "did you mean --%s? There is no option", command->options[i].name);
    }
  return wrong_usage(command, what, word);
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
    complain("note: what %d killed run%s had perturbed was undone\n", left.n_restored, left.n_restored > 1 ? "s" : "");
  if (left.n_failed > 0)
    complain("warning: what a killed run had perturbed cannot be undone: %s; `lynxbench perturb --restore` as who ran it, or remove the "
             "file if nothing is perturbed any more\n",
             left.failed);
}

/* The values of an option that takes several: all words up to the next option. False: there are too many. */
static bool take_list(struct arguments *arguments, size_t option, int argc, char **argv, int *i) {
  arguments->option[option] = argv[*i + 1];
  while (*i + 1 < argc && (argv[*i + 1][0] != '-' || argv[*i + 1][1] == 0)) {
    if (arguments->n_listed == ARGUMENTS_MAX) return false;
    arguments->listed_by[arguments->n_listed] = option;
    arguments->listed[arguments->n_listed++] = argv[++*i];
  }
  return true;
}

static int run_command(const struct command *command, int argc, char **argv) {
  struct arguments arguments = {.list = &all_commands};
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
    if (o == command->n_options) return wrong_option(command, word);
    if (command->options[o].argument == NULL) {
      if (equals != NULL) return wrong_usage(command, "this option takes no value:", word);
      arguments.option[o] = "";
    } else if (text_ends_with(command->options[o].argument, " ...")) {
      if (equals != NULL || i + 1 == argc || (argv[i + 1][0] == '-' && argv[i + 1][1] != 0))
        return wrong_usage(command, "this option needs a value, and others may follow it:", word);
      if (!take_list(&arguments, o, argc, argv, &i)) return wrong_usage(command, "too many values of", word);
    } else if (equals != NULL) arguments.option[o] = equals + 1;
    else if (i + 1 < argc) arguments.option[o] = argv[++i];
    else return wrong_usage(command, "this option needs a value:", word);
    if (command->options[o].argument != NULL && !option_value_check(command, &command->options[o], arguments.option[o]))
      return EXIT_WRONG_INPUT;
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

static int main_of(int argc, char **argv) {
  int words = 0;
  if (argc < 2) {
    print_help(&all_commands, stderr);
    return EXIT_WRONG_INPUT;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_help(&all_commands, stdout);
    return EXIT_HOLDS;
  }
  if (strcmp(argv[1], "--version") == 0) return print_version(argc == 3 && strcmp(argv[2], "--verbose") == 0);
  if (argc == 3 && strcmp(argv[1], LIBRARY_ASK_OPTION) == 0) library_ask_main(argv[2]); /* by a capture, of itself */
  if (argc == 3 && strcmp(argv[1], UNWIND_OPTION) == 0) unwound_main(argv[2]);          /* by a profiler, of itself */
  if (argc == 3 && strcmp(argv[1], GPU_SHARE_OPTION) == 0) gpu_share_main(argv[2]);     /* by a perturber, of itself */
  const struct command *command = find_command(argc, argv, &words);
  if (command != NULL) return run_command(command, argc - 1 - words, argv + 1 + words);
  const char *meant = nearest_command(argv[1]);
  complain("lynxbench: there is no command '%s'%s%s%s\nnext: lynxbench --help\n", argv[1], meant != NULL ? "; did you mean '" : "",
           meant != NULL ? meant : "", meant != NULL ? "'?" : "");
  return EXIT_WRONG_INPUT;
}

static bool is_command(const char *word, size_t length) {
  for (int i = 0; all_commands.items[i] != NULL; i++) {
    const char *name = all_commands.items[i]->name;
    if (strcspn(name, " ") == length && strncmp(name, word, length) == 0) return true;
  }
  return false;
}

int main(int argc, char **argv) {
  output_begin();
  if (argc > 0) output_called(argv[0], is_command);
  (void)signal(SIGPIPE, SIG_IGN);
  return output_finish(main_of(argc, argv));
}
