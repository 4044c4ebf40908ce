/* base/shell.h: a word of a command line, as a shell takes it: for the commands that we tell a person to run. */
#ifndef BASE_SHELL_H
#define BASE_SHELL_H

enum { SHELL_WORDS = 8 };

/* The word itself where a shell takes it as it is; else in single quotes. It is good until this thread has asked for SHELL_WORDS more, so
 * that one line may hold several. Words of more than 8,000 bytes are cut.
 * Source: POSIX.1-2017, Shell Command Language, 2.2.2 (single quotes) */
const char *shell_word(const char *word);

#endif
