#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_entry.h"
#include "base/state.h"
#include "cli/command.h"
#include "cli/ledger_export.h"
#include "cli/ledger_file.h"
#include "cli/option_value.h"
#include "cli/team_key.h"
#include "ledger/seen.h"

enum { FLAG_KEY, FLAG_ORIGIN, FLAG_TEAM, FLAG_ADMIN, FLAG_WITNESS, FLAG_QUORUM, FLAG_QUOTA, FLAG_REMOVE, FLAG_OUT, FLAG_RAW, FLAG_JSON };

static const struct option_spec options[] = {
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key (default: LYNXBENCH_KEY)"),
    [FLAG_ORIGIN] = OPTION("origin", "NAME", "create: the ledger's name to the world (default: its file's name)"),
    [FLAG_TEAM] = OPTION("team", "TEAM.pub",
                         "policy: admit this team, or its new key; what it was allowed it keeps, unless --remove TEAM goes with it"),
    [FLAG_ADMIN] = SWITCH("admin", "policy: and let it change the policy"),
    [FLAG_WITNESS] = SWITCH("witness", "policy: and count its cosignatures"),
    [FLAG_QUOTA] = OPTION("quota", "SIZE",
                          "policy: how much the team may bring to a ledger that is served, entries and files: 500MiB, 64GiB (default)"),
    [FLAG_QUORUM] = OPTION_WITH("quorum", "N", "policy: how many witnesses must cosign a checkpoint", VALUE_COUNT, INT32_MIN, INT32_MAX,
                                "a whole number"),
    [FLAG_REMOVE] = OPTION("remove", "TEAM", "policy: admit that team no longer"),
    [FLAG_OUT] = OPTION("out", "FILE", "get: the bundle's file"),
    [FLAG_RAW] = SWITCH("raw", "entry: the envelope's bytes, as they were signed"),
    [FLAG_JSON] = SWITCH("json", "list: as lines of JSON")};

/* --- create --- */

static int create(const struct arguments *arguments) {
  const char *address = arguments->positional[1], *slash = strrchr(address, '/'), *own = getenv("LYNXBENCH_LOG_KEY");
  bool remote = strstr(address, "://") != NULL;
  struct signer signer;
  struct signing_key *log_key = NULL;
  struct lynx_error error = {0};
  char path[4200], origin[NOTE_NAME_MAX], text[512];
  const char *shown = ledger_file_shown(address, text, sizeof text);
  if (!team_key_wanted(arguments->option[FLAG_KEY], "ledger", &signer)) return EXIT_WRONG_INPUT;
  if (remote && own == NULL) {
    complain("lynxbench ledger: LYNXBENCH_LOG_KEY must name the file for the log's own key, which signs checkpoints: a database "
             "has no place beside it\n");
    signing_key_release(signer.key);
    return EXIT_WRONG_INPUT;
  }
  if (own != NULL) (void)snprintf(path, sizeof path, "%s", own);
  else (void)snprintf(path, sizeof path, "%s.key", address);
  (void)snprintf(origin, sizeof origin, "%s",
                 arguments->option[FLAG_ORIGIN] != NULL ? arguments->option[FLAG_ORIGIN]
                 : slash != NULL                        ? slash + 1
                                                        : address);
  if (remote) origin[strcspn(origin, "?")] = 0; /* a database's address may go on with settings */
  lynx_error_at(&error, shown, 0, NULL);        /* before anybody names it with its password */
  enum lynx_status status = access(address, F_OK) == 0
                                ? lynx_fail(&error, LYNX_INPUT, "the file exists; a ledger is never overwritten: name another")
                                : signing_key_make(&log_key, &error);
  int code = EXIT_WRONG_INPUT;
  bool exists;
  if (status == LYNX_OK && !key_file_create(path, "", log_key, NULL, &exists))
    status = LYNX_IO; /* told; before the ledger: without its key it would be of no use */
  else if (status == LYNX_OK) {
    const struct ledger_start start = {.origin = origin, .admin = &signer, .log_key = log_key};
    status = ledger_create(address, &start, &error);
    char folder[4096];
    if (status == LYNX_OK && state_path("ledgers", folder, sizeof folder))
      seen_forget(address, folder); /* another stood there once, perhaps */
    if (status != LYNX_OK) (void)unlink(path);
  }
  if (status == LYNX_OK) {
    const char *key = arguments->option[FLAG_KEY];
    code = EXIT_HOLDS;
    say("%s: the ledger %s, of which %s is admin\n%s: the log's own key, which signs checkpoints: keep it where whoever writes "
        "can read it\n"
        "next: lynxbench ledger policy %s%s%s --team OTHER.pub\n",
        shown, origin, signer.name, path, shell_word(shown), key != NULL ? " --key " : "", key != NULL ? shell_word(key) : "");
  } else if (error.status != LYNX_OK) code = report_error(&error);
  signing_key_release(log_key);
  signing_key_release(signer.key);
  return code;
}

/* --- policy --- */

static void print_policy(const struct policy *p) {
  char text[NOTE_KEY_TEXT_MAX];
  say("policy %" PRId64 " of %s\nlog key  %s\n", p->number, p->origin, note_key_text(&p->log, text));
  for (size_t i = 0; i < p->n_teams; i++)
    say("team     %s%s%s, at most %.6g MiB over HTTP\n", note_key_text(&p->teams[i].key, text), p->teams[i].admin ? ", admin" : "",
        p->teams[i].witness ? ", witness" : "", (double)policy_quota(&p->teams[i]) / (1 << 20));
  if (p->quorum > 0) say("quorum   %" PRId64 " witnesses vouch for a checkpoint\n", p->quorum);
  else say("quorum   0: nobody but the ledger's keeper vouches for its history\n");
}

/* "500MiB", "64GiB". False: reported. */
static bool read_quota(const char *text, int64_t *ret) {
  static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
  size_t digits = strspn(text, "0123456789");
  for (size_t i = 0; i < LYNX_COUNT(units); i++)
    if (strcmp(text + digits, units[i]) == 0 && number_int64(text, digits, ret) && *ret > 0 && *ret <= INT64_MAX >> (10 * i)) {
      *ret <<= 10 * i;
      return true;
    }
  complain("lynxbench ledger: --quota: found '%.60s', accepted: bytes, or a whole number of KiB, MiB, GiB or TiB\n", text);
  return false;
}

/* False: reported. */
static bool change_policy(const struct arguments *arguments, struct policy *p) {
  const char *team = arguments->option[FLAG_TEAM], *gone = arguments->option[FLAG_REMOVE];
  struct note_key key;
  if (gone != NULL) {
    size_t i = 0;
    while (i < p->n_teams && strcmp(p->teams[i].key.name, gone) != 0) i++;
    if (i == p->n_teams) {
      complain("lynxbench ledger: --remove: found '%s', which is no team of this ledger\n", gone);
      return false;
    }
    p->n_teams--;
    memmove(&p->teams[i], &p->teams[i + 1], (p->n_teams - i) * sizeof p->teams[0]);
  }
  if (team != NULL) {
    if (!team_key_public(team, &key)) return false;
    size_t i = 0;
    while (i < p->n_teams && strcmp(p->teams[i].key.name, key.name) != 0) i++;
    if (i == POLICY_TEAMS_MAX) {
      complain("lynxbench ledger: a policy holds at most %d teams\n", POLICY_TEAMS_MAX);
      return false;
    }
    const struct policy_team known = i < p->n_teams ? p->teams[i] : (struct policy_team){.admin = false};
    if (i == p->n_teams) p->n_teams++;
    p->teams[i] = (struct policy_team){.key = key,
                                       .admin = known.admin || arguments->option[FLAG_ADMIN] != NULL,
                                       .witness = known.witness || arguments->option[FLAG_WITNESS] != NULL,
                                       .quota = known.quota};
    if (arguments->option[FLAG_QUOTA] != NULL && !read_quota(arguments->option[FLAG_QUOTA], &p->teams[i].quota)) return false;
  }
  p->quorum = option_count(arguments, FLAG_QUORUM, p->quorum);
  p->number++;
  struct lynx_error error = {0};
  if (policy_check(p, &error) == LYNX_OK) return true;
  (void)report_error(&error);
  return false;
}

static int policy(const struct arguments *arguments) {
  struct ledger_file file;
  struct signer signer;
  if (arguments->option[FLAG_TEAM] == NULL &&
      (arguments->option[FLAG_ADMIN] != NULL || arguments->option[FLAG_WITNESS] != NULL || arguments->option[FLAG_QUOTA] != NULL)) {
    complain("lynxbench ledger: --admin, --witness and --quota belong to --team TEAM.pub\n");
    return EXIT_WRONG_INPUT;
  }
  bool changes = arguments->option[FLAG_TEAM] != NULL || arguments->option[FLAG_REMOVE] != NULL || arguments->option[FLAG_QUORUM] != NULL;
  if (!ledger_file_open(arguments->positional[1], changes ? LEDGER_ADDS : LEDGER_READS, &file)) return ledger_file_code(&file);
  int code = EXIT_WRONG_INPUT;
  if (!changes) code = EXIT_HOLDS;
  else if (team_key_wanted(arguments->option[FLAG_KEY], "ledger", &signer)) {
    struct policy next = *ledger_policy(file.ledger);
    uint64_t index;
    struct entry entry;
    policy_entry(&next, &entry);
    if (change_policy(arguments, &next) && ledger_file_add(&file, &entry, &signer, &index, NULL)) code = EXIT_HOLDS;
    signing_key_release(signer.key);
  }
  if (code == EXIT_HOLDS) print_policy(ledger_policy(file.ledger));
  ledger_file_close(&file);
  return code;
}

/* --- reading --- */

struct listing {
  bool json;
};

static bool print_entry(void *context, const struct ledger_entry *entry, const char *subject) {
  const struct listing *listing = context;
  char hex[DIGEST_HEX], leaf[DIGEST_HEX];
  const char *time = json_get_text(entry->statement.predicate, "time", "");
  (void)subject;
  (void)digest_hex(entry->leaf, leaf);
  if (listing->json) {
    struct buffer text;
    struct json_writer json;
    buffer_init(&text, 1 << 20);
    json_begin_object(&json, &text);
    json_put_int(&json, "index", (int64_t)entry->index);
    json_put_text(&json, "entry", leaf);
    json_put_text(&json, "kind", entry->statement.kind);
    json_put_text(&json, "by", entry->signer);
    json_put_text(&json, "time", time);
    json_key(&json, "subjects");
    json_open_object(&json);
    for (size_t i = 0; i < entry->statement.n_subjects; i++)
      json_put_text(&json, entry->statement.subjects[i].name, digest_hex(entry->statement.subjects[i].digest, hex));
    json_close(&json);
    json_close(&json);
    bool good = json_finish(&json) && buffer_text(&text, "\n") && write_buffer(NULL, &text);
    buffer_release(&text);
    return good;
  }
  say("%6" PRIu64 "  %-12s %-14s %-20.20s", entry->index, entry->statement.kind, entry->signer, time);
  for (size_t i = 0; i < entry->statement.n_subjects && i < 2 && strcmp(entry->statement.kind, "policy") != 0; i++)
    say("  %s %.12s", entry->statement.subjects[i].name, digest_hex(entry->statement.subjects[i].digest, hex));
  static const char *const telling[] = {"decision", "ground", "reservation", "ended", "text", "title", "change", "name"};
  for (size_t i = 0; i < LYNX_COUNT(telling) && strcmp(entry->statement.kind, "policy") != 0; i++) {
    const char *value = json_get_text(entry->statement.predicate, telling[i], NULL);
    if (value == NULL || (strcmp(telling[i], "text") == 0 && strcmp(entry->statement.kind, "contract") == 0)) continue;
    say("  %.59s", value);
  }
  say("\n");
  return true;
}

static int list(const struct arguments *arguments, struct ledger_file *file) {
  struct listing listing = {arguments->option[FLAG_JSON] != NULL};
  struct lynx_error error = {0};
  return ledger_each_entry(file->ledger, 0, print_entry, &listing, &error) == LYNX_OK ? EXIT_HOLDS : report_error(&error);
}

static const char *entry_wanted(const struct arguments *arguments) {
  return arguments->n_positional > 2 ? arguments->positional[2] : "";
}

static int entry(const struct arguments *arguments, struct ledger_file *file) {
  struct arena arena = {0};
  struct ledger_entry entry = {0};
  struct lynx_error error = {0};
  uint64_t index;
  if (!ledger_file_find(file, entry_wanted(arguments), &index)) return EXIT_WRONG_INPUT;
  enum lynx_status status = ledger_read_entry(file->ledger, index, &arena, &entry, &error);
  int code = status == LYNX_OK ? EXIT_HOLDS : report_error(&error);
  if (status == LYNX_OK && arguments->option[FLAG_RAW] != NULL)
    code = write_output(NULL, entry.bytes.ptr, entry.bytes.length) ? EXIT_HOLDS : EXIT_CONDITIONS;
  else if (status == LYNX_OK) {
    char hex[DIGEST_HEX];
    char *text = json_dumps(entry.statement.whole, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    say("entry %" PRIu64 ", %s, signed by %s\n", index, digest_hex(entry.leaf, hex), entry.signer);
    if (!write_output(NULL, text != NULL ? text : "", text != NULL ? strlen(text) : 0)) code = EXIT_CONDITIONS;
    say("\n");
    free(text);
  }
  statement_release(&entry.statement);
  arena_release(&arena);
  return code;
}

static int proof(const struct arguments *arguments, struct ledger_file *file) {
  struct buffer text;
  struct lynx_error error = {0};
  uint64_t index;
  if (!ledger_file_find(file, entry_wanted(arguments), &index)) return EXIT_WRONG_INPUT;
  buffer_init(&text, NOTE_MAX);
  int code = ledger_proof_text(file->ledger, index, &text, &error) != LYNX_OK ? report_error(&error)
             : write_buffer(NULL, &text)                                      ? EXIT_HOLDS
                                                                              : EXIT_CONDITIONS;
  buffer_release(&text);
  return code;
}

static int checkpoint(const struct arguments *arguments, struct ledger_file *file) {
  struct buffer text;
  struct checkpoint found;
  struct lynx_error error = {0};
  (void)arguments;
  buffer_init(&text, NOTE_MAX);
  int code = ledger_checkpoint(file->ledger, &text, &found, &error) != LYNX_OK ? report_error(&error)
             : write_buffer(NULL, &text)                                       ? EXIT_HOLDS
                                                                               : EXIT_CONDITIONS;
  buffer_release(&text);
  return code;
}

/* --- adding --- */

static int add(const struct arguments *arguments, struct ledger_file *file) {
  struct buffer text;
  uint64_t index;
  if (arguments->n_positional < 3) {
    complain("lynxbench ledger: an argument is missing: the signature's file\n");
    return EXIT_WRONG_INPUT;
  }
  if (!read_file(arguments->positional[2], ENVELOPE_MAX, &text)) return EXIT_WRONG_INPUT;
  bool good = ledger_file_add_signed(file, (struct bytes){text.data != NULL ? text.data : "", text.length}, &index);
  if (good) say("%s: entry %" PRIu64 "\n", file->address, index);
  buffer_release(&text);
  return good ? EXIT_HOLDS : EXIT_WRONG_INPUT;
}

static int put(const struct arguments *arguments, struct ledger_file *file) {
  struct signer signer;
  uint64_t index;
  if (arguments->n_positional < 3) {
    complain("lynxbench ledger: an argument is missing: the bundle\n");
    return EXIT_WRONG_INPUT;
  }
  if (!team_key_wanted(arguments->option[FLAG_KEY], "ledger", &signer)) return EXIT_WRONG_INPUT;
  bool good = bundle_entry_add(file, arguments->positional[2], &signer, &index);
  if (good) say("%s: entry %" PRIu64 "\n", file->address, index);
  signing_key_release(signer.key);
  return good ? EXIT_HOLDS : EXIT_WRONG_INPUT;
}

static int get(const struct arguments *arguments, struct ledger_file *file) {
  const char *root_text = arguments->n_positional > 2 ? arguments->positional[2] : "", *out = arguments->option[FLAG_OUT];
  uint8_t root[DIGEST_BYTES];
  char path[100], hex[DIGEST_HEX];
  struct lynx_error error = {0};
  lynx_error_at(&error, file->address, 0, NULL);
  if (ledger_digest(file->ledger, root_text, "bundle", root, &error) != LYNX_OK) return report_error(&error);
  (void)snprintf(path, sizeof path, "%.16s.lynx", digest_hex(root, hex));
  if (out == NULL) out = path;
  if (bundle_entry_get(file, hex, out, &error) != LYNX_OK) return report_error(&error);
  say("%s\nnext: lynxbench show %s; lynxbench verify %s\n", out, shell_word(out), shell_word(out));
  return EXIT_HOLDS;
}

/* --- which --- */

static int export(const struct arguments *arguments, struct ledger_file *file) {
  if (arguments->n_positional > 2) return ledger_export(file, arguments->positional[2]) ? EXIT_HOLDS : EXIT_CONDITIONS;
  complain("lynxbench ledger: an argument is missing: the folder\n");
  return EXIT_WRONG_INPUT;
}

static const struct {
  const char *name;
  int (*run)(const struct arguments *arguments, struct ledger_file *file);
  bool writes;
} actions[] = {{"list", list, false}, {"entry", entry, false}, {"proof", proof, false}, {"checkpoint", checkpoint, false},
               {"add", add, true},    {"put", put, true},      {"get", get, false},     {"export", export, false}};

static int run(const struct arguments *arguments) {
  const char *name = arguments->positional[0];
  if (strcmp(name, "create") == 0) return create(arguments);
  if (strcmp(name, "policy") == 0) return policy(arguments);
  for (size_t i = 0; i < LYNX_COUNT(actions); i++) {
    struct ledger_file file;
    if (strcmp(actions[i].name, name) != 0) continue;
    if (!ledger_file_open(arguments->positional[1], actions[i].writes ? LEDGER_ADDS : LEDGER_READS, &file)) return ledger_file_code(&file);
    int code = actions[i].run(arguments, &file);
    ledger_file_close(&file);
    return code;
  }
  complain("lynxbench ledger: found '%s', accepted: " LEDGER_ACTIONS "; key, sign, "
           "witness, push, pull, reader\n",
           name);
  return EXIT_WRONG_INPUT;
}

const struct command command_ledger = {
    .name = "ledger",
    .summary = "create and read a ledger; set who may write; prove entries",
    .usage = "ACTION LEDGER [WHAT]",
    .least = 2,
    .most = 3,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "ACTION is one of\n"
               "  create       a new ledger: one file, of which --key's team is admin\n"
               "  policy       who may write; with --team, --remove or --quorum it is changed, which is itself an entry\n"
               "  list         every entry\n"
               "  entry N      one entry in full; --raw: the envelope as it was signed\n"
               "  proof N      that entry N is in the tree, as text that other tools read (c2sp.org/tlog-proof)\n"
               "  checkpoint   the signed size and root of the tree\n"
               "  add FILE     a signed envelope, as `lynxbench ledger sign` writes\n"
               "  put BUNDLE   a bundle that was run without --ledger, under --key's signature\n"
               "  get ROOT     a bundle out of the ledger, by its root\n"
               "  export DIR   all of it as static files, which `lynxbench ledger pull` and other logs' clients read (C2SP tlog-tiles)\n"
               "Entries are only ever added. Whatever is read here is checked against what was last seen from here: a ledger that was\n"
               "rolled back or forked is refused.",
    .example = "rm -rf /tmp/log; mkdir -p /tmp/log; build/lynxbench ledger key ml --out /tmp/log; build/lynxbench ledger create "
               "/tmp/log/team.ledger --key "
               "/tmp/log/ml.key; build/lynxbench ledger list /tmp/log/team.ledger",
    .run = run};
