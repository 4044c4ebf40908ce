/* telemetry/metrics.h: a server's metrics page (Prometheus text 0.0.4, OpenMetrics), read for what the common inference servers call
 * by different names.
 * Shapes   a page is text; a value is summed over its label sets; NaN: the page does not have it
 * Limits   whole names only; a line that is none is skipped; at most METRICS_PAGE_MAX bytes of a page are taken
 * Source   the names as documented by vLLM, SGLang, TGI, llama.cpp, TensorRT-LLM and Triton */
#ifndef TELEMETRY_METRICS_H
#define TELEMETRY_METRICS_H

#include "base/buffer.h"

enum { METRICS_PAGE_MAX = 8 << 20, METRICS_BUCKETS_MAX = 256 };

enum metrics_series {
  METRICS_RUNNING,
  METRICS_WAITING,
  METRICS_FINISHED,      /* requests, a counter */
  METRICS_PROMPT_TOKENS, /* counters */
  METRICS_OUTPUT_TOKENS,
  METRICS_CACHE_QUERIES,
  METRICS_CACHE_HITS,
  METRICS_PREEMPTIONS, /* requests whose work was thrown away for want of cache: a counter */
  METRICS_CACHE_USE,   /* share of the key-value cache */
  METRICS_DRAFTS,      /* speculative decoding: steps with a draft, tokens drafted, drafted tokens that were kept: counters */
  METRICS_DRAFT_TOKENS,
  METRICS_ACCEPTED_TOKENS,
  METRICS_ACCEPTANCE_LENGTH, /* of servers that tell ratios instead: tokens a step, shares */
  METRICS_ACCEPTANCE_RATE,
  METRICS_CACHE_HIT_RATE,
  METRICS_FIRST_TOKEN_SUM, /* the server's own clock: seconds, and requests */
  METRICS_FIRST_TOKEN_COUNT,
  METRICS_WHOLE_SUM,
  METRICS_WHOLE_COUNT,
  METRICS_GAP_SUM, /* of the times between tokens */
  METRICS_GAP_COUNT,
  METRICS_COUNT
};

const char *metrics_series_text(enum metrics_series series); /* "server.running" */

/* The sum over label sets (of shares and ratios the mean: of several engines) of the first of a series' names that the page has. */
double metrics_value(struct bytes page, enum metrics_series series);

/* That first name; NULL: the page has none of them. */
const char *metrics_name(struct bytes page, enum metrics_series series);

/* Phases of a request's life that servers time themselves, as running totals. */
enum metrics_phase { METRICS_QUEUE, METRICS_PREFILL, METRICS_DECODE, METRICS_PHASE_COUNT };
const char *metrics_phase_text(enum metrics_phase phase); /* "queue" */
/* Seconds and requests so far; false: the page does not tell of it. */
bool metrics_phase_total(struct bytes page, enum metrics_phase phase, double *ret_sum_s, double *ret_n);

/* A histogram summed over label sets: upper bounds ascending (the last may be +infinity) and the counts within each bucket. */
struct metrics_histogram {
  double bound[METRICS_BUCKETS_MAX], count[METRICS_BUCKETS_MAX];
  size_t n;
};

bool metrics_histogram(struct bytes page, const char *name, struct metrics_histogram *ret);

#endif
