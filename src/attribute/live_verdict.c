#include "attribute/live_verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_asks.h"
#include "attribute/live_pace.h"
#include "attribute/rule.h"

#define RUNS_MOST 0.3 /* of what the server runs */
#define LEADS 0.2     /* of the time: a finding is the verdict where nothing is full */
#define PROCESSORS "The processors bound this server."

static void set(struct live *live, enum live_bottleneck bottleneck, const char *title, const char *text) {
  live->bottleneck = bottleneck;
  live->bottleneck_title = title;
  live->bottleneck_text = text;
}

#define PROCESSORS_FULL 0.95 /* busy, whoever it is */

static double percent(double share) {
  return isfinite(share) ? 100 * share : 0;
}

/* Its threads wait for a lock most of the time that they do not run. */
static bool waits_for_locks(const struct live_lane *lane) {
  double all = 0;
  for (int i = 0; i < WAIT_COUNT; i++) all += lane->waits[i];
  return lane->waits[WAIT_LOCK] > 0.5 * all && lane->waits[WAIT_LOCK] > 0.1;
}

/* A thread that hands its work to OpenMP's threads, and waits there for the last of them, is as full as if it did it itself; so is one that
 * sleeps where it could work. */
static bool full_with_waits(const struct live_lane *lane) {
  return lane->busiest >= 0.3 && lane->busiest_timer < 0.5 && lane->busiest + live_pool_wait(lane) + lane->busiest_timer >= LIVE_FULL;
}

/* A pool of several of which none is free is not one thread. */
static bool are_all_full(const struct live_lane *lane) {
  double in_use = lane->running + lane->ready + lane->waits[WAIT_TIMER] + live_pool_wait(lane);
  return lane->n_threads > 1 && lane->present >= 1.5 && in_use >= 0.85 * lane->present;
}

static const char *other_processors(struct live *live) {
  if (live->n_processors <= 1 || !isfinite(live->around.busy)) return "";
  return arena_printf(&live->arena, "; of the machine's %lld processors %.1f are idle", (long long)live->n_processors,
                      live_idle_processors(live));
}

static bool judge_turns(struct live *live) {
  struct arena *arena = &live->arena;
  const struct live_account *loaded = live->beyond.n_lanes > 0 ? &live->beyond : &live->at;
  const struct live_lane *lane = live_busiest(loaded);
  double together = live_python_turns(live);
  bool held = live->lock_held >= LIVE_FULL;
  if (!held && together == 0 && !(live_one_at_a_time(live) && loaded->concurrency >= 2)) return false;
  if (held)
    set(live, LIVE_INTERPRETER, "Python's interpreter lock bounds this server.",
        arena_printf(arena, "a thread holds the interpreter's lock %.0f %% of the time%s", percent(live->lock_held),
                     other_processors(live)));
  else if (together > 0)
    set(live, LIVE_INTERPRETER, "Python's interpreter lock bounds this server.",
        arena_printf(arena, "its Python threads together run on %.2f processors, and on no more at %lld in flight: they take turns%s",
                     together, (long long)loaded->concurrency, other_processors(live)));
  else
    set(live, LIVE_TURNS, "Requests take turns in this server.",
        arena_printf(arena, "2 in flight give no more than 1; at %lld in flight its threads run on %.2f processors%s%s",
                     (long long)loaded->concurrency, loaded->running,
                     waits_for_locks(lane) ? arena_printf(arena, " and wait for a lock for %.2f", lane->waits[WAIT_LOCK]) : "",
                     other_processors(live)));
  return true;
}

/* The processors are full, and the server's own threads are there or wait for them: not others' alone. A server that gives more for every
 * request more is not bound by them, however busy others keep them. */
static bool processors_full(const struct live *live) {
  bool own = live->at.running >= 0.6 * (double)live->n_processors;
  return live->around.busy >= 0.9 && (own || (live_ready_share(live) >= 0.1 && !live_still_grows(live)));
}

static double failed_share(const struct live *live) {
  const struct result_precision *p = live->precision;
  return p->n_counted > 0 ? (double)p->n_failed / (double)p->n_counted : 0;
}

/* A thread that waits for a GPU often spins: it is full then, and bounds nothing. */
static bool judge_gpus(struct live *live) {
  const struct live_gpus *g = &live->around.gpus;
  if (!(g->busiest >= 0.9)) return false;
  set(live, LIVE_GPUS, "The GPU works all the time.",
      arena_printf(&live->arena, "some kernel runs on %s %.0f %% of the time, and on all %lld for %.0f %%",
                   g->n > 1 ? "the busiest GPU" : "the GPU", percent(g->busiest), (long long)g->n, percent(g->busy)));
  return true;
}

static bool judge_pace(struct live *live) {
  const struct live_pace pace = live_pace_of(live);
  if (!pace.fixed) return false;
  set(live, LIVE_PACE, "A fixed pace bounds this server.",
      arena_printf(
          &live->arena,
          "a token comes every %.3g ms with 1 in flight and every %.3g ms with %lld, while no thread is full and %.1f processors are "
          "idle: not work but a timer, a limit, a device or another service says when",
          pace.alone_ns / 1e6, pace.loaded_ns / 1e6, (long long)live->at.concurrency, live_idle_processors(live)));
  return true;
}

static bool judge_rate(struct live *live) {
  const struct live_account *loaded = live->beyond.n_lanes > 0 ? &live->beyond : &live->at;
  if (!live_pace_of(live).in_turn) return false;
  set(live, LIVE_PACE, "A fixed rate bounds this server.",
      arena_printf(
          &live->arena,
          "2 in flight give no more than 1, and at %lld its threads run on %.2f processors while %.1f are idle: nobody works on what "
          "waits; a limit, a timer, or one service behind it that takes them in turn",
          (long long)loaded->concurrency, loaded->running, live_idle_processors(live)));
  return true;
}

/* "; 56 % of its running time in prefix_key": the function of its own program that runs most, where one has a third. */
static const char *most_run(struct live *live) {
  const struct live_part *most = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++)
    for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
      const struct live_part *p = &live->at.lanes[i].parts[k];
      bool named = p->kind == LIVE_PROGRAM && p->inside[0] != 0;
      if (named && (most == NULL || p->share * p->inside_share > most->share * most->inside_share)) most = p;
    }
  if (most == NULL || !(live->at.running > 0)) return "";
  double share = most->share * most->inside_share / live->at.running;
  return share >= RUNS_MOST ? arena_printf(&live->arena, "; %.0f %% of its running time in %.80s", percent(share), most->inside) : "";
}

/* Whose work fills them: its own, that of processes that it asks, or others'. */
static void judge_processors(struct live *live) {
  struct arena *arena = &live->arena;
  const struct live_neighbour *asked = live_asked(live);
  double all = live->precision->conditions.others * (double)live->n_processors, others = isfinite(all) ? live_other_processors(live) : 0,
         of_asked = isfinite(all) ? all - others : 0;
  bool by_others = others >= 0.25 * (double)live->n_processors && others >= 0.5 * live->at.running,
       by_asked = asked != NULL && of_asked >= 0.25 * (double)live->n_processors;
  set(live, LIVE_PROCESSORS,
      by_others  ? "Other processes and this server fill the processors."
      : by_asked ? "This server and a process that it asks fill the processors."
                 : PROCESSORS,
      arena_printf(arena, "the machine's processors are busy %.0f %% of the time: the server's threads use %.2f of %lld%s, others %.2f%s",
                   percent(live->around.busy), live->at.running, (long long)live->n_processors,
                   asked != NULL ? arena_printf(arena, ", %.80s, which it asks, %.2f", asked->name, of_asked) : "", others,
                   most_run(live)));
}

/* Fewer processors than the machine has, by an affinity or a cpuset; and they are full, whoever fills them. */
static bool judge_allowed(struct live *live) {
  int64_t allowed = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (l->running + l->ready >= 0.1 && l->n_processors > allowed) allowed = l->n_processors;
  }
  double ready = live_ready_share(live);
  if (allowed == 0 || allowed >= live->n_processors || !(ready >= 0.2) || !(live_idle_processors(live) >= 0.3)) return false;
  ready = live->at.ready / fmax(live->at.running + live->at.ready, 1e-9);
  set(live, LIVE_ALLOWED, "The processors that it may run on bound this server.",
      arena_printf(&live->arena,
                   "its threads may run on %lld of the machine's %lld processors, and wait for one %.0f %% of the time that they could "
                   "run, while %.1f "
                   "are idle",
                   (long long)allowed, (long long)live->n_processors, percent(ready), live_idle_processors(live)));
  return true;
}

/* Of a load under which throughput still grows: a thread that batches is full long before its server is. */
static const char *full_already(struct live *live) {
  const struct live_lane *lane = live_busiest(&live->at);
  if (lane->busiest < LIVE_FULL) return "";
  return arena_printf(&live->arena, "; %s %lld runs or is ready %.0f %% of the time already, and does more at once for more requests",
                      live_lane_text(&live->arena, lane), (long long)lane->thread, percent(lane->busiest));
}

/* What is known before any thread is looked at. */
static bool judge_outside(struct live *live) {
  struct arena *arena = &live->arena;
  const struct result_conditions *c = &live->precision->conditions;
  const struct result_step *last = live->precision->n_steps > 0 ? &live->precision->steps[live->precision->n_steps - 1] : NULL;
  if (live->precision->n_counted == 0)
    set(live, LIVE_NOBODY, "No request was counted: of this server nothing is said.",
        "what its threads did, they did for nobody that was seen");
  else if (failed_share(live) > live->result->contract.method.failures_at_most)
    set(live, LIVE_FAILING, "Requests fail: what is shown is not a server at work.",
        arena_printf(arena, "%lld of %lld counted requests failed (`lynxbench show` says how)", (long long)live->precision->n_failed,
                     (long long)live->precision->n_counted));
  else if (c->throttled >= 0.05)
    set(live, LIVE_QUOTA, "A processor quota bounds this server.",
        arena_printf(arena, "the control group is throttled %.0f %% of the time", percent(c->throttled)));
  else if (judge_allowed(live)) return true;
  else if (processors_full(live)) judge_processors(live);
  else if (live->precision->instrument_limited && live->result->contract.regime.load != LOAD_OBSERVED)
    set(live, LIVE_CLIENT, "The load generator, not the server, bounds this measurement.",
        "lynxbench's own lateness can have changed the figures by more than is allowed (method.instrument_error_at_most), and the "
        "processors are not full");
  else if (last != NULL && live_still_grows(live))
    set(live, LIVE_LOAD, "The test stopped before the server reached its limit.",
        arena_printf(arena, "throughput still grows at %lld in flight: give %s more, and ask again%s", (long long)last->concurrency,
                     last->too_short ? "--for (the window was too short for so many)" : "--at-most", full_already(live)));
  else return judge_gpus(live);
  return true;
}

static bool judge_workers(struct live *live) {
  const struct live_alike *a = &live->workers;
  if (!live_workers_idle(live)) return false;
  set(live, LIVE_WORKERS, "Some of its workers do all the work.",
      arena_printf(&live->arena, "of %zu processes that are in %.160s, %zu run%s for %.2f of a processor at most at %lld in flight%s", a->n,
                   a->where, a->n_idle, a->n_idle == 1 ? "s" : "", a->idle, (long long)a->concurrency, other_processors(live)));
  return true;
}

/* A pool of connections is as full as a thread can be. */
static bool judge_pool(struct live *live) {
  const struct live_around *a = &live->around;
  if (!live_pool_full(live)) return false;
  set(live, LIVE_ASKS, "Its connections to another service bound this server.",
      arena_printf(&live->arena,
                   "%.3g connection%s to port %.0f: %.0f %% of the looks find one waiting for an answer, with %.3g requests in flight%s",
                   a->asks_lasting, a->asks_lasting < 1.5 ? "" : "s", a->asks_port, percent(a->asks_lasting_open / a->asks_lasting),
                   live->in_flight, other_processors(live)));
  return true;
}

/* Requests are offered at a rate, and as many are answered. */
static bool load_is_met(const struct live *live) {
  const struct contract_regime *r = &live->result->contract.regime;
  const struct interval *rate = &live->precision->request_rate;
  bool offered = (r->load == LOAD_CONSTANT || r->load == LOAD_POISSON) && live->precision->n_steps == 0 && r->rate_per_s > 0;
  return offered && (rate->bounded ? rate->high : rate->estimate) >= 0.97 * r->rate_per_s;
}

static void judge_bottleneck(struct live *live) {
  struct arena *arena = &live->arena;
  const struct live_lane *lane = live_busiest(&live->at);
  const char *name = live_lane_text(arena, lane);
  double timers = lane->waits[WAIT_TIMER] / fmax(lane->present, 1e-9);
  if (judge_outside(live)) return;
  /* At 1 in flight one thread is full; whether it bounds shows where more could share the work. */
  bool shared = live->beyond.n_lanes > 0 && live_busiest(&live->beyond)->busiest < LIVE_FULL && live_python_turns(live) > 0;
  if (judge_workers(live) || judge_pool(live)) return;
  if (lane->busiest >= LIVE_FULL && !shared)
    set(live, LIVE_ONE_THREAD, "One thread bounds this server.",
        arena_printf(arena, "%s %lld is on a processor or ready for one %.0f %% of the time%s%s", name, (long long)lane->thread,
                     percent(lane->busiest), other_processors(live), most_run(live)));
  else if (load_is_met(live))
    set(live, LIVE_MET, "This load does not bring the server to its limit.",
        arena_printf(arena,
                     "%.4g requests/s are offered and answered, %.3g in flight at a time; no thread is full (%s: %.0f %%), the processors "
                     "are busy %.0f %%",
                     live->result->contract.regime.rate_per_s, live->in_flight, name, percent(lane->busiest), percent(live->around.busy)));
  else if (judge_rate(live)) {
  } else if (judge_turns(live)) {
  } else if (full_with_waits(lane))
    set(live, LIVE_ONE_THREAD, are_all_full(lane) ? "The number of its threads bounds this server." : "One thread bounds this server.",
        arena_printf(arena,
                     "%s %lld is on a processor or ready for one %.0f %% of the time, waits for its pool of threads (OpenMP) %.0f %%, and "
                     "sleeps %.0f %%: it is never free%s",
                     name, (long long)lane->thread, percent(lane->busiest), percent(live_pool_wait(lane)), percent(lane->busiest_timer),
                     other_processors(live)));
  else if (timers >= 0.25)
    set(live, LIVE_SLEEP, "Sleeping bounds this server.",
        arena_printf(arena, "%s: a timer is waited for %.0f %% of the time under load%s", name, percent(timers), other_processors(live)));
  else
    set(live, LIVE_UNDECIDED, "What bounds this server was not seen.",
        arena_printf(arena, "no thread is full (%s: %.0f %%), the processors are busy %.0f %%, no quota: %s", name, percent(lane->busiest),
                     percent(live->around.busy),
                     live->around.busy >= PROCESSORS_FULL
                         ? "what fills them is no thread of this server: what it starts, what it asks, or a neighbour"
                         : "it waits for something that the threads do not show: a timer or a lock inside an event loop, a device, or "
                           "another service"));
}

static bool finds(const struct live *live, const char *rule) {
  for (size_t i = 0; i < live->n_findings; i++)
    if (strcmp(live->findings[i].id, rule) == 0 && live->findings[i].share >= LEADS) return true;
  return false;
}

static void judge_bound(struct live *live) {
  struct arena *arena = &live->arena;
  double computing = live_computing_share(live);
  switch (live->bottleneck) {
    case LIVE_PROCESSORS:
      if (finds(live, "too_many_threads") || finds(live, "spinning")) {
        live->bound_why = "all processors are busy, and part of that is threads that wait for one another: fewer of them do the same work";
        return;
      }
      if (computing >= 0.7 && !(live->precision->conditions.others > 0.1)) {
        live->bound = LIVE_HARDWARE;
        live->bound_why = arena_printf(arena, "all processors are busy, %.0f %% of that in libraries that compute", percent(computing));
        return;
      }
      live->bound_why = isfinite(computing) ? arena_printf(arena,
                                                           "all processors are busy, and %.0f %% of the server's time is in libraries "
                                                           "that compute: faster processors help, and so would less work",
                                                           percent(computing))
                                            : "all processors are busy, and no profiler divided their time";
      return;
    case LIVE_ONE_THREAD:
    case LIVE_INTERPRETER:
    case LIVE_TURNS:
    case LIVE_SLEEP:
    case LIVE_PACE:
    case LIVE_WORKERS:
    case LIVE_ASKS:
      live->bound = LIVE_SOFTWARE;
      live->bound_why = live->around.gpus.busy <= 0.5
                            ? arena_printf(arena, "the GPU%s idle %.0f %% of the time while requests wait: a faster one would not help",
                                           live->around.gpus.n > 1 ? "s are" : " is", 100 - percent(live->around.gpus.busy))
                            : "processors are idle while requests wait: more of them would not help";
      if (live->n_processors > 1 && !(live_idle_processors(live) < 0.2)) return;
      live->bound = LIVE_NOT_DECIDED;
      live->bound_why = live->n_processors > 1 ? "the processors that it leaves are in use by others" : "there is one processor";
      return;
    case LIVE_GPUS:
      live->bound_why = "a GPU that works all the time may still do little: its profiler's trace shows which kernels (`lynxbench attribute "
                        "TRACE`)";
      return;
    case LIVE_ALLOWED:
      live->bound = LIVE_SOFTWARE;
      live->bound_why = "which processors it may run on is a setting";
      return;
    case LIVE_QUOTA:
      live->bound = LIVE_SOFTWARE;
      live->bound_why = "the quota is a setting";
      return;
    case LIVE_MET: live->bound_why = "its limit was not tried: `lynxbench diagnose URL` raises the load to it"; return;
    case LIVE_LOAD: live->bound_why = "its limit was not reached"; return;
    default: live->bound_why = "no resource was seen at its limit"; return;
  }
}

/* Code and settings are changed where a server is started; of one that runs already nothing is, where the rule has no other way. */
static const char *confirm_by(const struct live *live, const struct finding *f) {
  static const char *const at_start[] = {"function", "library", "setting"};
  bool starts = contract_states(&live->result->contract, "executor.start");
  for (size_t i = 0; i < LYNX_COUNT(at_start); i++)
    if (f->perturber != NULL && strcmp(f->perturber, at_start[i]) == 0 && f->otherwise == NULL && !starts)
      return " --contract STARTS-IT.yaml";
  return "";
}

static void find_causes(struct live *live) {
  live->n_findings = rules_run(&(struct evidence){.live = live}, live->findings, LIVE_FINDINGS_MAX);
  for (size_t i = 0; i < live->n_findings; i++) live->findings[i].confirm_by = confirm_by(live, &live->findings[i]);
}

/* Three ways not to see a server, and what mends each. */
const char *live_unseen(const struct live *live, struct arena *arena) {
  for (size_t i = 0; i < live->facts.n_items; i++) {
    const struct fact *f = &live->facts.items[i];
    if (strcmp(f->key, "hole.remote-host") == 0)
      return "it runs on another host. Run lynxbench there; or `lynxbench watch --samples-only` there while this runs here, and `lynxbench "
             "merge` both";
    if (strcmp(f->key, "hole.serving-process") == 0 && f->value != NULL) return live_words(arena, f->value);
  }
  return "its threads may not be read, or there are so many that looks were too rare. Run as root or as the server's user (in a "
         "container with --cap-add=SYS_PTRACE), or for longer";
}

/* Where no resource was seen full, what takes most of the requests' time is what there is to say: one judgement, not two. */
static void follow_first_finding(struct live *live) {
  const struct finding *first = live->n_findings > 0 ? &live->findings[0] : NULL;
  if (live->bottleneck == LIVE_LOAD || strcmp(live->bottleneck_title, PROCESSORS) == 0) {
    if (first != NULL && first->share >= LEADS)
      live->bottleneck_title = arena_printf(&live->arena, "%s First suspect: %s.", live->bottleneck_title, first->title);
    return;
  }
  if (live->bottleneck != LIVE_UNDECIDED) return;
  if (judge_pace(live)) {
    if (first != NULL && first->share >= LEADS)
      live->bottleneck_text = arena_printf(&live->arena, "%s; first suspect: %s", live->bottleneck_text, first->evidence);
    return;
  }
  if (first == NULL || first->share < LEADS) return;
  const char *full = live->around.busy >= PROCESSORS_FULL
                         ? arena_printf(&live->arena, "The processors are full, with %.2g of %lld by this server's own threads.",
                                        live->at.running, (long long)live->n_processors)
                         : "No resource is full.";
  set(live, LIVE_UNDECIDED, arena_printf(&live->arena, "%s First suspect: %s.", full, first->title),
      arena_printf(&live->arena, "%s; %s", first->evidence, live->bottleneck_text));
}

void live_judge(struct live *live) {
  find_causes(live);
  if (live->at.n_lanes > 0) {
    judge_bottleneck(live);
    follow_first_finding(live);
    judge_bound(live);
    return;
  }
  set(live, LIVE_UNDECIDED, "What bounds this server was not seen.", "nothing was seen of the threads of the serving process");
  live->bound_why = arena_printf(&live->arena, "the serving process was not seen: %s", live_unseen(live, &live->arena));
}
