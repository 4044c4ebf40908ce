#include "cli/contract_run.h"
#include "cli/swapping.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "experiment/mixtures.h"
#include "measure/run_perturb.h"

#define SECOND INT64_C(1000000000)

enum { PLAN_MAX = 1 << 20 };

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

static bool ask_the_same(const struct swapping *c, const char *path) {
  const struct contract b = as_a(c->p.contract, &c->b.contract);
  json_t *one = parsed(c->p.contract), *other = parsed(&b), *value;
  const char *key, *differs = NULL;
  json_object_foreach(one, key, value) {
    if (differs == NULL && !json_equal(value, json_object_get(other, key))) differs = key;
  }
  if (differs != NULL)
    complain("lynxbench %s: %s: %s: differs from %s; accepted: two contracts that are alike but for executor.start: the same "
             "load, asked of the same address, of two executors\n",
             c->tool, path, differs, c->path_a);
  json_decref(one);
  json_decref(other);
  return differs == NULL;
}

static bool starts(const struct swapping *c, const struct contract *contract, const char *path) {
  if (contract_states(contract, "executor.start")) return true;
  complain("lynxbench %s: %s: executor.start: missing; required: the command that starts this executor\n", c->tool, path);
  return false;
}

static int read_b(struct swapping *c) {
  const char *path = c->path_b;
  struct lynx_error error = {0};
  if (!contract_file_read(path, &c->b)) return EXIT_WRONG_INPUT;
  contract_file_print_problems(&c->b, path, false, false, stderr);
  if (c->b.problems.n_errors > 0) return EXIT_WRONG_INPUT;
  const struct contract *a = c->p.contract, *b = &c->b.contract;
  if (!starts(c, a, c->path_a) || !starts(c, b, path) || !ask_the_same(c, path)) return EXIT_WRONG_INPUT;
  enum lynx_status status = swap_list_make(&a->executor.start, &b->executor.start, &c->arena, &c->swaps, &error);
  if (status == LYNX_OK && c->swaps.n == 0)
    status = lynx_fail(&error, LYNX_INPUT, "executor.start: A and B start the same command in the same environment");
  if (status == LYNX_OK) return EXIT_HOLDS;
  lynx_error_at(&error, path, 0, NULL);
  return report_error(&error);
}

static int read_sides(struct swapping *c) {
  int code = perturbation_open(&c->p);
  if (code != EXIT_HOLDS || c->plan == NULL) return code == EXIT_HOLDS ? read_b(c) : code;
  if (!starts(c, c->p.contract, c->path_a)) return EXIT_WRONG_INPUT;
  return plan_file_facts(c->plan, &c->p.contract->executor.start, &c->swaps);
}

/* --- what is resumed --- */

static enum lynx_status find_last(void *context, const struct bundle_session *s) {
  struct swapping *c = context;
  if (s->purpose != PURPOSE_PERTURB || s->end != SESSION_COMPLETE) return LYNX_OK;
  c->n_earlier = s->id + 1;
  c->p.warm_up_ns = s->warm_up_ns;
  c->p.counted_ns = s->counted_ns;
  return LYNX_OK;
}

static int cannot_resume(const struct swapping *c, const char *why) {
  complain("lynxbench %s: --resume %s: %s; accepted: a bundle that `lynxbench %s` wrote of the same contracts, or the same plan, and "
           "that ended too early\n",
           c->tool, c->resume, why, c->tool);
  return EXIT_WRONG_INPUT;
}

static int open_earlier(struct swapping *c) {
  struct lynx_error error = {0};
  if (c->resume == NULL) return EXIT_HOLDS;
  if (!bundle_file_open_possible(c->resume, &c->earlier)) return EXIT_WRONG_INPUT;
  json_t *one = parsed(c->p.contract), *other = parsed(&c->earlier.result.contract);
  bool same = one != NULL && json_equal(one, other);
  json_decref(one);
  json_decref(other);
  if (!same) return cannot_resume(c, "its contract is not A's");
  enum lynx_status status = bundle_each_session(c->earlier.bundle, find_last, c, &error);
  if (status == LYNX_OK) status = mixtures_open(c->earlier.bundle, c->p.contract, &c->arena, &c->again, &error);
  if (status != LYNX_OK) {
    lynx_error_at(&error, c->resume, 0, NULL);
    return report_error(&error);
  }
  mixtures_until(&c->again, c->n_earlier - 1); /* what came after it is run again */
  if (c->n_earlier == 0) return cannot_resume(c, "none of its sessions is whole");
  return c->window == NULL ? EXIT_HOLDS : cannot_resume(c, "its sessions have their length, and --session would change it");
}

/* Of the same facts, seed and confidence; an experiment may have more rounds, or fewer. */
static bool is_the_plan(const char *earlier, const char *plan) {
  json_t *one = earlier != NULL ? json_parse(earlier, strlen(earlier), PLAN_MAX, NULL) : NULL,
         *other = json_parse(plan, strlen(plan), PLAN_MAX, NULL);
  (void)json_object_del(one, "rounds");
  (void)json_object_del(other, "rounds");
  bool same = one != NULL && json_equal(one, other);
  json_decref(one);
  json_decref(other);
  return same;
}

int swapping_open(struct swapping *c) {
  static const char *const none[] = {NULL};
  const char *paths[] = {c->path_a, c->path_b};
  c->p = (struct perturbation){.tool = c->tool, .path = c->path_a, .out = c->out, .perturbers = none, .n_looks = 1, .contracts_only = true};
  for (int i = 0; i < 2; i++)
    if (paths[i] != NULL && bundle_is(paths[i])) {
      complain("lynxbench %s: %s: found a bundle; accepted: two contracts of your own that start their executors\n", c->tool, paths[i]);
      return EXIT_WRONG_INPUT;
    }
  int code = read_sides(c);
  return code == EXIT_HOLDS ? open_earlier(c) : code;
}

void swapping_close(struct swapping *c) {
  mixtures_close(&c->again);
  if (c->earlier.bundle != NULL) bundle_file_close(&c->earlier);
  perturbation_close(&c->p);
  contract_file_release(&c->b);
  arena_release(&c->arena);
}

/* --- the plan --- */

int swapping_plan(struct swapping *c, int64_t n_sessions) {
  const struct contract_method *m = &c->p.contract->method;
  int64_t wanted = m->counted_ns;
  const char *whole = c->duration != NULL ? c->duration : c->usual_duration; /* each was checked as it was read */
  (void)number_duration(whole, strlen(whole), &c->whole_ns);
  if (c->window != NULL) (void)number_duration(c->window, strlen(c->window), &wanted);
  int64_t each = c->whole_ns / n_sessions;
  if (c->window == NULL && wanted > each * 3 / 4) wanted = each * 3 / 4;
  if (c->n_earlier == 0) {
    c->p.counted_ns = wanted > SECOND ? wanted : SECOND;
    int64_t warm = m->warm_up_ns < c->p.counted_ns / 3 ? m->warm_up_ns : c->p.counted_ns / 3;
    c->p.warm_up_ns = warm > SECOND / 5 ? warm : SECOND / 5;
  } else complain("%s: resumed behind its %lld sessions\n", c->resume, (long long)c->n_earlier);
  bool short_one = c->whole_ns < 120 * SECOND;
  complain("%s: at most %.0f %s, sessions of %.2g s and %.2g s of warm-up; %zu fact%s:\n", c->p.out,
           (double)c->whole_ns / (short_one ? 1e9 : 60e9), short_one ? "s" : "min", (double)c->p.counted_ns / 1e9,
           (double)c->p.warm_up_ns / 1e9, c->swaps.n, LYNX_S(c->swaps.n));
  for (size_t i = 0; i < c->swaps.n; i++)
    complain("  %2zu %s: %s to %s\n", i + 1, c->swaps.items[i].name, c->swaps.items[i].a, c->swaps.items[i].b);
  return EXIT_HOLDS;
}

int64_t swapping_sessions(const struct swapping *c) {
  int64_t n = 1 + c->whole_ns / (c->p.warm_up_ns + c->p.counted_ns);
  return n < MIXTURE_SESSIONS_MAX ? n : MIXTURE_SESSIONS_MAX;
}

/* --- one session --- */

static void begin(void *context, const struct perturbed_session *session) {
  ((struct swapping *)context)->session = *session;
}

static void end(void *context, struct bundle *bundle) {
  struct swapping *c = context;
  char target[TARGET_NAME];
  mixture_target(c->facts, target);
  c->bundle = bundle;
  if (c->by_hand != NULL) bundle_put_event(bundle, c->session.realtime_ns, EVENT_BY_HAND, c->by_hand);
  c->by_hand = NULL;
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

static void tell_session(const struct swapping *c, const struct session_response *response, double figure) {
  char target[TARGET_NAME];
  if (c->quiet) return;
  uint64_t all = ((uint64_t)1 << c->swaps.n) - 1;
  mixture_target(c->facts, target);
  complain("round %lld: %s: %.4g %s\n", (long long)c->round + 1,
           c->facts == 0     ? "A"
           : c->facts == all ? "B"
                             : target,
           mixture_level(response->open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT, figure),
           response->open_load ? "s (E2E p50)" : "/s");
}

/* Its figure; false: it did not run, or answered nothing. */
static bool run_one(struct swapping *c, struct session_figure *ret) {
  struct text_list command, environment;
  struct session_response response;
  struct lynx_error error = {0};
  bool complete = false;
  swap_mix(&c->swaps, c->facts, &c->arena, &command, &environment);
  if (c->plan != NULL) {
    command = built_environments_command(&c->plan->built, c->facts, &command, &c->arena);
    command = experiment_plan_in_front(&c->plan->plan, c->facts, &command, &c->arena);
  }
  c->status = run_variant(c->run, &command, &environment, c->number++, c->facts == 0, &complete);
  if (c->status != LYNX_OK || !complete) return false;
  const struct session_load load = {c->session.id, c->session.rate_per_s, c->session.concurrency};
  c->status = session_response_read(c->bundle, run_contract_of(c->run), &load, &response, &error);
  if (c->status != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  *ret = mixture_figure(&response);
  if (!isfinite(ret->ln)) return false;
  tell_session(c, &response, ret->ln);
  return true;
}

/* What was measured before, where it was asked for in the same order. */
static bool measured_before(struct swapping *c, uint64_t facts, int64_t round, struct session_figure *ret, enum measured *ret_measured) {
  if (c->again.at >= c->again.n) return false;
  *ret_measured = mixtures_next(&c->again, facts, round, ret);
  c->number = (int64_t)c->again.at;
  if (*ret_measured == MEASURED_NO_MORE)
    complain("lynxbench %s: --resume %s: its session %lld is not the one that this plan asks for: nothing more is run\n", c->tool,
             c->resume, (long long)c->number);
  return true;
}

/* How long that takes is not counted. */
static bool change_by_hand(struct swapping *c) {
  int64_t begun = clock_now(&clock_system);
  if (c->plan == NULL) return true;
  bool done = plan_file_ask(c->plan, c->facts, c->round, &c->by_hand);
  c->end_ns += clock_now(&clock_system) - begun;
  return done;
}

/* One that fails once may have met a port that is still taken: it is tried twice (mixtures_next knows). */
enum measured swapping_measure(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  struct swapping *c = context;
  enum measured before;
  c->facts = facts;
  c->round = round;
  if (measured_before(c, facts, round, ret, &before)) return before;
  for (int attempt = 0; attempt < 2; attempt++) {
    int64_t begun = clock_now(&clock_system);
    if (run_is_over(c->run) || begun + c->longest_ns > c->end_ns || c->number == MIXTURE_SESSIONS_MAX) return MEASURED_NO_MORE;
    if (!change_by_hand(c)) return MEASURED_NO_MORE;
    begun = clock_now(&clock_system);
    bool measured = run_one(c, ret);
    int64_t took = clock_now(&clock_system) - begun;
    c->longest_ns = took > c->longest_ns ? took : c->longest_ns;
    if (c->status != LYNX_OK) return MEASURED_NO_MORE;
    if (measured) return MEASURED;
  }
  return MEASURED_CANNOT_RUN;
}

/* --- the run --- */

int swapping_run(struct swapping *c, const char *key, const char *plan, void (*drive)(void *context), void *context) {
  struct contract_run r;
  if (c->n_earlier > 0 && !is_the_plan(bundle_meta(c->earlier.bundle, key), plan))
    return cannot_resume(c, "its plan is another: other facts, another seed, other mixtures or options");
  char other[DIGEST_HEX];
  if (c->plan == NULL) contract_digest(&c->b.contract, other);
  else (void)snprintf(other, sizeof other, "%s", c->plan->digest);
  const char *earlier = c->n_earlier > 0 ? bundle_meta(c->earlier.bundle, "swapped_with") : NULL;
  if (earlier != NULL && strcmp(earlier, other) != 0)
    return cannot_resume(c, c->plan == NULL ? "the contract of B is another" : "the plan's text is another");
  int prepared = c->plan != NULL ? plan_file_prepare(c->plan, screen_catch_interrupts()) : EXIT_HOLDS;
  if (prepared != EXIT_HOLDS) return prepared;
  const struct run_perturbation perturbation = {.concurrency = c->p.concurrency,
                                                .warm_up_ns = c->p.warm_up_ns,
                                                .counted_ns = c->p.counted_ns,
                                                .sessions_at_most = swapping_sessions(c),
                                                .begin = begin,
                                                .end = end,
                                                .context = c};
  const struct run_meta of[] = {{key, plan}, {"swapped_with", other}};
  /* Where it is no terminal, a line for each session is enough. */
  contract_run_init(&r, c->quiet || !isatty(STDERR_FILENO), c->p.text, strlen(c->p.text), c->p.out);
  r.request.meta = of;
  r.request.n_meta = LYNX_COUNT(of);
  r.request.perturbation = &perturbation;
  c->end_ns = clock_now(&clock_system) + c->whole_ns;
  r.status = run_begin(&r.request, &r.run, &r.outcome, &r.error);
  c->run = r.run;
  if (r.status == LYNX_OK && c->n_earlier > 0) r.status = run_resume(c->run, c->earlier.bundle, c->earlier.result.seal.root, c->n_earlier);
  if (r.status == LYNX_OK) {
    drive(context);
    r.status = c->status;
  }
  return contract_run_end(&r);
}

int swapping_show(const struct swapping *c, int code, int (*show)(const char *path, const struct arguments *arguments),
                  const struct arguments *arguments) {
  if (code != EXIT_HOLDS && code != EXIT_INTERRUPTED) return code;
  int shown = show(c->p.out, arguments);
  complain("%s: the bundle; `lynxbench %s %s` shows it again; it supports no claim about the executor\n", c->p.out, c->tool, c->p.out);
  return code == EXIT_HOLDS ? shown : code;
}
