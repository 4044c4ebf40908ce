/* contract/contract.h: what the teams agree on before anything is measured.
 *
 * contract knows the fields of a contract, reads them from YAML, finds everything wrong with them at once, and gives the
 * canonical form whose digest is the contract's identity. It does no I/O: text comes in, structures and text go out.
 *
 * Units    durations int64 ns; rates double per second
 * Memory   a contract's text lives in the arena given to contract_parse
 * Fields   contract/fields.c holds the one table that parser, canonical form, JSON Schema, init and docs/contract.md share */
#ifndef CONTRACT_CONTRACT_H
#define CONTRACT_CONTRACT_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/digest.h"
#include "base/layer.h"

enum { CONTRACT_VERSION = 1, CONTRACT_FILE_MAX = 1 << 20 };

struct text_list {
  const char **items;
  size_t n_items;
};

struct text_map {
  const char **keys, **values;
  size_t n_items;
};

struct item_list {
  void *items;
  size_t n_items;
};

enum where_environment { WHERE_TWIN, WHERE_CANARY, WHERE_PRODUCTION, WHERE_DEVELOPMENT };
enum metric {
  METRIC_TIME_TO_FIRST_TOKEN,
  METRIC_TIME_TO_FIRST_ANSWER_TOKEN,
  METRIC_TIME_TO_FIRST_TOOL_CALL,
  METRIC_TIME_PER_OUTPUT_TOKEN,
  METRIC_INTER_TOKEN_LATENCY,
  METRIC_END_TO_END,
  METRIC_COUNT
};
enum load_kind {
  LOAD_CONSTANT,
  LOAD_POISSON,
  LOAD_BURSTY,
  LOAD_RAMP,
  LOAD_OFFLINE,
  LOAD_REPLAY,
  LOAD_SINGLE_STREAM,
  LOAD_MULTI_STREAM,
  LOAD_CLOSED,
  LOAD_CONVERSATIONS,
  LOAD_SATURATION,
  LOAD_CLIMB,
  LOAD_OBSERVED
};
enum trace_format { TRACE_AUTO, TRACE_JSONL, TRACE_MOONCAKE, TRACE_BURSTGPT, TRACE_AZURE };
enum length_kind { LENGTH_FIXED, LENGTH_UNIFORM, LENGTH_LOGNORMAL, LENGTH_PROFILE, LENGTH_GIVEN };
enum prompt_format { PROMPTS_TEXT, PROMPTS_LINES, PROMPTS_JSONL, PROMPTS_SHAREGPT };
enum steady_demand { STEADY_REQUIRED, STEADY_REPORTED };
enum server_profiler_use { SERVER_PROFILER_ASKED, SERVER_PROFILER_NEVER };
enum machine_speed_when { MACHINE_SPEED_NEVER, MACHINE_SPEED_BEFORE_AND_AFTER };
enum accuracy_measure { ACCURACY_LIKELIHOOD, ACCURACY_EXACT_MATCH, ACCURACY_TOKEN_AGREEMENT, ACCURACY_SCORER };
enum search_arrivals { SEARCH_POISSON, SEARCH_CONSTANT };
enum api_kind { API_COMPLETIONS, API_CHAT, API_RESPONSES, API_EMBEDDINGS, API_NATIVE, API_NATIVE_CHAT };
enum latency_origin { LATENCY_FROM_SCHEDULED, LATENCY_FROM_SENT };
enum grade { GRADE_A, GRADE_B, GRADE_C, GRADE_D };
/* What a contract asks: each kind has one rule that answers it (result/question_answer.h). */
enum question_kind {
  QUESTION_HOW_FAST,
  QUESTION_HOW_MANY,
  QUESTION_BETTER,
  QUESTION_AS_ORDERED,
  QUESTION_COST,
  QUESTION_WHICH,
  QUESTION_LIMIT,
  QUESTION_PRECISION,
  QUESTION_KINDS
};
enum operating_target { TARGET_LATENCY, TARGET_THROUGHPUT, TARGET_COST };

/* A request is due when one before it has ended, not by a schedule. */
bool load_is_closed(enum load_kind load);
const char *load_text(enum load_kind load);

const char *metric_text(enum metric metric);
const char *grade_text(enum grade grade);

/* Every section begins with `set`: bit i says that row i of its field table stood in the file. */
struct contract_abort {
  uint64_t set;
  int metric;
  int64_t over_ns, window_ns;
  double share;
};

struct contract_where {
  uint64_t set;
  int environment;
  double load_cap_per_s;
  int64_t load_cap_in_flight;
  struct contract_abort abort_slo;
};

struct contract_start {
  uint64_t set;
  struct text_list command, environment;
  int64_t ready_within_ns, stop_within_ns, unavailable_exit;
};

struct contract_executor {
  uint64_t set;
  const char *endpoint;
  const char *ready_path;
  const char *ca_file;
  int64_t pid;
  bool behind_proxy;
  struct text_list show_arguments;
  struct contract_start start;
  struct text_map expect, declare, hosts;
};

struct contract_prompts {
  uint64_t set;
  const char *file, *tokenizer, *image;
  int format;
  int64_t tokens;
  bool withhold;
  int64_t count, bytes, shared_prefix_bytes, prefix_groups;
  int distribution;
  double spread;
};

struct contract_workload {
  uint64_t set;
  const char *driver, *model, *api_key_env, *api_key_file, *profile, *profile_file;
  int api;
  struct text_map options; /* of the driver */
  const char *user_agent;
  bool stream, ignore_eos, continuous_usage;
  int64_t output_tokens;
  int output_distribution;
  double output_spread, bytes_per_token;
  double temperature;
  struct contract_prompts prompts;
};

struct contract_search {
  uint64_t set;
  double resolution;
  int arrivals;
  int64_t looks_at_most;
};

struct contract_regime {
  uint64_t set;
  int load;
  double rate_per_s, to_per_s, burst_shape, trace_speed;
  int64_t concurrency, batch, turns, think_time_ns;
  const char *trace;
  int trace_format;
  struct contract_search search;
};

struct contract_slo {
  uint64_t set;
  int metric;
  double quantile;
  int64_t at_most_ns;
};

struct contract_method {
  uint64_t set;
  const char *processors; /* of the load threads; NULL: any */
  int64_t warm_up_ns, counted_ns, drain_ns, request_timeout_ns, sessions, attribution_sessions, seed, threads;
  double instrument_error_at_most;
  double confidence, failures_at_most;
  int steady;
  double steady_share, steady_tolerance;
  double sampling_at_most; /* share of processor time for the samplers */
  int server_profiler;     /* is it asked? */
  int machine_speed;       /* when this machine's own is measured */
  double stolen_at_most;   /* share of processor time that the hypervisor may take from this machine */
  double precision_target; /* 0: the declared number of sessions, whatever they give */
  int64_t sessions_at_most, look_every, budget_ns;
};

struct contract_counting {
  uint64_t set;
  int latency_from, failures, unfinished;
  struct text_list excluded;
};

struct contract_change {
  uint64_t set;
  const char *layer, *what, *note;
};

struct contract_optimisation {
  uint64_t set;
  struct item_list may_change, must_not_change; /* of struct contract_change */
};

struct contract_accuracy {
  uint64_t set;
  int measure;
  const char *text_file, *reference, *references;
  int64_t windows, window_bytes, samples;
  double at_least_ratio;
  struct text_list command;
};

struct contract_decision {
  uint64_t set;
  int rule;
  double margin, conditions_differ_at_most;
  int64_t baseline_runs; /* 0: not said */
};

struct contract_cost {
  uint64_t set;
  const char *currency, *source;
  double price_per_hour, power_watts;
};

struct contract_targets {
  uint64_t set;
  int optimise_for;
  double requests_per_s, cost_per_million, demand_per_s;
};

struct contract {
  uint64_t set;
  int64_t version;
  const char *name, *question;
  int question_kind; /* contract_asks tells it where it is not stated */
  struct contract_where where;
  struct contract_executor executor;
  struct contract_workload workload;
  struct contract_regime regime;
  struct item_list slo; /* of struct contract_slo */
  struct text_list precisions;
  struct contract_method method;
  struct contract_counting counting;
  struct contract_optimisation optimisation;
  struct text_list checks;
  struct contract_accuracy accuracy;
  struct contract_decision decision;
  struct contract_cost cost;
  struct contract_targets targets;
  struct text_map owners;
  struct text_list signatories;
  int least_grade;
};

/* --- what is wrong, and what is left unsaid --- */

enum problem_kind { PROBLEM_ERROR, PROBLEM_WARNING, PROBLEM_UNSTATED, PROBLEM_ADVICE, PROBLEM_KINDS };
const char *problem_kind_text(enum problem_kind kind);

struct problem {
  enum problem_kind kind;
  int line; /* 0: of the whole file */
  const char *field, *found, *accepted;
};

struct problem_list {
  struct problem *items;
  size_t n_items;
  size_t n_errors;
  struct arena *arena;
};

void problem_add(struct problem_list *problems, enum problem_kind kind, int line, const char *field, const char *found,
                 const char *accepted);

/* Reads everything it can and lists every problem. INPUT if any is an error (the contract is then partly filled). */
enum lynx_status contract_parse(const char *text, size_t length, struct arena *arena, struct contract *ret,
                                struct problem_list *ret_problems);

/* Was this field written in the file? path: "regime.rate_per_s". */
bool contract_states(const struct contract *contract, const char *path);

/* A: nothing left unstated; B: up to 2 things; C: up to 5; D: more. */
enum grade contract_grade(const struct problem_list *problems);

/* The kind of its question: as stated; else by the question's words, else by what it measures. */
enum question_kind contract_asks(const struct contract *contract);
const char *question_kind_text(enum question_kind kind);  /* "how_many" */
const char *question_kind_words(enum question_kind kind); /* "How many requests can it sustain?" */
/* What the contract lacks to be answered; NULL: nothing. In words: "no price (cost.price_per_hour)" */
const char *question_kind_lacks(const struct contract *contract, enum question_kind kind);
/* The words of the one that is stated; else a latency where there are objectives, and throughput. */
enum operating_target contract_target(const struct contract *contract);

/* The canonical form: every field with its meaning and every default written out, in table order. Comments, key order,
 * quoting and the spelling of numbers do not reach it. */
bool contract_canonical(const struct contract *contract, struct buffer *ret);
void contract_digest(const struct contract *contract, char ret[DIGEST_HEX]);
/* Are these the words of a contract of that digest? */
bool contract_text_has(const char *text, const uint8_t digest[DIGEST_BYTES]);

/* The JSON Schema (draft 2020-12) and the reference page, from the same table. */
bool contract_schema(struct buffer *ret);
bool contract_reference(struct buffer *ret);

/* Names that `checks` may hold. */
enum { CONTRACT_CHECKS = 7 };
/* Is this one among its checks? */
bool contract_wants_check(const struct contract *contract, const char *name);
extern const char *const contract_checks[CONTRACT_CHECKS];

/* "accelerator.cpu.model" of executor.expect and executor.declare: the layer, and the key of the fact. */
bool contract_split_key(const char *key, enum layer *ret_layer, const char **ret_name);
const char *contract_owner(const struct contract *contract, enum layer layer);

/* Which field makes two contracts unlike, where they must be alike: in the load (arrivals, prompts, answers), whose figures are then of
 * different questions; or in what is bought (kind of arrivals, prompts, answers, objectives, accuracy), whose price is then of another
 * thing; or in anything but the executor, what may be changed in it, names, owners, prices and targets: LIKE_QUESTION. Names of files count, not their folders. "regime.rate_per_s: A 20, B 40"; NULL: they are alike. */
enum contract_likeness { CONTRACT_LIKE_LOAD, CONTRACT_LIKE_GOODS, CONTRACT_LIKE_QUESTION };
const char *contract_difference(const struct contract *a, const struct contract *b, enum contract_likeness what, struct arena *arena);

/* How many looks at accumulating data the contract provides for: 1 without a precision_target. */
size_t contract_looks(const struct contract *contract);

/* The most requests in flight at once; 0: an open loop without a limit of its own. */
int64_t contract_in_flight(const struct contract *contract);

#endif
