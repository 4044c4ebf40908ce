#include "cli/improvement_entry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bundle_entry.h"
#include "cli/hook.h"
#include "executor/file_digest.h"
#include "result/claim.h"

bool layer_read(const char *command, const char *text, enum layer *ret) {
  if (layer_parse(text != NULL ? text : "", ret)) return true;
  complain("lynxbench %s: --layer: found '%s', accepted: application, serving, runtime, framework, system, accelerator, procurement, "
           "facility, demand\n",
           command, text != NULL ? text : "nothing");
  return false;
}

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

static void write_stated(void *context, struct json_writer *json) {
  const struct stated_finding *f = context;
  for (size_t i = 0; i < f->n_layers; i++) {
    if (i < 2) json_key(json, i == 0 ? "symptom" : "contributing");
    if (i == 1) json_open_array(json);
    json_open_object(json);
    json_put_text(json, "layer", f->layers[i]);
    json_put_text(json, "owner", f->owners[i]);
    json_close(json);
  }
  if (f->n_layers > 1) json_close(json);
}

bool finding_add(struct pen *pen, const char *path, const struct result *result, const struct stated_finding *finding,
                 uint64_t *ret_index) {
  struct entry entry = {.kind = "finding", .write_more = write_stated, .context = (void *)(uintptr_t)finding};
  if (result->seal.root[0] == 0) {
    complain("lynxbench: %s: its run was not sealed: no entry can name it\n", path);
    return false;
  }
  entry_subject_hex(&entry, "bundle", result->seal.root);
  entry_member(&entry, "rule", finding->rule);
  entry_member(&entry, "title", finding->title);
  entry_member(&entry, "named", finding->named);
  entry_member(&entry, "rung", finding->rung);
  entry_member(&entry, "evidence", finding->evidence);
  entry_member(&entry, "to_confirm", finding->to_confirm);
  return bundle_entry_add(&pen->file, path, &pen->signer, ret_index) && ledger_file_add(&pen->file, &entry, &pen->signer, ret_index, NULL);
}

/* Standard input is not there to be read again: its findings name no trace, and ret is "". */
static bool digest_trace(const char *path, char ret[DIGEST_HEX]) {
  int64_t budget = INT64_MAX;
  ret[0] = 0;
  if (strcmp(path, "-") == 0) return true;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool good = descriptor >= 0 && file_digest(descriptor, &budget, ret);
  if (descriptor >= 0) (void)close(descriptor); /* only read */
  if (!good) complain("lynxbench: %s: the trace cannot be read again for its digest: nothing more was recorded\n", path);
  return good;
}

/* What goes on while findings are entered. */
struct recorded {
  struct pen pen;
  const struct pen_wanted *wanted;
  size_t n;
  bool untold; /* a hook failed; the entries stand */
};

static bool add_finding(struct recorded *r, const struct result *result, const char *trace, const struct finding *finding) {
  struct pen *pen = &r->pen;
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
  complain("%s: entry %" PRIu64 ", %s: %s\n", pen->file.address, index, digest_hex(leaf, hex), finding->title);
  r->n++;
  if (r->wanted->hook != NULL && !hook_tell(r->wanted->command, r->wanted->hook, &pen->file, index)) r->untold = true;
  return true;
}

static bool add_of_traces(struct recorded *r, const struct result *result, const struct attribution *attribution) {
  bool good = true;
  for (size_t i = 0; good && i < attribution->n_traces; i++) {
    const struct attributed_trace *t = &attribution->traces[i];
    char trace[DIGEST_HEX] = "";
    good = t->n_findings == 0 || digest_trace(t->path, trace);
    for (size_t k = 0; good && k < t->n_findings; k++) good = add_finding(r, result, trace, &t->findings[k]);
  }
  return good;
}

static bool add_of_run(struct recorded *r, const struct result *result, const struct live *live) {
  bool good = true;
  for (size_t k = 0; good && k < live->n_findings; k++) good = add_finding(r, result, "", &live->findings[k]);
  return good;
}

int findings_record(const struct pen_wanted *wanted, const char *path, const struct attribution *attribution, const struct live *live) {
  struct recorded r = {.wanted = wanted};
  struct bundle_file bundle;
  uint64_t index;
  int code = pen_open(wanted, &r.pen);
  if (code != EXIT_HOLDS) return code;
  if (bundle_file_open(path, &bundle)) {
    bool good = bundle_entry_add(&r.pen.file, path, &r.pen.signer, &index);
    if (good && attribution != NULL) good = add_of_traces(&r, &bundle.result, attribution);
    if (good && live != NULL) good = add_of_run(&r, &bundle.result, live);
    bundle_file_close(&bundle);
    code = !good ? EXIT_WRONG_INPUT : r.untold ? EXIT_EXECUTOR : EXIT_HOLDS;
    complain("%s: %zu finding%s recorded\n", r.pen.file.address, r.n, LYNX_S(r.n));
  } else code = EXIT_WRONG_INPUT;
  pen_close(&r.pen);
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
  if (list->unlike != NULL) json_put_text(json, "conditions_differ", list->unlike);
  if (list->felt != NULL) json_put_text(json, "conditions_felt", list->felt);
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
    json_put_text(json, "better", f->more_is_better ? "more" : "less");
    json_put_text(json, "verdict", f->not_judged != NULL ? "not judged" : verdict_text(f->ratio.verdict));
    json_close(json);
  }
  json_close(json);
}

static bool take_bundle(void *context, const struct ledger_entry *entry, const char *subject) {
  bool *known = context;
  *known = *known || (strcmp(entry->statement.kind, "bundle") == 0 && strcmp(subject, "bundle") == 0);
  return !*known;
}

/* One of a run that is not in the ledger is listed nowhere. */
static bool has_its_run(struct ledger_file *file, struct finding_entry *finding) {
  struct lynx_error error = {0};
  bool known = false;
  const uint8_t *root = statement_subject_named(&finding->entry.statement, "bundle");
  if (root != NULL && ledger_each_mention(file->ledger, root, take_bundle, &known, &error) != LYNX_OK) (void)report_error(&error);
  if (known) return true;
  complain("lynxbench: %s: finding %" PRIu64 " is of a run that is not in the ledger: enter its bundle first (lynxbench ledger put)\n",
           file->address, finding->index);
  finding_release(finding);
  return false;
}

bool finding_read(struct ledger_file *file, const char *text, struct finding_entry *ret) {
  struct lynx_error error = {0};
  uint64_t index;
  *ret = (struct finding_entry){.index = 0};
  if (!ledger_file_find(file, text, &index)) return false;
  if (ledger_read_entry(file->ledger, index, &ret->arena, &ret->entry, &error) != LYNX_OK) {
    (void)report_error(&error);
    arena_release(&ret->arena);
    return false;
  }
  ret->index = index;
  if (strcmp(ret->entry.statement.kind, "finding") == 0) return has_its_run(file, ret);
  complain("lynxbench: %s: entry %" PRIu64 " is of kind %s, accepted: a finding; `lynxbench iterate list` shows them\n", file->address,
           index, ret->entry.statement.kind);
  finding_release(ret);
  return false;
}

void finding_release(struct finding_entry *finding) {
  statement_release(&finding->entry.statement);
  arena_release(&finding->arena);
}

bool iteration_add(struct pen *pen, const struct iteration *iteration, uint64_t *ret_index) {
  const struct finding_entry *answers = iteration->finding;
  struct entry entry = {.kind = "iteration", .write_more = write_effect, .context = (void *)(uintptr_t)iteration};
  uint8_t leaf[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  if (strcmp(iteration->result[0]->seal.root, iteration->result[1]->seal.root) == 0) {
    complain("lynxbench: both are the same bundle; accepted: one from before the change and one from after it\n");
    return false;
  }
  for (int i = 0; i < 2; i++)
    if (!bundle_entry_add(&pen->file, iteration->path[i], &pen->signer, ret_index)) return false;
  entry_subject_hex(&entry, "bundle", iteration->result[1]->seal.root);
  entry_subject_hex(&entry, "before", iteration->result[0]->seal.root);
  if (answers != NULL) entry_subject(&entry, "finding", answers->entry.leaf);
  entry_member(&entry, "change", iteration->change);
  if (!ledger_file_add(&pen->file, &entry, &pen->signer, ret_index, leaf)) return false;
  complain("%s: entry %" PRIu64 ", %s: the iteration is recorded\n", pen->file.address, *ret_index, digest_hex(leaf, hex));
  return true;
}
