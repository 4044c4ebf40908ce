/* measure/inputs.h: what a run asks: prompts with their lengths, in the order of sessions, made from the contract's seed; the times of
 * a trace that is replayed; the references that answers are held against.
 *
 * measure is one run, from its intent to its seal: executor, sessions, load, accuracy. It writes bundles; the figures that it decides
 * by are those of result.
 *
 * Lengths  in bytes; tokens of a profile or trace become bytes by workload.bytes_per_token. What the server counts is recorded
 * Turns    with conversations, inputs k * turns ... k * turns + turns - 1 are one of them: each holds the one before. The answers in
 *          between are stood in for by text of the answer's length
 * Errors   IO, INPUT, LIMIT: a file cannot be read, is not what it should be, or would make more than INPUTS_BYTES_MAX of prompts */
#ifndef MEASURE_INPUTS_H
#define MEASURE_INPUTS_H

#include "contract/contract.h"
#include "load/driver.h"
#include "measure/prompt_tokens.h"
#include "result/profile.h"

struct inputs {
  struct arena arena;
  struct driver_input *items;
  const char **references; /* per item; NULL where there are none */
  uint32_t *order;         /* a seeded permutation of inputs (with turns, of conversations): request k of a session asks
                              items[order[k % n_order]] */
  size_t n_items, n_order;
  uint32_t turns;
  bool fixed_order;     /* not shuffled for each session */
  const char *note;     /* what of a trace was left out; NULL: nothing */
  int64_t *given_at_ns; /* replay: when each is due, in this order */
};

/* bearer: for a server that is asked to count tokens; NULL: none. */
enum lynx_status inputs_make(const struct contract *contract, const char *bearer, struct inputs *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;
void inputs_shuffle(struct inputs *inputs, uint64_t seed); /* a new order for a session; none where a trace gives it */
void inputs_release(struct inputs *inputs);

/* The contract's server as a counter of tokens. */
struct server_tokenizer server_tokenizer_of(const struct contract *contract, const char *bearer);

/* A whole text file of at most 64 MiB. */
enum lynx_status inputs_read_text(const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
