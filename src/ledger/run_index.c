/* What bundles' entries say of their runs, by contract: so that who follows figures over time reads neither entries nor bundles. And which
 * entries answer an intent.
 * Keys     contract, index: what is said; intent, index: nothing
 * Values   the length of the contract's name (2 bytes), the name, JSON: {"name","bundle","file","summary"} as the entry has them
 * Limits   it is read without proof or signature: ledger_audit shows that it is what the entries say, no more and no less */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger_private.h"

enum { LENGTH_BYTES = 2, NAME_MAX_BYTES = 400 };

static void put_digest(json_t *to, const char *name, const uint8_t *digest) {
  char hex[DIGEST_HEX];
  if (digest != NULL) (void)json_object_set_new(to, name, json_string(digest_hex(digest, hex)));
}

/* json_decref it. */
static json_t *what_is_said(const struct statement *statement) {
  json_t *said = json_object(), *summary = json_object_get(statement->predicate, "summary");
  (void)json_object_set_new(said, "name", json_string(json_get_text(statement->predicate, "name", "")));
  put_digest(said, "bundle", statement_subject_named(statement, "bundle"));
  put_digest(said, "file", statement_subject_named(statement, "file"));
  if (summary != NULL) (void)json_object_set(said, "summary", summary);
  return said;
}

/* As its summary has it; "": it has none. */
static size_t contract_name(const struct statement *statement, const char **ret) {
  *ret = json_get_text(json_object_get(statement->predicate, "summary"), "name", "");
  size_t n = strlen(*ret);
  return n <= NAME_MAX_BYTES ? n : 0;
}

static enum lynx_status put_said(struct ledger *l, const struct statement *statement, const struct ledger_key *key,
                                 struct lynx_error *error) {
  const char *name;
  size_t n = contract_name(statement, &name);
  json_t *said = what_is_said(statement);
  char *text = json_dumps(said, JSON_COMPACT);
  const char length[LENGTH_BYTES] = {(char)(n >> 8), (char)n};
  struct buffer value;
  buffer_init(&value, STORE_VALUE_MAX);
  bool good = text != NULL && buffer_append(&value, length, sizeof length) && buffer_append(&value, name, n) &&
              buffer_append(&value, text, strlen(text));
  enum lynx_status status = good ? ledger_append(l, STORE_RUN, key, (struct bytes){value.data, value.length}, error)
                                 : lynx_fail(error, LYNX_LIMIT, "what a bundle's entry says of its run is too long");
  buffer_release(&value);
  free(text);
  json_decref(said);
  return status;
}

size_t ledger_run_keys(const struct statement *statement, uint64_t index, struct ledger_key ret[2]) {
  uint8_t intent[DIGEST_BYTES];
  const uint8_t *contract = strcmp(statement->kind, "bundle") == 0 ? statement_subject_named(statement, "contract") : NULL;
  size_t n = 0;
  if (contract == NULL) return 0;
  ret[n++] = ledger_key_mention(contract, index);
  if (statement_intent(statement, intent) && memcmp(intent, contract, DIGEST_BYTES) != 0) ret[n++] = ledger_key_mention(intent, index);
  return n;
}

enum lynx_status ledger_put_run(struct ledger *l, const struct statement *statement, uint64_t index, struct lynx_error *error) {
  struct ledger_key keys[2];
  size_t n = ledger_run_keys(statement, index, keys);
  enum lynx_status status = n > 0 ? put_said(l, statement, &keys[0], error) : LYNX_OK;
  return n > 1 && status == LYNX_OK ? ledger_append(l, STORE_RUN, &keys[1], (struct bytes){"", 0}, error) : status;
}

/* --- read --- */

/* False: it is an intent's, or was altered. */
static bool take_apart(struct bytes key, struct bytes value, struct ledger_run *ret) {
  if (key.length != DIGEST_BYTES + INDEX_BYTES || value.length < LENGTH_BYTES) return false;
  size_t n = (size_t)ledger_key_number(value, 0, LENGTH_BYTES);
  if (value.length - LENGTH_BYTES < n) return false;
  memcpy(ret->contract, key.ptr, DIGEST_BYTES);
  ret->index = ledger_key_number(key, DIGEST_BYTES, INDEX_BYTES);
  ret->name = (struct bytes){value.ptr + LENGTH_BYTES, n};
  ret->said = (struct bytes){value.ptr + LENGTH_BYTES + n, value.length - LENGTH_BYTES - n};
  return true;
}

struct visiting {
  const struct ledger *ledger;
  ledger_run_visit *visit;
  void *context;
};

static bool visit_run(void *context, struct bytes key, struct bytes value) {
  const struct visiting *v = context;
  struct ledger_run run;
  bool there = take_apart(key, value, &run) && run.index < v->ledger->edge.size; /* others may be writing */
  return !there || v->visit(v->context, &run);
}

enum lynx_status ledger_list_runs(struct ledger *l, const uint8_t *contract, ledger_run_visit *visit, void *context,
                                  struct lynx_error *error) {
  struct visiting v = {l, visit, context};
  const struct store_range range = {.space = STORE_RUN, .prefix = {(const char *)contract, contract != NULL ? DIGEST_BYTES : 0}};
  return l->store->table->list(l->store, &range, visit_run, &v, error);
}

/* --- audited --- */

enum lynx_status ledger_check_run(struct ledger *l, const struct statement *statement, uint64_t index, uint64_t *ret_n,
                                  struct lynx_error *error) {
  struct ledger_key keys[2];
  struct buffer value;
  struct ledger_run run;
  const char *name;
  enum lynx_status status = LYNX_OK;
  bool right = true;
  buffer_init(&value, STORE_VALUE_MAX);
  *ret_n = ledger_run_keys(statement, index, keys);
  if (*ret_n > 1) status = ledger_get(l, STORE_RUN, &keys[1], &value, error);
  right = value.length == 0;
  if (*ret_n > 0 && status == LYNX_OK) {
    status = ledger_get(l, STORE_RUN, &keys[0], &value, error);
    size_t n = contract_name(statement, &name);
    bool whole = right && status == LYNX_OK && take_apart(ledger_key_bytes(&keys[0]), (struct bytes){value.data, value.length}, &run);
    json_t *said = what_is_said(statement), *kept = whole ? json_parse(run.said.ptr, run.said.length, STORE_VALUE_MAX, NULL) : NULL;
    right = whole && run.name.length == n && memcmp(run.name.ptr, name, n) == 0 && json_equal(said, kept) == 1;
    json_decref(kept);
    json_decref(said);
  }
  buffer_release(&value);
  if (status == LYNX_OK && !right)
    status = lynx_fail(error, LYNX_PROTOCOL, "the index of runs does not say of entry %" PRIu64 " what the entry says", index);
  return status;
}
