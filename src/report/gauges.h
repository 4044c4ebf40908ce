/* report/gauges.h: named values at one instant, for monitoring: as Prometheus reads them, and as OTLP takes them.
 *
 * Shapes   a family has a name, a unit and one sample for each set of labels; of two samples of the same labels the last one counts
 * Result   families in the order in which they were begun, samples in the order of their labels
 * Source   Prometheus text format 0.0.4; opentelemetry-proto, metrics/v1, as JSON */
#ifndef REPORT_GAUGES_H
#define REPORT_GAUGES_H

#include "base/arena.h"
#include "base/json.h"

enum { GAUGE_LABELS_MAX = 8 };

struct gauge_label {
  const char *name, *value;
};

struct gauge_sample {
  struct gauge_label labels[GAUGE_LABELS_MAX];
  size_t n_labels, order;
  double value;
  char *text; /* its labels, as Prometheus writes them */
};

struct gauge_family {
  const char *name, *help, *unit; /* unit: as UCUM writes it; "1" */
  struct gauge_sample *samples;
  size_t n_samples, room;
};

struct gauges {
  struct arena arena;
  struct gauge_family *families;
  size_t n_families, room;
};

/* name, help and unit are constants. A NaN is no value, and left out. */
void gauges_add(struct gauges *gauges, const char *name, const char *help, const char *unit, const struct gauge_label *labels,
                size_t n_labels, double value);
/* Once; then nothing is added. */
void gauges_sort(struct gauges *gauges);
void gauges_to_prometheus(const struct gauges *gauges, struct buffer *out);
/* at_ns: of every sample, by the wall clock. */
void gauges_to_otlp(const struct gauges *gauges, const char *version, int64_t at_ns, struct json_writer *json);
void gauges_release(struct gauges *gauges);

#endif
