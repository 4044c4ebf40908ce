/* A variable of the executor's environment, taken out: it takes a restart, so that experiment/blocks.c does it session by session. */
#include <stdio.h>

#include "experiment/perturber.h"

static size_t setting_open(const struct perturbing *request, void **ret_state, struct target *ret, size_t most, char *why, size_t size) {
  (void)request, (void)ret, (void)most;
  *ret_state = NULL;
  (void)snprintf(why, size, "setting: it takes a restart of the server; `confirm` does that for a finding that names a variable");
  return 0;
}

static double setting_hold(void *state, size_t target, double slowness, int64_t until_ns) {
  (void)state, (void)target, (void)slowness, (void)until_ns;
  return 1; /* there is no target */
}

static void setting_close(void *state) {
  (void)state;
}

const struct perturber perturber_setting;
const struct perturber perturber_setting = {.name = "setting",
                                            .summary = "a variable of the environment, taken out",
                                            .does = "starts the executor that lynxbench starts without it, in one of every two sessions",
                                            .levels = {2},
                                            .takes_away = true,
                                            .open = setting_open,
                                            .hold = setting_hold,
                                            .close = setting_close};
