/* ledger/tile.h: a ledger as static files that any client of transparency logs reads (C2SP tlog-tiles): from it they are written,
 * and from such files, over HTTP or in a folder, a copy is made and kept up to date.
 * Shapes   checkpoint; tile/L/N: 256 hashes of level 8 L; tile/entries/N: 256 entries, each after its length in 2 bytes; .p/W: the
 *          first W. Beside them, our own: blob/DIGEST, a bundle's file
 * Result   a copy takes nothing that it did not check: every entry's signature and admission, the tree's root, the log's signature.
 *          What the copy holds already must be continued
 * Errors   PROTOCOL: the other side rolled back, forked, or serves what does not fit its checkpoint; IO
 */
#ifndef LEDGER_TILE_H
#define LEDGER_TILE_H

#include "ledger/ledger.h"

enum { TILE_WIDTH = LEDGER_TILE, TILE_PATH_MAX = 128, TILE_ENTRIES_MAX = TILE_WIDTH * (ENVELOPE_MAX + 2) };

/* "tile/0/x001/234", "tile/entries/000.p/7"; level -1: entries. width TILE_WIDTH: a whole one. */
char *tile_path(int level, uint64_t index, unsigned width, char text[TILE_PATH_MAX]);
/* The bytes of one. */
enum lynx_status tile_read(struct ledger *ledger, int level, uint64_t index, unsigned width, struct buffer *ret,
                           struct lynx_error *error) LYNX_MUST_CHECK;

/* Where a copy comes from: the bytes of a path, or NOT_FOUND. */
typedef enum lynx_status tile_fetch(void *context, const char *path, struct buffer *ret, struct lynx_error *error);

/* Brings a copy at that address up to date, or begins one. trusted: the log's key, if it is known by another way; NULL: the first one seen
 * is kept to. */
struct tile_copy {
  uint64_t n_before, n_now;
};
enum lynx_status tile_pull(const char *address, tile_fetch *fetch, void *context, const struct note_key *trusted, struct tile_copy *ret,
                           struct lynx_error *error) LYNX_MUST_CHECK;

#endif
