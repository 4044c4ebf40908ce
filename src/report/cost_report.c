#include "report/cost_report.h"

#include <math.h>

static const char *const verdicts[] = {[COST_B_LESS] = "B costs less", [COST_B_MORE] = "B costs more", [COST_NOT_DECIDED] = "not decided"};

static void put_interval(const struct interval *i, struct buffer *out) {
  (void)buffer_printf(out, "%.4g", i->estimate);
  if (i->bounded) (void)buffer_printf(out, " [%.4g, %.4g]", i->low, i->high);
  else (void)buffer_text(out, " (no interval: fewer than 2 sessions)");
}

static void put_million(const struct cost_side *s, struct buffer *out) {
  put_interval(&s->million, out);
  (void)buffer_printf(out, " %s%sper million %s", s->price.currency, s->price.currency[0] != 0 ? " " : "", s->unit);
}

static bool is_known(const struct cost_side *s) {
  return s->unit != NULL && s->million.estimate > 0;
}

static void put_verdict(const struct cost_report *r, struct buffer *out) {
  const struct cost_comparison *c = r->comparison;
  if (r->doubt.why != NULL) (void)buffer_printf(out, "Not decided: %s.", r->doubt.why);
  else if (c == NULL) {
    put_million(r->sides[0], out);
    (void)buffer_text(out, ".");
  } else {
    (void)buffer_printf(out, "%s: x", c->decision == COST_NOT_DECIDED ? "Not decided" : verdicts[c->decision]);
    put_interval(&c->cost_ratio, out);
    (void)buffer_text(out, " of what A costs for the same work.");
  }
}

/* What would make it another figure, or a better one. */
static void put_next(const struct cost_report *r, struct buffer *out) {
  const struct cost_side *last = r->sides[r->n - 1];
  const char *next = "how many of them: lynxbench decide fleet CLIMB.lynx --rate N";
  if (r->doubt.why != NULL) next = r->doubt.next;
  else if (r->comparison != NULL && r->comparison->decision == COST_NOT_DECIDED)
    next = "more sessions of both (method.sessions), a finer search, or prices that are better known";
  else if (!last->certified && last->can_be_certified && last->has_objectives)
    next = "the same at the greatest load that meets the objectives (regime.load: saturation): there each token costs least";
  else if (r->n == 1) next = "beside another executor: lynxbench decide cost A.lynx B.lynx";
  (void)buffer_printf(out, "next: %s\n", next);
}

static void put_price(const struct cost_price *p, struct buffer *out) {
  (void)buffer_printf(out, "  price        %.6g %s%san hour%s%s%s", p->per_hour, p->currency, p->currency[0] != 0 ? " " : "",
                      p->source[0] != 0 ? ", by " : "", p->source, p->of_other ? ", as of A: none is stated of B" : "");
  if (p->error > 0) (void)buffer_printf(out, ", +-%.3g %%", 100 * p->error);
  else (void)buffer_text(out, ", as if exact (--price-error)");
  if (p->sold < 1) (void)buffer_printf(out, "; %.3g %% of the hours are used\n", 100 * p->sold);
  else (void)buffer_text(out, "; all hours are used (--sold)\n");
}

static void put_side(const struct cost_report *r, int i, struct buffer *out) {
  const struct cost_side *s = r->sides[i];
  (void)buffer_printf(out, "\n  %-12s %s: contract %s, bundle %.8s\n",
                      r->n == 1 ? "run"
                      : i == 0  ? "A"
                                : "B",
                      r->names[i], r->results[i]->contract.name, r->results[i]->seal.root);
  if (!is_known(s)) return;
  (void)buffer_text(out, "  costs        ");
  put_million(s, out);
  (void)buffer_text(out, "\n  useful       ");
  put_interval(&s->useful, out);
  (void)buffer_printf(out, " %s each second%s,\n               %s\n", s->unit, s->has_objectives ? " of answers within the objectives" : "",
                      s->point);
  put_price(&s->price, out);
  if (isfinite(s->read_per_written))
    (void)buffer_printf(out, "  read         %.3g tokens for each that is written; all of the price is put on what is written\n",
                        s->read_per_written);
  if (r->n > 1 && isnan(s->cache_hits)) (void)buffer_text(out, "  cache        which prompts it found is not told\n");
  if (isfinite(s->joules.estimate)) {
    (void)buffer_text(out, "  energy       ");
    put_interval(&s->joules, out);
    (void)buffer_text(out, " J for each, by the power that the contract states: not measured\n");
  }
  if (!s->has_objectives) (void)buffer_text(out, "  objectives   none is stated: late answers count as good ones\n");
}

static void put_comparison(const struct cost_comparison *c, const struct cost_price *b, struct buffer *out) {
  (void)buffer_text(out, "\n  break-even   B costs as much as A at ");
  put_interval(&c->break_even, out);
  (void)buffer_printf(out, " %s%san hour, and is asked at %.6g\n  gives        x", b->currency, b->currency[0] != 0 ? " " : "",
                      b->per_hour);
  put_interval(&c->useful_ratio, out);
  (void)buffer_printf(out, " of what A gives%s\n", c->same_source ? "; both prices are one, or of one source: their errors cancel" : "");
}

bool cost_report_text(const struct cost_report *r, bool color, struct buffer *out) {
  out->shown = true;
  (void)buffer_text(out, color ? text_colors[TEXT_STRONG] : "");
  put_verdict(r, out);
  (void)buffer_printf(out, "%s\n", color ? text_colors[TEXT_PLAIN] : "");
  put_next(r, out);
  for (int i = 0; i < r->n && i < COST_RUNS; i++) put_side(r, i, out);
  if (r->comparison != NULL && r->doubt.why == NULL) put_comparison(r->comparison, &r->sides[1]->price, out);
  return !out->overflowed;
}

static void json_interval(struct json_writer *json, const char *key, const struct interval *i) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "estimate", i->estimate);
  if (i->bounded) json_put_double(json, "low", i->low);
  if (i->bounded) json_put_double(json, "high", i->high);
  json_close(json);
}

static void json_side(const struct cost_report *r, int i, struct json_writer *json) {
  const struct cost_side *s = r->sides[i];
  json_open_object(json);
  json_put_text(json, "bundle", r->results[i]->seal.root);
  json_put_double(json, "price_per_hour", s->price.per_hour);
  json_put_text(json, "currency", s->price.currency);
  json_put_double(json, "price_error", s->price.error);
  json_put_double(json, "sold", s->price.sold);
  if (is_known(s)) {
    json_put_text(json, "unit", s->unit);
    json_interval(json, "per_million", &s->million);
    json_interval(json, "useful_per_s", &s->useful);
    json_put_text(json, "point", s->point);
    json_put_bool(json, "certified", s->certified);
    json_put_bool(json, "within_objectives", s->has_objectives);
    if (isfinite(s->read_per_written)) json_put_double(json, "read_per_written", s->read_per_written);
    if (isfinite(s->joules.estimate)) json_interval(json, "joules_stated", &s->joules);
  }
  json_close(json);
}

void cost_report_json(const struct cost_report *r, struct json_writer *json) {
  bool compared = r->comparison != NULL && r->doubt.why == NULL;
  json_put_text(json, "verdict",
                compared               ? verdicts[r->comparison->decision]
                : r->doubt.why != NULL ? verdicts[COST_NOT_DECIDED]
                                       : "one run");
  if (r->doubt.why != NULL) json_put_text(json, "because", r->doubt.why);
  json_key(json, "runs");
  json_open_array(json);
  for (int i = 0; i < r->n && i < COST_RUNS; i++) json_side(r, i, json);
  json_close(json);
  if (!compared) return;
  json_interval(json, "cost_ratio", &r->comparison->cost_ratio);
  json_interval(json, "useful_ratio", &r->comparison->useful_ratio);
  json_interval(json, "break_even_price", &r->comparison->break_even);
  json_put_bool(json, "same_source", r->comparison->same_source);
}
