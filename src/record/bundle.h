/* record/bundle.h: NAME.lynx, the sealed single-file record of a run (SQLite). docs/bundle.md is its description for others.
 *
 * record writes and reads bundles: their schema, the crash-safe writer, the seal, the reader that checks it. It computes no
 * figure.
 *
 * Sections  every table is one section with a random salt; its digest is SHA-256(salt, then its rows in key order, every column
 *           with a type byte and a length). The root is SHA-256 over the sections' names and digests: the bundle's identity. A
 *           section may be withheld (rows removed, digest kept) and the rest still verifies.
 * Crash     rows are committed in batches; a process killed at any instant leaves a file that opens, holds every batch
 *           committed before (some of them in NAME-wal beside it: bundle_recover), and is incomplete because it has no seal
 * Reading   changes nothing, whatever lies beside the file: a journal or a log there is refused
 * Errors    IO (disk full, unreadable: SQLite's words), INPUT (not a bundle, altered, truncated: which section)
 * Threads   a writer belongs to one thread */
#ifndef RECORD_BUNDLE_H
#define RECORD_BUNDLE_H

#include "base/activity.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/digest.h"
#include "base/fact.h"
#include "base/outcome.h"
#include "base/purpose.h"

enum { BUNDLE_FORMAT = 6, BUNDLE_FORMAT_LEAST = 5, BUNDLE_REFERENCES = -1 /* the session of reference answers */ };

struct bundle; /* a writer or a reader */

/* --- vocabulary of the rows --- */

/* Why a run ended that ran all that its contract asks for. */
#define BUNDLE_ALL_RAN "all sessions ran"

enum bundle_end { BUNDLE_COMPLETE, BUNDLE_INTERRUPTED, BUNDLE_FAILED, BUNDLE_UNSEALED };
const char *bundle_end_text(enum bundle_end end);

struct bundle_session {
  int64_t id;
  const char *precision;
  int64_t index; /* of this precision and purpose, from 0 */
  enum purpose purpose;
  double rate_per_s;   /* offered; 0 in a closed loop */
  int64_t concurrency; /* the most in flight */
  int64_t seed;
  enum executor_start executor;
  enum session_began began;
  enum session_end end;
  const char *why;           /* of the end; "" where nothing is to be said */
  int64_t start_realtime_ns; /* of the session's zero */
  int64_t warm_up_ns, counted_ns, drain_ns;
  const char *schedule_digest;
  const char *executed_json;   /* what the executor says it executes: precision, primitive, status; "" if it does not say */
  const char *instrument_json; /* the engine's report on itself */
};

struct bundle_request {
  int64_t session, id;
  enum phase phase;
  enum outcome outcome;
  const char *reason;
  int64_t http_status, input;
  /* -1: never happened */
  int64_t scheduled_ns, issued_ns, written_ns, first_byte_ns, first_token_ns, last_token_ns, end_ns;
  int64_t first_answer_ns, first_tool_call_ns; /* text that is no reasoning and no tool call; a tool call's first. Format 5 has neither */
  int64_t prompt_tokens, output_tokens, n_text_events, read_lag_ns, flags;
  const void *events;
  size_t events_length;
};

/* A part of a request's life that the executor or its driver told of. */
struct bundle_phase {
  int64_t session, request, place; /* place: 0, 1, ... within the request */
  const char *name;
  int64_t from_ns; /* after the first byte was written; -1: not said when */
  int64_t took_ns;
};

/* One call stack of a profiler, by thread, over a session. */
struct bundle_stack {
  int64_t session;
  const char *source; /* the profiler */
  int64_t process, thread;
  const char *frames; /* "outermost;...;innermost", as the profiler names them */
  int64_t n;          /* looks that found it */
};

/* A stretch of a session of purpose `perturb`, in which one resource was slowed, or none. */
struct bundle_block {
  int64_t session, number; /* number: 0, 1, ... within the session */
  int64_t cycle;           /* in which every resource had its turn; 0, 1, ... within the run */
  const char *target;      /* "processor: python3 4242"; "": nothing was perturbed */
  double asked, given;     /* slowness, 1 for none; given: as it was measured */
  int64_t from_ns, to_ns;
  int64_t running_ns, ready_ns; /* of all threads of the serving processes; -1: not known */
};

/* A request column by column, under the names that they have in the file, but for its bytes. text NULL: a number; -1: never came about. */
typedef void bundle_cell_visit(void *context, const char *column, const char *text, int64_t number);
void bundle_request_cells(const struct bundle_request *request, bundle_cell_visit *visit, void *context);

/* --- writing --- */

enum lynx_status bundle_create(const char *path, struct bundle **ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* What is put after the first failure is dropped: bundle_written, bundle_commit and bundle_seal report that failure. */
void bundle_put_meta(struct bundle *bundle, const char *key, const char *value);
void bundle_put_input(struct bundle *bundle, int64_t id, const char *text, size_t length);
/* moment: "start" or "end". */
void bundle_put_facts(struct bundle *bundle, const char *moment, const struct fact_list *facts);
void bundle_put_session(struct bundle *bundle, const struct bundle_session *session); /* replaces the same id */
void bundle_put_request(struct bundle *bundle, const struct bundle_request *request); /* fails with EXISTS for the same id */
void bundle_put_phase(struct bundle *bundle, const struct bundle_phase *phase);
void bundle_put_sample(struct bundle *bundle, int64_t session, int64_t at_ns, const char *series, double value);
void bundle_put_accuracy(struct bundle *bundle, int64_t session, int64_t window, const char *measure, double value, int64_t weight);
void bundle_put_event(struct bundle *bundle, int64_t realtime_ns, enum event_kind kind, const char *text);
/* What was answered, unescaped; the first of each (session, input) stays. */
void bundle_put_answer(struct bundle *bundle, int64_t session, int64_t input, const char *text, size_t length);
void bundle_put_thread(struct bundle *bundle, int64_t session, const struct thread_name *name);
void bundle_put_activity(struct bundle *bundle, int64_t session, const struct thread_activity *activity);
void bundle_put_stack(struct bundle *bundle, const struct bundle_stack *stack); /* adds to the same one */
void bundle_put_block(struct bundle *bundle, const struct bundle_block *block);
/* Every row of a checked bundle, but those of the section `but`, into one that holds none of them yet. */
enum lynx_status bundle_copy(struct bundle *from, struct bundle *to, const char *but, struct lynx_error *error) LYNX_MUST_CHECK;
/* Those of its sessions up to that id, and all that belongs to them. */
enum lynx_status bundle_copy_sessions(struct bundle *from, struct bundle *to, int64_t last, struct lynx_error *error) LYNX_MUST_CHECK;
/* The first failure so far. */
enum lynx_status bundle_written(const struct bundle *bundle, struct lynx_error *error) LYNX_MUST_CHECK;
/* Puts what came since the last commit on disk. */
enum lynx_status bundle_commit(struct bundle *bundle, struct lynx_error *error) LYNX_MUST_CHECK;
/* A record that lacks what was put into it is sealed as BUNDLE_FAILED or not at all. */
enum lynx_status bundle_seal(struct bundle *bundle, enum bundle_end end, const char *why, char ret_root[DIGEST_HEX],
                             struct lynx_error *error) LYNX_MUST_CHECK;
void bundle_close(struct bundle *bundle); /* accepts NULL */
/* Closes one that was being written (NULL: it could not be begun), and removes the file and what SQLite keeps beside it. */
void bundle_remove(struct bundle *bundle, const char *path);

/* Does a file that begins so say that it is a bundle? */
enum { BUNDLE_HEAD = 100 };
bool bundle_head(const char *head, size_t length);
/* The same of a plain file; nothing of a pipe is taken. */
bool bundle_is(const char *path);

/* Puts what a killed run of this user left beside the file into it. INPUT: it is no such thing, or a run is writing it. */
enum lynx_status bundle_recover(const char *path, struct lynx_error *error) LYNX_MUST_CHECK;

/* --- reading --- */

struct bundle_seal_info {
  enum bundle_end end;
  char why[256];
  char root[DIGEST_HEX]; /* "" where there is no seal */
  int n_withheld;
  char withheld[256]; /* names of the sections that were withheld */
};

/* Was the section of that name withheld from this copy? */
bool seal_withholds(const struct bundle_seal_info *seal, const char *section);

/* Opens and checks the whole file: structure, schema, every section's digest, the root. */
enum lynx_status bundle_open(const char *path, struct bundle **ret, struct bundle_seal_info *ret_seal,
                             struct lynx_error *error) LYNX_MUST_CHECK;

/* The value of a meta key, or NULL; lives as long as the bundle. */
/* Of its file: BUNDLE_FORMAT_LEAST to BUNDLE_FORMAT. */
int bundle_format(const struct bundle *bundle);
const char *bundle_meta(struct bundle *bundle, const char *key);
enum lynx_status bundle_facts(struct bundle *bundle, const char *moment, struct fact_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

/* Those of the executor as a precision's first session found it. */
enum lynx_status bundle_start_facts(struct bundle *bundle, const char *precision, struct fact_list *ret,
                                    struct lynx_error *error) LYNX_MUST_CHECK;

/* With texts of its own, in the arena: what a visit is given lives until it returns. */
struct bundle_session bundle_session_copy(const struct bundle_session *session, struct arena *arena);

typedef enum lynx_status bundle_session_visit(void *context, const struct bundle_session *session);
typedef enum lynx_status bundle_request_visit(void *context, const struct bundle_request *request);
typedef enum lynx_status bundle_phase_visit(void *context, const struct bundle_phase *phase);
typedef enum lynx_status bundle_sample_visit(void *context, int64_t session, int64_t at_ns, const char *series, double value);
typedef enum lynx_status bundle_accuracy_visit(void *context, int64_t session, int64_t window, const char *measure, double value,
                                               int64_t weight);
typedef enum lynx_status bundle_answer_visit(void *context, int64_t session, int64_t input, const char *text, size_t length);
typedef enum lynx_status bundle_input_visit(void *context, int64_t id, const char *text, size_t length);
typedef enum lynx_status bundle_thread_visit(void *context, int64_t session, const struct thread_name *name);
typedef enum lynx_status bundle_activity_visit(void *context, int64_t session, const struct thread_activity *activity);
typedef enum lynx_status bundle_stack_visit(void *context, const struct bundle_stack *stack);
typedef enum lynx_status bundle_block_visit(void *context, const struct bundle_block *block);
typedef enum lynx_status bundle_event_visit(void *context, int64_t realtime_ns, enum event_kind kind, const char *text);

enum lynx_status bundle_each_session(struct bundle *bundle, bundle_session_visit *visit, void *context,
                                     struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_request(struct bundle *bundle, int64_t session, bundle_request_visit *visit, void *context,
                                     struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_phase(struct bundle *bundle, int64_t session, bundle_phase_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_sample(struct bundle *bundle, int64_t session, bundle_sample_visit *visit, void *context,
                                    struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_accuracy(struct bundle *bundle, bundle_accuracy_visit *visit, void *context,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_answer(struct bundle *bundle, bundle_answer_visit *visit, void *context,
                                    struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_input(struct bundle *bundle, bundle_input_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_event(struct bundle *bundle, bundle_event_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_thread(struct bundle *bundle, int64_t session, bundle_thread_visit *visit, void *context,
                                    struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_activity(struct bundle *bundle, int64_t session, bundle_activity_visit *visit, void *context,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_stack(struct bundle *bundle, int64_t session, bundle_stack_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
enum lynx_status bundle_each_block(struct bundle *bundle, int64_t session, bundle_block_visit *visit, void *context,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

#endif
