/* history/drift.h: what drifted where figures changed: the machine, the stack, or the model.
 * Result   MACHINE: its own speed (lynx.machine_speed.1) changed there, and nothing captured of the executor. STACK: the executor
 *          did, and no change of the machine's speed was seen. BOTH: they are not told apart. MODEL: the answers' accuracy changed,
 *          and neither of them. NEITHER: something else did. UNKNOWN: the machine's speed was not followed, or the executor not
 *          captured
 * Limits   within one contract the demand does not drift: its digest fixes the load. What coincided is no cause
 */
#ifndef HISTORY_DRIFT_H
#define HISTORY_DRIFT_H

#include "history/coincidence.h"

enum drift_kind { DRIFT_UNKNOWN, DRIFT_MACHINE, DRIFT_STACK, DRIFT_BOTH, DRIFT_MODEL, DRIFT_NEITHER };

struct drift {
  enum drift_kind kind;
  bool machine_followed;                /* its speed is known of enough runs */
  bool executor_changed;                /* a figure of the executor is among what changed */
  const struct history_change *machine; /* the greatest change of the machine's speed there, in the executor's direction; NULL */
  /* Less than the executor's, even at the far end of its interval: nothing slows more than in proportion to what it runs on. */
  bool in_part;
};

const char *drift_text(enum drift_kind kind);
void drift_judge(const struct history *history, const struct history_event *event, const struct coincidence *coincidence,
                 const struct change_plan *plan, struct drift *ret);

#endif
