#include "cli/team_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

enum { KEY_FILE_MAX = 65536 };
static const char name_line[] = "team: ";

bool team_key_passphrase(char ret[PASSPHRASE_MAX]) {
  const char *own = getenv("LYNXBENCH_PASSPHRASE"), *path = getenv("LYNXBENCH_PASSPHRASE_FILE");
  struct buffer text;
  (void)snprintf(ret, PASSPHRASE_MAX, "%s", own != NULL ? own : "");
  if (own != NULL || path == NULL || path[0] == 0) return true;
  if (!read_file(path, PASSPHRASE_MAX - 1, &text)) return false;
  (void)snprintf(ret, PASSPHRASE_MAX, "%s", text.data != NULL ? text.data : "");
  if (text.data != NULL) explicit_bzero(text.data, text.length);
  buffer_release(&text);
  ret[strcspn(ret, "\r\n")] = 0;
  return true;
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

bool team_key_load(const char *path, struct signer *ret) {
  struct buffer text;
  struct lynx_error error = {0};
  char passphrase[PASSPHRASE_MAX];
  *ret = (struct signer){.key = NULL};
  if (!team_key_passphrase(passphrase) || !read_file(path, KEY_FILE_MAX, &text)) return false;
  enum lynx_status status = signing_key_read((struct bytes){text.data != NULL ? text.data : "", text.length},
                                             passphrase[0] != 0 ? passphrase : NULL, &ret->key, &error);
  if (status == LYNX_OK) read_name(path, &text, ret->name);
  if (status == LYNX_OK && !note_name_valid(ret->name))
    status = lynx_fail(&error, LYNX_INPUT,
                       "its team is '%s': letters, digits and . _ - / are accepted; `lynxbench key TEAM` makes a key with its name",
                       ret->name);
  explicit_bzero(passphrase, sizeof passphrase);
  if (text.data != NULL) explicit_bzero(text.data, text.length);
  buffer_release(&text);
  if (status == LYNX_OK) return true;
  if (strstr(error.message, "passphrase") != NULL)
    (void)snprintf(error.message + strlen(error.message), sizeof error.message - strlen(error.message),
                   "; LYNXBENCH_PASSPHRASE or LYNXBENCH_PASSPHRASE_FILE holds it");
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  signing_key_release(ret->key);
  return false;
}

bool team_key_wanted(const char *path, const char *command, struct signer *ret) {
  if (path == NULL) path = getenv("LYNXBENCH_KEY");
  if (path != NULL && path[0] != 0) return team_key_load(path, ret);
  (void)fprintf(stderr, "lynxbench %s: a team's key is needed: --key FILE, or LYNXBENCH_KEY; `lynxbench key TEAM` makes one\n", command);
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
