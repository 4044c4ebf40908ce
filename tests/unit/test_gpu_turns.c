/* What a change of turns costs, on a simulated GPU that gives three contexts turns: a server's, a watcher's and a taker's. */
#include "experiment/gpu_turns.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "tests/check.h"

#define MS 1000000.0
enum { SERVER, WATCHER, TAKER, CONTEXTS };

struct gpu {
  struct random_stream random;
  double now, turn, change; /* of one change */
  double server_until;      /* it goes on as it is, at work or not */
  bool server_works;
  double server_share;
  double burst;          /* it always has such a short kernel to run, after each turn of somebody else; 0: none */
  double left[CONTEXTS]; /* of the kernel that it runs; 0: none */
  int at;
};

static bool has_work(struct gpu *g, int context) {
  if (context != SERVER) return g->left[context] > 0;
  if (g->burst > 0) return g->at != SERVER;
  if (g->server_share >= 1) return true;
  while (g->now >= g->server_until) {
    g->server_works = !g->server_works && g->server_share > 0;
    g->server_until += MS * (1 + (double)random_below(&g->random, 1000) / 200);
  }
  return g->server_works;
}

/* What a kernel of one of ours has seen. */
struct seen {
  struct gpu_taken taken;
  double last; /* when it last ran */
  bool begun;
};

static void saw(struct seen *seen, double from, double to) {
  struct gpu_taken *t = &seen->taken;
  if (!seen->begun) t->from_ns = (uint64_t)from;
  else if (from > seen->last + 20000) {
    if (t->n_gaps < GPU_GAPS_MAX) t->gaps[t->n_gaps] = (struct gpu_gap){(uint64_t)seen->last, (uint64_t)from};
    t->n_gaps++;
  }
  seen->begun = true;
  seen->last = to;
  t->busy_ns += (uint64_t)(to - from);
  t->to_ns = (uint64_t)to;
}

/* One turn, or until `until`, when the taker's next kernel comes: that waits for the end of a turn. */
static void step(struct gpu *g, struct seen *watcher, struct seen *taker) {
  int next = g->at;
  for (int k = 1; k <= CONTEXTS; k++)
    if (has_work(g, (g->at + k) % CONTEXTS)) {
      next = (g->at + k) % CONTEXTS;
      break;
    }
  if (!has_work(g, next)) {
    g->now += 0.01 * MS;
    return;
  }
  if (next != g->at) g->now += g->change;
  g->at = next;
  double length = next != SERVER ? fmin(g->turn, g->left[next]) : g->burst > 0 ? g->burst : g->turn, from = g->now;
  g->now += length;
  if (next == SERVER) return;
  g->left[next] -= length;
  saw(next == WATCHER ? watcher : taker, from, g->now);
}

static double estimated(double change, double share, double burst, uint64_t seed) {
  static struct gpu_turns turns;
  static struct gpu_taken takes[GPU_TAKES];
  struct gpu g = {.turn = 2 * MS, .change = change / 2, .server_share = share, .burst = burst, .now = MS};
  random_init(&g.random, seed, "gpu");
  memset(&turns, 0, sizeof turns);
  for (int round = 0; round < GPU_ROUNDS; round++) {
    struct seen watcher = {.begun = false};
    double next = g.now;
    int n = 0;
    g.left[WATCHER] = 40 * MS;
    while (n < GPU_TAKES) {
      struct seen taker = {.begun = false};
      for (next += 2.5 * MS; g.now < next;) step(&g, &watcher, &taker);
      g.left[TAKER] = 0.3 * MS;
      while (g.left[TAKER] > 0) step(&g, &watcher, &taker);
      takes[n++] = taker.taken;
    }
    while (g.left[WATCHER] > 0) {
      struct seen none = {.begun = false};
      step(&g, &watcher, &none);
    }
    gpu_turns_add(&turns, &watcher.taken, takes, (size_t)n);
  }
  return gpu_turns_change_ns(&turns);
}

int main(void) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    CHECK(fabs(estimated(0.3 * MS, 0, 0, seed) / (0.3 * MS) - 1) < 0.05);       /* the server leaves the GPU free */
    CHECK(fabs(estimated(0.3 * MS, 1, 0, seed) / (0.3 * MS) - 1) < 0.05);       /* it never does */
    CHECK(fabs(estimated(0.3 * MS, 0.5, 0, seed) / (0.3 * MS) - 1) < 0.35);     /* now and then */
    CHECK(fabs(estimated(0.2 * MS, 0, 0.5 * MS, seed) / (0.2 * MS) - 1) < 0.2); /* short turns, behind each of anybody's */
    CHECK(fabs(estimated(0.1 * MS, 1, 0, seed) / (0.1 * MS) - 1) < 0.1);
  }
  static struct gpu_turns nothing;
  CHECK(gpu_turns_change_ns(&nothing) == 0); /* and so it is said, where nobody was seen */
  /* A watcher of gaps beyond what is kept, or takes that lie in none of them, is no error. */
  struct gpu_taken wide = {.n_gaps = UINT64_MAX}, take = {.from_ns = 5, .to_ns = 6};
  for (int i = 0; i < 100; i++) gpu_turns_add(&nothing, &wide, &take, 1);
  CHECK(gpu_turns_change_ns(&nothing) == 0);
  return check_end();
}
