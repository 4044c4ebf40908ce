#include "base/activity.h"

const char *wait_kind_text(enum wait_kind kind) {
  static const char *const texts[WAIT_COUNT] = {[WAIT_TIMER] = "timer", [WAIT_LOCK] = "lock",   [WAIT_NETWORK] = "network",
                                                [WAIT_DISK] = "disk",   [WAIT_OTHER] = "other", [WAIT_UNKNOWN] = "unknown"};
  return texts[kind];
}
