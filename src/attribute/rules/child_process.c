/* Processes are started again and again, and end: one for each request, say. */
#include <math.h>
#include <stdio.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  double ended = live->around.ended_children, rate = live->precision->request_rate.estimate;
  if (!(ended >= 0.05) || !(ended >= 0.05 * live->at.running) || !(rate > 0)) return false;
  /* Answers that stop together, and no thread that is unlike itself meanwhile: it waits for one of these. */
  double stopped = live->stops.n > 0 && live->stops.thread.program == NULL ? live->stops.share : 0;
  ret->share = fmin(1, fmax(ended, stopped));
  (void)snprintf(
      ret->evidence, sizeof ret->evidence,
      "children of the server that end again use %.2f of a processor, %.3g ms for each request; who started one and waits for it "
      "does nothing else meanwhile: in an event loop nobody does",
      ended, 1e3 * ended / rate);
  return true;
}

const struct rule rule_child_process;
const struct rule rule_child_process = {
    .name = "child_process",
    .summary = "processes that are started again and again",
    .threshold = "children that ended used a twentieth of a processor, and a twentieth of what the server runs",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {
        .title = "It starts processes that end again",
        .rung = RUNG_ACCOUNTED,
        .symptom = LAYER_APPLICATION,
        .contributing = LAYER_BIT(LAYER_APPLICATION),
        .open = "which program that is, and who starts it: `strace -f -e execve -p PID` names both",
        .next = "do that work in the process itself, or keep one helper and ask it; in an event loop start it without waiting (spawn, not "
                "spawnSync)",
        .confirm = "answer from memory what that program is asked for, and measure again",
        .bound_holds = "no bound: what else waits for it is not in its own time"}};
