/* The processor quota of the server's control group, taken away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/perturber.h"
#include "telemetry/control_group.h"

struct quota {
  struct perturbing request;
  struct undo_step before, without; /* the file, with the quota that is in it, and with none */
  const char *none;                 /* what means no quota */
};

static bool take_group(void *context, const struct control_group *group) {
  struct quota *q = context;
  (void)snprintf(q->before.path, sizeof q->before.path, "%.200s/%s", group->path, group->unified ? "cpu.max" : "cpu.cfs_quota_us");
  q->none = group->unified ? "max" : "-1";
  return strlen(group->path) <= 200 && root_read_line(q->request.root, q->before.path, q->before.text, sizeof q->before.text);
}

static size_t quota_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  struct quota *q = xalloc(1, sizeof *q);
  q->request = *request;
  q->before.kind = UNDO_FILE;
  *ret_state = q;
  if (most == 0 || request->n_processes == 0 || !control_group_find(request->root, request->processes[0].pid, "cpu", take_group, q) ||
      strncmp(q->before.text, q->none, strlen(q->none)) == 0) {
    (void)snprintf(why, size, "quota: the server's control group has no processor quota of its own");
    return 0;
  }
  if (!undo_write_setting(&q->before)) {
    (void)snprintf(why, size, "quota: %.200s cannot be written: only root may", q->before.path);
    return 0;
  }
  const char *period = strchr(q->before.text, ' '); /* "50000 100000" of version 2 */
  q->without = q->before;
  (void)snprintf(q->without.text, sizeof q->without.text, "%s%.40s", q->none, period != NULL ? period : "");
  undo_add(request->undo, &q->before);
  target_name(ret, "quota", "none");
  return 1;
}

static double quota_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  struct quota *q = state;
  (void)target;
  if (!undo_hold(q->request.undo)) return 1;
  bool done = undo_write_setting(&q->without);
  (void)perturber_wait(&q->request, until_ns);
  (void)undo_write_setting(&q->before);
  undo_release(q->request.undo);
  return done ? slowness : 1;
}

const struct perturber perturber_quota_away;
const struct perturber perturber_quota_away = {.name = "quota",
                                               .summary = "the processor quota, taken away",
                                               .does = "writes «no quota» into the control group's own file, then what stood there",
                                               .levels = {2},
                                               .takes_away = true,
                                               .open = quota_open,
                                               .hold = quota_hold,
                                               .close = free,
                                               .whose = perturber_of_system};
