#include "cli/team_key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/key_agent.h"
#include "cli/command.h"

enum { KEY_FILE_MAX = 65536 };
static const char name_line[] = "team: ", agent_line[] = "ssh-agent: ", token_line[] = "pkcs11-token: ";

bool team_key_passphrase(char ret[PASSPHRASE_MAX]) {
  const char *own = getenv("LYNXBENCH_PASSPHRASE"), *path = getenv("LYNXBENCH_PASSPHRASE_FILE");
  struct buffer text;
  (void)snprintf(ret, PASSPHRASE_MAX, "%s", own != NULL ? own : "");
  if (own != NULL || path == NULL || path[0] == 0) return true;
  if (!read_file(path, PASSPHRASE_MAX - 1, &text)) return false;
  (void)snprintf(ret, PASSPHRASE_MAX, "%s", text.data != NULL ? text.data : "");
  buffer_wipe(&text);
  ret[strcspn(ret, "\r\n")] = 0;
  return true;
}

char *team_key_file_name(const char *team, char ret[NOTE_NAME_MAX]) {
  (void)snprintf(ret, NOTE_NAME_MAX, "%s", team);
  for (char *p = ret; *p != 0; p++) *p = *p == '/' ? '-' : *p;
  return ret;
}

/* From the line above the key; else the file's name without what follows its last dot. */
static void read_name(const char *path, const struct buffer *text, char ret[NOTE_NAME_MAX]) {
  size_t n = sizeof name_line - 1;
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  bool named = text->data != NULL && text->length > n && strncmp(text->data, name_line, n) == 0;
  if (named) base = text->data + n;
  (void)snprintf(ret, NOTE_NAME_MAX, "%s", base);
  ret[strcspn(ret, "\r\n")] = 0;
  char *dot = named ? NULL : strrchr(ret, '.');
  if (dot != NULL && dot != ret) *dot = 0;
}

bool team_key_ask(const char *prompt, bool twice, char ret[PASSPHRASE_MAX]) {
  int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC); /* else OpenSSL would read standard input */
  if (terminal < 0) return false;
  (void)close(terminal);
  ret[0] = 0;
  return EVP_read_pw_string_min(ret, 1, PASSPHRASE_MAX - 1, prompt, twice) == 0 && ret[0] != 0;
}

/* The rest of the line that begins so; false: there is none. */
static bool line_after(const char *text, const char *head, char *ret, size_t size) {
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, head, strlen(head)) != 0) continue;
    (void)snprintf(ret, size, "%s", line + strlen(head));
    ret[strcspn(ret, "\r\n")] = 0;
    return true;
  }
  return false;
}

/* From its own lines, from ssh-agent, or from a token. */
static enum lynx_status read_key(const struct buffer *text, const char *passphrase, struct signing_key **ret, struct lynx_error *error) {
  const struct bytes pem = {text->data != NULL ? text->data : "", text->length};
  char where[600];
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  if (strstr(pem.ptr, "-----BEGIN") != NULL) return signing_key_read(pem, passphrase, ret, error);
  if (line_after(pem.ptr, token_line, where, sizeof where)) return signing_key_of_token(where, passphrase, ret, error);
  if (!line_after(pem.ptr, agent_line, where, sizeof where)) return signing_key_read(pem, passphrase, ret, error);
  if (!hex_decode(where, public_key, sizeof public_key))
    return lynx_fail(error, LYNX_INPUT,
                     "the line '%s' holds no public key of 64 hexadecimal digits; `lynxbench ledger key TEAM --agent COMMENT` writes it",
                     agent_line);
  *ret = signing_key_of_agent(public_key);
  return *ret != NULL ? LYNX_OK : lynx_fail(error, LYNX_LIMIT, "no memory for a key");
}

static bool needs_passphrase(const struct buffer *text) {
  return text->data != NULL && (strstr(text->data, "ENCRYPTED") != NULL || strstr(text->data, token_line) != NULL);
}

bool key_file_read(const char *path, const char *passphrase, char ret_name[NOTE_NAME_MAX], struct signing_key **ret) {
  struct buffer text;
  struct lynx_error error = {0};
  char asked[PASSPHRASE_MAX], prompt[300];
  *ret = NULL;
  if (!read_file(path, KEY_FILE_MAX, &text)) return false;
  (void)snprintf(prompt, sizeof prompt, "Passphrase of %.200s: ", path);
  if (passphrase == NULL && needs_passphrase(&text) && team_key_ask(prompt, false, asked)) passphrase = asked;
  enum lynx_status status = read_key(&text, passphrase, ret, &error);
  explicit_bzero(asked, sizeof asked);
  if (status == LYNX_OK) read_name(path, &text, ret_name);
  buffer_wipe(&text);
  if (status == LYNX_OK) return true;
  if (strstr(error.message, "passphrase") != NULL)
    (void)snprintf(error.message + strlen(error.message), sizeof error.message - strlen(error.message),
                   "; LYNXBENCH_PASSPHRASE or LYNXBENCH_PASSPHRASE_FILE holds it");
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

/* False: reported. */
static bool put_file(const char *path, const char *text, size_t length, bool *ret_exists) {
  int why = file_create_private(path, text, length);
  *ret_exists = why == EEXIST;
  if (why != 0)
    complain("lynxbench: %s: %s\n", path, *ret_exists ? "the file exists; a key is never overwritten: name another place" : strerror(why));
  return why == 0;
}

bool key_file_create(const char *path, const char *head, const struct signing_key *key, const char *passphrase, bool *ret_exists) {
  struct buffer pem;
  struct lynx_error error = {0};
  buffer_init(&pem, KEY_FILE_MAX);
  *ret_exists = false;
  (void)buffer_text(&pem, head); /* what precedes the key's own lines is passed over by every reader of PEM */
  enum lynx_status status = signing_key_write(key, passphrase, &pem, &error);
  bool put = status == LYNX_OK && put_file(path, pem.data, pem.length, ret_exists);
  if (status != LYNX_OK) (void)report_error(&error);
  buffer_wipe(&pem);
  return put;
}

bool key_file_point(const char *path, const char *team, const char *comment, const char *uri, struct signing_key **ret, bool *ret_exists) {
  char passphrase[PASSPHRASE_MAX] = "", hex[DIGEST_HEX], text[1000];
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  struct lynx_error error = {0};
  enum lynx_status status;
  *ret = NULL, *ret_exists = false;
  if (comment != NULL) status = key_agent_find(comment, public_key, &error);
  else {
    if (!team_key_passphrase(passphrase)) return false;
    if (passphrase[0] == 0) (void)team_key_ask("The token's PIN: ", false, passphrase);
    status = signing_key_of_token(uri, passphrase[0] != 0 ? passphrase : NULL, ret, &error);
    explicit_bzero(passphrase, sizeof passphrase);
  }
  if (status == LYNX_OK && comment != NULL && (*ret = signing_key_of_agent(public_key)) == NULL)
    status = lynx_fail(&error, LYNX_LIMIT, "no memory for a key");
  if (status != LYNX_OK) {
    (void)report_error(&error);
    return false;
  }
  (void)snprintf(text, sizeof text, "%s%s\n%s%s\n", name_line, team, comment != NULL ? agent_line : token_line,
                 comment != NULL ? hex_encode(public_key, sizeof public_key, hex) : uri);
  return put_file(path, text, strlen(text), ret_exists);
}

bool team_key_load(const char *path, struct signer *ret) {
  char passphrase[PASSPHRASE_MAX];
  *ret = (struct signer){.key = NULL};
  if (!team_key_passphrase(passphrase)) return false;
  bool good = key_file_read(path, passphrase[0] != 0 ? passphrase : NULL, ret->name, &ret->key);
  explicit_bzero(passphrase, sizeof passphrase);
  if (!good || note_name_valid(ret->name)) return good;
  char safe[NOTE_NAME_MAX + 1];
  complain(
      "lynxbench: %s: its team is '%s': letters, digits and . _ - / are accepted; `lynxbench ledger key TEAM` makes a key with its name\n",
      path, text_sanitise(safe, sizeof safe, ret->name, strlen(ret->name)));
  signing_key_release(ret->key);
  return false;
}

bool team_key_wanted(const char *path, const char *command, struct signer *ret) {
  if (path == NULL) path = getenv("LYNXBENCH_KEY");
  if (path != NULL && path[0] != 0) return team_key_load(path, ret);
  complain("lynxbench %s: a team's key is needed: --key FILE, or LYNXBENCH_KEY; `lynxbench ledger key TEAM` makes one\n", command);
  return false;
}

bool team_key_public(const char *path, struct note_key *ret) {
  struct buffer text;
  struct lynx_error error = {0};
  if (!read_file(path, 4096, &text)) return false;
  enum lynx_status status = note_key_parse(text.data != NULL ? text.data : "", ret, &error);
  buffer_release(&text);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}
