/* JUnit XML, as test runners write it: how long each test took that passed. A document type's entities are refused. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/xml.h"
#include "history/series_file.h"
#include "history/when.h"

enum { NUMBER_MAX = 40, HEAD = 4096, DEPTH_MAX = 32 };

struct junit {
  struct series_run *run;
  const char *figure;            /* the test that is open; NULL: none */
  const char *suites[DEPTH_MAX]; /* those that are open, from the outermost */
  size_t depth;
  double seconds;
  bool passed, has_suite;
};

static bool recognise(const struct series_file *file) {
  char head[HEAD];
  size_t n = file->length < sizeof head - 1 ? file->length : sizeof head - 1;
  memcpy(head, file->text, n);
  head[n] = 0;
  return strchr(head, '<') != NULL && (strstr(head, "<testsuites") != NULL || strstr(head, "<testsuite") != NULL);
}

static const char *attribute(const char *const *attributes, const char *name) {
  for (size_t i = 0; attributes[i] != NULL; i += 2)
    if (strcmp(attributes[i], name) == 0) return attributes[i + 1];
  return "";
}

/* Some runners write thousands with commas; a comma elsewhere could be anything. */
static double seconds_of(const char *text) {
  char plain[NUMBER_MAX];
  size_t n = 0;
  double value;
  for (; *text != 0 && n + 1 < sizeof plain; text++)
    if (*text != ',') plain[n++] = *text;
    else if (strspn(text + 1, "0123456789") != 3) return NAN;
  return *text == 0 && number_double(plain, n, &value) && value >= 0 ? value : NAN;
}

static enum lynx_status begin_suite(struct junit *j, const char *const *attributes, struct lynx_error *error) {
  const char *time = attribute(attributes, "timestamp"), *host = attribute(attributes, "hostname"), *name = attribute(attributes, "name");
  if (j->depth == DEPTH_MAX) return lynx_fail(error, LYNX_LIMIT, "suites in one another, more than %d deep", DEPTH_MAX);
  j->suites[j->depth++] = arena_copy(&j->run->arena, name);
  if (j->has_suite) return LYNX_OK; /* the first one says when and where */
  j->has_suite = true;
  if (time[0] != 0 && !when_read(time, &j->run->at_ns))
    return lynx_fail(error, LYNX_INPUT, "timestamp: found '%.60s'; accepted: a date and time", time);
  j->run->name = arena_printf(&j->run->arena, "tests%s%.200s", host[0] != 0 ? " on " : "", host);
  return LYNX_OK;
}

static enum lynx_status begin(void *context, const char *element, const char *const *attributes, struct lynx_error *error) {
  struct junit *j = context;
  if (strcmp(element, "testsuite") == 0) return begin_suite(j, attributes, error);
  if (strcmp(element, "testcase") == 0) {
    const char *group = attribute(attributes, "classname"), *time = attribute(attributes, "time");
    const char *suite = j->depth > 0 ? j->suites[j->depth - 1] : "", *result = attribute(attributes, "result");
    j->figure = arena_printf(&j->run->arena, "%.100s%s%.150s%s%.140s", suite, suite[0] != 0 ? ": " : "", group, group[0] != 0 ? "." : "",
                             attribute(attributes, "name"));
    j->seconds = seconds_of(time);
    /* GoogleTest says of each whether it was run. */
    j->passed = strcmp(attribute(attributes, "status"), "notrun") != 0 && strcmp(result, "skipped") != 0 &&
                strcmp(result, "suppressed") != 0;
    if (time[0] != 0 && isnan(j->seconds))
      return lynx_fail(error, LYNX_INPUT, "%.200s: time: found '%.40s'; accepted: seconds from 0", j->figure, time);
  } else if (strcmp(element, "failure") == 0 || strcmp(element, "error") == 0 || strcmp(element, "skipped") == 0) j->passed = false;
  return LYNX_OK;
}

static enum lynx_status end(void *context, const char *element, struct lynx_error *error) {
  struct junit *j = context;
  if (strcmp(element, "testsuite") == 0 && j->depth > 0) j->depth--;
  if (strcmp(element, "testcase") != 0 || j->figure == NULL) return LYNX_OK;
  const char *figure = j->figure;
  j->figure = NULL;
  return j->passed ? series_add(j->run, figure, "s", BETTER_LESS, j->seconds, error) : LYNX_OK;
}

static enum lynx_status read_file(const struct series_file *file, struct series_run *run, struct lynx_error *error) {
  struct junit j = {.run = run};
  const struct xml_handlers handlers = {.begin = begin, .end = end, .context = &j};
  run->name = "tests";
  return xml_read(file->text, file->length, &handlers, error);
}

const struct series_reader series_junit = {
    .name = "junit", .files = "JUnit XML, as pytest --junitxml", .recognise = recognise, .read = read_file};
