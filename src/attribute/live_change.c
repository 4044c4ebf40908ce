#include "attribute/live_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 0.15 /* a median that moved by less than this share is the same: sessions of seconds vary by as much */

static double median_of(const struct live *live, enum metric metric) {
  const struct result_latency *latency = &live->precision->latency[metric];
  return latency->n > 0 ? latency->at[0].quantile.estimate : NAN;
}

static double rate_of(const struct live *live) {
  return live->precision->request_rate.estimate;
}

/* For a command that is to be pasted: a stranger's bundle may name anything. */
static const char *endpoint_of(const struct live *live) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:/_-[]";
  const char *endpoint = live->result->contract.executor.endpoint;
  return endpoint != NULL && endpoint[0] != 0 && strspn(endpoint, plain) == strlen(endpoint) ? endpoint : "URL";
}

static const char *why_not(const struct live *a, const struct live *b, struct arena *arena) {
  double tokens_a = a->precision->mean_output_tokens, tokens_b = b->precision->mean_output_tokens;
  if (a->at.concurrency != b->at.concurrency)
    return arena_printf(arena,
                        "%lld request%s in flight before and %lld after. next: lynxbench diagnose %.200s --in-flight %lld, then this "
                        "again with its bundle",
                        (long long)a->at.concurrency, a->at.concurrency == 1 ? " was" : "s were", (long long)b->at.concurrency,
                        endpoint_of(b), (long long)a->at.concurrency);
  if (tokens_a > 0 && tokens_b > 0 && fabs(tokens_b / tokens_a - 1) > 0.1)
    return arena_printf(arena,
                        "answers held %.4g tokens before and %.4g after: that is other work; run the contract of the first again "
                        "(`lynxbench run`; it lies beside its bundle)",
                        tokens_a, tokens_b);
  if (!(rate_of(a) > 0) || !(rate_of(b) > 0)) return "no request was answered in one of them";
  return NULL;
}

static const char *moved_text(struct arena *arena, const char *name, double before_ns, double after_ns) {
  if (!(before_ns > 0) || !(after_ns > 0)) return arena_printf(arena, "%s not known", name);
  double ratio = after_ns / before_ns;
  if (fabs(ratio - 1) < SAME) return arena_printf(arena, "%s the same", name);
  if (ratio > 2 || ratio < 0.5) return arena_printf(arena, "%s × %.2g", name, ratio);
  return arena_printf(arena, "%s %+.3g ms", name, (after_ns - before_ns) / 1e6);
}

static int direction(double before_ns, double after_ns) {
  if (!(before_ns > 0) || !(after_ns > 0) || fabs(after_ns / before_ns - 1) < SAME) return 0;
  return after_ns > before_ns ? 1 : -1;
}

static const char *sentence_of(const struct live_change *c, struct arena *arena) {
  int first = direction(c->first_before_ns, c->first_after_ns), each = direction(c->each_before_ns, c->each_after_ns);
  const char *meaning = first == 0 && each == 0  ? "no change beyond what short sessions vary by"
                        : first == 0 && each > 0 ? "work per token"
                        : first > 0 && each == 0 ? "work before the first token, or waiting for it"
                        : first > 0 && each < 0  ? "requests take turns: serialised"
                        : first > 0 && each > 0  ? "all of it is slower: less processor, or more work everywhere"
                        : first < 0 && each < 0  ? "all of it is faster"
                        : first < 0              ? "less work before the first token"
                                                 : "less work per token";
  return arena_printf(arena, "%s, %s: %s", moved_text(arena, "TPOT", c->each_before_ns, c->each_after_ns),
                      moved_text(arena, "TTFT", c->first_before_ns, c->first_after_ns), meaning);
}

static void add_states(struct live_change *c) {
  static const char *const names[] = {"running", "ready, no processor", "waiting for a lock", "waiting for a timer", "waiting for disk"};
  for (size_t k = 0; k < LYNX_COUNT(names); k++) {
    double sums[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
      const struct live *live = side == 0 ? c->before : c->after;
      for (size_t i = 0; i < live->at.n_lanes; i++) {
        const struct live_lane *l = &live->at.lanes[i];
        double shares[] = {l->running, l->ready, l->waits[WAIT_LOCK], l->waits[WAIT_TIMER], l->waits[WAIT_DISK]};
        sums[side] += shares[k];
      }
      sums[side] /= rate_of(live);
    }
    c->states[c->n_states].state = names[k];
    c->states[c->n_states].before_s = sums[0];
    c->states[c->n_states++].after_s = sums[1];
  }
}

static struct live_change_part *part_of(struct live_change *c, const struct live_part *part) {
  for (size_t i = 0; i < c->n_parts; i++)
    if (strcmp(c->parts[i].what, part->what) == 0 && c->parts[i].attributed == part->attributed &&
        (!part->attributed || c->parts[i].layer == part->layer))
      return &c->parts[i];
  if (c->n_parts == LIVE_CHANGES_MAX) return NULL;
  c->parts[c->n_parts] = (struct live_change_part){
      .what = part->what, .where = part->where, .attributed = part->attributed, .layer = part->layer};
  return &c->parts[c->n_parts++];
}

static int by_change(const void *a, const void *b) {
  const struct live_change_part *x = a, *y = b;
  double dx = fabs(x->after_s - x->before_s), dy = fabs(y->after_s - y->before_s);
  return dx > dy ? -1 : dx < dy ? 1 : strcmp(x->what, y->what);
}

static void add_parts(struct live_change *c) {
  for (int side = 0; side < 2; side++) {
    const struct live *live = side == 0 ? c->before : c->after;
    for (size_t i = 0; i < live->at.n_lanes; i++)
      for (size_t k = 0; k < live->at.lanes[i].n_parts; k++) {
        const struct live_part *part = &live->at.lanes[i].parts[k];
        struct live_change_part *to = part_of(c, part);
        if (to == NULL) continue;
        *(side == 0 ? &to->before_s : &to->after_s) += part->share / rate_of(live);
        if (to->where[0] == 0) to->where = part->where;
      }
  }
  if (c->n_parts > 0) qsort(c->parts, c->n_parts, sizeof *c->parts, by_change);
}

void live_change_find(const struct live *before, const struct live *after, struct arena *arena, struct live_change *ret) {
  *ret = (struct live_change){.before = before,
                              .after = after,
                              .first_before_ns = median_of(before, METRIC_TIME_TO_FIRST_TOKEN),
                              .first_after_ns = median_of(after, METRIC_TIME_TO_FIRST_TOKEN),
                              .each_before_ns = median_of(before, METRIC_TIME_PER_OUTPUT_TOKEN),
                              .each_after_ns = median_of(after, METRIC_TIME_PER_OUTPUT_TOKEN),
                              .rate_before = rate_of(before),
                              .rate_after = rate_of(after)};
  ret->why = why_not(before, after, arena);
  ret->abstained = ret->why != NULL;
  ret->sentence = ret->abstained ? "" : sentence_of(ret, arena);
  if (ret->abstained) return;
  add_states(ret);
  add_parts(ret);
}
