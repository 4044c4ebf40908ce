#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/machine_record.h"
#include "cli/perturbation.h"
#include "cli/run_exit.h"
#include "cli/screen.h"
#include "measure/run_perturb.h"
#include "report/bisection_report.h"
#include "stats/special.h"

enum { FLAG_FOR, FLAG_SESSION, FLAG_LEAST, FLAG_OUT, FLAG_QUIET, FLAG_JSON };
enum { PAGE_MAX = 16 << 20, SESSIONS_WANTED = 80 };
#define SECOND INT64_C(1000000000)

static const struct option_spec options[] = {
    [FLAG_FOR] = {"for", "DURATION", "how long it may take at most, about (default: 30min); it ends when it is decided"},
    [FLAG_SESSION] = {"session", "DURATION", "the counted window of each session (default: the contract's, or less where --for is short)"},
    [FLAG_LEAST] = {"least", "SHARE", "a smaller difference counts as none (default: 0.05)"},
    [FLAG_OUT] = {"out", "FILE", "the bundle to write (default: the contract's name, -bisect and the time, .lynx)"},
    [FLAG_QUIET] = {"quiet", NULL, "no progress"},
    [FLAG_JSON] = {"json", NULL, "JSON"}};

struct bisecting {
  const struct arguments *arguments;
  struct perturbation p; /* A's contract, and its load */
  struct contract_file b;
  struct arena arena;
  struct swap_list swaps;
  struct bisection_plan plan;
  int64_t end_ns; /* when the time is over */
  /* The run. */
  struct run *run;
  struct bundle *bundle;
  struct perturbed_session session;
  uint64_t facts;
  int64_t round, number, longest_ns;
  enum lynx_status status;
  bool open_load;
};

/* --- what they differ in --- */

/* B as if it started what A starts, and was called so: what is left must be alike. */
static struct contract as_a(const struct contract *a, const struct contract *b) {
  struct contract c = *b;
  c.set = a->set;
  c.name = a->name;
  c.question = a->question;
  c.executor.start = a->executor.start;
  c.executor.expect = a->executor.expect;
  c.executor.declare = a->executor.declare;
  c.executor.show_arguments = a->executor.show_arguments;
  c.executor.set = a->executor.set;
  c.optimisation = a->optimisation;
  c.owners = a->owners;
  c.signatories = a->signatories;
  return c;
}

static json_t *parsed(const struct contract *contract) {
  struct buffer text;
  buffer_init(&text, 16 << 20);
  json_t *root = contract_canonical(contract, &text) ? json_parse(text.data, text.length, 16 << 20, NULL) : NULL;
  buffer_release(&text);
  return root;
}

static bool ask_the_same(const struct bisecting *c, const char *path) {
  const struct contract b = as_a(c->p.contract, &c->b.contract);
  json_t *one = parsed(c->p.contract), *other = parsed(&b), *value;
  const char *key, *differs = NULL;
  json_object_foreach(one, key, value) {
    if (differs == NULL && !json_equal(value, json_object_get(other, key))) differs = key;
  }
  if (differs != NULL)
    (void)fprintf(stderr,
                  "lynxbench bisect: %s: %s: differs from %s; accepted: two contracts that are alike but for executor.start: the same "
                  "load, asked of the same address, of two executors\n",
                  path, differs, c->p.path);
  json_decref(one);
  json_decref(other);
  return differs == NULL;
}

static int read_sides(struct bisecting *c) {
  const char *path = c->arguments->positional[1];
  struct lynx_error error = {0};
  int code = perturbation_open(&c->p);
  if (code != EXIT_HOLDS) return code;
  if (!contract_file_read(path, &c->b)) return EXIT_WRONG_INPUT;
  contract_file_print_problems(&c->b, path, false, false, stderr);
  if (c->b.problems.n_errors > 0) return EXIT_WRONG_INPUT;
  const struct contract *sides[] = {c->p.contract, &c->b.contract};
  for (int i = 0; i < 2; i++)
    if (!contract_states(sides[i], "executor.start")) {
      (void)fprintf(stderr, "lynxbench bisect: %s: executor.start: missing; required: the command that starts this executor\n",
                    c->arguments->positional[i]);
      return EXIT_WRONG_INPUT;
    }
  if (!ask_the_same(c, path)) return EXIT_WRONG_INPUT;
  if (swap_list_make(&sides[0]->executor.start, &sides[1]->executor.start, &c->arena, &c->swaps, &error) == LYNX_OK) return EXIT_HOLDS;
  lynx_error_at(&error, path, 0, NULL);
  return report_error(&error);
}

/* --- the plan --- */

static bool read_duration(const char *flag, const char *text, int64_t least, int64_t *ret) {
  if (number_duration(text, strlen(text), ret) && *ret >= least && *ret <= 30 * 86400 * SECOND) return true;
  (void)fprintf(stderr, "lynxbench bisect: --%s: found '%s'; accepted: a duration from %lld s to 30 days, such as 30min\n", flag, text,
                (long long)(least / SECOND));
  return false;
}

static bool read_least(const char *text, double *ret) {
  double share;
  bool good = number_double(text, strlen(text), &share) && share >= 0.001 && share <= 1;
  if (good) *ret = special_log(1 + share);
  else (void)fprintf(stderr, "lynxbench bisect: --least: found '%s'; accepted: a share from 0.001 to 1, such as 0.05\n", text);
  return good;
}

/* Eighty sessions are usual where one fact of twelve carries it (tests/simulate/bisection.c). */
static int make_plan(struct bisecting *c) {
  const char *time = c->arguments->option[FLAG_FOR], *session = c->arguments->option[FLAG_SESSION],
             *least = c->arguments->option[FLAG_LEAST];
  const struct contract_method *m = &c->p.contract->method;
  int64_t whole, wanted = m->counted_ns;
  if (!read_duration("for", time != NULL ? time : "30min", 10 * SECOND, &whole) ||
      !read_least(least != NULL ? least : "0.05", &c->plan.least) ||
      (session != NULL && !read_duration("session", session, SECOND, &wanted)))
    return EXIT_WRONG_INPUT;
  int64_t each = whole / SESSIONS_WANTED;
  if (session == NULL && wanted > each * 3 / 4) wanted = each * 3 / 4;
  c->p.counted_ns = wanted > SECOND ? wanted : SECOND;
  int64_t warm = m->warm_up_ns < c->p.counted_ns / 3 ? m->warm_up_ns : c->p.counted_ns / 3;
  c->p.warm_up_ns = warm > SECOND / 5 ? warm : SECOND / 5;
  c->plan.n_facts = c->swaps.n;
  c->plan.confidence = m->confidence;
  c->plan.sessions_at_most = 1 + whole / (c->p.warm_up_ns + c->p.counted_ns);
  c->plan.seed = (uint64_t)m->seed;
  c->end_ns = clock_now(&clock_system) + whole;
  (void)fprintf(stderr, "%s: at most %.0f min, sessions of %.2g s and %.2g s of warm-up; A and B differ in %zu facts:\n", c->p.out,
                (double)whole / 60e9, (double)c->p.counted_ns / 1e9, (double)c->p.warm_up_ns / 1e9, c->swaps.n);
  for (size_t i = 0; i < c->swaps.n; i++)
    (void)fprintf(stderr, "  %2zu %s: %s to %s\n", i + 1, c->swaps.items[i].name, c->swaps.items[i].a, c->swaps.items[i].b);
  return EXIT_HOLDS;
}

/* --- one session --- */

static void begin(void *context, const struct perturbed_session *session) {
  ((struct bisecting *)context)->session = *session;
}

static void end(void *context, struct bundle *bundle) {
  struct bisecting *c = context;
  char target[TARGET_NAME];
  bisected_target(c->facts, target);
  c->bundle = bundle;
  bundle_put_block(bundle, &(struct bundle_block){.session = c->session.id,
                                                  .cycle = c->round,
                                                  .target = target,
                                                  .asked = c->facts != 0 ? 2 : 1,
                                                  .given = c->facts != 0 ? 2 : 1,
                                                  .from_ns = c->session.from_ns,
                                                  .to_ns = c->session.to_ns,
                                                  .running_ns = -1,
                                                  .ready_ns = -1});
}

static void tell_session(const struct bisecting *c, const struct session_response *response) {
  char target[TARGET_NAME];
  if (c->arguments->option[FLAG_QUIET] != NULL) return;
  uint64_t all = ((uint64_t)1 << c->plan.n_facts) - 1;
  bisected_target(c->facts, target);
  double value = response->open_load ? special_exp(response->y[RESPONSE_END_TO_END]) / 1e9 : special_exp(response->y[RESPONSE_THROUGHPUT]);
  (void)fprintf(stderr, "round %lld: %s: %.4g %s\n", (long long)c->round + 1,
                c->facts == 0     ? "A"
                : c->facts == all ? "B"
                                  : target,
                value, response->open_load ? "s (E2E p50)" : "/s");
}

/* Its figure; false: it did not run, or answered nothing. */
static bool run_one(struct bisecting *c, double *ret) {
  struct text_list command, environment;
  struct session_response response;
  struct lynx_error error = {0};
  bool complete = false;
  swap_mix(&c->swaps, c->facts, &c->arena, &command, &environment);
  c->status = run_variant(c->run, &command, &environment, c->number++, c->facts == 0, &complete);
  if (c->status != LYNX_OK || !complete) return false;
  c->status = session_response_read(c->bundle, run_contract_of(c->run), c->session.id, &response, &error);
  if (c->status != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  *ret = bisected_figure(&response);
  if (isfinite(*ret)) tell_session(c, &response);
  return true;
}

static enum bisection_measured measure(void *context, uint64_t facts, int64_t round, double *ret) {
  struct bisecting *c = context;
  c->facts = facts;
  c->round = round;
  for (int attempt = 0; attempt < 2; attempt++) { /* one that fails once may have met a port that is still taken */
    int64_t begun = clock_now(&clock_system);
    if (run_is_over(c->run) || begun + c->longest_ns > c->end_ns) return BISECTION_NO_MORE;
    bool complete = run_one(c, ret);
    int64_t took = clock_now(&clock_system) - begun;
    if (c->status != LYNX_OK) return BISECTION_NO_MORE;
    if (complete) {
      c->longest_ns = took > c->longest_ns ? took : c->longest_ns;
      return BISECTION_MEASURED;
    }
  }
  return BISECTION_CANNOT_RUN;
}

/* --- the run --- */

static enum lynx_status run_sessions(struct bisecting *c, const struct run_request *request, struct run_outcome *outcome,
                                     struct lynx_error *error) {
  struct bisection found;
  enum lynx_status status = run_begin(request, &c->run, outcome, error);
  if (status == LYNX_OK) {
    c->plan.measure = measure;
    c->plan.context = c;
    bisection_run(&c->plan, &found);
    status = c->status;
  }
  return run_end(c->run, status);
}

static int measure_all(struct bisecting *c) {
  static const struct root root = {""};
  struct screen screen;
  struct machine_records records;
  struct run_outcome outcome;
  struct lynx_error error = {0};
  struct buffer plan;
  buffer_init(&plan, 1 << 20);
  if (!bisected_write_plan(&c->swaps, &c->plan, &plan)) return EXIT_OUR_BUG;
  machine_records_load(&records);
  screen_init(&screen, c->arguments->option[FLAG_QUIET] != NULL || !isatty(STDERR_FILENO)); /* there, a line for each session is enough */
  const struct run_perturbation perturbation = {.concurrency = c->p.concurrency,
                                                .warm_up_ns = c->p.warm_up_ns,
                                                .counted_ns = c->p.counted_ns,
                                                .sessions_at_most = c->plan.sessions_at_most,
                                                .begin = begin,
                                                .end = end,
                                                .context = c};
  const struct run_meta of = {bisected_key, plan.data};
  const struct run_request request = {.meta = &of,
                                      .n_meta = 1,
                                      .contract_text = c->p.text,
                                      .contract_length = strlen(c->p.text),
                                      .out_path = c->p.out,
                                      .root = &root,
                                      .clock = &clock_system,
                                      .calibration = records.calibration,
                                      .envelope = records.envelope,
                                      .perturbation = &perturbation,
                                      .stop = screen_catch_interrupts(),
                                      .progress = screen_show,
                                      .note = screen_note,
                                      .context = &screen};
  enum lynx_status status = run_sessions(c, &request, &outcome, &error);
  screen_clear(&screen);
  machine_records_release(&records);
  buffer_release(&plan);
  return run_exit_code(status, &outcome, &error, c->p.out);
}

/* --- what came out --- */

static int show_bisected(const struct bundle_file *file, const struct bisected *b, bool json) {
  struct buffer out;
  buffer_init(&out, PAGE_MAX);
  if (json) {
    struct json_writer writer;
    json_begin(&writer, &out);
    json_open_object(&writer);
    json_put_text(&writer, "bundle", file->result.seal.root);
    bisection_json(b, &file->result.contract, &writer);
    json_close(&writer);
    (void)buffer_text(&out, "\n");
  } else (void)bisection_text(b, &file->result.contract, color_wanted(stdout), &out);
  bool written = write_buffer(NULL, &out);
  buffer_release(&out);
  return !written                             ? EXIT_CONDITIONS
         : b->found.verdict == BISECTION_NONE ? EXIT_DOES_NOT_HOLD
         : bisection_end_failed(b)            ? EXIT_EXECUTOR
         : bisection_is_decided(&b->found)    ? EXIT_HOLDS
                                              : EXIT_INCONCLUSIVE;
}

static int show(const char *path, bool json) {
  struct bundle_file file;
  struct bisected *b = xalloc(1, sizeof *b);
  struct lynx_error error = {0};
  int code = EXIT_WRONG_INPUT;
  if (bundle_file_open(path, &file)) {
    if (bisected_read(file.bundle, &file.result.contract, b, &error) == LYNX_OK) code = show_bisected(&file, b, json);
    else {
      lynx_error_at(&error, path, 0, NULL);
      code = report_error(&error);
    }
    bisected_release(b);
    bundle_file_close(&file);
  }
  free(b);
  return code;
}

static int bisect(struct bisecting *c) {
  int code = read_sides(c);
  if (code == EXIT_HOLDS) code = make_plan(c);
  if (code == EXIT_HOLDS) code = measure_all(c);
  if (code != EXIT_HOLDS) return code;
  code = show(c->p.out, c->arguments->option[FLAG_JSON] != NULL);
  (void)fprintf(stderr, "%s: the bundle; `lynxbench bisect %s` shows it again; it supports no claim about the executor\n", c->p.out,
                c->p.out);
  return code;
}

static int run(const struct arguments *arguments) {
  const char *path = arguments->positional[0];
  if (arguments->n_positional == 1) return show(path, arguments->option[FLAG_JSON] != NULL);
  for (int i = 0; i < 2; i++)
    if (bundle_is(arguments->positional[i])) {
      (void)fprintf(stderr, "lynxbench bisect: %s: found a bundle; accepted: two contracts of your own that start their executors\n",
                    arguments->positional[i]);
      return EXIT_WRONG_INPUT;
    }
  static const char *const none[] = {NULL};
  struct bisecting *c = xalloc(1, sizeof *c);
  c->arguments = arguments;
  c->p = (struct perturbation){.tool = "bisect", .path = path, .out = arguments->option[FLAG_OUT], .perturbers = none, .n_looks = 1};
  int code = bisect(c);
  perturbation_close(&c->p);
  contract_file_release(&c->b);
  arena_release(&c->arena);
  free(c);
  return code;
}

const struct command command_bisect = {
    .name = "bisect",
    .summary = "two executors differ in many settings, and in speed: which settings carry it, interactions included",
    .usage = "A [B]",
    .least = 1,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A and B are contracts that are alike but for executor.start. Every argument and variable in which the two start commands\n"
               "differ is a fact. Mixtures of the two are started and measured, in rounds and in random order, until a least set of facts\n"
               "is found that carries the difference; nothing is assumed to add up. The chance that anything said is wrong is at most\n"
               "1 - method.confidence for all of it together. Where B performs as A does, the answer is 'none'.\n"
               "With a bundle that it wrote alone, it shows the answer again.\n"
               "Exit code: 0 found, 1 none, 3 inconclusive or not decided in everything.",
    .example = "build/lynxbench bisect --help",
    .run = run};
