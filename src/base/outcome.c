#include "base/outcome.h"

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
    [OUTCOME_EXECUTOR] = "executor failed",
    [OUTCOME_UNFINISHED] = "unfinished at the end",
    [OUTCOME_ABANDONED] = "abandoned, not counted",
};

static const char *const phase_names[PHASE_COUNT] = {[PHASE_WARM_UP] = "warm-up", [PHASE_COUNTED] = "counted", [PHASE_TAIL] = "tail"};

static int place_in(const char *const *names, int n, const char *text) {
  int i = 0;
  while (i < n && strcmp(names[i], text) != 0) i++;
  return i;
}

const char *outcome_text(enum outcome outcome) {
  return outcome_names[outcome];
}

bool outcome_parse(const char *text, enum outcome *ret) {
  int place = place_in(outcome_names, OUTCOME_COUNT, text);
  if (place < OUTCOME_COUNT) *ret = (enum outcome)place;
  return place < OUTCOME_COUNT;
}

const char *phase_text(enum phase phase) {
  return phase_names[phase];
}

bool phase_parse(const char *text, enum phase *ret) {
  int place = place_in(phase_names, PHASE_COUNT, text);
  if (place < PHASE_COUNT) *ret = (enum phase)place;
  return place < PHASE_COUNT;
}
