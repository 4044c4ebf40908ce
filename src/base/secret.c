#include "base/secret.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/shown.h"

enum { LEAST = 12, DIGIT_WITHIN = 512 }; /* characters after the beginning */

static const char *const shapes[] = {"sk-",  "sk_",   "pk_live_",    "rk_live_", "ghp_",   "gho_", "ghu_",
                                     "ghs_", "ghr_",  "github_pat_", "glpat-",   "hf_",    "AKIA", "ASIA",
                                     "AIza", "ya29.", "xoxb-",       "xoxp-",    "xoxa-",  "eyJ",  "nvapi-",
                                     "gsk_", "pypi-", "dckr_pat_",   "npm_",     "shpat_", "SG.",  "AGE-SECRET-KEY-"};

static bool in_key(char c) {
  return isalnum((unsigned char)c) != 0 || (c != 0 && strchr("-_.+/=", c) != NULL);
}

static size_t length_at(const char *p, size_t beginning) {
  size_t n = beginning;
  bool digit = false; /* words of a language have none */
  for (; in_key(p[n]); n++) {
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

/* --- a key that comes back written otherwise --- */

enum { WRITTEN_LEAST = 8, SECRET_BYTES_MAX = 4096 };

static void take_base64(const char *secret, size_t n, size_t before, void (*take)(void *context, const char *text), void *context) {
  char *bytes = xalloc(n + before + 1, 1);
  struct buffer out;
  memcpy(bytes + before, secret, n);
  buffer_init(&out, 2 * (n + before) + 8);
  if (base64_encode(&out, bytes, n + before)) {
    size_t from = (before * 8 + 5) / 6, to = (before + n) * 8 / 6; /* the letters that say nothing of what stands around it */
    out.data[to] = 0;
    take(context, out.data + from);
    for (char *p = out.data; *p != 0; p++) *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    take(context, out.data + from);
  }
  buffer_wipe(&out);
  explicit_bzero(bytes, n + before);
  free(bytes);
}

/* As in an address: every byte, or those alone that mean something there. Digits of both cases. */
static void take_percent(const char *secret, size_t n, bool every, void (*take)(void *context, const char *text), void *context) {
  static const char *const digits[] = {"0123456789ABCDEF", "0123456789abcdef"};
  for (size_t which = 0; which < LYNX_COUNT(digits); which++) {
    char *text = xalloc(3 * n + 1, 1), *end = text;
    for (const char *p = secret; *p != 0; p++) {
      bool plain = !every && (isalnum((unsigned char)*p) != 0 || strchr("-_.~", *p) != NULL);
      if (!plain) {
        *end++ = '%';
        *end++ = digits[which][(unsigned char)*p >> 4];
        *end++ = digits[which][(unsigned char)*p & 15];
      } else *end++ = *p;
    }
    *end = 0;
    if (strcmp(text, secret) != 0) take(context, text);
    explicit_bzero(text, 3 * n);
    free(text);
  }
}

static void take_reversed(const char *secret, size_t n, void (*take)(void *context, const char *text), void *context) {
  char *text = xalloc(n + 1, 1);
  for (size_t i = 0; i < n; i++) text[i] = secret[n - 1 - i];
  take(context, text);
  explicit_bzero(text, n);
  free(text);
}

void secret_each_writing(const char *secret, void (*take)(void *context, const char *text), void *context) {
  size_t n = secret != NULL ? strlen(secret) : 0;
  if (n > 0) take(context, secret);
  if (n < WRITTEN_LEAST || n > SECRET_BYTES_MAX) return;
  char *hex = xalloc(2 * n + 1, 1);
  (void)hex_encode((const uint8_t *)secret, n, hex);
  take(context, hex);
  for (char *p = hex; *p != 0; p++) *p = (char)toupper((unsigned char)*p);
  take(context, hex);
  explicit_bzero(hex, 2 * n);
  free(hex);
  take_percent(secret, n, false, take, context);
  take_percent(secret, n, true, take, context);
  take_reversed(secret, n, take, context);
  for (size_t before = 0; before < 3; before++) take_base64(secret, n, before, take, context);
}

static void redact_writing(void *context, const char *text) {
  text_redact(context, text);
}

void secret_redact(char *text, const char *secret) {
  secret_each_writing(secret, redact_writing, text);
}

struct masking {
  char *bytes;
  size_t length;
  bool any;
};

static void mask_writing(void *context, const char *text) {
  struct masking *m = context;
  size_t n = strlen(text);
  for (char *p = m->bytes; n > 0 && (p = memmem(p, m->length - (size_t)(p - m->bytes), text, n)) != NULL; p += n) {
    memset(p, '*', n);
    m->any = true;
  }
}

bool secret_redact_bytes(char *bytes, size_t length, const char *secret) {
  struct masking masking = {bytes, length, false};
  if (length > 0) secret_each_writing(secret, mask_writing, &masking);
  return masking.any;
}

bool secret_mask_bytes(char *bytes, size_t length, const char *also) {
  size_t n = 0;
  bool any = secret_redact_bytes(bytes, length, also);
  char last = bytes[length];
  bytes[length] = 0;
  for (char *p = bytes; p < bytes + length; p += strlen(p) + 1) {
    any = any || secret_in(p, &n) != NULL;
    (void)secret_mask(p);
  }
  bytes[length] = last;
  return any;
}

/* How much of a piece can be looked through by itself: up to a line's end, or to what stands in no key. */
static size_t whole_part(const char *piece, size_t n) {
  const char *line_end = memrchr(piece, '\n', n);
  if (line_end != NULL) return (size_t)(line_end + 1 - piece);
  for (size_t i = n; i > n / 2; i--)
    if (!in_key(piece[i - 1])) return i;
  return n;
}

void secret_mask_file(const char *path, const char *also) {
  enum { PIECE = 1 << 20 };
  char *piece = malloc(PIECE + 1);
  int fd = piece != NULL ? open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
  ssize_t n;
  for (off_t at = 0; fd >= 0 && (n = pread(fd, piece, PIECE, at)) > 0;) {
    size_t part = n < PIECE ? (size_t)n : whole_part(piece, (size_t)n);
    if (secret_mask_bytes(piece, part, also) && pwrite(fd, piece, part, at) != (ssize_t)part) break;
    at += (off_t)part;
  }
  if (fd >= 0) (void)close(fd);
  free(piece);
}
