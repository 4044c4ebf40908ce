#include "experiment/swapped_effect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/bisected.h"
#include "experiment/factored.h"
#include "stats/special.h"

/* "A=1, B=2" names A and B. */
static bool is_named(const char *named, const char *name) {
  size_t n = strlen(name);
  for (const char *at = named; (at = strstr(at, name)) != NULL; at += n)
    if (at[n] == '=' && (at == named || at[-1] == ' ' || at[-1] == ',')) return true;
  return false;
}

/* Its number, or how many there are; the error says which there are. */
static size_t find_fact(const struct swap_list *list, const char *fact, const char *named, struct lynx_error *error) {
  char names[400];
  size_t found = list->n, n = 0;
  for (size_t i = 0; i < list->n; i++)
    if (fact != NULL ? strcmp(list->items[i].name, fact) == 0 : is_named(named, list->items[i].name)) {
      found = i;
      n++;
    }
  if (n == 1) return found;
  (void)swap_names(list, ((uint64_t)1 << list->n) - 1, ", ", names, sizeof names);
  if (fact != NULL) (void)lynx_fail(error, LYNX_INPUT, "--fact: found '%.100s'; accepted: %s", fact, names);
  else
    (void)lynx_fail(error, LYNX_INPUT, "the finding names %s of its facts; accepted: --fact NAME, one of %s", n == 0 ? "none" : "several",
                    names);
  return list->n;
}

static void keep_fact(const struct swap_list *list, size_t at, struct arena *arena, struct swapped_effect *ret) {
  ret->fact = arena_copy(arena, list->items[at].name);
  ret->a = arena_copy(arena, list->items[at].a);
  ret->b = arena_copy(arena, list->items[at].b);
}

/* ln of what the fact changes where those others are B's. A run that is alone in its plot has the plots' luck as well as its own. */
static struct slope simple_effect(const struct factored *f, size_t at, uint64_t others) {
  uint64_t own = (uint64_t)1 << at;
  size_t with = 0, without = 0, n = f->design.n_runs;
  for (size_t k = 0; k < n; k++) {
    if (f->design.runs[k] == (others | own)) with = k;
    if (f->design.runs[k] == others) without = k;
  }
  const struct factorial *r = &f->found;
  bool other_plot = r->n_plots > 1 && (f->design.hard >> at & 1) != 0, all_plots = r->n_plots == n;
  double own_variance = isfinite(r->deviation) ? r->deviation * r->deviation : 0, size = (double)n / (double)r->n_plots;
  double variance = all_plots    ? r->plot_deviation * r->plot_deviation
                    : other_plot ? r->plot_deviation * r->plot_deviation + own_variance * (1 - 1 / size)
                                 : own_variance;
  double freedom = all_plots || other_plot ? r->plot_freedom : r->freedom;
  struct slope e = {.estimate = r->means[with] - r->means[without], .bounded = r->bounded};
  e.error = sqrt(2 * variance / (double)f->n_rounds);
  double half = e.bounded ? special_t_quantile(1 - (1 - f->plan.confidence) / 2, freedom) * e.error : NAN;
  e.low = e.estimate - half;
  e.high = e.estimate + half;
  return e;
}

static void take_main_effect(const struct factored *f, size_t at, struct swapped_effect *ret) {
  bool together = false;
  for (size_t i = 0; i < f->found.n_effects; i++) {
    const struct factorial_effect *e = &f->found.effects[i];
    for (size_t k = 0; k < e->n_names; k++)
      together = together || (e->names[k].second >= 0 && (e->low > 0 || e->high < 0) &&
                              ((size_t)e->names[k].first == at || (size_t)e->names[k].second == at));
    if (e->names[0].second >= 0 || (size_t)e->names[0].first != at) continue;
    ret->told_apart = e->n_names == 1;
    ret->at_a = ret->at_b = (struct slope){.estimate = e->estimate, .low = e->low, .high = e->high, .bounded = f->found.bounded};
  }
  ret->told_apart = ret->told_apart && !together;
}

static enum lynx_status read_factored(struct bundle *bundle, const struct contract *contract, const char *fact, const char *named,
                                      struct arena *arena, struct swapped_effect *ret, struct lynx_error *error) {
  struct factored *f = xalloc(1, sizeof *f);
  enum lynx_status status = factored_read(bundle, contract, f, error);
  size_t at = status == LYNX_OK ? find_fact(&f->swaps, fact, named, error) : 0;
  if (status == LYNX_OK && at == f->swaps.n) status = LYNX_INPUT;
  if (status == LYNX_OK) {
    keep_fact(&f->swaps, at, arena, ret);
    ret->by_plan = f->plan.by_plan;
    ret->rung = RUNG_FACTORIAL;
    ret->response = f->seen.response;
    if (f->n_rounds > 0 && f->design.resolution == 0) {
      ret->told_apart = true;
      ret->at_a = simple_effect(f, at, 0);
      ret->at_b = simple_effect(f, at, (((uint64_t)1 << f->swaps.n) - 1) & ~((uint64_t)1 << at));
    } else if (f->n_rounds > 0) take_main_effect(f, at, ret);
  }
  factored_release(f);
  free(f);
  return status;
}

static enum lynx_status read_bisected(struct bundle *bundle, const struct contract *contract, const char *fact, const char *named,
                                      struct arena *arena, struct swapped_effect *ret, struct lynx_error *error) {
  struct bisected *b = xalloc(1, sizeof *b);
  enum lynx_status status = bisected_read(bundle, contract, b, error);
  size_t at = status == LYNX_OK ? find_fact(&b->swaps, fact, named, error) : 0;
  if (status == LYNX_OK && at == b->swaps.n) status = LYNX_INPUT;
  if (status == LYNX_OK) {
    const struct bisection *f = &b->found;
    const struct bisection_effect *e = f->verdict == BISECTION_FOUND ? &f->rest : &f->whole; /* of all that was not found, it too */
    keep_fact(&b->swaps, at, arena, ret);
    ret->rung = f->n_parts > 1 ? RUNG_FACTORIAL : RUNG_SWAPPED_BACK;
    ret->response = b->seen.response;
    ret->told_apart = b->swaps.n == 1; /* two of them may undo each other */
    for (size_t i = 0; i < f->n_parts; i++) {
      if ((f->parts[i].facts >> at & 1) == 0) continue;
      e = &f->parts[i].last;
      ret->told_apart = f->parts[i].facts == (uint64_t)1 << at;
    }
    ret->at_a = ret->at_b = (struct slope){.estimate = e->estimate, .low = e->low, .high = e->high, .bounded = e->bounded};
  }
  bisected_release(b);
  free(b);
  return status;
}

enum lynx_status swapped_effect_read(struct bundle *bundle, const struct contract *contract, const char *fact, const char *named,
                                     struct arena *arena, struct swapped_effect *ret, struct lynx_error *error) {
  *ret = (struct swapped_effect){.fact = ""};
  if (factored_is(bundle)) return read_factored(bundle, contract, fact, named, arena, ret, error);
  if (bisected_is(bundle)) return read_bisected(bundle, contract, fact, named, arena, ret, error);
  return lynx_fail(error, LYNX_INPUT,
                   "nothing was swapped in it; accepted: a bundle that `lynxbench experiment` or `lynxbench bisect` wrote");
}
