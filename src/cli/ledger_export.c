#include "cli/ledger_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"
#include "ledger/blob.h"
#include "ledger/tile.h"

struct exporting {
  struct ledger_file *file;
  const char *folder;
  size_t n_written, n_bundles;
  bool good;
};

static bool path_in(const struct exporting *e, const char *name, char path[4200]) {
  int n = snprintf(path, 4200, "%s/%s", e->folder, name);
  file_make_parents(path, 0755);
  return n > 0 && n < 4200;
}

static bool write_tile(struct exporting *e, int level, uint64_t index, unsigned width) {
  char name[TILE_PATH_MAX], path[4200];
  struct buffer bytes;
  struct lynx_error error = {0};
  if (!path_in(e, tile_path(level, index, width, name), path)) return false;
  if (access(path, F_OK) == 0) return true; /* a tile never changes */
  buffer_init(&bytes, TILE_ENTRIES_MAX);
  bool good = tile_read(e->file->ledger, level, index, width, &bytes, &error) == LYNX_OK;
  if (!good) (void)report_error(&error);
  good = good && write_buffer(path, &bytes);
  e->n_written += good;
  buffer_release(&bytes);
  return good;
}

static bool write_level(struct exporting *e, int level, uint64_t n) {
  bool good = true;
  for (uint64_t i = 0; i < n / TILE_WIDTH && good; i++) good = write_tile(e, level, i, TILE_WIDTH);
  return good && (n % TILE_WIDTH == 0 || write_tile(e, level, n / TILE_WIDTH, (unsigned)(n % TILE_WIDTH)));
}

static bool write_bundle(void *context, const struct ledger_entry *entry, const char *subject) {
  struct exporting *e = context;
  const uint8_t *digest = ledger_entry_file(entry);
  struct lynx_error error = {0};
  char name[100], path[4200], hex[DIGEST_HEX];
  (void)subject;
  if (digest == NULL || !blob_known(ledger_store(e->file->ledger), digest)) return true;
  (void)snprintf(name, sizeof name, "blob/%s", digest_hex(digest, hex));
  if (!path_in(e, name, path)) return false;
  if (access(path, F_OK) == 0) return true;
  e->good = blob_get_file(ledger_store(e->file->ledger), digest, path, &error) == LYNX_OK;
  if (!e->good) (void)report_error(&error);
  e->n_bundles += e->good;
  return e->good;
}

bool ledger_export(struct ledger_file *file, const char *folder) {
  struct exporting e = {.file = file, .folder = folder, .good = true};
  struct buffer note;
  struct checkpoint checkpoint = {.size = 0};
  struct lynx_error error = {0};
  char path[4200];
  buffer_init(&note, NOTE_MAX);
  bool good = ledger_checkpoint(file->ledger, &note, &checkpoint, &error) == LYNX_OK;
  good = good && write_level(&e, -1, checkpoint.size);
  uint64_t n = checkpoint.size;
  for (int level = 0; n > 0 && good; level++, n /= TILE_WIDTH) good = write_level(&e, level, n);
  good = good && ledger_each_entry(file->ledger, 0, write_bundle, &e, &error) == LYNX_OK && e.good;
  if (error.status != LYNX_OK) (void)report_error(&error);
  good = good && path_in(&e, "checkpoint", path) && write_buffer(path, &note);
  buffer_release(&note);
  if (good)
    say("%s: %" PRIu64 " entries as static files; %zu tiles and %zu bundles are new\n", folder, checkpoint.size, e.n_written, e.n_bundles);
  if (good) say("next: let any web server serve it, and elsewhere: lynxbench ledger pull URL LEDGER\n");
  return good;
}
