#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/bundle_file.h"
#include "base/state.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_fetch.h"
#include "cli/ledger_file.h"
#include "ledger/blob.h"
#include "ledger/seen.h"
#include "ledger/tile.h"

enum { FLAG_TRUST, FLAG_NO_BUNDLES };

static const struct option_spec options[] = {
    [FLAG_TRUST] = OPTION("trust", "KEY", "the log's key, NAME+ID+BASE64, where it is known by another way"),
    [FLAG_NO_BUNDLES] = SWITCH("no-bundles", "entries alone, without the files of bundles")};

enum { MISSING_SHOWN = 5 };

struct bundles {
  struct ledger_file *ledger;
  const char *from;
  size_t n_taken, n_missing, n_impossible;
  bool good;
};

/* The copy keeps what the log names; that no run can have written it is said, and changes the exit code. */
static void look_at(struct bundles *b, const uint8_t digest[DIGEST_BYTES]) {
  struct bundle_file bundle;
  struct lynx_error error = {0};
  char temporary[4200];
  if (!file_temporary_name(b->ledger->copy, temporary, sizeof temporary) ||
      blob_get_file(ledger_store(b->ledger->ledger), digest, temporary, &error) != LYNX_OK) {
    (void)report_error(&error);
    return;
  }
  bool good = bundle_file_open_possible(temporary, &bundle);
  if (good) bundle_file_close(&bundle);
  b->n_impossible += !good;
  (void)unlink(temporary);
}

static bool take_bundle(void *context, const struct ledger_entry *entry, const char *subject) {
  struct bundles *b = context;
  struct store *store = ledger_store(b->ledger->ledger);
  const uint8_t *digest = ledger_entry_file(entry);
  struct lynx_error error = {0};
  char hex[DIGEST_HEX];
  (void)subject;
  if (digest == NULL || blob_known(store, digest)) return true;
  enum lynx_status status = ledger_fetch_blob(store, b->from, digest, &error);
  bool served = status != LYNX_NOT_FOUND; /* it may have been withheld */
  b->good = status == LYNX_OK || !served;
  b->n_taken += status == LYNX_OK;
  if (!served && b->n_missing++ < MISSING_SHOWN)
    complain("missing: the file %.16s... of entry %" PRIu64 " (%s)\n", digest_hex(digest, hex), entry->index, entry->statement.kind);
  if (status == LYNX_OK && strcmp(entry->statement.kind, "bundle") == 0) look_at(b, digest);
  if (!b->good) (void)report_error(&error);
  return b->good;
}

static int run(const struct arguments *arguments) {
  const char *from = arguments->positional[0], *to = arguments->positional[1];
  struct note_key trusted;
  struct tile_copy copy;
  struct ledger_file ledger;
  struct lynx_error error = {0};
  if (from[0] == 0 ||
      (arguments->option[FLAG_TRUST] != NULL && note_key_parse(arguments->option[FLAG_TRUST], &trusted, &error) != LYNX_OK)) {
    lynx_error_at(&error, "--trust", 0, NULL);
    return error.status != LYNX_OK ? report_error(&error) : EXIT_WRONG_INPUT;
  }
  enum lynx_status status = tile_pull(to, ledger_fetch, (void *)(uintptr_t)from, arguments->option[FLAG_TRUST] != NULL ? &trusted : NULL,
                                      &copy, &error);
  if (status != LYNX_OK) {
    lynx_error_at(&error, from, 0, NULL);
    int code = report_error(&error);
    return status == LYNX_PROTOCOL ? EXIT_DOES_NOT_HOLD : status == LYNX_IO || status == LYNX_NOT_FOUND ? EXIT_EXECUTOR : code;
  }
  char folder[4096];
  if (copy.n_before == 0 && state_path("ledgers", folder, sizeof folder)) seen_forget(to, folder); /* begun anew on purpose */
  if (!ledger_file_open(to, LEDGER_KEEPS, &ledger)) return EXIT_DOES_NOT_HOLD;
  struct bundles bundles = {.ledger = &ledger, .from = from, .good = true};
  /* All entries, not the new ones alone: what an earlier pull did not get is asked for again. */
  if (arguments->option[FLAG_NO_BUNDLES] == NULL) status = ledger_each_entry(ledger.ledger, 0, take_bundle, &bundles, &error);
  int code = status != LYNX_OK                           ? report_error(&error)
             : !bundles.good || bundles.n_impossible > 0 ? EXIT_DOES_NOT_HOLD
             : bundles.n_missing > 0                     ? EXIT_INCONCLUSIVE
                                                         : EXIT_HOLDS;
  say("%s: %" PRIu64 " entries of %s, %" PRIu64 " of them new, each checked; %zu bundles came with them", ledger.address, copy.n_now,
      ledger_policy(ledger.ledger)->origin, copy.n_now - copy.n_before, bundles.n_taken);
  if (bundles.n_missing > 0)
    say(", %zu are not served: the next pull asks for them again, and --no-bundles does without", bundles.n_missing);
  if (bundles.n_impossible > 0) say(", %zu hold rows that no run can have written", bundles.n_impossible);
  say("\n");
  ledger_file_close(&ledger);
  return code;
}

/* A copy is begun or continued where it lies: a parser that was taken over could write in its folder. */
static bool confines(const struct arguments *arguments, struct confinement *ret) {
  ret->beside = arguments->positional[1];
  ret->network = ledger_is_url(arguments->positional[0]);
  return true;
}

const struct command command_pull = {
    .name = "ledger pull",
    .summary = "copy a ledger from static files; keep the copy up to date",
    .usage = "FROM LEDGER",
    .least = 2,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "FROM is a URL or a folder as `lynxbench ledger export` writes (the layout of C2SP's tlog-tiles, with blob/DIGEST beside it).\n"
        "LEDGER is begun, or continued: every entry's signature and admission is checked, the tree's root, and the log's\n"
        "signature. A log that went back, or does not continue the copy, is refused (exit code 1), and the copy stays as it was.\n"
        "A bundle that an entry names and that is not served is named (exit code 3) and asked for again by the next pull.\n"
        "The copy serves show, verify, audit and evidence; it cannot be added to, since the log's key stays at home.",
    .example =
        "rm -rf /tmp/p; mkdir -p /tmp/p; build/lynxbench ledger key ml --out /tmp/p; build/lynxbench ledger create /tmp/p/a.ledger --key "
        "/tmp/p/ml.key; "
        "build/lynxbench ledger export /tmp/p/a.ledger /tmp/p/www; build/lynxbench ledger pull /tmp/p/www /tmp/p/copy.ledger",
    .run = run,
    .confines = confines};
