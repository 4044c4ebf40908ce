#include "stats/saturation.h"

#include <math.h>

#include "tests/check.h"

/* A server whose capacity is known. `errs`: its verdict is the wrong one that often, in the search. */
struct server {
  double capacity;
  int errs; /* every so many of the search's windows; 0: never */
  int n;
  bool tells; /* what it completes under overload */
};

static struct load_seen answer(struct server *server, const struct saturation_search *s, const struct load_asked *asked) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_points; i++)
    if (fabs(s->points[i].load - asked->load) < 1e-9 * asked->load)
      n = asked->certify ? s->points[i].certificate.n_windows : s->points[i].search.n_windows;
  bool sustained = asked->load <= server->capacity, wrong = !asked->certify && server->errs > 0 && ++server->n % server->errs == 0;
  bool tells = server->tells && !sustained && !wrong;
  return (struct load_seen){.n_windows = n + 1,
                            .decided = true,
                            .sure = !wrong,
                            .sustained = sustained != wrong,
                            .holds = sustained,
                            .capacity = tells ? server->capacity * 1.001 : 0,
                            .error = tells ? server->capacity * 0.005 : 0};
}

static enum search_end found(struct server server, double from, double to, struct saturation_search *s) {
  struct load_asked asked;
  enum search_end end;
  *s = (struct saturation_search){.from = from, .to = to, .resolution = 0.05, .looks = 6, .sessions = 3};
  while ((end = saturation_next(s, &asked)) == SEARCH_GOES_ON) {
    CHECK(asked.load > 0 && asked.load <= to * (1 + 1e-9)); /* the contract's cap */
    struct load_seen seen = answer(&server, s, &asked);
    saturation_tell(s, &asked, &seen);
  }
  return end;
}

static void check_search(void) {
  struct saturation_search s;
  size_t blind = 0, guided = 0;
  for (double capacity = 0.3; capacity < 900; capacity *= 1.37) /* from far above and far below where it begins */
    for (int k = 0; k < 4; k++) {
      CHECK_INT(found((struct server){.capacity = capacity, .tells = k % 2 == 1, .errs = k >= 2 ? 7 : 0}, 10, 1000, &s), SEARCH_FOUND);
      CHECK(s.certified && s.passing <= capacity && s.failing > capacity && s.failing <= s.passing * 1.05 * (1 + 1e-9));
      *(k % 2 == 1 ? &guided : &blind) += s.n_windows;
    }
  CHECK(guided < blind);
  CHECK_INT(found((struct server){.capacity = 5000}, 10, 1000, &s), SEARCH_NOT_SATURATED);
  CHECK_NEAR(s.passing, 1000, 1e-9);
  CHECK_NEAR(s.failing, 0, 0);
  CHECK_INT(found((struct server){.capacity = 0}, 10, 1000, &s), SEARCH_NOTHING_SUSTAINED);
  CHECK(!s.certified);
}

/* Verdicts that contradict one another: the fewest are doubted, measured again, and the certificate waits for it. */
static void check_contradiction(void) {
  struct saturation_search s = {.from = 10, .to = 1000, .resolution = 0.05, .looks = 6, .sessions = 2};
  struct load_asked asked;
  const struct load_seen passes = {.n_windows = 1, .decided = true, .sure = true, .sustained = true, .holds = true},
                         fails = {.n_windows = 1, .decided = true, .sure = true}, perhaps = {.n_windows = 6, .decided = false};
  const struct {
    double load;
    const struct load_seen *seen;
  } told[] = {{10, &passes}, {20, &perhaps}, {40, &passes}, {80, &fails}};
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) saturation_tell(&s, &(struct load_asked){told[i].load, false}, told[i].seen);
  struct server server = {.capacity = 50};
  bool again = false;
  for (size_t n = 0; saturation_next(&s, &asked) == SEARCH_GOES_ON && n < 200; n++) {
    again = again || fabs(asked.load - 20) < 1e-9;
    CHECK(asked.load > 19); /* 20 is not believed to fail */
    struct load_seen seen = answer(&server, &s, &asked);
    saturation_tell(&s, &asked, &seen);
  }
  CHECK(again);
  CHECK(s.certified && s.passing <= 50 && s.failing > 50);
}

static struct growth growth_of_parts(const double *changes, const double *completions, double n_arrivals) {
  const struct load_parts parts = {
      .changes = changes, .completions = completions, .n_windows = 1, .n_parts = 20, .n_arrivals = n_arrivals, .expected = n_arrivals / 20};
  return growth_of(&parts, 0.95);
}

static void check_growth(void) {
  /* The backlog: +1 per part out of 100 arrivals each is 1 %; certain, as it does not vary. */
  double one[20], noisy[20], done[20], steady[20], even[20];
  for (int i = 0; i < 20; i++) one[i] = 1, noisy[i] = i % 4 < 2 ? 30 : -29, done[i] = 99, steady[i] = 100, even[i] = 95;
  struct growth g = growth_of_parts(one, done, 2000);
  CHECK_NEAR(g.estimate, 0.01, 1e-12);
  CHECK_INT(growth_verdict(&g, 0.1, false), LOAD_SUSTAINED); /* a real growth of 1 % is less than half the resolution */
  CHECK_INT(growth_verdict(&g, 0.01, false), LOAD_NOT_SUSTAINED);
  CHECK_INT(growth_verdict(&g, 0.05, false), LOAD_NOT_SUSTAINED); /* certain, and more than an eighth of it */
  /* Changes that pull back: their sum hardly varies, and a t interval of independent ones would be far wider. */
  double back[20];
  for (int i = 0; i < 20; i++) back[i] = i % 2 == 0 ? 30 : -30, noisy[i] = 100 + (i * 7 % 11 - 5) * 6;
  g = growth_of_parts(back, noisy, 2000);
  CHECK(g.high < 0.05 && g.high > 0);
  CHECK_INT(growth_verdict(&g, 0.2, false), LOAD_SUSTAINED);
  /* Arrivals come unevenly, completions do not: 5 % fewer than the schedule makes expect is certain. */
  for (int i = 0; i < 20; i++) noisy[i] = (i * 7 % 11 - 5) * 6 + 5;
  g = growth_of_parts(noisy, even, 2000);
  CHECK_NEAR(g.completed, 0.95, 1e-12);
  CHECK_NEAR(g.low, 0.05, 1e-9);
  CHECK_INT(growth_verdict(&g, 0.05, false), LOAD_NOT_SUSTAINED);
  CHECK_INT(growth_verdict(&(struct growth){.low = -INFINITY, .high = INFINITY}, 0.05, false), LOAD_UNDECIDED);
  CHECK_INT(growth_verdict(&(struct growth){.low = -INFINITY, .high = INFINITY}, 0.05, true), LOAD_UNDECIDED);
  g = growth_of_parts(one, done, 19); /* too few arrivals */
  CHECK(isinf(g.low) && isinf(g.high));
  g = growth_of_parts(steady, steady, 0);
  CHECK(isinf(g.low) && isinf(g.high));
  CHECK_NEAR(saturation_arrivals_needed(0.05), 16000, 1e-6);
}

/* What was simulated (docs/simulation.txt): 38.9, 21.7 and 13.8 windows of 500, 1000 and 1000 arrivals. */
static void check_forecast(void) {
  CHECK_NEAR(saturation_windows_needed(500, 0.05, 5), 39, 8);
  CHECK_NEAR(saturation_windows_needed(1000, 0.05, 5), 22, 8);
  CHECK_NEAR(saturation_windows_needed(1000, 0.1, 5), 14, 4);
  CHECK_NEAR(saturation_affordable(0.05, 500, 5, 100), 0.05, 1e-12);
  CHECK_NEAR(saturation_affordable(0.05, 500, 5, 40), 0.1, 1e-12);
  CHECK_NEAR(saturation_affordable(0.05, 500, 5, 28), 0.2, 1e-12);
  CHECK_NEAR(saturation_affordable(0.05, 500, 5, 0), 0.2, 1e-12); /* the coarsest, and the time will tell */
  CHECK_NEAR(saturation_affordable(0.5, 10, 5, 0), 0.5, 1e-12);   /* never finer than what was agreed */
}

/* A certificate says no finer resolution than both the bracket and the growth that is left open allow. */
static void check_reached(void) {
  CHECK_NEAR(saturation_reached(0.05, 0.05, 0.049), 0.05, 1e-12);
  CHECK_NEAR(saturation_reached(0.05, 0.05, 0.05), 0.1, 1e-12);
  CHECK_NEAR(saturation_reached(0.05, 0.1, -0.01), 0.1, 1e-12);
  CHECK_NEAR(saturation_reached(0.05, 0.1001, 0.01), 0.2, 1e-12);
  CHECK_NEAR(saturation_reached(0.05, 0.04, 0.19), 0.2, 1e-12);
  CHECK(isinf(saturation_reached(0.05, 0.21, 0.01)) && isinf(saturation_reached(0.05, 0.05, 0.2)));
  CHECK_NEAR(saturation_reached(0.3, 0.3, 0.1), 0.3, 1e-12);
  CHECK(isinf(saturation_reached(0.3, 0.3, 0.3)));
}

/* The bracket of a search may be made coarser while it goes on. */
static void check_coarser(void) {
  struct saturation_search s = {.from = 50, .to = 1000, .resolution = 0.05, .looks = 1, .sessions = 2};
  struct load_asked asked;
  for (int n = 0; n < 100 && saturation_next(&s, &asked) == SEARCH_GOES_ON; n++) {
    bool fits = asked.load <= 103;
    saturation_tell(&s, &asked,
                    &(struct load_seen){.n_windows = 2,
                                        .decided = true,
                                        .sure = true,
                                        .sustained = fits,
                                        .holds = fits,
                                        .capacity = fits ? 0 : 103,
                                        .error = fits ? 0 : 2});
    if (saturation_capacity(&s) > 0 && !(s.passing > 0)) s.resolution = 0.2;
  }
  CHECK_NEAR(saturation_capacity(&s), 103, 1e-9);
  CHECK(s.certified);
  CHECK(s.failing / s.passing > 1.1 && s.failing / s.passing < 1.2 + 1e-9 && s.passing < 103 && s.failing > 103);
}

int main(void) {
  check_search();
  check_forecast();
  check_reached();
  check_coarser();
  check_contradiction();
  check_growth();
  return check_end();
}
