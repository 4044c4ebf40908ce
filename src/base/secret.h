/* base/secret.h: keys that services make, known by their shape wherever they stand in a text.
 * Limits   a key that looks like none of them is not known: those are told by the name that they are given under (executor/layer_map.h) */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stddef.h>

/* The first one in a text, and its length; NULL: none. */
const char *secret_in(const char *text, size_t *ret_length);
/* Stars in place of every one. Returns text. */
char *secret_mask(char *text);

#endif
