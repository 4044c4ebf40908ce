#include "tests/simulate/bisection.h"

#include <math.h>
#include <stdio.h>

#include "stats/bisection.h"
#include "tests/simulate/generate.h"

/* An effect on ln of the figure that is there when all of its facts are. */
struct plant {
  int facts[3], n;
  double effect;
};

struct scene {
  const char *name;
  size_t n_facts;
  struct plant plants[4];
  int n_plants;
  double small;     /* standard deviation of what every other fact changes by itself */
  double noise;     /* of a session, within its round */
  double drift;     /* from round to round, a random walk */
  double outlying;  /* the share of sessions that are 20 % slower by accident */
  int64_t sessions; /* at most */
};

struct world {
  const struct scene *scene;
  struct generator *g;
  int place[BISECTION_FACTS_MAX]; /* where a planted fact lies */
  double small[BISECTION_FACTS_MAX], level;
  int64_t round;
};

static double truth(const struct world *w, uint64_t facts) {
  double y = 0;
  for (size_t i = 0; i < w->scene->n_facts; i++)
    if (facts >> i & 1) y += w->small[i];
  for (int p = 0; p < w->scene->n_plants; p++) {
    const struct plant *plant = &w->scene->plants[p];
    bool all = true;
    for (int k = 0; k < plant->n; k++) all = all && (facts >> w->place[plant->facts[k]] & 1);
    if (all) y += plant->effect;
  }
  return y;
}

static enum measured measure(void *context, uint64_t facts, int64_t round, struct session_figure *ret) {
  struct world *w = context;
  if (round != w->round) w->level += w->scene->drift * generate_normal(w->g);
  w->round = round;
  ret->ln = truth(w, facts) + w->level + w->scene->noise * generate_normal(w->g);
  if (generate_uniform(w->g) < w->scene->outlying) ret->ln += log(0.8);
  return MEASURED;
}

static void make_world(struct world *w, const struct scene *scene, struct generator *g) {
  *w = (struct world){.scene = scene, .g = g, .round = -1};
  for (size_t i = 0; i < scene->n_facts; i++) w->place[i] = (int)i;
  for (size_t i = scene->n_facts; i > 1; i--) {
    size_t k = (size_t)(generate_uniform(g) * (double)i);
    int kept = w->place[i - 1];
    w->place[i - 1] = w->place[k];
    w->place[k] = kept;
  }
  for (size_t i = 0; i < scene->n_facts; i++) w->small[i] = scene->small * generate_normal(g);
}

static uint64_t planted(const struct world *w) {
  uint64_t facts = 0;
  for (int p = 0; p < w->scene->n_plants; p++)
    for (int k = 0; k < w->scene->plants[p].n; k++) facts |= (uint64_t)1 << w->place[w->scene->plants[p].facts[k]];
  return facts;
}

struct tally {
  int right, less, other, covered, n_intervals;
  double sessions;
};

static void add_interval(struct tally *t, const struct bisection_effect *e, double value) {
  if (!e->bounded) return;
  t->n_intervals++;
  t->covered += e->low <= value && value <= e->high;
}

/* right: the very facts, one by one; less: what it says holds, but it did not tell all apart, or did not decide; other: wrong. */
static void judge(const struct world *w, const struct bisection *b, struct tally *t) {
  uint64_t found = 0, wanted = planted(w);
  for (size_t i = 0; i < b->n_parts; i++) found |= b->parts[i].facts;
  bool none = wanted == 0, exact = none ? b->verdict == BISECTION_NONE : b->verdict == BISECTION_FOUND && found == wanted && b->told_apart;
  bool holds = b->verdict == BISECTION_INCONCLUSIVE ||
               (!none && b->verdict == BISECTION_FOUND && !b->told_apart && (found & wanted) != 0) ||
               (!none && b->verdict == BISECTION_FOUND && (found & ~wanted) == 0 && !b->rest_is_none);
  t->right += exact;
  t->less += !exact && holds;
  t->other += !exact && !holds;
  t->sessions += (double)b->n_sessions;
  uint64_t all = ((uint64_t)1 << w->scene->n_facts) - 1;
  add_interval(t, &b->whole, truth(w, all));
  if (b->verdict != BISECTION_FOUND) return;
  add_interval(t, &b->carried, truth(w, found));
  add_interval(t, &b->rest, truth(w, all) - truth(w, found));
  if (b->n_parts == 2) add_interval(t, &b->interaction[0][1], truth(w, found) - truth(w, b->parts[0].facts) - truth(w, b->parts[1].facts));
}

static int study_scene(const struct scene *scene, int replications) {
  struct tally t = {0};
  struct generator g;
  generator_seed(&g, 1700 + (uint64_t)scene->n_facts);
  for (int r = 0; r < replications; r++) {
    struct world w;
    struct bisection b;
    make_world(&w, scene, &g);
    const struct bisection_plan plan = {.n_facts = scene->n_facts,
                                        .least = log(1.05),
                                        .confidence = 0.95,
                                        .sessions_at_most = scene->sessions,
                                        .seed = (uint64_t)r,
                                        .measure = measure,
                                        .context = &w};
    bisection_run(&plan, &b);
    judge(&w, &b, &t);
  }
  double n = replications, right = t.right / n, covered = t.n_intervals > 0 ? (double)t.covered / t.n_intervals : 1;
  bool good = right >= 0.95 - 3 * sqrt(0.95 * 0.05 / n) && covered >= 0.95 - 3 * sqrt(0.95 * 0.05 / t.n_intervals);
  (void)printf("  %-44s %2zu facts: right %5.1f %%, less %4.1f, wrong %4.1f; sessions %5.1f (all: %.0f); intervals hold %5.1f %%  %s\n",
               scene->name, scene->n_facts, 100 * right, 100 * t.less / n, 100 * t.other / n, t.sessions / n,
               pow(2, (double)scene->n_facts), 100 * covered, good ? "ok" : "BROKEN");
  return !good;
}

int study_bisection(bool quick) {
  static const struct scene scenes[] = {
      {"noise alone", 12, {{{0}, 0, 0}}, 0, 0, 0.02, 0.03, 0, 200},
      {"noise alone", 20, {{{0}, 0, 0}}, 0, 0, 0.03, 0.03, 0, 200},
      {"one, -51 %", 12, {{{0}, 1, -0.713}}, 1, 0.003, 0.03, 0.03, 0, 200},
      {"one, -51 %", 20, {{{0}, 1, -0.713}}, 1, 0.003, 0.03, 0.03, 0, 200},
      {"one, +20 %", 3, {{{0}, 1, 0.182}}, 1, 0.003, 0.03, 0.03, 0, 200},
      {"one, -15 %", 20, {{{0}, 1, -0.163}}, 1, 0.002, 0.02, 0.03, 0, 200},
      {"two that add up, -20 and -30 %", 20, {{{0}, 1, -0.223}, {{1}, 1, -0.357}}, 2, 0.002, 0.02, 0.03, 0, 300},
      {"two that only act together, -30 %", 12, {{{0, 1}, 2, -0.357}}, 1, 0.002, 0.02, 0.03, 0, 300},
      {"two that only act together, -30 %", 20, {{{0, 1}, 2, -0.357}}, 1, 0.002, 0.02, 0.03, 0, 300},
      {"one, and one that undoes it in part", 12, {{{0}, 1, -0.5}, {{0, 1}, 2, 0.3}}, 2, 0.002, 0.02, 0.03, 0, 300},
      {"three that only act together, -40 %", 12, {{{0, 1, 2}, 3, -0.51}}, 1, 0.002, 0.02, 0.03, 0, 400},
      {"three, two of them together", 20, {{{0}, 1, -0.3}, {{1, 2}, 2, -0.35}}, 2, 0.002, 0.02, 0.03, 0, 400},
      {"one, -30 %, one session in 30 outlies", 12, {{{0}, 1, -0.357}}, 1, 0.002, 0.02, 0.03, 0.033, 300},
  };
  int broken = 0;
  (void)printf("bisect: facts planted among others, sessions with drift and noise; differences below 5 %% count as none\n");
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) broken += study_scene(&scenes[i], quick ? 60 : 1000);
  return broken;
}
