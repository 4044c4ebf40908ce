#include "base/base64.h"

static const char ordinary[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_encode(struct buffer *out, const void *data, size_t length) {
  const unsigned char *p = data;
  if (!buffer_reserve(out, length / 3 * 4 + 4)) return false;
  for (size_t i = 0; i < length; i += 3) {
    size_t left = length - i;
    unsigned n = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
    char four[4] = {ordinary[n >> 18], ordinary[n >> 12 & 63], left > 1 ? ordinary[n >> 6 & 63] : '=', left > 2 ? ordinary[n & 63] : '='};
    (void)buffer_append(out, four, 4); /* reserved above */
  }
  return true;
}

static int place(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return 26 + c - 'a';
  if (c >= '0' && c <= '9') return 52 + c - '0';
  return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* The value of a digit, or -1. *alphabet: 0 none seen yet that tells, 1 ordinary, 2 URL-safe. */
static int digit(char c, int *alphabet) {
  int value = place(c), of = value < 62 ? 0 : c == '+' || c == '/' ? 1 : 2;
  if (of != 0 && *alphabet != 0 && of != *alphabet) return -1;
  if (of != 0) *alphabet = of;
  return value;
}

bool base64_decode(struct buffer *out, const char *text, size_t length) {
  int alphabet = 0;
  if (length % 4 != 0 || !buffer_reserve(out, length / 4 * 3)) return false;
  for (size_t i = 0; i < length; i += 4) {
    bool last = i + 4 == length;
    size_t n_padding = !last || text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    uint32_t n = 0;
    for (size_t k = 0; k < 4; k++) {
      int value = k < 4 - n_padding ? digit(text[i + k], &alphabet) : 0;
      if (value < 0) return false;
      n = n << 6 | (uint32_t)value;
    }
    if ((n_padding == 1 && (n & 0xff) != 0) || (n_padding == 2 && (n & 0xffff) != 0)) return false;
    uint8_t three[3] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    (void)buffer_append(out, three, 3 - n_padding); /* reserved above */
  }
  return true;
}
