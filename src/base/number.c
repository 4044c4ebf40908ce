#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_int64(const char *text, size_t length, int64_t *ret) {
  if (length == 0 || length > 20) return false;
  size_t i = text[0] == '-' ? 1 : 0;
  if (i == length) return false;
  int64_t value = 0;
  for (; i < length; i++) {
    if (text[i] < '0' || text[i] > '9') return false;
    int digit = text[i] - '0';
    if (__builtin_mul_overflow(value, 10, &value)) return false;
    if (__builtin_sub_overflow(value, digit, &value)) return false; /* negative side: it reaches INT64_MIN */
  }
  if (text[0] != '-' && __builtin_sub_overflow((int64_t)0, value, &value)) return false;
  *ret = value;
  return true;
}

/* A whole number below 2^53 over a power of ten that a double holds exactly: one division rounds as a correct reader does (Clinger 1990).
 * False: it has an exponent or more digits, or is none. */
static bool read_short(const char *text, size_t length, double *ret) {
  static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  bool negative = length > 0 && text[0] == '-', after_point = false;
  int64_t whole = 0;
  size_t n_digits = 0, n_after = 0;
  for (size_t i = negative; i < length; i++) {
    if (text[i] == '.' && !after_point) {
      after_point = true;
      continue;
    }
    if (text[i] < '0' || text[i] > '9' || ++n_digits >= LYNX_COUNT(power)) return false;
    whole = whole * 10 + (text[i] - '0');
    n_after += after_point;
  }
  if (n_digits == 0) return false;
  double size = (double)whole / power[n_after];
  *ret = negative ? -size : size;
  return true;
}

bool number_double(const char *text, size_t length, double *ret) {
  char copy[64];
  if (length == 0 || length >= sizeof copy) return false;
  if (read_short(text, length, ret)) return true;
  memcpy(copy, text, length);
  copy[length] = 0;
  if (strspn(copy, "0123456789+-.eE") != length) return false; /* no hexadecimal, nan, inf or leading blank */
  char *end;
  errno = 0;
  double value = strtod(copy, &end);
  if (end != copy + length || !(value >= -DBL_MAX && value <= DBL_MAX)) return false;
  *ret = value;
  return true;
}

bool number_share(const char *text, size_t length, double *ret) {
  bool percent = length > 0 && text[length - 1] == '%';
  if (!number_double(text, length - percent, ret)) return false;
  if (percent) *ret /= 100;
  return true;
}

bool number_duration(const char *text, size_t length, int64_t *ret_ns) {
  static const struct {
    const char *unit;
    int64_t ns;
  } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"min", 60000000000}, {"s", 1000000000}, {"h", 3600000000000}};
  for (size_t i = 0; i < LYNX_COUNT(units); i++) {
    size_t n = strlen(units[i].unit);
    if (length <= n || memcmp(text + length - n, units[i].unit, n) != 0) continue;
    size_t digits = length - n;
    if (strspn(text, "0123456789.") < digits) continue;
    /* Decimal places are shifted in integers, so that 0.1s is exactly 100000000 ns on every machine. */
    int64_t whole = 0, part = 0, scale = units[i].ns;
    const char *dot = memchr(text, '.', digits);
    size_t n_whole = dot != NULL ? (size_t)(dot - text) : digits;
    if (n_whole == 0 || !number_int64(text, n_whole, &whole) || __builtin_mul_overflow(whole, scale, &whole)) return false;
    for (size_t k = n_whole + 1; k < digits; k++) {
      if (text[k] < '0' || text[k] > '9') return false;
      if (scale % 10 != 0) return false; /* finer than a nanosecond */
      scale /= 10;
      part += scale * (text[k] - '0');
    }
    if (dot != NULL && n_whole + 1 == digits) return false;
    return !__builtin_add_overflow(whole, part, ret_ns);
  }
  return false;
}

char *number_text(char *text, size_t size, double value) {
  if (value == 0) value = 0; /* no "-0" */
  if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value) {
    (void)snprintf(text, size, "%" PRId64, (int64_t)value); /* 1000, not 1e+03 */
    return text;
  }
  for (int digits = 1; digits <= 17; digits++) {
    (void)snprintf(text, size, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return text;
}

char *number_duration_text(char *text, size_t size, double ns) {
  double magnitude = ns < 0 ? -ns : ns;
  if (magnitude < 1e3) (void)snprintf(text, size, "%.0f ns", ns);
  else if (magnitude < 1e6) (void)snprintf(text, size, "%.4g µs", ns / 1e3);
  else if (magnitude < 1e9) (void)snprintf(text, size, "%.4g ms", ns / 1e6);
  else if (magnitude < 120e9) (void)snprintf(text, size, "%.4g s", ns / 1e9);
  else if (magnitude < 7200e9) (void)snprintf(text, size, "%.4g min", ns / 60e9);
  else (void)snprintf(text, size, "%.4g h", ns / 3600e9);
  return text;
}

char *number_grouped(char *text, size_t size, double value, int decimals) {
  char plain[64];
  (void)snprintf(plain, sizeof plain, "%.*f", decimals, value);
  size_t whole = strcspn(plain, "."), sign = plain[0] == '-' ? 1 : 0, used = 0;
  for (size_t i = 0; plain[i] != 0 && used + 2 < size; i++) {
    if (i > sign && i < whole && (whole - i) % 3 == 0) text[used++] = ',';
    text[used++] = plain[i];
  }
  text[used] = 0;
  return text;
}

double number_round(double value, int digits) {
  char text[48];
  (void)snprintf(text, sizeof text, "%.*e", digits - 1, value);
  return strtod(text, NULL);
}
