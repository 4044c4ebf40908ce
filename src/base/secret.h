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
/* The same key as others may write it back: in hexadecimal, %-encoded, reversed, or within something in base64 (three alignments, both
 * alphabets). Calls take with each; a key of fewer than 8 bytes has none. */
void secret_each_writing(const char *secret, void (*take)(void *context, const char *text), void *context);
/* What was sent is starred in an answer, in each of its writings, and where it was cut at the end. NULL: there is none. */
void secret_redact(char *text, const char *secret);
/* The same in bytes that need no end. True: there was one. */
bool secret_redact_bytes(char *bytes, size_t length, const char *secret);
/* Stars in place of every key, in bytes that may hold any, with room for a 0 after them, and of `also` (NULL: none) wherever it is. True: there was one. */
bool secret_mask_bytes(char *bytes, size_t length, const char *also);
/* In a file, where they lie: it keeps its length. What cannot be opened stays as it is. */
void secret_mask_file(const char *path, const char *also);

#endif
