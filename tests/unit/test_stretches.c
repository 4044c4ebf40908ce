/* Stops of all answers at once, where the answers are known. */
#include "stats/stretches.h"

#include <math.h>
#include <stdlib.h>

#include "tests/check.h"

static void find(const struct stretch *answers, size_t n_answers, const struct stretch *gaps, size_t n_gaps, int64_t least,
                 const struct stretch *want, size_t n_want) {
  struct stretch *stops;
  const struct stops_wanted wanted = {.answers = answers, .n_answers = n_answers, .gaps = gaps, .n_gaps = n_gaps, .least_ns = least};
  size_t n = stops_find(&wanted, &stops);
  CHECK_INT(n, n_want);
  for (size_t i = 0; i < n && i < n_want; i++) {
    CHECK_INT(stops[i].from_ns, want[i].from_ns);
    CHECK_INT(stops[i].to_ns, want[i].to_ns);
  }
  free(stops);
}

int main(void) {
  const struct stretch two[] = {{0, 1000}, {100, 900}};
  /* Both wait from 300 on, until the first goes on at 480. */
  find(two, 2, (const struct stretch[]){{290, 480}, {300, 500}}, 2, 100, (const struct stretch[]){{300, 480}}, 1);
  find(two, 2, (const struct stretch[]){{290, 480}, {300, 500}}, 2, 181, NULL, 0); /* too short */
  find(two, 2, (const struct stretch[]){{290, 480}}, 1, 10, NULL, 0);              /* the other goes on */
  find(two, 1, (const struct stretch[]){{290, 480}}, 1, 10, NULL, 0);              /* one alone stops nobody */
  find(NULL, 0, NULL, 0, 10, NULL, 0);
  /* A third begins in the middle of it: from then on not all wait. */
  const struct stretch three[] = {{0, 1000}, {100, 900}, {400, 700}};
  find(three, 3, (const struct stretch[]){{290, 480}, {300, 500}}, 2, 50, (const struct stretch[]){{300, 400}}, 1);
  /* An answer that ends in a stop leaves it whole; one of no length is none. */
  const struct stretch ending[] = {{0, 1000}, {0, 1000}, {0, 350}, {5, 5}};
  find(ending, 4, (const struct stretch[]){{300, 500}, {300, 500}, {300, 350}}, 3, 50, (const struct stretch[]){{300, 500}}, 1);

  /* One under way and one that waits for its first token are two; two that only wait are none. */
  struct stretch *found;
  struct stops_wanted waiting = {.answers = two, .n_answers = 1, .gaps = (const struct stretch[]){{200, 500}}, .n_gaps = 1, .least_ns = 10};
  waiting.waits = (const struct stretch[]){{300, 400}, {300, 2000}, {400, 2000}};
  waiting.n_waits = 3;
  CHECK_INT(stops_find(&waiting, &found), 1);
  CHECK_INT(found[0].from_ns, 300);
  CHECK_INT(found[0].to_ns, 500);
  free(found);

  struct stretch stops[10];
  for (int i = 0; i < 10; i++) stops[i] = (struct stretch){1000 * i + (i % 2 == 0 ? 20 : 0), 1000 * i + 100};
  CHECK_NEAR(stops_period(stops, 10), 1000, 21);
  CHECK(isnan(stops_period(stops, 4)));
  stops[9] = (struct stretch){10020, 10100}; /* the tenth was not seen */
  CHECK_NEAR(stops_period(stops, 10), 1000, 21);
  for (int i = 0; i < 10; i++) stops[i].from_ns = i * i * 100; /* each later than the last by more */
  CHECK(isnan(stops_period(stops, 10)));

  const struct stretch apart[] = {{10, 20}, {30, 50}, {100, 200}};
  CHECK_INT(stops_within(apart, 3, 0, 1000), 130);
  CHECK_INT(stops_within(apart, 3, 15, 40), 15);
  CHECK_INT(stops_within(apart, 3, 50, 100), 0);
  CHECK_INT(stops_within(apart, 3, 150, 160), 10);
  CHECK_INT(stops_within(apart, 0, 0, 1000), 0);
  return check_end();
}
