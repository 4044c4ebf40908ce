#include "base/key_agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

enum {
  REQUEST_IDENTITIES = 11,
  IDENTITIES_ANSWER = 12,
  SIGN_REQUEST = 13,
  SIGN_RESPONSE = 14,
  MESSAGE_MAX = 256 << 10,
  KEYS_MAX = 1000,
  PATIENCE_S = 60
};
static const char type[] = "ssh-ed25519";

/* --- the form: numbers of four bytes, and texts after their length --- */

static void put_number(struct buffer *to, size_t n) {
  const char bytes[] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};
  (void)buffer_append(to, bytes, sizeof bytes);
}

static void put_text(struct buffer *to, const void *data, size_t n) {
  put_number(to, n);
  (void)buffer_append(to, data, n);
}

static bool take_number(struct bytes *from, size_t *ret) {
  if (from->length < 4) return false;
  const unsigned char *p = (const unsigned char *)from->ptr;
  *ret = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
  from->ptr += 4, from->length -= 4;
  return true;
}

static bool take_text(struct bytes *from, struct bytes *ret) {
  size_t n;
  if (!take_number(from, &n) || n > from->length) return false;
  *ret = (struct bytes){from->ptr, n};
  from->ptr += n, from->length -= n;
  return true;
}

/* "ssh-ed25519", then so many bytes: a key, or a signature. */
static bool take_ed25519(struct bytes blob, size_t length, const char **ret) {
  struct bytes name, value;
  if (!take_text(&blob, &name) || !take_text(&blob, &value) || blob.length != 0) return false;
  if (name.length != sizeof type - 1 || memcmp(name.ptr, type, name.length) != 0 || value.length != length) return false;
  *ret = value.ptr;
  return true;
}

/* --- asking --- */

static enum lynx_status reach(int *ret, struct lynx_error *error) {
  const char *path = getenv("SSH_AUTH_SOCK");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const struct timeval patience = {.tv_sec = PATIENCE_S};
  if (path == NULL || path[0] == 0)
    return lynx_fail(error, LYNX_NOT_FOUND, "the key is with ssh-agent, and SSH_AUTH_SOCK is not set: `eval $(ssh-agent); ssh-add KEY`");
  if (strlen(path) >= sizeof address.sun_path)
    return lynx_fail(error, LYNX_NOT_FOUND, "SSH_AUTH_SOCK is longer than a socket's name may be");
  memcpy(address.sun_path, path, strlen(path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *ret = fd;
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
      connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
    return LYNX_OK;
  enum lynx_status status = lynx_fail(error, LYNX_NOT_FOUND, "no ssh-agent answers at SSH_AUTH_SOCK (%s): %s", path, strerror(errno));
  if (fd >= 0) (void)close(fd);
  return status;
}

static bool receive(int fd, void *data, size_t n) {
  for (char *at = data; n > 0;) {
    ssize_t got = read(fd, at, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

/* ret: what follows the type of the answer, which must be the wanted one. */
static enum lynx_status ask(const struct buffer *request, int wanted, struct buffer *ret, struct lynx_error *error) {
  struct buffer framed;
  unsigned char head[5] = {0};
  int fd = -1;
  enum lynx_status status = reach(&fd, error);
  if (status != LYNX_OK) return status;
  buffer_init(&framed, MESSAGE_MAX + 4);
  put_text(&framed, request->data, request->length);
  if (framed.overflowed || request->overflowed) status = lynx_fail(error, LYNX_LIMIT, "more than ssh-agent takes: %d bytes", MESSAGE_MAX);
  else if (!file_write_all(fd, framed.data, framed.length) || !receive(fd, head, sizeof head))
    status = lynx_fail(error, LYNX_IO, "ssh-agent did not answer within %d s", PATIENCE_S);
  size_t n = status == LYNX_OK ? (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3] : 0;
  if (status == LYNX_OK && (head[4] != wanted || n < 1 || n > MESSAGE_MAX))
    status = lynx_fail(error, LYNX_IO, "ssh-agent refuses (answer %d): the key is gone, locked, or somebody did not agree", head[4]);
  if (status == LYNX_OK && (!buffer_reserve(ret, n) || !receive(fd, ret->data, n - 1)))
    status = lynx_fail(error, LYNX_PROTOCOL, "ssh-agent's answer was cut off");
  if (status == LYNX_OK) ret->length = n - 1;
  buffer_release(&framed);
  (void)close(fd);
  return status;
}

static enum lynx_status search(struct bytes answer, const char *comment, uint8_t ret[AGENT_KEY_BYTES], struct lynx_error *error) {
  struct bytes blob, name;
  char known[400] = "", one[80];
  size_t n, n_found = 0;
  if (!take_number(&answer, &n) || n > KEYS_MAX) return lynx_fail(error, LYNX_PROTOCOL, "ssh-agent's list of keys is none");
  for (size_t i = 0; i < n; i++) {
    const char *key;
    if (!take_text(&answer, &blob) || !take_text(&answer, &name))
      return lynx_fail(error, LYNX_PROTOCOL, "ssh-agent's list of keys is none");
    if (!take_ed25519(blob, AGENT_KEY_BYTES, &key)) continue;
    (void)text_sanitise(one, sizeof one, name.ptr, name.length);
    size_t used = strlen(known);
    (void)snprintf(known + used, sizeof known - used, "%s'%s'", used > 0 ? ", " : "", one);
    if (name.length != strlen(comment) || memcmp(name.ptr, comment, name.length) != 0) continue;
    memcpy(ret, key, AGENT_KEY_BYTES);
    n_found++;
  }
  if (n_found == 1) return LYNX_OK;
  if (n_found > 1) return lynx_fail(error, LYNX_NOT_FOUND, "ssh-agent holds %zu Ed25519 keys of the comment '%.60s'", n_found, comment);
  return lynx_fail(error, LYNX_NOT_FOUND, "ssh-agent holds no Ed25519 key of the comment '%.60s'; it holds: %s", comment,
                   known[0] != 0 ? known : "none");
}

enum lynx_status key_agent_find(const char *comment, uint8_t ret[AGENT_KEY_BYTES], struct lynx_error *error) {
  struct buffer request, answer;
  const char list = REQUEST_IDENTITIES;
  buffer_init(&request, 16);
  buffer_init(&answer, MESSAGE_MAX);
  (void)buffer_append(&request, &list, 1);
  enum lynx_status status = ask(&request, IDENTITIES_ANSWER, &answer, error);
  if (status == LYNX_OK) status = search((struct bytes){answer.data, answer.length}, comment, ret, error);
  buffer_release(&request);
  buffer_release(&answer);
  return status;
}

enum lynx_status key_agent_sign(const uint8_t key[AGENT_KEY_BYTES], struct bytes message, uint8_t ret[AGENT_SIGNATURE_BYTES],
                                struct lynx_error *error) {
  struct buffer request, blob, answer;
  struct bytes rest, signature;
  const char sign = SIGN_REQUEST, *value = NULL;
  buffer_init(&request, MESSAGE_MAX);
  buffer_init(&blob, 100);
  buffer_init(&answer, MESSAGE_MAX);
  put_text(&blob, type, sizeof type - 1);
  put_text(&blob, key, AGENT_KEY_BYTES);
  (void)buffer_append(&request, &sign, 1);
  put_text(&request, blob.data, blob.length);
  put_text(&request, message.ptr, message.length);
  put_number(&request, 0); /* no flags */
  enum lynx_status status = ask(&request, SIGN_RESPONSE, &answer, error);
  rest = (struct bytes){answer.data, answer.length};
  if (status == LYNX_OK && (!take_text(&rest, &signature) || !take_ed25519(signature, AGENT_SIGNATURE_BYTES, &value)))
    status = lynx_fail(error, LYNX_PROTOCOL, "what ssh-agent gave is no Ed25519 signature");
  if (status == LYNX_OK && value != NULL) memcpy(ret, value, AGENT_SIGNATURE_BYTES);
  buffer_release(&request);
  buffer_release(&blob);
  buffer_release(&answer);
  return status;
}
