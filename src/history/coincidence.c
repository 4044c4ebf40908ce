#include "history/coincidence.h"

#include <math.h>
#include <string.h>

#include "result/conditions.h"

static bool same_stack(const struct history_run *a, const struct history_run *b) {
  return strcmp(a->contract, b->contract) == 0 && strcmp(a->name, b->name) == 0 && strcmp(a->precision->name, b->precision->name) == 0;
}

static size_t count_steps(const struct history *h, const struct history_event *e) {
  const struct history_run *last = &h->runs[e->before];
  size_t n = 0;
  for (size_t r = e->before + 1; r <= e->after; r++) {
    const struct history_run *run = &h->runs[r];
    if (!same_stack(run, last) || run->precision->left_out != NULL || run->precision->fingerprint[0] == 0) continue;
    n += strcmp(run->precision->fingerprint, last->precision->fingerprint) != 0;
    last = run;
  }
  return n;
}

static void name_layers(const struct contract *contract, struct coincidence *ret) {
  for (size_t i = 0; i < ret->facts.n_items; i++) {
    const struct difference *d = &ret->facts.items[i];
    bool known = d->of != FACT_IDENTITY;
    for (size_t k = 0; k < ret->n_layers; k++) known = known || strcmp(ret->layers[k], layer_text(d->layer)) == 0;
    if (known) continue;
    ret->layers[ret->n_layers] = layer_text(d->layer);
    ret->owners[ret->n_layers++] = arena_copy(&ret->arena,
                                              contract != NULL ? contract_owner(contract, d->layer) : layer_default_owner(d->layer));
  }
}

/* --- what surrounded the runs --- */

struct mean {
  double sum;
  size_t n;
};

static void add(struct mean *mean, double value) {
  if (!isfinite(value)) return;
  mean->sum += value;
  mean->n++;
}

static double mean_of(const struct mean *mean) {
  return mean->n > 0 ? mean->sum / (double)mean->n : NAN;
}

/* Over the values from to ... to of a series. */
static struct result_conditions mean_conditions(const struct history *h, const struct history_series *s, size_t from, size_t to) {
  struct mean others = {0}, steal = {0}, throttled = {0}, pressure = {0};
  for (size_t i = from; i < to; i++) {
    const struct result_conditions *c = &h->runs[s->values[i].run].precision->conditions;
    add(&others, c->others);
    add(&steal, c->steal);
    add(&throttled, c->throttled);
    add(&pressure, c->pressure);
  }
  return (struct result_conditions){
      .others = mean_of(&others), .steal = mean_of(&steal), .throttled = mean_of(&throttled), .pressure = mean_of(&pressure), .lost = NAN};
}

static void judge_conditions(const struct history *h, const struct history_event *e, const struct contract *contract,
                             struct coincidence *ret) {
  const struct history_change *c = &e->changes[0];
  const struct history_series *s = &h->series[c->series];
  size_t at = s->found.items[c->change].at, begin = c->change > 0 ? s->found.items[c->change - 1].at : 0,
         end = c->change + 1 < s->found.n_items ? s->found.items[c->change + 1].at : s->n_values;
  struct result_conditions before = mean_conditions(h, s, begin, at), after = mean_conditions(h, s, at, end);
  ret->conditions = conditions_differ(contract, &before, &after, &ret->arena);
}

/* By what the summaries say: as far as one gets where a bundle is not at hand. */
static enum coincidence_kind by_fingerprint(const struct summary_precision *a, const struct summary_precision *b) {
  if (a->fingerprint[0] == 0 || b->fingerprint[0] == 0) return COINCIDENCE_UNKNOWN;
  return strcmp(a->fingerprint, b->fingerprint) == 0 ? COINCIDENCE_NOTHING : COINCIDENCE_UNREAD;
}

void coincidence_learn(struct coincidence *c, struct difference_list *facts, const struct contract *contract) {
  difference_list_release(&c->facts);
  c->facts = *facts;
  c->kind = c->facts.n_identity > 0 ? COINCIDENCE_FACTS : COINCIDENCE_NOTHING;
  name_layers(contract, c);
}

static void compare(const struct history_facts *a, const struct history_facts *b, struct coincidence *ret) {
  struct difference_list facts = {0};
  capture_diff(&a->list, &b->list, &facts);
  coincidence_learn(ret, &facts, a->contract);
}

void coincidence_find(const struct history *h, const struct history_event *e, const struct history_opener *opener,
                      struct coincidence *ret) {
  const struct history_run *before = &h->runs[e->before], *after = &h->runs[e->after];
  struct history_facts a = {.contract = NULL}, b = {.contract = NULL};
  *ret = (struct coincidence){.kind = by_fingerprint(before->precision, after->precision), .n_steps = count_steps(h, e)};
  bool known = ret->kind != COINCIDENCE_UNKNOWN && opener->open(opener->context, before, &a);
  if (known && opener->open(opener->context, after, &b)) {
    compare(&a, &b, ret);
    opener->close(opener->context, &b);
  }
  const struct contract *contract = ret->kind == COINCIDENCE_UNKNOWN ? NULL : opener->contract != NULL ? opener->contract : a.contract;
  if (contract != NULL) judge_conditions(h, e, contract, ret);
  if (known) opener->close(opener->context, &a);
}

void coincidence_since(const struct history_run *before, const struct summary_precision *fresh, const struct history_facts *facts,
                       const struct history_opener *opener, struct coincidence *ret) {
  struct history_facts a = {.contract = NULL};
  *ret = (struct coincidence){.kind = by_fingerprint(before->precision, fresh)};
  if (ret->kind == COINCIDENCE_UNKNOWN || !opener->open(opener->context, before, &a)) return;
  compare(&a, facts, ret);
  if (a.contract != NULL) ret->conditions = conditions_differ(a.contract, &before->precision->conditions, &fresh->conditions, &ret->arena);
  opener->close(opener->context, &a);
}

const char *coincidence_owner(const struct coincidence *c, enum layer layer) {
  for (size_t i = 0; i < c->n_layers; i++)
    if (strcmp(c->layers[i], layer_text(layer)) == 0) return c->owners[i];
  return "";
}

void coincidence_release(struct coincidence *coincidence) {
  difference_list_release(&coincidence->facts);
  arena_release(&coincidence->arena);
}
