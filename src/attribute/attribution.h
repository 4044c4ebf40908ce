/* attribute/attribution.h: the first way of attribution, whole: traces in, accounts and findings out; and what changed between two arms of
 * traces.
 * Order    attribution_add for the traces, then attribution_finish; attribution_compare of two finished ones
 * Memory   about a tenth of the traces' own size, or less; attribution_release frees */
#ifndef ATTRIBUTE_ATTRIBUTION_H
#define ATTRIBUTE_ATTRIBUTION_H

#include "attribute/call_tree.h"
#include "attribute/collective_rates.h"
#include "attribute/host_names.h"
#include "attribute/requests.h"
#include "attribute/rule.h"
#include "attribute/samples.h"

enum { FINDINGS_MAX = 16, TRACES_MAX = 64, DEVICES_MAX = 64 };

/* One kernel, operator, copy or range, over all its spans in the trace. */
struct name_total {
  uint32_t name;
  int64_t n, ns, least_ns, greatest_ns;
};

struct name_totals {
  struct name_total *at; /* the greatest first */
  size_t n;
};

/* What a trace is of: spans on a clock, with a time account; requests through services; or samples of processors. */
enum trace_content { CONTENT_TIMELINE, CONTENT_REQUESTS, CONTENT_SAMPLES };

struct attributed_trace {
  const char *path, *reader; /* borrowed */
  enum trace_content content;
  struct requests requests; /* what follows is of timelines alone */
  struct samples samples;
  struct timeline timeline;
  struct account account; /* of the device that is busiest, or that was asked for; of the host where there is none */
  struct host_names host; /* what the host was in meanwhile, by name */
  int64_t devices[DEVICES_MAX];
  int64_t busy_ns[DEVICES_MAX];
  size_t n_devices;
  struct name_totals names;      /* of what the account is about: kernels and copies; operators on the host */
  struct collective_rates rates; /* of the collectives on this rank */
  struct name_totals ranges;     /* that the program named, from begin to end: they may lie in each other */
  struct finding findings[FINDINGS_MAX];
  size_t n_findings;
  int64_t bytes; /* of the file */
};

/* A part of the window that is one layer's: a state, but for Python, which belongs to whose file it is. */
struct attribution_cause {
  enum account_state state;
  bool layered;
  enum layer layer;
  int64_t ns;
};

enum { CAUSES_MAX = STATE_COUNT + 2 * LAYER_COUNT };

/* Whose a function or range is, by the file that it lies in. */
struct attribution_cause host_name_cause(const struct host_name *name);
/* They sum to the window; the greatest first. Returns how many. */
size_t attribution_causes(const struct attributed_trace *trace, struct attribution_cause causes[CAUSES_MAX]);

struct attribution {
  struct account_options options;
  int64_t device;    /* which one was asked for; -1: the busiest */
  const char *event; /* of samples: the event that was asked for; NULL: the one that is time, else the first */
  int64_t preferred; /* where none was asked for: this one, if the trace shows it; -1: none */
  struct attributed_trace *traces;
  size_t n_traces;
  struct collectives collectives; /* over the traces, where they are ranks of one job */
  bool ranks;
};

void attribution_init(struct attribution *attribution, const struct account_options *options, int64_t device);

struct attribution_input {
  const char *path; /* as it is to be named */
  struct trace_source *source;
  int64_t bytes;
  bool (*progress)(void *context, int64_t bytes_done); /* NULL, or asked now and then; false: stop there. Called by several threads */
  void *context;
};

/* Reads traces, as many at once as there are threads given. The first of them that failed is *ret_failed, with its error; the others are
 * kept all the same. */
enum lynx_status attribution_add(struct attribution *attribution, const struct attribution_input *inputs, size_t n, size_t n_threads,
                                 size_t *ret_failed, struct lynx_error *error) LYNX_MUST_CHECK;
void attribution_finish(struct attribution *attribution);
/* A trace's findings, by themselves, or with what its job's ranks say together. */
void attribution_find(struct attributed_trace *trace, const struct collectives *collectives);
void attribution_release(struct attribution *attribution);

/* --- two arms --- */

struct name_change {
  const char *text;   /* borrowed from a timeline */
  double n[2], ns[2]; /* per unit, of arm A and of arm B */
};

struct attribution_change {
  bool per_step;                                                       /* the unit; else the whole window */
  size_t n[2];                                                         /* traces in each arm */
  double wall_ns[2], state_ns[2][STATE_COUNT], role_ns[2][ROLE_COUNT]; /* means per unit */
  double layer_ns[2][LAYER_COUNT + 1];                                 /* the same by layer; the last is of none */
  double difference_ns, low_ns, high_ns;                               /* of the wall, B - A, and its 95 % interval */
  bool bounded;                                                        /* is there an interval? Two traces in each arm at least */
  /* How much of both is the same work: operators by name and number, the same by call path; 1: all. */
  double same_names, same_paths, work[2]; /* work: how many operators (or kernels) per unit */
  bool abstained;
  char reason[240];
  enum account_state accounted;        /* the state that changed most in the direction of the wall */
  double accounted_ns, non_additivity; /* 1 - realised / accounted */
  struct name_change *names;           /* the greatest change first */
  size_t n_names;
};

void attribution_compare(const struct attribution *a, const struct attribution *b, struct attribution_change *ret);
void attribution_change_release(struct attribution_change *change);

/* --- in one sentence --- */

enum bound_by {
  BOUND_DEVICE,        /* the device computes for at least 85 % of the window */
  BOUND_COMMUNICATION, /* for at least half of it, it communicates, and nothing computes */
  BOUND_COPIES,        /* ... copies or sets memory, and nothing computes or communicates */
  BOUND_SOFTWARE,      /* it is busy for less than half */
  BOUND_MIXED,         /* none of these */
  BOUND_FEW,           /* fewer than ten pieces of work: of what a server or a job does they say nothing */
  BOUND_UNKNOWN        /* there is no device, or too much is unexplained */
};
enum bound_by attribution_bound(const struct account *account);
const char *attribution_bound_text(enum bound_by bound); /* "communication" */

/* What its verdict is made of: shares of the window that sum to 1. */
struct bound_shares {
  double computing, communicating, copying, idle;
};
struct bound_shares attribution_bound_shares(const struct account *account);

/* For an infinitely fast device: the share of the window that the launching thread needs for itself at least (operators, and calls that do
 * not wait for the device), if one thread launches; else -1. */
double attribution_host_share(const struct attributed_trace *trace);

#endif
