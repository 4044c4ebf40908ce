#include "result/conditions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { OTHERS, STEAL, THROTTLED, PRESSURE, USED, WAITED, ENDED, DISK, KINDS };

static const struct {
  const char *series;
  double scale;
  bool of_machine; /* a share of all of it; else of the server, seconds a second of all its threads */
} kinds[KINDS] = {[OTHERS] = {"machine.others_ratio", 1, true},      [STEAL] = {"machine.steal_ratio", 1, true},
                  [THROTTLED] = {"server.throttled_ratio", 1, true}, [PRESSURE] = {"machine.cpu_pressure_percent", 0.01, true},
                  [USED] = {"server.processors_used", 1, false},     [WAITED] = {"server.processors_waited", 1, false},
                  [ENDED] = {"server.processors_ended", 1, false},   [DISK] = {"server.disk_waited", 1, false}};

struct gathering {
  int64_t from_ns, to_ns;
  double sum[KINDS], n[KINDS];
  double of_session[KINDS], n_of_session[KINDS], n_peers;
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
  if (strcmp(series, "server.local_peers") == 0) g->n_peers = fmax(g->n_peers, value); /* ever; of NaN and a number, the number */
  if (at_ns <= g->from_ns || at_ns > g->to_ns || !isfinite(value)) return LYNX_OK;
  for (int i = 0; i < KINDS; i++) {
    if (strcmp(series, kinds[i].series) != 0) continue;
    g->of_session[i] += value * kinds[i].scale;
    g->n_of_session[i]++;
  }
  take_slowed(g, series, value);
  return LYNX_OK;
}

/* Throttled threads wait for a processor, too, as most kernels count: the greater of the two. What the hypervisor takes, it takes from who
 * uses processors. */
static struct result_felt end_session(struct gathering *g) {
  double of[KINDS];
  for (int i = 0; i < KINDS; i++) {
    of[i] = g->n_of_session[i] > 0 ? g->of_session[i] / g->n_of_session[i] : NAN;
    g->sum[i] += g->of_session[i];
    g->n[i] += g->n_of_session[i];
    g->of_session[i] = g->n_of_session[i] = 0;
  }
  double stolen = of[STEAL] > 0 && of[STEAL] < 1 ? of[USED] * of[STEAL] / (1 - of[STEAL]) : 0;
  struct result_felt felt = {.lost = fmax(of[WAITED], isnan(of[WAITED]) ? NAN : of[THROTTLED]) + of[DISK] + stolen,
                             .used = of[USED],
                             .ended = of[ENDED],
                             .beside = of[OTHERS] + of[STEAL],
                             .n_peers = g->n_peers};
  g->n_peers = NAN;
  return felt;
}

enum lynx_status conditions_judge(struct bundle *bundle, struct result_precision *p, const struct bundle_session *const *rows,
                                  struct lynx_error *error) {
  struct gathering g = {.n_peers = NAN};
  enum lynx_status status = LYNX_OK;
  double lost = 0;
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    p->sessions[i].felt = (struct result_felt){NAN, NAN, NAN, NAN, NAN};
    if (!p->sessions[i].complete) continue;
    g.from_ns = rows[i]->warm_up_ns;
    g.to_ns = rows[i]->warm_up_ns + rows[i]->counted_ns;
    status = bundle_each_sample(bundle, p->sessions[i].id, take_sample, &g, error);
    p->sessions[i].felt = end_session(&g);
    lost += p->sessions[i].felt.lost;
  }
  double *const to[] = {&p->conditions.others, &p->conditions.steal, &p->conditions.throttled, &p->conditions.pressure};
  for (size_t i = 0; i < LYNX_COUNT(to); i++) *to[i] = g.n[i] > 0 ? g.sum[i] / g.n[i] : NAN;
  p->conditions.lost = p->n_complete > 0 ? lost / (double)p->n_complete : NAN;
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
  static const double most_threads = 1e6;
  for (int i = 0; i < KINDS; i++)
    if (strcmp(series, kinds[i].series) == 0)
      return value * kinds[i].scale >= -0.01 && value * kinds[i].scale <= (kinds[i].of_machine ? 1.5 : most_threads);
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
  if (!isnan(c->lost)) text = arena_printf(arena, "%s%sits threads waited %.2g s/s", text, text[0] != 0 ? "; " : "", c->lost);
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
