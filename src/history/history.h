/* history/history.h: the figures of many runs, followed over time: where they changed, and what changed with them.
 *
 * history knows runs by their summaries (result/summary.h). It opens nothing and prints nothing: bundles are opened by who hands them in,
 * again where the facts of two executors are wanted.
 *
 * Shapes   a series is one figure of one contract at one precision; its values are in the order of time. Series with changes at the same
 *          place are one event
 * Order    history_add for every run; history_search; then read; history_release
 * Result   the same for the same runs, in whatever order they were added
 * Errors   none. Two runs of one time stay in the order in which they were added */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "result/summary.h"
#include "stats/changes.h"

/* Where a run is from. */
struct history_origin {
  const char *label;  /* its file, or what a table calls it */
  const char *root;   /* of its bundle, in hexadecimal; "" */
  const char *ledger; /* the address of the one that it is from; "" */
  size_t source;      /* for who opens it again; and the order of runs of one time */
};

struct history_run {
  int64_t at_ns; /* by the wall clock; 0: not known, then only the order counts */
  struct history_origin from;
  const char *contract, *name;
  struct summary_precision *precision; /* without its figures, after the search */
};

struct history_value {
  size_t run;
  double value, low, high; /* of that run; low, high: NaN where it gives no interval */
  int64_t n;               /* sessions that they are of */
};

struct history_series {
  const char *contract, *name, *precision, *figure, *unit, *formula; /* formula: its id; "" */
  enum better better;
  struct history_value *values;
  size_t n_values, room, order; /* order: as they were first seen */
  struct changes found;
  bool changed; /* found.items count, the share of series that are named falsely paid for */
};

/* One change in one series. */
struct history_change {
  size_t series, change;
};

struct history_event {
  size_t before, after; /* runs: the last one that is surely of the old level, the first that is surely of the new one */
  struct history_change *changes;
  size_t n_changes;
  bool provisional; /* all of its changes are */
};

struct history {
  struct arena arena, figures; /* figures: of runs, until they are in series */
  struct text_set texts;
  struct history_run *runs; /* in the order of time, after the search */
  size_t n_runs, room;
  struct history_series *series; /* by name of contract, precision; figures in the order in which they were first seen */
  size_t n_series, series_room;
  struct history_event *events; /* in the order of time */
  size_t n_events;
  size_t n_tested; /* series that are long enough */
  double rate;     /* the greatest share of falsely named series among the named */
};

/* One entry for each of its precisions; copies what it keeps. */
void history_add(struct history *history, const struct history_origin *from, const struct summary *summary);
void history_search(struct history *history, const struct change_plan *plan);
void history_release(struct history *history);

/* Are both of one contract and precision? */
bool history_same_stack(const struct history_series *a, const struct history_series *b);
/* Is it long enough for a change to be seen? */
bool history_is_tested(const struct history_series *series, const struct change_plan *plan);
/* The change, as a difference of ln, or, where a value is not positive, in the figure's unit. */
const struct change *history_change_of(const struct history *history, const struct history_change *change);
/* Is the new level worse for sure? Of a figure of which it is not known which way is better, no. */
bool history_is_worse(const struct history *history, const struct history_change *change);

#endif
