#include "decide/fleet_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "result/rows.h"

struct step_rows { /* of the requests of one step that ended well */
  int64_t session;
  size_t n, first; /* first: of its times, in work */
  double time, tokens;
};

struct climb_reading {
  const struct result_precision *precision;
  struct fleet_measured *ret;
  struct row_terms terms;
  struct step_rows rows[FLEET_POINTS_MAX], *now;
};

/* The step of that many in flight; NULL: none that tells anything. */
static const struct result_step *step_of(const struct result_precision *p, double in_flight) {
  for (size_t i = 0; i < p->n_steps; i++)
    if ((double)p->steps[i].concurrency == in_flight && !p->steps[i].failing && !p->steps[i].too_short) return &p->steps[i];
  return NULL;
}

/* Steps double what is in flight, so that sessions come in the order of the curve; one that does not is left out. */
static enum lynx_status take_session(void *context, const struct bundle_session *s) {
  struct climb_reading *r = context;
  struct fleet_curve *c = &r->ret->curve;
  if (s->purpose != PURPOSE_SEARCH || s->end != SESSION_COMPLETE || strcmp(s->precision, r->precision->name) != 0) return LYNX_OK;
  const struct result_step *step = step_of(r->precision, (double)s->concurrency);
  double answered = step != NULL ? (double)(step->point.n_ended - step->point.n_failed) : 0, last = c->n > 0 ? c->in_flight[c->n - 1] : 0;
  bool usable = answered > 0 && s->counted_ns > 0 && s->concurrency <= FLEET_IN_FLIGHT_MAX && (double)s->concurrency > last;
  if (!usable || c->n == FLEET_POINTS_MAX) return LYNX_OK;
  r->rows[c->n] = (struct step_rows){.session = s->id};
  c->in_flight[c->n] = (double)s->concurrency;
  c->rate[c->n++] = answered / ((double)s->counted_ns / 1e9);
  return LYNX_OK;
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct climb_reading *r = context;
  struct fleet_measured *m = r->ret;
  double ns;
  if (!row->ok || m->n_work == FLEET_WORK_MAX || !row_latency(&r->terms, METRIC_END_TO_END, row, &ns) || !(ns > 0) || !isfinite(ns))
    return LYNX_OK;
  m->work[m->n_work++] = ns / 1e9;
  r->now->n++;
  r->now->time += ns / 1e9;
  r->now->tokens += (double)row->request->output_tokens;
  return LYNX_OK;
}

/* Tokens are counted when they come, answers when they end: a short window holds a part of many, so that tokens tell the rate better. */
static void finish_step(struct climb_reading *r, size_t i) {
  struct step_rows *rows = &r->rows[i];
  const struct result_step *step = step_of(r->precision, r->ret->curve.in_flight[i]);
  double each = rows->n > 0 ? rows->tokens / (double)rows->n : 0;
  if (r->terms.holds_tokens && each > 0 && step->throughput > 0) r->ret->curve.rate[i] = step->throughput / each;
  for (size_t k = 0; k < rows->n; k++) r->ret->work[rows->first + k] /= rows->time / (double)rows->n;
}

static enum lynx_status read_steps(struct climb_reading *r, struct bundle *bundle, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < r->ret->curve.n && status == LYNX_OK; i++) {
    r->now = &r->rows[i];
    r->now->first = r->ret->n_work;
    status = rows_each(bundle, r->now->session, take_row, r, error);
    if (status == LYNX_OK) finish_step(r, i);
  }
  return status;
}

enum lynx_status fleet_read(struct bundle *bundle, const struct result *result, struct fleet_measured *ret, struct lynx_error *error) {
  struct climb_reading r = {.ret = ret, .terms = row_terms_of(bundle, &result->contract)};
  *ret = (struct fleet_measured){.n_work = 0};
  for (size_t i = 0; i < result->n_precisions && r.precision == NULL; i++)
    if (result->precisions[i].n_steps > 0) r.precision = &result->precisions[i];
  if (r.precision == NULL)
    return lynx_fail(error, LYNX_INPUT,
                     "found a run at one load; accepted: one that climbed from 1 request in flight, as `lynxbench diagnose URL` makes one");
  enum lynx_status status = bundle_each_session(bundle, take_session, &r, error);
  if (status == LYNX_OK && ret->curve.n < FLEET_STEPS_LEAST)
    return lynx_fail(error, LYNX_INPUT, "found a climb of which %zu steps tell anything; accepted: %d at least, of a longer climb",
                     ret->curve.n, FLEET_STEPS_LEAST);
  if (status != LYNX_OK) return status;
  ret->work = xalloc(FLEET_WORK_MAX, sizeof *ret->work);
  status = read_steps(&r, bundle, error);
  if (status == LYNX_OK && ret->curve.in_flight[0] == 1 && r.rows[0].n >= FLEET_WORK_ALONE) ret->n_work = r.rows[0].n; /* the first ones */
  if (status == LYNX_OK && ret->n_work < FLEET_WORK_LEAST)
    status = lynx_fail(error, LYNX_INPUT, "found %zu requests in the climb; accepted: %d at least, to know how unlike they are",
                       ret->n_work, FLEET_WORK_LEAST);
  if (status == LYNX_OK) return status;
  free(ret->work);
  ret->work = NULL;
  return status;
}
