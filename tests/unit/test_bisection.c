/* The search on executors whose figures are known: what is found, what is not told apart, and where it stops. */
#include "stats/bisection.h"

#include <math.h>

#include "base/random.h"
#include "tests/check.h"

/* A figure without noise but for a grain, so that the residual variance is not zero. */
struct world {
  double (*figure)(uint64_t facts);
  struct random_stream random;
  int64_t n, most;       /* sessions; most: then there is no more */
  uint64_t needs, picky; /* with `picky` a set runs only if it has `needs` too */
};

static enum measured measure(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  struct world *w = context;
  if (w->n++ >= w->most) return MEASURED_NO_MORE;
  if ((facts & w->picky) != 0 && (facts & w->needs) != w->needs) return MEASURED_CANNOT_RUN;
  double grain = ((double)random_below(&w->random, 2001) - 1000) / 1000 * 0.004;
  ret->ln = w->figure(facts) + grain + 0.1 * (double)(round % 7); /* the round's own level must not matter */
  return MEASURED;
}

static struct bisection run(struct world w, size_t n_facts, int64_t sessions) {
  struct bisection found;
  random_init(&w.random, 5, "grain");
  if (w.most == 0) w.most = INT64_MAX;
  const struct bisection_plan plan = {
      .n_facts = n_facts, .least = 0.03, .confidence = 0.95, .sessions_at_most = sessions, .seed = 3, .measure = measure, .context = &w};
  bisection_run(&plan, &found);
  return found;
}

static double nothing(uint64_t facts) {
  (void)facts;
  return 5;
}

static double fifth(uint64_t facts) {
  return (facts >> 4 & 1) != 0 ? 4.5 : 5;
}

static double second_with_ninth(uint64_t facts) {
  return (facts & 0x102) == 0x102 ? 5.4 : 5;
}

static double first_undone_by_last(uint64_t facts) {
  return 5 - 0.5 * (double)(facts & 1) + ((facts & 0x801) == 0x801 ? 0.3 : 0);
}

static double four_alike(uint64_t facts) {
  return 5 - 0.2 * (double)__builtin_popcountll(facts & 0xf000f & ~0xf000cULL) - 0.2 * (double)__builtin_popcountll(facts & 0x30000);
}

static void check_found(void) {
  struct bisection b = run((struct world){.figure = nothing}, 12, 300);
  CHECK_INT(b.verdict, BISECTION_NONE);
  CHECK_INT(b.n_parts, 0);
  b = run((struct world){.figure = fifth}, 12, 300);
  CHECK_INT(b.verdict, BISECTION_FOUND);
  CHECK_INT(b.n_parts, 1);
  CHECK_INT(b.parts[0].facts, 0x10);
  CHECK(b.told_apart && b.minimal && b.rest_is_none && !b.ran_out);
  CHECK_NEAR(b.whole.estimate, -0.5, 0.01);
  CHECK_NEAR(b.parts[0].last.estimate, -0.5, 0.02);
  b = run((struct world){.figure = fifth}, 5, 300); /* the last of an odd number */
  CHECK_INT(b.parts[0].facts, 0x10);
}

static void check_interactions(void) {
  struct bisection b = run((struct world){.figure = second_with_ninth}, 12, 300);
  CHECK_INT(b.n_parts, 2);
  CHECK_INT(b.parts[0].facts | b.parts[1].facts, 0x102);
  CHECK(b.told_apart && b.minimal && b.rest_is_none);
  CHECK_NEAR(b.interaction[0][1].estimate, 0.4, 0.02);
  CHECK_NEAR(b.parts[0].alone.estimate, 0, 0.02);
  b = run((struct world){.figure = first_undone_by_last}, 12, 300);
  CHECK_INT(b.n_parts, 2);
  CHECK_NEAR(b.interaction[0][1].estimate, 0.3, 0.02);
  CHECK_NEAR(b.whole.estimate, -0.2, 0.02);
  b = run((struct world){.figure = four_alike}, 20, 600); /* more than three parts: each is left out */
  CHECK_INT(b.n_parts, 4);
  CHECK(b.minimal && b.told_apart);
  for (size_t i = 0; i < b.n_parts; i++) CHECK_NEAR(b.parts[i].last.estimate, -0.2, 0.02);
}

/* Each less than what counts, all three more: none is left out without the others, and nothing else is named. */
static double three_small(uint64_t facts) {
  return 5 - 0.025 * (double)((facts & 1) + (facts >> 5 & 1) + (facts >> 9 & 1));
}

static void check_small(void) {
  struct bisection b = run((struct world){.figure = three_small}, 12, 300);
  uint64_t facts = 0;
  for (size_t i = 0; i < b.n_parts; i++) facts |= b.parts[i].facts;
  CHECK_INT(b.verdict, BISECTION_FOUND);
  CHECK(!b.rest_is_none || facts == 0x221);
  CHECK(!b.told_apart || (facts & ~0x221ULL) == 0);
}

static void check_what_cannot_run(void) {
  /* The fifth fact runs only with the sixth: found, with the sixth or beside it, and never wrong. */
  struct bisection b = run((struct world){.figure = fifth, .picky = 0x10, .needs = 0x20}, 12, 300);
  uint64_t facts = 0;
  for (size_t i = 0; i < b.n_parts; i++) facts |= b.parts[i].facts;
  CHECK_INT(b.verdict, BISECTION_FOUND);
  CHECK((facts & 0x10) != 0 && (facts & ~0x30ULL) == 0);
  CHECK(!b.minimal && !isfinite(b.rest.estimate));                                   /* it was never tried alone */
  b = run((struct world){.figure = fifth, .picky = 0x10, .needs = 0x1000}, 12, 300); /* B itself does not run */
  CHECK_INT(b.verdict, BISECTION_INCONCLUSIVE);
  CHECK_INT(b.n_rounds, 0);
}

/* Whatever session is the last: what is said holds of the figure, and what is not decided is said to be so. */
static void check_stops(void) {
  for (int64_t most = 0; most < 80; most++) {
    struct world w = {.figure = fifth, .most = most == 0 ? -1 : most};
    struct bisection b = run(w, 12, 300);
    uint64_t facts = 0;
    for (size_t i = 0; i < b.n_parts; i++) facts |= b.parts[i].facts;
    CHECK(b.verdict != BISECTION_NONE);
    CHECK(b.verdict == BISECTION_INCONCLUSIVE ? b.n_parts == 0 : (facts & 0x10) != 0);
    if (b.told_apart && b.minimal && b.rest_is_none) CHECK_INT(facts, 0x10);
    else CHECK(b.ran_out);
  }
}

int main(void) {
  check_found();
  check_interactions();
  check_small();
  check_what_cannot_run();
  check_stops();
  return check_end();
}
