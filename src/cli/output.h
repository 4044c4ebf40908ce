/* cli/output.h: how every command reads files, writes what it found, says what went wrong, and exits. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdio.h>

#include "base/buffer.h"
#include "base/status.h"

/* What a command says: standard output for what it found, standard error for the rest. Every %s is made fit for a terminal (base/shown.h), so
 * that no field moves the cursor, takes a colour or forges a line. */
void say(const char *format, ...) LYNX_PRINTF(1, 2);
void complain(const char *format, ...) LYNX_PRINTF(1, 2);
void say_to(FILE *to, const char *format, ...) LYNX_PRINTF(2, 3);
/* Our own text, with its lines. */
void say_own(FILE *to, const char *text);

/* On a terminal, a line that the next thing that is said takes away: how far it is. */
void say_progress(const char *line);
void clear_progress(void);

/* Before anything is opened: a standard file that is closed is not to be given to another file. */
void output_begin(void);
/* How we were called, and all commands: on a terminal a next step begins as the call did ("build/lynxbench run ..."). */
void output_called(const char *argv0, bool (*is_command)(const char *word, size_t length));
/* What was said reached its file? Else it is reported, and a code that says that all is well becomes CONDITIONS. */
int output_finish(int code);

/* Whose fault it was. One table, also in the README and every manual page. */
enum exit_code {
  EXIT_HOLDS = 0,
  EXIT_DOES_NOT_HOLD = 1, /* claim refused, executors differ */
  EXIT_WRONG_INPUT = 2,
  EXIT_INCONCLUSIVE = 3, /* or nothing was measured */
  EXIT_CONDITIONS = 4,   /* the machine: disk full, instrument-limited, abort SLO */
  EXIT_EXECUTOR = 5,     /* cannot be reached, or failed */
  EXIT_OUR_BUG = 70,
  EXIT_INTERRUPTED = 130
};

struct exit_meaning {
  int code;
  const char *meaning;
};
extern const struct exit_meaning exit_codes[];
extern const size_t n_exit_codes;

/* Says it once, on standard error, and returns the exit code that fits. */
int report_error(const struct lynx_error *error);

/* A whole file; on failure the error is told and false returned. "-" is standard input. */
bool read_file(const char *path, size_t limit, struct buffer *ret);
/* A new folder for what is worked on, in TMPDIR or /tmp; size >= 4100. False: it was reported, and path is "". */
bool make_folder(char *path, size_t size);
/* Is it a bundle or a ledger, whatever it is called? Nothing is taken away from a pipe. */
bool file_is_record(const char *path);
/* To a temporary name beside it, then renamed. "-" or NULL is standard output. */
bool write_output(const char *path, const char *data, size_t length);

/* May a new record be written there? Asked before anything is said in a ledger. False: why not was reported, as the tool's. */
bool output_is_free(const char *tool, const char *path);
/* Can a page or a report be written there, over one that is there? Asked before minutes are spent. NULL, "-": yes. False: it was reported. */
bool output_is_possible(const char *tool, const char *option, const char *path);
/* To a new file that its owner alone may read; one that is there already is never overwritten, and that is told. */
bool write_new_output(const char *path, const char *data, size_t length);

/* In a cage (cli/confine.h): what is written to a file goes through fd to who may write it, as a message and its bytes; the answer is an
 * int, of errno's values. */
struct output_message {
  char path[4200];
  uint64_t length;
};
void output_through(int fd);
/* 0, or errno's value. */
int output_to_file(const char *path, const char *data, size_t length, bool is_new);

/* The same for a buffer; one that overflowed (its limit, or no memory) is an error, and told. */
bool write_buffer(const char *path, const struct buffer *buffer);

bool color_wanted(FILE *to);

#endif
