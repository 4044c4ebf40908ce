/* tests/check.h: checks that print both values. A test program is a list of cases; it exits 0, 1, or 77 for skipped. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int check_failures, check_count;

static inline void check_true(int good, const char *what, const char *file, int line) {
  check_count++;
  if (good) return;
  check_failures++;
  (void)printf("%s:%d: does not hold: %s\n", file, line, what);
}

static inline void check_int(int64_t found, int64_t wanted, const char *what, const char *file, int line) {
  check_count++;
  if (found == wanted) return;
  check_failures++;
  (void)printf("%s:%d: %s is %" PRId64 ", should be %" PRId64 "\n", file, line, what, found, wanted);
}

static inline void check_near(double found, double wanted, double tolerance, const char *what, const char *file, int line) {
  check_count++;
  if (fabs(found - wanted) <= tolerance || (isinf(found) && found == wanted)) return;
  check_failures++;
  (void)printf("%s:%d: %s is %.17g, should be %.17g within %g\n", file, line, what, found, wanted, tolerance);
}

static inline void check_text(const char *found, const char *wanted, const char *what, const char *file, int line) {
  check_count++;
  if (found != NULL && strcmp(found, wanted) == 0) return;
  check_failures++;
  (void)printf("%s:%d: %s is\n  '%s', should be\n  '%s'\n", file, line, what, found != NULL ? found : "(null)", wanted);
}

static inline void check_contains(const char *found, const char *wanted, const char *what, const char *file, int line) {
  check_count++;
  if (found != NULL && strstr(found, wanted) != NULL) return;
  check_failures++;
  (void)printf("%s:%d: %s is\n  '%s', should contain\n  '%s'\n", file, line, what, found != NULL ? found : "(null)", wanted);
}

#define CHECK(condition) check_true((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_INT(found, wanted) check_int((int64_t)(found), (int64_t)(wanted), #found, __FILE__, __LINE__)
#define CHECK_NEAR(found, wanted, tolerance) check_near((found), (wanted), (tolerance), #found, __FILE__, __LINE__)
#define CHECK_TEXT(found, wanted) check_text((found), (wanted), #found, __FILE__, __LINE__)
#define CHECK_CONTAINS(found, wanted) check_contains((found), (wanted), #found, __FILE__, __LINE__)

static inline int check_end(void) {
  if (check_count == 0) {
    (void)printf("no check was made\n");
    return 1;
  }
  (void)printf("%d checks, %d failed\n", check_count, check_failures);
  return check_failures == 0 ? 0 : 1;
}

#endif
