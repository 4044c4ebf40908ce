#include "report/verification_report.h"

#include <math.h>
#include <string.h>

enum { DIFFERENCES_SHOWN = 12, DIFFERENCES_KEPT = 40 };

static const char *figure_verdict(const struct decision_figure *f) {
  return f->beyond ? "differs beyond the margin" : verdict_text(f->ratio.verdict);
}

/* The interval that the verdict rests on: two one-sided tests for «the same», a two-sided one for what is beyond. */
static double shown_low(const struct decision_figure *f) {
  return verdict_is_same(f->ratio.verdict) ? f->ratio.inner_low : f->low;
}

static double shown_high(const struct decision_figure *f) {
  return verdict_is_same(f->ratio.verdict) ? f->ratio.inner_high : f->high;
}

static void put_figure(const struct decision_report *r, const struct decision_figure *f, bool decided, struct buffer *out) {
  (void)buffer_printf(out, "  %-6s %-22s sealed %.5g %s (%zu sessions", f->precision, f->name, f->a / f->unit_divisor, f->unit, f->n_a);
  if (!isnan(f->sd)) (void)buffer_printf(out, ", varying by %.2g %%", 100 * f->sd);
  (void)buffer_text(out, ")");
  if (!decided) {
    if (f->needed > 0) (void)buffer_printf(out, "; a re-run needs %zu", f->needed);
    else if (f->needed_sealed > 0) (void)buffer_printf(out, "; no re-run decides: %zu on both sides would", f->needed_sealed);
    (void)buffer_text(out, "\n");
    return;
  }
  if (f->n_b == 0) (void)buffer_text(out, ", not measured again\n");
  else if (!f->ratio.bounded) (void)buffer_printf(out, ", again %.5g (%zu): cannot be compared\n", f->b / f->unit_divisor, f->n_b);
  else
    (void)buffer_printf(out, ", again %.5g (%zu): ratio %.4f [%.4f, %.4f] against %.4f to %.4f: %s\n", f->b / f->unit_divisor, f->n_b,
                        f->ratio.ratio, shown_low(f), shown_high(f), 1 / (1 + r->margin), 1 + r->margin, figure_verdict(f));
  if (f->felt_text != NULL) (void)buffer_printf(out, "         as at equal conditions; %s\n", f->felt_text);
}

static void put_configuration(const struct configuration *c, bool color, struct buffer *out) {
  const char *bold = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  char a[80], b[80], key[120];
  (void)buffer_printf(out, "\n%sThe same configuration?%s %s\n", bold, plain,
                      c->same ? c->n_differences > 0 ? "yes, but for what the contract lets vary" : "yes, as far as it was seen" : "no");
  if (c->workload != NULL) (void)buffer_printf(out, "  demand: %s\n", c->workload);
  for (size_t i = 0, n = 0; i < c->n_differences; i++) {
    const struct configuration_difference *d = &c->differences[i];
    if (n++ >= DIFFERENCES_SHOWN) continue;
    (void)buffer_printf(out, "  %s (%s), %s: '%s' then, '%s' now%s\n", d->layer, d->owner,
                        text_sanitise(key, sizeof key, d->key, strlen(d->key)), text_sanitise(a, sizeof a, d->a, strlen(d->a)),
                        text_sanitise(b, sizeof b, d->b, strlen(d->b)), d->allowed ? ": the contract lets it vary" : "");
  }
  if (c->n_differences > DIFFERENCES_SHOWN)
    (void)buffer_printf(out, "  and %zu more; --json lists them\n", c->n_differences - DIFFERENCES_SHOWN);
  for (size_t i = 0; i < c->n_holes; i++) (void)buffer_printf(out, "  not seen: %s\n", c->holes[i]);
}

bool text_verification(const struct decision_report *r, const struct configuration *c, bool color, struct buffer *out) {
  out->shown = true;
  const char *bold = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  if (c != NULL) {
    (void)buffer_printf(out, "%s%s%s", bold, decision_text(r->decision), plain);
    if (r->decision == DECISION_OTHER_CONFIGURATION)
      (void)buffer_text(out, ": the figures below belong to two executors; what differs is below it with its owner");
    if (r->decision == DECISION_INCONCLUSIVE) (void)buffer_printf(out, ": %s", r->why);
    (void)buffer_text(out, "\n");
    if (r->felt != NULL && r->decision != DECISION_INCONCLUSIVE)
      (void)buffer_printf(out, "conditions differ (A: sealed, B: again): %s\n", r->felt);
  } else (void)buffer_printf(out, "%s%s%s\n", r->too_few ? bold : "", r->why, r->too_few ? plain : "");
  for (size_t i = 0; i < r->n_figures; i++) put_figure(r, &r->figures[i], c != NULL, out);
  if (c != NULL) put_configuration(c, color, out);
  return !out->overflowed;
}

void json_verification(const struct decision_report *r, const struct configuration *c, struct json_writer *json) {
  if (c != NULL) json_put_text(json, "decision", decision_text(r->decision));
  json_put_text(json, "plan", r->why);
  json_put_int(json, "planned_sessions", (int64_t)r->planned);
  json_put_bool(json, "too_few_sealed_sessions", r->too_few);
  json_put_double(json, "margin", r->margin);
  json_put_double(json, "confidence", r->confidence);
  json_key(json, "figures");
  json_open_array(json);
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct decision_figure *f = &r->figures[i];
    json_open_object(json);
    json_put_text(json, "precision", f->precision);
    json_put_text(json, "figure", f->name);
    json_put_text(json, "unit", f->unit);
    json_put_double(json, "sealed", f->a / f->unit_divisor);
    json_put_int(json, "sealed_sessions", (int64_t)f->n_a);
    json_put_double(json, "sealed_deviation", f->sd);
    json_put_int(json, "sessions_needed", (int64_t)f->needed);
    if (c != NULL) {
      json_put_double(json, "again", f->b / f->unit_divisor);
      json_put_int(json, "again_sessions", (int64_t)f->n_b);
      json_put_double(json, "again_deviation", f->sd_again);
      json_put_double(json, "ratio", f->ratio.ratio);
      json_put_double(json, "ratio_low", shown_low(f));
      json_put_double(json, "ratio_high", shown_high(f));
      json_put_text(json, "verdict", figure_verdict(f));
      if (f->felt_text != NULL) json_put_text(json, "conditions", f->felt_text);
    }
    json_close(json);
  }
  json_close(json);
  if (c == NULL) return;
  if (r->felt != NULL) json_put_text(json, "conditions_felt", r->felt);
  json_put_bool(json, "same_configuration", c->same);
  json_put_text(json, "workload", c->workload);
  json_put_int(json, "differences_not_allowed", (int64_t)c->n_not_allowed);
  json_key(json, "differences");
  json_open_array(json);
  for (size_t i = 0; i < c->n_differences && i < DIFFERENCES_KEPT; i++) {
    const struct configuration_difference *d = &c->differences[i];
    char a[200], b[200];
    json_open_object(json);
    json_put_text(json, "layer", d->layer);
    json_put_text(json, "owner", d->owner);
    json_put_text(json, "key", d->key);
    json_put_text(json, "sealed", text_sanitise(a, sizeof a, d->a, strlen(d->a)));
    json_put_text(json, "again", text_sanitise(b, sizeof b, d->b, strlen(d->b)));
    json_put_bool(json, "allowed", d->allowed);
    json_close(json);
  }
  json_close(json);
  json_key(json, "not_seen");
  json_open_array(json);
  for (size_t i = 0; i < c->n_holes && i < DIFFERENCES_KEPT; i++) json_text(json, c->holes[i]);
  json_close(json);
}

bool json_verification_whole(const char *sealed_root, const char *again_root, const struct decision_report *report,
                             const struct configuration *configuration, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "bundle", sealed_root);
  if (again_root != NULL) json_put_text(&json, "verifying", again_root);
  json_verification(report, configuration, &json);
  return json_end_line(&json);
}
