/* load/driver.h: the one interface between the load engine and whatever runs the workload.
 *
 * Order    open, prepare, then issue and reap in turn from one thread (cancel between them), close. One state
 *          per thread; two states share nothing.
 * Units    times are the clock's monotonic nanoseconds
 * Errors   open and prepare say what is wrong; once running, failures are completions, never errors: they are data */
#ifndef LOAD_DRIVER_H
#define LOAD_DRIVER_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fact.h"
#include "base/outcome.h"

enum { DRIVER_ABI = 2, ANSWER_PHASES = 12 };

enum driver_answer { DRIVER_ACCEPTED, DRIVER_BUSY };

enum completion_kind {
  COMPLETION_WRITTEN,    /* the request's first byte was handed to the kernel */
  COMPLETION_FIRST_BYTE, /* the answer's first byte was read */
  COMPLETION_EVENT,      /* one event of the answer: n_tokens, n_bytes, carries_text */
  COMPLETION_END         /* the request is over; `end` is set */
};

/* Contradictions and oddities of one answer; counted and shown. */
enum answer_flag {
  ANSWER_USAGE_CONTRADICTS = 1 << 0, /* usage says fewer tokens than text events arrived, or differs from its own total */
  ANSWER_NO_USAGE = 1 << 1,          /* tokens were counted from events */
  ANSWER_INVALID_UTF8 = 1 << 2,
  ANSWER_NO_DONE = 1 << 3,         /* a finish reason came, [DONE] did not */
  ANSWER_SHORT = 1 << 4,           /* fewer tokens than asked for although ignore_eos was */
  ANSWER_RETRIED = 1 << 5,         /* a kept connection was closed under us; sent again on a fresh one */
  ANSWER_CACHED_PROMPT = 1 << 6,   /* usage says that prompt tokens came from a cache */
  ANSWER_BLANK_FIRST = 1 << 7,     /* the first event with text held nothing that can be seen */
  ANSWER_REASONING = 1 << 8,       /* some of the text was reasoning */
  ANSWER_TOOL_CALL = 1 << 9,       /* some of it was a tool call */
  ANSWER_WAITED_SLOT = 1 << 10,    /* due while as many were in flight as may be: it had to wait */
  ANSWER_CANCELLED = 1 << 11,      /* a watched one: its client went away after the first token */
  ANSWER_PROMPT_BY_SIZE = 1 << 12, /* a watched one: its prompt tokens are its bytes by the ratio of others */
  ANSWER_FLAG_COUNT = 13,
  /* No oddities, and not shown. */
  ANSWER_TOKENS_TOLD = 1 << 20, /* the tokens of every event are the server's own figures */
  ANSWER_EMPTY_TOKENS = 1 << 21 /* more tokens than bytes of text, and as many more events came that held none */
};

const char *answer_flag_text(unsigned index);

/* A part of a request's life that the executor told of, or that the driver saw: "queue", "prefill", "forward". */
struct answer_phase {
  char name[32];            /* sanitised: letters, digits, '-', '_' and '.' */
  int64_t from_ns, took_ns; /* from: after the first byte was written; -1: not said when */
};

struct answer_end {
  enum outcome outcome;
  int http_status;        /* 0: none was read */
  int64_t prompt_tokens;  /* -1: not said */
  int64_t output_tokens;  /* from usage; -1: not said */
  int64_t n_empty_events; /* with a place for text, and none in it: tokens that decode to nothing */
  unsigned flags;
  char reason[160];                  /* sanitised; empty when OK */
  const struct answer_phase *phases; /* until deliver returns */
  size_t n_phases;                   /* at most ANSWER_PHASES */
};

struct completion {
  enum completion_kind kind;
  uint32_t slot;
  int64_t at_ns;
  int64_t read_lag_ns; /* at_ns minus the kernel's arrival stamp of the read's last segment; -1: the socket does not tell */
  uint32_t n_tokens;   /* 0: the event carries none that we know of */
  uint32_t n_bytes;
  bool carries_text;                      /* content, reasoning or a tool call that is not empty */
  bool carries_answer, carries_tool_call; /* what of it: content; a tool call */
  struct bytes content; /* EVENT, if it carries content: the text as it stands in a JSON string, still escaped; until deliver returns */
  const struct answer_end *end;
};

typedef void driver_deliver(void *context, const struct completion *completion);

/* What the answers of a driver are: the run keeps the word, so that whoever reads the bundle need not know drivers. */
enum driver_answers { ANSWERS_TOKENS, ANSWERS_TENSORS };
const char *driver_answers_text(enum driver_answers answers);

/* One of a driver's own settings: a row here is a key of the contract's workload.options. */
enum driver_option_kind { OPTION_TEXT, OPTION_INTEGER, OPTION_BOOL, OPTION_CHOICE };

struct driver_option {
  const char *name;
  enum driver_option_kind kind;
  bool required;
  const char *fallback; /* NULL: none */
  int64_t least, greatest;
  const char *choices; /* "cpu, cuda" */
  const char *help, *example;
};

enum request_route { ROUTE_COMPLETIONS, ROUTE_CHAT, ROUTE_RESPONSES, ROUTE_EMBEDDINGS, ROUTE_NATIVE, ROUTE_NATIVE_CHAT };

/* What every driver may be told; a driver ignores what does not concern it. Text lives as long as the state. */
struct driver_options {
  const char *endpoint; /* "http://host:port[/base]", "https://...", "http://unix:/path/to/socket" */
  int through_port;     /* of 127.0.0.1: where to connect instead; requests and certificates still name the endpoint; 0: none */
  const char *ca_file;
  const char *bearer;     /* an API key; never recorded, never printed */
  const char *user_agent; /* NULL or "": none is sent */
  enum request_route route;
  bool stream;
  bool ignore_eos;
  bool continuous_usage; /* ask for running usage, which tells the tokens of every chunk (vLLM, SGLang, lynxbench-ref) */
  const char *model;
  double temperature;
  int64_t seed;
  uint32_t n_slots;               /* requests in flight at most */
  uint32_t n_slots_in_all;        /* of all load threads together */
  const atomic_int *stop;         /* not 0: the user wants to stop; waits are cut short. NULL: never */
  const char *const *command;     /* of the program to run, NULL-terminated; NULL: none */
  const char *const *environment; /* all that the program gets, NULL-terminated */
  const char *log_path;           /* where what it prints goes */
  int64_t ready_within_ns, stop_within_ns;
  int unavailable_exit;      /* the exit code that means: this precision cannot run here */
  const char *const *values; /* of the driver's own options, in the order of its table; NULL: not set */
  const struct lynx_clock *clock;
};

/* A running total of a phase that the server keeps for all of its requests. */
struct driver_counter {
  char name[32];
  int64_t n, sum_ns;
};

struct driver_input {
  const char *prompt;
  size_t length;
  int64_t output_tokens; /* max_tokens */
  const char *image;     /* a data URL; NULL: none */
};

struct driver {
  int abi;
  const char *name, *summary;
  const char *sees;     /* which phases of a request it can tell apart */
  bool in_process;      /* there is no serving process to reach */
  bool runs_command;    /* it starts executor.start.command itself */
  bool worker_per_slot; /* a process or a thread for every request in flight: their number is the contract's to say */
  enum driver_answers answers;
  const struct driver_option *options;
  size_t n_options;
  /* Optional. What else there is to list of it, in Markdown, for `lint --drivers`. */
  bool (*list)(struct buffer *out);
  /* Optional. Can it take these settings? values and what is asked for are set, nothing is opened. *ret_field: of the contract. */
  enum lynx_status (*check)(const struct driver_options *options, const char **ret_field, struct lynx_error *error);
  /* Required. Resolves names and allocates all that the run will need. */
  enum lynx_status (*open)(const struct driver_options *options, void **ret_state, struct lynx_error *error);
  /* Optional. What it knows of the executor, as facts; returns the process that runs the workload, 0: not known. After prepare. */
  int64_t (*describe)(void *state, struct fact_list *facts);
  /* Optional. What it says that it executes, as the JSON object that a session keeps; NULL: nothing. After prepare. */
  const char *(*executed)(void *state);
  /* Optional. Running totals of the server's own phases: how many were filled in. Asked before and after a session, never in it. */
  size_t (*counters)(void *state, struct driver_counter *ret, size_t room);
  /* Required. Everything that can be done once per input; untimed. The inputs outlive the state. */
  enum lynx_status (*prepare)(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error);
  /* Required. Never blocks. BUSY: try again after the next reap. Failures are completions. */
  enum driver_answer (*issue)(void *state, uint32_t slot, size_t input);
  /* Required. Delivers what happened until something did or the deadline passed. */
  void (*reap)(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context);
  /* Required. Drops a request: nothing more will be delivered for its slot. */
  void (*cancel)(void *state, uint32_t slot);

  /* Required. Accepts NULL. */
  void (*close)(void *state);
};

/* Fills values (n_options of them) from keys and values of a contract, with the fallbacks; names the first key that is unknown, missing or
 * wrong: *ret_key is that key, and the message says what was found and what would be accepted. */
enum lynx_status driver_read_options(const struct driver *driver, const char *const *keys, const char *const *texts, size_t n,
                                     const char **ret_values, const char **ret_key, struct lynx_error *error) LYNX_MUST_CHECK;

/* Names the driver and the missing slot if a table is not complete. */
enum lynx_status driver_check(const struct driver *driver, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
