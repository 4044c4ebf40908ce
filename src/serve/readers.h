/* serve/readers.h: who may read what is served: tokens, each with a name and an end, kept as digests in a file; all of
 * it, or one result alone, by a link that can be withdrawn.
 *
 * File     a line each: NAME, the token's SHA-256 in hexadecimal, and until when, as 2027-02-25T12:00:00Z; of a link also a bundle's root
 *          and a level of disclosure. Lines that begin with "#" are comments. Whoever reads the file can read nothing else by it
 * Changes  it is looked at again once a second, so that a token that was withdrawn is refused then. A file that cannot be read any more
 *          lets nobody in, which is said on standard error. Who changes it holds its lock
 * Limits   READERS_MAX tokens
 * Errors   INPUT with the line
 * Threads  readers_admit: any */
#ifndef SERVE_READERS_H
#define SERVE_READERS_H

#include "base/digest.h"

enum { READERS_MAX = 10000, READER_NAME_MAX = 64, READER_TOKEN_MAX = 80 };

struct reader {
  char name[READER_NAME_MAX];
  uint8_t digest[DIGEST_BYTES];     /* of the token */
  int64_t until_s;                  /* by the wall clock */
  char root[DIGEST_HEX], level[16]; /* of a link: its one result, and how much of it is shown; "": all is read */
};

struct reader_list {
  struct reader *items; /* to be freed */
  size_t n;
};

/* A file that is not there: NOT_FOUND. */
enum lynx_status reader_list_read(const char *path, struct reader_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* Adds one, or takes out all of a name, and leaves the other lines as they are; the file is made where there is none. */
enum lynx_status reader_file_change(const char *path, const struct reader *add, const char *withdraw, size_t *ret_n,
                                    struct lynx_error *error) LYNX_MUST_CHECK;

/* Letters, digits, ".", "_", "-", "@". */
bool reader_name_is_good(const char *name);
/* A new token of 256 random bits, and its reader. False: the system has no random numbers. */
bool reader_make(const char *name, int64_t until_s, struct reader *ret, char ret_token[READER_TOKEN_MAX]);
char *reader_time_text(int64_t at_s, char text[32]);

struct readers;
/* tell: a line that says that nobody, or that all of them, are admitted from now on; from any thread. */
enum lynx_status readers_open(const char *path, void (*tell)(const char *text), struct readers **ret,
                              struct lynx_error *error) LYNX_MUST_CHECK;
size_t readers_count(struct readers *readers);
void readers_close(struct readers *readers); /* accepts NULL */
/* now_s: by the wall clock. *ret_until_s: how long it is good. */
bool readers_admit(struct readers *readers, const char *token, int64_t now_s, int64_t *ret_until_s);

/* Of a link: its result and level. False: it is none, or over. */
bool readers_link(struct readers *readers, const char *token, int64_t now_s, struct reader *ret);

#endif
