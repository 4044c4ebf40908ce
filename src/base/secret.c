#include "base/secret.h"

#include <ctype.h>
#include <string.h>

#include "base/status.h"

enum { LEAST = 12 }; /* characters after the beginning */

static const char *const shapes[] = {"sk-",  "sk_",   "pk_live_",    "rk_live_", "ghp_",   "gho_", "ghu_",
                                     "ghs_", "ghr_",  "github_pat_", "glpat-",   "hf_",    "AKIA", "ASIA",
                                     "AIza", "ya29.", "xoxb-",       "xoxp-",    "xoxa-",  "eyJ",  "nvapi-",
                                     "gsk_", "pypi-", "dckr_pat_",   "npm_",     "shpat_", "SG.",  "AGE-SECRET-KEY-"};

static size_t length_at(const char *p, size_t beginning) {
  size_t n = beginning;
  bool digit = false; /* words of a language have none */
  for (; isalnum((unsigned char)p[n]) || (p[n] != 0 && strchr("-_.+/=", p[n]) != NULL); n++) digit = digit || isdigit((unsigned char)p[n]);
  return digit && n >= beginning + LEAST ? n : 0;
}

const char *secret_in(const char *text, size_t *ret_length) {
  const char *first = NULL;
  for (size_t i = 0; i < LYNX_COUNT(shapes); i++)
    for (const char *p = strstr(text, shapes[i]); p != NULL && (first == NULL || p < first); p = strstr(p + 1, shapes[i])) {
      size_t n = p == text || !isalnum((unsigned char)p[-1]) ? length_at(p, strlen(shapes[i])) : 0;
      if (n == 0) continue;
      first = p;
      *ret_length = n;
    }
  return first;
}

char *secret_mask(char *text) {
  size_t n = 0;
  for (const char *at = secret_in(text, &n); at != NULL; at = secret_in(at + n, &n)) memset(text + (at - text), '*', n);
  return text;
}
