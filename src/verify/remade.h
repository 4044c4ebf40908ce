/* verify/remade.h: are the prompts of a bundle those that its contract and the seed make? A server that was asked other ones, easier or known
 * to it, shows in nothing else.
 * Result   by making them again, without a file or a server: prompts of seeded words. Others are not made again, with the reason
 * Limits   prompts of REMADE_BYTES_MAX in all; the bundle is a stranger's, and so is the contract in it */
#ifndef VERIFY_REMADE_H
#define VERIFY_REMADE_H

#include "result/result.h"

enum prompts_remade { PROMPTS_SAME, PROMPTS_OTHER, PROMPTS_NOT_REMADE };

/* ret_text: which prompt is another, why none was made again, or how many are the same; in the arena. */
enum prompts_remade prompts_remake(struct bundle *bundle, const struct contract *contract, struct arena *arena, const char **ret_text);

#endif
