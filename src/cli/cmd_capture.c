#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/endpoint.h"
#include "base/number.h"
#include "base/random.h"
#include "base/shell.h"
#include "cli/capture_target.h"
#include "cli/command.h"
#include "cli/text_file.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "executor/disclose.h"
#include "executor/import.h"
#include "report/inventory.h"
#include "report/text.h"

enum { HOSTS_MAX = ARGUMENTS_MAX, SHOWN_MAX = 64 };

enum {
  FLAG_ENDPOINT,
  FLAG_PID,
  FLAG_MERGE,
  FLAG_AGAINST,
  FLAG_DIGEST,
  FLAG_DIGEST_ANEW,
  FLAG_QUIET_ROUTES,
  FLAG_ASK_LIBRARIES,
  FLAG_SHOW_ARGUMENTS,
  FLAG_DISCLOSE,
  FLAG_FORMAT,
  FLAG_ROOT,
  FLAG_OUT,
  FLAG_JSON
};

static const struct option_spec options[] = {
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "find the process that listens there, and capture it"),
    [FLAG_PID] = OPTION_WITH("pid", "N", "capture this serving process", VALUE_COUNT, 1, INT32_MAX, "a process id, 1 or more"),
    [FLAG_MERGE] = SWITCH("merge", "join captures of several hosts: ROLE=FILE ..., ROLE= for one that was not captured"),
    [FLAG_AGAINST] = OPTION("against", "FILE", "compare with an earlier capture; exit 1 if the executor moved"),
    [FLAG_DIGEST] = SWITCH("digest", "read the model's weights whole for their digest, however long it takes"),
    [FLAG_DIGEST_ANEW] = SWITCH("digest-anew", "the same, also where a digest is remembered"),
    [FLAG_QUIET_ROUTES] = SWITCH("quiet-routes", "do not ask the server's own routes (/version, /props, ...)"),
    [FLAG_ASK_LIBRARIES] = SWITCH("ask-libraries", "load the libraries that the executor maps, to ask what they select (not as root)"),
    [FLAG_SHOW_ARGUMENTS] = OPTION(
        "show-arguments", "LIST",
        "show the values of these arguments too (--mode,--level); of others that are not known there are salted digests"),
    [FLAG_DISCLOSE] = OPTION("disclose", "LEVEL", "full, shared (no serials, hosts, people) or public (no paths and arguments either)"),
    [FLAG_FORMAT] = OPTION("format", "NAME", "text, json, markdown, cyclonedx (ML-BOM) or mlperf (system description)"),
    [FLAG_ROOT] = OPTION("root", "DIR", "read a recorded /proc and /sys below DIR instead of this machine"),
    [FLAG_OUT] = OPTION("out", "FILE", "write to FILE (JSON, if no format is given)"),
    [FLAG_JSON] = SWITCH("json", "JSON on standard output")};

/* "client=a.json" "server-1=b.json" "load-balancer=" */
static bool merge(const struct arguments *arguments, struct fact_list *facts) {
  const char *roles[HOSTS_MAX];
  static char names[HOSTS_MAX][81];
  for (int i = 0; i < arguments->n_positional; i++) {
    const char *argument = arguments->positional[i], *equals = strchr(argument, '=');
    if (equals == NULL || equals == argument || equals - argument > 80 || strcspn(argument, "/.") < (size_t)(equals - argument)) {
      complain("lynxbench capture: --merge: found '%s'; accepted: ROLE=FILE, such as server-1=gpu-7.json; a role holds no '/' and no '.'\n",
               argument);
      return false;
    }
    (void)snprintf(names[i], sizeof names[i], "%.*s", (int)(equals - argument), argument);
    roles[i] = names[i];
    for (int k = 0; k < i; k++)
      if (strcmp(names[k], names[i]) == 0) {
        complain("lynxbench capture: --merge: the role '%s' is given twice; accepted: one file for each role\n", names[i]);
        return false;
      }
    struct fact_list one = {0};
    bool captured = equals[1] != 0, good = !captured || capture_file(equals + 1, &one);
    if (good) capture_join(facts, names[i], captured ? &one : NULL);
    fact_list_release(&one);
    if (!good) return false;
  }
  capture_join_clocks(facts, roles, (size_t)arguments->n_positional);
  fact_sort(facts);
  return true;
}

bool capture_text(const char *path, const struct buffer *text, struct fact_list *facts) {
  struct lynx_error error = {0};
  if (capture_import(text->data, text->length, facts, &error) == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

bool capture_file(const char *path, struct fact_list *facts) {
  struct buffer text;
  if (!text_file_read(path, CAPTURE_FILE_MAX, &text, NULL)) return false;
  bool good = capture_text(path, &text, facts);
  buffer_release(&text);
  return good;
}

bool capture_target(const char *command, const char *endpoint_url, const char *pid, const struct root *root, struct capture_request *ret) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  char proc[64], line[64];
  ret->endpoint = endpoint_url;
  if (pid != NULL) (void)number_int64(pid, strlen(pid), &ret->pid); /* checked as it was read */
  if (endpoint_url != NULL && endpoint_parse(endpoint_url, &endpoint, &error) != LYNX_OK) {
    lynx_error_at(&error, NULL, 0, "--endpoint");
    (void)report_error(&error);
    return false;
  }
  (void)snprintf(proc, sizeof proc, "/proc/%lld/status", (long long)ret->pid);
  if (pid != NULL && !root_read_line(root, proc, line, sizeof line)) {
    complain("lynxbench %s: --pid: found %s; accepted: a process that runs on this machine\n", command, pid);
    return false;
  }
  return true;
}

static bool capture(const struct arguments *arguments, struct fact_list *facts) {
  struct root root = {""};
  struct capture_request request = {.root = &root, .clock = &clock_system};
  struct stat info;
  if (arguments->option[FLAG_ROOT] != NULL) root.path = arguments->option[FLAG_ROOT];
  if (root.path[0] != 0 && (stat(root.path, &info) != 0 || !S_ISDIR(info.st_mode))) {
    complain("lynxbench capture: --root: found '%s'; accepted: a directory that holds a recorded proc and sys\n", root.path);
    return false;
  }
  if (!capture_target("capture", arguments->option[FLAG_ENDPOINT], arguments->option[FLAG_PID], &root, &request)) return false;
  request.ask_routes = arguments->option[FLAG_QUIET_ROUTES] == NULL;
  request.digest_anew = arguments->option[FLAG_DIGEST_ANEW] != NULL;
  request.ask_libraries = arguments->option[FLAG_ASK_LIBRARIES] != NULL;
  if (arguments->option[FLAG_DIGEST] != NULL || request.digest_anew) {
    request.digest_budget = INT64_MAX;
    request.deadline_ns = (int64_t)24 * 3600 * 1000000000; /* weights of a terabyte are read in hours */
    complain("reading the model's weights for their digest: about 1 s for each GB, once; it is remembered\n");
  }
  struct arena arena = {0};
  const char *shown[SHOWN_MAX];
  char *list = arena_copy(&arena, arguments->option[FLAG_SHOW_ARGUMENTS] != NULL ? arguments->option[FLAG_SHOW_ARGUMENTS] : ""), *rest;
  for (char *one = strtok_r(list, ", ", &rest); one != NULL && request.n_show_arguments < SHOWN_MAX; one = strtok_r(NULL, ", ", &rest))
    shown[request.n_show_arguments++] = one;
  request.show_arguments = shown;
  capture_run(&request, facts);
  arena_release(&arena);
  return true;
}

/* 128 random bits: what was withheld cannot be guessed by trying. */
static bool give_salt(struct fact_list *facts) {
  uint8_t random[16];
  if (!random_salt(random, sizeof random)) return false;
  (void)hex_encode(random, sizeof random, facts->salt);
  return true;
}

/* What moved since an earlier capture. */
static int hold_against(const char *path, const struct fact_list *facts, struct buffer *out) {
  struct fact_list before = {0};
  struct difference_list differences = {0};
  int code = EXIT_WRONG_INPUT;
  if (capture_file(path, &before)) {
    capture_diff(&before, facts, &differences);
    code = !text_diff(&differences, NULL, false, color_wanted(stdout), out) ? EXIT_CONDITIONS
           : differences.n_identity > 0                                     ? EXIT_DOES_NOT_HOLD
                                                                            : EXIT_HOLDS;
  }
  difference_list_release(&differences);
  fact_list_release(&before);
  return code;
}

static bool write_as(const char *format, const struct fact_list *facts, const struct capture_head *head, struct buffer *out) {
  if (strcmp(format, "json") == 0) return capture_write(facts, head, out);
  if (strcmp(format, "markdown") == 0) return inventory_markdown(facts, head->fingerprint, head->taken_at, out);
  if (strcmp(format, "cyclonedx") == 0) return inventory_cyclonedx(facts, head->fingerprint, head->taken_at, out);
  if (strcmp(format, "mlperf") == 0) return inventory_mlperf(facts, out);
  return text_capture(facts, head->fingerprint, color_wanted(stdout), out);
}

struct wanted {
  const char *path, *against, *format;
  enum disclosure disclosure;
  bool merged;
};

/* Do the options fit together? False: what does not was reported. */
static bool read_wanted(const struct arguments *arguments, struct wanted *ret) {
  static const char *const formats[] = {"text", "json", "markdown", "cyclonedx", "mlperf"};
  const char *level = arguments->option[FLAG_DISCLOSE];
  *ret = (struct wanted){.path = arguments->option[FLAG_OUT],
                         .against = arguments->option[FLAG_AGAINST],
                         .format = arguments->option[FLAG_FORMAT],
                         .disclosure = DISCLOSE_FULL,
                         .merged = arguments->option[FLAG_MERGE] != NULL};
  if (ret->format == NULL) ret->format = ret->path != NULL || arguments->option[FLAG_JSON] != NULL ? "json" : "text";
  bool known = false,
       own = arguments->option[FLAG_PID] != NULL || arguments->option[FLAG_ENDPOINT] != NULL || arguments->option[FLAG_ROOT] != NULL,
       one_host = strcmp(ret->format, "mlperf") == 0 || strcmp(ret->format, "cyclonedx") == 0;
  for (size_t i = 0; i < LYNX_COUNT(formats); i++) known = known || strcmp(formats[i], ret->format) == 0;
  if (level != NULL && !disclosure_parse(level, &ret->disclosure))
    complain("lynxbench capture: --disclose: found '%s'; accepted: full, shared, public\n", level);
  else if (!known) complain("lynxbench capture: --format: found '%s'; accepted: text, json, markdown, cyclonedx, mlperf\n", ret->format);
  else if (ret->merged && arguments->n_positional == 0) complain("lynxbench capture: --merge needs the captures to join: ROLE=FILE ...\n");
  else if (!ret->merged && arguments->n_positional > 0)
    complain("lynxbench capture: found '%s'; accepted: no argument, or --merge before ROLE=FILE ...\n", arguments->positional[0]);
  else if (ret->merged && own)
    complain("lynxbench capture: --merge joins files; --pid, --endpoint and --root belong to a capture of their own\n");
  else if (ret->merged && one_host)
    complain("lynxbench capture: --format %s describes one host; write it for each capture, before they are joined\n", ret->format);
  else if (ret->against != NULL && ret->path == NULL && arguments->option[FLAG_FORMAT] != NULL)
    complain("lynxbench capture: --against prints what moved; with --format, name the file for the capture too: --out FILE\n");
  else return true;
  return false;
}

static int run(const struct arguments *arguments) {
  struct wanted wanted;
  if (!read_wanted(arguments, &wanted)) return EXIT_WRONG_INPUT;
  struct fact_list facts = {0}, shown = {0};
  struct buffer out;
  char taken[40], fingerprint[DIGEST_HEX];
  int code = EXIT_WRONG_INPUT;
  buffer_init(&out, CAPTURE_FILE_MAX);
  if ((wanted.merged ? merge(arguments, &facts) : capture(arguments, &facts)) && give_salt(&facts)) {
    capture_fingerprint(&facts, fingerprint);
    capture_disclose(&facts, wanted.disclosure, &shown);
    struct capture_head head = {.taken_at = clock_text(taken, clock_system.realtime_ns(NULL)),
                                .fingerprint = fingerprint,
                                .disclosed = disclosure_text(wanted.disclosure)};
    code = EXIT_HOLDS;
    if (wanted.against != NULL) code = hold_against(wanted.against, &facts, &out);
    /* With --against, what moved is the answer; the capture itself is written only where a file is named. */
    bool good = code != EXIT_WRONG_INPUT && (wanted.against == NULL || write_buffer(NULL, &out));
    buffer_release(&out);
    buffer_init(&out, CAPTURE_FILE_MAX);
    if (good && (wanted.against == NULL || wanted.path != NULL)) {
      bool whole = write_as(wanted.format, &shown, &head, &out);
      good = write_buffer(wanted.path, &out) && whole; /* says it, where memory was gone */
      if (good && wanted.path != NULL && strcmp(wanted.path, "-") != 0)
        complain("%s: %zu facts\nnext: lynxbench diff %s OTHER.json\n", wanted.path, shown.n_items, shell_word(wanted.path));
    }
    if (!good && code != EXIT_WRONG_INPUT) code = EXIT_CONDITIONS;
  }
  buffer_release(&out);
  fact_list_release(&facts);
  fact_list_release(&shown);
  return code;
}

const struct command command_capture = {
    .name = "capture",
    .summary = "read every layer of the executor that is visible from here",
    .usage = "[ROLE=FILE ...]",
    .most = HOSTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "What could not be read is listed with its reason; what cannot be seen from this machine is a hole with a\n"
               "name. The fingerprint is a digest of what the executor is; its state at this moment and which exemplar it is\n"
               "(serial numbers, host names) are not part of it. Run it on each host, and join the files with --merge.",
    .example = "build/lynxbench capture --json | head -c 300",
    .run = run};
