#include "result/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/claim.h"
#include "result/machine_figures.h"
#include "stats/quantile.h"

enum { DIGITS = 7 };

/* --- from a result --- */

static const char *why_left_out(struct result *r, const struct result_precision *p) {
  const char *impossible = plausibility_text(&r->plausibility, &r->arena);
  if (r->seal.root[0] == 0) return "the bundle is not sealed";
  if (impossible != NULL) return arena_printf(&r->arena, "no run can have written its rows: %s", impossible);
  if (r->perturbed) return "resources were slowed, or settings swapped, on purpose";
  if (r->part[0] != 0) return r->part;
  if (r->seal.end != BUNDLE_COMPLETE) return arena_printf(&r->arena, "the run was %s", bundle_end_text(r->seal.end));
  if (p->unavailable) return "the precision was not available";
  if (p->n_complete == 0 || p->n_counted == 0) return "no session was complete";
  if (p->instrument_limited) return "the instrument was too slow for this load";
  return NULL;
}

static void add_figure(struct result *r, const struct result_precision *p, const struct session_figure *f, struct summary_precision *to) {
  double *x = xalloc(p->n_sessions + 1, sizeof *x);
  size_t n = 0;
  bool infinite = false;
  for (size_t i = 0; i < p->n_sessions; i++) {
    double value = session_figure_of(&p->sessions[i], f);
    infinite = infinite || isinf(value);
    if (isfinite(value)) x[n++] = value;
  }
  if (n > 0 && !infinite && (f->metric < 0 || result_states(&r->contract, &p->latency[f->metric], f->quantile))) {
    struct interval interval = session_figure_interval(&r->contract, f, p, x, n);
    to->figures[to->n_figures++] = (struct summary_figure){.name = f->name,
                                                           .formula = formulas[f->formula].id,
                                                           .unit = formulas[f->formula].unit,
                                                           .better = f->more_is_better ? BETTER_MORE : BETTER_LESS,
                                                           .value = number_round(quantile_plain_mean(x, n), DIGITS),
                                                           .low = interval.bounded ? number_round(interval.low, DIGITS) : NAN,
                                                           .high = interval.bounded ? number_round(interval.high, DIGITS) : NAN,
                                                           .n = (int64_t)n};
  }
  free(x);
}

static const char *why_no_claim(struct result *r, size_t precision) {
  struct claim claim;
  claim_build(r, precision, &claim);
  return claim.n_reasons > 0 ? claim.reasons[0] : NULL;
}

/* What the machine itself did, beside every precision: a drift of it is none of the executor's. */
static void add_machine(const struct result *r, struct summary_precision *to) {
  struct machine_speed speeds[MACHINE_SPEED_FIGURES];
  size_t n = machine_speed_read(r->machine_before, r->machine_after, speeds);
  for (size_t i = 0; i < n; i++) {
    const struct machine_speed *s = &speeds[i];
    to->figures[to->n_figures++] = (struct summary_figure){.name = s->name,
                                                           .formula = formulas[FORMULA_MACHINE_SPEED].id,
                                                           .unit = s->unit,
                                                           .better = s->more_is_better ? BETTER_MORE : BETTER_LESS,
                                                           .value = number_round((s->before + s->after) / 2, DIGITS),
                                                           .low = NAN, /* two measurements make no interval */
                                                           .high = NAN,
                                                           .n = 1};
  }
}

void summary_make(struct result *r, struct summary *ret) {
  *ret = (struct summary){
      .analysis = ANALYSIS_VERSION, .started_ns = r->started_ns, .contract = r->contract_digest, .name = r->contract.name};
  ret->precisions = arena_alloc(&r->arena, r->n_precisions + 1, sizeof *ret->precisions);
  for (size_t i = 0; i < r->n_precisions && i < SUMMARY_PRECISIONS_MAX; i++) {
    const struct result_precision *p = &r->precisions[i];
    struct summary_precision *to = &ret->precisions[ret->n_precisions++];
    struct session_figure figures[SESSION_FIGURES_MAX];
    *to = (struct summary_precision){
        .name = p->name, .fingerprint = p->fingerprint, .conditions = p->conditions, .left_out = why_left_out(r, p)};
    if (to->left_out == NULL) to->no_claim = why_no_claim(r, i);
    size_t n = session_figures(&r->contract, p->has_tokens, p->accuracy_known, figures);
    to->figures = arena_alloc(&r->arena, n + MACHINE_SPEED_FIGURES, sizeof *to->figures);
    for (size_t f = 0; f < n && to->left_out == NULL; f++) add_figure(r, p, &figures[f], to);
    if (to->left_out == NULL && to->n_figures == 0) to->left_out = "it has no figure that its sample can bound";
    if (to->left_out == NULL) add_machine(r, to);
  }
}

/* --- as JSON --- */

static void write_figure(const struct summary_figure *f, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "name", f->name);
  json_put_text(json, "formula", f->formula);
  json_put_text(json, "unit", f->unit);
  if (f->better != BETTER_UNKNOWN) json_put_text(json, "better", f->better == BETTER_MORE ? "more" : "less");
  json_put_double(json, "value", f->value);
  json_put_double(json, "low", f->low);
  json_put_double(json, "high", f->high);
  json_put_int(json, "sessions", f->n);
  json_close(json);
}

void summary_write(const struct summary *summary, struct json_writer *json) {
  json_put_int(json, "analysis", summary->analysis);
  json_put_int(json, "started_ns", summary->started_ns);
  json_put_text(json, "contract", summary->contract);
  json_put_text(json, "name", summary->name);
  json_key(json, "precisions");
  json_open_array(json);
  for (size_t i = 0; i < summary->n_precisions; i++) {
    const struct summary_precision *p = &summary->precisions[i];
    json_open_object(json);
    json_put_text(json, "precision", p->name);
    json_put_text(json, "fingerprint", p->fingerprint);
    if (p->left_out != NULL) json_put_text(json, "left_out", p->left_out);
    if (p->no_claim != NULL) json_put_text(json, "no_claim", p->no_claim);
    json_put_double(json, "others", number_round(p->conditions.others, DIGITS));
    json_put_double(json, "steal", number_round(p->conditions.steal, DIGITS));
    json_put_double(json, "throttled", number_round(p->conditions.throttled, DIGITS));
    json_put_double(json, "pressure", number_round(p->conditions.pressure, DIGITS));
    json_key(json, "figures");
    json_open_array(json);
    for (size_t f = 0; f < p->n_figures; f++) write_figure(&p->figures[f], json);
    json_close(json);
    json_close(json);
  }
  json_close(json);
}

/* Cut and made fit to be shown. */
static const char *text_of(const json_t *object, const char *key, struct arena *arena) {
  char text[SUMMARY_TEXT_MAX];
  const char *value = json_get_text(object, key, "");
  return arena_copy(arena, text_sanitise(text, sizeof text, value, strlen(value)));
}

static enum better better_of(const char *text) {
  return strcmp(text, "more") == 0 ? BETTER_MORE : strcmp(text, "less") == 0 ? BETTER_LESS : BETTER_UNKNOWN;
}

static double bound_of(const json_t *object, const char *key) {
  double value = json_get_double(object, key, NAN);
  return fabs(value) <= SUMMARY_VALUE_MAX ? value : NAN;
}

static bool read_figure(const json_t *object, struct arena *arena, struct summary_figure *ret) {
  *ret = (struct summary_figure){.name = text_of(object, "name", arena),
                                 .formula = text_of(object, "formula", arena),
                                 .unit = text_of(object, "unit", arena),
                                 .better = better_of(json_get_text(object, "better", "")),
                                 .value = json_get_double(object, "value", NAN),
                                 .low = bound_of(object, "low"),
                                 .high = bound_of(object, "high"),
                                 .n = json_get_int(object, "sessions", 0)};
  return ret->name[0] != 0 && fabs(ret->value) <= SUMMARY_VALUE_MAX && !(ret->low > ret->value) && !(ret->high < ret->value);
}

static bool read_precision(const json_t *object, struct arena *arena, struct summary_precision *ret) {
  const json_t *figures = json_object_get(object, "figures");
  *ret = (struct summary_precision){.name = text_of(object, "precision", arena),
                                    .fingerprint = text_of(object, "fingerprint", arena),
                                    .left_out = json_object_get(object, "left_out") != NULL ? text_of(object, "left_out", arena) : NULL,
                                    .no_claim = json_object_get(object, "no_claim") != NULL ? text_of(object, "no_claim", arena) : NULL,
                                    .conditions = {.others = json_get_double(object, "others", NAN),
                                                   .steal = json_get_double(object, "steal", NAN),
                                                   .throttled = json_get_double(object, "throttled", NAN),
                                                   .pressure = json_get_double(object, "pressure", NAN),
                                                   .slowed = NAN, /* such a run has no claim, which is in no_claim */
                                                   .gpus_slowed = NAN}};
  size_t n = json_array_size(figures);
  if (n > SUMMARY_FIGURES_MAX) return false;
  ret->figures = arena_alloc(arena, n + 1, sizeof *ret->figures);
  for (size_t i = 0; i < n; i++)
    if (!read_figure(json_array_get(figures, i), arena, &ret->figures[ret->n_figures++])) return false;
  return true;
}

bool summary_read(const json_t *object, struct arena *arena, struct summary *ret) {
  const json_t *precisions = json_object_get(object, "precisions");
  *ret = (struct summary){.analysis = json_get_int(object, "analysis", 0),
                          .started_ns = json_get_int(object, "started_ns", 0),
                          .contract = text_of(object, "contract", arena),
                          .name = text_of(object, "name", arena)};
  size_t n = json_array_size(precisions);
  if (!json_is_array(precisions) || n > SUMMARY_PRECISIONS_MAX || ret->started_ns < 0) return false;
  ret->precisions = arena_alloc(arena, n + 1, sizeof *ret->precisions);
  for (size_t i = 0; i < n; i++)
    if (!read_precision(json_array_get(precisions, i), arena, &ret->precisions[ret->n_precisions++])) return false;
  return true;
}
