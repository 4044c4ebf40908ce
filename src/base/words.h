/* base/words.h: the place of a word in a table of words, as enums keep theirs; and how near a mistyped one is. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include <stddef.h>

/* Of the first `length` characters of text; n_words where it is none of them. */
int words_find(const char *const *words, int n_words, const char *text, size_t length);

/* Letters that were changed, added or left out between them (Levenshtein); 0 where typed begins word by three letters or more. */
size_t words_distance(const char *typed, const char *word);

#endif
