/* measure/run_request.h: what a run is asked for, and what it tells: while it goes on, and at its end. */
#ifndef MEASURE_RUN_REQUEST_H
#define MEASURE_RUN_REQUEST_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/root.h"
#include "contract/contract.h"
#include "measure/part.h"
#include "record/bundle.h"

struct run_progress {
  const char *step; /* "starting", "warm-up", "counted", "drain", "accuracy", "sealing" */
  const char *precision;
  enum purpose purpose;
  double rate_per_s;           /* offered; 0: a closed loop */
  int64_t session, n_sessions; /* of all precisions; from 1; n_sessions 0: not known beforehand */
  double elapsed_s, total_s;   /* of this session's windows */
  long long n_issued, n_done, n_failed, n_tokens;
  long long n_ok, time_to_first_token_ns, end_to_end_ns; /* of those that succeeded: sums */
  int in_flight;
};

/* Kept with the run, in the bundle's section meta. */
struct run_meta {
  const char *key, *value;
};

/* Where a session's clock stands, and whom it loads. */
struct perturbed_session {
  int64_t id;
  int64_t zero_ns, from_ns, to_ns; /* zero: on the clock; from, to: the counted window, after zero */
  int64_t realtime_ns;             /* of its zero */
  int64_t pid;                     /* the serving process; 0: not known here */
  double rate_per_s;               /* offered; 0: a closed loop */
  int64_t concurrency;             /* the most in flight */
  atomic_uint
      *in_flight_most; /* of a closed loop: no more than that, while it is not 0, until `end`; NULL: another load, or several threads */
};

/* Sessions of purpose `perturb` in place of the contract's: what happens to the executor in them is the caller's, on threads of its own
 * between begin and end. */
struct run_perturbation {
  int64_t concurrency; /* of a closed loop; 0: the contract's own load */
  int64_t warm_up_ns, counted_ns;
  int64_t sessions_at_most;
  int through_port; /* of 127.0.0.1: where the load connects instead of the endpoint; 0: to it */
  /* Of each session's own start of the executor: "NAME=VALUE", "-NAME" for a variable that is taken out, "--name=value" or "--name" for an
   * argument that is set; ends in NULL. NULL: it goes on. */
  const char *const *(*variant)(void *context, int64_t number);
  void (*begin)(void *context, const struct perturbed_session *session);
  void (*end)(void *context, struct bundle *bundle);                        /* puts its blocks into the record */
  bool (*enough)(void *context, struct bundle *bundle, int64_t n_sessions); /* a look after each session; NULL: none */
  void *context;
};

/* Of sessions with profilers. */
struct run_profilers {
  const char *names;  /* those that may run, commas between; NULL: all */
  const char *py_spy; /* the program, named by the user; NULL: where ours are looked for (base/program.h) */
};

/* Nothing is sent: what the service does for others is measured. */
struct run_observation {
  bool on;               /* also where the contract's load is another than observed */
  bool else_counters;    /* where packets may not be read, by the server's own counters, which are asked for: the run says so */
  bool asks_counters;    /* they are asked for, too, every ten seconds: that is a request */
  bool fine;             /* times as the kernel stamps them, instead of whole milliseconds */
  const char *interface; /* the only one that is read; NULL: all with an address */
};

struct run_request {
  const char *contract_text;
  size_t contract_length;
  const char *out_path;
  const char *calibration; /* of this machine, as JSON: kept with the run; NULL: none */
  const char *envelope;    /* the same of `lynxbench calibrate` */
  struct run_observation observation;
  struct run_profilers profilers;
  const struct run_meta *meta; /* further ones, such as what stood in a ledger before */
  size_t n_meta;
  int64_t sessions;         /* at least so many, instead of method.sessions; 0: as the contract says */
  const char *endpoint;     /* where this executor is, instead of executor.endpoint; NULL */
  bool foreign;             /* the contract is somebody else's: of its sources of keys, and of our variables, nothing is taken */
  const char *key_variable; /* may be workload.api_key_env although it is not called as keys of services are; NULL */
  const char *api_key_env, *api_key_file;      /* the user's own, for a foreign contract; NULL */
  struct run_part part;                        /* count 0: the only load host */
  const char *interleaved;                     /* an id that both runs carry whose sessions alternate; NULL */
  const struct run_perturbation *perturbation; /* NULL: none */
  const char *const *environment; /* "NAME=VALUE" for the executor that is started, before the contract's; ends in NULL; NULL */
  const struct root *root;
  const struct lynx_clock *clock;
  const atomic_int *stop;                                               /* 0 run; 1 drain, then seal as interrupted; 2 abort, then seal */
  void (*progress)(void *context, const struct run_progress *progress); /* about ten times a second */
  void (*note)(void *context, const char *text);                        /* something worth a line */
  void *context;
};

struct run_outcome {
  enum bundle_end end;
  char why[256];
  char root[DIGEST_HEX];
  bool sealed, executor_failed, aborted_by_slo;
};

#endif
