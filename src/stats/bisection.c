#include "stats/bisection.h"

#include <math.h>

#include "base/random.h"
#include "stats/special.h"

enum { SETS_MAX = 8, ROUNDS_MAX = 60, ROUNDS_FIRST = 4, ROUNDS_LEAST = 2, ROUNDS_SPLIT = 12, SEARCHES_MAX = 6 };

/* Executors that are compared, and what each showed in each round. */
struct question {
  uint64_t sets[SETS_MAX];
  size_t n_sets;
  int n_rounds;
  double y[ROUNDS_MAX][SETS_MAX];
};

struct contrast {
  const double *weights; /* of the question's sets */
  double estimate, half; /* half: of its interval */
  bool different, none;
};

struct search {
  const struct bisection_plan *plan;
  struct bisection *found;
  struct random_stream random;
  double squares, freedom; /* residual, of the questions before */
  double grain;            /* the greatest of all sessions */
  bool over, cannot;       /* cannot: a set of the question cannot run */
};

/* --- noise --- */

static double freedom_of(const struct question *q) {
  return q->n_rounds > 0 ? (double)(q->n_rounds - 1) * (double)(q->n_sets - 1) : 0;
}

static double deviation(const struct search *s, const struct question *q, double *ret_freedom) {
  double squares = s->squares + rounds_residual(&q->y[0][0], (size_t)q->n_rounds, q->n_sets, SETS_MAX),
         freedom = s->freedom + freedom_of(q);
  *ret_freedom = freedom;
  return freedom > 0 ? fmax(sqrt(squares / freedom), s->grain) : NAN;
}

/* --- one difference --- */

/* Of few rounds, all must agree: one outlying session decides nothing. */
static bool agree(const struct question *q, const struct contrast *c) {
  if (q->n_rounds > 4) return true;
  for (int r = 0; r < q->n_rounds; r++) {
    double d = 0;
    for (size_t k = 0; k < q->n_sets; k++) d += c->weights[k] * q->y[r][k];
    if (d * c->estimate <= 0) return false;
  }
  return true;
}

static void look(const struct search *s, const struct question *q, struct contrast *c) {
  double freedom, weights = 0, sd = deviation(s, q, &freedom);
  c->estimate = 0;
  for (size_t k = 0; k < q->n_sets; k++) {
    weights += c->weights[k] * c->weights[k];
    for (int r = 0; r < q->n_rounds; r++) c->estimate += c->weights[k] * q->y[r][k] / q->n_rounds;
  }
  c->half = INFINITY;
  c->different = c->none = false;
  if (!(freedom > 0)) return;
  double error = (1 - s->plan->confidence) / (double)s->plan->sessions_at_most;
  double unit = sd * sqrt(weights / q->n_rounds);
  c->half = special_t_quantile(1 - error / 2, freedom) * unit;
  c->different = fabs(c->estimate) > c->half && fabs(c->estimate) >= s->plan->least / 2 && agree(q, c);
  c->none = fabs(c->estimate) + special_t_quantile(1 - error, freedom) * unit < s->plan->least; /* two one-sided tests */
}

static struct bisection_effect effect_of(const struct contrast *c) {
  bool bounded = isfinite(c->half);
  return (struct bisection_effect){c->estimate, bounded ? c->estimate - c->half : NAN, bounded ? c->estimate + c->half : NAN, bounded};
}

/* --- one round --- */

static void run_round(struct search *s, struct question *q) {
  size_t order[SETS_MAX];
  random_order(&s->random, order, q->n_sets);
  for (size_t i = 0; i < q->n_sets && !s->over && !s->cannot; i++) {
    struct session_figure figure = {0};
    if (s->found->n_sessions == s->plan->sessions_at_most) s->over = true;
    if (s->over) return;
    enum measured measured = s->plan->measure(s->plan->context, q->sets[order[i]], s->found->n_rounds, &figure);
    s->over = measured == MEASURED_NO_MORE;
    s->cannot = measured == MEASURED_CANNOT_RUN;
    q->y[q->n_rounds][order[i]] = figure.ln;
    s->grain = fmax(s->grain, figure.grain);
    if (!s->over) s->found->n_sessions++;
  }
  if (s->over || s->cannot) return;
  q->n_rounds++;
  s->found->n_rounds++;
}

static void begin_question(struct search *s, struct question *q) {
  s->cannot = false;
  q->n_rounds = 0;
}

/* Its residuals count for the questions after it. */
static void end_question(struct search *s, const struct question *q) {
  s->squares += rounds_residual(&q->y[0][0], (size_t)q->n_rounds, q->n_sets, SETS_MAX);
  s->freedom += freedom_of(q);
  s->found->deviation = s->freedom > 0 ? fmax(sqrt(s->squares / s->freedom), s->grain) : NAN;
}

/* --- A against B --- */

static const double first_of_two[SETS_MAX] = {-1, 1};
static const struct bisection_effect not_measured = {NAN, NAN, NAN, false};

/* Established, and not less than what counts. */
static bool counts(const struct search *s, const struct contrast *c) {
  return c->different && !c->none && fabs(c->estimate) >= s->plan->least;
}

static void compare_ends(struct search *s, uint64_t all) {
  struct question q = {.sets = {0, all}, .n_sets = 2};
  struct contrast c = {.weights = first_of_two, .half = INFINITY};
  bool decided = false;
  begin_question(s, &q);
  while (q.n_rounds < ROUNDS_MAX && !decided) {
    run_round(s, &q);
    if (s->over || s->cannot) break;
    look(s, &q, &c);
    decided = q.n_rounds >= ROUNDS_FIRST && (c.none || counts(s, &c));
  }
  end_question(s, &q);
  s->found->whole = q.n_rounds > 0 ? effect_of(&c) : not_measured;
  s->found->verdict = !decided ? BISECTION_INCONCLUSIVE : c.none ? BISECTION_NONE : BISECTION_FOUND;
}

/* --- the way from one to the other --- */

static void add_part(struct search *s, uint64_t facts) {
  if (s->found->n_parts < BISECTION_PARTS_MAX) s->found->parts[s->found->n_parts++].facts = facts;
  else s->found->parts[BISECTION_PARTS_MAX - 1].facts |= facts;
}

static uint64_t lower_half(uint64_t facts) {
  int n = __builtin_popcountll(facts) / 2;
  uint64_t half = 0;
  for (int i = 0; i < n; i++) half |= (facts & ~half) & (~(facts & ~half) + 1);
  return half;
}

/* Small beside what is looked for: it is left to the question about the rest. */
static bool is_aside(const struct search *s, const struct contrast *c, double whole) {
  return fabs(c->estimate) + c->half < fmax(s->plan->least, fabs(whole) / 4);
}

static bool is_split(const struct search *s, const struct question *q, const struct contrast *first, const struct contrast *second) {
  double whole = first->estimate + second->estimate;
  bool one = first->different || is_aside(s, first, whole), other = second->different || is_aside(s, second, whole);
  return q->n_rounds >= ROUNDS_LEAST && one && other && (first->different || second->different);
}

static const double first_step[SETS_MAX] = {-1, 1}, second_step[SETS_MAX] = {0, -1, 1};

/* Which of the two steps from low over low | half to low | facts changes the figure. False: it cannot be run, or nothing more is. */
static bool ask_steps(struct search *s, uint64_t low, uint64_t half, uint64_t facts, bool *ret_first, bool *ret_second) {
  struct question q = {.sets = {low, low | half, low | facts}, .n_sets = 3};
  struct contrast first = {.weights = first_step}, second = {.weights = second_step};
  bool done = false;
  begin_question(s, &q);
  while (q.n_rounds < ROUNDS_SPLIT && !done) {
    run_round(s, &q);
    if (s->over || s->cannot) break;
    look(s, &q, &first);
    look(s, &q, &second);
    done = is_split(s, &q, &first, &second);
  }
  end_question(s, &q);
  if (s->over || s->cannot) return false;
  *ret_first = first.different;
  *ret_second = second.different;
  return true;
}

/* From low to low | facts the figure changes. */
/* NOLINTNEXTLINE(misc-no-recursion): it halves 60 facts at most */
static void find_steps(struct search *s, uint64_t low, uint64_t facts) {
  uint64_t half = lower_half(facts);
  bool first = false, second = false;
  if (half == 0) {
    add_part(s, facts);
    return;
  }
  bool asked = ask_steps(s, low, half, facts, &first, &second);
  if (!asked && s->cannot && !s->over) { /* the other half may run without this one */
    half = facts & ~half;
    asked = ask_steps(s, low, half, facts, &first, &second);
  }
  if (!asked || (!first && !second)) {
    add_part(s, facts);
    return;
  }
  if (first) find_steps(s, low, half);
  if (second) find_steps(s, low | half, facts & ~half);
}

/* --- what was found, against both ends --- */

uint64_t bisection_facts(const struct bisection *found) {
  uint64_t facts = 0;
  for (size_t i = 0; i < found->n_parts; i++) facts |= found->parts[i].facts;
  return facts;
}

/* Of two that were measured in different rounds. */
static struct bisection_effect less(const struct bisection_effect *a, const struct bisection_effect *b) {
  if (!a->bounded || !b->bounded) return not_measured;
  double one = a->high - a->estimate, other = b->high - b->estimate, estimate = a->estimate - b->estimate;
  double half = sqrt(one * one + other * other);
  return (struct bisection_effect){estimate, estimate - half, estimate + half, true};
}

/* True: the rest changes the figure too, and is to be searched. */
static bool check_rest(struct search *s, uint64_t all) {
  struct bisection *found = s->found;
  uint64_t parts = bisection_facts(found);
  if (parts == all) {
    found->carried = found->whole;
    found->rest = (struct bisection_effect){.bounded = true};
    found->rest_is_none = true;
    return false;
  }
  struct question q = {.sets = {parts, all}, .n_sets = 2};
  struct contrast rest = {.weights = first_of_two, .half = INFINITY};
  begin_question(s, &q);
  bool decided = false;
  int64_t left = (s->plan->sessions_at_most - found->n_sessions) / (int64_t)(2 * q.n_sets); /* half is for what comes after it */
  while (q.n_rounds < ROUNDS_MAX && (q.n_rounds < left || q.n_rounds < ROUNDS_LEAST) && !decided) {
    run_round(s, &q);
    if (s->over || s->cannot) break;
    look(s, &q, &rest);
    decided = q.n_rounds >= ROUNDS_LEAST && (rest.none || counts(s, &rest));
  }
  end_question(s, &q);
  found->rest = q.n_rounds > 0 ? effect_of(&rest) : not_measured;
  found->rest_is_none = rest.none;
  found->carried = less(&found->whole, &found->rest);
  return decided && !rest.none;
}

/* --- is every part needed? --- */

/* Up to three parts: every combination, the set of number k being that of k's bits; else all, and all without each. */
static void plan_leaving_out(const struct bisection *found, struct question *q) {
  size_t p = found->n_parts;
  uint64_t all = bisection_facts(found);
  q->n_sets = p <= 3 ? (size_t)1 << p : p + 1;
  for (size_t k = 0; k < q->n_sets; k++) {
    q->sets[k] = p <= 3 ? 0 : k == 0 ? all : all & ~found->parts[k - 1].facts;
    for (size_t i = 0; i < p && p <= 3; i++)
      if (k >> i & 1) q->sets[k] |= found->parts[i].facts;
  }
}

static void weigh_leaving_out(size_t p, size_t part, double weights[SETS_MAX]) {
  size_t whole = p <= 3 ? ((size_t)1 << p) - 1 : 0, without = p <= 3 ? whole & ~((size_t)1 << part) : part + 1;
  for (size_t k = 0; k < SETS_MAX; k++) weights[k] = 0;
  weights[whole] = 1;
  weights[without] = -1;
}

static void keep_combinations(struct search *s, const struct question *q) {
  struct bisection *found = s->found;
  size_t p = found->n_parts;
  double weights[SETS_MAX];
  struct contrast c = {.weights = weights};
  for (size_t i = 0; i < p; i++) {
    for (size_t k = 0; k < SETS_MAX; k++) weights[k] = k == (size_t)1 << i ? 1 : k == 0 ? -1 : 0;
    look(s, q, &c);
    found->parts[i].alone = effect_of(&c);
    for (size_t j = i + 1; j < p; j++) {
      for (size_t k = 0; k < q->n_sets; k++) weights[k] = ((k >> i & 1) == (k >> j & 1) ? 1.0 : -1.0) / (p == 3 ? 2 : 1);
      look(s, q, &c);
      found->interaction[i][j] = effect_of(&c);
    }
  }
}

/* The part that is missed least, where it is not missed; n_parts: every one is needed, or nothing more can be run. */
static size_t leave_out(struct search *s) {
  struct bisection *found = s->found;
  size_t p = found->n_parts, least = p, n_needed = 0;
  double weights[BISECTION_PARTS_MAX][SETS_MAX], smallest = INFINITY;
  struct question q;
  struct contrast c[BISECTION_PARTS_MAX];
  plan_leaving_out(found, &q);
  begin_question(s, &q);
  for (size_t i = 0; i < p; i++) {
    weigh_leaving_out(p, i, weights[i]);
    c[i] = (struct contrast){.weights = weights[i], .half = INFINITY};
  }
  for (bool done = false; q.n_rounds < ROUNDS_SPLIT && !done;) {
    run_round(s, &q);
    if (s->over || s->cannot) break;
    done = q.n_rounds >= ROUNDS_LEAST;
    n_needed = 0;
    for (size_t i = 0; i < p; i++) {
      look(s, &q, &c[i]);
      done = done && (c[i].different || c[i].none);
      n_needed += c[i].different;
    }
  }
  for (size_t i = 0; i < p && q.n_rounds > 0; i++) {
    found->parts[i].last = effect_of(&c[i]);
    if (c[i].none && !c[i].different && fabs(c[i].estimate) < smallest) {
      least = i;
      smallest = fabs(c[i].estimate);
    }
  }
  if (p <= 3 && q.n_rounds > 0) keep_combinations(s, &q);
  end_question(s, &q);
  found->minimal = n_needed == p && q.n_rounds >= ROUNDS_LEAST;
  return least;
}

static void forget_combinations(struct bisection *found) {
  for (size_t i = 0; i < BISECTION_PARTS_MAX; i++) found->parts[i].alone = found->parts[i].last = not_measured;
  for (size_t i = 0; i < LYNX_COUNT(found->interaction); i++)
    for (size_t j = 0; j < LYNX_COUNT(found->interaction[i]); j++) found->interaction[i][j] = not_measured;
}

/* Of one part: A with it was measured against B, and B against A; without it there is A. */
static void keep_only(struct bisection *found) {
  found->parts[0].alone = found->parts[0].last = found->carried;
  found->minimal = found->carried.bounded;
}

/* What several do that one by one are not missed stays: it is put back where the rest then changes the figure. */
static void keep_needed(struct search *s, uint64_t all) {
  struct bisection *found = s->found;
  while (found->n_parts > 1 && !s->over) {
    size_t part = leave_out(s);
    if (part == found->n_parts) return;
    struct bisection with = *found;
    for (size_t i = part + 1; i < found->n_parts; i++) found->parts[i - 1] = found->parts[i];
    found->n_parts--;
    found->minimal = false;
    forget_combinations(found);
    if (check_rest(s, all) || s->over || s->cannot) {
      with.n_sessions = found->n_sessions;
      with.n_rounds = found->n_rounds;
      *found = with;
      return;
    }
  }
  if (found->n_parts == 1) keep_only(found);
}

void bisection_run(const struct bisection_plan *plan, struct bisection *ret) {
  struct search s = {.plan = plan, .found = ret};
  *ret = (struct bisection){
      .verdict = BISECTION_INCONCLUSIVE, .deviation = NAN, .whole = not_measured, .carried = not_measured, .rest = not_measured};
  forget_combinations(ret);
  random_init(&s.random, plan->seed, "bisection");
  uint64_t all = ((uint64_t)1 << plan->n_facts) - 1, changing = all;
  compare_ends(&s, all);
  for (int i = 0; i < SEARCHES_MAX && ret->verdict == BISECTION_FOUND && changing != 0 && !s.over; i++) {
    find_steps(&s, all & ~changing, changing);
    changing = !s.over && check_rest(&s, all) ? all & ~bisection_facts(ret) : 0;
  }
  if (ret->verdict == BISECTION_FOUND) keep_needed(&s, all);
  ret->told_apart = ret->n_parts > 0;
  for (size_t i = 0; i < ret->n_parts; i++) ret->told_apart = ret->told_apart && __builtin_popcountll(ret->parts[i].facts) == 1;
  ret->ran_out = s.over;
}
