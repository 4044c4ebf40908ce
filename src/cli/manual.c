#include "cli/manual.h"

#include <string.h>

struct named {
  const char *name, *what;
};

static const struct named environment[] = {
    {"LYNXBENCH_LEDGER", "the ledger, where no --ledger is given: a file, or an address"},
    {"LYNXBENCH_KEY", "the team's private key, where no --key is given"},
    {"LYNXBENCH_PASSPHRASE, LYNXBENCH_PASSPHRASE_FILE", "the passphrase of that key, or the file that holds it"},
    {"SSH_AUTH_SOCK", "an agent that signs with a key that it keeps"},
    {"LYNXBENCH_READER", "a reader's token, sent to every ledger that is read over HTTP (lynxbench ledger reader)"},
    {"LYNXBENCH_READERS", "the file of readers, of serve and reader, where no --readers is given"},
    {"LYNXBENCH_LOG_KEY", "the file of the log's own key, for a ledger in PostgreSQL"},
    {"LYNXBENCH_MEMORY_AT_MOST", "the most memory, in bytes, that a command takes which reads what others wrote (default: the machine's)"},
    {"LYNXBENCH_CA_FILE", "certificates that TLS trusts, instead of the system's"},
    {"LYNXBENCH_PARTS", "how many pods an Indexed Job of Kubernetes has, for run --part auto"},
    {"LYNXBENCH_ORT_LIB", "the library of ONNX Runtime, for workload.driver: onnxruntime"},
    {"NO_COLOR, CLICOLOR_FORCE, TERM", "no colours; colours also in a pipe; which terminal it is"},
    {"TMPDIR", "where temporary files lie (default: /tmp)"},
    {"XDG_STATE_HOME, XDG_CACHE_HOME, XDG_CONFIG_HOME", "where the files below lie (default: in HOME)"},
    {"HOME, PATH, PYTHONPATH", "where the files below lie; where the programs that you name are looked for; passed on to what is started"},
};

static const struct named files[] = {
    {"~/.local/state/lynxbench/", "what was last seen of each ledger, resources that a killed run left slowed, locks"},
    {"~/.cache/lynxbench/digests/", "digests of model files, so that they are read once"},
    {"~/.config/systemd/user/lynxbench-NAME.timer", "a schedule; of root in /etc/systemd/system"},
};

/* Nothing in a text is a request or an escape. */
static void put(const char *text) {
  bool begins = true;
  for (const char *c = text; *c != 0; c++) {
    if (begins && (*c == '.' || *c == '\'')) (void)fputs("\\&", stdout);
    if (*c == '\\') (void)fputs("\\e", stdout);
    else if (*c == '-') (void)fputs("\\-", stdout);
    else (void)fputc(*c, stdout);
    begins = *c == '\n';
  }
}

static void put_named(const char *title, const struct named *items, size_t n) {
  (void)printf(".SH %s\n", title);
  for (size_t i = 0; i < n; i++) {
    (void)printf(".TP\n.B %s\n", items[i].name);
    put(items[i].what);
    (void)printf("\n");
  }
}

static void put_options(const struct command *command) {
  if (command->n_options > 0) (void)printf(".SH OPTIONS\n");
  for (size_t i = 0; i < command->n_options; i++) {
    const struct option_spec *o = &command->options[i];
    (void)printf(".TP\n.B \\-\\-%s%s%s\n", o->name, o->argument != NULL ? " " : "", o->argument != NULL ? o->argument : "");
    put(o->help);
    (void)printf("\n");
  }
}

/* What lies in columns stays in them. */
static void put_details(const char *details) {
  (void)printf(".SH DESCRIPTION\n.nf\n");
  put(details);
  (void)printf("\n.fi\n");
}

static void put_commands(const struct command_list *list) {
  const struct command_group *next = list->groups;
  (void)printf(".SH COMMANDS\n");
  for (int i = 0; list->items[i] != NULL; i++) {
    if (list->items[i] == next->first) (void)printf(".SS %s\n", next++->title);
    (void)printf(".TP\n.B %s\n", list->items[i]->name);
    put(list->items[i]->summary);
    (void)printf("\n");
  }
}

/* What a script branches on: the same in every page. */
static void put_exit_status(void) {
  (void)printf(".SH EXIT STATUS\n");
  for (size_t i = 0; i < n_exit_codes; i++) {
    (void)printf(".TP\n.B %d\n", exit_codes[i].code);
    put(exit_codes[i].meaning);
    (void)printf("\n");
  }
}

void print_manual(const struct command_list *list, const struct command *only) {
  const char *dash = only != NULL ? "-" : "";
  char name[80] = "";
  if (only != NULL) (void)snprintf(name, sizeof name, "%s", only->name);
  for (char *space = strchr(name, ' '); space != NULL; space = strchr(space, ' ')) *space = '-';
  (void)printf(".TH LYNXBENCH%s%s 1 \"\" \"lynxbench %s\"\n.SH NAME\nlynxbench%s%s \\- ", dash, name, LYNX_VERSION, dash, name);
  put(only != NULL ? only->summary : "measure an AI workload on the whole stack that runs it");
  (void)printf("\n.SH SYNOPSIS\n.B lynxbench %s\n%s%s\n", only != NULL ? only->name : "COMMAND", only != NULL ? only->usage : "",
               only == NULL || only->n_options > 0 ? " [options]" : "");
  if (only != NULL && only->details != NULL) put_details(only->details);
  if (only != NULL) put_options(only);
  else put_commands(list);
  put_exit_status();
  put_named("ENVIRONMENT", environment, LYNX_COUNT(environment));
  put_named("FILES", files, LYNX_COUNT(files));
  if (only != NULL) {
    (void)printf(".SH EXAMPLES\n.nf\n");
    put(only->example);
    (void)printf("\n.fi\n.SH SEE ALSO\n.BR lynxbench (1)\n");
  }
}
