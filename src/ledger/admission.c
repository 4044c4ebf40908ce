#include "ledger/admission.h"

#include <inttypes.h>
#include <string.h>

enum { SUBJECT_MAX = 128 };

static const struct kind_rule {
  const char *kind, *needs[3]; /* subjects of these names */
} kinds[] = {{"policy", {"policy"}},
             {"contract", {"contract"}},
             {"signature", {NULL}}, /* of whatever it names */
             {"intent", {"contract"}},
             {"bundle", {"bundle", "file", "contract"}},
             {"verification", {"bundle", "contract"}},
             {"contest", {"bundle"}},
             {"withdrawal", {"entry"}},
             {"finding", {"bundle"}},
             {"confirmation", {"bundle", "perturbed"}},
             {"change", {"finding"}},
             {"response", {"finding"}},
             {"iteration", {"bundle", "before"}}};

static enum lynx_status check_kind(const struct statement *statement, struct lynx_error *error) {
  size_t k = 0;
  while (k < LYNX_COUNT(kinds) && strcmp(kinds[k].kind, statement->kind) != 0) k++;
  if (k == LYNX_COUNT(kinds))
    return lynx_fail(error, LYNX_INPUT,
                     "an entry of kind '%.60s'; accepted: policy, contract, signature, intent, bundle, verification, contest, withdrawal, "
                     "finding, confirmation, change, response, iteration",
                     statement->kind);
  for (size_t i = 0; i < LYNX_COUNT(kinds[k].needs) && kinds[k].needs[i] != NULL; i++)
    if (statement_subject_named(statement, kinds[k].needs[i]) == NULL)
      return lynx_fail(error, LYNX_INPUT, "an entry of kind %s needs a subject named '%s'", statement->kind, kinds[k].needs[i]);
  if (statement->n_subjects == 0) return lynx_fail(error, LYNX_INPUT, "an entry that speaks of nothing: a subject is needed");
  uint8_t reserved[DIGEST_BYTES];
  policy_subject(reserved);
  for (size_t i = 0; i < statement->n_subjects; i++)
    if (memcmp(statement->subjects[i].digest, reserved, DIGEST_BYTES) == 0 && strcmp(statement->kind, "policy") != 0)
      return lynx_fail(error, LYNX_INPUT, "an entry of kind %s speaks of the policy: only a policy does", statement->kind);
  for (size_t i = 0; i < statement->n_subjects; i++)
    if (statement->subjects[i].name[0] == 0 || strlen(statement->subjects[i].name) >= SUBJECT_MAX)
      return lynx_fail(error, LYNX_INPUT, "a subject without a name, or with one of more than %d bytes", SUBJECT_MAX - 1);
  for (size_t i = 0; i < statement->n_subjects; i++)
    for (size_t j = 0; j < i; j++)
      if (strcmp(statement->subjects[i].name, statement->subjects[j].name) == 0)
        return lynx_fail(error, LYNX_INPUT, "two subjects named '%s': which of them it is about cannot be said",
                         statement->subjects[i].name);
  int64_t time_s;
  const char *time = json_get_text(statement->predicate, "time", NULL);
  if (json_object_get(statement->predicate, "time") != NULL && !statement_time(statement, &time_s))
    return lynx_fail(error, LYNX_INPUT, "time: found '%.40s', accepted: a time of UTC as 2026-11-28T02:15:44Z",
                     time != NULL ? time : "no text");
  /* Keys that are read, in another spelling: who reads the entry by eye would take them for what they are not. */
  static const char *const read_keys[] = {"intent", "time"};
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)statement->predicate, key,
                      value) for (size_t i = 0; i < LYNX_COUNT(read_keys);
                                  i++) if (strcasecmp(key, read_keys[i]) == 0 &&
                                           strcmp(key, read_keys[i]) !=
                                               0) return lynx_fail(error, LYNX_INPUT,
                                                                   "found the key '%.20s'; accepted: '%s', in these letters", key,
                                                                   read_keys[i]);
  uint8_t intent[DIGEST_BYTES];
  const json_t *named = json_object_get(statement->predicate, "intent");
  if (named != NULL && strcmp(statement->kind, "bundle") == 0 && !statement_intent(statement, intent))
    return lynx_fail(error, LYNX_INPUT, "intent: found '%.80s', accepted: a digest of 64 lower-case digits, or none",
                     json_is_string(named) ? json_string_value(named) : "no text");
  return LYNX_OK;
}

/* A change of policy: what it becomes. */
static enum lynx_status check_policy(const struct policy *now, const struct policy_team *signer, const struct statement *statement,
                                     struct policy *ret, struct lynx_error *error) {
  uint8_t digest[DIGEST_BYTES];
  policy_subject(digest);
  enum lynx_status status = policy_parse(statement->predicate, ret, error);
  if (status != LYNX_OK) return status;
  if (memcmp(statement_subject_named(statement, "policy"), digest, DIGEST_BYTES) != 0)
    return lynx_fail(error, LYNX_INPUT, "a policy that speaks of another subject");
  if (now->number == 0) return LYNX_OK; /* the first */
  if (signer == NULL || !signer->admin)
    return lynx_fail(error, LYNX_INPUT, "%s is no admin of this ledger: only they change its policy",
                     signer != NULL ? signer->key.name : "nobody");
  if (ret->number != now->number + 1)
    return lynx_fail(error, LYNX_INPUT, "a policy numbered %" PRId64 " where %" PRId64 " is due: another change came first; do it again",
                     ret->number, now->number + 1);
  if (strcmp(ret->origin, now->origin) != 0 || memcmp(&ret->log, &now->log, sizeof ret->log) != 0)
    return lynx_fail(error, LYNX_INPUT, "a policy keeps the ledger's origin and log key");
  return LYNX_OK;
}

/* Signed for this ledger: what was signed for another one, or for none, is not entered here by whoever has it. */
static enum lynx_status check_ledger(const struct policy *policy, const struct statement *statement, struct lynx_error *error) {
  if (statement->format == 1 && policy->format < 2) return LYNX_OK;
  if (statement->format == 1)
    return lynx_fail(error, LYNX_INPUT,
                     "an entry of format 1, which names no ledger, so that anybody could enter it in another one: sign it again");
  if (strcmp(statement->ledger, policy->origin) == 0) return LYNX_OK;
  if (statement->ledger[0] == 0)
    return lynx_fail(error, LYNX_INPUT, "it was signed for no ledger, and this one is '%s': sign it again with --for %s", policy->origin,
                     policy->origin);
  return lynx_fail(
      error, LYNX_INPUT,
      "it was signed for the ledger '%.60s', and this one is '%s': sign it again for this one (a ledger whose entries shall be "
      "pushed here is created with --origin %s)",
      statement->ledger, policy->origin, policy->origin);
}

/* The one file that a bundle's entry names, and its length as a decimal number. */
static enum lynx_status check_length(const struct statement *statement, struct lynx_error *error) {
  size_t n_files = 0;
  if (statement->format == 1 || strcmp(statement->kind, "bundle") != 0) return LYNX_OK;
  for (size_t i = 0; i < statement->n_subjects; i++) n_files += strcmp(statement->subjects[i].name, "file") == 0;
  if (n_files != 1) return lynx_fail(error, LYNX_INPUT, "a bundle's entry that names %zu files: it names one", n_files);
  if (statement_file_bytes(statement) >= 0) return LYNX_OK;
  return lynx_fail(error, LYNX_INPUT, "a bundle's entry without the length of its file ('bytes', a number from 0)");
}

static enum lynx_status parse(struct bytes bytes, struct arena *arena, struct admission *ret, struct lynx_error *error) {
  *ret = (struct admission){.signer = NULL};
  enum lynx_status status = envelope_parse(bytes, arena, &ret->envelope, error);
  if (status == LYNX_OK && !envelope_plain(bytes, &ret->envelope))
    status = lynx_fail(error, LYNX_INPUT,
                       "the envelope is not written as lynxbench writes it: a byte of it was altered, or another program made it");
  return status == LYNX_OK ? statement_parse(&ret->envelope, arena, &ret->statement, error) : status;
}

static enum lynx_status find_signer(const struct policy *policy, struct admission *a, struct lynx_error *error) {
  a->signer = policy_signer(policy, &a->envelope);
  if (a->signer != NULL) return LYNX_OK;
  const char *claimed = a->envelope.n_signatures > 0 ? a->envelope.signatures[0].key_id : "nobody";
  return lynx_fail(error, LYNX_INPUT,
                   "not signed by a team of this ledger (it names %.100s): its bytes were altered, or an admin adds the key with "
                   "`lynxbench ledger policy`",
                   claimed);
}

enum lynx_status admission_signed(const struct policy *policy, struct bytes bytes, struct arena *arena, struct admission *ret,
                                  struct lynx_error *error) {
  enum lynx_status status = parse(bytes, arena, ret, error);
  if (status == LYNX_OK) status = check_ledger(policy, &ret->statement, error);
  return status == LYNX_OK ? find_signer(policy, ret, error) : status;
}

enum lynx_status admission_check(struct policy *policy, struct bytes bytes, struct arena *arena, struct admission *ret,
                                 struct lynx_error *error) {
  struct policy next;
  enum lynx_status status = parse(bytes, arena, ret, error);
  if (status == LYNX_OK) status = check_kind(&ret->statement, error);
  bool is_policy = status == LYNX_OK && strcmp(ret->statement.kind, "policy") == 0, first = policy->number == 0;
  if (status == LYNX_OK && first && !is_policy) status = lynx_fail(error, LYNX_INPUT, "a ledger's first entry is its policy");
  if (status == LYNX_OK && first) {
    status = check_policy(policy, NULL, &ret->statement, &next, error);
    if (status == LYNX_OK && next.number != 1) status = lynx_fail(error, LYNX_INPUT, "the first policy is numbered 1");
  }
  if (status == LYNX_OK) status = check_ledger(first ? &next : policy, &ret->statement, error);
  if (status == LYNX_OK) status = check_length(&ret->statement, error);
  if (status == LYNX_OK) status = find_signer(first ? &next : policy, ret, error);
  if (status == LYNX_OK && first && (ret->signer == NULL || !ret->signer->admin))
    status = lynx_fail(error, LYNX_INPUT, "the first policy is signed by one of its admins");
  if (status == LYNX_OK && is_policy && !first) status = check_policy(policy, ret->signer, &ret->statement, &next, error);
  if (status == LYNX_OK && is_policy && ret->signer != NULL) {
    const char *name = ret->signer->key.name;
    name = arena_copy(arena, name);
    *policy = next;
    policy->format = ret->statement.format;
    ret->signer = policy_team_named(policy, name); /* NULL if it took itself out */
  }
  return status;
}
