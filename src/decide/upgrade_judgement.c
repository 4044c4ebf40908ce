#include "decide/upgrade_judgement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stats/special.h"

#define COUNTS 0.02 /* an elasticity below this is no alternative */
#define BLOCKS_TIMES_MOST 1000
enum { BOUNDS_MAX = 48 };

const char *doubt_text(enum doubt_kind kind) {
  static const char *const texts[DOUBT_KINDS] = {[DOUBT_OTHER_DEVICE] = "the run was measured on another device",
                                                 [DOUBT_OTHER_CODE] = "other code would run, of which nothing was measured",
                                                 [DOUBT_CAPACITY] = "more memory may let more fit, which no slowed block can show",
                                                 [DOUBT_STEPS] = "more of it may gain more than its factor, and nothing here can slow it",
                                                 [DOUBT_NO_PERTURBER] = "nothing here can slow it, so that its effect was not measured",
                                                 [DOUBT_UNPROBED] = "it was not slowed in this run",
                                                 [DOUBT_UNBOUNDED] = "too few blocks were measured for an interval",
                                                 [DOUBT_IMPOSSIBLE] = "what was slowed waits in a loop, so that its time is no cost",
                                                 [DOUBT_WIDE] = "the interval of its effect is too wide",
                                                 [DOUBT_ONLY_A_TRIAL] = "it may gain that much, and only a trial can show that it does"};
  return texts[kind];
}

static double slowest(const struct sensitivity *s) {
  double most = 1;
  for (size_t l = 0; l < s->n_levels; l++)
    if (isfinite(s->levels[l].given)) most = fmax(most, s->levels[l].given);
  return most;
}

static double least_slowed(const struct sensitivity *s) {
  double least = INFINITY;
  for (size_t l = 0; l < s->n_levels; l++)
    if (s->levels[l].given > 1) least = fmin(least, s->levels[l].given);
  return isfinite(least) ? least : slowest(s);
}

/* Where its effect is not in proportion to its slowness, the smaller level alone is nearest to what an upgrade does. */
static void take_elasticity(struct judged_part *p, const struct sensitivity *s, enum response figure) {
  if (p->n == TARGETS_OF_PART) return;
  bool bends = figure == RESPONSE_THROUGHPUT && sensitivity_bends(s) && s->smaller.bounded;
  p->measured[p->n] = s;
  p->elasticity[p->n] = bends ? s->smaller : s->of[figure];
  p->slowness[p->n++] = bends ? least_slowed(s) : slowest(s);
  p->falls = p->falls || (s->curvature.bounded && s->curvature.high < 0);
}

static bool is_by(const struct sensitivity *s, const char *perturber) {
  return s->perturber != NULL && perturber != NULL && strcmp(s->perturber->name, perturber) == 0;
}

/* All together, where they were slowed so; else each of its targets. */
static void find_measured_by(const struct sensitivities *all, const char *perturber, enum response figure, struct judged_part *p) {
  for (size_t i = 0; i < all->n && p->n == 0; i++)
    if (is_by(&all->items[i], perturber) && sensitivity_is_of_all(&all->items[i])) take_elasticity(p, &all->items[i], figure);
  if (p->n > 0) return;
  for (size_t i = 0; i < all->n; i++)
    if (is_by(&all->items[i], perturber)) take_elasticity(p, &all->items[i], figure);
}

static void find_measured(const struct upgrade_question *q, const struct sensitivities *all, enum response figure, struct judged_part *p) {
  const struct resource *r = p->part->resource;
  for (size_t k = 0; k < LYNX_COUNT(r->measured_by) && p->n == 0; k++) {
    bool of_host = r->measured_by[k] != NULL && strcmp(r->measured_by[k], "gpu") != 0;
    if (!(r->of_device && of_host && !q->on_processor)) find_measured_by(all, r->measured_by[k], figure, p);
  }
}

/* In the order of their kinds: while no bound can hold, measuring more decides nothing. */
static void add_doubt(struct upgrade_judgement *j, enum doubt_kind kind, const struct upgrade_part *part) {
  if (j->n_doubts == DOUBTS_MAX) return;
  size_t k = j->n_doubts++;
  for (; k > 0 && j->doubts[k - 1].kind > kind; k--) j->doubts[k] = j->doubts[k - 1];
  j->doubts[k] = (struct doubt){kind, part, NAN};
}

/* On a device fp16 and bf16 are as fast. */
static bool is_type(const struct upgrade_question *q, const struct upgrade_part *part) {
  char own[UPGRADE_TEXT];
  (void)upgrade_type(part->type, own, sizeof own);
  bool halves = q->from != NULL && strcasecmp(own, "bf16") == 0 && strcasecmp(q->executed, "fp16") == 0;
  return halves || strcasecmp(own, q->executed) == 0;
}

/* Is the executed type one of those that the upgrade names? Then the others do not matter. */
static bool has_executed(const struct upgrade_question *q) {
  for (size_t i = 0; i < q->upgrade->n && q->executed[0] != 0; i++)
    if (q->upgrade->parts[i].type[0] != 0 && is_type(q, &q->upgrade->parts[i])) return true;
  return false;
}

/* What stays as it is or gets slower gains nothing; nor does another type than the executed one. */
static bool is_ignored(const struct upgrade_question *q, const struct upgrade_part *part) {
  if (part->resource->is_capacity) return true;
  if (part->type[0] != 0 && has_executed(q) && !is_type(q, part)) return true;
  return !(part->factor > 1);
}

static bool is_measured(const struct judged_part *p) {
  for (size_t i = 0; i < p->n; i++)
    if (!p->elasticity[i].bounded || !isfinite(p->elasticity[i].high) || !(p->slowness[i] > 1)) return false;
  return p->n > 0;
}

static bool is_impossible(const struct judged_part *p) {
  for (size_t i = 0; i < p->n; i++)
    if (sensitivity_is_impossible(p->measured[i])) return true;
  return false;
}

static void doubt_part(const struct upgrade_question *q, struct upgrade_judgement *j, const struct judged_part *p) {
  const struct resource *r = p->part->resource;
  if (r->is_capacity && !(p->part->factor <= 1)) add_doubt(j, DOUBT_CAPACITY, p->part);
  if (p->ignored) return;
  if (p->part->type[0] != 0 && q->executed[0] != 0 && q->from == NULL && !is_type(q, p->part)) add_doubt(j, DOUBT_OTHER_CODE, p->part);
  if (r->has_steps) add_doubt(j, DOUBT_STEPS, p->part);
  else if (r->measured_by[0] == NULL) add_doubt(j, DOUBT_NO_PERTURBER, p->part);
  else if (p->n == 0) add_doubt(j, DOUBT_UNPROBED, p->part);
  else if (is_impossible(p)) add_doubt(j, DOUBT_IMPOSSIBLE, p->part);
  else if (!is_measured(p)) add_doubt(j, DOUBT_UNBOUNDED, p->part);
}

static bool lets_no_bound_hold(enum doubt_kind kind) {
  return kind <= DOUBT_STEPS;
}

/* One elasticity may be that of several resources of the upgrade (a whole device): it counts once, with the greatest factor. */
static size_t collect_bounds(const struct upgrade_judgement *j, bool upper, struct resource_bound *ret) {
  const struct sensitivity *of[BOUNDS_MAX];
  size_t n = 0;
  for (size_t i = 0; i < j->n_parts; i++) {
    const struct judged_part *p = &j->parts[i];
    for (size_t m = 0; m < p->n && !p->ignored; m++) {
      size_t k = 0;
      while (k < n && of[k] != p->measured[m]) k++;
      if (k < n) ret[k].factor = fmax(ret[k].factor, p->part->factor);
      if (k < n || n == BOUNDS_MAX) continue;
      of[n] = p->measured[m];
      double e = upper ? p->elasticity[m].high : p->elasticity[m].estimate;
      ret[n++] = (struct resource_bound){.elasticity = fmax(e, 0), .slowness = p->slowness[m], .factor = p->part->factor};
    }
  }
  return n;
}

static bool all_measured(const struct upgrade_judgement *j) {
  for (size_t i = 0; i < j->n_parts; i++)
    if (!j->parts[i].ignored && (!is_measured(&j->parts[i]) || is_impossible(&j->parts[i]))) return false;
  return true;
}

static void compute_bounds(struct upgrade_judgement *j) {
  struct resource_bound bounds[BOUNDS_MAX];
  const bool measured = all_measured(j), caps = j->figure == RESPONSE_THROUGHPUT;
  j->factor = 1;
  for (size_t i = 0; i < j->n_parts; i++)
    if (!j->parts[i].ignored) j->factor = fmax(j->factor, j->parts[i].part->factor);
  j->concave = j->serial = j->estimate = NAN;
  if (measured) {
    size_t n = collect_bounds(j, true, bounds);
    j->concave = fmin(bound_concave(bounds, n), caps ? j->factor : INFINITY);
    j->serial = fmin(bound_serial(bounds, n), j->concave);
    n = collect_bounds(j, false, bounds);
    j->estimate = fmin(bound_serial(bounds, n), j->concave);
  }
  j->upper = measured ? j->concave : caps ? j->factor : INFINITY;
  for (size_t i = 0; i < j->n_doubts; i++)
    if (lets_no_bound_hold(j->doubts[i].kind)) j->upper = INFINITY;
}

/* The half width shrinks with the square root of the blocks. Of one target alone: of several it is not known which to measure. */
static double blocks_wanted(const struct upgrade_judgement *j, double wanted, const struct upgrade_part **ret) {
  const struct judged_part *only = NULL;
  for (size_t i = 0; i < j->n_parts; i++) {
    if (j->parts[i].ignored) continue;
    if (only != NULL || j->parts[i].n != 1) return NAN;
    only = &j->parts[i];
  }
  if (only == NULL) return NAN;
  const struct slope *slope = &only->elasticity[0];
  double e = bound_elasticity_at(wanted, only->slowness[0], j->factor), half = slope->high - slope->estimate;
  *ret = only->part;
  return e > slope->estimate && half > 0 ? pow(half / (e - slope->estimate), 2) : NAN;
}

static void decide(const struct upgrade_question *q, struct upgrade_judgement *j) {
  j->decision = j->upper < q->wanted ? DECISION_DOES_NOT_HELP : DECISION_CANNOT_DECIDE;
  if (j->decision == DECISION_DOES_NOT_HELP) j->n_doubts = 0; /* none of them lets the bound fail */
  if (j->decision != DECISION_CANNOT_DECIDE || j->n_doubts > 0) return;
  const struct upgrade_part *part = NULL;
  double times = blocks_wanted(j, q->wanted, &part);
  if (times <= BLOCKS_TIMES_MOST) {
    add_doubt(j, DOUBT_WIDE, part);
    j->doubts[0].times = times;
  } else add_doubt(j, DOUBT_ONLY_A_TRIAL, NULL);
}

/* --- what limits afterwards, and what else would gain --- */

/* A processor's time holds that of functions and libraries. */
static bool is_held_by(const struct sensitivity *s, const struct sensitivity *upgraded) {
  if (s == upgraded) return true;
  if (!sensitivity_is_of_processors(upgraded)) return false;
  return sensitivity_is_of_processors(s) ||
         (s->perturber != NULL && (strcmp(s->perturber->name, "function") == 0 || strcmp(s->perturber->name, "library") == 0));
}

static bool is_upgraded(const struct upgrade_judgement *j, const struct sensitivity *s) {
  for (size_t i = 0; i < j->n_parts; i++)
    for (size_t m = 0; m < j->parts[i].n && !j->parts[i].ignored; m++)
      if (is_held_by(s, j->parts[i].measured[m])) return true;
  return false;
}

double alternative_gain(const struct sensitivity *s, enum response figure) {
  const struct slope *e = &s->of[figure];
  if (sensitivity_takes_away(s)) return fabs(e->high) < 600 ? special_exp(figure == RESPONSE_THROUGHPUT ? e->high : -e->low) : NAN;
  return bound_concave(&(struct resource_bound){.elasticity = fmin(fmax(e->high, 0), 1), .slowness = slowest(s), .factor = 2}, 1);
}

static bool counts(const struct upgrade_judgement *j, const struct sensitivity *s) {
  const struct slope *e = &s->of[j->figure];
  return e->bounded && fabs(e->estimate) >= COUNTS && !sensitivity_is_of_load(s) && !sensitivity_is_impossible(s);
}

static void find_others(const struct sensitivities *all, struct upgrade_judgement *j) {
  for (size_t i = 0; i < all->n; i++) {
    const struct sensitivity *s = &all->items[i];
    if (!counts(j, s)) continue;
    bool slowed = !sensitivity_takes_away(s) && !sensitivity_is_of_all(s);
    if (slowed && !is_upgraded(j, s) && s->of[j->figure].low > 0 &&
        (j->next == NULL || s->of[j->figure].estimate > j->next->of[j->figure].estimate))
      j->next = s;
    if (sensitivity_is_of_processors(s)) continue; /* all of a process is no single thing that could be mended */
    size_t k = j->n_alternatives;
    while (k > 0 && alternative_gain(j->alternatives[k - 1], j->figure) < alternative_gain(s, j->figure)) k--;
    if (k == LYNX_COUNT(j->alternatives)) continue;
    if (j->n_alternatives < LYNX_COUNT(j->alternatives)) j->n_alternatives++;
    for (size_t m = j->n_alternatives - 1; m > k; m--) j->alternatives[m] = j->alternatives[m - 1];
    j->alternatives[k] = s;
  }
}

void upgrade_judge(const struct upgrade_question *q, const struct sensitivities *measured, struct upgrade_judgement *ret) {
  *ret = (struct upgrade_judgement){.figure = sensitivities_response(measured)};
  if (q->from != NULL && (q->on_processor || (q->accelerator[0] != 0 && !device_is(q->from, q->accelerator))))
    add_doubt(ret, DOUBT_OTHER_DEVICE, NULL);
  if (q->from != NULL && strcmp(q->from->architecture, q->to->architecture) != 0) add_doubt(ret, DOUBT_OTHER_CODE, NULL);
  for (size_t i = 0; i < q->upgrade->n; i++) {
    struct judged_part *p = &ret->parts[ret->n_parts++];
    *p = (struct judged_part){.part = &q->upgrade->parts[i], .ignored = is_ignored(q, &q->upgrade->parts[i])};
    if (!p->ignored) find_measured(q, measured, ret->figure, p);
    doubt_part(q, ret, p);
  }
  compute_bounds(ret);
  decide(q, ret);
  find_others(measured, ret);
}
