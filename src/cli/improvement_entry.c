#include "cli/improvement_entry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bundle_entry.h"
#include "executor/file_digest.h"
#include "result/claim.h"

/* --- findings --- */

struct finding_words {
  const struct finding *finding;
  const struct contract *contract;
};

static void write_layer(struct json_writer *json, const struct contract *contract, enum layer layer) {
  json_open_object(json);
  json_put_text(json, "layer", layer_text(layer));
  json_put_text(json, "owner", contract_owner(contract, layer));
  json_close(json);
}

static void write_finding(void *context, struct json_writer *json) {
  const struct finding_words *words = context;
  const struct finding *f = words->finding;
  json_key(json, "symptom");
  write_layer(json, words->contract, f->symptom);
  json_key(json, "contributing");
  json_open_array(json);
  for (int l = 0; l < LAYER_COUNT; l++)
    if (f->contributing & LAYER_BIT(l)) write_layer(json, words->contract, (enum layer)l);
  json_close(json);
  json_put_double(json, "share", f->share);
  if (f->bounded) json_put_double(json, "gain_at_most", f->bound);
}

/* Standard input is not there to be read again: its findings name no trace, and ret is "". */
static bool digest_trace(const char *path, char ret[DIGEST_HEX]) {
  int64_t budget = INT64_MAX;
  ret[0] = 0;
  if (strcmp(path, "-") == 0) return true;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  bool good = descriptor >= 0 && file_digest(descriptor, &budget, ret);
  if (descriptor >= 0) (void)close(descriptor); /* only read */
  if (!good) (void)fprintf(stderr, "lynxbench: %s: the trace cannot be read again for its digest: nothing more was recorded\n", path);
  return good;
}

static bool add_finding(struct pen *pen, const struct result *result, const char *trace, const struct finding *finding) {
  struct finding_words words = {finding, &result->contract};
  struct entry entry = {.kind = "finding", .write_more = write_finding, .context = &words};
  uint64_t index;
  uint8_t leaf[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  entry_subject_hex(&entry, "bundle", result->seal.root);
  if (trace[0] != 0) entry_subject_hex(&entry, "trace", trace);
  entry_member(&entry, "rule", finding->id);
  entry_member(&entry, "title", finding->title);
  if (finding->named[0] != 0) entry_member(&entry, "named", finding->named);
  entry_member(&entry, "rung", "accounted"); /* every entry says that nothing was confirmed */
  entry_member(&entry, "evidence", finding->evidence);
  entry_member(&entry, "not_established", finding->open);
  entry_member(&entry, "to_confirm", finding->confirm);
  if (!ledger_file_add(&pen->file, &entry, &pen->signer, &index, leaf)) return false;
  (void)fprintf(stderr, "%s: entry %" PRIu64 ", %s: %s\n", pen->file.address, index, digest_hex(leaf, hex), finding->title);
  return true;
}

static bool add_of_traces(struct pen *pen, const struct result *result, const struct attribution *attribution, size_t *ret_n) {
  bool good = true;
  for (size_t i = 0; good && i < attribution->n_traces; i++) {
    const struct attributed_trace *t = &attribution->traces[i];
    char trace[DIGEST_HEX] = "";
    good = t->n_findings == 0 || digest_trace(t->path, trace);
    for (size_t k = 0; good && k < t->n_findings; k++) *ret_n += good = add_finding(pen, result, trace, &t->findings[k]);
  }
  return good;
}

static bool add_of_run(struct pen *pen, const struct result *result, const struct live *live, size_t *ret_n) {
  bool good = true;
  for (size_t k = 0; good && k < live->n_findings; k++) *ret_n += good = add_finding(pen, result, "", &live->findings[k]);
  return good;
}

int findings_record(const struct pen_wanted *wanted, const char *path, const struct attribution *attribution, const struct live *live) {
  struct pen pen;
  struct bundle_file bundle;
  uint64_t index;
  size_t n = 0;
  int code = pen_open(wanted, &pen);
  if (code != EXIT_HOLDS) return code;
  if (bundle_file_open(path, &bundle)) {
    bool good = bundle_entry_add(&pen.file, path, &pen.signer, &index);
    if (good && attribution != NULL) good = add_of_traces(&pen, &bundle.result, attribution, &n);
    if (good && live != NULL) good = add_of_run(&pen, &bundle.result, live, &n);
    bundle_file_close(&bundle);
    code = good ? EXIT_HOLDS : EXIT_WRONG_INPUT;
    (void)fprintf(stderr, "%s: %zu finding%s recorded\n", pen.file.address, n, n == 1 ? "" : "s");
  } else code = EXIT_WRONG_INPUT;
  pen_close(&pen);
  return code;
}

/* --- iterations --- */

/* Why no claim could be made from it: such a figure is no effect to build on. */
static void write_refusals(struct json_writer *json, const char *key, struct result *result) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < result->n_precisions; i++) {
    struct claim claim;
    if (result->precisions[i].unavailable) continue;
    claim_build(result, i, &claim);
    for (size_t k = 0; k < claim.n_reasons; k++) json_text(json, claim.reasons[k]);
  }
  json_close(json);
}

static void write_effect(void *context, struct json_writer *json) {
  const struct iteration *iteration = context;
  const struct comparison_list *list = iteration->list;
  write_refusals(json, "no_claim_before", iteration->result[0]);
  write_refusals(json, "no_claim_after", iteration->result[1]);
  json_put_bool(json, "interleaved", list->paired);
  json_put_double(json, "margin", list->margin);
  json_put_double(json, "confidence", list->confidence);
  json_key(json, "figures");
  json_open_array(json);
  for (size_t i = 0; i < list->n_items; i++) {
    const struct comparison_figure *f = &list->items[i];
    json_open_object(json);
    json_put_text(json, "precision", f->precision);
    json_put_text(json, "figure", f->name);
    json_put_text(json, "formula", f->formula);
    json_put_double(json, "before", f->a);
    json_put_double(json, "after", f->b);
    json_put_double(json, "after_to_before", 1 / f->ratio.ratio);
    json_put_double(json, "low", 1 / f->ratio.high);
    json_put_double(json, "high", 1 / f->ratio.low);
    json_put_text(json, "verdict", verdict_text(f->ratio.verdict));
    json_close(json);
  }
  json_close(json);
}

static bool take_finding(void *context, const struct ledger_entry *entry, const char *subject) {
  bool *is_finding = context;
  if (subject[0] != 0) return true; /* it speaks of it */
  *is_finding = strcmp(entry->statement.kind, "finding") == 0;
  return false;
}

/* An iteration answers a finding that is there. */
static bool find_finding(struct ledger_file *file, const char *text, uint8_t ret[DIGEST_BYTES]) {
  struct lynx_error error = {0};
  bool is_finding = false;
  if (hex_decode(text, ret, DIGEST_BYTES) && ledger_each_mention(file->ledger, ret, take_finding, &is_finding, &error) != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  if (is_finding) return true;
  (void)fprintf(stderr,
                "lynxbench: --finding: found '%s', accepted: the digest of a finding's entry in %s, 64 digits; `lynxbench log list %s` "
                "tells them\n",
                text, file->address, file->address);
  return false;
}

static bool add_iteration(struct pen *pen, const struct iteration *iteration) {
  const char *change = iteration->change, *answers = iteration->finding;
  struct entry entry = {.kind = "iteration", .write_more = write_effect, .context = (void *)(uintptr_t)iteration};
  uint8_t finding[DIGEST_BYTES], leaf[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  uint64_t index;
  if (strcmp(iteration->result[0]->seal.root, iteration->result[1]->seal.root) == 0) {
    (void)fprintf(stderr, "lynxbench: --change: A and B are the same bundle; accepted: one from before the change and one from after it\n");
    return false;
  }
  if (answers != NULL && !find_finding(&pen->file, answers, finding)) return false;
  for (int i = 0; i < 2; i++)
    if (!bundle_entry_add(&pen->file, iteration->path[i], &pen->signer, &index)) return false;
  entry_subject_hex(&entry, "bundle", iteration->result[1]->seal.root);
  entry_subject_hex(&entry, "before", iteration->result[0]->seal.root);
  if (answers != NULL) entry_subject(&entry, "finding", finding);
  entry_member(&entry, "change", change);
  if (!ledger_file_add(&pen->file, &entry, &pen->signer, &index, leaf)) return false;
  (void)fprintf(stderr, "%s: entry %" PRIu64 ", %s: the iteration is recorded\n", pen->file.address, index, digest_hex(leaf, hex));
  return true;
}

int iteration_record(const struct pen_wanted *wanted, const struct iteration *iteration) {
  struct pen pen;
  int code = pen_open(wanted, &pen);
  if (code != EXIT_HOLDS) return code;
  if (!add_iteration(&pen, iteration)) code = EXIT_WRONG_INPUT;
  pen_close(&pen);
  return code;
}
