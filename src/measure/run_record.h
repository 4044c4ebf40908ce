/* measure/run_record.h: a run while it goes on: its state, and what of it goes into the record beside its sessions. */
#ifndef MEASURE_RUN_RECORD_H
#define MEASURE_RUN_RECORD_H

#include "drivers/drivers.h"
#include "measure/inputs.h"
#include "measure/run_request.h"
#include "measure/service.h"
#include "measure/setup.h"

struct sampling;
struct watcher;
struct tokenizer;

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
  struct sampling *sampling;
  struct watcher *watcher; /* of an observation by packets */
  double steal_sum;
  int64_t n_steal;
  struct buffer metrics;            /* the server's page, as last read */
  double cache_queries, cache_hits; /* of that page */
  bool has_metrics;                 /* it gives one */
  int64_t begun_ns;
  int64_t next_session;       /* id */
  int64_t n_sessions_planned; /* 0: not known */
  bool running_for_next;      /* the executor was left running for the next session of the same precision */
  bool told_of_files;         /* that they limit what can be in flight */
  bool *captured;             /* per precision: at its start */
  struct {
    bool known;
    double level;     /* running and waiting by the server's own counts, before anything was sent; NaN: it does not say */
    double usual_ns;  /* the slowest of the first probe requests; infinite: they failed */
    double answer_ns; /* how long one request alone took; 0: not asked yet */
    size_t n_probes;
  } idle;
  int64_t n_sent;              /* sessions whose load was sent */
  bool left_behind;            /* the last of them was cut off with requests under way, or had some time out */
  struct tokenizer *tokenizer; /* by which answers are counted again; NULL: none */
  bool tokenizer_looked_for;
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
  bool alone;    /* it must not begin in the backlog of the one before */
  bool may_fail; /* an executor that does not start, or that ends, fails the session, not the run */
};

void run_note(const struct run *run, const char *text);
int64_t run_realtime(const struct run *run);
void run_put_event(struct run *run, enum event_kind kind, const char *text);
void run_show_step(const struct run *run, const char *step, const char *precision);
/* Does it send nothing? The request says so, or the contract's load. */
bool run_only_observes(const struct run *run);
bool run_is_over(const struct run *run); /* stopped by the user, by harm, or out of budget */

/* Before what the contract gives the executor: of what is there twice the first counts. more ends in NULL; NULL: nothing. */
void run_add_environment(struct run *run, const char *const *more);
/* An argument of the command gets another value, or is added, before a "--" if there is one: "--name=value", "--name". The word behind
 * "--name" is its value, unless it is an argument itself. */
void run_set_argument(struct run *run, const char *argument);

/* Contract, inputs, references, profile, calibration: before anything is sent. */
enum lynx_status run_put_intent(struct run *run);

/* Every series that the server's page, as last read, has, as samples. */
void run_put_metrics(struct run *run, int64_t session, int64_t at_ns);

#endif
