#include "ledger/policy.h"

#include <stdlib.h>
#include <string.h>

void policy_subject(uint8_t ret[DIGEST_BYTES]) {
  static const char text[] = "lynxbench ledger policy";
  digest_of(text, sizeof text - 1, ret);
}

static enum lynx_status parse_team(const json_t *object, struct policy_team *ret, struct lynx_error *error) {
  enum lynx_status status = note_key_parse(json_get_text(object, "key", ""), &ret->key, error);
  ret->admin = json_get_bool(object, "admin", false);
  ret->witness = json_get_bool(object, "witness", false);
  ret->quota = json_get_int(object, "quota", 0);
  if (status == LYNX_OK && (ret->key.type != NOTE_ED25519 || !note_name_valid(ret->key.name)))
    status = lynx_fail(error, LYNX_INPUT, "a team's key is of another type, or its name has other than letters, digits and . _ - /");
  if (status == LYNX_OK && ret->quota < 0) status = lynx_fail(error, LYNX_INPUT, "a quota below 0 bytes");
  return status;
}

enum lynx_status policy_parse(const json_t *predicate, struct policy *ret, struct lynx_error *error) {
  const json_t *teams = json_object_get(predicate, "teams"), *one;
  const char *origin = json_get_text(predicate, "origin", "");
  size_t i;
  *ret = (struct policy){.number = json_get_int(predicate, "number", 0), .quorum = json_get_int(predicate, "quorum", -1)};
  if (!note_name_valid(origin)) return lynx_fail(error, LYNX_INPUT, "its origin is no name: letters, digits and . _ - / are accepted");
  (void)snprintf(ret->origin, sizeof ret->origin, "%s", origin);
  if (!json_is_array(teams) || json_array_size(teams) > POLICY_TEAMS_MAX)
    return lynx_fail(error, LYNX_INPUT, "no list of at most %d teams", POLICY_TEAMS_MAX);
  enum lynx_status status = note_key_parse(json_get_text(predicate, "log", ""), &ret->log, error);
  json_array_foreach(teams, i, one) if (status == LYNX_OK) status = parse_team(one, &ret->teams[ret->n_teams++], error);
  return status == LYNX_OK ? policy_check(ret, error) : status;
}

static void write_members(void *context, struct json_writer *json) {
  const struct policy *policy = context;
  char text[NOTE_KEY_TEXT_MAX];
  json_put_int(json, "number", policy->number);
  json_put_text(json, "origin", policy->origin);
  json_put_text(json, "log", note_key_text(&policy->log, text));
  json_key(json, "teams");
  json_open_array(json);
  for (size_t i = 0; i < policy->n_teams; i++) {
    json_open_object(json);
    json_put_text(json, "key", note_key_text(&policy->teams[i].key, text));
    json_put_bool(json, "admin", policy->teams[i].admin);
    json_put_bool(json, "witness", policy->teams[i].witness);
    if (policy->teams[i].quota > 0) json_put_int(json, "quota", policy->teams[i].quota);
    json_close(json);
  }
  json_close(json);
  json_put_int(json, "quorum", policy->quorum);
}

void policy_entry(struct policy *policy, struct entry *ret) {
  uint8_t digest[DIGEST_BYTES];
  *ret = (struct entry){.kind = "policy", .ledger = policy->origin, .write_more = write_members, .context = policy};
  policy_subject(digest);
  entry_subject(ret, "policy", digest);
}

enum lynx_status policy_check(const struct policy *policy, struct lynx_error *error) {
  size_t n_admins = 0, n_witnesses = 0;
  for (size_t i = 0; i < policy->n_teams; i++) {
    const struct policy_team *team = &policy->teams[i];
    n_admins += team->admin;
    n_witnesses += team->witness;
    for (size_t k = 0; k < i; k++)
      if (strcmp(policy->teams[k].key.name, team->key.name) == 0 ||
          memcmp(policy->teams[k].key.public_key, team->key.public_key, SIGNATURE_KEY_BYTES) == 0)
        return lynx_fail(error, LYNX_INPUT, "the teams %s and %s have one name or one key: each has its own", policy->teams[k].key.name,
                         team->key.name);
  }
  if (policy->number < 1 || n_admins == 0) return lynx_fail(error, LYNX_INPUT, "a policy is numbered from 1 and has an admin");
  if (policy->quorum < 0 || (size_t)policy->quorum > n_witnesses)
    return lynx_fail(error, LYNX_INPUT, "a quorum of %lld, and %zu witnesses: accepted are 0 to as many as there are",
                     (long long)policy->quorum, n_witnesses);
  return LYNX_OK;
}

int64_t policy_quota(const struct policy_team *team) {
  return team->quota > 0 ? team->quota : POLICY_QUOTA;
}

const struct policy_team *policy_team_named(const struct policy *policy, const char *name) {
  for (size_t i = 0; i < policy->n_teams; i++)
    if (strcmp(policy->teams[i].key.name, name) == 0) return &policy->teams[i];
  return NULL;
}

/* The key id says whom to try: a ledger takes only what says so rightly. */
const struct policy_team *policy_signer(const struct policy *policy, const struct envelope *envelope) {
  char id[NOTE_KEY_TEXT_MAX];
  if (envelope->n_signatures != 1) return NULL;
  for (size_t i = 0; i < policy->n_teams; i++)
    if (strcmp(note_key_id_text(&policy->teams[i].key, id), envelope->signatures[0].key_id) == 0)
      return envelope_signed_by(envelope, policy->teams[i].key.public_key) ? &policy->teams[i] : NULL;
  return NULL;
}

static int compare_times(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

size_t policy_cosigned(const struct policy *policy, const struct note *note, uint64_t *ret_latest_s) {
  uint64_t times[POLICY_TEAMS_MAX] = {0};
  size_t n = 0;
  for (size_t i = 0; i < policy->n_teams; i++) {
    struct note_key key;
    if (!policy->teams[i].witness) continue;
    note_key_make(policy->teams[i].key.name, NOTE_COSIGNATURE, policy->teams[i].key.public_key, &key);
    n += note_signed_by(note, &key, &times[n]);
  }
  qsort(times, n, sizeof times[0], compare_times);
  bool reached = policy->quorum > 0 && n >= (size_t)policy->quorum;
  if (ret_latest_s != NULL) *ret_latest_s = reached ? times[policy->quorum - 1] : 0;
  return n;
}
