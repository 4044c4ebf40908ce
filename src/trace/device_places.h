/* trace/device_places.h: which processes and threads of a trace are a device's, by the names that its metadata gives them: JAX and XProf, Ascend's
 * profiler, and whatever else writes a device as a process with streams, and no categories.
 * Order    device_places_tell as the metadata comes, which such profilers write first; device_places_find for an event
 * Limits   PLACES_MAX processes and threads; of what is beyond, nothing is known */
#ifndef TRACE_DEVICE_PLACES_H
#define TRACE_DEVICE_PLACES_H

#include "trace/trace.h"

enum { PLACES_MAX = 4096 };

enum place_kind {
  PLACE_UNKNOWN,
  PLACE_WORK,    /* a stream, or a plane of transfers: what is on it is device work */
  PLACE_CALLS,   /* calls of the device's runtime, on a thread of the host */
  PLACE_UNNAMED, /* a device's, on a thread whose name was not told yet */
  PLACE_DERIVED, /* the same work again, by scopes or modules, or an analysis of it: not to be counted twice */
};

struct device_places {
  struct place {
    int64_t process, thread; /* thread -1: the process as a whole */
    char name[64], labels[24];
    int64_t device; /* of a process */
  } at[PLACES_MAX];
  size_t n;
  int64_t n_devices[2]; /* by what a device is called: its work, its collectives */
  struct {
    bool known;
    int64_t process, thread, device;
    enum place_kind kind;
  } last; /* events of one thread come together */
};

/* what: "process_name", "process_labels", "thread_name". */
void device_places_tell(struct device_places *places, struct bytes what, int64_t process, int64_t thread, struct bytes name);
enum place_kind device_places_find(struct device_places *places, int64_t process, int64_t thread, int64_t *ret_device);

/* Of the runtime's calls, which are written as a process of their own: the process whose threads make them. */
int64_t device_places_host(const struct device_places *places, int64_t process);

/* What its thread is called; "" where nobody said. */
const char *device_places_thread(const struct device_places *places, int64_t process, int64_t thread);

/* What work of such a name is: a kernel, a copy, a set, or a stream's wait (TRACE_SYNC). */
enum trace_kind device_work_kind(struct bytes name);

#endif
