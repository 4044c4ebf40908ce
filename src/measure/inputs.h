/* measure/inputs.h: the prompts of a run, made from the contract's seed, and held-out text for accuracy.
 *
 * measure is one run, from its intent to its seal: executor, sessions, load, accuracy. It writes bundles; it computes no figure.
 *
 * Errors   IO, LIMIT: the contract's text file cannot be read, or is shorter than one prompt */
#ifndef MEASURE_INPUTS_H
#define MEASURE_INPUTS_H

#include "contract/contract.h"
#include "load/driver.h"

struct inputs {
  struct arena arena;
  struct driver_input *items;
  uint32_t *order; /* a seeded permutation: request k of a session asks items[order[k % n_items]] */
  size_t n_items;
};

enum lynx_status inputs_make(const struct contract *contract, struct inputs *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void inputs_shuffle(struct inputs *inputs, uint64_t seed); /* a new order for a session */
void inputs_release(struct inputs *inputs);

/* A whole text file of at most 64 MiB. */
enum lynx_status inputs_read_text(const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
