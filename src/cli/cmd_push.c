#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/ledger_fetch.h"
#include "cli/ledger_file.h"
#include "ledger/blob.h"

struct pushing {
  struct ledger_file from, to;
  size_t n_sent, n_there, n_refused, n_bundles;
  bool good;
};

/* Its file follows a bundle's entry: the server takes what an entry names. */
static bool send_bundle(struct pushing *p, const struct ledger_entry *entry) {
  const uint8_t *digest = ledger_entry_file(entry);
  struct lynx_error error = {0};
  struct buffer answer;
  char temporary[4200], path[100], hex[DIGEST_HEX];
  if (digest == NULL || blob_known(ledger_store(p->to.ledger), digest) || !blob_known(ledger_store(p->from.ledger), digest)) return true;
  (void)snprintf(path, sizeof path, "blob/%s", digest_hex(digest, hex));
  buffer_init(&answer, 65536);
  enum lynx_status status = file_temporary_name(p->to.copy, temporary, sizeof temporary)
                                ? blob_get_file(ledger_store(p->from.ledger), digest, temporary, &error)
                                : lynx_fail(&error, LYNX_IO, "no name for a temporary file");
  if (status == LYNX_OK) status = ledger_send(p->to.real, path, (struct bytes){"", 0}, temporary, &answer, &error);
  if (status == LYNX_OK) status = blob_put_as(ledger_store(p->to.ledger), digest, temporary, &error); /* so that it is not sent again */
  (void)unlink(temporary); /* it was sent, or the reason why not is reported */
  buffer_release(&answer);
  if (status != LYNX_OK) (void)report_error(&error);
  p->n_bundles += status == LYNX_OK;
  return status == LYNX_OK;
}

/* A bundle that no run can have written is not passed on, nor the entry that speaks for it. */
static bool is_sendable(struct pushing *p, const struct ledger_entry *entry) {
  const uint8_t *digest = ledger_entry_file(entry);
  struct bundle_file bundle;
  struct lynx_error error = {0};
  char temporary[4200];
  if (digest == NULL || strcmp(entry->statement.kind, "bundle") != 0 || !blob_known(ledger_store(p->from.ledger), digest)) return true;
  if (!file_temporary_name(p->to.copy, temporary, sizeof temporary) ||
      blob_get_file(ledger_store(p->from.ledger), digest, temporary, &error) != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  bool good = bundle_file_open_possible(temporary, &bundle);
  if (good) bundle_file_close(&bundle);
  else complain("entry %" PRIu64 ", a bundle by %s: not sent\n", entry->index, entry->signer);
  (void)unlink(temporary);
  return good;
}

static bool send_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  struct pushing *p = context;
  struct lynx_error none = {0}, error = {0};
  struct buffer answer;
  uint64_t index;
  (void)subject;
  if (strcmp(entry->statement.kind, "policy") == 0) return true; /* each ledger has its own */
  if (ledger_find(p->to.ledger, entry->leaf, &index, &none) == LYNX_OK) p->n_there++;
  else if (!is_sendable(p, entry)) {
    p->n_refused++;
    return true;
  } else {
    buffer_init(&answer, 65536);
    enum lynx_status status = ledger_send(p->to.real, "add", entry->bytes, NULL, &answer, &error);
    buffer_release(&answer);
    p->n_sent += status == LYNX_OK;
    p->n_refused += status == LYNX_INPUT;
    if (status != LYNX_OK)
      complain("entry %" PRIu64 ", a %s by %s: %s\n", entry->index, entry->statement.kind, entry->signer, error.message);
    if (status != LYNX_OK && status != LYNX_INPUT) p->good = false; /* the server is gone: the others would fare no better */
    if (status != LYNX_OK) return p->good;
  }
  p->good = send_bundle(p, entry);
  return p->good;
}

static int run(const struct arguments *arguments) {
  struct pushing p = {.good = true};
  struct lynx_error error = {0};
  if (!ledger_is_url(arguments->positional[1])) {
    complain("lynxbench ledger push: found '%s', accepted: the URL of a ledger that `lynxbench serve` serves\n", arguments->positional[1]);
    return EXIT_WRONG_INPUT;
  }
  if (!ledger_file_open(arguments->positional[0], LEDGER_READS, &p.from)) return ledger_file_code(&p.from);
  if (!ledger_file_open(arguments->positional[1], LEDGER_ADDS, &p.to)) {
    ledger_file_close(&p.from);
    return ledger_file_code(&p.to);
  }
  enum lynx_status status = ledger_each_entry(p.from.ledger, 0, send_entry, &p, &error);
  if (status == LYNX_OK && p.good) status = ledger_file_update(&p.to, &error);
  if (status != LYNX_OK) (void)report_error(&error);
  say("%s: %zu entries sent, %zu were there already, %zu refused; %zu bundles sent\n", p.to.address, p.n_sent, p.n_there, p.n_refused,
      p.n_bundles);
  int code = status != LYNX_OK || !p.good ? EXIT_EXECUTOR : p.n_refused > 0 ? EXIT_DOES_NOT_HOLD : EXIT_HOLDS;
  ledger_file_close(&p.to);
  ledger_file_close(&p.from);
  return code;
}

const struct command command_push = {
    .name = "ledger push",
    .summary = "send a ledger's entries and bundles to a served ledger",
    .usage = "LEDGER URL",
    .least = 2,
    .most = 2,
    .details =
        "Each entry goes as it was signed, in order; what is there already stays one entry. An entry is taken where it was signed\n"
        "for: create a ledger of one's own with --origin NAME, the origin of the one it is for. The other ledger's policy says which\n"
        "are admitted (exit code 1 where some were not); policies themselves are not sent. Interrupted, it goes on where it was.",
    .example =
        "rm -rf /tmp/pu; mkdir -p /tmp/pu; build/lynxbench ledger key ml --out /tmp/pu; build/lynxbench ledger create /tmp/pu/a.ledger "
        "--key "
        "/tmp/pu/ml.key --origin b.ledger; "
        "build/lynxbench ledger create /tmp/pu/b.ledger --key /tmp/pu/ml.key; (timeout -s INT 3 build/lynxbench serve /tmp/pu/b.ledger "
        "--port 8397 & sleep 1; "
        "XDG_STATE_HOME=/tmp/pu build/lynxbench ledger push /tmp/pu/a.ledger http://127.0.0.1:8397/)",
    .run = run};
