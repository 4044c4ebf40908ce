#include "ledger/tile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char *tile_path(int level, uint64_t index, unsigned width, char text[TILE_PATH_MAX]) {
  char number[64] = "", rest[64];
  (void)snprintf(number, sizeof number, "%03" PRIu64, index % 1000);
  for (index /= 1000; index > 0; index /= 1000) {
    (void)snprintf(rest, sizeof rest, "%s", number);
    (void)snprintf(number, sizeof number, "x%03" PRIu64 "/%.50s", index % 1000, rest);
  }
  int n = level < 0 ? snprintf(text, TILE_PATH_MAX, "tile/entries/%s", number) : snprintf(text, TILE_PATH_MAX, "tile/%d/%s", level, number);
  if (width < TILE_WIDTH) (void)snprintf(text + n, TILE_PATH_MAX - (size_t)n, ".p/%u", width);
  return text;
}

static enum lynx_status read_entries(struct ledger *ledger, uint64_t first, unsigned width, struct buffer *ret, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  struct buffer entry;
  buffer_init(&entry, ENVELOPE_MAX);
  for (uint64_t i = first; i < first + width && status == LYNX_OK; i++) {
    buffer_clear(&entry);
    status = ledger_entry_bytes(ledger, i, &entry, error);
    uint8_t length[2] = {(uint8_t)(entry.length >> 8), (uint8_t)entry.length};
    if (status == LYNX_OK && !(buffer_append(ret, length, 2) && buffer_append(ret, entry.data, entry.length)))
      status = lynx_fail(error, LYNX_LIMIT, "no memory for a tile");
  }
  buffer_release(&entry);
  return status;
}

enum lynx_status tile_read(struct ledger *ledger, int level, uint64_t index, unsigned width, struct buffer *ret, struct lynx_error *error) {
  const struct merkle_source tree = ledger_tree(ledger);
  enum lynx_status status = LYNX_OK;
  uint8_t hash[DIGEST_BYTES];
  if (level < 0) return read_entries(ledger, index * TILE_WIDTH, width, ret, error);
  for (unsigned i = 0; i < width && status == LYNX_OK; i++) {
    status = tree.read(tree.context, 8 * (unsigned)level, index * TILE_WIDTH + i, hash, error);
    if (status == LYNX_OK && !buffer_append(ret, hash, sizeof hash)) status = lynx_fail(error, LYNX_LIMIT, "no memory for a tile");
  }
  return status;
}

/* --- copying --- */

/* The entries of one tile, as views into its bytes; false: it does not hold `width` of them. */
static bool split_entries(const struct buffer *tile, unsigned width, struct bytes ret[TILE_WIDTH]) {
  size_t at = 0;
  for (unsigned i = 0; i < width; i++) {
    if (tile->length - at < 2) return false;
    size_t length = (size_t)(uint8_t)tile->data[at] << 8 | (uint8_t)tile->data[at + 1];
    if (tile->length - at - 2 < length) return false;
    ret[i] = (struct bytes){tile->data + at + 2, length};
    at += 2 + length;
  }
  return at == tile->length;
}

struct source {
  tile_fetch *fetch;
  void *context;
  struct buffer tile;
  uint64_t size; /* of the tree to be copied */
};

/* Gives the ledger the entries [next, ...) of one tile. */
static enum lynx_status give_entries(void *context, uint64_t next, struct bytes *ret, size_t *ret_n, struct lynx_error *error) {
  struct source *s = context;
  struct bytes all[TILE_WIDTH];
  char path[TILE_PATH_MAX];
  uint64_t index = next / TILE_WIDTH;
  unsigned width = s->size - index * TILE_WIDTH < TILE_WIDTH ? (unsigned)(s->size - index * TILE_WIDTH) : TILE_WIDTH,
           skip = (unsigned)(next % TILE_WIDTH);
  buffer_clear(&s->tile);
  enum lynx_status status = s->fetch(s->context, tile_path(-1, index, width, path), &s->tile, error);
  if (status != LYNX_OK) return status;
  if (!split_entries(&s->tile, width, all)) return lynx_fail(error, LYNX_PROTOCOL, "%s does not hold %u entries", path, width);
  *ret_n = width - skip;
  memcpy(ret, all + skip, *ret_n * sizeof *ret);
  return LYNX_OK;
}

enum lynx_status tile_pull(const char *address, tile_fetch *fetch, void *context, const struct note_key *trusted, struct tile_copy *ret,
                           struct lynx_error *error) {
  struct source source = {.fetch = fetch, .context = context};
  struct buffer note;
  struct note parsed = {{NULL, 0}, {NULL, 0}};
  struct checkpoint checkpoint = {.size = 0};
  *ret = (struct tile_copy){0, 0};
  buffer_init(&note, NOTE_MAX);
  buffer_init(&source.tile, TILE_ENTRIES_MAX);
  enum lynx_status status = fetch(context, "checkpoint", &note, error);
  if (status == LYNX_OK) status = note_parse((struct bytes){note.data, note.length}, &parsed, error);
  if (status == LYNX_OK) status = checkpoint_parse(parsed.text, &checkpoint, error);
  if (status == LYNX_OK && trusted != NULL && !note_signed_by(&parsed, trusted, NULL))
    status = lynx_fail(error, LYNX_PROTOCOL, "its checkpoint is not signed by the key that is trusted, %s", trusted->name);
  source.size = checkpoint.size;
  if (status == LYNX_OK) {
    const struct ledger_copy copy = {.note = {note.data, note.length}, .give = give_entries, .context = &source};
    status = ledger_copy(address, &copy, &ret->n_before, error);
  }
  ret->n_now = checkpoint.size;
  buffer_release(&note);
  buffer_release(&source.tile);
  return status;
}
