#include "report/files_report.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"

enum { CHANGES_SHOWN = 8, AGAINST_SHOWN = 6, NEEDED_MOST = 1000 };

static const char *value_text(const struct compared_figure *f, double value, char text[48]) {
  if (strcmp(f->unit, "ms") == 0) return number_duration_text(text, 48, 1e6 * value);
  if (strcmp(f->unit, "ns") == 0) return number_duration_text(text, 48, value);
  (void)number_text(text, 40, number_round(value, 5));
  if (strcmp(f->unit, "1/s") == 0) (void)strcat(text, " /s");
  return text;
}

/* Of one figure: which way it went. */
static const char *figure_verdict(const struct compared_figure *f) {
  bool gain = (f->ratio.ratio > 1) == (f->better > 0);
  switch (f->ratio.verdict) {
    case VERDICT_SAME: return "same";
    case VERDICT_DIFFERENT_WITHIN: return gain ? "better, within the margin" : "worse, within the margin";
    case VERDICT_DIFFERENT_BEYOND: return gain ? "better" : "worse";
    case VERDICT_INCONCLUSIVE: break;
  }
  return "undecided";
}

static const char *interval_text(const struct compared_figure *f, char text[64]) {
  if (!f->ratio.bounded) (void)snprintf(text, 64, "not known");
  else (void)snprintf(text, 64, "[%.3f, %.3f]", f->ratio.low, f->ratio.high);
  return text;
}

static void put_first(struct buffer *out, const struct files_compared *c) {
  const struct compared_figure *f = c->named;
  char interval[64];
  if (c->verdict == FILES_OTHER_WORK) {
    (void)buffer_text(out, "Not compared: the two sides did not do the same work.\n");
    return;
  }
  static const char *const words[] = {[FILES_BETTER] = "Better after",
                                      [FILES_WORSE] = "Worse after",
                                      [FILES_SAME] = "The same within the margin",
                                      [FILES_MIXED] = "Mixed, one figure better and another worse",
                                      [FILES_UNDECIDED] = "Not decided"};
  (void)buffer_printf(out, "%s: %s is %.3f times what it was before", words[c->verdict], f->name, f->ratio.ratio);
  if (f->ratio.bounded) (void)buffer_printf(out, ", %s", interval_text(f, interval));
  (void)buffer_printf(out, " (%zu file%s before, %zu after)", f->n_before, LYNX_S(f->n_before), f->n_after);
  size_t n_open = 0;
  for (size_t i = 0; i < c->n_items; i++) n_open += c->items[i].judged && c->items[i].ratio.verdict == VERDICT_INCONCLUSIVE;
  if (n_open > 0 && c->verdict != FILES_UNDECIDED)
    (void)buffer_printf(out, "; %zu of %zu judged figures %s not decided", n_open, c->n_judged, n_open == 1 ? "is" : "are");
  (void)buffer_text(out, ".\n");
}

/* The change that matters most often by what is known of such changes; NULL: none. */
static const struct difference *gravest(const struct difference_list *list) {
  const struct difference *best = NULL;
  for (size_t i = 0; list != NULL && i < list->n_items; i++) {
    const struct difference *d = &list->items[i];
    if (d->of == FACT_IDENTITY && d->kind == DIFFERENCE_CHANGED && (best == NULL || d->weight > best->weight)) best = d;
  }
  return best;
}

static void put_next(struct buffer *out, const struct files_compared *c, const struct difference_list *environments) {
  const struct compared_figure *f = c->named;
  const struct difference *d = gravest(environments);
  if (c->verdict == FILES_OTHER_WORK) (void)buffer_text(out, "next: run both sides with one workload (below), two files a side at least\n");
  else if (c->verdict == FILES_UNDECIDED && (f->n_before < 2 || f->n_after < 2))
    (void)buffer_text(out, "next: one file a side does not say how runs vary: give 2 of each at least, better 3, each a run of its own\n");
  else if (c->verdict == FILES_UNDECIDED && !f->ratio.bounded)
    (void)buffer_text(out, "next: the files of a side agree to the last digit: give each run's own file\n");
  else if (c->verdict == FILES_UNDECIDED && c->needed_per_side <= NEEDED_MOST)
    (void)buffer_printf(out, "next: about %.0f files a side would decide it, as these vary\n", c->needed_per_side);
  else if (c->verdict == FILES_UNDECIDED)
    (void)buffer_text(out, "next: the estimate lies on the margin, where no number of files is sure to decide; --margin sets it\n");
  else if (environments == NULL)
    (void)buffer_text(out, "next: what else changed is not in these files: add --env-before FILE --env-after FILE (collect_env,\n"
                           "      `nvidia-smi -q -x`, or `lynxbench capture`)\n");
  else if (environments->n_identity == 0)
    (void)buffer_text(out, "next: nothing else differs in the two environments; there is nothing left to distinguish\n");
  else if (environments->n_identity == 1)
    (void)buffer_text(out, "next: one thing differs in the two environments; what they do not show may differ, too\n");
  else if (d != NULL)
    (void)buffer_printf(out, "next: %zu things differ beside; to tell them apart, measure after with %s back at '%.60s', twice at least\n",
                        environments->n_identity, d->key, d->a);
  else (void)buffer_printf(out, "next: %zu things differ beside; measure after without them, one by one\n", environments->n_identity);
}

static void put_changes(struct buffer *out, const struct difference_list *list) {
  size_t n = 0;
  if (list == NULL || list->n_identity == 0) return;
  (void)buffer_printf(out, "\nwhat else differs, by the two environments (`lynxbench diff` shows all):\n");
  for (int weight = WEIGHT_OFTEN; weight >= WEIGHT_UNKNOWN; weight--)
    for (size_t i = 0; i < list->n_items && n < CHANGES_SHOWN; i++) {
      const struct difference *d = &list->items[i];
      if (d->of != FACT_IDENTITY || (int)d->weight != weight) continue;
      n++;
      (void)buffer_printf(out, "  %-11s %s: %.40s -> %.40s%s%s\n", layer_text(d->layer), d->key, d->a != NULL ? d->a : "absent",
                          d->b != NULL ? d->b : "absent", weight != WEIGHT_UNKNOWN ? "; matters " : "",
                          weight != WEIGHT_UNKNOWN ? weight_text(d->weight) : "");
    }
  if (list->n_identity > n) (void)buffer_printf(out, "  and %zu more\n", list->n_identity - n);
}

static void put_against(struct buffer *out, const struct files_side *side) {
  for (size_t i = 0; i < side->n; i++)
    for (size_t k = 0; k < side->items[i].n_against && k < AGAINST_SHOWN; k++)
      (void)buffer_printf(out, "  %s: %s\n", side->items[i].files[0].name, side->items[i].against[k]);
}

bool files_text(const struct files_compared *c, const struct files_side *before, const struct files_side *after,
                const struct difference_list *environments, struct buffer *ret) {
  char a[48], b[48], interval[64];
  int width = 26;
  ret->shown = true;
  put_first(ret, c);
  put_next(ret, c, environments);
  if (c->n_other_work > 0) (void)buffer_text(ret, "\nwhat differs in the work:\n");
  for (size_t i = 0; i < c->n_other_work; i++) (void)buffer_printf(ret, "  %s\n", c->other_work[i]);
  for (size_t i = 0; i < c->n_items; i++) width = (int)strlen(c->items[i].name) > width ? (int)strlen(c->items[i].name) : width;
  if (c->n_items > 0)
    (void)buffer_printf(ret, "\n  %-*s %11s %11s %7s  %s\n", width, "mean of each side", "before", "after", "times", "interval");
  for (size_t i = 0; i < c->n_items; i++) {
    const struct compared_figure *f = &c->items[i];
    if (i > 0 && i == c->n_judged) (void)buffer_text(ret, "  not judged:\n");
    bool decided = f->judged && c->verdict != FILES_OTHER_WORK;
    (void)buffer_printf(ret, "  %-*s %11s %11s %7.3f  %-*s%s\n", width, f->name, value_text(f, f->before, a), value_text(f, f->after, b),
                        f->ratio.ratio, decided ? 17 : 0, interval_text(f, interval), decided ? figure_verdict(f) : "");
  }
  if (c->n_judged > 0)
    (void)buffer_printf(ret,
                        "\nmargin %.3g %%, confidence %.3g %%, shared by %zu judged figure%s; each file is one run. In which order they\n"
                        "were made, and on what, the files do not say.\n",
                        100 * c->margin, 100 * c->confidence, c->n_judged, LYNX_S(c->n_judged));
  size_t n_against = 0;
  for (size_t i = 0; i < before->n; i++) n_against += before->items[i].n_against;
  for (size_t i = 0; i < after->n; i++) n_against += after->items[i].n_against;
  if (n_against > 0) (void)buffer_text(ret, "\nwhat speaks against the files themselves:\n");
  put_against(ret, before);
  put_against(ret, after);
  put_changes(ret, environments);
  return !ret->overflowed;
}

static void json_side(struct json_writer *json, const char *key, const struct files_side *side) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < side->n; i++) {
    const struct imported *m = &side->items[i];
    json_open_object(json);
    json_put_text(json, "file", m->files[0].name);
    json_put_text(json, "tool", m->tool);
    json_put_text(json, "model", m->model);
    json_key(json, "against");
    json_open_array(json);
    for (size_t k = 0; k < m->n_against; k++) json_text(json, m->against[k]);
    json_close(json);
    json_close(json);
  }
  json_close(json);
}

static void json_figure(struct json_writer *json, const struct compared_figure *f, bool decided) {
  json_open_object(json);
  json_put_text(json, "figure", f->name);
  json_put_text(json, "formula", f->formula);
  json_put_text(json, "unit", f->unit);
  json_put_double(json, "before", f->before);
  json_put_double(json, "after", f->after);
  json_put_int(json, "files_before", (int64_t)f->n_before);
  json_put_int(json, "files_after", (int64_t)f->n_after);
  json_put_double(json, "ratio", f->ratio.ratio);
  if (f->ratio.bounded) {
    json_put_double(json, "low", f->ratio.low);
    json_put_double(json, "high", f->ratio.high);
  }
  if (f->judged && decided) json_put_text(json, "verdict", figure_verdict(f));
  json_close(json);
}

bool files_json(const struct files_compared *c, const struct files_side *before, const struct files_side *after,
                const struct difference_list *environments, struct buffer *ret) {
  struct json_writer json;
  const struct difference *d = gravest(environments);
  json_begin_object(&json, ret);
  json_put_text(&json, "verdict", files_verdict_text(c->verdict));
  if (c->named != NULL) json_put_text(&json, "figure", c->named->name);
  json_put_double(&json, "margin", c->margin);
  json_put_double(&json, "confidence", c->confidence);
  json_put_double(&json, "shared_confidence", c->each_confidence);
  if (c->verdict == FILES_UNDECIDED && isfinite(c->needed_per_side)) json_put_double(&json, "files_needed_per_side", c->needed_per_side);
  json_key(&json, "other_work");
  json_open_array(&json);
  for (size_t i = 0; i < c->n_other_work; i++) json_text(&json, c->other_work[i]);
  json_close(&json);
  json_key(&json, "figures");
  json_open_array(&json);
  for (size_t i = 0; i < c->n_items; i++) json_figure(&json, &c->items[i], c->verdict != FILES_OTHER_WORK);
  json_close(&json);
  json_side(&json, "before", before);
  json_side(&json, "after", after);
  if (environments != NULL) json_put_int(&json, "environment_differences", (int64_t)environments->n_identity);
  if (d != NULL) json_put_text(&json, "swap_back_first", d->key);
  return json_end_line(&json);
}
