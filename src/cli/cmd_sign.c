#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bundle_entry.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "cli/ledger_file.h"
#include "cli/team_key.h"
#include "ledger/blob.h"
#include "record/bundle.h"

enum { FLAG_KEY, FLAG_RESERVATION, FLAG_LEDGER, FLAG_FOR, FLAG_OUT, FLAG_CHECK };

static const struct option_spec options[] = {
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key (default: LYNXBENCH_KEY)"),
    [FLAG_RESERVATION] = OPTION("reservation", "TEXT", "sign with this reservation, which is recorded"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "add the signature there too (default: LYNXBENCH_LEDGER)"),
    [FLAG_FOR] = OPTION("for", "ORIGIN", "the ledger that the signature may be added to later, by its origin; without it, to none"),
    [FLAG_OUT] = OPTION("out", "FILE", "the signature (default: FILE.TEAM.dsse.json)"),
    [FLAG_CHECK] = OPTION("check", "TEAM.pub", "check that team's signature of FILE instead")};

/* What is signed: a contract, a bundle or a profile, by its digest. */
struct signed_file {
  const char *what; /* also the subject's name */
  uint8_t digest[DIGEST_BYTES], file[DIGEST_BYTES];
  char *text; /* of a contract */
};

static bool read_contract(const char *path, struct signed_file *ret) {
  struct contract_file file;
  char hex[DIGEST_HEX];
  if (!contract_file_read(path, &file)) return false;
  bool good = file.problems.n_errors == 0;
  contract_file_print_problems(&file, path, false, false, stderr);
  if (!good) complain("lynxbench: %s: %zu error%s: nothing was signed\n", path, file.problems.n_errors, LYNX_S(file.problems.n_errors));
  contract_digest(&file.contract, hex);
  ret->what = "contract";
  good = good && hex_decode(hex, ret->digest, DIGEST_BYTES);
  ret->text = good ? xcopy(file.text.data) : NULL;
  contract_file_release(&file);
  return good;
}

static enum lynx_status read_root(const char *path, struct signed_file *ret, struct lynx_error *error) {
  struct bundle *bundle = NULL;
  struct bundle_seal_info seal;
  enum lynx_status status = bundle_open(path, &bundle, &seal, error);
  bundle_close(bundle);
  ret->what = "bundle";
  if (status == LYNX_OK && !hex_decode(seal.root, ret->digest, DIGEST_BYTES))
    status = lynx_fail(error, LYNX_INPUT, "the bundle is not sealed: there is nothing to sign yet");
  return status;
}

static bool read_signed_file(const char *path, struct signed_file *ret) {
  struct lynx_error error = {0};
  int64_t length;
  *ret = (struct signed_file){.what = "profile"};
  enum lynx_status status = blob_digest_file(path, ret->file, &length, &error);
  char first[16] = "";
  FILE *file = status == LYNX_OK ? fopen(path, "re") : NULL;
  size_t n = file != NULL ? fread(first, 1, sizeof first, file) : 0;
  if (file != NULL) (void)fclose(file); /* it was read */
  if (status == LYNX_OK && n == 16 && memcmp(first, "SQLite format 3", 16) == 0) status = read_root(path, ret, &error);
  else if (status == LYNX_OK && n > 0 && first[0] == '{') memcpy(ret->digest, ret->file, DIGEST_BYTES);
  else if (status == LYNX_OK) return read_contract(path, ret);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

static void signature_path(const char *path, const char *team, char *ret, size_t size) {
  char base[NOTE_NAME_MAX];
  (void)snprintf(ret, size, "%s.%s.dsse.json", path, team_key_file_name(team, base));
}

static void make_entry(const struct signed_file *file, const char *name, const char *reservation, struct entry *ret) {
  *ret = (struct entry){.kind = "signature"};
  entry_subject(ret, file->what, file->digest);
  if (strcmp(file->what, "bundle") == 0) entry_subject(ret, "file", file->file);
  entry_member(ret, "of", file->what);
  entry_member(ret, "name", name);
  entry_member(ret, "reservation", reservation);
}

/* Into the ledger, with the contract's words. */
static bool add_signature(struct ledger_file *ledger, const struct signed_file *file, const char *name, const struct signer *signer,
                          const struct buffer *envelope) {
  char hex[DIGEST_HEX];
  uint64_t index = 0;
  if ((file->text != NULL && !contract_entry_add(ledger, digest_hex(file->digest, hex), name, file->text, signer)) ||
      !ledger_file_add_signed(ledger, (struct bytes){envelope->data, envelope->length}, &index))
    return false;
  say("%s: entry %llu\n", ledger->address, (unsigned long long)index);
  return true;
}

static int sign_file(const struct arguments *arguments, const struct signed_file *file, const struct signer *signer) {
  const char *path = arguments->positional[0], *address = ledger_file_address(arguments->option[FLAG_LEDGER]), *slash = strrchr(path, '/');
  const char *name = slash != NULL ? slash + 1 : path, *origin = arguments->option[FLAG_FOR];
  const char *reservation = arguments->option[FLAG_RESERVATION];
  char out[4200], now[40], hex[DIGEST_HEX];
  struct buffer envelope;
  struct entry entry;
  struct lynx_error error = {0};
  struct ledger_file ledger;
  if (origin != NULL && (!note_name_valid(origin) || address != NULL)) {
    complain("lynxbench ledger sign: --for: found '%.80s'%s; accepted: the origin of a ledger, a name, where no ledger is given\n", origin,
             address != NULL ? " beside a ledger" : "");
    return EXIT_WRONG_INPUT;
  }
  if (address != NULL && !ledger_file_open(address, LEDGER_ADDS, &ledger)) return EXIT_WRONG_INPUT;
  signature_path(path, signer->name, out, sizeof out);
  make_entry(file, name, reservation, &entry);
  entry.ledger = address != NULL ? ledger_policy(ledger.ledger)->origin : origin;
  buffer_init(&envelope, ENVELOPE_MAX);
  int code = EXIT_HOLDS;
  if (entry_sign(&entry, clock_text(now, clock_system.realtime_ns(clock_system.context)), signer, &envelope, &error) != LYNX_OK)
    code = report_error(&error);
  const char *to = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : out;
  if (code == EXIT_HOLDS && !write_buffer(to, &envelope)) code = EXIT_CONDITIONS;
  if (code == EXIT_HOLDS && strcmp(to, "-") != 0)
    say("%s: %s %.16s signed by %s%s%s\n", to, file->what, digest_hex(file->digest, hex), signer->name,
        reservation != NULL ? ", with the reservation: " : "", reservation != NULL ? reservation : "");
  if (code == EXIT_HOLDS && address != NULL && !add_signature(&ledger, file, name, signer, &envelope)) code = EXIT_WRONG_INPUT;
  if (code == EXIT_HOLDS && address == NULL && strcmp(to, "-") != 0 && origin != NULL)
    say("next: hand it out with %s, or add it to the ledger of origin %s: lynxbench ledger add LEDGER %s\n", name, origin, to);
  if (code == EXIT_HOLDS && address == NULL && strcmp(to, "-") != 0 && origin == NULL)
    say("next: hand it out with %s. It can be added to no ledger: for that, sign with --ledger LEDGER or --for ORIGIN\n", name);
  if (address != NULL) ledger_file_close(&ledger);
  buffer_release(&envelope);
  return code;
}

static int check_signature(const struct arguments *arguments, const struct signed_file *file) {
  struct note_key key;
  struct buffer text;
  struct arena arena = {0};
  struct envelope envelope;
  struct statement statement = {0};
  struct lynx_error error = {0};
  char path[4200];
  if (!team_key_public(arguments->option[FLAG_CHECK], &key)) return EXIT_WRONG_INPUT;
  signature_path(arguments->positional[0], key.name, path, sizeof path);
  const char *from = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : path;
  if (!read_file(from, ENVELOPE_MAX, &text)) return EXIT_WRONG_INPUT;
  struct bytes bytes = {text.data != NULL ? text.data : "", text.length};
  enum lynx_status status = envelope_parse(bytes, &arena, &envelope, &error);
  if (status == LYNX_OK) status = statement_parse(&envelope, &arena, &statement, &error);
  int code;
  if (status != LYNX_OK) {
    lynx_error_at(&error, from, 0, NULL);
    code = report_error(&error);
  } else {
    const uint8_t *digest = statement_subject_named(&statement, file->what);
    char id[NOTE_KEY_TEXT_MAX];
    bool named = envelope.n_signatures == 1 && strcmp(envelope.signatures[0].key_id, note_key_id_text(&key, id)) == 0;
    const char *why = !named || !envelope_plain(bytes, &envelope) || !envelope_signed_by(&envelope, key.public_key)
                          ? "the signature does not hold: the envelope was altered, or another key made it"
                      : strcmp(statement.kind, "signature") != 0 ? "it is no signature of a file"
                      : digest == NULL || memcmp(digest, file->digest, DIGEST_BYTES) != 0
                          ? "it is a signature of something else: the file was altered, or is another"
                          : NULL;
    char safe[600], when[40];
    const char *reservation = json_get_text(statement.predicate, "reservation", NULL),
               *time = json_get_text(statement.predicate, "time", "?");
    if (reservation != NULL) reservation = text_sanitise(safe, sizeof safe, reservation, strlen(reservation));
    code = why == NULL ? EXIT_HOLDS : EXIT_DOES_NOT_HOLD;
    if (why != NULL) say("%s: %s\n", from, why);
    else
      say("%s: holds: %s signed this %s at %s by its own clock%s%s\n", from, key.name, file->what,
          text_sanitise(when, sizeof when, time, strlen(time)), reservation != NULL ? ", with the reservation: " : "",
          reservation != NULL ? reservation : "");
  }
  statement_release(&statement);
  arena_release(&arena);
  buffer_release(&text);
  return code;
}

static int run(const struct arguments *arguments) {
  struct signed_file file;
  struct signer signer = {.key = NULL};
  bool checks = arguments->option[FLAG_CHECK] != NULL;
  if (!checks && !team_key_wanted(arguments->option[FLAG_KEY], "sign", &signer)) return EXIT_WRONG_INPUT;
  int code = EXIT_WRONG_INPUT;
  if (read_signed_file(arguments->positional[0], &file)) {
    code = checks ? check_signature(arguments, &file) : sign_file(arguments, &file, &signer);
    free(file.text);
  }
  signing_key_release(signer.key);
  return code;
}

const struct command command_sign = {
    .name = "ledger sign",
    .summary = "sign a contract, a bundle or a profile",
    .usage = "FILE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Writes FILE.TEAM.dsse.json: a DSSE envelope with an in-toto statement about FILE's digest (a contract's is that of its\n"
               "canonical form, a bundle's its root). A contract is agreed when every team in its signatories signed before the run\n"
               "began, which a ledger shows. --check says whether a signature holds, and exits with 1 where it does not.",
    .example =
        "rm -rf /tmp/keys /tmp/s.yaml*; mkdir -p /tmp/keys; cp examples/null.yaml /tmp/s.yaml; build/lynxbench ledger key ml --out "
        "/tmp/keys; "
        "build/lynxbench ledger sign /tmp/s.yaml --key /tmp/keys/ml.key; build/lynxbench ledger sign /tmp/s.yaml --check /tmp/keys/ml.pub",
    .run = run};
