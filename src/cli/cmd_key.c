#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "base/shell.h"
#include "cli/team_key.h"

enum { FLAG_OUT, FLAG_PASSPHRASE, FLAG_AGENT, FLAG_TOKEN };

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FOLDER", "where to put the two files (default: here)"),
    [FLAG_PASSPHRASE] = SWITCH("passphrase", "ask on the terminal for a passphrase to keep the key under"),
    [FLAG_AGENT] = OPTION("agent", "COMMENT",
                          "use the Ed25519 key that ssh-agent holds under this comment, instead of a new one in a file"),
    [FLAG_TOKEN] = OPTION("pkcs11", "URI", "use the Ed25519 key of a PKCS#11 token (RFC 7512; through OpenSSL's provider pkcs11)")};

/* False: reported. */
static bool read_passphrase(const struct arguments *arguments, char ret[PASSPHRASE_MAX]) {
  if (!team_key_passphrase(ret)) return false;
  if (arguments->option[FLAG_PASSPHRASE] == NULL || ret[0] != 0) return true;
  if (team_key_ask("A passphrase for the new key: ", true, ret)) return true;
  complain("lynxbench ledger key: --passphrase: none was given twice alike on a terminal; LYNXBENCH_PASSPHRASE may hold it\n");
  return false;
}

static int run(const struct arguments *arguments) {
  const char *team = arguments->positional[0], *folder = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : ".";
  struct signing_key *key = NULL;
  struct lynx_error error = {0};
  struct note_key public;
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  char base[NOTE_NAME_MAX], private_path[4200], public_path[4200], text[NOTE_KEY_TEXT_MAX], passphrase[PASSPHRASE_MAX];
  char head[NOTE_NAME_MAX + 16], line[NOTE_KEY_TEXT_MAX + 1];
  bool exists;
  if (!note_name_valid(team)) {
    complain("lynxbench ledger key: found '%s', accepted: a name of letters, digits and . _ - /, of at most %d bytes\n", team,
             NOTE_NAME_MAX - 1);
    return EXIT_WRONG_INPUT;
  }
  const char *agent = arguments->option[FLAG_AGENT], *token = arguments->option[FLAG_TOKEN];
  bool elsewhere = agent != NULL || token != NULL;
  if ((agent != NULL && token != NULL) || (elsewhere && arguments->option[FLAG_PASSPHRASE] != NULL)) {
    complain("lynxbench ledger key: one of --agent, --pkcs11 and --passphrase: a key is in one place\n");
    return EXIT_WRONG_INPUT;
  }
  passphrase[0] = 0;
  if (!elsewhere && !read_passphrase(arguments, passphrase)) return EXIT_WRONG_INPUT;
  (void)snprintf(private_path, sizeof private_path, "%s/%s.key", folder, team_key_file_name(team, base));
  (void)snprintf(public_path, sizeof public_path, "%s/%s.pub", folder, base);
  (void)snprintf(head, sizeof head, "team: %s\n", team);
  bool under_passphrase = passphrase[0] != 0;
  int code = EXIT_HOLDS;
  if (elsewhere && !key_file_point(private_path, team, agent, token, &key, &exists)) code = EXIT_WRONG_INPUT;
  if (!elsewhere && signing_key_make(&key, &error) != LYNX_OK) code = report_error(&error);
  if (code == EXIT_HOLDS && !elsewhere && !key_file_create(private_path, head, key, under_passphrase ? passphrase : NULL, &exists))
    code = exists ? EXIT_WRONG_INPUT : EXIT_CONDITIONS;
  explicit_bzero(passphrase, sizeof passphrase);
  if (code == EXIT_HOLDS) {
    signing_key_public(key, public_key);
    note_key_make(team, NOTE_ED25519, public_key, &public);
    (void)snprintf(line, sizeof line, "%s\n", note_key_text(&public, text));
    if (!write_output(public_path, line, strlen(line))) code = EXIT_CONDITIONS;
  }
  if (code == EXIT_HOLDS)
    say("%s: %s\n%s: public, for everybody: %s\nnext: lynxbench ledger sign CONTRACT.yaml --key %s\n", private_path,
        agent != NULL      ? "says which key of ssh-agent's it is"
        : token != NULL    ? "says which key of the token's it is"
        : under_passphrase ? "private, under the passphrase: give it to nobody"
                           : "private, without a passphrase (--passphrase would ask for one): give it to nobody",
        public_path, text, shell_word(private_path));
  signing_key_release(key);
  return code;
}

const struct command command_key = {
    .name = "ledger key",
    .summary = "make a team's signing key",
    .usage = "TEAM",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Writes TEAM.key (an Ed25519 private key in PEM, readable by its owner alone) and TEAM.pub (one line, to hand out).\n"
        "Where LYNXBENCH_PASSPHRASE is set, or LYNXBENCH_PASSPHRASE_FILE names a file, the private key lies under that\n"
        "passphrase, and whatever signs needs it too, or asks for it on the terminal. With --agent or --pkcs11 the private key stays\n"
        "where it is, and TEAM.key says where that is. Name the team as the contract's owners and signatories do.",
    .example = "rm -rf /tmp/keys; mkdir -p /tmp/keys; build/lynxbench ledger key ml --out /tmp/keys",
    .run = run};
