#include "serve/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/root.h"

#define BYTES_MAX (INT64_MAX / 4) /* of a team: its sums do not overflow */

enum { REMEMBERED_MAX = 1 << 20, COUNTING = 1 /* how entries are weighed: what another way of it counted is nothing here */ };

/* Whose it says that it is, and what it and its file take. Its signature is not looked at: the ledger does. */
static bool weigh(struct bytes entry, char name[NOTE_NAME_MAX], int64_t *ret) {
  struct arena arena = {0};
  struct envelope envelope;
  struct statement statement = {0};
  struct lynx_error ignored = {0};
  bool good = envelope_parse(entry, &arena, &envelope, &ignored) == LYNX_OK && envelope.n_signatures == 1 &&
              statement_parse(&envelope, &arena, &statement, &ignored) == LYNX_OK;
  if (good) {
    const char *id = envelope.signatures[0].key_id, *plus = strchr(id, '+');
    int64_t file = strcmp(statement.kind, "bundle") == 0 ? statement_file_bytes(&statement) : 0;
    (void)snprintf(name, NOTE_NAME_MAX, "%.*s", plus != NULL ? (int)(plus - id) : 0, id);
    if (file < 0) file = 0; /* format 1 does not say */
    *ret = file > BYTES_MAX ? BYTES_MAX : file + (int64_t)entry.length;
  }
  statement_release(&statement);
  arena_release(&arena);
  return good;
}

static struct quota_team *team_of(struct quota *quota, const char *name) {
  size_t i = 0;
  while (i < quota->n_teams && strcmp(quota->teams[i].name, name) != 0) i++;
  if (i == quota->n_teams) {
    quota->teams = xgrow(quota->teams, ++quota->n_teams, sizeof *quota->teams);
    quota->teams[i] = (struct quota_team){.bytes = 0};
    (void)snprintf(quota->teams[i].name, NOTE_NAME_MAX, "%s", name);
  }
  return &quota->teams[i];
}

static void add(int64_t *to, int64_t bytes) {
  if (*to < BYTES_MAX) *to += bytes;
}

struct counting {
  struct quota *quota;
  uint64_t end; /* at most the newest checkpoint's: what lies behind it is not signed */
};

static bool count(void *context, uint64_t index, struct bytes bytes) {
  struct counting *c = context;
  char name[NOTE_NAME_MAX];
  int64_t n;
  if (index != c->quota->next || index >= c->end) return false;
  if (weigh(bytes, name, &n)) add(&team_of(c->quota, name)->bytes, n);
  c->quota->next++;
  return true;
}

enum lynx_status quota_count(struct quota *quota, struct ledger *ledger, uint64_t most, bool *ret_all, struct lynx_error *error) {
  struct checkpoint checkpoint;
  enum lynx_status status = ledger_checkpoint(ledger, NULL, &checkpoint, error);
  for (size_t i = 0; i < quota->n_teams; i++) quota->teams[i].promised = 0;
  if (status != LYNX_OK) return status;
  struct counting counting = {quota, checkpoint.size};
  if (most < checkpoint.size && quota->next < checkpoint.size - most) counting.end = quota->next + most;
  if (quota->next < counting.end) status = ledger_each_bytes(ledger, quota->next, count, &counting, error);
  if (status == LYNX_OK && quota->next < counting.end)
    status = lynx_fail(error, LYNX_PROTOCOL, "there is no entry %" PRIu64 ", and the ledger's checkpoint is of %" PRIu64, quota->next,
                       checkpoint.size);
  if (ret_all != NULL) *ret_all = quota->next >= checkpoint.size;
  return status;
}

enum lynx_status quota_allows(struct quota *quota, const struct ledger *ledger, struct bytes entry, struct lynx_error *error) {
  char name[NOTE_NAME_MAX];
  int64_t n;
  if (!weigh(entry, name, &n)) return LYNX_OK;
  const struct policy_team *team = policy_team_named(ledger_policy(ledger), name);
  if (team == NULL) return LYNX_OK;
  struct quota_team *counted = team_of(quota, name);
  const int64_t used = counted->bytes + counted->promised;
  if (used + n <= policy_quota(team)) {
    add(&counted->promised, n);
    return LYNX_OK;
  }
  return lynx_fail(error, LYNX_LIMIT,
                   "%s has brought %" PRId64 " bytes, this would be %" PRId64 " more, and at most %" PRId64
                   " are agreed: an admin changes that with `lynxbench ledger policy --team TEAM.pub --quota SIZE`",
                   name, used, n, policy_quota(team));
}

void quota_added(struct quota *quota, uint64_t index, struct bytes entry) {
  char name[NOTE_NAME_MAX];
  int64_t n;
  if (index != quota->next) return;
  if (weigh(entry, name, &n)) add(&team_of(quota, name)->bytes, n);
  quota->next++;
}

/* --- remembered --- */

static bool root_of(struct ledger *ledger, uint64_t n, char ret[DIGEST_HEX]) {
  const struct merkle_source source = ledger_tree(ledger);
  struct lynx_error ignored = {0};
  uint8_t root[DIGEST_BYTES];
  if (n == 0 || merkle_root(&source, n, root, &ignored) != LYNX_OK) return false;
  (void)digest_hex(root, ret);
  return true;
}

void quota_remember(const struct quota *quota, struct ledger *ledger, const char *path) {
  char root[DIGEST_HEX];
  struct buffer text;
  struct json_writer json;
  if (!root_of(ledger, quota->next, root)) return;
  buffer_init(&text, REMEMBERED_MAX);
  json_begin_object(&json, &text);
  json_put_int(&json, "counting", COUNTING);
  json_put_int(&json, "entries", (int64_t)quota->next);
  json_put_text(&json, "root", root);
  json_key(&json, "teams");
  json_open_array(&json);
  for (size_t i = 0; i < quota->n_teams; i++) {
    json_open_object(&json);
    json_put_text(&json, "team", quota->teams[i].name);
    json_put_int(&json, "bytes", quota->teams[i].bytes);
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
  if (json_finish(&json)) {
    file_make_parents(path, 0700);
    (void)file_replace_private(path, text.data, text.length); /* a file that is not there costs time, and nothing else */
  }
  buffer_release(&text);
}

static bool read_team(const json_t *one, struct quota *to) {
  const char *name = json_get_text(one, "team", NULL);
  int64_t bytes = json_get_int(one, "bytes", -1);
  if (name == NULL || strlen(name) >= NOTE_NAME_MAX || bytes < 0 || bytes > BYTES_MAX) return false;
  const size_t n_before = to->n_teams;
  team_of(to, name)->bytes = bytes;
  return to->n_teams > n_before; /* each once */
}

static bool read_remembered(const json_t *whole, struct ledger *ledger, struct quota *to) {
  const json_t *teams = json_object_get(whole, "teams"), *one;
  const int64_t n = json_get_int(whole, "entries", 0);
  struct checkpoint checkpoint;
  struct lynx_error ignored = {0};
  char root[DIGEST_HEX];
  size_t i;
  bool good = json_get_int(whole, "counting", 0) == COUNTING && json_is_array(teams) && n > 0 &&
              ledger_checkpoint(ledger, NULL, &checkpoint, &ignored) == LYNX_OK && (uint64_t)n <= checkpoint.size &&
              root_of(ledger, (uint64_t)n, root) && strcmp(json_get_text(whole, "root", ""), root) == 0;
  json_array_foreach(teams, i, one) good = good && read_team(one, to);
  to->next = (uint64_t)n;
  return good;
}

void quota_recall(struct quota *quota, struct ledger *ledger, const char *path) {
  static const struct root root = {""};
  struct lynx_error ignored = {0};
  struct buffer text;
  struct quota found = {0};
  buffer_init(&text, REMEMBERED_MAX);
  json_t *whole = root_read_file(&root, path, &text, &ignored) == LYNX_OK && text.data != NULL
                      ? json_parse(text.data, text.length, REMEMBERED_MAX, &ignored)
                      : NULL;
  if (quota->next == 0 && whole != NULL && read_remembered(whole, ledger, &found)) *quota = found;
  else quota_release(&found);
  json_decref(whole);
  buffer_release(&text);
}

void quota_release(struct quota *quota) {
  free(quota->teams);
  *quota = (struct quota){0};
}
