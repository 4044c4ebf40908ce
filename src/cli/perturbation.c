#include "cli/perturbation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribute/live.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/consent.h"
#include "cli/contract_run.h"
#include "cli/own_contract.h"
#include "cli/quick_run.h"
#include "experiment/perturber_table.h"
#include "experiment/slowed_code.h"
#include "experiment/delaying_proxy.h"
#include "stats/compare.h"
#include "stats/quantile.h"

enum { UNPROBED_MAX = 32 };
#define SECOND INT64_C(1000000000)
#define MS INT64_C(1000000)

/* --- whose contract --- */

static bool starts_programs(const struct contract *c) {
  return contract_states(c, "executor.start") || c->accuracy.command.n_items > 0 || strcmp(c->workload.driver, "command") == 0;
}

static bool is_the_runs(const struct perturbation *p) {
  char digest[DIGEST_HEX];
  contract_digest(&p->file.contract, digest);
  return strcmp(digest, p->run.result.contract_digest) == 0;
}

/* NAME.yaml beside NAME.lynx, where it is the run's very contract: `diagnose` leaves both. Both may have come from somebody else: it is taken
 * where the user has run it before. */
static bool take_beside(struct perturbation *p) {
  char path[4200];
  if (access(quick_run_contract(p->path, path, sizeof path), R_OK) != 0 || !contract_file_read(path, &p->file)) return false;
  bool same = p->file.problems.n_errors == 0 && is_the_runs(p);
  if (same && starts_programs(&p->file.contract)) {
    complain("%s is this run's contract, and starts programs: to use it as your own, --contract %s\n", path, path);
    same = false;
  } else if (same && !own_contract_is_known(&p->file.contract)) {
    complain("%s is this run's contract, and was not run here before: to use it as your own, --contract %s\n", path, path);
    same = false;
  }
  if (same) complain("the contract: %s, which is this run's\n", path);
  else contract_file_release(&p->file);
  return same;
}

static int read_contract(struct perturbation *p, const char *path) {
  if (!contract_file_read(path, &p->file)) return EXIT_WRONG_INPUT;
  p->has_file = true;
  contract_file_print_problems(&p->file, path, false, false, stderr);
  if (p->file.problems.n_errors > 0) return EXIT_WRONG_INPUT;
  if (p->has_run && !is_the_runs(p)) {
    complain("lynxbench %s: --contract: %s is not the contract of %s (that one's digest: %.16s)\n", p->tool, path, p->path,
             p->run.result.contract_digest);
    return EXIT_WRONG_INPUT;
  }
  return EXIT_HOLDS;
}

/* The bundle's own, which is somebody's program. */
static int take_sealed(struct perturbation *p) {
  p->text = bundle_meta(p->run.bundle, "contract");
  p->contract = &p->run.result.contract;
  p->foreign = true;
  if (p->text == NULL) {
    complain("lynxbench %s: %s: the contract was withheld; give it with --contract FILE\n", p->tool, p->path);
    return EXIT_WRONG_INPUT;
  }
  const struct consent_request consent = {.command = p->tool,
                                          .contract = p->contract,
                                          .digest = p->run.result.contract_digest,
                                          .agreed = p->agreed,
                                          .endpoint = p->endpoint,
                                          .has_key = p->key_variable != NULL};
  return consent_given(&consent) ? EXIT_HOLDS : EXIT_WRONG_INPUT;
}

static int find_contract(struct perturbation *p) {
  if (bundle_is(p->path)) {
    if (!bundle_file_open_possible(p->path, &p->run)) return EXIT_WRONG_INPUT;
    p->has_run = true;
    if (p->contract_path == NULL) p->has_file = take_beside(p);
    if (p->contract_path == NULL && !p->has_file) return take_sealed(p);
  } else if (p->contract_path != NULL) {
    complain("lynxbench %s: --contract goes with a bundle; found the contract %s\n", p->tool, p->path);
    return EXIT_WRONG_INPUT;
  }
  int code = p->has_file ? EXIT_HOLDS : read_contract(p, p->contract_path != NULL ? p->contract_path : p->path);
  p->text = p->file.text.data;
  p->contract = &p->file.contract;
  return code;
}

/* --- the plan --- */

static const struct result_precision *measured(const struct perturbation *p) {
  for (size_t i = 0; p->has_run && i < p->run.result.n_precisions; i++)
    if (!p->run.result.precisions[i].unavailable && p->run.result.precisions[i].n_complete > 0) return &p->run.result.precisions[i];
  return NULL;
}

static double median_ns(const struct result_precision *q, enum metric metric) {
  double ns = q != NULL && q->latency[metric].n > 0 ? q->latency[metric].at[0].quantile.estimate : NAN;
  return isfinite(ns) && ns > 0 ? ns : NAN;
}

static int64_t between(double ns, int64_t least, int64_t most) {
  return !(ns > (double)least) ? least : ns > (double)most ? most : (int64_t)ns;
}

/* A block holds several answers and many tokens; what was in flight when it began is over when it counts. A stop costs a little beyond its
 * length (caches, a processor that wakes up), so that few long ones are better, but none much longer than the shortest phase. */
static void plan_blocks(struct perturbation *p) {
  const struct result_precision *q = measured(p);
  double token = median_ns(q, METRIC_TIME_PER_OUTPUT_TOKEN), first = median_ns(q, METRIC_TIME_TO_FIRST_TOKEN),
         whole = median_ns(q, METRIC_END_TO_END), phase = fmin(isfinite(token) ? token : INFINITY, isfinite(first) ? first : INFINITY);
  double wanted = isfinite(whole) ? fmax(isfinite(token) ? 20 * token : 0, 4 * whole) : (double)SECOND;
  p->plan.block_ns = between(wanted, SECOND / 2, 10 * SECOND);
  p->plan.settle_ns = between(isfinite(whole) ? whole : 0, p->plan.block_ns / 10, p->plan.block_ns / 3);
  p->plan.period_ns = between(isfinite(phase) ? 2 * phase : 0, 10 * MS, 20 * MS);
  p->plan.seed = (uint64_t)p->contract->method.seed;
  p->plan.perturbers = p->perturbers;
}

static int plan_load(struct perturbation *p) {
  const struct result_precision *q = measured(p);
  enum load_kind load = (enum load_kind)p->contract->regime.load;
  bool goes_on = load == LOAD_CLOSED || load == LOAD_CONVERSATIONS || load == LOAD_SINGLE_STREAM || load == LOAD_CONSTANT ||
                 load == LOAD_POISSON || load == LOAD_BURSTY;
  if (load == LOAD_CLIMB && q != NULL && q->knee > 0) p->concurrency = q->knee;
  else if (p->has_run && q == NULL) {
    complain("lynxbench %s: %s: no window of it was complete: there is no load to perturb\nnext: lynxbench show %s\n", p->tool, p->path,
             shell_word(p->path));
    return EXIT_WRONG_INPUT;
  } else if (load == LOAD_CLIMB && !p->contracts_only) {
    complain("lynxbench %s: %s: it climbs, and the knee is not known yet\nnext: lynxbench run %s --out a.lynx, then lynxbench %s a.lynx\n",
             p->tool, p->path, shell_word(p->path), p->tool);
    return EXIT_WRONG_INPUT;
  } else if (load == LOAD_OBSERVED) {
    complain("lynxbench %s: %s was watched while it served others: nothing of it is slowed; accepted: a run, or a contract, of a twin\n"
             "next: lynxbench diagnose URL-OF-THE-TWIN\n",
             p->tool, p->path);
    return EXIT_WRONG_INPUT;
  } else if (!goes_on) {
    complain("lynxbench %s: regime.load: found %s; accepted: closed, conversations, single-stream, constant, poisson, bursty%s: it needs a "
             "load that stays as it is\n",
             p->tool, load_text(load), p->contracts_only ? "" : ", or a run that climbed");
    return EXIT_WRONG_INPUT;
  }
  return EXIT_HOLDS;
}

/* About how many blocks a cycle has: how many processes there are is not known yet. */
static int64_t turns_of(const struct perturbation *p) {
  int64_t turns = 2, n_functions = 0;
  while (n_functions < FUNCTIONS_MAX && p->functions[n_functions] != NULL) n_functions++;
  for (size_t i = 0; p->perturbers[i] != NULL; i++) {
    const struct perturber *perturber = perturber_find(p->perturbers[i], strlen(p->perturbers[i]));
    if (perturber == NULL || (perturber->device != NULL && access(perturber->device, F_OK) != 0)) continue;
    turns += strcmp(perturber->name, "processor") == 0  ? 6
             : strcmp(perturber->name, "function") == 0 ? 2 * n_functions
             : strcmp(perturber->name, "library") == 0  ? 2 * (p->library != NULL)
             : perturber->takes_away                    ? 1
                                                        : 2;
  }
  return turns;
}

/* Each session starts the server again, with another setting or without. */
static bool restarts(const struct perturbation *p) {
  return p->setting != NULL || p->knob != NULL;
}

/* An interval is narrow from six cycles on. */
enum { CYCLES = 3, CYCLES_WELL = 6 };
static const double in_blocks = 0.85; /* of the time: the rest is warm-ups and the opening of perturbers */

/* What six cycles take whose blocks are as long as answers want. */
static const int64_t usual_least = 120 * SECOND, usual_most = 600 * SECOND;
static int64_t usual_time(const struct perturbation *p) {
  if (measured(p) == NULL) return usual_least;
  return between((double)(CYCLES_WELL * turns_of(p) * p->plan.block_ns) / in_blocks, usual_least, usual_most);
}

/* Of the time, what is left after warm-ups and the opening of perturbers is spent in whole cycles: three in each session, or there are fewer
 * looks. Blocks are as much as three eighths shorter for six cycles; and shorter than answers want only where there would be less than
 * three. */
static void fit_cycles(struct perturbation *p, int64_t whole) {
  const int64_t counted = (int64_t)(in_blocks * (double)whole), turns = turns_of(p), wanted = p->plan.block_ns;
  double well = (double)counted / (double)(CYCLES_WELL * turns);
  if (measured(p) != NULL && well < (double)wanted) p->plan.block_ns = between(well, wanted * 5 / 8, wanted);
  while (p->n_looks > 1 && counted / p->n_looks < CYCLES * turns * p->plan.block_ns) p->n_looks /= 2;
  bool short_of = counted < CYCLES * turns * p->plan.block_ns;
  if (short_of) p->plan.block_ns = between((double)counted / (double)(CYCLES * turns), SECOND / 4, p->plan.block_ns);
  p->plan.settle_ns = between((double)p->plan.settle_ns, p->plan.block_ns / 10, p->plan.block_ns / 3);
  if (!short_of || measured(p) == NULL) return; /* or how long an answer takes is not known */
  complain("blocks of %.2g s, although answers want %.2g s: --for %.0fs gives them that\n", (double)p->plan.block_ns / 1e9,
           (double)wanted / 1e9, (double)(CYCLES * turns * wanted) / in_blocks / 1e9);
}

static int plan_time(struct perturbation *p) {
  int64_t whole = usual_time(p);
  const char *text = p->duration;
  if (text != NULL) (void)number_duration(text, strlen(text), &whole); /* checked as it was read */
  if (!restarts(p)) fit_cycles(p, whole);
  int64_t each = whole / p->n_looks;
  p->warm_up_ns = between((double)each / 10, 2 * SECOND, 20 * SECOND);
  p->counted_ns = each - p->warm_up_ns;
  if (text == NULL && p->weighs && measured(p) != NULL) p->n_more = (usual_most - whole + each / 10) / each;
  return EXIT_HOLDS;
}

/* A restart for each session: pairs of them, the first look after the third pair. */
static void plan_setting(struct perturbation *p) {
  enum { SESSIONS = 12 };
  int64_t whole = p->n_looks * (p->warm_up_ns + p->counted_ns), each = whole / SESSIONS;
  p->plan.setting = p->setting;
  p->plan.knob = p->knob;
  p->plan.endpoint = p->endpoint != NULL ? p->endpoint : p->contract->executor.endpoint;
  p->warm_up_ns = between((double)each / 4, 1 * SECOND, 20 * SECOND);
  p->counted_ns = between((double)(each - p->warm_up_ns), 2 * SECOND, whole);
  p->n_sessions = SESSIONS;
}

int perturbation_open(struct perturbation *p) {
  int code = find_contract(p);
  if (code == EXIT_HOLDS) code = plan_load(p);
  if (code != EXIT_HOLDS) return code;
  char suffix[24];
  (void)snprintf(suffix, sizeof suffix, "-%s", p->tool);
  if (p->out == NULL) p->out = screen_bundle_name(p->contract, suffix, p->out_name, sizeof p->out_name);
  return EXIT_HOLDS;
}

void perturbation_close(struct perturbation *p) {
  if (p->has_file) contract_file_release(&p->file);
  if (p->has_run) bundle_file_close(&p->run);
}

/* --- the run --- */

double perturbation_confidence(const struct perturbation *p) {
  return look_confidence(p->contract->method.confidence, (size_t)(p->n_looks + p->n_more));
}

/* What a run's hooks are given. */
struct both {
  struct blocks *blocks;
  const struct perturbation *p;
};

/* Half as wide again as the median of all: what the next blocks are best spent on. What stalls the server and says nothing has none. */
static void weigh(struct blocks *blocks, const struct sensitivities *so_far) {
  double errors[SENSITIVITIES_MAX];
  struct block_weight weights[SENSITIVITIES_MAX];
  const enum response by = sensitivities_response(so_far);
  size_t n = 0, n_weights = 0;
  for (size_t i = 0; i < so_far->n; i++)
    if (so_far->items[i].of[by].bounded && !sensitivity_is_impossible(&so_far->items[i])) errors[n++] = so_far->items[i].of[by].error;
  quantile_sort(errors, n);
  for (size_t i = 0; i < so_far->n; i++)
    if (sensitivity_is_impossible(&so_far->items[i])) weights[n_weights++] = (struct block_weight){so_far->items[i].target, 0};
  for (size_t i = 0; i < so_far->n; i++) {
    const struct sensitivity *s = &so_far->items[i];
    const struct slope *e = &s->of[by];
    if (!sensitivity_is_impossible(s) && n > 1 && e->bounded && e->error > 1.5 * errors[(n - 1) / 2])
      weights[n_weights++] = (struct block_weight){s->target, 2};
  }
  blocks_weigh(blocks, weights, n_weights);
}

/* Stops of a process act on all of its functions: they are not waited for. Nor is what more blocks do not mend. */
static const double error_most = 0.075;
static bool are_narrow(const struct sensitivities *so_far) {
  for (size_t i = 0; i < so_far->n && !so_far->too_few; i++) {
    const struct sensitivity *s = &so_far->items[i];
    const struct slope *e = &s->of[sensitivities_response(so_far)];
    bool matters = !sensitivity_is_of_processors(s) && !sensitivity_is_of_load(s) && !sensitivity_is_impossible(s) && !s->stalls;
    if (matters && (!e->bounded || e->error > error_most)) return false;
  }
  return true;
}

static bool enough(void *context, struct bundle *bundle, int64_t n_sessions) {
  const struct perturbation *p = ((struct both *)context)->p;
  struct sensitivities so_far;
  bool due = !restarts(p) || (n_sessions >= 6 && n_sessions % 2 == 0);
  if (n_sessions >= p->n_sessions || !due) return false;
  if (sensitivities_read(bundle, p->contract, perturbation_confidence(p), &so_far, NULL) != LYNX_OK) return false;
  if (p->weighs && n_sessions >= p->n_looks && are_narrow(&so_far)) return true;
  if (p->weighs) weigh(((struct both *)context)->blocks, &so_far);
  /* What cannot be perturbed now is not waited for; what is called now and then may be found in the second session. */
  bool nothing = !restarts(p) && so_far.n == 0 && n_sessions >= 2;
  return nothing || sensitivity_all_impossible(&so_far) || (p->enough != NULL && p->enough(p->context, &so_far));
}

static void begin(void *context, const struct perturbed_session *session) {
  blocks_begin(((struct both *)context)->blocks, session);
}

static const char *const *variant(void *context, int64_t number) {
  return blocks_variant(((struct both *)context)->blocks, number);
}

static void end(void *context, struct bundle *bundle) {
  blocks_end(((struct both *)context)->blocks, bundle);
}

static void tell_plan(const struct perturbation *p) {
  char names[200] = "";
  double whole_s = (double)p->n_sessions * (double)(p->warm_up_ns + p->counted_ns) / 1e9;
  for (size_t i = 0; p->perturbers[i] != NULL; i++)
    (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? ", " : "", p->perturbers[i]);
  if (restarts(p))
    complain("%s: at most %.0f s and %lld starts of the server, with and without %s in random order\n", p->out, whole_s,
             (long long)p->n_sessions, p->knob != NULL ? p->knob : p->setting);
  else
    complain("%s: at most %.0f s in blocks of %.2g s, in random order: undisturbed, and with each of %s slowed or taken away\n", p->out,
             whole_s, (double)p->plan.block_ns / 1e9, names);
  if (p->n_more > 0)
    complain("it ends after %.0f s where by then no single cause has a standard error above %.3f\n",
             (double)p->n_looks * (double)(p->warm_up_ns + p->counted_ns) / 1e9, error_most);
}

/* What the executor would have as PYTHONPATH, LD_PRELOAD. */
static const char *variable_of(const struct contract *contract, const char *name) {
  const struct text_list *own = &contract->executor.start.environment;
  const char *ours = getenv(name);
  size_t n = strlen(name);
  for (size_t i = 0; i < own->n_items; i++)
    if (strncmp(own->items[i], name, n) == 0 && own->items[i][n] == '=') return own->items[i] + n + 1;
  return ours != NULL ? ours : "";
}

/* What is put into an executor that is started for it. */
struct slowed {
  struct slowed_code functions[FUNCTIONS_MAX], library;
  const char *environment[6];
};

static void add_variables(struct slowed *slowed, const struct slowed_code *code) {
  size_t n = 0;
  while (slowed->environment[n] != NULL) n++;
  for (size_t i = 0; code->environment[i] != NULL; i++) slowed->environment[n++] = code->environment[i];
}

/* What runs outside of the interpreter's lock is to be lengthened outside of it. As if it held the lock always, where no profiler saw it. */
static void find_locked(const struct perturbation *p, double ret[FUNCTIONS_MAX]) {
  struct live live;
  for (size_t i = 0; i < FUNCTIONS_MAX; i++) ret[i] = 1;
  if (!p->has_run || !live_read(p->run.bundle, &p->run.result, &live)) return;
  for (size_t i = 0; i < FUNCTIONS_MAX && p->functions[i] != NULL; i++) ret[i] = live_locked_share(&live, p->functions[i]);
  live_release(&live);
}

static int slow_code(struct perturbation *p, struct slowed *ret) {
  struct lynx_error error = {0};
  if (p->functions[0] == NULL && p->library == NULL) return EXIT_HOLDS;
  if (!contract_states(p->contract, "executor.start")) {
    complain("lynxbench %s: a %s can be slowed of a server that lynxbench starts: the contract needs executor.start\n", p->tool,
             p->functions[0] != NULL ? "function" : "library");
    return EXIT_WRONG_INPUT;
  }
  const char *path = variable_of(p->contract, "PYTHONPATH");
  double locked[FUNCTIONS_MAX];
  if (p->functions[0] != NULL) find_locked(p, locked);
  for (size_t i = 0; i < FUNCTIONS_MAX && p->functions[i] != NULL; i++) {
    if (slowed_function_open(p->functions[i], locked[i], path, &ret->functions[i], &error) != LYNX_OK) return report_error(&error);
    path = strchr(ret->functions[i].path, '=') + 1; /* each of them finds the next one in it */
    p->plan.functions[p->plan.n_functions++] = (struct slowed_place){ret->functions[i].folder, p->functions[i]};
    ret->environment[0] = ret->functions[i].path;
  }
  if (p->library != NULL) {
    if (slowed_library_open(p->library, variable_of(p->contract, "LD_PRELOAD"), &ret->library, &error) != LYNX_OK)
      return report_error(&error);
    p->plan.library = (struct slowed_place){ret->library.folder, p->library};
    add_variables(ret, &ret->library);
  }
  return EXIT_HOLDS;
}

static bool wants(const struct perturbation *p, const char *perturber) {
  for (size_t i = 0; p->perturbers[i] != NULL; i++)
    if (strcmp(p->perturbers[i], perturber) == 0) return true;
  return false;
}

/* A proxy in the way, for the whole run: only where there is a wire worth it. */
static void lengthen_wire(struct perturbation *p) {
  const char *endpoint = p->endpoint != NULL ? p->endpoint : p->contract->executor.endpoint;
  p->plan.wire = NULL;
  p->plan.no_wire = p->no_wire;
  if (contract_states(p->contract, "executor.start"))
    (void)snprintf(p->no_wire, sizeof p->no_wire, "wire: lynxbench starts the server on this machine: there is none");
  else if (wants(p, "wire")) (void)wire_open(endpoint, WIRE_ROUND_TRIP_LEAST_NS, &p->plan.wire, p->no_wire, sizeof p->no_wire);
}

static int run_blocks(struct perturbation *p, const struct slowed *slowed) {
  static const struct root root = {""};
  struct contract_run r;
  struct lynx_error error = {0};
  struct undo *undo;
  p->n_sessions = p->n_looks + p->n_more;
  if (restarts(p)) plan_setting(p);
  tell_plan(p);
  if (undo_open(&root, &undo, &error) != LYNX_OK) return report_error(&error); /* before any thread */
  lengthen_wire(p);
  struct both both = {blocks_new(&p->plan, &root, undo), p};
  const struct run_perturbation perturbation = {.concurrency = p->concurrency,
                                                .warm_up_ns = p->warm_up_ns,
                                                .counted_ns = p->counted_ns,
                                                .sessions_at_most = p->n_sessions,
                                                .through_port = p->plan.wire != NULL ? wire_port(p->plan.wire) : 0,
                                                .variant = restarts(p) ? variant : NULL,
                                                .begin = begin,
                                                .end = end,
                                                .enough = enough,
                                                .context = &both};
  const struct run_meta of = {"perturbs", p->has_run ? p->run.result.seal.root : ""};
  contract_run_init(&r, p->quiet, p->text, strlen(p->text), p->out);
  r.request.meta = &of;
  r.request.n_meta = p->has_run ? 1 : 0;
  r.request.endpoint = p->endpoint;
  r.request.foreign = p->foreign;
  r.request.api_key_env = p->foreign ? p->key_variable : NULL;
  r.request.key_variable = p->key_variable;
  r.request.environment = slowed->environment[0] != NULL ? slowed->environment : NULL;
  r.request.perturbation = &perturbation;
  int code = contract_run_whole(&r);
  undo_close(undo);
  blocks_free(both.blocks);
  wire_close(p->plan.wire);
  return code;
}

int perturbation_run(struct perturbation *p) {
  struct slowed slowed = {.library = {.folder = ""}};
  plan_blocks(p);
  int code = plan_time(p);
  if (code == EXIT_HOLDS) code = slow_code(p, &slowed);
  if (code == EXIT_HOLDS) code = run_blocks(p, &slowed);
  for (size_t i = 0; i < FUNCTIONS_MAX; i++) slowed_code_close(&slowed.functions[i]);
  slowed_code_close(&slowed.library);
  return code;
}

/* --- what could not be probed --- */

struct unprobed {
  struct arena *arena;
  const char **items;
  size_t n;
};

static enum lynx_status keep_unprobed(void *context, int64_t realtime_ns, enum event_kind kind, const char *text) {
  struct unprobed *u = context;
  char shown[400];
  (void)realtime_ns;
  if (kind != EVENT_UNSEEN || u->n == UNPROBED_MAX) return LYNX_OK;
  (void)text_sanitise(shown, sizeof shown, text, strlen(text));
  for (size_t i = 0; i < u->n; i++)
    if (strcmp(u->items[i], shown) == 0) return LYNX_OK;
  u->items[u->n++] = arena_copy(u->arena, shown);
  return LYNX_OK;
}

size_t perturbation_unprobed(struct bundle *bundle, struct arena *arena, const char ***ret) {
  struct unprobed u = {.arena = arena, .items = arena_alloc(arena, UNPROBED_MAX, sizeof *u.items)};
  if (bundle_each_event(bundle, keep_unprobed, &u, NULL) != LYNX_OK) u.n = 0;
  *ret = u.items;
  return u.n;
}
