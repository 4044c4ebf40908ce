#include "experiment/confirm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment/perturber_table.h"
#include "stats/special.h"

#define PROCESS_LEAST 0.25
#define GAIN_LEAST 0.04879016416943201 /* ln 1.05 */
#define SHARE_LEAST 0.03
#define LOCK_FULL 0.8   /* of the time, held by what the finding names */
#define SLOWED_MORE 0.3 /* of the whole time, by the greater level, if the share is what it costs */

const char *confirm_verdict_text(enum confirm_verdict verdict) {
  static const char *const texts[] = {"inconclusive", "confirmed", "refuted", "remedied", "not remedied"};
  return texts[verdict];
}

/* "encode (/srv/app.py:188)" */
static bool names_python(const struct finding *f) {
  const char *end = strstr(f->named, ".py:"), *open = strstr(f->named, " (");
  return end != NULL && open != NULL && open < end;
}

/* "gemm_avx (/opt/lib/libmkl_def.so.2)" -> "libmkl_def.so.2" */
static bool names_library(const struct finding *f, char *ret, size_t size) {
  const char *open = strrchr(f->named, '('), *close = strrchr(f->named, ')');
  if (open == NULL || close == NULL || close < open || names_python(f)) return false;
  for (const char *at = open + 1; at < close; at++)
    if (*at == '/') open = at;
  size_t n = (size_t)(close - open - 1);
  if (n == 0 || n >= size) return false;
  (void)snprintf(ret, size, "%.*s", (int)n, open + 1);
  return true;
}

/* "A=1, B=2" -> "A,B"; false: it names no variable. */
static bool read_setting(const char *named, char *ret, size_t size) {
  size_t n = 0;
  ret[0] = 0;
  for (const char *at = named; *at != 0;) {
    size_t name = strcspn(at, "=, "), rest = strcspn(at, ",");
    if (name == 0 || at[name] != '=' || n + name + 2 > size) return false;
    n += (size_t)snprintf(ret + n, size - n, "%s%.*s", n > 0 ? "," : "", (int)name, at);
    at += rest + strspn(at + rest, ", ");
  }
  return n > 0;
}

static bool plan_remedy(const struct finding *f, bool starts, const char *knob, struct confirm_plan *ret, char *why, size_t size) {
  *ret = (struct confirm_plan){
      .finding = f,
      .perturbers = {"setting"},
      .takes_away = true,
      .threshold = GAIN_LEAST,
      .knob = knob,
      .instead = "the remedy that you named, and not what the finding names: another cause may have the same remedy"};
  if (!starts)
    (void)snprintf(why, size, "--set: found '%s', and the server runs already; accepted: a contract that starts it (executor.start)", knob);
  return starts;
}

/* 1 where the levels are great enough as they are. */
static double stretch_for(const struct perturber *own, double share) {
  double greatest = 1;
  for (size_t l = 0; l < LEVELS_MAX; l++) greatest = fmax(greatest, own->levels[l]);
  return fmax(1, fmin(SLOWED_MORE / share, own->most - 1) / (greatest - 1));
}

bool confirm_plan_make(const struct finding *f, bool starts, const char *knob, struct confirm_plan *ret, char *why, size_t size) {
  if (knob != NULL) return plan_remedy(f, starts, knob, ret, why, size);
  const struct perturber *own = f->perturber != NULL ? perturber_find(f->perturber, strlen(f->perturber)) : NULL;
  *ret = (struct confirm_plan){.finding = f};
  bool function = own != NULL && strcmp(own->name, "function") == 0, library = own != NULL && strcmp(own->name, "library") == 0,
       named = function ? names_python(f) || (f->slowed != NULL && f->named[0] == 0)
                        : library && names_library(f, ret->library, sizeof ret->library);
  bool can = starts && named;
  if ((function || library) && !can) {
    own = f->otherwise != NULL ? perturber_find(f->otherwise, strlen(f->otherwise)) : NULL;
    ret->instead = !named ? "no code is named: its process was slowed as a whole, which confirms nothing of a part of it"
                          : "the server ran already, so that its process was slowed as a whole, which confirms nothing of that code";
    ret->by_whole = true;
    ret->library[0] = 0;
  }
  bool setting = own != NULL && strcmp(own->name, "setting") == 0;
  if (setting && (!starts || !read_setting(f->named, ret->setting, sizeof ret->setting))) own = NULL;
  if (own == NULL) {
    (void)snprintf(why, size,
                   "it has no experiment of its own. By hand: %s. Or name a remedy in the start command, such as --set "
                   "OMP_NUM_THREADS=2 or --set=--max-num-seqs=64",
                   f->confirm);
    return false;
  }
  ret->perturbers[0] = own->name;
  if (can && function) {
    /* Another function's sleep is another matter. */
    if (f->slowed != NULL && names_python(f)) (void)snprintf(ret->sleeps, sizeof ret->sleeps, "%s in %s", f->slowed, f->named);
    ret->function = f->slowed == NULL ? f->named : ret->sleeps[0] != 0 ? ret->sleeps : f->slowed;
  }
  ret->takes_away = own->takes_away;
  ret->by_process = strcmp(own->name, "processor") == 0;
  double share = fmax(f->share, SHARE_LEAST);
  ret->threshold = own->of_share ? share / 3 : own->takes_away ? GAIN_LEAST : PROCESS_LEAST;
  if (own->most > 0) ret->stretch = stretch_for(own, share);
  return true;
}

bool confirm_is_possible(const struct finding *f, bool starts) {
  struct confirm_plan plan;
  char why[600];
  bool may_start = f->confirm_by != NULL && f->confirm_by[0] != 0;
  return confirm_plan_make(f, starts || may_start, NULL, &plan, why, sizeof why);
}

struct confirm_plan confirm_plan_by_swap(const struct finding *finding) {
  return (struct confirm_plan){.finding = finding, .takes_away = true, .threshold = GAIN_LEAST};
}

enum confirm_verdict confirm_decide(const struct confirm_plan *plan, const struct slope *effect) {
  if (!effect->bounded) return CONFIRM_INCONCLUSIVE;
  return effect->low > plan->threshold ? CONFIRM_CONFIRMED : effect->high < plan->threshold ? CONFIRM_REFUTED : CONFIRM_INCONCLUSIVE;
}

static bool same_process(const char *target, const char *process) {
  const char *name = strstr(target, ": ");
  size_t n = strlen(process);
  return name != NULL && strncmp(name + 2, process, n) == 0 && (name[2 + n] == 0 || name[2 + n] == ' ');
}

/* Of the processes that it may be about, the one that costs most for certain. */
static const struct sensitivity *about(const struct confirm_plan *plan, const struct sensitivities *all, enum response response,
                                       size_t *ret_n) {
  const struct sensitivity *best = NULL;
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++) {
    const struct sensitivity *s = &all->items[i];
    bool mine = s->perturber != NULL && strcmp(s->perturber->name, plan->perturbers[0]) == 0;
    if (plan->by_process && !sensitivity_is_of_one_process(s)) mine = false;
    if (plan->by_process && plan->finding->process[0] != 0 && !same_process(s->target, plan->finding->process)) mine = false;
    if (!mine) continue;
    n++;
    bool possible = !sensitivity_is_impossible(s), had = best != NULL && !sensitivity_is_impossible(best);
    if (best == NULL || (possible && !had) || (possible == had && s->of[response].low > best->of[response].low)) best = s;
  }
  *ret_n = n;
  return best;
}

/* The run kept why it slowed nothing: that the function takes no time there is an answer, too. */
static bool is_absent(const struct confirm_plan *plan, const char *const *unprobed, size_t n) {
  bool absent = false;
  for (size_t i = 0; i < n && plan->function != NULL; i++)
    absent = absent || (strncmp(unprobed[i], "function: ", 10) == 0 &&
                        (strstr(unprobed[i], PERTURBER_NOT_CALLED) != NULL || strstr(unprobed[i], PERTURBER_GONE) != NULL));
  return absent;
}

/* Does the control differ by as much as confirms, for certain? */
static bool control_moves(const struct confirm_plan *plan, const struct sensitivities *all, const struct sensitivity *of) {
  double given = 1, threshold = plan->threshold;
  for (size_t l = 0; l < of->n_levels; l++) given = fmax(given, of->levels[l].given);
  if (!plan->takes_away) threshold = special_log(1 + plan->threshold * (given - 1));
  return all->control.bounded && (all->control.low > threshold || all->control.high < -threshold);
}

/* Who holds a lock all the time can hold no more of it: to be slower costs the others nothing that it does not cost them already. */
static bool fills_its_lock(const struct finding *f) {
  return f != NULL && f->id != NULL && strcmp(f->id, "interpreter_lock") == 0 && f->share >= LOCK_FULL;
}

struct confirmation confirm_judge(const struct confirm_plan *plan, const struct sensitivities *all, const char *const *unprobed,
                                  size_t n_unprobed) {
  struct confirmation c = {.response = all->open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT,
                           .rung = plan->takes_away ? RUNG_SWAPPED_BACK : RUNG_PERTURBED};
  size_t n;
  c.of = about(plan, all, c.response, &n);
  c.ambiguous = plan->by_process && n > 1;
  if (c.ambiguous) c.of = NULL; /* the greatest of several is not that of the one that is meant */
  c.absent = c.of == NULL && !c.ambiguous && is_absent(plan, unprobed, n_unprobed);
  if (c.absent) c.verdict = CONFIRM_REFUTED, c.rung = RUNG_ACCOUNTED;
  if (c.of == NULL) return c;
  c.effect = c.of->of[c.response];
  c.by_smaller = c.response == RESPONSE_THROUGHPUT && sensitivity_bends(c.of);
  if (c.by_smaller) c.effect = c.of->smaller;
  if (plan->takes_away && all->open_load) /* a latency that falls is what is gained */
    c.effect = slope_turned(c.effect);
  c.impossible = c.response == RESPONSE_THROUGHPUT && sensitivity_is_impossible(c.of);
  if (!c.impossible) c.verdict = confirm_decide(plan, &c.effect);
  c.control_moved = control_moves(plan, all, c.of);
  if (c.control_moved) c.verdict = CONFIRM_INCONCLUSIVE;
  c.of_process = plan->by_whole && c.verdict == CONFIRM_CONFIRMED;
  if (c.of_process) c.verdict = CONFIRM_INCONCLUSIVE;
  c.saturated = c.verdict == CONFIRM_REFUTED && plan->knob == NULL && !plan->takes_away && fills_its_lock(plan->finding);
  if (c.saturated) c.verdict = CONFIRM_INCONCLUSIVE;
  if (plan->knob != NULL && c.verdict == CONFIRM_CONFIRMED) c.verdict = CONFIRM_REMEDIED;
  if (plan->knob != NULL && c.verdict == CONFIRM_REFUTED) c.verdict = CONFIRM_NOT_REMEDIED;
  return c;
}
