/* measure/host_samples.h: what samplers saw of a serving process on a host where no load is generated: lines of JSON, which a run that
 * measured that process from elsewhere is merged with (measure/merge_samples.h).
 *
 * Shapes   the first line is the head; then a value, a thread's name or what a thread did, a line each; the last line says that it ended.
 *          A file that breaks off lost what came after: the rest counts
 * Units    times are the host's wall clock in nanoseconds
 * Errors   INPUT, with the line: no such file, or a line that no sampler writes
 * Limits   HOST_SAMPLES_MAX bytes; names are sanitised; everything in it may be anybody's */
#ifndef MEASURE_HOST_SAMPLES_H
#define MEASURE_HOST_SAMPLES_H

#include "base/activity.h"
#include "base/host.h"

enum { HOST_SAMPLES_MAX = 1 << 28, HOST_PORTS_MAX = 16 };

struct host_samples_head {
  struct host host;
  int64_t begun_ns, process, n_processors;
  char program[64];
  int64_t ports[HOST_PORTS_MAX]; /* that the process listens at */
  size_t n_ports;
};

void host_samples_write_head(const struct host_samples_head *head, struct buffer *ret);
void host_samples_write_value(int64_t at_ns, const char *series, double value, struct buffer *ret);
void host_samples_write_name(const struct thread_name *name, struct buffer *ret);
/* activity->at_ns: of the wall clock */
void host_samples_write_activity(const struct thread_activity *activity, struct buffer *ret);
void host_samples_write_end(int64_t at_ns, struct buffer *ret);

struct host_samples_visit {
  void *context;
  void (*value)(void *context, int64_t at_ns, const char *series, double value);
  void (*name)(void *context, const struct thread_name *name);
  void (*activity)(void *context, const struct thread_activity *activity);
};

/* *ret_last_ns: the last time that any line tells. visit's functions may be NULL. */
enum lynx_status host_samples_read(const char *text, size_t length, const struct host_samples_visit *visit,
                                   struct host_samples_head *ret_head, int64_t *ret_last_ns, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
