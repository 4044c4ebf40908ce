/* result/figures.h: what a result is made of: the figures of a run, by precision.
 * Shapes   one entry per precision, each with its sessions
 * Units    ns, tokens/s, requests/s, shares */
#ifndef RESULT_FIGURES_H
#define RESULT_FIGURES_H

#include "contract/contract.h"
#include "load/driver.h"
#include "record/bundle.h"
#include "result/formula.h"
#include "result/profile.h"
#include "stats/saturation.h"
#include "stats/sessions.h"
#include "stats/steady.h"

enum { RESULT_QUANTILES = 5 };
extern const double result_quantiles[RESULT_QUANTILES]; /* 0.5 0.9 0.95 0.99 0.999 */

/* One latency: its pooled quantiles with order-statistic intervals, and the spread of the sessions' own. */
struct result_latency {
  size_t n; /* values, infinite ones included */
  size_t n_infinite;
  struct session_quantile at[RESULT_QUANTILES];
  struct session_mean mean;
  double least, greatest, deviation;             /* of all values: the sample standard deviation */
  struct interval of_sessions[RESULT_QUANTILES]; /* mean of the sessions' quantiles */
  /* By how much the instrument's own lateness can have raised each quantile, as a share of it: from the same values, each less what we
   * were late by in sending and reading it. */
  double instrument_share[RESULT_QUANTILES];
};

/* What can be said of an objective, at the contract's confidence. */
enum objective_verdict {
  OBJECTIVE_NO_VALUES,
  OBJECTIVE_HOLDS,     /* the whole interval of the misses' share says so */
  OBJECTIVE_FAILS,     /* the same */
  OBJECTIVE_UNBOUNDED, /* the sample cannot decide it, one way or the other */
  OBJECTIVE_MET,       /* by the estimate only */
  OBJECTIVE_NOT_MET,   /* by the estimate only */
  OBJECTIVE_DOUBTED    /* what was measured may be another time than the one that is meant: see first_text_ns */
};
const char *objective_verdict_text(enum objective_verdict verdict);
/* Can the sample decide it, one way or the other? */
bool objective_is_decided(enum objective_verdict verdict);

struct result_objective {
  enum metric metric;
  double quantile;
  int64_t at_most_ns;
  struct quantile measured;
  double n_effective;
  struct session_share misses; /* of all counted values */
  bool met;                    /* by the estimate */
  bool by_distance;            /* decided by how far off the sessions' quantiles are, where the share's interval alone decides nothing */
  bool by_instrument;          /* missed, and would not be without the instrument's lateness */
  enum objective_verdict verdict;
};

/* What one session's series did: the class that decides, and of which series. */
struct result_steady {
  enum steady_class class;
  const char *series;     /* that decided */
  int64_t from_ns, to_ns; /* what is counted */
  int64_t changed_at_ns;  /* of the last change point beyond the tolerance; -1: none */
  double drift;           /* over the judged part, of the series that decided */
  size_t n_bins;
};
const char *steady_text(enum steady_class class);

/* What a session's surroundings were to the serving process, in its counted window; NaN: not known. */
struct result_felt {
  double lost;    /* seconds lost for each second, all its threads together: waits for a processor, a quota, the hypervisor, a disk */
  double used;    /* processors that it used */
  double ended;   /* of them by threads that ended, whose waits nobody knows */
  double beside;  /* shares of the machine that other processes and the hypervisor used, together */
  double n_peers; /* the most connections to other processes of this machine */
};

struct result_session {
  int64_t id, number, n_counted, n_ok, n_failed;
  struct result_steady steady;
  bool complete;
  enum session_end end;
  const char *why; /* of the end */
  enum executor_start executor;
  double output_rate, request_rate, goodput;
  double good_output_rate;                   /* tokens/s of answers that ended in the window and met every objective */
  double at[METRIC_COUNT][RESULT_QUANTILES]; /* this session's own quantiles; NaN without values */
  double accuracy;                           /* bits per byte, share or score; NaN if not measured */
  struct result_felt felt;
};

/* One load of a search for saturation, all its windows together. */
struct result_point {
  double rate_per_s;
  bool certify;                 /* of the certificate's own windows; else of the search's */
  bool alone;                   /* the executor was seen idle before each of its windows */
  double lag_p99_ns, lag_share; /* send and read lag together; as a share of the median time in the system */
  bool instrument_limited;      /* it failed, and our lateness may be why */
  size_t n_sessions;
  int64_t n_arrivals, n_ended, n_failed; /* n_ended: within the windows */
  struct growth growth;
  enum load_verdict backlog;
  bool objectives_met, objectives_held, objectives_missed; /* by the estimate; by the whole interval; the whole interval beyond */
  bool sustained;
  const char *why; /* what decided */
  struct interval output_rate;
  struct quantile time_to_first_token_p99_interval, end_to_end_p99_interval;               /* bounded where the windows can bound them */
  struct interval goodput;                                                                 /* requests/s that met every objective */
  struct interval good_output_rate;                                                        /* tokens/s of these */
  double time_to_first_token_p50, time_to_first_token_p99, end_to_end_p50, end_to_end_p99; /* ns */
  double tokens_per_s_per_user;                                                            /* 1 / median TPOT */
  double in_system, little; /* mean number from the rows; arrivals/s x mean time in the system */
  bool little_holds;        /* they agree within a tenth, or one request */
};

/* One step of a climb. */
struct result_step {
  int64_t concurrency;
  struct result_point point; /* its loads are in flight, not per second */
  double throughput;         /* tokens/s; requests/s where answers hold none */
  bool failing;              /* more requests fail than method.failures_at_most */
  bool too_short;            /* fewer requests ended in the window than were in flight: nothing of it is steady yet */
};

struct result_certificate {
  bool searched, certified;
  double passing, failing; /* requests/s; 0: none */
  bool range_ended;        /* the greatest load that may be tried is sustained: there is no failing one */
  bool failing_for_sure;   /* the backlog's growth or the objective's miss is significant */
  double resolution;       /* to which it is certified: regime.search.resolution, or coarser (saturation_reached); 0: it is not */
  int64_t n_arrivals;      /* that it took */
  const char *text;        /* in words */
};

enum check_verdict { CHECK_PASSED, CHECK_FAILED, CHECK_NOT_DECIDED };
struct result_check {
  const char *name, *text;
  enum check_verdict verdict;
};

/* Rows that no run can have written. */
struct result_plausibility {
  bool judged; /* false: nothing of it can be seen (withheld, imported) */
  int64_t n_requests, n_events, n_impossible;
  double n_tokens;
  const char *first; /* the first of them, in words; "" */
  int64_t n_shares;  /* samples that are shares of this machine, and below 0 or beyond all of it */
  const char *first_share;
  int64_t n_unaccounted; /* complete sessions whose instrument does not say that it ran for as long */
  const char *missing;   /* what every run writes and this one lacks, in words; NULL: nothing */
  int64_t n_sessions, n_overlapping, n_before_intent;
  size_t n_schedules_same, n_schedules_other, n_gaps; /* sessions whose requests are those of contract and seed; are not; lack ids */
};
/* What is wrong, in one sentence; NULL: nothing is. */
const char *plausibility_text(const struct result_plausibility *plausibility, struct arena *arena);

struct result_lag {
  size_t n, n_unknown;
  double p50, p99, greatest;
};

/* What surrounded the counted windows: shares of processor time; NaN: not known. */
struct result_conditions {
  double others, steal, throttled, pressure;
  double lost;                /* as struct result_felt has it */
  double slowed, gpus_slowed; /* how often a package was slowed for heat; share of the looks at a GPU that found it slowed */
};

/* Above it an event holds several tokens often enough that it is said beside the inter-token latency. */
#define EVENT_OF_SEVERAL 1.05

struct result_precision {
  const char *name, *executed_json; /* as the executor said */
  const char *executed, *status, *primitive;
  char fingerprint[DIGEST_HEX]; /* of the executor at the start; "" if it was not captured */
  bool unavailable;
  struct result_session *sessions;
  size_t n_sessions, n_complete;
  int64_t n_counted, n_ok, n_failed, n_warm_up, n_not_steady, n_tail; /* n_not_steady: in the window, before it was steady */
  int64_t outcomes[OUTCOME_COUNT];                                    /* of counted requests */
  const char *reasons[OUTCOME_COUNT];                                 /* of the first of them; NULL */
  int64_t http_status, http_statuses; /* of those that failed by one: the last, and how often it was another than before */
  int64_t flags[ANSWER_FLAG_COUNT];   /* of counted requests */
  int64_t n_waited_slot;              /* requests that found regime.concurrency in flight already */
  bool has_tokens;                    /* answers hold tokens; else requests are what is counted */
  struct result_phase {
    const char *name;
    int64_t n;             /* counted answers that tell of it */
    double mean_ns, share; /* of those; of all of them's time from first byte written to end */
    bool of_server;        /* by its own statistics over whole sessions, warm-up included */
  } * phases;              /* in the order in which answers name them */
  size_t n_phases;
  double phases_rest_share; /* of the time of answers that tell of phases: what none of them covers */
  struct result_server {
    int formula;           /* FORMULA_ACCEPTANCE_LENGTH ...: its name and unit */
    double here;           /* ns: the mean that the client saw of the same; NaN: it has none, or the formula has none */
    double value;          /* over all counted windows */
    double *at_s, *points; /* over time: from the first window's begin, the windows one behind the other */
    size_t n_points;
    double least, greatest; /* of the points */
  } * server;               /* what the server's own metrics tell of how it worked */
  size_t n_server;
  const char *token_source; /* by what tokens were counted, in words */
  /* Means, where in most answers one of the first gaps is like no other, so that the first text may have been sent before the model had
   * run: until that text, and until what follows the gap. 0: there is no such doubt. */
  double first_text_ns, behind_gap_ns;
  bool watched; /* the server's process, which lynxbench did not start, was seen at the start and at the end */
  int64_t n_without_usage;
  double held_share;        /* of a closed loop's slots in the counted windows: by requests of the warm-up, which no latency holds */
  int64_t n_without_tokens; /* good answers of a model that writes, and of them no text came and usage reports no token */
  int64_t n_textless;       /* good answers without a text, whose usage reports tokens: they have no time, and are in no rate */
  int64_t n_told_none;      /* with a text, whose usage reports no token */
  int64_t n_contradicting;  /* whose events told other tokens than their last usage */
  double tokens_per_event;  /* of answers whose usage is known; 1 where each event held one token */
  double mean_prompt_tokens, mean_output_tokens;
  struct result_latency latency[METRIC_COUNT];
  struct result_objective *objectives;
  size_t n_objectives;
  struct interval output_rate, request_rate, goodput, good_output_rate;
  double together;                 /* requests of a closed loop that end together, on average; 1: one by one */
  double request_step, token_step; /* by which a window that begins a moment later may have another rate */
  double failure_share;
  struct result_lag send_lag, read_lag;
  double rate_instrument_share; /* by how much our lateness can have lowered the throughput */
  bool instrument_limited;      /* by more than the contract allows in what is claimed */
  struct result_steady steady;  /* of the precision: the least of its sessions' */
  bool steady_holds;            /* every complete session, or all of them pooled */
  struct result_point *points;
  size_t n_points;
  struct result_certificate certificate;
  struct result_step *steps; /* of a climb, by requests in flight */
  size_t n_steps;
  int64_t knee; /* requests in flight at which is counted; 0: no climb, or no step of it was complete */
  struct result_check *checks;
  size_t n_checks;
  struct profile_distance distance;
  bool distance_known;
  struct interval accuracy; /* bits per byte, or the share or score of the contract's measure */
  double accuracy_ratio;    /* reference / this; NaN if not known */
  bool accuracy_known, accuracy_passed;
  double engine_cpu_share; /* of one core, in counted sessions */
  struct result_conditions conditions;
};

struct result {
  struct arena arena;
  struct contract contract;
  bool holds_tokens; /* answers are text in tokens, as the driver said */
  struct result_plausibility plausibility;
  struct problem_list problems;
  enum grade grade;
  char contract_digest[DIGEST_HEX];
  double interval_confidence; /* of each interval: the contract's, or more where several looks at the data have to be paid for */
  struct bundle_seal_info seal;
  int64_t started_ns; /* the first session's zero, by the wall clock; 0: there is none */
  struct result_precision *precisions;
  size_t n_precisions;
  const char **holes; /* what of the executor was not seen */
  size_t n_holes;
  double n_accelerators;   /* 0: not known */
  bool on_processor;       /* that is the processor: nothing else there computes */
  const char *accelerator; /* "NVIDIA H100 80GB HBM3", or the processor where there is nothing else; "" where not known */
  const char **departures; /* expected facts that did not hold, with owner */
  size_t n_departures;
  const char **not_compared; /* "procurement.price": declared, and nothing was read to hold against it */
  size_t n_not_compared;
  const char **changed; /* identity facts that changed between start and end, with owner */
  size_t n_changed;
  bool perturbed;          /* it has sessions whose resources were slowed on purpose; `part` says so too */
  bool observed;           /* nothing was sent: the requests are those of others, watched */
  const char *part;        /* "part 1 of 3: ...": its rows are not the whole; "" otherwise */
  const char **conditions; /* events of the run that bear on its validity */
  size_t n_conditions;
  const char *stopped; /* how a run with a precision target or a budget ended; "" otherwise */
  bool budget_ended;
  const char *profile_taken;                  /* when the profile was made; "" without one */
  const char *profile_signed_by;              /* the public key whose signature the profile carries; "" where it carries none */
  const char *ledger;                         /* the origin of the ledger that recorded the run's intent; "" without one */
  const char *imported;                       /* what `lynxbench import` read, as JSON; "" otherwise */
  const char *load_hosts;                     /* where the load came from, in words; "": one host */
  const char *machine_before, *machine_after; /* records of the machine's own speed (result/machine_figures.h); "" without one */
  const char *calibration;                    /* the record of `lynxbench calibrate` that the run refers to; "" without one */
};

/* The formula of each latency. */
extern const enum formula_index metric_formulas[METRIC_COUNT];

/* Is that quantile known well enough to be stated, for all that the instrument was late? */
bool result_states(const struct contract *contract, const struct result_latency *latency, int quantile);

/* Does the contract let this fact vary (optimisation.may_change, must_not_change)? */
bool result_may_change(const struct contract *contract, enum layer layer, const char *key);

/* NULL: it has none of that name; result may be NULL. */
const struct result_precision *result_precision_named(const struct result *result, const char *name);

/* The throughput that a run is known by: output tokens, or requests where answers hold none (embeddings, tensors). */
const struct interval *result_throughput(const struct result_precision *precision);
double result_throughput_of(const struct result_precision *precision, const struct result_session *session);
const char *result_throughput_unit(const struct result_precision *precision);
const char *result_climb_unit(const struct result_precision *precision); /* of its steps */

/* What a million tokens cost by the contract's price (lynx.cost.1), and the J of each by its power (lynx.energy.1); of requests where
 * answers hold no tokens. The throughput's interval turned round; all NAN where there is no price, no power or no throughput. */
struct interval result_cost(const struct contract *contract, const struct result_precision *precision);
struct interval result_energy(const struct contract *contract, const struct result_precision *precision);

/* A rate or a time is not below zero, whatever a wide interval of few sessions says. */
struct interval result_not_negative(struct interval figure);
/* The mean of the sessions' figures; infinite values make it infinite. */
struct interval result_interval(const double *x, size_t n, double confidence);

/* One text more in a list of the result's arena. */
void result_add_text(struct arena *arena, const char ***list, size_t *n, const char *text);

/* A copy of every session row, in the result's arena. */
struct session_list {
  struct bundle_session *items;
  size_t n_items, room;
};

#endif
