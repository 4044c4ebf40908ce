#include "history/when.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/status.h"

/* A number of seconds from which on it is one of ms, µs or ns: each would be in the year 5138 of the unit before. */
static const double milliseconds_from = 1e11, microseconds_from = 1e14, nanoseconds_from = 1e17;
static const int64_t seconds_most = 9000000000; /* the year 2255; in ns it fits */

/* "+01:00", "+0100", "Z", or nothing. */
static bool zone_of(const char *text, int64_t *ret_s) {
  int hours = 0, minutes = 0, n = 0;
  text += strspn(text, " ");
  *ret_s = 0;
  if (text[0] == 0 || strcmp(text, "Z") == 0 || strcmp(text, "UTC") == 0) return true;
  if (text[0] != '+' && text[0] != '-') return false;
  if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &n) != 2 && sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &n) != 2) return false;
  if (text[1 + n] != 0 || hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return false;
  *ret_s = (text[0] == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
  return true;
}

static bool date_of(const char *text, int64_t *ret_ns) {
  static const char *const dates[] = {"%Y-%m-%d", "%Y.%m.%d", "%Y/%m/%d", "%Y%m%d"}, *const times[] = {"%H:%M:%S", "%H:%M"};
  struct tm t = {.tm_year = 0};
  const char *rest = NULL;
  int64_t zone, fraction_ns = 0;
  for (size_t i = 0; i < LYNX_COUNT(dates) && rest == NULL; i++) rest = strptime(text, dates[i], &t);
  if (rest == NULL) return false;
  const char *compact = rest[0] == '-' ? strptime(rest + 1, "%H%M%S", &t) : NULL; /* 20261123-060000 */
  if (compact != NULL) rest = compact;
  else if (rest[0] == 'T' || rest[0] == ' ') {
    const char *after = NULL;
    for (size_t i = 0; i < LYNX_COUNT(times) && after == NULL; i++) after = strptime(rest + 1, times[i], &t);
    if (after == NULL) return false;
    rest = after;
  }
  if (rest[0] == '.') {
    int64_t digit_ns = 100000000;
    for (rest++; *rest >= '0' && *rest <= '9'; rest++, digit_ns /= 10) fraction_ns += (*rest - '0') * digit_ns;
  }
  if (!zone_of(rest, &zone)) return false;
  struct tm normal = t;
  int64_t seconds = (int64_t)timegm(&normal) - zone;
  if (normal.tm_mday != t.tm_mday || normal.tm_mon != t.tm_mon || seconds <= 0 || seconds > seconds_most) return false; /* 30 February */
  *ret_ns = seconds * 1000000000 + fraction_ns;
  return true;
}

bool when_read(const char *text, int64_t *ret_ns) {
  double number;
  bool is_date = strlen(text) == 8 && strspn(text, "0123456789") == 8; /* 20261123: as seconds it would be in 1970 */
  if (is_date || !number_double(text, strlen(text), &number)) return date_of(text, ret_ns);
  double seconds = number >= nanoseconds_from    ? number / 1e9
                   : number >= microseconds_from ? number / 1e6
                   : number >= milliseconds_from ? number / 1e3
                                                 : number;
  if (!(seconds > 0) || seconds > (double)seconds_most) return false;
  *ret_ns = (int64_t)(seconds * 1e9);
  return true;
}
