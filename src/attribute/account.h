/* attribute/account.h: where the time of a window went, to the nanosecond: exclusive states that sum to the wall, and beside them what
 * overlapped, which no order decides.
 * Shapes   one account for one device, or for the host where the trace shows no device
 * Units    nanoseconds
 * Method   one sweep over the spans in order of start keeps which kinds of work are open; every stretch between two changes is added
 *          under its set. Every figure here is a sum over those sets, so that each account closes by construction. Where the device
 *          does nothing, the time is claimed by what the evidence shows, in the order of the states below
 * Source   docs/attribution.md; the exclusive roles are those of PyTorch's tb_plugin, the device's timeline that of TraceLens, a
 *          stream's idle time that of HolisticTraceAnalysis, so that each can be held against the other tool
 * Limits   the order decides blame where two things happen at once: the overlaps say how much of that there is */
#ifndef ATTRIBUTE_ACCOUNT_H
#define ATTRIBUTE_ACCOUNT_H

#include "attribute/account_shape.h"

struct account_options {
  enum orphan_policy orphans;
  enum account_window window;
  int64_t threshold_ns;         /* 0: measure it */
  int64_t consecutive_delay_ns; /* HolisticTraceAnalysis's threshold; 0: its 30 us */
  /* NULL, or told of every stretch of the window in order, with its state. */
  void (*each)(void *context, enum account_state state, int64_t from_ns, int64_t to_ns);
  void *context;
};

void account_run(const struct timeline *timeline, int64_t device, const struct account_options *options, struct account *ret);
void account_release(struct account *account);

/* Does what this thread does say why the device waits? Of threads that never launch anything on it, no. */
bool account_thread_speaks(const struct timeline *timeline, int64_t device, const struct track *track);

int64_t account_unexplained(const struct account *account);
double account_unexplained_share(const struct account *account);
/* Of the window: the device computes, with fewer thread blocks than it has multiprocessors. Kernels side by side share the time. */
double account_few_blocks_share(const struct account *account);
int64_t account_idle(const struct account *account); /* all that the device did not do */
int64_t account_busy(const struct account *account);

/* Busy device spans of each device that the timeline shows; at most `room`. Returns how many devices there are. */
size_t account_devices(const struct timeline *timeline, int64_t *devices, size_t room);

const char *account_state_id(enum account_state state);                  /* "compute.matrix_product", "idle.launch" */
const char *account_state_words(enum account_state state, bool on_host); /* for people */
/* False: no layer's: the instrument's own, or not explained. */
bool account_state_layer(enum account_state state, bool on_host, enum layer *ret);
const char *overlap_text(enum overlap_kind kind);
const char *role_text(enum account_role role);

int64_t histogram_quantile(const struct histogram *histogram, double p); /* 0 where it is empty */

#endif
