#include "page/answer_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "result/figure_text.h"

enum { BARS_MAX = 6, WIDE = 1000, HIGH = 20, TEXT_MAX = 4096 };

/* From 0 to its value; low, high: of its interval, NaN where there is none. */
struct bar {
  const char *label, *class;
  char text[160];
  double value, low, high;
  bool mark; /* a limit: a line where it lies, no bar up to it */
};

struct bars {
  struct bar items[BARS_MAX];
  size_t n;
};

static void add(struct bars *bars, const char *label, const char *class, double value, double low, double high, const char *unit) {
  struct buffer text;
  if (bars->n == BARS_MAX || !isfinite(value)) return;
  struct bar *b = &bars->items[bars->n++];
  *b = (struct bar){.label = label, .class = class, .value = value, .low = low, .high = high};
  buffer_init(&text, TEXT_MAX);
  figure_put(value, low, high, unit, &text);
  (void)snprintf(b->text, sizeof b->text, "%s", text.data);
  buffer_release(&text);
}

static void add_mark(struct bars *bars, const char *label, const char *class, double value, const char *unit) {
  size_t n = bars->n;
  add(bars, label, class, value, NAN, NAN, unit);
  if (bars->n > n) bars->items[n].mark = true;
}

static void put_rect(struct markup *m, const char *class, double x, double y, double wide, double high) {
  char text[4][24];
  const double at[] = {x, y, wide, high};
  for (int i = 0; i < 4; i++) (void)snprintf(text[i], sizeof text[i], "%.1f", at[i]);
  markup_open(m, "rect", "class", class, "x", text[0], "y", text[1], "width", text[2], "height", text[3], NULL);
  markup_close(m);
}

static void put_bar(struct markup *m, const struct bar *b, double most) {
  markup_open(m, "div", NULL);
  markup_whole(m, "dt", NULL, b->label);
  markup_open(m, "dd", "class", "line", "aria-hidden", "true", NULL);
  markup_open(m, "svg", "viewBox", "0 0 1000 20", "preserveAspectRatio", "none", NULL);
  if (b->mark) put_rect(m, b->class, b->value / most * WIDE - 2, 0, 4, HIGH);
  else put_rect(m, b->class, 0, 3, b->value / most * WIDE, HIGH - 6);
  if (isfinite(b->low) && isfinite(b->high))
    put_rect(m, "interval", b->low / most * WIDE, HIGH / 2.0 - 1.5, fmax(2, (b->high - b->low) / most * WIDE), 3);
  markup_close(m);
  markup_close(m);
  markup_whole(m, "dd", NULL, b->text);
  markup_close(m);
}

static bool put_bars(struct markup *m, const char *title, const struct bars *bars) {
  double most = 0;
  for (size_t i = 0; i < bars->n; i++) {
    const struct bar *b = &bars->items[i];
    most = fmax(most, isfinite(b->high) ? b->high : b->value);
  }
  if (bars->n < 2 || !(most > 0)) return false;
  markup_open(m, "figure", "class", "bars", NULL);
  markup_whole(m, "figcaption", NULL, title);
  markup_open(m, "dl", NULL);
  for (size_t i = 0; i < bars->n; i++) put_bar(m, &bars->items[i], 1.02 * most);
  markup_close(m);
  markup_close(m);
  return true;
}

static const struct summary_precision *precision_of(const struct board_run *run, const char *name) {
  return run != NULL ? summary_precision_named(run->summary, name) : NULL;
}

static bool plot_change(struct markup *m, const struct contract_answer *a) {
  const struct effect_measured *e = a->answer.effect;
  struct bars bars = {.n = 0};
  if (e == NULL || e->name[0] == 0 || a->before == NULL) return false;
  const struct summary_figure *before = summary_figure_named(precision_of(a->before, e->precision), e->name),
                              *after = summary_figure_named(precision_of(a->run, e->precision), e->name);
  if (before == NULL || after == NULL) return false;
  add(&bars, "before", "before", before->value, before->low, before->high, before->unit);
  add(&bars, "after", "after", after->value, after->low, after->high, after->unit);
  return put_bars(m, e->name, &bars);
}

/* What it sustains, what it does not, what was promised and what is demanded. */
static bool plot_capacity(struct markup *m, const struct contract_answer *a, const struct contract *c) {
  const struct summary_precision *p = precision_of(a->run, a->answer.precision);
  struct bars bars = {.n = 0};
  if (p == NULL || !isfinite(p->passing)) return false;
  add(&bars, "sustained", "after", p->passing, NAN, NAN, "requests/s");
  add_mark(&bars, "too much", "failing", p->failing, "requests/s");
  if (c != NULL && contract_states(c, "targets.requests_per_s"))
    add_mark(&bars, "promised", "mark", c->targets.requests_per_s, "requests/s");
  return put_bars(m, "load of one executor", &bars);
}

static bool plot_latency(struct markup *m, const struct contract_answer *a) {
  const struct summary_precision *p = precision_of(a->run, a->answer.precision);
  char title[100];
  for (size_t i = 0; p != NULL && i < p->n_objectives; i++) {
    const struct summary_objective *o = &p->objectives[i];
    struct bars bars = {.n = 0};
    bool missed = o->verdict == OBJECTIVE_FAILS || o->verdict == OBJECTIVE_NOT_MET;
    add(&bars, "measured", missed ? "failing" : "after", o->value, o->low, o->high, "ns");
    add_mark(&bars, "at most", "mark", o->at_most_ns, "ns");
    (void)snprintf(title, sizeof title, "%s p%g", metric_text(o->metric), 100 * o->quantile);
    for (char *at = title; *at != 0; at++)
      if (*at == '_') *at = ' ';
    if (put_bars(m, title, &bars)) return true;
  }
  return false;
}

/* What the work costs, beside what it was promised to cost; or the throughput that the cost follows from. */
static bool plot_cost(struct markup *m, const struct contract_answer *a, const struct contract *c) {
  const struct summary_precision *p = precision_of(a->run, a->answer.precision);
  const struct summary_figure *f = summary_figure_named(p, "output throughput");
  struct bars bars = {.n = 0};
  if (f == NULL || c == NULL || !contract_states(c, "cost") || !(f->low > 0)) return false;
  double price = c->cost.price_per_hour * 1e6 / 3600;
  add(&bars, "measured", "after", price / f->value, price / f->high, price / f->low, c->cost.currency);
  if (contract_states(c, "targets.cost_per_million")) add_mark(&bars, "at most", "mark", c->targets.cost_per_million, c->cost.currency);
  return put_bars(m, "cost per million output tokens", &bars);
}

/* Each of its precisions, by its throughput. */
static bool plot_precisions(struct markup *m, const struct contract_answer *a) {
  const struct summary *s = a->run != NULL ? a->run->summary : NULL;
  struct bars bars = {.n = 0};
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++) {
    const struct summary_figure *f = summary_figure_named(&s->precisions[i], "output throughput");
    if (f == NULL) continue;
    add(&bars, s->precisions[i].name, s->precisions[i].gate == ACCURACY_FAILS ? "failing" : "after", f->value, f->low, f->high, f->unit);
  }
  return put_bars(m, "output throughput", &bars);
}

bool answer_plot(struct markup *m, const struct meeting *meeting) {
  const struct contract_answer *a = &meeting->answered;
  switch (a->answer.kind) {
    case QUESTION_BETTER: return plot_change(m, a);
    case QUESTION_WHICH:
    case QUESTION_PRECISION: return plot_precisions(m, a);
    case QUESTION_COST: return plot_cost(m, a, meeting->contract);
    case QUESTION_LIMIT: return false;
    case QUESTION_AS_ORDERED: return plot_capacity(m, a, meeting->contract);
    default: return plot_capacity(m, a, meeting->contract) || plot_latency(m, a);
  }
}
