/* result/machine_figures.h: how fast the machine itself was around a run, from what the run recorded.
 * Result   figures by the formula lynx.machine_speed.1: the mean of before and after, without an interval
 * Limits   none where one of both is missing, as in a run that was stopped */
#ifndef RESULT_MACHINE_FIGURES_H
#define RESULT_MACHINE_FIGURES_H

#include "base/arena.h"
#include "result/formula.h"

enum { MACHINE_SPEED_FIGURES = 3 };

struct machine_speed {
  const char *name, *unit; /* "machine: memory bandwidth"; "bytes/s", "operations/s", "ns" */
  bool more_is_better;
  double before, after;
};

/* before, after: the records; "". Returns how many. */
size_t machine_speed_read(const char *before, const char *after, struct machine_speed ret[MACHINE_SPEED_FIGURES]);

#endif
