#include "result/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- sums by session --- */

struct session_sum {
  int64_t session;
  double value, weight;
};

struct sums {
  struct session_sum *items;
  size_t n, room;
};

static void add(struct sums *sums, int64_t session, double value, double weight) {
  for (size_t i = sums->n; i-- > 0;)
    if (sums->items[i].session == session) {
      sums->items[i].value += value;
      sums->items[i].weight += weight;
      return;
    }
  sums->items = xroom(sums->items, sums->n, &sums->room, sizeof *sums->items);
  sums->items[sums->n++] = (struct session_sum){session, value, weight};
}

struct measured {
  const char *measure;
  struct sums sums;
};

static enum lynx_status add_row(void *context, int64_t session, int64_t window, const char *measure, double value, int64_t weight) {
  struct measured *m = context;
  (void)window;
  if (strcmp(measure, m->measure) == 0) add(&m->sums, session, value, (double)weight);
  return LYNX_OK;
}

/* --- answers against answers --- */

struct answer {
  int64_t session, input;
  const char *text;
  size_t length;
};

struct answers {
  struct arena arena;
  struct answer *items;
  size_t n, room;
};

static enum lynx_status keep_answer(void *context, int64_t session, int64_t input, const char *text, size_t length) {
  struct answers *a = context;
  a->items = xroom(a->items, a->n, &a->room, sizeof *a->items);
  a->items[a->n++] = (struct answer){session, input, arena_text(&a->arena, text, length), length};
  return LYNX_OK;
}

/* Rows come in order of (session, input). */
static const struct answer *find(const struct answers *a, int64_t session, int64_t input) {
  size_t low = 0, high = a->n;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const struct answer *x = &a->items[middle];
    if (x->session < session || (x->session == session && x->input < input)) low = middle + 1;
    else high = middle;
  }
  return low < a->n && a->items[low].session == session && a->items[low].input == input ? &a->items[low] : NULL;
}

static size_t next_word(const char *text, size_t length, size_t *at) {
  while (*at < length && strchr(" \t\r\n", text[*at]) != NULL) (*at)++;
  size_t n = 0;
  while (*at + n < length && strchr(" \t\r\n", text[*at + n]) == NULL) n++;
  return n;
}

/* Words of the reference that the answer has too, from the first, before the two part / words of the reference. */
static double agreement(const struct answer *answer, const struct answer *reference) {
  size_t at = 0, to = 0, n_all = 0, n_same = 0;
  bool together = true;
  for (size_t n; (n = next_word(reference->text, reference->length, &to)) > 0; to += n) {
    size_t own = next_word(answer->text, answer->length, &at);
    together = together && own == n && memcmp(answer->text + at, reference->text + to, n) == 0;
    n_all++;
    n_same += together;
    at += own;
  }
  return n_all > 0 ? (double)n_same / (double)n_all : answer->length == 0 ? 1 : 0;
}

static double exact(const struct answer *answer, const struct answer *reference) {
  return answer->length == reference->length && memcmp(answer->text, reference->text, answer->length) == 0 ? 1 : 0;
}

static const struct result_precision *reference_of(const struct result *result) {
  for (size_t i = 0; i < result->n_precisions; i++)
    if (strcmp(result->precisions[i].name, result->contract.accuracy.reference) == 0) return &result->precisions[i];
  return NULL;
}

/* The session of the reference precision with the same number: the same inputs in the same order. */
static int64_t session_of(const struct result_precision *p, int64_t number) {
  for (size_t i = 0; p != NULL && i < p->n_sessions; i++)
    if (p->sessions[i].number == number) return p->sessions[i].id;
  return BUNDLE_REFERENCES - 1;
}

static enum lynx_status compare_answers(struct bundle *bundle, struct result *result, struct sums *sums, struct lynx_error *error) {
  struct answers answers = {0};
  bool given = result->contract.accuracy.references != NULL, words = result->contract.accuracy.measure == ACCURACY_TOKEN_AGREEMENT;
  enum lynx_status status = bundle_each_answer(bundle, keep_answer, &answers, error);
  const struct result_precision *reference = reference_of(result);
  for (size_t p = 0; p < result->n_precisions && status == LYNX_OK; p++)
    for (size_t i = 0; i < result->precisions[p].n_sessions; i++) {
      const struct result_session *s = &result->precisions[p].sessions[i];
      int64_t other = given ? BUNDLE_REFERENCES : session_of(reference, s->number);
      for (size_t k = 0; k < answers.n; k++) {
        const struct answer *a = &answers.items[k], *b = a->session == s->id ? find(&answers, other, a->input) : NULL;
        if (b != NULL) add(sums, s->id, words ? agreement(a, b) : exact(a, b), 1);
      }
    }
  free(answers.items);
  arena_release(&answers.arena);
  return status;
}

/* --- the gate --- */

static void judge(struct result *result) {
  bool likelihood = result->contract.accuracy.measure == ACCURACY_LIKELIHOOD, given = result->contract.accuracy.references != NULL;
  const struct result_precision *reference = reference_of(result);
  double of_reference = reference != NULL ? reference->accuracy.estimate : NAN;
  for (size_t i = 0; i < result->n_precisions; i++) {
    struct result_precision *p = &result->precisions[i];
    double own = p->accuracy.estimate;
    /* Against given references each precision stands by itself. */
    p->accuracy_ratio = given ? own : likelihood ? of_reference / own : own / of_reference;
    p->accuracy_known = isfinite(p->accuracy_ratio) && isfinite(own);
    p->accuracy_passed = p->accuracy_known && p->accuracy_ratio >= result->contract.accuracy.at_least_ratio;
    if (!p->accuracy_known) p->accuracy_ratio = NAN;
  }
}

enum lynx_status accuracy_judge(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  if (!contract_states(&result->contract, "accuracy")) return LYNX_OK;
  int measure = result->contract.accuracy.measure;
  struct measured m = {.measure = measure == ACCURACY_SCORER ? "score" : "bits"};
  bool compared = measure == ACCURACY_EXACT_MATCH || measure == ACCURACY_TOKEN_AGREEMENT;
  enum lynx_status status = compared ? compare_answers(bundle, result, &m.sums, error) : bundle_each_accuracy(bundle, add_row, &m, error);
  for (size_t p = 0; p < result->n_precisions && status == LYNX_OK; p++) {
    struct result_precision *precision = &result->precisions[p];
    double *x = xalloc(precision->n_sessions + 1, sizeof *x);
    size_t n = 0, n_complete = 0;
    for (size_t i = 0; i < precision->n_sessions; i++) n_complete += precision->sessions[i].complete;
    for (size_t i = 0; i < precision->n_sessions; i++)
      for (size_t k = 0; k < m.sums.n; k++)
        if (m.sums.items[k].session == precision->sessions[i].id && m.sums.items[k].weight > 0 && precision->sessions[i].complete)
          precision->sessions[i].accuracy = x[n++] = m.sums.items[k].value / m.sums.items[k].weight;
    if (n < n_complete) n = 0; /* half an accuracy is none: the missing half may be the bad one */
    precision->accuracy = result_interval(x, n, result->interval_confidence);
    free(x);
  }
  free(m.sums.items);
  if (status == LYNX_OK) judge(result);
  return status;
}
