/* base/words.h: the place of a word in a table of words, as enums keep theirs. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* Of the first `length` characters of text; n_words where it is none of them. */
int words_find(const char *const *words, int n_words, const char *text, size_t length);

#endif
