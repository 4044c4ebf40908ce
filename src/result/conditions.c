#include "result/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 4 };

static const struct {
  const char *series;
  double scale;
} kinds[KINDS] = {
    {"machine.others_ratio", 1}, {"machine.steal_ratio", 1}, {"server.throttled_ratio", 1}, {"machine.cpu_pressure_percent", 0.01}};

struct gathering {
  int64_t from_ns, to_ns;
  double sum[KINDS], n[KINDS];
  double slowed, n_slowed, gpus_slowed, n_gpus;
};

/* "gpu.0.slowed" */
static bool is_gpu_slowed(const char *series) {
  size_t digits = strncmp(series, "gpu.", 4) == 0 ? strspn(series + 4, "0123456789") : 0;
  return digits > 0 && strcmp(series + 4 + digits, ".slowed") == 0;
}

static void take_slowed(struct gathering *g, const char *series, double value) {
  if (!(value >= 0) || !(value < 1e12)) return;
  if (strcmp(series, "power.slowed") == 0) {
    g->slowed += value;
    g->n_slowed++;
  } else if (is_gpu_slowed(series)) {
    g->gpus_slowed += value > 0;
    g->n_gpus++;
  }
}

static enum lynx_status take_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct gathering *g = context;
  (void)session;
  if (at_ns <= g->from_ns || at_ns > g->to_ns || !isfinite(value)) return LYNX_OK;
  for (int i = 0; i < KINDS; i++) {
    if (strcmp(series, kinds[i].series) != 0) continue;
    g->sum[i] += value * kinds[i].scale;
    g->n[i]++;
  }
  take_slowed(g, series, value);
  return LYNX_OK;
}

enum lynx_status conditions_judge(struct bundle *bundle, struct result_precision *p, const struct bundle_session *const *rows,
                                  struct lynx_error *error) {
  struct gathering g = {.from_ns = 0};
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    if (!p->sessions[i].complete) continue;
    g.from_ns = rows[i]->warm_up_ns;
    g.to_ns = rows[i]->warm_up_ns + rows[i]->counted_ns;
    status = bundle_each_sample(bundle, p->sessions[i].id, take_sample, &g, error);
  }
  double *const to[KINDS] = {&p->conditions.others, &p->conditions.steal, &p->conditions.throttled, &p->conditions.pressure};
  for (int i = 0; i < KINDS; i++) *to[i] = g.n[i] > 0 ? g.sum[i] / g.n[i] : NAN;
  p->conditions.slowed = g.n_slowed > 0 ? g.slowed : NAN;
  p->conditions.gpus_slowed = g.n_gpus > 0 ? g.gpus_slowed / g.n_gpus : NAN;
  return status;
}

const char *conditions_slowed_text(const struct result_conditions *c, struct arena *arena) {
  const char *text = NULL;
  if (c->slowed > 0) text = arena_printf(arena, "a processor's package was slowed for heat %.0f times", c->slowed);
  if (c->gpus_slowed > 0)
    text = arena_printf(arena, "%s%sa GPU was slowed, for heat or by its hardware, in %.3g %% of the looks", text != NULL ? text : "",
                        text != NULL ? "; " : "", 100 * c->gpus_slowed);
  return text;
}

bool conditions_share_is_possible(const char *series, double value) {
  for (int i = 0; i < KINDS; i++)
    if (strcmp(series, kinds[i].series) == 0) return value * kinds[i].scale >= -0.01 && value * kinds[i].scale <= 1.5;
  return true;
}

static const char *add(struct arena *arena, const char *text, const char *what, double share) {
  if (isnan(share)) return text;
  return arena_printf(arena, "%s%s%s %.*g %%", text, text[0] != 0 ? "; " : "", what, share < 0.995 ? 2 : 3, 100 * share);
}

const char *conditions_text(const struct result_conditions *c, struct arena *arena) {
  const char *text = add(arena, "", "other processes used", c->others);
  if (!isnan(c->others)) text = arena_printf(arena, "%s of the processors", text);
  text = add(arena, text, "steal", c->steal);
  text = add(arena, text, "throttled", c->throttled);
  text = add(arena, text, "pressure", c->pressure);
  const char *slowed = conditions_slowed_text(c, arena);
  if (slowed != NULL) text = arena_printf(arena, "%s%s%s", text, text[0] != 0 ? "; " : "", slowed);
  return text[0] != 0 ? text : "not known: the executor is on another machine, or nothing could be read";
}

static const char *unlike(struct arena *arena, const struct contract *contract, const char *what, double a, double b, enum layer layer,
                          const char *next) {
  if (isnan(a) || isnan(b) || !(fabs(a - b) > contract->decision.conditions_differ_at_most)) return NULL;
  return arena_printf(arena,
                      "%s %.3g %% in A and %.3g %% in B, and at most %.3g %% apart is agreed (decision.conditions_differ_at_most); layer "
                      "%s, %s. %s",
                      what, 100 * a, 100 * b, 100 * contract->decision.conditions_differ_at_most, layer_text(layer),
                      contract_owner(contract, layer), next);
}

const char *conditions_differ(const struct contract *contract, const struct result_conditions *a, const struct result_conditions *b,
                              struct arena *arena) {
  bool known = !isnan(a->others);
  if (known == isnan(b->others) && contract->decision.conditions_differ_at_most < 1)
    return arena_printf(
        arena,
        "what ran beside is known in %s only: no sample of the machine was taken in %s. Run both from where the server runs, "
        "or agree that any difference may be (decision.conditions_differ_at_most: 1); layer %s, %s",
        known ? "A" : "B", known ? "B" : "A", layer_text(LAYER_SYSTEM), contract_owner(contract, LAYER_SYSTEM));
  const char *text = unlike(arena, contract, "other processes used", a->others, b->others, LAYER_SYSTEM,
                            "Find what ran beside (`ps`), and measure both in turn: `lynxbench compare A.yaml B.yaml`");
  if (text == NULL)
    text = unlike(arena, contract, "the hypervisor took", a->steal, b->steal, LAYER_SYSTEM,
                  "Ask for a host without neighbours, or measure both in turn: `lynxbench compare A.yaml B.yaml`");
  if (text == NULL)
    text = unlike(arena, contract, "a quota stopped the serving process for", a->throttled, b->throttled, LAYER_SYSTEM,
                  "Raise the quota (cpu.max), or agree on it as a part of the executor");
  return text;
}
