/* base/secret.h: keys that services make, known by their shape wherever they stand in a text.
 * Limits   a key that looks like none of them is not known: those are told by the name that they are given under (executor/layer_map.h) */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* The first one in a text, and its length; NULL: none. */
const char *secret_in(const char *text, size_t *ret_length);
/* Stars in place of every one. Returns text. */
char *secret_mask(char *text);
/* The same in bytes that may hold any, with room for a 0 after them, and of `also` (NULL: none) wherever it is. True: there was one. */
bool secret_mask_bytes(char *bytes, size_t length, const char *also);
/* In a file, where they lie: it keeps its length. What cannot be opened stays as it is. */
void secret_mask_file(const char *path, const char *also);

#endif
