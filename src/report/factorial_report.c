#include "report/factorial_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/html_page.h"
#include "report/percent.h"
#include "stats/special.h"

enum { NAME_WIDTH = 40, NAMES_MAX = 400 };

static bool is_established(const struct factored *f, const struct factorial_effect *e) {
  return f->found.bounded && (e->low > 0 || e->high < 0);
}

/* --- names --- */

static size_t put_name(const struct factored *f, const struct factorial_name *name, char *text, size_t size) {
  const char *first = f->swaps.items[name->first].name;
  int n = name->second < 0 ? snprintf(text, size, "%s", first) : snprintf(text, size, "%s x %s", first, f->swaps.items[name->second].name);
  return n < (int)size ? (size_t)n : size - 1;
}

/* "threads x batch (or cache x isa, less)": what it is taken for, and what it is mixed with. */
static const char *name_of(const struct factored *f, const struct factorial_effect *e, char *text, size_t size) {
  size_t length = put_name(f, &e->names[0], text, size);
  for (size_t i = 1; i < e->n_names && length + 60 < size; i++) {
    length += (size_t)snprintf(text + length, size - length, i == 1 ? " (or %s" : ", or %s", e->names[i].negative ? "less " : "");
    length += put_name(f, &e->names[i], text + length, size - length);
  }
  if (e->n_names > 1 && length + 60 < size)
    (void)snprintf(text + length, size - length, e->n_unnamed > 0 ? ", and %zu more)" : ")", e->n_unnamed);
  return text;
}

static void sort_by_size(const struct factored *f, const struct factorial_effect *ret[FACTORIAL_EFFECTS_MAX]) {
  for (size_t i = 0; i < f->found.n_effects; i++) {
    size_t k = i;
    for (; k > 0 && fabs(ret[k - 1]->estimate) < fabs(f->found.effects[i].estimate); k--) ret[k] = ret[k - 1];
    ret[k] = &f->found.effects[i];
  }
}

static void put_effect(const struct factored *f, const struct factorial_effect *e, struct buffer *out) {
  put_percent(out, e->estimate, f->found.bounded ? e->low : NAN, f->found.bounded ? e->high : NAN);
}

/* --- the verdict --- */

/* The run of a set, or n_runs. */
static size_t run_of(const struct factored *f, uint64_t facts) {
  size_t k = 0;
  while (k < f->design.n_runs && f->design.runs[k] != facts) k++;
  return k;
}

static size_t best_run(const struct factored *f) {
  size_t best = 0;
  for (size_t k = 1; k < f->design.n_runs; k++)
    if (f->found.means[k] > f->found.means[best]) best = k;
  return best;
}

static const char *unit_of(const struct factored *f) {
  return f->seen.response == RESPONSE_END_TO_END ? "s (E2E p50)" : f->seen.tokens ? "tokens/s" : "answers/s";
}

static void put_verdict(const struct factored *f, const struct factorial_effect *const *sorted, struct buffer *out) {
  char name[NAMES_MAX];
  size_t n = 0;
  for (size_t i = 0; i < f->found.n_effects; i++) n += is_established(f, sorted[i]);
  if (n == 0) {
    (void)buffer_printf(out, "inconclusive: no effect is established in %zu rounds\n", f->n_rounds);
    return;
  }
  (void)buffer_printf(out, "%s: ", name_of(f, sorted[0], name, sizeof name));
  put_effect(f, sorted[0], out);
  (void)buffer_printf(out, "%s; %zu of %zu effects are established\n",
                      sorted[0]->names[0].second >= 0 ? " together, beyond what each does by itself" : "", n, f->found.n_effects);
}

/* Split plots: what is changed seldom has an error of its own. */
static void put_plots(const struct factored *f, struct buffer *out) {
  char names[NAMES_MAX];
  if (f->design.hard == 0) return;
  (void)buffer_printf(out, "%s: changed only between the %zu plots of a round",
                      swap_names(&f->swaps, f->design.hard, ", ", names, sizeof names), f->found.n_plots);
  if (isfinite(f->found.plot_deviation)) (void)buffer_printf(out, ", whose means differ by %.1f %%", 100 * f->found.plot_deviation);
  (void)buffer_text(out, "; its effects have that error\n");
}

static void put_design(const struct factored *f, struct buffer *out) {
  static const char *const roman[] = {"", "", "", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};
  (void)buffer_printf(out, "%zu mixtures of %zu facts in %zu rounds, ", f->design.n_runs, f->swaps.n, f->n_rounds);
  if (f->design.resolution == 0) (void)buffer_text(out, "every combination");
  else
    (void)buffer_printf(
        out,
        "a 1/%.0f fraction of resolution %s: what it cannot tell apart is joined by «or», and it holds where no three facts act together",
        ldexp(1, (int)f->swaps.n) / (double)f->design.n_runs, f->design.resolution <= 12 ? roman[f->design.resolution] : "above XII");
  (void)buffer_printf(out, "; %.1f min of counted load", f->seen.seconds / 60);
  if (isfinite(f->found.deviation)) (void)buffer_printf(out, "; from session to session %.1f %%", 100 * f->found.deviation);
  (void)buffer_text(out, "\n");
  put_plots(f, out);
}

/* --- the effects --- */

static void put_effects(const struct factored *f, const struct factorial_effect *const *sorted, struct buffer *out) {
  char name[NAMES_MAX];
  for (size_t i = 0; i < f->found.n_effects; i++) {
    (void)buffer_printf(out, "%c %-*s ", is_established(f, sorted[i]) ? '*' : ' ', NAME_WIDTH, name_of(f, sorted[i], name, sizeof name));
    put_effect(f, sorted[i], out);
    if (sorted[i]->names[0].second >= 0) (void)buffer_text(out, "   together, beyond one by one");
    (void)buffer_text(out, "\n");
  }
}

static void put_facts(const struct factored *f, const struct contract *contract, struct buffer *out) {
  for (size_t i = 0; i < f->swaps.n; i++) {
    (void)buffer_text(out, "  ");
    swap_text(&f->swaps.items[i], contract, out);
  }
}

static void put_level(const struct factored *f, const char *what, size_t run, struct buffer *out) {
  char name[NAMES_MAX];
  if (run == f->design.n_runs) return;
  (void)buffer_printf(out, "%s%s: %.4g %s\n", what, swap_mixture(&f->swaps, f->design.runs[run], name, sizeof name),
                      mixture_level(f->seen.response, f->found.means[run]), unit_of(f));
}

/* What whoever changes one fact at a time would have seen, where that differs from what the design shows. */
static void put_one_by_one(const struct factored *f, struct buffer *out) {
  bool together = false;
  for (size_t i = 0; i < f->found.n_effects; i++)
    together = together || (f->found.effects[i].names[0].second >= 0 && is_established(f, &f->found.effects[i]));
  if (!together || f->design.resolution != 0) return;
  (void)buffer_text(out, "one fact at a time, from A, would have shown:");
  for (size_t i = 0; i < f->swaps.n; i++)
    (void)buffer_printf(out, "%s %s %+.1f %%", i > 0 ? "," : "", f->swaps.items[i].name,
                        special_percent(f->found.means[run_of(f, (uint64_t)1 << i)] - f->found.means[run_of(f, 0)]));
  (void)buffer_text(out, "\n");
}

static void put_failed(const struct factored *f, struct buffer *out) {
  char name[NAMES_MAX];
  if (f->seen.failed == NULL) return;
  (void)buffer_printf(out, "%s did not run: %.300s\n", swap_mixture(&f->swaps, f->seen.failed_facts, name, sizeof name), f->seen.failed);
  (void)buffer_text(out, "next: a design needs all of its mixtures; `lynxbench bisect` goes around those that do not run\n");
}

bool factorial_text(const struct factored *f, const struct contract *contract, bool color, struct buffer *out) {
  out->shown = true;
  const struct factorial_effect *sorted[FACTORIAL_EFFECTS_MAX];
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  if (f->n_rounds == 0) {
    (void)buffer_printf(out, "%sinconclusive: no round is whole%s\n", strong, plain);
    put_failed(f, out);
    return !out->overflowed;
  }
  sort_by_size(f, sorted);
  (void)buffer_text(out, strong);
  put_verdict(f, sorted, out);
  (void)buffer_text(out, plain);
  put_effects(f, sorted, out);
  put_one_by_one(f, out);
  put_level(f, "", run_of(f, 0), out);
  put_level(f, "", run_of(f, ((uint64_t)1 << f->swaps.n) - 1), out);
  put_level(f, "the highest mean, ", best_run(f), out);
  put_facts(f, contract, out);
  put_design(f, out);
  put_failed(f, out);
  return !out->overflowed;
}

/* --- JSON --- */

static void json_names(struct json_writer *json, const struct factored *f, const struct factorial_effect *e) {
  json_key(json, "of");
  json_open_array(json);
  for (size_t i = 0; i < e->n_names; i++) {
    json_open_object(json);
    json_put_text(json, "fact", f->swaps.items[e->names[i].first].name);
    if (e->names[i].second >= 0) json_put_text(json, "with", f->swaps.items[e->names[i].second].name);
    if (e->names[i].negative) json_put_bool(json, "negative", true);
    json_close(json);
  }
  json_close(json);
  if (e->n_unnamed > 0) json_put_int(json, "mixed_with_more", (int64_t)e->n_unnamed);
}

void factorial_json(const struct factored *f, const struct contract *contract, struct json_writer *json) {
  json_put_int(json, "runs", (int64_t)f->design.n_runs);
  json_put_int(json, "rounds", (int64_t)f->n_rounds);
  json_put_int(json, "resolution", f->design.resolution);
  json_put_double(json, "confidence", f->plan.confidence);
  json_put_text(json, "figure", f->seen.response == RESPONSE_END_TO_END ? "end-to-end latency, inverted" : "throughput");
  json_put_double(json, "deviation", f->n_rounds > 0 ? f->found.deviation : NAN);
  if (f->design.hard != 0) json_put_double(json, "plot_deviation", f->n_rounds > 0 ? f->found.plot_deviation : NAN);
  json_key(json, "facts");
  json_open_array(json);
  for (size_t i = 0; i < f->swaps.n; i++) swap_json(&f->swaps.items[i], contract, json);
  json_close(json);
  json_key(json, "effects");
  json_open_array(json);
  for (size_t i = 0; i < f->found.n_effects && f->n_rounds > 0; i++) {
    const struct factorial_effect *e = &f->found.effects[i];
    json_open_object(json);
    json_names(json, f, e);
    json_put_double(json, "ln", e->estimate);
    json_put_double(json, "low", f->found.bounded ? e->low : NAN);
    json_put_double(json, "high", f->found.bounded ? e->high : NAN);
    json_put_bool(json, "established", is_established(f, e));
    json_close(json);
  }
  json_close(json);
  json_key(json, "mixtures");
  json_open_array(json);
  for (size_t k = 0; k < f->design.n_runs && f->n_rounds > 0; k++) {
    char name[NAMES_MAX];
    json_open_object(json);
    json_put_text(json, "mixture", swap_mixture(&f->swaps, f->design.runs[k], name, sizeof name));
    json_put_double(json, "level", mixture_level(f->seen.response, f->found.means[k]));
    json_close(json);
  }
  json_close(json);
  json_put_text(json, "failed", f->seen.failed);
}

/* --- the page --- */

/* Intervals under one another, on one scale of percent (of ln, so that half and twice are as far from nothing). */
static void put_chart(const struct factored *f, const struct factorial_effect *const *sorted, struct buffer *out) {
  enum { LEFT = 330, WIDTH = 1000, ROW = 24, TOP = 26 };
  char name[NAMES_MAX], shown[60];
  double most = 0.01, middle = (LEFT + WIDTH - 120) / 2.0;
  int height = TOP + ROW * (int)f->found.n_effects + 10;
  for (size_t i = 0; i < f->found.n_effects; i++)
    most = fmax(most, f->found.bounded ? fmax(fabs(sorted[i]->low), fabs(sorted[i]->high)) : fabs(sorted[i]->estimate));
  double scale = (WIDTH - 120 - LEFT) / 2.0 / most;
  (void)buffer_printf(out, "<figure><svg viewBox='0 0 %d %d' role='img' aria-label='effects with intervals'>", WIDTH, height);
  (void)buffer_printf(out, "<path class='frame' d='M%.1f %dV%d'/><text class='label' x='%.1f' y='16' text-anchor='middle'>slower with B's",
                      middle, TOP - 4, height - 6, middle - 120);
  (void)buffer_printf(out, "</text><text class='label' x='%.1f' y='16' text-anchor='middle'>faster with B's</text>", middle + 120);
  for (size_t i = 0; i < f->found.n_effects; i++) {
    const struct factorial_effect *e = sorted[i];
    int y = TOP + ROW * (int)i + ROW / 2, color = is_established(f, e) ? 0 : 5;
    double low = f->found.bounded ? e->low : e->estimate, high = f->found.bounded ? e->high : e->estimate;
    (void)snprintf(shown, sizeof shown, "%.55s", name_of(f, e, name, sizeof name));
    (void)buffer_printf(out, "<text x='%d' y='%d' text-anchor='end'>", LEFT - 12, y + 4);
    html_text(out, "", shown, "</text>");
    (void)buffer_printf(out, "<path class='l c%d' d='M%.1f %dH%.1f'/><circle class='c%d' cx='%.1f' cy='%d' r='4'/>", color,
                        middle + scale * low, y, middle + scale * high, color, middle + scale * e->estimate, y);
    (void)buffer_printf(out, "<text class='tick' x='%d' y='%d' text-anchor='end'>%+.1f %%</text>", WIDTH - 12, y + 4,
                        special_percent(e->estimate));
  }
  (void)buffer_text(out, "</svg></figure>\n");
}

static void put_mixture_table(const struct factored *f, struct buffer *out) {
  char name[NAMES_MAX];
  (void)buffer_printf(out,
                      "<h2>Every mixture</h2>\n<table><thead><tr><th scope='col'>mixture</th><th scope='col'>%s</th></tr></thead><tbody>\n",
                      unit_of(f));
  for (size_t k = 0; k < f->design.n_runs; k++) {
    html_text(out, "<tr><td>", swap_mixture(&f->swaps, f->design.runs[k], name, sizeof name), "</td>");
    (void)buffer_printf(out, "<td>%.4g</td></tr>\n", mixture_level(f->seen.response, f->found.means[k]));
  }
  (void)buffer_text(out, "</tbody></table>\n");
}

bool factorial_html(const struct factored *f, const struct contract *contract, struct buffer *out) {
  const struct factorial_effect *sorted[FACTORIAL_EFFECTS_MAX];
  struct buffer text;
  buffer_init(&text, 1 << 20);
  html_page_begin(out, "A factorial experiment");
  html_text(out, "<p class='dim'>", contract->name, "</p>\n");
  sort_by_size(f, sorted);
  if (f->n_rounds > 0) {
    put_verdict(f, sorted, &text);
    html_text(out, "<p class='claim'>", text.data, "</p>\n");
    put_chart(f, sorted, out);
    put_mixture_table(f, out);
  }
  text.length = 0;
  if (f->n_rounds > 0) put_one_by_one(f, &text);
  if (text.length > 0) html_text(out, "<p>", text.data, "</p>\n");
  text.length = 0;
  put_facts(f, contract, &text);
  put_design(f, &text);
  put_failed(f, &text);
  html_text(out, "<h2>Facts and design</h2>\n<pre>", text.data, "</pre>\n");
  buffer_release(&text);
  return buffer_text(out, "</main></body></html>\n");
}
