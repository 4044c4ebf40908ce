/* lynxbench: the command line. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/root.h"
#include "cli/command.h"
#include "executor/library_ask.h"

static const struct {
  int code;
  const char *meaning;
} exit_codes[] = {{0, "done, and it holds"},
                  {1, "done, and it does not hold (claim refused, executors differ, not reproduced, audit failed)"},
                  {2, "the input or the usage is wrong"},
                  {3, "inconclusive, or nothing was measured"},
                  {4, "the conditions make the measurement invalid (disk full, instrument-limited, abort SLO)"},
                  {5, "the executor cannot be reached, or failed"},
                  {70, "a bug of ours"},
                  {130, "interrupted; what there is is sealed as incomplete"}};

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
  for (size_t i = 0; i < LYNX_COUNT(exit_codes); i++) (void)fprintf(to, "  %-4d%s\n", exit_codes[i].code, exit_codes[i].meaning);
  (void)fprintf(to, "\n`lynxbench COMMAND --help` tells more, with an example.\n");
}

void print_command_help(const struct command *command, FILE *to) {
  (void)fprintf(to, "lynxbench %s: %s\n\nusage: lynxbench %s%s%s%s\n", command->name, command->summary, command->name,
                command->usage[0] != 0 ? " " : "", command->usage, command->n_options > 0 ? " [options]" : "");
  if (command->details != NULL) (void)fprintf(to, "\n%s\n", command->details);
  if (command->n_options > 0) (void)fprintf(to, "\noptions:\n");
  for (size_t i = 0; i < command->n_options; i++) {
    char name[64];
    const struct option_spec *o = &command->options[i];
    (void)snprintf(name, sizeof name, "--%s%s%s", o->name, o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
    (void)fprintf(to, "  %-26s %s\n", name, o->help);
  }
  (void)fprintf(to, "\nexample:\n  %s\n", command->example);
}

const char *argument_option(const struct command *command, const struct arguments *arguments, const char *name) {
  for (size_t i = 0; i < command->n_options; i++)
    if (strcmp(command->options[i].name, name) == 0) return arguments->option[i];
  lynx_assert(!"an option of this command");
  return NULL;
}

int report_error(const struct lynx_error *error) {
  char text[1100], safe[1100];
  lynx_error_text(error, text, sizeof text);
  (void)fprintf(stderr, "lynxbench: %s\n", text_sanitise(safe, sizeof safe, text, strlen(text)));
  switch (error->status) {
    case LYNX_MACHINE: return EXIT_CONDITIONS;
    case LYNX_PROTOCOL: return EXIT_EXECUTOR;
    default: return EXIT_WRONG_INPUT;
  }
}

bool read_file(const char *path, size_t limit, struct buffer *ret) {
  const struct root root = {""};
  struct lynx_error error = {0};
  buffer_init(ret, limit);
  enum lynx_status status = root_read(&root, strcmp(path, "-") == 0 ? "/dev/stdin" : path, ret, &error);
  if (status == LYNX_OK) return true;
  (void)snprintf(error.file, sizeof error.file, "%s", path);
  if (status == LYNX_LIMIT)
    (void)snprintf(error.message, sizeof error.message, "larger than the %zu bytes that such a file may have", limit);
  if (status == LYNX_NOT_FOUND) (void)snprintf(error.message, sizeof error.message, "there is no such file (from this folder)");
  (void)report_error(&error);
  buffer_release(ret);
  return false;
}

/* A device, a pipe or a link is written through, not replaced. */
static int write_through(const char *path, const char *data, size_t length) {
  int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return errno;
  int why = file_write_all(fd, data, length) ? 0 : errno;
  return close(fd) != 0 && why == 0 ? errno : why;
}

bool write_output(const char *path, const char *data, size_t length) {
  struct stat info;
  if (path == NULL || strcmp(path, "-") == 0) {
    (void)fflush(stdout); /* what was printed before comes before; a failure shows in the next line */
    bool good = file_write_all(STDOUT_FILENO, data, length);
    if (!good && errno != EPIPE) (void)fprintf(stderr, "lynxbench: standard output: %s\n", strerror(errno));
    return good;
  }
  bool in_place = lstat(path, &info) == 0 && !S_ISREG(info.st_mode);
  int why = in_place ? write_through(path, data, length) : file_replace(path, data, length);
  if (why != 0) (void)fprintf(stderr, "lynxbench: %s: cannot be written: %s; name another file\n", path, strerror(why));
  return why == 0;
}

bool write_buffer(const char *path, const struct buffer *buffer) {
  if (!buffer->overflowed) return write_output(path, buffer->data != NULL ? buffer->data : "", buffer->length);
  (void)fprintf(stderr, "lynxbench: the output would pass %zu bytes, or there is no memory for it\n", buffer->limit);
  return false;
}

bool color_wanted(FILE *to) {
  const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");
  if (no != NULL && no[0] != 0) return false;
  if (force != NULL && strcmp(force, "0") != 0) return true;
  return isatty(fileno(to)) && term != NULL && strcmp(term, "dumb") != 0;
}

static int wrong_usage(const struct command *command, const char *what, const char *found) {
  (void)fprintf(stderr, "lynxbench %s: %s%s%s%s\nusage: lynxbench %s %s%s\nnext: lynxbench %s --help\n", command->name, what,
                found != NULL ? " '" : "", found != NULL ? found : "", found != NULL ? "'" : "", command->name, command->usage,
                command->n_options > 0 ? " [options]" : "", command->name);
  return EXIT_WRONG_INPUT;
}

static int run_command(const struct command *command, int argc, char **argv) {
  struct arguments arguments = {0};
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
