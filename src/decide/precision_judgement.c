#include "decide/precision_judgement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *precision_decision_text(enum precision_decision decision) {
  static const char *const texts[] = {"go", "no-go", "not decided"};
  return texts[decision];
}

static int order_of(const struct task_answer *x, const struct task_answer *y) {
  int order = strcmp(x->task, y->task);
  return order != 0 ? order : strcmp(x->question, y->question);
}

#define UNPAIRED_MOST 0.01 /* of the questions: who answers fewer may have left out the hard ones */

struct pair {
  const struct task_answer *before, *after;
};

struct pairing {
  struct pair *pairs;
  size_t n;
};

/* Both are in order: one walk. */
static void pair_all(const struct task_answers *a, const struct task_answers *b, struct pairing *p, struct precision_judgement *j) {
  size_t i = 0, k = 0;
  while (i < a->n && k < b->n) {
    const struct task_answer *x = &a->items[i], *y = &b->items[k];
    int order = order_of(x, y);
    if (order != 0) {
      j->n_only_before += order < 0;
      j->n_only_after += order > 0;
    } else if ((x->prompt != 0 && y->prompt != 0 && x->prompt != y->prompt) || strcmp(x->metric, y->metric) != 0) j->n_other_prompt++;
    else {
      p->pairs[p->n++] = (struct pair){x, y};
    }
    i += order <= 0;
    k += order >= 0;
  }
  j->n_only_before += a->n - i;
  j->n_only_after += b->n - k;
  j->n_paired = p->n;
}

static bool is_one_or_none(double value) {
  return value == 0 || value == 1;
}

/* differences[n]: of one task. */
static void judge_task(struct precision_task *t, const double *differences, size_t n, double confidence, size_t n_tasks) {
  const double strict = 1 - (1 - confidence) / (double)n_tasks;
  t->counts.n = n;
  t->exact = NAN;
  if (t->binary) {
    t->difference = paired_score(&t->counts, confidence);
    t->corrected = paired_score(&t->counts, strict);
    t->exact = paired_exact(&t->counts);
  } else {
    t->difference = paired_means(differences, n, confidence);
    t->corrected = paired_means(differences, n, strict);
  }
}

static double variance_of(const double *differences, size_t n) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    sum += differences[i];
    squares += differences[i] * differences[i];
  }
  return n > 0 ? squares / (double)n - sum / (double)n * (sum / (double)n) : 0;
}

static void add_pair(struct precision_task *t, const struct task_answer *x, const struct task_answer *y, double *length_before,
                     double *length_after) {
  t->before += x->value;
  t->after += y->value;
  t->binary = t->binary && is_one_or_none(x->value) && is_one_or_none(y->value);
  t->counts.lost += x->value > y->value;
  t->counts.won += y->value > x->value;
  t->metric = x->metric;
  *length_before += x->characters;
  *length_after += y->characters;
}

static size_t count_tasks(const struct pairing *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) n += i == 0 || strcmp(p->pairs[i].before->task, p->pairs[i - 1].before->task) != 0;
  return n;
}

/* Tasks of a side of which no question was paired. Both are in order. */
static size_t lone_tasks(const struct task_answers *side, const struct pairing *p) {
  size_t n = 0, k = 0;
  for (size_t i = 0; i < side->n; i++) {
    if (i > 0 && strcmp(side->items[i].task, side->items[i - 1].task) == 0) continue;
    while (k < p->n && strcmp(p->pairs[k].before->task, side->items[i].task) < 0) k++;
    n += k == p->n || strcmp(p->pairs[k].before->task, side->items[i].task) != 0;
  }
  return n;
}

static void judge_tasks(const struct pairing *p, double confidence, size_t n_tasks, struct precision_judgement *j) {
  double *differences = xalloc(p->n + 1, sizeof *differences);
  for (size_t i = 0; i < p->n;) {
    struct precision_task *t = &j->tasks[j->n_tasks++];
    double length_before = 0, length_after = 0;
    size_t n = 0;
    *t = (struct precision_task){.name = p->pairs[i].before->task, .binary = true};
    for (; i < p->n && strcmp(p->pairs[i].before->task, t->name) == 0; i++) {
      add_pair(t, p->pairs[i].before, p->pairs[i].after, &length_before, &length_after);
      differences[n++] = p->pairs[i].after->value - p->pairs[i].before->value;
    }
    t->before /= (double)n;
    t->after /= (double)n;
    t->length_ratio = length_before > 0 ? length_after / length_before : NAN;
    judge_task(t, differences, n, confidence, n_tasks);
    if (t->difference.low <= -j->margin && t->corrected.high >= -j->margin)
      t->needed = t->binary ? paired_needed_of(&t->counts, j->margin, confidence)
                            : paired_needed(t->difference.estimate, variance_of(differences, n), j->margin, confidence);
  }
  free(differences);
}

static void decide(struct precision_judgement *j) {
  bool go = true, no_go = false;
  size_t lowest = 0; /* the surest loss */
  for (size_t i = 0; i < j->n_tasks; i++) {
    const struct precision_task *t = &j->tasks[i];
    go = go && t->difference.low > -j->margin;
    no_go = no_go || t->corrected.high < -j->margin;
    if (t->difference.low < j->tasks[j->worst].difference.low) j->worst = i;
    if (t->corrected.high < j->tasks[lowest].corrected.high) lowest = i;
  }
  if (no_go) j->worst = lowest;
  size_t unpaired = j->n_only_before + j->n_only_after + j->n_other_prompt;
  j->incomplete = j->n_lone_tasks > 0 || (double)unpaired > UNPAIRED_MOST * (double)(unpaired + j->n_paired);
  j->decision = no_go ? PRECISION_NO_GO : go && !j->incomplete ? PRECISION_GO : PRECISION_NOT_DECIDED;
}

enum lynx_status precision_judge(const struct task_answers *before, const struct task_answers *after, double margin, double confidence,
                                 struct precision_judgement *ret, struct lynx_error *error) {
  *ret = (struct precision_judgement){.margin = margin};
  size_t most = before->n < after->n ? before->n : after->n, all = before->n > after->n ? before->n : after->n;
  struct pairing p = {xalloc(most + 1, sizeof *p.pairs), 0};
  pair_all(before, after, &p, ret);
  size_t n_tasks = count_tasks(&p);
  ret->n_lone_tasks = lone_tasks(before, &p) + lone_tasks(after, &p);
  enum lynx_status status = LYNX_OK;
  if (2 * p.n < all || p.n == 0)
    status = lynx_fail(
        error, LYNX_INPUT,
        "%zu questions are in both, of %zu and %zu (%zu have another prompt or metric); accepted: the same tasks, prompts and number "
        "of examples, under two precisions",
        p.n, before->n, after->n, ret->n_other_prompt);
  else if (n_tasks > PRECISION_TASKS_MAX)
    status = lynx_fail(error, LYNX_LIMIT, "found %zu tasks; accepted: %d", n_tasks, PRECISION_TASKS_MAX);
  else {
    judge_tasks(&p, confidence, n_tasks, ret);
    decide(ret);
  }
  free(p.pairs);
  return status;
}
