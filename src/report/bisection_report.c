#include "report/bisection_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/percent.h"
#include "result/finding.h"
#include "stats/special.h"

enum { NAME_WIDTH = 34, NAMES_MAX = 400 };

bool bisection_is_decided(const struct bisection *found) {
  return found->verdict == BISECTION_FOUND && found->told_apart && found->minimal && found->rest_is_none;
}

static void put_line(const char *name, const struct bisection_effect *e, struct buffer *out) {
  (void)buffer_printf(out, "  %-*.*s ", NAME_WIDTH, NAME_WIDTH, name);
  put_percent(out, e->estimate, e->low, e->high);
}

bool bisection_end_failed(const struct bisected *b) {
  return b->found.n_rounds == 0 && b->seen.failed != NULL;
}

/* --- the verdict --- */

static const char *rung_of(const struct bisection *f) {
  return rung_text(f->n_parts > 1 ? RUNG_FACTORIAL : RUNG_SWAPPED_BACK);
}

static void put_verdict(const struct bisected *b, bool color, struct buffer *out) {
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  const struct bisection *f = &b->found;
  char names[NAMES_MAX];
  (void)buffer_text(out, strong);
  if (f->verdict == BISECTION_NONE)
    (void)buffer_printf(out, "none: B performs as A does, within %.0f %%%s\n", special_percent(b->plan.least), plain);
  else if (f->verdict == BISECTION_INCONCLUSIVE)
    (void)buffer_printf(out, "inconclusive: %s%s%s\n",
                        bisection_end_failed(b) ? swap_mixture(&b->swaps, b->seen.failed_facts, names, sizeof names)
                                                : "it is not known whether B performs as A does",
                        bisection_end_failed(b) ? " does not run" : "", plain);
  else {
    (void)buffer_printf(out, "%+.0f %%: ", special_percent(f->whole.estimate));
    for (size_t i = 0; i < f->n_parts; i++)
      (void)buffer_printf(out, "%s%s", i > 0 ? ", with " : "", swap_names(&b->swaps, f->parts[i].facts, " or ", names, sizeof names));
    (void)buffer_printf(out, "%s (%s%s%s)\n", plain, f->minimal ? rung_of(f) : "", f->minimal && !bisection_is_decided(f) ? "; " : "",
                        bisection_is_decided(f) ? "" : "not decided in everything");
  }
}

static void put_levels(const struct bisected *b, struct buffer *out) {
  if (!isfinite(b->level_a) || !isfinite(b->level_b)) return;
  if (b->seen.response == RESPONSE_END_TO_END)
    (void)buffer_printf(out, "   E2E p50 %.3g s to %.3g s; a plus is faster\n", b->level_a, b->level_b);
  else (void)buffer_printf(out, "   %.4g to %.4g %s/s\n", b->level_a, b->level_b, b->seen.tokens ? "tokens" : "answers");
}

/* --- what carries it --- */

static void put_facts(const struct bisected *b, const struct contract *contract, uint64_t facts, struct buffer *out) {
  for (size_t i = 0; i < b->swaps.n; i++) {
    if ((facts >> i & 1) == 0) continue;
    (void)buffer_text(out, "    ");
    swap_text(&b->swaps.items[i], contract, out);
  }
}

static void put_parts(const struct bisected *b, const struct contract *contract, struct buffer *out) {
  const struct bisection *f = &b->found;
  char names[NAMES_MAX], others[NAMES_MAX], pair[2 * NAMES_MAX + 8];
  for (size_t i = 0; i < f->n_parts; i++) {
    const struct bisection_part *p = &f->parts[i];
    put_line(swap_names(&b->swaps, p->facts, " or ", names, sizeof names), &p->last, out);
    if (f->n_parts > 1 && isfinite(p->alone.estimate) && p->alone.bounded) {
      (void)buffer_text(out, "   beside the others; alone ");
      put_percent(out, p->alone.estimate, p->alone.low, p->alone.high);
    }
    (void)buffer_text(out, "\n");
    put_facts(b, contract, p->facts, out);
  }
  for (size_t i = 0; i < f->n_parts && f->n_parts <= 3; i++)
    for (size_t j = i + 1; j < f->n_parts; j++) {
      if (!f->interaction[i][j].bounded) continue;
      (void)snprintf(pair, sizeof pair, "%s x %s", swap_names(&b->swaps, f->parts[i].facts, " or ", names, sizeof names),
                     swap_names(&b->swaps, f->parts[j].facts, " or ", others, sizeof others));
      put_line(pair, &f->interaction[i][j], out);
      (void)buffer_text(out, "   together, beyond what each does by itself\n");
    }
}

static void put_rest(const struct bisected *b, struct buffer *out) {
  const struct bisection *f = &b->found;
  char name[64];
  size_t n = b->swaps.n - (size_t)__builtin_popcountll(bisection_facts(f));
  if (n == 0) return;
  (void)snprintf(name, sizeof name, n == 1 ? "the other one" : "the other %zu, together", n);
  put_line(name, &f->rest, out);
  if (f->rest_is_none) (void)buffer_printf(out, "   none beyond %.0f %%\n", special_percent(b->plan.least));
  else (void)buffer_text(out, isfinite(f->rest.estimate) ? "   not decided\n" : "\n");
}

/* --- what it took, and what to do --- */

static void put_cost(const struct bisected *b, struct buffer *out) {
  const struct bisection *f = &b->found;
  (void)buffer_printf(out, "%lld sessions in %lld rounds, %.1f min of counted load", (long long)f->n_sessions, (long long)f->n_rounds,
                      b->seen.seconds / 60);
  if (isfinite(f->deviation)) (void)buffer_printf(out, "; from session to session %.1f %%", 100 * f->deviation);
  (void)buffer_printf(out, "; %zu facts have %.0f combinations\n", b->swaps.n, ldexp(1, (int)b->swaps.n));
}

static void put_next(const struct bisected *b, struct buffer *out) {
  const struct bisection *f = &b->found;
  char names[NAMES_MAX];
  if (b->seen.failed != NULL)
    (void)buffer_printf(out, "%s did not run: %.300s\n", swap_mixture(&b->swaps, b->seen.failed_facts, names, sizeof names),
                        b->seen.failed);
  if (f->verdict == BISECTION_NONE || bisection_is_decided(f) || bisection_end_failed(b)) return;
  if (f->verdict == BISECTION_FOUND && !f->told_apart) (void)buffer_text(out, "not told apart: facts that stand with «or»\n");
  if (f->verdict == BISECTION_FOUND && f->told_apart && !f->minimal)
    (void)buffer_text(out, "whether each of them is needed is not decided\n");
  if (f->verdict == BISECTION_FOUND && b->seen.failed != NULL && !f->minimal) {
    (void)buffer_text(out,
                      "next: what does not run alone cannot be decided alone: make it one setting with what it needs (a wrapper script)\n");
    return;
  }
  (void)buffer_text(out, f->ran_out ? "next: the sessions ended before that; give it more time with --for\n"
                                    : "next: longer sessions differ less from one another: --session; or a greater --least\n");
}

bool bisection_text(const struct bisected *b, const struct contract *contract, bool color, struct buffer *out) {
  out->shown = true;
  const struct bisection *f = &b->found;
  put_verdict(b, color, out);
  if (f->n_rounds > 0) {
    put_line("B against A", &f->whole, out);
    put_levels(b, out);
    if (!isfinite(b->level_a) || !isfinite(b->level_b)) (void)buffer_text(out, "\n");
  }
  if (f->verdict == BISECTION_FOUND) {
    put_parts(b, contract, out);
    put_rest(b, out);
  }
  put_cost(b, out);
  put_next(b, out);
  return !out->overflowed;
}

/* --- JSON --- */

static void json_effect(struct json_writer *json, const char *key, const struct bisection_effect *e) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "ln", e->estimate);
  json_put_double(json, "low", e->bounded ? e->low : NAN);
  json_put_double(json, "high", e->bounded ? e->high : NAN);
  json_close(json);
}

static void json_part(struct json_writer *json, const struct bisected *b, const struct contract *contract, const struct bisection_part *p) {
  json_open_object(json);
  json_key(json, "facts");
  json_open_array(json);
  for (size_t i = 0; i < b->swaps.n; i++)
    if (p->facts >> i & 1) swap_json(&b->swaps.items[i], contract, json);
  json_close(json);
  json_effect(json, "beside_the_others", &p->last);
  json_effect(json, "alone", &p->alone);
  json_close(json);
}

void bisection_json(const struct bisected *b, const struct contract *contract, struct json_writer *json) {
  static const char *const verdicts[] = {[BISECTION_NONE] = "none", [BISECTION_FOUND] = "found", [BISECTION_INCONCLUSIVE] = "inconclusive"};
  const struct bisection *f = &b->found;
  json_put_text(json, "verdict", verdicts[f->verdict]);
  json_put_text(json, "rung", f->verdict == BISECTION_FOUND && f->minimal ? rung_of(f) : NULL);
  json_put_bool(json, "decided", f->verdict == BISECTION_NONE || bisection_is_decided(f));
  json_put_text(json, "figure", b->seen.response == RESPONSE_END_TO_END ? "end-to-end latency, inverted" : "throughput");
  json_put_double(json, "least", b->plan.least);
  json_put_double(json, "confidence", b->plan.confidence);
  json_put_double(json, "a", b->level_a);
  json_put_double(json, "b", b->level_b);
  json_effect(json, "whole", &f->whole);
  json_key(json, "parts");
  json_open_array(json);
  for (size_t i = 0; i < f->n_parts; i++) json_part(json, b, contract, &f->parts[i]);
  json_close(json);
  json_key(json, "interactions");
  json_open_array(json);
  for (size_t i = 0; i < f->n_parts && f->n_parts <= 3; i++)
    for (size_t j = i + 1; j < f->n_parts; j++) {
      json_open_object(json);
      json_put_int(json, "part", (int64_t)i);
      json_put_int(json, "with", (int64_t)j);
      json_effect(json, "effect", &f->interaction[i][j]);
      json_close(json);
    }
  json_close(json);
  json_effect(json, "carried", &f->carried);
  json_effect(json, "rest", &f->rest);
  json_put_bool(json, "rest_is_none", f->rest_is_none);
  json_put_bool(json, "told_apart", f->told_apart);
  json_put_bool(json, "minimal", f->minimal);
  json_put_bool(json, "ran_out", f->ran_out);
  json_put_int(json, "facts", (int64_t)b->swaps.n);
  json_put_int(json, "sessions", f->n_sessions);
  json_put_int(json, "rounds", f->n_rounds);
  json_put_double(json, "deviation", f->deviation);
  json_put_text(json, "failed", b->seen.failed);
}
