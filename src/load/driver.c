#include "load/driver.h"

#include <string.h>

static const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_REFUSED] = "connection refused",
    [OUTCOME_TLS] = "TLS failed",
    [OUTCOME_TIMEOUT] = "timed out",
    [OUTCOME_CLOSED] = "closed early",
    [OUTCOME_HTTP_STATUS] = "HTTP status",
    [OUTCOME_PROTOCOL] = "protocol error",
    [OUTCOME_ERROR_IN_STREAM] = "error in stream",
    [OUTCOME_NOT_FINISHED] = "stream not finished",
    [OUTCOME_LIMIT] = "over a size limit",
    [OUTCOME_UNFINISHED] = "unfinished at the end",
    [OUTCOME_ABANDONED] = "abandoned, not counted",
};

static const char *const flag_names[ANSWER_FLAG_COUNT] = {
    "usage contradicts the stream",
    "no usage: tokens counted from events",
    "invalid UTF-8",
    "no [DONE]",
    "shorter than asked for",
    "sent again: kept connection closed",
    "prompt tokens from a cache",
    "the first text is blank",
    "reasoning",
    "tool call",
    "waited for a free slot",
};

const char *outcome_text(enum outcome outcome) {
  return outcome_names[outcome];
}

bool outcome_parse(const char *text, enum outcome *ret) {
  for (int i = 0; i < OUTCOME_COUNT; i++) {
    if (strcmp(outcome_names[i], text) != 0) continue;
    *ret = (enum outcome)i;
    return true;
  }
  return false;
}

const char *answer_flag_text(unsigned index) {
  return index < ANSWER_FLAG_COUNT ? flag_names[index] : "unknown";
}

enum lynx_status driver_check(const struct driver *driver, struct lynx_error *error) {
  const char *name = driver->name != NULL ? driver->name : "(unnamed)";
  if (driver->abi != DRIVER_ABI)
    return lynx_fail(error, LYNX_UNSUPPORTED, "driver %s: interface version %d, this build speaks %d", name, driver->abi, DRIVER_ABI);
  const char *missing = driver->name == NULL      ? "name"
                        : driver->summary == NULL ? "summary"
                        : driver->open == NULL    ? "open"
                        : driver->prepare == NULL ? "prepare"
                        : driver->issue == NULL   ? "issue"
                        : driver->reap == NULL    ? "reap"
                        : driver->cancel == NULL  ? "cancel"
                        : driver->close == NULL   ? "close"
                                                  : NULL;
  return missing == NULL ? LYNX_OK : lynx_fail(error, LYNX_UNSUPPORTED, "driver %s: the table lacks '%s'", name, missing);
}
