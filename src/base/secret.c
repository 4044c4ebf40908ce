#include "base/secret.h"

#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

enum { LEAST = 12, DIGIT_WITHIN = 512 }; /* characters after the beginning */

static const char *const shapes[] = {"sk-",  "sk_",   "pk_live_",    "rk_live_", "ghp_",   "gho_", "ghu_",
                                     "ghs_", "ghr_",  "github_pat_", "glpat-",   "hf_",    "AKIA", "ASIA",
                                     "AIza", "ya29.", "xoxb-",       "xoxp-",    "xoxa-",  "eyJ",  "nvapi-",
                                     "gsk_", "pypi-", "dckr_pat_",   "npm_",     "shpat_", "SG.",  "AGE-SECRET-KEY-"};

static size_t length_at(const char *p, size_t beginning) {
  size_t n = beginning;
  bool digit = false; /* words of a language have none */
  for (; isalnum((unsigned char)p[n]) || (p[n] != 0 && strchr("-_.+/=", p[n]) != NULL); n++) {
    digit = digit || isdigit((unsigned char)p[n]);
    if (!digit && n > DIGIT_WITHIN) return 0;
  }
  return digit && n >= beginning + LEAST ? n : 0;
}

const char *secret_in(const char *text, size_t *ret_length) {
  for (const char *p = text; *p != 0; p++)
    for (size_t i = 0; (p == text || !isalnum((unsigned char)p[-1])) && i < LYNX_COUNT(shapes); i++) {
      size_t n = strlen(shapes[i]);
      if (strncmp(p, shapes[i], n) != 0 || (*ret_length = length_at(p, n)) == 0) continue;
      return p;
    }
  return NULL;
}

char *secret_mask(char *text) {
  size_t n = 0;
  for (const char *at = secret_in(text, &n); at != NULL; at = secret_in(at + n, &n)) memset(text + (at - text), '*', n);
  return text;
}

bool secret_mask_bytes(char *bytes, size_t length, const char *also) {
  bool any = false;
  size_t n;
  char last = bytes[length];
  bytes[length] = 0;
  for (char *p = bytes; p < bytes + length; p += strlen(p) + 1) {
    any = any || secret_in(p, &n) != NULL;
    (void)secret_mask(p);
  }
  bytes[length] = last;
  n = also != NULL ? strlen(also) : 0;
  for (char *p = bytes; n > 0 && (p = memmem(p, length - (size_t)(p - bytes), also, n)) != NULL; p += n) {
    memset(p, '*', n);
    any = true;
  }
  return any;
}

/* One that lies across two pieces is seen whole in the second. */
void secret_mask_file(const char *path, const char *also) {
  enum { PIECE = 1 << 16, OVERLAP = 1 << 10 };
  char piece[PIECE + 1];
  int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  ssize_t n;
  for (off_t at = 0; fd >= 0 && (n = pread(fd, piece, PIECE, at)) > 0; at += n > OVERLAP ? n - OVERLAP : n)
    if (secret_mask_bytes(piece, (size_t)n, also) && pwrite(fd, piece, (size_t)n, at) != n) break;
  if (fd >= 0) (void)close(fd);
}
