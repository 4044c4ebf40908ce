#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/team_key.h"

static const struct option_spec options[] = {{"out", "FOLDER", "where to put the two files (default: here)"}};

/* A private key is never overwritten, and nobody else may read it. */
static bool write_private(const char *path, const char *data, size_t length, bool *ret_exists) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = fd >= 0 && write(fd, data, length) == (ssize_t)length && fsync(fd) == 0;
  int why = errno;
  *ret_exists = fd < 0 && why == EEXIST;
  if (fd >= 0 && close(fd) != 0 && good) good = false, why = errno;
  if (good) return true;
  if (fd >= 0) (void)unlink(path); /* half a key is none */
  (void)fprintf(stderr, "lynxbench key: %s: %s\n", path,
                why == EEXIST ? "the file exists; a key is never overwritten: name another folder with --out" : strerror(why));
  return false;
}

static int run(const struct arguments *arguments) {
  const char *team = arguments->positional[0], *folder = arguments->option[0] != NULL ? arguments->option[0] : ".";
  struct signing_key *key = NULL;
  struct lynx_error error = {0};
  struct buffer pem;
  struct note_key public;
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  char base[NOTE_NAME_MAX], private_path[4200], public_path[4200], text[NOTE_KEY_TEXT_MAX], passphrase[PASSPHRASE_MAX];
  if (!note_name_valid(team)) {
    (void)fprintf(stderr, "lynxbench key: found '%s', accepted: a name of letters, digits and . _ - /, of at most %d bytes\n", team,
                  NOTE_NAME_MAX - 1);
    return EXIT_WRONG_INPUT;
  }
  if (!team_key_passphrase(passphrase)) return EXIT_WRONG_INPUT;
  (void)snprintf(base, sizeof base, "%s", team);
  for (char *p = base; *p != 0; p++) *p = *p == '/' ? '-' : *p;
  (void)snprintf(private_path, sizeof private_path, "%s/%s.key", folder, base);
  (void)snprintf(public_path, sizeof public_path, "%s/%s.pub", folder, base);
  buffer_init(&pem, 65536);
  (void)buffer_printf(&pem, "team: %s\n", team); /* what precedes the key's own lines is passed over by every reader of PEM */
  enum lynx_status status = signing_key_make(&key, &error);
  if (status == LYNX_OK) status = signing_key_write(key, passphrase[0] != 0 ? passphrase : NULL, &pem, &error);
  bool under_passphrase = passphrase[0] != 0;
  explicit_bzero(passphrase, sizeof passphrase);
  int code = status == LYNX_OK ? EXIT_CONDITIONS : report_error(&error);
  bool exists = false;
  if (status == LYNX_OK && write_private(private_path, pem.data, pem.length, &exists)) {
    char line[NOTE_KEY_TEXT_MAX + 1];
    signing_key_public(key, public_key);
    note_key_make(team, NOTE_ED25519, public_key, &public);
    (void)snprintf(line, sizeof line, "%s\n", note_key_text(&public, text));
    if (write_output(public_path, line, strlen(line))) code = EXIT_HOLDS;
  }
  if (exists) code = EXIT_WRONG_INPUT;
  if (code == EXIT_HOLDS)
    (void)printf("%s: private, %s: give it to nobody\n%s: public, for everybody: %s\nnext: lynxbench sign CONTRACT.yaml --key %s\n",
                 private_path, under_passphrase ? "under the passphrase" : "without a passphrase (LYNXBENCH_PASSPHRASE would set one)",
                 public_path, text, private_path);
  if (pem.data != NULL) explicit_bzero(pem.data, pem.length);
  buffer_release(&pem);
  signing_key_release(key);
  return code;
}

const struct command command_key = {
    .name = "key",
    .summary = "make a team's key, with which it signs contracts and results",
    .usage = "TEAM",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Writes TEAM.key (an Ed25519 private key in PEM, readable by its owner alone) and TEAM.pub (one line, to hand out).\n"
               "Where LYNXBENCH_PASSPHRASE is set, or LYNXBENCH_PASSPHRASE_FILE names a file, the private key lies under that\n"
               "passphrase, and whatever signs needs it too. Name the team as the contract's owners and signatories do.",
    .example = "rm -rf /tmp/keys; mkdir -p /tmp/keys; build/lynxbench key ml --out /tmp/keys",
    .run = run};
