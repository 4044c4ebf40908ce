#include "base/purpose.h"

#include <string.h>

#include "base/words.h"

static const char *const purposes[PURPOSE_COUNT] = {
    [PURPOSE_MEASURE] = "measure",       [PURPOSE_SEARCH] = "search",
    [PURPOSE_CERTIFY] = "certify",       [PURPOSE_CHECK_CACHING] = "check caching",
    [PURPOSE_CHECK_SEED] = "check seed", [PURPOSE_OBSERVE] = "observe",
    [PURPOSE_ATTRIBUTE] = "attribute",   [PURPOSE_TRACE] = "trace",
    [PURPOSE_PERTURB] = "perturb",
};

static const char *const ends[SESSION_END_COUNT] = {
    [SESSION_RUNNING] = "running", [SESSION_COMPLETE] = "complete",       [SESSION_INTERRUPTED] = "interrupted",
    [SESSION_ABORTED] = "aborted", [SESSION_UNAVAILABLE] = "unavailable", [SESSION_FAILED] = "failed",
    [SESSION_VOID] = "void",
};

static const char *const starts[EXECUTOR_START_COUNT] = {
    [EXECUTOR_ALREADY_RUNNING] = "already running",
    [EXECUTOR_STARTED] = "started for this session",
    [EXECUTOR_RUNNING_SINCE] = "running since the session before",
    [EXECUTOR_IN_PROCESS] = "in process",
};

static const char *const begans[SESSION_BEGAN_COUNT] = {
    [BEGAN_UNSEEN] = "unseen",
    [BEGAN_FRESH] = "fresh",
    [BEGAN_IDLE_BY_COUNTS] = "idle by its counts",
    [BEGAN_IDLE_BY_PROBE] = "idle by a probe",
    [BEGAN_IN_BACKLOG] = "in a backlog",
};

static const char *const events[EVENT_KIND_COUNT] = {
    [EVENT_INTENT] = "intent",     [EVENT_INPUTS] = "inputs",       [EVENT_CLOCK_STEP] = "clock step",
    [EVENT_ACCURACY] = "accuracy", [EVENT_CONDITION] = "condition", [EVENT_PART] = "part",
    [EVENT_LOOK] = "look",         [EVENT_PRECISION] = "precision", [EVENT_BUDGET] = "budget",
    [EVENT_SEARCH] = "search",     [EVENT_RECOUNT] = "recount",     [EVENT_UNSEEN] = "unseen",
    [EVENT_TRACE] = "trace",       [EVENT_RESUMED] = "resumed",     [EVENT_BY_HAND] = "by_hand",
};

const char *purpose_text(enum purpose purpose) {
  return purposes[purpose];
}

bool purpose_parse(const char *text, enum purpose *ret) {
  int place = words_find(purposes, PURPOSE_COUNT, text, strlen(text));
  if (place < PURPOSE_COUNT) *ret = (enum purpose)place;
  return place < PURPOSE_COUNT;
}

const char *event_kind_text(enum event_kind kind) {
  return events[kind];
}

bool event_kind_parse(const char *text, enum event_kind *ret) {
  int place = words_find(events, EVENT_KIND_COUNT, text, strlen(text));
  if (place < EVENT_KIND_COUNT) *ret = (enum event_kind)place;
  return place < EVENT_KIND_COUNT;
}

const char *session_end_text(enum session_end end) {
  return ends[end];
}

bool session_end_parse(const char *text, enum session_end *ret, const char **ret_why) {
  const char *colon = strstr(text, ": ");
  int place = words_find(ends, SESSION_END_COUNT, text, colon != NULL ? (size_t)(colon - text) : strlen(text));
  if (place < SESSION_END_COUNT) *ret = (enum session_end)place;
  *ret_why = colon != NULL ? colon + 2 : "";
  return place < SESSION_END_COUNT;
}

const char *executor_start_text(enum executor_start start) {
  return starts[start];
}

bool executor_start_parse(const char *text, enum executor_start *ret) {
  int place = words_find(starts, EXECUTOR_START_COUNT, text, strlen(text));
  if (place < EXECUTOR_START_COUNT) *ret = (enum executor_start)place;
  return place < EXECUTOR_START_COUNT;
}

const char *session_began_text(enum session_began began) {
  return begans[began];
}

bool session_began_parse(const char *text, enum session_began *ret) {
  int place = words_find(begans, SESSION_BEGAN_COUNT, text, strlen(text));
  if (place < SESSION_BEGAN_COUNT) *ret = (enum session_began)place;
  return place < SESSION_BEGAN_COUNT;
}
