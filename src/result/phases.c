#include "result/phases.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "result/rows.h"

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
  double all_ns, n_all; /* of all counted answers, whatever they tell */
  struct account {      /* of one session, by the server's statistics */
    char name[32];
    double mean_ns, n;
  } accounts[PHASE_NAMES];
  size_t n_accounts;
};

static enum lynx_status keep_row(void *context, const struct row *row) {
  struct gathering *g = context;
  const struct bundle_request *r = row->request;
  if (!row->counted || !row->ok || r->scheduled_ns < g->window_from_ns || r->written_ns < 0 || r->end_ns < r->written_ns) return LYNX_OK;
  g->told = xroom(g->told, g->n, &g->room, sizeof *g->told);
  g->all_ns += (double)(r->end_ns - r->written_ns);
  g->n_all++;
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

/* "account.queue": its mean; "account.queue.n": over how many. */
static enum lynx_status keep_account(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct gathering *g = context;
  (void)session, (void)at_ns;
  if (strncmp(series, "account.", 8) != 0 || !(value >= 0) || !(value < 1e18)) return LYNX_OK;
  const char *name = series + 8;
  size_t n = strlen(name);
  bool counts = n > 2 && strcmp(name + n - 2, ".n") == 0;
  if (counts) n -= 2;
  size_t i = 0;
  while (i < g->n_accounts && !(strlen(g->accounts[i].name) == n && memcmp(g->accounts[i].name, name, n) == 0)) i++;
  if (i == PHASE_NAMES || n >= sizeof g->accounts[0].name) return LYNX_OK;
  if (i == g->n_accounts) {
    g->accounts[i] = (struct account){.n = 0};
    memcpy(g->accounts[i].name, name, n);
    g->n_accounts++;
  }
  if (counts) g->accounts[i].n = value;
  else g->accounts[i].mean_ns = value;
  return LYNX_OK;
}

static void add_accounts(struct gathering *g) {
  for (size_t k = 0; k < g->n_accounts; k++) {
    if (!(g->accounts[k].n >= 1)) continue;
    size_t i = index_of(g, g->accounts[k].name);
    if (i == PHASE_NAMES) continue;
    g->precision->phases[i].n += (int64_t)g->accounts[k].n;
    g->precision->phases[i].of_server = true;
    g->sum_ns[i] += g->accounts[k].mean_ns * g->accounts[k].n;
  }
  g->n_accounts = 0;
}

enum lynx_status phases_judge(struct bundle *bundle, struct result *result, struct result_precision *p, struct lynx_error *error) {
  struct gathering g = {.result = result, .precision = p};
  enum lynx_status status = LYNX_OK;
  p->phases = arena_alloc(&result->arena, PHASE_NAMES, sizeof *p->phases);
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++) {
    g.n = g.at = 0;
    g.window_from_ns = p->sessions[i].steady.from_ns;
    status = rows_each_brief(bundle, p->sessions[i].id, keep_row, &g, error);
    if (status == LYNX_OK) status = bundle_each_phase(bundle, p->sessions[i].id, keep_phase, &g, error);
    if (status == LYNX_OK) status = bundle_each_sample(bundle, p->sessions[i].id, keep_account, &g, error);
    add_accounts(&g);
  }
  double covered = 0, mean_life_ns = g.n_all > 0 ? g.all_ns / g.n_all : 0;
  for (size_t i = 0; i < p->n_phases; i++) {
    struct result_phase *phase = &p->phases[i];
    phase->mean_ns = number_round(g.sum_ns[i] / (double)phase->n, 7);
    double share = phase->of_server ? (mean_life_ns > 0 ? phase->mean_ns / mean_life_ns : 0) : g.life_ns > 0 ? g.sum_ns[i] / g.life_ns : 0;
    phase->share = number_round(share, 7);
    covered += share;
  }
  p->phases_rest_share = number_round(1 - covered, 7);
  free(g.told);
  return status == LYNX_INPUT ? lynx_fail(error, LYNX_INPUT, "a phase that no run can have written") : status;
}
