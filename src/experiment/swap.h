/* experiment/swap.h: in what two start commands differ, fact by fact, so that any mixture of the two can be started.
 *
 * Facts    a variable of the environment; an argument with its values (from one that begins with "-" to the next); a word before the first
 *          such argument, by its place; where the first words are not as many, all of them are one fact; what is put in front of a
 *          program that both start ("taskset -c 0")
 *          "--" and all behind it are one fact
 * Limits   what follows an argument's values without a "-" of its own is swapped with that argument; what a start command does not name
 *          (a driver, a kernel) is not swapped. At most SWAPS_MAX facts
 * Order    A and B are started as they are written. In a mixture what only B has stands behind what stands before it in B; an argument that
 *          is given more than once stands where it is given first
 * Errors   INPUT: they differ in too much. That they differ in nothing is no error here: no facts */
#ifndef EXPERIMENT_SWAP_H
#define EXPERIMENT_SWAP_H

#include "base/json.h"
#include "contract/contract.h"

enum { SWAPS_MAX = 60 };

struct swap {
  const char *name;  /* "OMP_NUM_THREADS", "--max-num-seqs", "program" */
  const char *a, *b; /* to be shown: the value, "not set", or "(hidden)" where it may be a secret */
  bool has_layer;
  enum layer layer;
};

struct swap_list {
  struct swap items[SWAPS_MAX];
  size_t n;
  struct swap_unit *units; /* both commands' and environments', in the order in which they are put together */
  size_t n_units;
  const struct contract_start *ends[2]; /* A's and B's own */
};

/* Texts live in the arena and in the contracts. */
enum lynx_status swap_list_make(const struct contract_start *a, const struct contract_start *b, struct arena *arena, struct swap_list *ret,
                                struct lynx_error *error) LYNX_MUST_CHECK;

/* Does an argument begin with this word? "-1" is a value. */
bool swap_is_option(const char *word);

/* With B's facts where a bit is set, and A's elsewhere. */
void swap_mix(const struct swap_list *list, uint64_t facts, struct arena *arena, struct text_list *ret_command,
              struct text_list *ret_environment);

/* "--x", "--x or Y"; within text. */
const char *swap_names(const struct swap_list *list, uint64_t facts, const char *between, char *text, size_t size);
/* Which mixture it is: "A", "B", "A with --x and Y of B". */
const char *swap_mixture(const struct swap_list *list, uint64_t facts, char *text, size_t size);

/* "--x: 1 to 2   serving, ML platform"; the same as an object, with the owner where there is a contract. */
void swap_text(const struct swap *swap, const struct contract *contract, struct buffer *ret);
void swap_json(const struct swap *swap, const struct contract *contract, struct json_writer *json);

/* As an array of objects; and back, without the units: nothing can be mixed of it. False: it is no such array. */
void swap_list_json(const struct swap_list *list, struct json_writer *json);
bool swap_list_read(const json_t *array, struct arena *arena, struct swap_list *ret);

#endif
