/* cli/ledger_fetch.h: the files of a ledger that is served, by URL or from a folder; and what a server of ours takes. */
#ifndef CLI_LEDGER_FETCH_H
#define CLI_LEDGER_FETCH_H

#include "ledger/blob.h"

bool ledger_is_url(const char *address);
/* A tile_fetch: context is the URL or folder. */
enum lynx_status ledger_fetch(void *context, const char *path, struct buffer *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* A file that an entry names into a copy of that ledger, which keeps it; there already: nothing is asked for. NOT_FOUND: it is withheld. */
enum lynx_status ledger_fetch_blob(struct store *store, const char *from, const uint8_t digest[DIGEST_BYTES],
                                   struct lynx_error *error) LYNX_MUST_CHECK;
/* POST of bytes (or, file not NULL, PUT of a file). What the server refuses is INPUT, in its words. */
enum lynx_status ledger_send(const char *url, const char *path, struct bytes bytes, const char *file, struct buffer *ret_answer,
                             struct lynx_error *error) LYNX_MUST_CHECK;

#endif
