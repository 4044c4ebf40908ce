#include "base/activity.h"

const char *wait_kind_text(enum wait_kind kind) {
  static const char *const texts[WAIT_COUNT] = {[WAIT_TIMER] = "a timer", [WAIT_LOCK] = "a lock",        [WAIT_NETWORK] = "the network",
                                                [WAIT_DISK] = "the disk", [WAIT_OTHER] = "another call", [WAIT_UNKNOWN] = "not known"};
  return texts[kind];
}
