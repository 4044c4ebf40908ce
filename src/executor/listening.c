#include "executor/listening.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/process_sockets.h"

enum { TABLE_MAX = 16 << 20, SOCKETS_MAX = 4096, LISTENS = 10 };

struct sockets {
  const struct root *root;
  unsigned long long inodes[SOCKETS_MAX];
  size_t n;
};

/* As the kernel prints it: words of 32 bits, each in the machine's own order. How many they are; 0: it is none. */
static size_t read_words(const char *hex, uint32_t ret[4]) {
  size_t n = strlen(hex) / 8;
  if (n != 1 && n != 4) return 0;
  memset(ret, 0, 4 * sizeof *ret);
  for (size_t i = 0; i < n; i++)
    if (sscanf(hex + 8 * i, "%8x", &ret[i]) != 1) return 0;
  return n;
}

bool listening_address(const struct listening *listening, uint8_t ret[16], bool *ret_v6) {
  static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291, 2.5.5.2 */
  uint32_t words[4];
  size_t n = read_words(listening->address, words);
  memcpy(ret, words, n * sizeof *words);
  memset(ret + n * sizeof *words, 0, 16 - n * sizeof *words);
  *ret_v6 = n == 4 && memcmp(ret, mapped, sizeof mapped) != 0;
  if (n == 4 && !*ret_v6) memcpy(ret, ret + 12, 4), memset(ret + 4, 0, 12);
  return n > 0;
}

static bool read_address(const char *hex, char *ret, size_t size) {
  uint32_t words[4];
  size_t n = read_words(hex, words);
  if (n == 0) return false;
  bool any = true;
  for (size_t i = 0; i < n; i++) any = any && words[i] == 0;
  if (any) {
    (void)snprintf(ret, size, "127.0.0.1"); /* all addresses; of IPv6 usually those of IPv4 too */
    return true;
  }
  char text[INET6_ADDRSTRLEN];
  if (inet_ntop(n == 1 ? AF_INET : AF_INET6, words, text, sizeof text) == NULL) return false;
  (void)snprintf(ret, size, n == 1 ? "%s" : "[%s]", text);
  return true;
}

static size_t add_url(char urls[LISTENING_MAX][LISTENING_URL], size_t n, const char *host, unsigned port) {
  char url[LISTENING_URL];
  (void)snprintf(url, sizeof url, "http://%.60s:%u", host, port);
  for (size_t i = 0; i < n; i++)
    if (strcmp(urls[i], url) == 0) return n;
  if (n == LISTENING_MAX) return n;
  memcpy(urls[n], url, sizeof url);
  return n + 1;
}

bool listening_line(const char *line, struct listening *ret) {
  unsigned state;
  /* sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode */
  return sscanf(line, "%*d: %39[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*d %llu", ret->address, &ret->port, &state,
                &ret->inode) == 4 &&
         state == LISTENS;
}

static size_t find_in(const struct sockets *s, const char *path, char urls[LISTENING_MAX][LISTENING_URL], size_t n) {
  struct buffer text;
  buffer_init(&text, TABLE_MAX);
  if (root_read(s->root, path, &text, NULL) == LYNX_OK) {
    char *rest = text.data;
    for (const char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
      struct listening l;
      char host[64];
      if (!listening_line(line, &l) || l.port == 0 || l.port > 65535 || !read_address(l.address, host, sizeof host)) continue;
      for (size_t i = 0; i < s->n; i++)
        if (s->inodes[i] == l.inode) n = add_url(urls, n, host, l.port);
    }
  }
  buffer_release(&text);
  return n;
}

size_t listening_urls(const struct root *root, int64_t pid, char urls[LISTENING_MAX][LISTENING_URL], size_t n) {
  struct sockets s = {.root = root};
  char path[64];
  s.n = process_sockets(root, pid, s.inodes, 0, SOCKETS_MAX);
  if (s.n == 0) return n;
  (void)snprintf(path, sizeof path, "/proc/%lld/net/tcp", (long long)pid);
  n = find_in(&s, path, urls, n);
  (void)snprintf(path, sizeof path, "/proc/%lld/net/tcp6", (long long)pid);
  return find_in(&s, path, urls, n);
}

bool listening_here(const struct root *root, int64_t pid) {
  char path[64], theirs[64], own[64];
  (void)snprintf(path, sizeof path, "/proc/%lld/ns/net", (long long)pid);
  return !root_read_link(root, path, theirs, sizeof theirs) || !root_read_link(root, "/proc/self/ns/net", own, sizeof own) ||
         strcmp(theirs, own) == 0;
}
