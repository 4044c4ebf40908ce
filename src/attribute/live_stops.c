#include "attribute/live_stops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_lanes.h"
#include "base/number.h"
#include "result/rows.h"
#include "stats/quantile.h"
#include "stats/stretches.h"

enum { TOGETHER_PART = 4, GROUPS_MAX = 256, GAPS_MAX = 2 << 20, THREADS_MAX = 4096, LONGEST_PARTS = 1000, LEAST_GAPS = 200 };
#define LONG_TIMES 3
#define LONG_LEAST_NS 5e6
#define STOP_TIMES 2

struct known {
  int64_t process, thread;
  size_t group;
};

/* Of a thread: sums for the line through its states by how much of each half second was a stop. */
struct group {
  int64_t process, thread;
  const char *program, *name;
  double n, f, ff, y[STOPPED_STATES], fy[STOPPED_STATES];
};

struct live_stopping {
  struct live *live;
  /* of the session that is read */
  struct stretch *answers, *waits, *gaps, *stops;
  size_t n_answers, room_answers, room_waits, n_gaps, room_gaps, n_stops;
  int64_t from_ns, to_ns;
  struct beginning {
    int64_t first_ns, issued_ns;
  } * firsts; /* of answers, by their first tokens */
  size_t n_firsts, room_firsts;
  struct known *known;
  size_t n_known, room_known;
  bool too_many;
  /* of all */
  double *all_gaps, *whole, *without, *gap_stopped;
  size_t n_all, room_all, n_whole, room_whole, room_without, room_stopped;
  double stopped_ns, longest_ns, window_ns, every_sum, every_n, n_with_first;
  int64_t n;
  struct group groups[GROUPS_MAX];
  size_t n_groups;
};

struct live_stopping *live_stops_new(struct live *live) {
  struct live_stopping *s = xalloc(1, sizeof *s);
  s->live = live;
  return s;
}

/* --- tokens --- */

static enum lynx_status take_row(void *context, const struct row *row) {
  struct live_stopping *s = context;
  int64_t before = -1, first = -1, last = -1;
  size_t n = 0;
  for (size_t i = 0; i < row->n_tokens; i++) {
    if (!row->tokens[i].carries_text) continue;
    if (first < 0) first = row->tokens[i].at_ns;
    last = row->tokens[i].at_ns;
    n++;
  }
  /* Events that come together are of one step: what is closer than a part of the answer's mean gap. */
  int64_t together_ns = n > 1 ? (last - first) / (int64_t)(n - 1) / TOGETHER_PART : 0;
  for (size_t i = 0; i < row->n_tokens; i++) {
    const struct row_token *t = &row->tokens[i];
    if (!t->carries_text) continue;
    if (before >= 0 && t->at_ns - before > together_ns) {
      if (s->n_gaps == GAPS_MAX) {
        s->too_many = true;
        return LYNX_OK;
      }
      s->gaps = xroom(s->gaps, s->n_gaps, &s->room_gaps, sizeof *s->gaps);
      s->gaps[s->n_gaps++] = (struct stretch){before, t->at_ns};
    }
    before = t->at_ns;
  }
  if (first < 0 || before <= first) return LYNX_OK;
  s->answers = xroom(s->answers, s->n_answers, &s->room_answers, sizeof *s->answers);
  s->waits = xroom(s->waits, s->n_answers, &s->room_waits, sizeof *s->waits);
  s->waits[s->n_answers] = (struct stretch){row->request->issued_ns, first};
  s->answers[s->n_answers++] = (struct stretch){first, before};
  s->firsts = xroom(s->firsts, s->n_firsts, &s->room_firsts, sizeof *s->firsts);
  s->firsts[s->n_firsts++] = (struct beginning){first, row->request->issued_ns};
  return LYNX_OK;
}

static int by_first(const void *a, const void *b) {
  const struct beginning *x = a, *y = b;
  return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static double median_gap(const struct live_stopping *s) {
  double *lengths = xalloc(s->n_gaps, sizeof *lengths);
  for (size_t i = 0; i < s->n_gaps; i++) lengths[i] = (double)(s->gaps[i].to_ns - s->gaps[i].from_ns);
  quantile_sort(lengths, s->n_gaps);
  double median = quantile_of(lengths, s->n_gaps, 0.5);
  free(lengths);
  return median;
}

/* Is it another answer's prompt that is worked on? Its first token comes as the stop ends, and nobody's who came in the middle of it: their
 * prompts were not worked on, they only waited. */
static bool ends_at_first(const struct live_stopping *s, const struct stretch *stop, double gap_ns) {
  size_t low = 0, high = s->n_firsts;
  int64_t near_ns = (int64_t)gap_ns;
  bool any = false;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (s->firsts[middle].first_ns < stop->to_ns - near_ns) low = middle + 1;
    else high = middle;
  }
  for (; low < s->n_firsts && s->firsts[low].first_ns <= stop->to_ns + near_ns; low++) {
    if (s->firsts[low].issued_ns > stop->from_ns + 2 * near_ns) return false;
    any = true;
  }
  return any;
}

/* What one token divides is one. */
static void join_stops(struct live_stopping *s, double gap_ns) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_stops; i++) {
    const struct stretch next = s->stops[i];
    if (n > 0 && (double)(next.from_ns - s->stops[n - 1].to_ns) <= 2 * gap_ns) s->stops[n - 1].to_ns = next.to_ns;
    else s->stops[n++] = next;
  }
  s->n_stops = n;
}

/* Of those that take most of the time: a neighbour's short ones beside them have no period of theirs. */
static double period_of(const struct stretch *stops, size_t n) {
  double sum = 0, squares = 0;
  size_t n_long = 0;
  struct stretch *longs = xalloc(n + 1, sizeof *longs);
  for (size_t i = 0; i < n; i++) {
    double length = (double)(stops[i].to_ns - stops[i].from_ns);
    sum += length;
    squares += length * length;
  }
  for (size_t i = 0; i < n; i++)
    if ((double)(stops[i].to_ns - stops[i].from_ns) >= squares / sum / 2) longs[n_long++] = stops[i];
  double period = stops_period(longs, n_long);
  free(longs);
  return period;
}

/* Those that begin in the counted window. */
static void count_stops(struct live_stopping *s, double gap_ns) {
  size_t first = 0, n = 0;
  while (first < s->n_stops && s->stops[first].from_ns < s->from_ns) first++;
  for (size_t i = first; i < s->n_stops && s->stops[i].from_ns < s->to_ns; i++, n++) {
    double length = (double)(s->stops[i].to_ns - s->stops[i].from_ns);
    s->stopped_ns += length;
    s->longest_ns = fmax(s->longest_ns, length);
    s->n_with_first += ends_at_first(s, &s->stops[i], gap_ns);
  }
  s->n += (int64_t)n;
  double period = period_of(s->stops + first, n);
  if (isfinite(period)) {
    s->every_sum += period * (double)n;
    s->every_n += (double)n;
  }
}

/* Every gap of the window, and whether most of it was a stop. */
static void keep_gaps(struct live_stopping *s) {
  for (size_t i = 0; i < s->n_gaps && s->n_all < GAPS_MAX; i++) {
    const struct stretch *g = &s->gaps[i];
    if (g->to_ns < s->from_ns || g->to_ns >= s->to_ns) continue;
    double length = (double)(g->to_ns - g->from_ns);
    s->all_gaps = xroom(s->all_gaps, s->n_all, &s->room_all, sizeof *s->all_gaps);
    s->all_gaps[s->n_all++] = length;
    s->gap_stopped = xroom(s->gap_stopped, s->n_all - 1, &s->room_stopped, sizeof *s->gap_stopped);
    s->gap_stopped[s->n_all - 1] = s->n_stops > 0 && (double)stops_within(s->stops, s->n_stops, g->from_ns, g->to_ns) >= 0.5 * length;
  }
}

static enum lynx_status take_whole(void *context, const struct bundle_request *r) {
  struct live_stopping *s = context;
  if (r->phase != PHASE_COUNTED || r->outcome != OUTCOME_OK || r->end_ns <= r->issued_ns) return LYNX_OK;
  double took = (double)(r->end_ns - r->issued_ns), stood = (double)stops_within(s->stops, s->n_stops, r->issued_ns, r->end_ns);
  size_t n = s->n_whole++;
  s->whole = xroom(s->whole, n, &s->room_whole, sizeof *s->whole);
  s->without = xroom(s->without, n, &s->room_without, sizeof *s->without);
  s->whole[n] = took;
  s->without[n] = took - fmin(took, stood);
  return LYNX_OK;
}

/* --- threads --- */

static int by_thread(const void *a, const void *b) {
  const struct known *x = a, *y = b;
  if (x->process != y->process) return x->process < y->process ? -1 : 1;
  return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static enum lynx_status take_name(void *context, int64_t session, const struct thread_name *name) {
  struct live_stopping *s = context;
  const struct live_lane *lane = live_lane_of(&s->live->arena, &s->live->at, name, false);
  size_t i = 0;
  (void)session;
  if (lane == NULL || s->n_known == THREADS_MAX) return LYNX_OK;
  while (i < s->n_groups && (s->groups[i].process != name->process || s->groups[i].thread != name->thread)) i++;
  if (i == GROUPS_MAX || name->thread == 0) return LYNX_OK; /* 0: what ended between two looks is of no one thread */
  if (i == s->n_groups)
    s->groups[s->n_groups++] = (struct group){
        .process = name->process, .thread = name->thread, .program = lane->program, .name = lane->name};
  s->known = xroom(s->known, s->n_known, &s->room_known, sizeof *s->known);
  s->known[s->n_known++] = (struct known){name->process, name->thread, i};
  return LYNX_OK;
}

static enum lynx_status take_activity(void *context, int64_t session, const struct thread_activity *row) {
  struct live_stopping *s = context;
  const struct known wanted = {.process = row->process, .thread = row->thread};
  const struct known *one = s->n_known > 0 ? bsearch(&wanted, s->known, s->n_known, sizeof wanted, by_thread) : NULL;
  int64_t looks = 0;
  double y[STOPPED_STATES] = {0}, span = (double)row->span_ns;
  (void)session;
  if (one == NULL || row->span_ns <= 0 || row->at_ns - row->span_ns < s->from_ns || row->at_ns > s->to_ns || row->running_ns < 0 ||
      row->ready_ns < 0)
    return LYNX_OK;
  y[STOPPED_RUNNING] = fmin(1, (double)row->running_ns / span);
  y[STOPPED_READY] = fmin(1 - y[STOPPED_RUNNING], (double)row->ready_ns / span);
  for (int i = 0; i < WAIT_COUNT; i++) looks += row->looks[i] > 0 ? row->looks[i] : 0;
  for (int i = 0; i < WAIT_COUNT && looks > 0; i++)
    y[STOPPED_WAIT + i] = (1 - y[STOPPED_RUNNING] - y[STOPPED_READY]) * (double)row->looks[i] / (double)looks;
  struct group *g = &s->groups[one->group];
  double f = (double)stops_within(s->stops, s->n_stops, row->at_ns - row->span_ns, row->at_ns) / span;
  g->n += span;
  g->f += span * f;
  g->ff += span * f * f;
  for (int i = 0; i < STOPPED_STATES; i++) {
    g->y[i] += span * y[i];
    g->fy[i] += span * f * y[i];
  }
  return LYNX_OK;
}

bool live_stops_add(struct live_stopping *s, struct bundle *bundle, const struct bundle_session *session) {
  bool good = true;
  s->n_answers = s->n_gaps = s->n_firsts = s->n_known = 0;
  s->from_ns = session->warm_up_ns;
  s->to_ns = session->warm_up_ns + session->counted_ns;
  if (rows_each(bundle, session->id, take_row, s, NULL) != LYNX_OK) return true; /* whoever needs the rows says what is wrong with them */
  if (s->too_many || s->n_gaps < LEAST_GAPS) return true;
  double gap_ns = median_gap(s), least_ns = fmax(LONG_LEAST_NS, LONG_TIMES * gap_ns);
  struct stretch *longs = xalloc(s->n_gaps, sizeof *longs);
  size_t n_longs = 0;
  for (size_t i = 0; i < s->n_gaps; i++)
    if ((double)(s->gaps[i].to_ns - s->gaps[i].from_ns) >= least_ns) longs[n_longs++] = s->gaps[i];
  qsort(s->firsts, s->n_firsts, sizeof *s->firsts, by_first);
  free(s->stops);
  const struct stops_wanted wanted = {.answers = s->answers,
                                      .waits = s->waits,
                                      .gaps = longs,
                                      .n_answers = s->n_answers,
                                      .n_waits = s->n_answers,
                                      .n_gaps = n_longs,
                                      .least_ns = (int64_t)(STOP_TIMES * fmax(gap_ns, LONG_LEAST_NS / LONG_TIMES))};
  s->n_stops = stops_find(&wanted, &s->stops);
  free(longs);
  s->window_ns += (double)session->counted_ns;
  join_stops(s, gap_ns);
  if (s->n_stops > 0) count_stops(s, gap_ns);
  keep_gaps(s);
  good = bundle_each_request(bundle, session->id, take_whole, s, NULL) == LYNX_OK;
  if (s->n_stops > 0)
    good = good && bundle_each_thread(bundle, session->id, take_name, s, NULL) == LYNX_OK &&
           bundle_each_activity(bundle, session->id, take_activity, s, NULL) == LYNX_OK;
  return good;
}

/* --- all together --- */

/* The state of a thread that is more often found in stops than else, by most. A tenth of the time must be known of it. */
static void judge_threads(const struct live_stopping *s, struct live_stops *ret) {
  double most = 0.2;
  for (size_t i = 0; i < s->n_groups; i++) {
    const struct group *g = &s->groups[i];
    double mean_f = g->f / g->n, spread = g->ff / g->n - mean_f * mean_f;
    if (!(g->n > 0.1 * s->window_ns) || !(spread > 1e-6)) continue;
    bool works = g->y[STOPPED_RUNNING] >= 0.05 * g->n;
    for (int k = 0; k < STOPPED_STATES; k++) {
      double mean = g->y[k] / g->n, slope = (g->fy[k] / g->n - mean_f * mean) / spread,
             inside = fmin(1, fmax(0, mean + slope * (1 - mean_f))), outside = fmin(1, fmax(0, mean - slope * mean_f));
      /* A thread that does not work waits longer when others stop: that says nothing of why. */
      bool tells = k == STOPPED_RUNNING || k == STOPPED_READY || k == STOPPED_WAIT + WAIT_DISK || works;
      if (!tells || !(inside - outside > most)) continue;
      most = inside - outside;
      ret->thread = (struct live_stopped){g->program, g->name, k, inside, outside};
    }
  }
}

static void judge(struct live_stopping *s, struct live_stops *ret) {
  if (s->n == 0 || s->n_all < LEAST_GAPS || s->n_whole == 0) return;
  double in_longest = 0, n_longest = 0;
  double *sorted = xalloc(s->n_all, sizeof *sorted);
  memcpy(sorted, s->all_gaps, s->n_all * sizeof *sorted);
  quantile_sort(sorted, s->n_all);
  size_t n_part = s->n_all / LONGEST_PARTS > 0 ? s->n_all / LONGEST_PARTS : 1;
  *ret = (struct live_stops){.n = s->n,
                             .window_s = s->window_ns / 1e9,
                             .mean_ns = s->stopped_ns / (double)s->n,
                             .longest_ns = s->longest_ns,
                             .share = s->stopped_ns / s->window_ns,
                             .every_ns = s->every_n >= 0.5 * (double)s->n ? s->every_sum / s->every_n : NAN,
                             .gap_ns = quantile_of(sorted, s->n_all, 0.5),
                             .longest_gaps_ns = sorted[s->n_all - n_part],
                             .at_first = s->n_with_first / (double)s->n};
  free(sorted);
  for (size_t i = 0; i < s->n_all; i++) {
    if (s->all_gaps[i] < ret->longest_gaps_ns) continue;
    n_longest++;
    in_longest += s->gap_stopped[i];
  }
  ret->of_longest = in_longest / n_longest;
  quantile_sort(s->whole, s->n_whole);
  quantile_sort(s->without, s->n_whole);
  ret->whole_p99_ns = quantile_of(s->whole, s->n_whole, 0.99);
  ret->without_ns = quantile_of(s->without, s->n_whole, 0.99);
  judge_threads(s, ret);
}

void live_stops_finish(struct live_stopping *s) {
  if (!s->too_many) judge(s, &s->live->stops);
  free(s->answers);
  free(s->waits);
  free(s->gaps);
  free(s->stops);
  free(s->firsts);
  free(s->known);
  free(s->all_gaps);
  free(s->whole);
  free(s->without);
  free(s->gap_stopped);
  free(s);
}

bool live_stops_matter(const struct live_stops *s) {
  return s->n >= 5 && (s->share >= 0.05 || (s->share >= 0.02 && s->of_longest >= 0.5 && s->without_ns <= 0.9 * s->whole_p99_ns));
}

/* --- words --- */

const char *live_stopped_text(int state) {
  static const char *const waits[WAIT_COUNT] = {
      [WAIT_TIMER] = "waits for a timer", [WAIT_LOCK] = "waits for a lock",      [WAIT_NETWORK] = "waits for the network",
      [WAIT_DISK] = "waits for a disk",   [WAIT_OTHER] = "waits in another way", [WAIT_UNKNOWN] = "waits for what is not known"};
  return state == STOPPED_RUNNING ? "runs" : state == STOPPED_READY ? "waits for a processor" : waits[state - STOPPED_WAIT];
}

const char *live_stops_text(const struct live *live, struct arena *arena) {
  const struct live_stops *s = &live->stops;
  char mean[32], longest[32], every[48] = "", whole[32], without[32];
  if (isfinite(s->every_ns)) (void)snprintf(every, sizeof every, ", every %.3g s", s->every_ns / 1e9);
  const char *text = arena_printf(
      arena,
      "%lld times in %.3g s all answers in flight stop at once, for %s on average, %s at most%s: %.1f %% of the time, "
      "%.0f %% of the longest thousandth of the gaps between tokens; an answer's p99 is %s, and %s without them",
      (long long)s->n, s->window_s, number_duration_text(mean, sizeof mean, s->mean_ns),
      number_duration_text(longest, sizeof longest, s->longest_ns), every, 100 * s->share, 100 * s->of_longest,
      number_duration_text(whole, sizeof whole, s->whole_p99_ns), number_duration_text(without, sizeof without, s->without_ns));
  if (s->at_first >= LIVE_STOPS_OF_PROMPTS)
    text = arena_printf(arena, "%s; another answer's prompt is worked on meanwhile: its first token comes as they end", text);
  if (s->thread.program != NULL)
    text = arena_printf(arena, "%s; meanwhile %s, %s %s %.0f %% of the time, else %.0f %%", text, s->thread.program, s->thread.name,
                        live_stopped_text(s->thread.state), 100 * s->thread.inside, 100 * s->thread.outside);
  return text;
}
