#include "base/shown.h"

#include <stdio.h>
#include <stdint.h>
#include <string.h>

size_t utf8_length(const unsigned char *p, size_t available) {
  if (available == 0) return 0;
  if (p[0] < 0x80) return 1;
  size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
  if (p[0] < 0xc2 || p[0] > 0xf4 || available < n) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  if (p[0] == 0xe0 && p[1] < 0xa0) return 0; /* overlong */
  if (p[0] == 0xed && p[1] > 0x9f) return 0; /* a surrogate */
  if (p[0] == 0xf0 && p[1] < 0x90) return 0; /* overlong */
  if (p[0] == 0xf4 && p[1] > 0x8f) return 0; /* past U+10FFFF */
  return n;
}

size_t utf8_valid(const char *text, size_t length) {
  size_t at = 0, n;
  while (at < length && (n = utf8_length((const unsigned char *)text + at, length - at)) > 0) at += n;
  return at;
}

bool text_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && memcmp(text + n - m, end, m) == 0;
}

char *text_sanitise(char *dst, size_t size, const char *src, size_t length) {
  lynx_assert(size > 0);
  size_t used = 0;
  for (size_t i = 0; i < length;) {
    const unsigned char *p = (const unsigned char *)src + i;
    if (*p >= 0x20 && *p < 0x7f) { /* nearly all */
      if (used + 1 >= size) break;
      dst[used++] = src[i++];
      continue;
    }
    size_t n = utf8_length(p, length - i);
    bool c1_control = n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
    bool bidi = n == 3 && p[0] == 0xe2 &&
                ((p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) || (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
    bool fit = n > 1 && !c1_control && !bidi;
    if (used + (fit ? n : 1) >= size) break;
    if (fit) memcpy(dst + used, p, n);
    else dst[used] = '?';
    used += fit ? n : 1;
    i += n > 0 ? n : 1;
  }
  dst[used] = 0;
  return dst;
}

void text_redact(char *text, const char *secret) {
  enum { TELLING = 4 };
  size_t n = secret != NULL ? strlen(secret) : 0, length = strlen(text);
  if (n == 0) return;
  for (char *at = text; (at = strstr(at, secret)) != NULL; at += n) memset(at, '*', n);
  for (size_t part = n < length ? n : length; part >= TELLING; part--) {
    if (memcmp(text + length - part, secret, part) != 0) continue;
    memset(text + length - part, '*', part);
    return;
  }
}

/* --- shown --- */

const char text_colors[TEXT_COLORS][8] = {
    [TEXT_PLAIN] = "\033[0m", [TEXT_STRONG] = "\033[1m",   [TEXT_DIM] = "\033[2m",      [TEXT_BAD] = "\033[31m",
    [TEXT_GOOD] = "\033[32m", [TEXT_WARNING] = "\033[33m", [TEXT_ALARM] = "\033[1;31m", [TEXT_ERASE_LINE] = "\r\033[K"};

static uint32_t code_point(const unsigned char *p, size_t n) {
  static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t point = p[0] & first[n];
  for (size_t i = 1; i < n; i++) point = point << 6 | (p[i] & 0x3f);
  return point;
}

bool text_misleads(const unsigned char *p, size_t n) {
  static const struct {
    uint32_t first, last;
  } hidden[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},    {0x180e, 0x180e},
                {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},  {0xfe00, 0xfe0f},
                {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}};
  uint32_t point = code_point(p, n);
  for (size_t i = 0; i < LYNX_COUNT(hidden); i++)
    if (point >= hidden[i].first && point <= hidden[i].last) return true;
  return false;
}

/* Where formatted text goes: what does not fit is counted all the same. */
struct target {
  char *dst;
  size_t size, n;
};

static void put(struct target *t, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++, t->n++)
    if (t->n + 1 < t->size) t->dst[t->n] = text[i];
}

static void put_blanks(struct target *t, size_t n) {
  while (n-- > 0) put(t, " ", 1);
}

/* Returns how many characters it takes; t NULL: they are only counted. */
static size_t put_shown(struct target *t, const char *text, size_t length, bool cut) {
  size_t n_characters = 0;
  for (size_t i = 0; i < length; n_characters++) {
    const unsigned char *p = (const unsigned char *)text + i;
    size_t n = utf8_length(p, length - i);
    const char *in_place = *p == '\n' ? "\\n" : *p == '\t' ? "\\t" : *p == '\r' ? "\\r" : NULL;
    if (n == 0 && cut && *p >= 0xc2 && length - i < 4) break; /* a character that the precision cut through */
    bool good = in_place == NULL && n > 0 && !text_misleads(p, n);
    if (t != NULL && good) put(t, text + i, n);
    else if (t != NULL) put(t, in_place != NULL ? in_place : "?", in_place != NULL ? 2 : 1);
    n_characters += in_place != NULL;
    i += n > 0 ? n : 1;
  }
  return n_characters;
}

static bool is_color(const char *text) {
  uintptr_t at = (uintptr_t)text, from = (uintptr_t)text_colors;
  return at >= from && at < from + sizeof text_colors;
}

/* One conversion, taken apart: %[flags][width][.precision][length]type. */
struct conversion {
  char spec[40];        /* of it, the numbers put in place of stars, without the length */
  int width, precision; /* -1: none */
  bool left;
  char length[3], type;
};

static const char *number_of(const char *at, va_list *args, int *ret) {
  *ret = 0;
  if (*at == '*') {
    *ret = va_arg(*args, int);
    return at + 1;
  }
  for (; *at >= '0' && *at <= '9'; at++) *ret = *ret * 10 + (*at - '0');
  return at;
}

static const char *read_conversion(const char *at, va_list *args, struct conversion *ret) {
  size_t n = 1;
  *ret = (struct conversion){.spec = "%", .width = -1, .precision = -1};
  for (; *at != 0 && strchr("-+ #0", *at) != NULL; at++) {
    ret->left = ret->left || *at == '-';
    if (n < 8) ret->spec[n++] = *at;
  }
  if (*at == '*' || (*at >= '1' && *at <= '9')) at = number_of(at, args, &ret->width);
  if (ret->width < -1) { /* a negative star: to the left */
    ret->left = true;
    ret->width = -ret->width;
    if (n < 8) ret->spec[n++] = '-';
  }
  if (*at == '.') at = number_of(at + 1, args, &ret->precision);
  if (ret->width >= 0) n += (size_t)snprintf(ret->spec + n, sizeof ret->spec - n, "%d", ret->width);
  if (ret->precision >= 0) (void)snprintf(ret->spec + n, sizeof ret->spec - n, ".%d", ret->precision);
  for (size_t k = 0; *at != 0 && strchr("hlzjt", *at) != NULL && k < 2; k++) ret->length[k] = *at++;
  ret->type = *at;
  return *at != 0 ? at + 1 : at;
}

static void put_text(struct target *t, const struct conversion *c, const char *text) {
  if (text == NULL) text = "(null)";
  size_t length = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
  bool color = is_color(text), cut = c->precision >= 0 && length == (size_t)c->precision;
  size_t n = color ? 0 : put_shown(NULL, text, length, cut), blanks = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
  if (!c->left) put_blanks(t, blanks);
  if (color) put(t, text, length);
  else (void)put_shown(t, text, length, cut);
  if (c->left) put_blanks(t, blanks);
}

static int64_t signed_argument(const struct conversion *c, va_list *args) {
  if (strcmp(c->length, "ll") == 0) return va_arg(*args, long long);
  switch (c->length[0]) {
    case 'l': return va_arg(*args, long);
    case 'j': return va_arg(*args, intmax_t);
    case 'z':
    case 't': return va_arg(*args, ptrdiff_t);
    default: return va_arg(*args, int);
  }
}

static uint64_t unsigned_argument(const struct conversion *c, va_list *args) {
  if (strcmp(c->length, "ll") == 0) return va_arg(*args, unsigned long long);
  switch (c->length[0]) {
    case 'l': return va_arg(*args, unsigned long);
    case 'j': return va_arg(*args, uintmax_t);
    case 'z':
    case 't': return va_arg(*args, size_t);
    default: return va_arg(*args, unsigned);
  }
}

static void put_number(struct target *t, const struct conversion *c, va_list *args) {
  char spec[48], text[512];
  bool whole = strchr("diuxX", c->type) != NULL;
  (void)snprintf(spec, sizeof spec, "%s%s%c", c->spec, whole ? "j" : "", c->type);
  int n = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  if (c->type == 'd' || c->type == 'i') n = snprintf(text, sizeof text, spec, (intmax_t)signed_argument(c, args));
  else if (whole) n = snprintf(text, sizeof text, spec, (uintmax_t)unsigned_argument(c, args));
  else if (c->type == 'c') n = snprintf(text, sizeof text, spec, va_arg(*args, int));
  else n = snprintf(text, sizeof text, spec, va_arg(*args, double));
#pragma GCC diagnostic pop
  put(t, text, n < 0 ? 0 : n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

int text_vformat(char *dst, size_t size, const char *format, va_list args) {
  struct target t = {dst, size, 0};
  va_list rest;
  va_copy(rest, args);
  for (const char *at = format; *at != 0;) {
    size_t n = strcspn(at, "%");
    put(&t, at, n);
    at += n;
    if (*at == 0) break;
    struct conversion c;
    at = read_conversion(at + 1, &rest, &c);
    lynx_assert(c.type != 0 && strchr("diuxXcfges%", c.type) != NULL); /* a format of ours */
    if (c.type == '%') put(&t, "%", 1);
    else if (c.type == 's') put_text(&t, &c, va_arg(rest, const char *));
    else put_number(&t, &c, &rest);
  }
  va_end(rest);
  if (size > 0) dst[t.n < size ? t.n : size - 1] = 0;
  return (int)t.n;
}

int text_format(char *dst, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = text_vformat(dst, size, format, args);
  va_end(args);
  return n;
}
