#include "attribute/live_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 65536 };

/* "Thread-14 (work" and "Thread-15 (work" do the same work: what stands before the first digit tells. */
static size_t stem_of(const char *name) {
  size_t n = strcspn(name, "0123456789");
  while (n > 1 && strchr("-_#:/ ", name[n - 1]) != NULL) n--;
  return n > 0 ? n : strlen(name);
}

static bool same_lane(const struct live_lane *lane, const struct thread_name *name) {
  bool main = name->process == name->thread;
  size_t n = stem_of(name->name);
  return lane->process == name->process && lane->main == main && strncmp(lane->name, name->name, n) == 0 && stem_of(lane->name) == n;
}

struct live_lane *live_lane_of(struct arena *arena, struct live_account *account, const struct thread_name *name, bool make) {
  for (size_t i = 0; i < account->n_lanes; i++)
    if (same_lane(&account->lanes[i], name)) return &account->lanes[i];
  if (!make || account->n_lanes == LIVE_LANES_MAX) return NULL;
  struct live_lane *lane = &account->lanes[account->n_lanes++];
  *lane = (struct live_lane){.process = name->process,
                             .thread = name->thread,
                             .program = live_words(arena, name->program),
                             .name = live_words(arena, name->name),
                             .main = name->process == name->thread,
                             .n_processors = name->n_processors,
                             .waits_in = "",
                             .waits_also = "",
                             .waits_where = ""};
  return lane;
}

struct known {
  int64_t process, thread;
  double running_ns, ready_ns, present_ns, waits_ns[WAIT_COUNT];
  size_t lane;
};

struct adding {
  struct arena *arena;
  struct live_account *account;
  struct known *known;
  size_t n, room; /* by process and thread, as the rows come */
  int64_t from_ns, to_ns;
  int64_t n_of_lane[LIVE_LANES_MAX]; /* threads, in this session */
  bool possible;
};

static enum lynx_status take_name(void *context, int64_t session, const struct thread_name *name) {
  struct adding *a = context;
  (void)session;
  struct live_lane *lane = live_lane_of(a->arena, a->account, name, true);
  if (lane == NULL || a->n == THREADS_MAX) return LYNX_OK;
  a->known = xroom(a->known, a->n, &a->room, sizeof *a->known);
  a->known[a->n++] = (struct known){.process = name->process, .thread = name->thread, .lane = (size_t)(lane - a->account->lanes)};
  a->n_of_lane[lane - a->account->lanes]++;
  if (name->n_processors > 0 && (lane->n_processors == 0 || name->n_processors < lane->n_processors))
    lane->n_processors = name->n_processors;
  return LYNX_OK;
}

static int by_thread(const void *a, const void *b) {
  const struct known *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static struct known *find(struct adding *a, const struct thread_activity *row) {
  const struct known wanted = {.process = row->process, .thread = row->thread};
  return a->n > 0 ? bsearch(&wanted, a->known, a->n, sizeof wanted, by_thread) : NULL;
}

static bool is_possible(const struct thread_activity *row) {
  static const int64_t most_ns = INT64_C(1) << 50;
  bool good = row->span_ns > 0 && row->span_ns < most_ns && row->running_ns >= 0 && row->running_ns < most_ns && row->ready_ns >= 0 &&
              row->ready_ns < most_ns && row->system_ns >= 0 && row->system_ns < most_ns && llabs(row->at_ns) < most_ns;
  for (int i = 0; i < WAIT_COUNT; i++) good = good && row->looks[i] >= 0 && row->looks[i] < 1000000;
  return good;
}

static enum lynx_status take_activity(void *context, int64_t session, const struct thread_activity *row) {
  struct adding *a = context;
  (void)session;
  if (!is_possible(row)) {
    a->possible = false;
    return LYNX_OK;
  }
  int64_t begin_ns = row->at_ns - row->span_ns, n_looks = 0;
  int64_t within_ns = (row->at_ns < a->to_ns ? row->at_ns : a->to_ns) - (begin_ns > a->from_ns ? begin_ns : a->from_ns);
  struct known *one = within_ns > 0 ? find(a, row) : NULL;
  if (one == NULL) return LYNX_OK;
  struct live_lane *lane = &a->account->lanes[one->lane];
  /* The kernel books waits for a processor when they end: what is more than the stretch belongs to those before it, and is left out. */
  int64_t running_ns = row->running_ns < row->span_ns ? row->running_ns : row->span_ns,
          ready_ns = row->ready_ns < row->span_ns - running_ns ? row->ready_ns : row->span_ns - running_ns,
          system_ns = row->system_ns < running_ns ? row->system_ns : running_ns;
  double part = (double)within_ns / (double)row->span_ns; /* of the stretch lies in the window; what it did is taken as even */
  double waited_ns = part * (double)(row->span_ns - running_ns - ready_ns);
  one->running_ns += part * (double)running_ns;
  one->ready_ns += part * (double)ready_ns;
  one->present_ns += (double)within_ns;
  lane->present += (double)within_ns;
  lane->running += part * (double)running_ns;
  lane->system += part * (double)system_ns;
  lane->ready += part * (double)ready_ns;
  for (int i = 0; i < WAIT_COUNT; i++) n_looks += row->looks[i];
  if (!(waited_ns > 0)) return LYNX_OK;
  for (int i = 0; i < WAIT_COUNT && n_looks > 0; i++) {
    lane->waits[i] += waited_ns * (double)row->looks[i] / (double)n_looks;
    one->waits_ns[i] += waited_ns * (double)row->looks[i] / (double)n_looks;
  }
  if (n_looks == 0) lane->waits[WAIT_UNKNOWN] += waited_ns;
  return LYNX_OK;
}

static double running_share(const struct known *k) {
  return k->thread != 0 && k->present_ns > 0 ? k->running_ns / k->present_ns : 0; /* 0: what ended between two looks is of no one thread */
}

/* A thread that runs less than a tenth of what the busiest of its lane does waits for work, not for its turn. What each waits for weighs as
 * much as what it runs. */
static void add_working(const struct adding *a) {
  double most[LIVE_LANES_MAX] = {0};
  for (size_t i = 0; i < a->n; i++) most[a->known[i].lane] = fmax(most[a->known[i].lane], running_share(&a->known[i]));
  for (size_t i = 0; i < a->n; i++) {
    const struct known *k = &a->known[i];
    struct live_lane *lane = &a->account->lanes[k->lane];
    double free_ns = k->present_ns - k->ready_ns; /* waits for a processor are the load's */
    if (k->thread != 0 && free_ns > 0) {
      lane->weighed += k->running_ns;
      for (int w = 0; w < WAIT_COUNT; w++) lane->of_work[w] += k->running_ns * fmin(1, k->waits_ns[w] / free_ns);
    }
    if (!(running_share(k) > 0.1 * most[k->lane])) continue;
    lane->at_work += k->present_ns;
    lane->at_locks += k->waits_ns[WAIT_LOCK];
  }
}

bool live_lanes_add(struct arena *arena, struct bundle *bundle, const struct bundle_session *session, struct live_account *account) {
  struct adding a = {.arena = arena,
                     .account = account,
                     .from_ns = session->warm_up_ns,
                     .to_ns = session->warm_up_ns + session->counted_ns,
                     .possible = true};
  double counted = (double)session->counted_ns;
  bool good = bundle_each_thread(bundle, session->id, take_name, &a, NULL) == LYNX_OK &&
              bundle_each_activity(bundle, session->id, take_activity, &a, NULL) == LYNX_OK && a.possible;
  account->window_s += counted / 1e9;
  for (size_t i = 0; i < a.n; i++) {
    struct live_lane *lane = &account->lanes[a.known[i].lane];
    double busy = (a.known[i].running_ns + a.known[i].ready_ns) / counted;
    if (busy > 1) busy = 1;
    if (busy <= lane->busiest || a.known[i].thread == 0) continue; /* what ended between two looks is of no one thread */
    lane->busiest = busy;
    lane->busiest_other = fmin(1 - busy, a.known[i].waits_ns[WAIT_OTHER] / counted);
    lane->busiest_timer = fmin(1 - busy - lane->busiest_other, a.known[i].waits_ns[WAIT_TIMER] / counted);
    lane->thread = a.known[i].thread;
  }
  for (size_t i = 0; i < account->n_lanes; i++)
    if (a.n_of_lane[i] > account->lanes[i].n_threads) account->lanes[i].n_threads = a.n_of_lane[i];
  add_working(&a);
  free(a.known);
  return good;
}

static int by_use(const void *a, const void *b) {
  const struct live_lane *x = a, *y = b;
  double ux = x->running + x->ready, uy = y->running + y->ready;
  if (ux < uy || uy < ux) return ux > uy ? -1 : 1;
  return x->process != y->process ? (x->process < y->process ? -1 : 1) : x->thread < y->thread ? -1 : x->thread > y->thread;
}

void live_lanes_finish(struct live_account *account) {
  double window_ns = account->window_s * 1e9;
  for (size_t i = 0; i < account->n_lanes && window_ns > 0; i++) {
    struct live_lane *lane = &account->lanes[i];
    lane->present /= window_ns;
    lane->running /= window_ns;
    lane->system /= window_ns;
    lane->ready /= window_ns;
    lane->at_work /= window_ns;
    lane->at_locks /= window_ns;
    for (int k = 0; k < WAIT_COUNT; k++) {
      lane->waits[k] /= window_ns;
      lane->of_work[k] = lane->weighed > 0 ? lane->of_work[k] / lane->weighed : 0;
    }
    account->running += lane->running;
    account->ready += lane->ready;
  }
  size_t n = 0; /* a thread with a name, and no sample in the windows, tells nothing */
  for (size_t i = 0; i < account->n_lanes; i++)
    if (account->lanes[i].present > 0) account->lanes[n++] = account->lanes[i];
  account->n_lanes = n;
  if (account->n_lanes > 0) qsort(account->lanes, account->n_lanes, sizeof *account->lanes, by_use);
}
