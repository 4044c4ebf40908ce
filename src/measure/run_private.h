/* measure/run_private.h: what the files of a run share. */
#ifndef MEASURE_RUN_PRIVATE_H
#define MEASURE_RUN_PRIVATE_H

#include "drivers/drivers.h"
#include "measure/inputs.h"
#include "measure/run.h"
#include "measure/service.h"
#include "measure/setup.h"

struct run {
  const struct run_request *request;
  struct arena arena;
  struct contract contract;
  char contract_digest[DIGEST_HEX]; /* of what was agreed, whatever the request adds */
  struct bundle *bundle;
  const struct driver *driver;
  struct service service;
  struct setup setup;   /* the driver's states, in a session */
  int64_t workload_pid; /* the process that runs the workload, as the driver says; 0: it does not */
  struct inputs inputs;
  const char *bearer;
  bool *skip; /* per precision: unavailable here */
  void *machine;
  bool machine_known;
  double steal_sum;
  int64_t n_steal;
  struct buffer metrics;            /* the server's page, as last read */
  double cache_queries, cache_hits; /* of that page */
  bool has_metrics;                 /* it gives one */
  int64_t begun_ns;
  int64_t next_session;       /* id */
  int64_t n_sessions_planned; /* 0: not known */
  bool running_for_next;      /* the executor was left running for the next session of the same precision */
  bool *captured;             /* per precision: at its start */
  struct run_outcome *outcome;
  struct lynx_error *error;
};

/* One session: where its rows count, and what is offered. */
struct session_plan {
  size_t precision;
  enum purpose purpose;
  int64_t number, seed;
  double rate_per_s;     /* open loop */
  enum load_kind load;   /* of the contract, or what a check needs */
  int64_t concurrency;   /* the same */
  struct inputs *inputs; /* the run's, or a check's own */
  int64_t body_seed;     /* in the requests */
  int64_t counted_ns, warm_up_ns;
  bool accuracy, last, keep_running;
};

void run_note(const struct run *run, const char *text);
int64_t run_realtime(const struct run *run);
enum lynx_status run_put_event(struct run *run, const char *kind, const char *text);
void run_show_step(const struct run *run, const char *step, const char *precision);

/* measure/session.c: the load of one session, into its rows. Fills in the session's row; *ret_aborted: the abort SLO was broken. */
enum lynx_status run_load(struct run *run, const struct session_plan *plan, struct bundle_session *row, bool *ret_aborted);

/* measure/run.c: the executor around it: started, captured, asked for accuracy, stopped. *ret_complete: all of the load was run. */
enum lynx_status run_session(struct run *run, const struct session_plan *plan, bool *ret_complete);
struct session_plan run_plan(struct run *run, size_t precision, enum purpose purpose, int64_t number);
bool run_is_over(const struct run *run); /* stopped by the user, by harm, or out of budget */

/* measure/search.c: the sessions of a search for saturation, for one precision. */
enum lynx_status run_search(struct run *run, size_t precision);

/* measure/observe.c: sends nothing, reads the server's metrics over the counted window. */
enum lynx_status run_observe(struct run *run);
/* Every series that the page last read has, as samples. */
enum lynx_status run_put_metrics(struct run *run, int64_t session, int64_t at_ns);

/* measure/check_sessions.c: the sessions that the contract's checks ask for, for one precision. */
enum lynx_status run_checks(struct run *run, size_t precision);

#endif
