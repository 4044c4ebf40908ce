/* executor/difference.h: how two executors differ: which facts, on which layers, and how likely each difference is to matter.
 * Result   differences sorted by layer, the layer with the gravest difference first, and by weight within it; what is the same is counted.
 *          It names differences, not culprits: what a difference does is for a measurement to say
 * Shapes   both lists are sorted (fact_sort)
 * Source   each reason stands with the document it rests on, in the table of difference.c */
#ifndef EXECUTOR_DIFFERENCE_H
#define EXECUTOR_DIFFERENCE_H

#include "base/fact.h"

enum difference_kind { DIFFERENCE_CHANGED, DIFFERENCE_ONLY_A, DIFFERENCE_ONLY_B };

/* How likely such a difference is to matter to performance. */
enum weight { WEIGHT_UNKNOWN, WEIGHT_SELDOM, WEIGHT_SOMETIMES, WEIGHT_OFTEN };

/* Where both values are versions: which is the newer one. */
enum version_order { VERSION_NONE, VERSION_A_NEWER, VERSION_B_NEWER };

struct difference {
  enum difference_kind kind;
  enum layer layer;
  enum fact_kind of;
  enum weight weight;
  enum version_order order;
  const char *key, *a, *b; /* values as text, with unit and status where it is not read; NULL where there is none */
  bool told;               /* by default: identity, and states that say what the executor is set to */
  const char *reason;      /* why it may matter, and by what source; "" where nothing is known of it */
};

struct difference_list {
  struct arena arena;
  struct difference *items;
  size_t n_items, n_identity;
  size_t n_same[LAYER_COUNT]; /* facts of identity that agree */
  size_t n_identity_of[LAYER_COUNT];
  size_t n_not_comparable; /* withheld on both sides, under two salts */
  const char **holes;      /* "A: ..." or "B: ...": what neither could see */
  size_t n_holes;
};

void capture_diff(const struct fact_list *a, const struct fact_list *b, struct difference_list *ret);
/* Does any probe read facts with such a key? If none does, ret_near names facts whose keys begin so; "": there are none. */
bool fact_key_is_read(const char *key, char *ret_near, size_t size);

void difference_list_release(struct difference_list *list);

/* "often", "sometimes", "seldom", "not known" */
const char *weight_text(enum weight weight);

/* < 0: a is older; > 0: newer; 0: the same, or not comparable as versions. "1.10" is newer than "1.9", "2.0rc1" older than "2.0". */
int version_compare(const char *a, const char *b);

#endif
