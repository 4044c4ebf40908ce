#include "base/json_scan.h"

#include <string.h>

struct scan {
  const char *p, *end;
  json_scan_visit *visit;
  void *context;
  struct bytes path[JSON_SCAN_DEPTH];
  int depth;
};

static void skip_blanks(struct scan *scan) {
  while (scan->p < scan->end && (*scan->p == ' ' || *scan->p == '\t' || *scan->p == '\n' || *scan->p == '\r')) scan->p++;
}

static bool take(struct scan *scan, char c) {
  skip_blanks(scan);
  if (scan->p == scan->end || *scan->p != c) return false;
  scan->p++;
  return true;
}

static bool read_string(struct scan *scan, struct bytes *ret) {
  if (!take(scan, '"')) return false;
  const char *start = scan->p;
  while (scan->p < scan->end && *scan->p != '"') {
    if ((unsigned char)*scan->p < 0x20) return false;
    if (*scan->p == '\\' && scan->end - scan->p < 2) return false;
    scan->p += *scan->p == '\\' ? 2 : 1;
  }
  if (scan->p >= scan->end) return false;
  *ret = (struct bytes){start, (size_t)(scan->p - start)};
  scan->p++;
  return true;
}

static bool read_word(struct scan *scan, const char *word, enum json_scan_kind kind) {
  size_t n = strlen(word);
  if ((size_t)(scan->end - scan->p) < n || memcmp(scan->p, word, n) != 0) return false;
  scan->visit(scan->context, scan->path, scan->depth, kind, (struct bytes){scan->p, n});
  scan->p += n;
  return true;
}

static bool read_value(struct scan *scan);

static bool read_members(struct scan *scan, char close) {
  bool object = close == '}';
  if (scan->depth == JSON_SCAN_DEPTH) return false;
  if (take(scan, close)) return true;
  do {
    scan->path[scan->depth] = (struct bytes){NULL, 0};
    if (object && (!read_string(scan, &scan->path[scan->depth]) || !take(scan, ':'))) return false;
    scan->depth++;
    if (!read_value(scan)) return false;
    scan->depth--;
  } while (take(scan, ','));
  return take(scan, close);
}

static bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
}

static bool read_number(struct scan *scan) {
  const char *start = scan->p;
  while (scan->p < scan->end && is_of_number(*scan->p)) scan->p++;
  if (scan->p == start) return false;
  scan->visit(scan->context, scan->path, scan->depth, JSON_SCAN_NUMBER, (struct bytes){start, (size_t)(scan->p - start)});
  return true;
}

static bool read_value(struct scan *scan) { /* recursion is bounded by JSON_SCAN_DEPTH */
  skip_blanks(scan);
  if (scan->p == scan->end) return false;
  struct bytes text = {scan->p, 0};
  switch (*scan->p) {
    case '{':
    case '[': {
      bool object = *scan->p++ == '{';
      scan->visit(scan->context, scan->path, scan->depth, object ? JSON_SCAN_OBJECT : JSON_SCAN_ARRAY, text);
      return read_members(scan, object ? '}' : ']');
    }
    case '"':
      if (!read_string(scan, &text)) return false;
      scan->visit(scan->context, scan->path, scan->depth, JSON_SCAN_STRING, text);
      return true;
    case 't': return read_word(scan, "true", JSON_SCAN_TRUE);
    case 'f': return read_word(scan, "false", JSON_SCAN_FALSE);
    case 'n': return read_word(scan, "null", JSON_SCAN_NULL);
    default: return read_number(scan);
  }
}

bool json_scan(const char *text, size_t length, json_scan_visit *visit, void *context) {
  struct scan scan = {.p = text, .end = text + length, .visit = visit, .context = context};
  if (!read_value(&scan)) return false;
  skip_blanks(&scan);
  return scan.p == scan.end;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int64_t escaped_unit(const char *p, const char *end) {
  if (end - p < 6) return -1;
  int64_t unit = 0;
  for (int i = 2; i < 6; i++) {
    int digit = hex_digit(p[i]);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

/* What an escape stands for, and how long it is; -1: it is none. */
static int64_t escaped(const char *p, const char *end, size_t *ret_length) {
  static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (end - p < 2) return -1;
  *ret_length = 2;
  const char *at = p[1] != 0 ? strchr(plain, p[1]) : NULL;
  if (p[1] != 'u') return at != NULL ? (unsigned char)meant[at - plain] : -1;
  int64_t unit = escaped_unit(p, end), low = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? escaped_unit(p + 6, end) : -1;
  *ret_length = 6;
  if (!(unit >= 0xd800 && unit < 0xdc00 && low >= 0xdc00 && low < 0xe000)) return unit;
  *ret_length = 12;
  return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

static size_t bytes_of_code(int64_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static void put_code(char *to, int64_t code, size_t n) {
  static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)(first[n] | code);
}

int64_t json_scan_text(struct bytes raw, char *ret, size_t size) {
  const char *p = raw.ptr, *end = raw.ptr + raw.length;
  size_t n = 0;
  while (p < end) {
    size_t length = 1;
    int64_t code = *p == '\\' ? escaped(p, end, &length) : 0;
    size_t needed = *p == '\\' && code >= 0 ? bytes_of_code(code) : 1;
    if (code < 0) return -1;
    if (n + needed >= size) break;
    if (*p == '\\') put_code(ret + n, code, needed);
    else ret[n] = *p;
    n += needed;
    p += length;
  }
  ret[n] = 0;
  return (int64_t)n;
}

int64_t json_scan_text_bytes(struct bytes raw) {
  int64_t n = 0;
  const char *p = raw.ptr, *end = raw.ptr + raw.length;
  while (p < end) {
    size_t length = *p == '\\' ? 0 : utf8_length((const unsigned char *)p, (size_t)(end - p));
    int64_t code = *p == '\\' ? escaped(p, end, &length) : 0;
    if (code < 0 || length == 0) return -1;
    n += *p == '\\' ? (int64_t)bytes_of_code(code) : (int64_t)length;
    p += length;
  }
  return n;
}
