/* attribute/timeline.h: the spans of one trace, kept compactly, sorted, with device work joined to the calls that launched it.
 * Shapes   spans[n] by start, the longer first where two start together; 32 bytes each
 * Units    nanoseconds of the trace's clock
 * Order    timeline_init; timeline_add_* while the trace is read; timeline_finish once; then read-only
 * Limits   4,294,967,295 spans, 65,535 tracks, 4,194,304 names; spans beyond are left out, and `full` says so */
#ifndef ATTRIBUTE_TIMELINE_H
#define ATTRIBUTE_TIMELINE_H

#include "attribute/span.h"
#include "attribute/work_class.h"
#include "base/arena.h"

struct span_name {
  const char *text;
  uint32_t length;
  uint8_t kind, work;
};

struct track {
  int64_t process, thread; /* of device tracks: device, stream */
  int64_t scope;
  bool on_device, launches;
  uint64_t launches_on;      /* 1 << device, of the first 64 */
  int64_t n_spans, n_device; /* all; kernels, copies and sets */
};

/* One call and what it made the device do. */
struct link {
  uint64_t correlation;
  int64_t scope;
  uint32_t call;             /* span index + 1; 0: not in the trace */
  uint32_t n_device;         /* spans; more than one: a graph */
  int64_t device;            /* where it went; the first's, where there are several */
  int64_t first_ns, last_ns; /* of the device spans: start of the first, end of the last */
};

struct collective {
  int64_t elements, sequence;
  int64_t bytes, bus_bytes, ranks; /* see collective_size.h; 0: not known */
  const char *name, *group;
};

/* What becomes of orphans: a state of their own; as if they were not there (TraceLens); as if they were like any other. */
enum orphan_policy { ORPHANS_APART, ORPHANS_DROP, ORPHANS_KEEP };

struct timeline {
  struct arena arena;
  struct span *spans;
  size_t n_spans, room;
  struct span_name *names;
  size_t n_names, names_room;
  struct track *tracks;
  size_t n_tracks, tracks_room;
  struct link *links;
  size_t n_links, links_room;
  struct trace_flow *flows; /* until timeline_finish */
  size_t n_flows, flows_room;
  struct collective *collectives;
  size_t n_collectives, collectives_room;
  struct timeline_fact {
    const char *key, *value;
  } * facts;
  size_t n_facts;
  int64_t lost[TRACE_LOSS_COUNT];
  int64_t n_kind[TRACE_KIND_COUNT];
  /* after timeline_finish. Early: device spans that begin before the call that launched them: clocks that differ */
  int64_t n_device, n_orphans, n_unlinked, n_graph_launches, n_graph_spans, n_early;
  int64_t n_launches;                        /* calls that launch device work */
  int64_t n_cold, cold_ns, cold_median_ns;   /* launch calls that load code; how long they take; the median launch call */
  int64_t n_cold_steps;                      /* leading steps that take more than three times the median of those behind them */
  int64_t n_lives, lives_most, lives_sum_ns; /* SPAN_LIFE: how many, the most at once, their time together */
  int64_t n_clipped; /* device spans that ran beyond eight others of their stream: cut where the first of those begins */
  bool has_calls, full;
  bool operators_compute;         /* as its reader says (trace/trace.h) */
  struct timeline_tables *tables; /* hash tables while reading; freed by timeline_finish */
};

void timeline_init(struct timeline *timeline, bool operators_compute);
void timeline_add_span(struct timeline *timeline, const struct trace_span *span);
void timeline_add_flow(struct timeline *timeline, const struct trace_flow *flow);
void timeline_add_fact(struct timeline *timeline, const char *key, struct bytes value);
void timeline_finish(struct timeline *timeline);
void timeline_release(struct timeline *timeline);

/* The process of the host's thread with the most spans; -1: there is none. */
int64_t timeline_process(const struct timeline *timeline);
const char *timeline_fact(const struct timeline *timeline, const char *key); /* NULL: not told */

/* Sums of what spans say of themselves: a hostile trace may claim centuries. */
static inline int64_t sum_ns(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Does this thread launch work on that device? Beyond the 64th device they are not told apart. */
static inline bool track_launches_on(const struct track *track, int64_t device) {
  return device >= 0 && device < 64 ? (track->launches_on >> device & 1) != 0 : track->launches;
}

/* For qsort: of int64_t, the least first. */
int by_ns(const void *a, const void *b);

static inline bool kind_on_device(enum trace_kind kind) {
  return kind == TRACE_KERNEL || kind == TRACE_COPY || kind == TRACE_SET;
}

#endif
