/* The phases that answers tell of: how much of a request's life each took, and what none of them covers. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "result/result_private.h"

enum { PHASE_NAMES = 24 };

/* A counted answer that went well, until its phases are added up. */
struct told {
  int64_t id, took_ns;
  bool tells;
};

struct gathering {
  struct result *result;
  struct result_precision *precision;
  struct told *told; /* of one session, by id */
  size_t n, room, at;
  int64_t window_from_ns;
  double sum_ns[PHASE_NAMES], life_ns;
};

static enum lynx_status keep_request(void *context, const struct bundle_request *r) {
  struct gathering *g = context;
  struct seen_request seen;
  if (!result_see(r, &seen)) return LYNX_INPUT;
  if (!seen.counted || !seen.ok || r->scheduled_ns < g->window_from_ns || r->written_ns < 0 || r->end_ns < r->written_ns) return LYNX_OK;
  if (g->n == g->room) {
    g->room = g->room == 0 ? 1024 : 2 * g->room;
    g->told = xgrow(g->told, g->room, sizeof *g->told);
  }
  g->told[g->n++] = (struct told){.id = r->id, .took_ns = r->end_ns - r->written_ns};
  return LYNX_OK;
}

static size_t index_of(struct gathering *g, const char *name) {
  struct result_precision *p = g->precision;
  for (size_t i = 0; i < p->n_phases; i++)
    if (strcmp(p->phases[i].name, name) == 0) return i;
  if (p->n_phases == PHASE_NAMES) return PHASE_NAMES; /* counted as not told */
  p->phases[p->n_phases] = (struct result_phase){.name = arena_copy(&g->result->arena, name)};
  return p->n_phases++;
}

static enum lynx_status keep_phase(void *context, const struct bundle_phase *phase) {
  struct gathering *g = context;
  if (phase->took_ns < 0 || phase->took_ns > INT64_MAX / 4 || strlen(phase->name) >= sizeof((struct answer_phase *)0)->name)
    return LYNX_INPUT;
  while (g->at < g->n && g->told[g->at].id < phase->request) g->at++;
  if (g->at == g->n || g->told[g->at].id != phase->request) return LYNX_OK;
  struct told *told = &g->told[g->at];
  if (!told->tells) g->life_ns += (double)told->took_ns;
  told->tells = true;
  size_t i = index_of(g, phase->name);
  if (i == PHASE_NAMES) return LYNX_OK;
  g->precision->phases[i].n++;
  g->sum_ns[i] += (double)phase->took_ns;
  return LYNX_OK;
}

enum lynx_status result_judge_phases(struct bundle *bundle, struct result *result, struct result_precision *p, struct lynx_error *error) {
  struct gathering g = {.result = result, .precision = p};
  enum lynx_status status = LYNX_OK;
  p->phases = arena_alloc(&result->arena, PHASE_NAMES, sizeof *p->phases);
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    g.n = g.at = 0;
    g.window_from_ns = p->sessions[i].steady.from_ns;
    status = bundle_each_request(bundle, p->sessions[i].id, keep_request, &g, error);
    if (status == LYNX_OK) status = bundle_each_phase(bundle, p->sessions[i].id, keep_phase, &g, error);
  }
  double covered = 0;
  for (size_t i = 0; i < p->n_phases; i++) {
    covered += g.sum_ns[i];
    p->phases[i].mean_ns = number_round(g.sum_ns[i] / (double)p->phases[i].n, 7);
    p->phases[i].share = g.life_ns > 0 ? number_round(g.sum_ns[i] / g.life_ns, 7) : 0;
  }
  p->phases_rest_share = g.life_ns > 0 ? number_round(1 - covered / g.life_ns, 7) : 0;
  free(g.told);
  return status == LYNX_INPUT ? lynx_fail(error, LYNX_INPUT, "a phase that no run can have written") : status;
}
