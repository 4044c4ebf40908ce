#include <stdlib.h>
#include <string.h>

#include "attribute/live.h"
#include "base/shell.h"
#include "cli/command.h"
#include "cli/perturbation.h"
#include "experiment/bisected.h"
#include "experiment/factored.h"
#include "experiment/perturber_table.h"
#include "report/sensitivity_report.h"

enum {
  FLAG_FOR,
  FLAG_OUT,
  FLAG_ONLY,
  FLAG_FUNCTION,
  FLAG_LIBRARY,
  FLAG_CONTRACT,
  FLAG_RUN,
  FLAG_ENDPOINT,
  FLAG_KEY_ENV,
  FLAG_RESTORE,
  FLAG_QUIET,
  FLAG_JSON
};
enum { ONLY_MAX = 16, PAGE_MAX = 16 << 20, CANDIDATES_MAX = 64, CHOSEN = 2, NAME = 300 };
#define SHARE_LEAST 0.02 /* of a thread's time: what has less of it costs less than blocks can show */

static const struct option_spec options[] = {
    [FLAG_FOR] = OPTION_WITH("for", "DURATION",
                             "how long it may take, about (default: 2min; of a run until intervals are narrow, 10min at most)",
                             VALUE_DURATION, 10, 86400, "a duration from 10 s to 24 h, such as 2min"),
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle to write (default: the contract's name, -perturb and the time, .lynx)"),
    [FLAG_ONLY] = OPTION(
        "only", "LIST",
        "of processor, contention, affinity, quota, memory, disk, wire, demand, function, library, launches, gpu (default: all that "
        "can be here)"),
    [FLAG_FUNCTION] = OPTION("function", "NAME",
                             "a Python function, as 'encode (/srv/app.py:188)', of a server that the contract starts (default: of a run, "
                             "the two that a profiler found busiest)"),
    [FLAG_LIBRARY] = OPTION("library", "NAME", "also the code of one library, as libtorch_cpu.so, of a server that the contract starts"),
    [FLAG_CONTRACT] = OPTION("contract", "FILE", "the run's contract, as your own file"),
    [FLAG_RUN] = OPTION("run", "DIGEST", "use the contract that is in the bundle, which has this digest, without asking"),
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "where the executor is; a bundle's own is not used, but where its contract starts it"),
    [FLAG_KEY_ENV] = OPTION("api-key-env", "NAME", "the variable that holds your API key, for a contract from a bundle"),
    [FLAG_RESTORE] = SWITCH("restore", "undo what a killed run left: stopped processes, processors, quotas, limits"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

static const char *const usual[] = {"processor", "contention", "affinity", "quota",    "memory", "disk", "wire",
                                    "demand",    "function",   "library",  "launches", "gpu",    NULL};

static int restore(void) {
  const struct root root = {""};
  struct undo_left left = undo_restore_left(&root);
  if (left.unread) {
    complain(
        "lynxbench perturb: --restore: the state folder is not known or cannot be read (HOME, XDG_STATE_HOME): nothing was looked at\n");
    return EXIT_CONDITIONS;
  }
  if (left.n_failed > 0)
    complain("lynxbench perturb: of %d killed runs something could not be undone: %s\nnext: as the user who perturbed, or as root; "
             "remove the file if nothing is perturbed any more\n",
             left.n_failed, left.failed);
  say("%d killed runs undone, %d still at it\n", left.n_restored, left.n_in_use);
  return left.n_failed > 0 ? EXIT_CONDITIONS : EXIT_HOLDS;
}

static int show_open(struct bundle_file *file, bool json) {
  struct lynx_error error = {0};
  struct arena arena = {0};
  struct buffer out;
  const struct contract *c = &file->result.contract;
  struct sensitivities *all = xalloc(1, sizeof *all);
  const char **unprobed;
  size_t n = perturbation_unprobed(file->bundle, &arena, &unprobed);
  buffer_init(&out, PAGE_MAX);
  int code = EXIT_HOLDS;
  if (sensitivities_read(file->bundle, c, c->method.confidence, all, &error) != LYNX_OK) code = report_error(&error);
  else if (json) {
    struct json_writer writer;
    json_begin_object(&writer, &out);
    json_put_text(&writer, "bundle", file->result.seal.root);
    sensitivity_json(all, c, unprobed, n, &writer);
    (void)json_end_line(&writer);
  } else (void)sensitivity_text(all, c, unprobed, n, color_wanted(stdout), &out);
  bool known = false;
  for (size_t i = 0; i < all->n; i++) known = known || all->items[i].of[RESPONSE_THROUGHPUT].bounded;
  if (code == EXIT_HOLDS) code = !write_buffer(NULL, &out) ? EXIT_CONDITIONS : known ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
  buffer_release(&out);
  free(all);
  arena_release(&arena);
  return code;
}

/* Shows the blocks of a bundle. *ret_other: it was not perturbed, and nothing was shown; NULL: it is known to be. */
static int show(const char *path, bool json, bool *ret_other) {
  struct bundle_file file;
  if (!bundle_file_open(path, &file)) return EXIT_WRONG_INPUT;
  bool other = ret_other != NULL && !file.result.perturbed;
  int code = other ? EXIT_HOLDS : EXIT_WRONG_INPUT;
  const char *command = bisected_is(file.bundle) ? "bisect" : factored_is(file.bundle) ? "experiment" : NULL;
  if (!other && command != NULL)
    complain("lynxbench perturb: %s: nothing was slowed in it: settings were swapped\nnext: lynxbench %s %s\n", path, command, path);
  else if (!other) code = show_open(&file, json);
  if (other) *ret_other = true;
  bundle_file_close(&file);
  return code;
}

/* "processor,quota": cut in place. */
static bool read_only(char *list, const char **ret) {
  size_t n = 0;
  char *rest = list;
  for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
    if (n < ONLY_MAX && perturber_find(name, strlen(name)) != NULL) ret[n++] = name;
    else {
      complain("lynxbench perturb: --only: found '%s'; accepted:", name);
      for (size_t i = 0; perturbers_all[i] != NULL; i++) complain(" %s", perturbers_all[i]->name);
      complain("\n");
      return false;
    }
  }
  ret[n] = NULL;
  return n > 0;
}

/* --- the functions of a run that a profiler found busiest --- */

struct candidate {
  char name[NAME];
  double share; /* of a thread's time, of all of them */
};

struct candidates {
  struct candidate items[CANDIDATES_MAX];
  size_t n;
};

static void add_candidate(struct candidates *c, const char *name, double share) {
  size_t i = 0;
  while (i < c->n && strcmp(c->items[i].name, name) != 0) i++;
  if (i == CANDIDATES_MAX || strlen(name) >= NAME) return;
  if (i == c->n) {
    c->items[i].share = 0;
    (void)snprintf(c->items[c->n++].name, NAME, "%s", name);
  }
  c->items[i].share += share;
}

static void add_parts(struct candidates *c, const struct live_lane *lane) {
  for (size_t i = 0; i < lane->n_parts; i++) {
    char name[NAME];
    const struct live_part *part = &lane->parts[i];
    if (part->kind != LIVE_PYTHON || strstr(part->where, ".py:") == NULL) continue;
    if (snprintf(name, sizeof name, "%s (%s)", part->what, part->where) < (int)sizeof name) add_candidate(c, name, part->share);
  }
}

static int by_share(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  return (x->share < y->share) - (x->share > y->share);
}

/* What its findings would slow comes first. */
static void find_candidates(const struct perturbation *p, struct candidates *ret) {
  struct live live;
  if (!live_read(p->run.bundle, &p->run.result, &live)) return;
  for (size_t i = 0; i < live.at.n_lanes; i++) add_parts(ret, &live.at.lanes[i]);
  for (size_t i = 0; i < live.n_findings; i++)
    if (live.findings[i].slowed != NULL) add_candidate(ret, live.findings[i].slowed, 1 + live.findings[i].share);
  live_release(&live);
  qsort(ret->items, ret->n, sizeof ret->items[0], by_share);
}

static void choose_functions(struct perturbation *p, struct candidates *c) {
  bool can = false;
  for (size_t i = 0; p->perturbers[i] != NULL; i++) can = can || strcmp(p->perturbers[i], "function") == 0;
  if (p->functions[0] != NULL || !can || !p->has_run || !contract_states(p->contract, "executor.start")) return;
  find_candidates(p, c);
  for (size_t i = 0; i < c->n && i < CHOSEN && c->items[i].share >= SHARE_LEAST; i++) p->functions[i] = c->items[i].name;
}

static int run(const struct arguments *arguments) {
  const char *only[ONLY_MAX + 1], *path = arguments->n_positional > 0 ? arguments->positional[0] : NULL;
  bool json = arguments->option[FLAG_JSON] != NULL;
  if (arguments->option[FLAG_RESTORE] != NULL) return restore();
  if (path == NULL) {
    complain("lynxbench perturb: found nothing; accepted: a contract, a bundle, or --restore\nnext: lynxbench perturb --help\n");
    return EXIT_WRONG_INPUT;
  }
  bool other = !bundle_is(path);
  if (!other) {
    int shown = show(path, json, &other);
    if (!other) return shown;
  }
  char *list = arguments->option[FLAG_ONLY] != NULL ? xcopy(arguments->option[FLAG_ONLY]) : NULL;
  struct perturbation p = {.tool = "perturb",
                           .path = path,
                           .contract_path = arguments->option[FLAG_CONTRACT],
                           .agreed = arguments->option[FLAG_RUN],
                           .endpoint = arguments->option[FLAG_ENDPOINT],
                           .key_variable = arguments->option[FLAG_KEY_ENV],
                           .duration = arguments->option[FLAG_FOR],
                           .out = arguments->option[FLAG_OUT],
                           .functions = {arguments->option[FLAG_FUNCTION]},
                           .library = arguments->option[FLAG_LIBRARY],
                           .perturbers = list != NULL ? only : usual,
                           .n_looks = 4,
                           .weighs = true,
                           .quiet = arguments->option[FLAG_QUIET] != NULL};
  int code = list == NULL || read_only(list, only) ? perturbation_open(&p) : EXIT_WRONG_INPUT;
  struct candidates *busiest = xalloc(1, sizeof *busiest);
  if (code == EXIT_HOLDS) choose_functions(&p, busiest);
  if (code == EXIT_HOLDS) code = perturbation_run(&p);
  free(busiest);
  if (code == EXIT_HOLDS) {
    code = show(p.out, json, NULL);
    complain("%s: the bundle; `lynxbench perturb %s` shows it again; it supports no claim about the executor\n", p.out, shell_word(p.out));
  }
  perturbation_close(&p);
  free(list);
  return code;
}

const struct command command_perturb = {
    .name = "perturb",
    .summary = "slow each resource by a known amount; measure what that costs",
    .usage = "CONTRACT | RUN | --restore",
    .least = 0,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Under the contract's load (of a run that climbed: at its knee) short blocks follow one another in random order: the server\n"
        "undisturbed, each of its processes stopped for a tenth and for 30 % of the time, rivals on its processors, a limit to some\n"
        "processors or a quota taken away, fewer requests in flight. What each costs in throughput and latency is printed with its "
        "interval.\n"
        "It acts on processes of this machine: as root, or as the server's own user. A watchdog brings everything back, whoever\n"
        "is killed when; what a killed run and its watchdog left, --restore undoes. The contract's load cap and abort SLO hold.\n"
        "A bundle of such a run supports no claim: it is shown again by the same command.",
    .example = "build/lynxbench perturb --restore",
    .run = run};
