#include "base/outcome.h"

#include <string.h>

#include "base/words.h"

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

const char *outcome_text(enum outcome outcome) {
  return outcome_names[outcome];
}

bool outcome_parse(const char *text, enum outcome *ret) {
  int place = words_find(outcome_names, OUTCOME_COUNT, text, strlen(text));
  if (place < OUTCOME_COUNT) *ret = (enum outcome)place;
  return place < OUTCOME_COUNT;
}

const char *phase_text(enum phase phase) {
  return phase_names[phase];
}

bool phase_parse(const char *text, enum phase *ret) {
  int place = words_find(phase_names, PHASE_COUNT, text, strlen(text));
  if (place < PHASE_COUNT) *ret = (enum phase)place;
  return place < PHASE_COUNT;
}

enum phase phase_at(int64_t scheduled_ns, int64_t warm_up_ns, int64_t counted_ns) {
  if (scheduled_ns < warm_up_ns) return PHASE_WARM_UP;
  return scheduled_ns < warm_up_ns + counted_ns ? PHASE_COUNTED : PHASE_TAIL;
}
