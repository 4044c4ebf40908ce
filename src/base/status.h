/* base/status.h: what a function that can fail returns, and what it says about it.
 *
 * base knows nothing above it: status, memory, bytes, numbers, clock, file-system root, random numbers,
 * digests, signatures, JSON, YAML, child processes, control HTTP, and the two vocabulary types (layer, fact). Nothing that
 * measures, prints or exits may live here.
 *
 * Three kinds of trouble are never mixed: input or world (a lynx_status and a lynx_error), our own bug
 * (lynx_assert, exit 70), and a verdict (a value, never an error). */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lynx_status {
  LYNX_OK = 0,
  LYNX_INPUT,       /* what we were given is wrong: a file, a field, an argument */
  LYNX_LIMIT,       /* what we were given exceeds a stated limit */
  LYNX_EXISTS,      /* there is one already, and there can be only one */
  LYNX_NOT_FOUND,   /* a file, fact or record that was named does not exist */
  LYNX_PROTOCOL,    /* the other side broke the protocol */
  LYNX_IO,          /* the operating system refused: disk, socket, permission */
  LYNX_UNSUPPORTED, /* well-formed, but this build or machine cannot do it */
  LYNX_MACHINE      /* the machine's condition makes the measurement invalid */
};

/* The first error stays: a later lynx_fail on the same error changes nothing. Zeroed means "none yet". */
struct lynx_error {
  enum lynx_status status;
  int line; /* 1-based; 0 where a line means nothing */
  char file[256];
  char field[128];
  char message[640]; /* what was found, what would be accepted, the next step */
};

#define LYNX_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define LYNX_MUST_CHECK __attribute__((warn_unused_result))

enum lynx_status lynx_fail(struct lynx_error *error, enum lynx_status status, const char *format, ...) LYNX_PRINTF(3, 4);

/* Adds the place to an error that has none yet. */
void lynx_error_at(struct lynx_error *error, const char *file, int line, const char *field);

/* "file:line: field: message", as much of it as is known. */
void lynx_error_text(const struct lynx_error *error, char *text, size_t size);

const char *lynx_status_sentence(enum lynx_status status);

/* Our bug: says where, exits with 70. Stays on in release builds. */
#define lynx_assert(condition) ((condition) ? (void)0 : lynx_bug(#condition, __FILE__, __LINE__))
_Noreturn void lynx_bug(const char *what, const char *file, int line);

#define LYNX_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* "%zu run%s", n, LYNX_S(n) */
#define LYNX_S(n) ((n) == 1 ? "" : "s")

#endif
