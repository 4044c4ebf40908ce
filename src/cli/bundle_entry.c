#include "cli/bundle_entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/ledger_fetch.h"
#include "executor/capture.h"
#include "executor/identity_facts.h"
#include "ledger/blob.h"
#include "result/summary.h"

enum { EXECUTORS_MAX = 3 }; /* of one entry: more precisions than that have executors of their own seldom */

/* Words that have another digest than they are entered under do not count. */
static bool take_contract(void *context, const struct ledger_entry *entry, const char *subject) {
  bool *known = context;
  const uint8_t *digest = statement_subject_named(&entry->statement, "contract");
  (void)subject;
  if (strcmp(entry->statement.kind, "contract") == 0)
    *known = contract_text_has(json_get_text(entry->statement.predicate, "text", ""), digest);
  return !*known;
}

bool contract_entry_add(struct ledger_file *file, const char *digest, const char *name, const char *text, const struct signer *signer) {
  bool known = false;
  uint8_t bytes[DIGEST_BYTES];
  struct lynx_error error = {0};
  uint64_t index;
  lynx_assert(hex_decode(digest, bytes, DIGEST_BYTES));
  if (ledger_each_mention(file->ledger, bytes, take_contract, &known, &error) != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  struct entry entry = {.kind = "contract"};
  entry_subject(&entry, "contract", bytes);
  entry_member(&entry, "name", name);
  entry_member(&entry, "text", text);
  return known || ledger_file_add(file, &entry, signer, &index, NULL);
}

bool run_link_begin(struct ledger_file *file, const struct contract *contract, const char *text, const struct signer *signer,
                    struct run_link *ret) {
  char digest[DIGEST_HEX], host[128] = "";
  uint8_t leaf[DIGEST_BYTES];
  char run_id[33];
  uint8_t nonce[16];
  uint64_t index, time_s;
  struct checkpoint checkpoint;
  struct lynx_error none = {0}, error = {0};
  *ret = (struct run_link){.intent = ""};
  buffer_init(&ret->checkpoint, NOTE_MAX);
  contract_digest(contract, digest);
  (void)gethostname(host, sizeof host - 1); /* an unnamed host stays unnamed */
  if (!random_salt(nonce, sizeof nonce)) return false;
  (void)hex_encode(nonce, sizeof nonce, run_id);
  struct entry entry = {.kind = "intent"};
  entry_subject_hex(&entry, "contract", digest);
  entry_member(&entry, "name", contract->name);
  entry_member(&entry, "host", host);
  entry_member(&entry, "run", run_id); /* two runs begun in one second are two */
  entry_member(&entry, "tool", "lynxbench " LYNX_VERSION);
  if (!contract_entry_add(file, digest, contract->name, text, signer) || !ledger_file_add(file, &entry, signer, &index, leaf)) return false;
  if (ledger_vouched_checkpoint(file->ledger, &ret->checkpoint, &checkpoint, &time_s, &none) != LYNX_OK &&
      ledger_checkpoint(file->ledger, &ret->checkpoint, &checkpoint, &error) != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  (void)digest_hex(leaf, ret->intent);
  ret->meta[0] = (struct run_meta){"ledger_origin", ledger_policy(file->ledger)->origin};
  ret->meta[1] = (struct run_meta){"ledger_intent", ret->intent};
  ret->meta[2] = (struct run_meta){"ledger_checkpoint", ret->checkpoint.data};
  return true;
}

void run_link_release(struct run_link *link) {
  buffer_release(&link->checkpoint);
}

static bool make_entry(const char *path, struct bundle *bundle, const struct bundle_seal_info *seal, struct arena *arena, struct entry *ret,
                       struct lynx_error *error) {
  const char *digest = bundle_meta(bundle, "contract_digest"), *intent = bundle_meta(bundle, "ledger_intent"),
             *tool = bundle_meta(bundle, "tool");
  const char *slash = strrchr(path, '/');
  uint8_t contract[DIGEST_BYTES];
  struct stat info;
  *ret = (struct entry){.kind = "bundle"};
  if (seal->root[0] == 0 || digest == NULL || !hex_decode(digest, contract, DIGEST_BYTES)) {
    (void)lynx_fail(error, LYNX_INPUT, "the bundle is not sealed, or names no contract: it cannot be recorded");
    return false;
  }
  entry_subject_hex(ret, "bundle", seal->root);
  entry_subject(ret, "contract", contract);
  entry_member(ret, "name", slash != NULL ? slash + 1 : path);
  if (stat(path, &info) == 0) entry_member(ret, "bytes", arena_printf(arena, "%lld", (long long)info.st_size));
  entry_member(ret, "ended", bundle_end_text(seal->end));
  entry_member(ret, "why", arena_copy(arena, seal->why));
  entry_member(ret, "intent", intent != NULL ? arena_copy(arena, intent) : NULL);
  entry_member(ret, "tool", tool != NULL ? arena_copy(arena, tool) : NULL);
  return true;
}

/* What an entry says of a bundle beside its digests. */
struct said {
  const struct summary *summary; /* NULL: too long */
  struct buffer executors;       /* an array, as JSON; empty: none is new */
};

static void write_said(void *context, struct json_writer *json) {
  const struct said *said = context;
  if (said->summary != NULL) {
    json_key(json, "summary");
    json_open_object(json);
    summary_write(said->summary, json);
    json_close(json);
  }
  if (said->executors.length > 0) {
    json_key(json, "executors");
    json_made(json, (struct bytes){said->executors.data, said->executors.length});
  }
}

/* --- executors: their facts, once in a ledger --- */

static bool take_executor(void *context, const struct ledger_entry *entry, const char *subject) {
  bool *known = context;
  *known = strcmp(entry->statement.kind, "bundle") == 0 && strncmp(subject, "executor", 8) == 0;
  return !*known;
}

/* Is it the first of this fingerprint, here and among the precisions before it? */
static bool is_new_executor(struct ledger_file *file, const struct summary *summary, size_t at) {
  const char *fingerprint = summary->precisions[at].fingerprint;
  uint8_t digest[DIGEST_BYTES];
  bool known = false;
  struct lynx_error ignored = {0};
  if (!hex_decode(fingerprint, digest, DIGEST_BYTES)) return false; /* it was not captured */
  for (size_t i = 0; i < at; i++) known = known || strcmp(summary->precisions[i].fingerprint, fingerprint) == 0;
  return !known && ledger_each_mention(file->ledger, digest, take_executor, &known, &ignored) == LYNX_OK && !known;
}

/* Facts that would take most of an entry, or that were withheld in part, are left out: the bundle says the same. */
static void write_executors(struct ledger_file *file, struct bundle *bundle, const struct summary *summary, struct entry *entry,
                            struct said *ret) {
  /* subjects have different names, and those that follow the first begin as it does: take_executor */
  static const char *const names[EXECUTORS_MAX] = {"executor", "executor-2", "executor-3"};
  struct json_writer json;
  size_t n = 0;
  json_begin(&json, &ret->executors);
  json_open_array(&json);
  for (size_t i = 0; i < summary->n_precisions && n < EXECUTORS_MAX; i++) {
    struct fact_list facts = {.n_items = 0};
    char found[DIGEST_HEX];
    if (!is_new_executor(file, summary, i)) continue;
    bool good = bundle_start_facts(bundle, summary->precisions[i].name, &facts, NULL) == LYNX_OK;
    if (good) capture_fingerprint(&facts, found);
    struct buffer text;
    buffer_init(&text, ENVELOPE_MAX / 4);
    if (good && strcmp(found, summary->precisions[i].fingerprint) == 0 && identity_facts_write(&facts, &text)) {
      json_open_object(&json);
      json_put_text(&json, "fingerprint", found);
      json_put_text(&json, "facts", text.data);
      json_close(&json);
      entry_subject_hex(entry, names[n], found);
      n++;
    }
    buffer_release(&text);
    fact_list_release(&facts);
  }
  json_close(&json);
  if (!json_finish(&json) || n == 0) {
    entry->n_subjects -= n;
    buffer_clear(&ret->executors);
  }
}

/* An entry has a greatest length. A summary that would take most of it is left out: the bundle says the same. */
static bool summary_fits(const struct summary *summary) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, ENVELOPE_MAX / 2);
  json_begin_object(&json, &text);
  summary_write(summary, &json);
  json_close(&json);
  bool fits = json_finish(&json);
  buffer_release(&text);
  return fits;
}

/* The same file is recorded once by a team. */
struct recorded {
  const char *root, *signer;
  uint64_t index;
  bool found;
};

static bool take_recorded(void *context, const struct ledger_entry *entry, const char *subject) {
  struct recorded *r = context;
  char hex[DIGEST_HEX];
  if (ledger_entry_file(entry) == NULL || strcmp(subject, "file") != 0) return true;
  r->found = strcmp(digest_hex(statement_subject_named(&entry->statement, "bundle"), hex), r->root) == 0 &&
             strcmp(entry->signer, r->signer) == 0;
  r->index = entry->index;
  return !r->found;
}

bool bundle_entry_add(struct ledger_file *file, const char *path, const struct signer *signer, uint64_t *ret_index) {
  struct bundle_file bundle;
  struct lynx_error error = {0};
  struct arena arena = {0};
  struct entry entry;
  struct summary summary;
  struct said said = {.summary = NULL};
  uint8_t blob[DIGEST_BYTES];
  if (!bundle_file_open_possible(path, &bundle)) return false;
  buffer_init(&said.executors, ENVELOPE_MAX / 4);
  const struct bundle_seal_info seal = bundle.result.seal;
  bool good = make_entry(path, bundle.bundle, &seal, &arena, &entry, &error);
  summary_make(&bundle.result, &summary);
  if (good) write_executors(file, bundle.bundle, &summary, &entry, &said);
  const char *words = bundle_meta(bundle.bundle, "contract");
  words = words != NULL ? arena_copy(&arena, words) : NULL;
  bundle_close(bundle.bundle); /* its file is at rest from here on */
  bundle.bundle = NULL;
  if (good && summary_fits(&summary)) said.summary = &summary;
  entry.write_more = write_said;
  entry.context = &said;
  const char *digest = bundle.result.contract_digest, *name = bundle.result.contract.name;
  if (good && words != NULL && !contract_entry_add(file, digest, name, words, signer)) {
    bundle_file_close(&bundle);
    arena_release(&arena);
    buffer_release(&said.executors);
    return false;
  }
  if (good && !ledger_file_put_blob(file, path, true, blob)) {
    bundle_file_close(&bundle);
    arena_release(&arena);
    buffer_release(&said.executors);
    return false; /* it was reported */
  }
  struct recorded recorded = {.root = seal.root, .signer = signer->name};
  good = good && ledger_each_mention(file->ledger, blob, take_recorded, &recorded, &error) == LYNX_OK;
  if (good) entry_subject(&entry, "file", blob);
  if (!good) {
    lynx_error_at(&error, path, 0, NULL);
    (void)report_error(&error);
  }
  if (recorded.found) *ret_index = recorded.index;
  good = good && (recorded.found || ledger_file_add(file, &entry, signer, ret_index, NULL)) &&
         ledger_file_put_blob(file, path, false, blob);
  bundle_file_close(&bundle);
  arena_release(&arena);
  buffer_release(&said.executors);
  return good;
}

/* Anybody may have entered another file under this root: the one that has it is taken. */
struct wanted {
  struct ledger *ledger;
  const char *from; /* where its files are, if it is a copy; NULL */
  const char *root, *out;
  bool got;
  struct lynx_error error;
};

static bool take_file(void *context, const struct ledger_entry *entry, const char *subject) {
  struct wanted *w = context;
  const uint8_t *file = ledger_entry_file(entry);
  struct bundle *bundle = NULL;
  struct bundle_seal_info seal = {.root = ""};
  struct lynx_error ignored = {0};
  char temporary[4200];
  if (file == NULL || strcmp(subject, "bundle") != 0) return true;
  if (w->from != NULL && ledger_fetch_blob(ledger_store(w->ledger), w->from, file, &w->error) != LYNX_OK) return true;
  if (!file_temporary_name(w->out, temporary, sizeof temporary) ||
      blob_get_file(ledger_store(w->ledger), file, temporary, &w->error) != LYNX_OK)
    return true;
  bool right = bundle_open(temporary, &bundle, &seal, &ignored) == LYNX_OK && strcmp(seal.root, w->root) == 0;
  bundle_close(bundle);
  w->got = right && link(temporary, w->out) == 0;
  if (right && !w->got) (void)lynx_fail(&w->error, LYNX_INPUT, "%s: cannot be written: %s", w->out, strerror(errno));
  (void)unlink(temporary); /* a link to it stays */
  return !right;
}

enum lynx_status bundle_entry_get(struct ledger_file *file, const char *root, const char *out, struct lynx_error *error) {
  struct wanted wanted = {.ledger = file->ledger, .from = file->remote ? file->real : NULL, .root = root, .out = out};
  uint8_t digest[DIGEST_BYTES];
  if (!hex_decode(root, digest, DIGEST_BYTES)) return lynx_fail(error, LYNX_INPUT, "'%.64s' is no bundle's root", root);
  enum lynx_status status = ledger_each_mention(file->ledger, digest, take_file, &wanted, error);
  if (status != LYNX_OK || wanted.got) return status;
  if (wanted.error.status == LYNX_OK) return lynx_fail(error, LYNX_NOT_FOUND, "the ledger keeps no file of the bundle %.16s", root);
  *error = wanted.error;
  return error->status;
}
