#include "report/fleet_report.h"

#include <math.h>
#include <stdio.h>

#include "base/number.h"

#define WAITING_MUCH 0.01 /* of the requests: then the answer rests on what was not measured */

static const char *time_text(char *text, double seconds) { /* text[32] */
  return number_duration_text(text, 32, seconds * 1e9);
}

static void put_verdict(const struct fleet_report *r, bool color, struct buffer *out) {
  const struct fleet_answer *a = r->answer;
  char limit[32], alone[32];
  (void)buffer_text(out, color ? text_colors[TEXT_STRONG] : "");
  if (a->alone > r->limit_s)
    (void)buffer_printf(out, "No number of executors is enough: alone on one, %.4g %% of the requests take up to %s, and %s is the limit.",
                        100 * r->load->percentile, time_text(alone, a->alone), time_text(limit, r->limit_s));
  else if (a->needed == 0) (void)buffer_printf(out, "None of up to %d executors was shown to answer in time.", FLEET_MOST);
  else if (a->needed + r->spare == 1)
    (void)buffer_printf(out, "1 executor answers %.4g %% of %.6g requests/s within %s.", 100 * r->load->percentile, r->load->rate_per_s,
                        time_text(limit, r->limit_s));
  else {
    (void)buffer_printf(out, "%zu executor%s: %zu answer%s %.4g %% of %.6g requests/s within %s", a->needed + r->spare,
                        LYNX_S(a->needed + r->spare), a->needed, a->needed == 1 ? "s" : "", 100 * r->load->percentile, r->load->rate_per_s,
                        time_text(limit, r->limit_s));
    if (r->spare > 0) (void)buffer_printf(out, ", and %zu may be lost", r->spare);
    (void)buffer_text(out, ".");
  }
  (void)buffer_printf(out, "%s\n", color ? text_colors[TEXT_PLAIN] : "");
  if (a->needed == 0) (void)buffer_text(out, "next: a longer limit, or a faster executor: lynxbench diagnose URL\n");
  else if (a->times.waiting > WAITING_MUCH)
    (void)buffer_printf(out, "next: climb beyond %.0f in flight: %.2g %% of the requests find an executor as full as it was measured\n",
                        r->measured->curve.in_flight[r->measured->curve.n - 1], 100 * a->times.waiting);
  else (void)buffer_text(out, "next: try it: this load on that many behind their router; a curve of one is no fleet\n");
}

static void put_times(const struct fleet_report *r, size_t n, const struct fleet_times *t, struct buffer *out) {
  char at[32], low[32], high[32], mean[32], label[32];
  (void)snprintf(label, sizeof label, "with %zu", n);
  (void)buffer_printf(out, "  %-12s ", label);
  if (!t->steady) {
    (void)buffer_text(out, "more come than are answered, or nearly\n");
    return;
  }
  (void)buffer_printf(out, "%.4g %% within %s [%s, %s], mean %s; %.3g in flight on each\n", 100 * r->load->percentile,
                      time_text(at, t->quantile.estimate), time_text(low, t->quantile.low), time_text(high, t->quantile.high),
                      time_text(mean, t->mean.estimate), t->in_flight);
}

static void put_variants(const struct fleet_report *r, struct buffer *out) {
  const struct fleet_answer *a = r->answer;
  for (size_t i = 0; i < a->n_variants; i++) {
    (void)buffer_printf(out, "  %-12s %s: ", i == 0 ? "if otherwise" : "", a->variants[i].what);
    if (a->variants[i].needed == 0) (void)buffer_text(out, "none of up to 1024\n");
    else (void)buffer_printf(out, "%zu\n", a->variants[i].needed + r->spare);
  }
}

bool fleet_report_text(const struct fleet_report *r, bool color, struct buffer *out) {
  const struct fleet_curve *c = &r->measured->curve;
  char alone[32];
  out->shown = true;
  put_verdict(r, color, out);
  (void)buffer_printf(out, "\n  %-12s %.6g requests/s, ", "load", r->load->rate_per_s);
  if (r->load->burstiness > 1) (void)buffer_printf(out, "bursty (coefficient of variation %.3g)", r->load->burstiness);
  else (void)buffer_text(out, "Poisson");
  (void)buffer_printf(out, "; routed: %s\n", fleet_routing_text(r->load->routing));
  (void)buffer_printf(out, "  %-12s at most %.4g requests/s, measured with %.0f to %.0f in flight; alone, %.4g %% within %s\n",
                      "one executor", fleet_capacity(c), c->in_flight[0], c->in_flight[c->n - 1], 100 * r->load->percentile,
                      time_text(alone, r->answer->alone));
  (void)buffer_printf(out, "  %-12s contract %s, bundle %.8s\n", "", r->result->contract.name, r->result->seal.root);
  if (r->answer->needed > 0) put_times(r, r->answer->needed, &r->answer->times, out);
  if (r->answer->needed > 1) put_times(r, r->answer->needed - 1, &r->answer->fewer, out);
  put_variants(r, out);
  (void)buffer_printf(out,
                      "  %-12s caches of prefixes, another mix of requests, starts from cold, the router's own time,\n"
                      "  %-12s when the first token comes\n",
                      "not said", "");
  return !out->overflowed;
}

/* --- JSON --- */

static void json_figure(struct json_writer *json, const char *key, const struct fleet_figure *f, bool steady) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "estimate", steady ? f->estimate : NAN);
  json_put_double(json, "low", steady ? f->low : NAN);
  json_put_double(json, "high", steady ? f->high : NAN);
  json_close(json);
}

static void json_times(struct json_writer *json, const char *key, size_t n, const struct fleet_times *t) {
  json_key(json, key);
  json_open_object(json);
  json_put_int(json, "executors", (int64_t)n);
  json_put_bool(json, "steady", t->steady);
  json_figure(json, "mean_s", &t->mean, t->steady);
  json_figure(json, "quantile_s", &t->quantile, t->steady);
  json_put_double(json, "in_flight", t->steady ? t->in_flight : NAN);
  json_put_double(json, "share_that_waits", t->steady ? t->waiting : NAN);
  json_close(json);
}

static void json_curve(const struct fleet_curve *c, struct json_writer *json) {
  json_key(json, "curve");
  json_open_array(json);
  for (size_t i = 0; i < c->n; i++) {
    json_open_object(json);
    json_put_double(json, "in_flight", c->in_flight[i]);
    json_put_double(json, "requests_per_s", c->rate[i]);
    json_close(json);
  }
  json_close(json);
}

void fleet_report_json(const struct fleet_report *r, struct json_writer *json) {
  const struct fleet_answer *a = r->answer;
  if (a->needed > 0) json_put_int(json, "executors", (int64_t)(a->needed + r->spare));
  else json_put_double(json, "executors", NAN);
  json_put_int(json, "spare", (int64_t)r->spare);
  json_put_double(json, "rate_per_s", r->load->rate_per_s);
  json_put_double(json, "burstiness", r->load->burstiness);
  json_put_text(json, "routing", fleet_routing_text(r->load->routing));
  json_put_double(json, "percentile", r->load->percentile);
  json_put_double(json, "within_s", r->limit_s);
  json_put_double(json, "alone_s", a->alone);
  json_put_text(json, "bundle", r->result->seal.root);
  json_put_text(json, "contract", r->result->contract.name);
  json_curve(&r->measured->curve, json);
  if (a->needed > 0) json_times(json, "with", a->needed, &a->times);
  if (a->needed > 1) json_times(json, "with_one_fewer", a->needed - 1, &a->fewer);
  json_key(json, "if_otherwise");
  json_open_array(json);
  for (size_t i = 0; i < a->n_variants; i++) {
    json_open_object(json);
    json_put_text(json, "what", a->variants[i].what);
    if (a->variants[i].needed > 0) json_put_int(json, "executors", (int64_t)(a->variants[i].needed + r->spare));
    else json_put_double(json, "executors", NAN);
    json_close(json);
  }
  json_close(json);
}
