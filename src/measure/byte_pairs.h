/* measure/byte_pairs.h: the merges of a byte-pair encoding.
 * Does     a piece of text is taken apart into characters; then, as long as there is one, the neighbouring pair of the least rank is joined
 *          (the leftmost of equals). What is left are the tokens
 * Cost     n log n for a piece of n characters */
#ifndef MEASURE_BYTE_PAIRS_H
#define MEASURE_BYTE_PAIRS_H

#include "base/buffer.h"
#include "base/json.h"

struct byte_pairs {
  const json_t *vocabulary; /* token: number; borrowed */
  json_t *ranks;            /* "left\1right": rank */
  bool byte_fallback;       /* what is in no token is one token per byte */
  bool whole_first;         /* a piece that is a token is not taken apart (ignore_merges) */
};

/* model: the member of a tokenizer.json. INPUT, UNSUPPORTED */
enum lynx_status byte_pairs_read(const json_t *model, struct byte_pairs *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void byte_pairs_release(struct byte_pairs *pairs);
/* piece: UTF-8. How many tokens it is; -1 where memory is gone. */
int64_t byte_pairs_count(const struct byte_pairs *pairs, const char *piece, size_t length);

#endif
