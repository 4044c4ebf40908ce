#include "result/instruments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/export.h"

#define SEEN 0.01          /* a factor of less is not worth a line */
#define LENGTHS_ALIKE 0.02 /* mean lengths of a sampled workload vary by that much from seed to seed */
#define FAILURES_SEEN 0.01
#define VALUE_MAX 1e15 /* of a rate, a count or seconds: beyond, a file says nothing */

const char *instruments_verdict_text(enum instruments_verdict verdict) {
  static const char *const texts[] = {[INSTRUMENTS_AGREE] = "agree",
                                      [INSTRUMENTS_EXPLAINED] = "differ, explained",
                                      [INSTRUMENTS_OPEN] = "differ, not explained",
                                      [INSTRUMENTS_APART] = "no figure in common"};
  return texts[verdict];
}

const char *instrument_status_text(enum instrument_status status) {
  static const char *const texts[] = {
      [INSTRUMENT_AGREES] = "agrees", [INSTRUMENT_EXPLAINED] = "explained", [INSTRUMENT_OPEN] = "not explained"};
  return texts[status];
}

/* --- figures that both state --- */

static const char *const statistics[][2] = {{"mean", NULL}, {"p50", "median"}, {"p90", NULL}, {"p95", NULL}, {"p99", NULL}};

static const struct quantity {
  enum instrument_kind kind;
  const char *title;
  bool times; /* names go with a statistic */
  const char *names[3];
} quantities[] = {{KIND_REQUESTS, "requests per second", false, {"requests per second", "inferences per second", "samples per second"}},
                  {KIND_OUTPUT, "output tokens per second", false, {"output tokens per second"}},
                  {KIND_TOKENS, "tokens per second", false, {"tokens per second"}},
                  {KIND_FIRST, "time to first token", true, {"time to first token", "first token"}},
                  {KIND_TOKEN, "time per output token", true, {"time per output token", "inter-token latency"}},
                  {KIND_GAP, "inter-token latency", true, {"inter-token latency"}},
                  {KIND_WHOLE, "whole answer", true, {"end to end", "request latency", "latency"}},
                  {KIND_COUNTS, "requests that went well", false, {"requests that went well"}},
                  {KIND_COUNTS, "input tokens", false, {"input tokens"}},
                  {KIND_COUNTS, "output tokens", false, {"output tokens"}}};

static const struct import_figure *figure_of(const struct imported *m, const char *name, const char *statistic) {
  for (size_t i = 0; i < m->n_figures; i++) {
    const struct import_figure *f = &m->figures[i];
    size_t n = strlen(name);
    if (strncmp(f->name, name, n) != 0) continue;
    if (statistic == NULL ? f->name[n] == 0 : f->name[n] == ' ' && strcmp(f->name + n + 1, statistic) == 0) return f;
  }
  return NULL;
}

/* By the statistic's usual name or its other one. */
static const struct import_figure *named(const struct imported *m, const char *name, const char *const *statistic) {
  const struct import_figure *f = figure_of(m, name, statistic != NULL ? statistic[0] : NULL);
  return f == NULL && statistic != NULL && statistic[1] != NULL ? figure_of(m, name, statistic[1]) : f;
}

enum { POOLED = 3 }; /* every gap between events */

/* Formulas of one meaning have one class. */
static int class_of(const char *formula) {
  static const struct {
    const char *formula;
    int class;
  } classes[] = {{"vllm.tpot.1", 1},
                 {"aiperf.inter_token_latency.1", 1},
                 {"guidellm.itl.1", 2},
                 {"lynx.tpot.1", 2},
                 {"mlperf.tpot.1", 2},
                 {"vllm.itl.1", 3},
                 {"lynx.itl.1", 3},
                 {"inference_perf.itl.1", 3},
                 {"server.itl.1", 3},
                 {"server.ttft.1", 5},
                 {"server.e2e.1", 7},
                 {"lynx.ttft.1", 4},
                 {"mlperf.ttft.1", 4},
                 {"vllm.ttft.1", 5},
                 {"aiperf.ttft.1", 5},
                 {"inference_perf.ttft.1", 5},
                 {"lynx.e2e.1", 6},
                 {"mlperf.latency.1", 6},
                 {"vllm.e2el.1", 7},
                 {"aiperf.request_latency.1", 7},
                 {"perf_analyzer.latency.1", 7},
                 {"inference_perf.request_latency.1", 7}};
  for (size_t i = 0; i < LYNX_COUNT(classes); i++)
    if (strcmp(classes[i].formula, formula) == 0) return classes[i].class;
  return 0;
}

static bool same_meaning(const char *a, const char *b) {
  return strcmp(a, b) == 0 || (class_of(a) != 0 && class_of(a) == class_of(b));
}

/* Of one name where both have it: a reader holds these against each other. Else of one formula; else whatever each calls it. */
static const char *find_pair(const struct imported *a, const struct imported *b, const struct quantity *q, const char *const *statistic,
                             const struct import_figure **ret_a, const struct import_figure **ret_b) {
  const struct import_figure *x, *y;
  const char *title = NULL;
  int best = 0;
  for (size_t i = 0; i < LYNX_COUNT(q->names) && q->names[i] != NULL; i++)
    for (size_t k = 0; k < LYNX_COUNT(q->names) && q->names[k] != NULL; k++) {
      if ((x = named(a, q->names[i], statistic)) == NULL || (y = named(b, q->names[k], statistic)) == NULL) continue;
      int fits = 1 + same_meaning(x->formula, y->formula) + 2 * (i == k);
      if (fits <= best) continue;
      best = fits;
      title = i == k && (q->kind == KIND_TOKEN || q->kind == KIND_REQUESTS) ? q->names[i] : q->title;
      *ret_a = x;
      *ret_b = y;
    }
  return title;
}

static double in_base_units(const struct import_figure *f) {
  return f->stated / import_per_second(f->unit);
}

/* --- what a side says of its work --- */

/* Seconds; NaN: not stated. */
static double stated_time(const struct instrument *i, enum instrument_kind kind, const char *const *statistic) {
  for (size_t q = 0; q < LYNX_COUNT(quantities); q++)
    for (size_t k = 0; quantities[q].kind == kind && k < LYNX_COUNT(quantities[q].names) && quantities[q].names[k] != NULL; k++) {
      const struct import_figure *f = named(&i->m, quantities[q].names[k], statistic);
      if (f != NULL) return in_base_units(f);
    }
  return NAN;
}

/* A mean length, by totals, or by rates. */
static double tokens_of(const struct instrument *i, const char *total, const char *rate) {
  double n = import_figure_stated(&i->m, total) / import_figure_stated(&i->m, "requests that went well");
  return isfinite(n) ? n : import_figure_stated(&i->m, rate) / import_figure_stated(&i->m, "requests per second");
}

static double answer_tokens(const struct instrument *i) {
  return tokens_of(i, "output tokens", "output tokens per second");
}

static double prompt_tokens(const struct instrument *i) {
  return tokens_of(i, "input tokens", "input tokens per second");
}

/* Where it is not stated: from its requests, or a whole answer by its parts. */
static double mean_time(const struct instrument *i, enum instrument_kind kind) {
  double stated = stated_time(i, kind, statistics[0]);
  if (isnan(stated) && kind == KIND_FIRST) stated = import_recomputed(&i->m, "vllm.ttft.1", "mean mean");
  if (isnan(stated) && kind == KIND_WHOLE) stated = import_recomputed(&i->m, "vllm.e2el.1", "mean mean");
  if (!isnan(stated) || kind != KIND_WHOLE) return stated;
  return stated_time(i, KIND_FIRST, statistics[0]) + stated_time(i, KIND_TOKEN, statistics[0]) * (answer_tokens(i) - 1);
}

static bool fails(const struct instrument *i) {
  return import_failed_share(&i->m) > FAILURES_SEEN;
}

static const char *streamed_text(const struct instrument *i) {
  return i->streamed < 0 ? "not said" : i->streamed > 0 ? "yes" : "no: its first token is the whole answer";
}

/* --- factors --- */

struct sides {
  const struct instrument *a, *b;
  struct arena *arena;
};

typedef void explain(const struct sides *s, struct instrument_figure *f);

static void add_factor(struct instrument_figure *f, double factor, const char *what) {
  if (!(factor > 0) || isinf(factor) || fabs(log(factor)) < SEEN || f->n_factors == INSTRUMENT_FACTORS) return;
  f->factors[f->n_factors++] = (struct instrument_factor){what, factor};
}

static bool is_rate(enum instrument_kind kind) {
  return kind == KIND_REQUESTS || kind == KIND_OUTPUT || kind == KIND_TOKENS;
}

static bool same_slots(const struct sides *s) {
  return s->a->m.concurrency > 0 && s->a->m.concurrency == s->b->m.concurrency && !(s->a->m.rate_per_s > 0) && !(s->b->m.rate_per_s > 0);
}

/* What A's whole answer would take with as many tokens as B's; as a factor. NaN: not known. */
static double longer_answer(const struct sides *s) {
  double first = mean_time(s->a, KIND_FIRST), each = mean_time(s->a, KIND_TOKEN), n_a = answer_tokens(s->a), n_b = answer_tokens(s->b);
  if (!(n_a >= 1) || !(n_b >= 1) || !(each > 0) || !(first >= 0) || s->a->streamed == 0) return NAN;
  if (fabs(n_b - n_a) <= LENGTHS_ALIKE * fmax(n_a, n_b)) return NAN; /* as many as makes no difference */
  return (first + each * (n_b - 1)) / (first + each * (n_a - 1));
}

/* What a model predicts counts only where it brings the two nearer. */
static void add_likely(struct instrument_figure *f, double factor, const char *what) {
  double left = f->ratio;
  for (size_t i = 0; i < f->n_factors; i++) left /= f->factors[i].factor;
  if (fabs(log(left / factor)) < fabs(log(left))) add_factor(f, factor, what);
}

/* Answers that are said to be longer, and take no longer. */
static bool counts_unlike(const struct sides *s) {
  double longer = log(longer_answer(s)), whole = log(mean_time(s->b, KIND_WHOLE) / mean_time(s->a, KIND_WHOLE));
  const struct import_figure *a = figure_of(&s->a->m, "inter-token latency", "mean"),
                             *b = figure_of(&s->b->m, "inter-token latency", "mean");
  /* The time between events holds no count: where it differs too, the model was faster or slower. */
  bool pooled = a != NULL && b != NULL && class_of(a->formula) == POOLED && class_of(b->formula) == POOLED;
  if (pooled && fabs(log(in_base_units(b) / in_base_units(a))) > log(1.1)) return false;
  return fabs(longer) > log(1.1) && fabs(whole - longer) > fabs(whole);
}

static void by_answer_length(const struct sides *s, struct instrument_figure *f) {
  double n_a = answer_tokens(s->a), n_b = answer_tokens(s->b), p_a = prompt_tokens(s->a), p_b = prompt_tokens(s->b);
  bool unlike = counts_unlike(s);
  const char *answers = unlike ? arena_printf(s->arena, "who counts the tokens (%.4g and %.4g in an answer that takes no longer)", n_a, n_b)
                               : arena_printf(s->arena, "answers of %.4g and %.4g tokens", n_a, n_b);
  if (f->kind == KIND_OUTPUT) add_factor(f, n_b / n_a, answers);
  if (f->kind == KIND_TOKENS)
    add_factor(f, (p_b + n_b) / (p_a + n_a),
               arena_printf(s->arena, "requests of %.4g and %.4g tokens, prompts included", p_a + n_a, p_b + n_b));
  if (f->kind == KIND_WHOLE && !unlike) add_likely(f, longer_answer(s), answers);
  if (f->kind == KIND_TOKEN && unlike && class_of(f->formula_a) != POOLED) add_likely(f, (n_a - 1) / (n_b - 1), answers);
  /* In a closed loop who takes longer asks less often. */
  if (is_rate(f->kind) && same_slots(s) && !unlike)
    add_likely(f, 1 / longer_answer(s), arena_printf(s->arena, "the time that answers of %.4g and %.4g tokens hold their slot", n_a, n_b));
}

static void by_offered_rate(const struct sides *s, struct instrument_figure *f) {
  double a = s->a->m.rate_per_s, b = s->b->m.rate_per_s;
  if (is_rate(f->kind) && a > 0 && b > 0)
    add_factor(f, b / a, arena_printf(s->arena, "the offered rate (%.4g and %.4g requests per second)", a, b));
}

/* Requests per second times their mean latency are in flight (Little 1961): what is less than the slots stood empty. */
static void by_empty_slots(const struct sides *s, struct instrument_figure *f) {
  double slots = (double)s->a->m.concurrency, a = import_figure_stated(&s->a->m, "requests per second") * mean_time(s->a, KIND_WHOLE),
         b = import_figure_stated(&s->b->m, "requests per second") * mean_time(s->b, KIND_WHOLE);
  bool known = !fails(s->a) && !fails(s->b); /* a request that fails holds its slot, too, and is in no latency */
  if (is_rate(f->kind) && same_slots(s) && known && a <= 1.05 * slots && b <= 1.05 * slots)
    add_factor(
        f, b / a,
        arena_printf(s->arena, "empty slots (of %.0f, %.4g and %.4g were in use: ramp, tail, the client's own pauses)", slots, a, b));
}

static void by_failures_counted(const struct sides *s, struct instrument_figure *f) {
  double a = import_failed_share(&s->a->m), b = import_failed_share(&s->b->m);
  double part_a = s->a->habits->counts_all ? 1 : 1 - a, part_b = s->b->habits->counts_all ? 1 : 1 - b;
  bool unlike = s->a->habits->counts_all != s->b->habits->counts_all;
  if (f->kind == KIND_REQUESTS && unlike)
    add_factor(f, part_b / part_a, arena_printf(s->arena, "who counts failed requests (%.3g and %.3g %% failed)", 100 * a, 100 * b));
}

/* What failed here, the server may have finished. */
static void by_who_is_counted(const struct sides *s, struct instrument_figure *f) {
  const struct instrument *client = s->a->of_server ? s->b : s->a;
  double failed = import_failed_share(&client->m);
  if (f->kind != KIND_COUNTS || s->a->of_server == s->b->of_server || strcmp(f->title, "requests that went well") != 0) return;
  add_likely(f, client == s->a ? 1 / (1 - failed) : 1 - failed, arena_printf(s->arena, "the %.3g %% that failed here", 100 * failed));
}

static void by_requests_counted(const struct sides *s, struct instrument_figure *f) {
  double a = import_figure_stated(&s->a->m, "requests that went well"), b = import_figure_stated(&s->b->m, "requests that went well");
  if (f->kind == KIND_COUNTS && strcmp(f->title, "requests that went well") != 0)
    add_factor(f, b / a, arena_printf(s->arena, "%.0f and %.0f requests", a, b));
}

/* How a mean changes from one formula to the other, where no request is known: (first + gap x (n - 1)) / n has the first token in it. */
static double with_first_token(const struct instrument *i, const char *from, const char *to, double value) {
  double n = answer_tokens(i), first = mean_time(i, KIND_FIRST);
  bool out = strcmp(from, "guidellm.tpot.1") == 0, into = strcmp(to, "guidellm.tpot.1") == 0;
  if (!(n > 1) || !(first >= 0) || out == into) return NAN;
  return into ? (first + value * (n - 1)) / n / value : (value * n - first) / (n - 1) / value;
}

static double by_other_formula(const struct instrument *i, const char *own, const char *other, const char *name) {
  return import_recomputed(&i->m, other, name) / import_recomputed(&i->m, own, name);
}

/* Taking A to B's formula; by A's requests, or the inverse by B's. NaN: it cannot be known. */
static double formula_factor(const struct sides *s, const struct instrument_figure *f) {
  const char *name = arena_printf(s->arena, "%s %s", f->title, f->statistic);
  double factor = by_other_formula(s->a, f->formula_a, f->formula_b, name);
  if (isnan(factor)) factor = 1 / by_other_formula(s->b, f->formula_b, f->formula_a, name);
  if (isnan(factor) && strcmp(f->statistic, "mean") == 0) factor = with_first_token(s->a, f->formula_a, f->formula_b, f->a);
  return factor;
}

static bool is_latency(enum instrument_kind kind) {
  return kind == KIND_FIRST || kind == KIND_TOKEN || kind == KIND_GAP || kind == KIND_WHOLE;
}

static void by_formula(const struct sides *s, struct instrument_figure *f) {
  if (is_latency(f->kind) && !same_meaning(f->formula_a, f->formula_b))
    add_factor(f, formula_factor(s, f), arena_printf(s->arena, "the formula (%s and %s)", f->formula_a, f->formula_b));
}

/* Without streaming the first token is the whole answer. */
static void by_streaming(const struct sides *s, struct instrument_figure *f) {
  const char *const *statistic = NULL;
  bool a = s->a->streamed > 0 || s->a->of_server, b = s->b->streamed > 0 || s->b->of_server;
  if (f->kind != KIND_FIRST || a == b || (!a && s->a->streamed != 0) || (!b && s->b->streamed != 0)) return;
  for (size_t i = 0; i < LYNX_COUNT(statistics); i++)
    if (strcmp(statistics[i][0], f->statistic) == 0) statistic = statistics[i];
  const struct instrument *streaming = a ? s->a : s->b;
  double whole = statistic == statistics[0] ? mean_time(streaming, KIND_WHOLE) : stated_time(streaming, KIND_WHOLE, statistic);
  double longer = whole / (streaming == s->a ? f->a : f->b);
  add_factor(f, streaming == s->a ? longer : 1 / longer, "streaming (one side did not: its first token is the whole answer)");
}

/* How much dearer the mean is for the first tenth of the run. NaN: nobody knows; 1 where the beginning is left out. */
static double beginning(const struct instrument *i, const char *formula, const char *name) {
  struct imported rest = i->m;
  double from = INFINITY, to = -INFINITY;
  if (strcmp(i->habits->tool, "lynx") == 0) return 1;
  if (i->m.starts_unknown || i->m.n_requests < 20) return NAN;
  for (size_t k = 0; k < i->m.n_requests; k++) {
    from = fmin(from, i->m.requests[k].start_s);
    to = fmax(to, i->m.requests[k].start_s);
  }
  if (!(to > from)) return NAN;
  rest.requests = xalloc(i->m.n_requests, sizeof *rest.requests);
  rest.n_requests = rest.n_gaps = 0;
  for (size_t k = 0; k < i->m.n_requests; k++)
    if (i->m.requests[k].start_s > from + 0.1 * (to - from)) rest.requests[rest.n_requests++] = i->m.requests[k];
  double factor = import_recomputed(&i->m, formula, name) / import_recomputed(&rest, formula, name);
  free(rest.requests);
  return factor;
}

static void by_beginning(const struct sides *s, struct instrument_figure *f) {
  if ((f->kind != KIND_FIRST && f->kind != KIND_WHOLE) || strcmp(f->statistic, "mean") != 0) return;
  const char *name = arena_printf(s->arena, "%s mean", f->title);
  double a = beginning(s->a, f->formula_a, name), b = beginning(s->b, f->formula_b, name);
  add_factor(f, b / a, arena_printf(s->arena, "the first tenth of the run (with it the mean is %.3g and %.3g times the rest's)", a, b));
}

static explain *const explanations[] = {by_offered_rate,     by_formula,        by_streaming,        by_answer_length, by_empty_slots,
                                        by_requests_counted, by_who_is_counted, by_failures_counted, by_beginning};

/* --- what each did, and whether it can matter --- */

#define BIT(kind) (1U << (kind))
#define LATENCIES (BIT(KIND_FIRST) | BIT(KIND_TOKEN) | BIT(KIND_GAP) | BIT(KIND_WHOLE))
#define RATES (BIT(KIND_REQUESTS) | BIT(KIND_OUTPUT) | BIT(KIND_TOKENS))

static void put_trait(struct instruments *r, const char *what, const char *a, const char *b, unsigned bears_on) {
  bool differs = strcmp(a, b) != 0;
  r->traits[r->n_traits++] = (struct instrument_trait){what, a, b, differs, differs ? bears_on : 0};
}

static const char *load_of(struct arena *arena, const struct instrument *i) {
  const struct imported *m = &i->m;
  if (i->of_server) return "whoever asked";
  if (m->rate_per_s > 0 && m->concurrency > 0)
    return arena_printf(arena, "%.4g requests per second, at most %lld in flight", m->rate_per_s, (long long)m->concurrency);
  if (m->rate_per_s > 0) return arena_printf(arena, "%.4g requests per second, %s", m->rate_per_s, m->poisson ? "Poisson" : "evenly");
  if (m->concurrency > 0) return arena_printf(arena, "%lld in flight", (long long)m->concurrency);
  return "not said";
}

static const char *number_or(struct arena *arena, double value, const char *unit) {
  return isfinite(value) && value > 0 ? arena_printf(arena, "%.4g%s", value, unit) : "not said";
}

static void put_lengths(struct instruments *r, const struct instrument *a, const struct instrument *b) {
  double x[2] = {prompt_tokens(a), answer_tokens(a)}, y[2] = {prompt_tokens(b), answer_tokens(b)};
  static const char *const whats[] = {"tokens of a prompt, mean", "tokens of an answer, mean"};
  static const unsigned bears_on[] = {BIT(KIND_FIRST) | BIT(KIND_WHOLE) | RATES, BIT(KIND_REQUESTS) | BIT(KIND_WHOLE)};
  static const bool is_factor[] = {false, true}; /* where both are known */
  for (size_t i = 0; i < 2; i++) {
    bool alike = fabs(x[i] - y[i]) <= LENGTHS_ALIKE * fmax(x[i], y[i]), neither = isnan(x[i]) && isnan(y[i]),
         counted = is_factor[i] && isfinite(x[i]) && isfinite(y[i]);
    put_trait(r, whats[i], number_or(&r->arena, x[i], ""), number_or(&r->arena, y[i], ""), alike || neither || counted ? 0 : bears_on[i]);
    if (alike) r->traits[r->n_traits - 1].differs = false;
  }
}

static const char *share_text(struct arena *arena, double share) {
  return isnan(share) ? "not said" : arena_printf(arena, "%.3g %%", 100 * share);
}

static const char *word(const char *text) {
  return text != NULL ? text : "none";
}

static const char *whose(const struct instrument *i) {
  if (i->of_server) return "everybody's, between the pages";
  return strcmp(i->habits->tool, "lynx") == 0 ? "its own; those of its warm-up are left out" : "its own, those that it counts";
}

static void take_traits(const struct instrument *a, const struct instrument *b, struct instruments *r) {
  struct arena *arena = &r->arena;
  bool offered = a->m.rate_per_s > 0 && b->m.rate_per_s > 0, open = a->m.rate_per_s > 0 || b->m.rate_per_s > 0;
  bool lengths = isfinite(answer_tokens(a)) && isfinite(answer_tokens(b));
  double failed_a = import_failed_share(&a->m), failed_b = import_failed_share(&b->m);
  bool server = a->of_server || b->of_server, fail_alike = !(fabs(failed_a - failed_b) > FAILURES_SEEN);
  put_trait(r, "load", load_of(arena, a), load_of(arena, b), server ? 0 : offered ? LATENCIES : LATENCIES | RATES);
  put_lengths(r, a, b);
  put_trait(r, "answers streamed", streamed_text(a), streamed_text(b), BIT(KIND_TOKEN) | BIT(KIND_GAP));
  put_trait(r, "a request's time begins at", a->habits->clock, b->habits->clock, server ? 0 : BIT(KIND_FIRST) | BIT(KIND_WHOLE));
  put_trait(r, "first token is", word(a->habits->first), word(b->habits->first), BIT(KIND_FIRST));
  put_trait(r, "tokens are counted by", word(a->habits->tokens), word(b->habits->tokens),
            lengths ? 0 : BIT(KIND_OUTPUT) | BIT(KIND_TOKENS) | BIT(KIND_TOKEN));
  put_trait(r, "rates are over", a->habits->window, b->habits->window, RATES);
  put_trait(r, "requests per second are of", a->habits->counts_all ? "all requests" : "requests that went well",
            b->habits->counts_all ? "all requests" : "requests that went well", 0);
  put_trait(r, "a request that is sent late", a->habits->late_sent, b->habits->late_sent,
            open && !server ? BIT(KIND_FIRST) | BIT(KIND_WHOLE) : 0);
  put_trait(r, "the client's lateness", a->lateness, b->lateness, 0);
  put_trait(r, "failed", share_text(arena, failed_a), share_text(arena, failed_b), fail_alike ? 0 : LATENCIES | RATES);
  put_trait(r, "measured", number_or(arena, a->m.seconds, " s"), number_or(arena, b->m.seconds, " s"), 0);
  if (a->m.model[0] != 0 && b->m.model[0] != 0) put_trait(r, "model", a->m.model, b->m.model, LATENCIES | RATES);
  if (server) put_trait(r, "whose requests", whose(a), whose(b), LATENCIES | BIT(KIND_COUNTS));
}

/* --- the judgement --- */

static void judge_figure(const struct sides *s, double margin, struct instrument_figure *f) {
  f->ratio = f->left = f->b / f->a;
  for (size_t i = 0; i < LYNX_COUNT(explanations); i++) explanations[i](s, f);
  for (size_t i = 0; i < f->n_factors; i++) f->left /= f->factors[i].factor;
  double within = log(1 + margin);
  f->status = fabs(log(f->ratio)) <= within                      ? INSTRUMENT_AGREES
              : f->n_factors > 0 && fabs(log(f->left)) <= within ? INSTRUMENT_EXPLAINED
                                                                 : INSTRUMENT_OPEN;
}

static void take_quantity(const struct sides *s, const struct quantity *q, struct instruments *r) {
  bool judged = false;
  const char *title;
  for (size_t i = 0; i < (q->times ? LYNX_COUNT(statistics) : 1); i++) {
    const struct import_figure *a, *b;
    if (r->n_figures == INSTRUMENT_FIGURES_MAX) return;
    if ((title = find_pair(&s->a->m, &s->b->m, q, q->times ? statistics[i] : NULL, &a, &b)) == NULL) continue;
    double x = in_base_units(a), y = in_base_units(b);
    if (!(x > 0) || !(y > 0) || x > VALUE_MAX || y > VALUE_MAX) continue;
    struct instrument_figure *f = &r->figures[r->n_figures++];
    *f = (struct instrument_figure){.kind = q->kind,
                                    .title = title,
                                    .statistic = q->times ? statistics[i][0] : "",
                                    .formula_a = a->formula,
                                    .formula_b = b->formula,
                                    .a = x,
                                    .b = y,
                                    .judged = !judged};
    judged = true;
    judge_figure(s, r->margin, f);
  }
}

/* The gaps of both were compared as the time per token already. */
static bool is_repeated(const struct instruments *r, const struct quantity *q) {
  for (size_t i = 0; q->kind == KIND_GAP && i < r->n_figures; i++)
    if (r->figures[i].kind == KIND_TOKEN && strcmp(r->figures[i].title, q->title) == 0) return true;
  return false;
}

/* llama-bench names its figures after the test. */
static void take_tests(const struct sides *s, struct instruments *r) {
  for (size_t i = 0; i < s->a->m.n_figures && r->n_figures < INSTRUMENT_FIGURES_MAX; i++) {
    const struct import_figure *a = &s->a->m.figures[i], *b = figure_of(&s->b->m, a->name, NULL);
    bool test = strcmp(a->formula, "llama_bench.rate.1") == 0 && strstr(a->name, "deviation") == NULL;
    if (!test || b == NULL || !(a->stated > 0) || !(b->stated > 0) || a->stated > VALUE_MAX || b->stated > VALUE_MAX) continue;
    struct instrument_figure *f = &r->figures[r->n_figures++];
    *f = (struct instrument_figure){.kind = KIND_OTHER_RATE,
                                    .title = a->name,
                                    .statistic = "",
                                    .formula_a = a->formula,
                                    .formula_b = b->formula,
                                    .a = a->stated,
                                    .b = b->stated,
                                    .judged = true};
    judge_figure(s, r->margin, f);
  }
}

void instruments_judge(const struct instrument *a, const struct instrument *b, double margin, struct instruments *ret) {
  *ret = (struct instruments){.margin = margin, .verdict = INSTRUMENTS_APART};
  const struct sides sides = {a, b, &ret->arena};
  for (size_t i = 0; i < LYNX_COUNT(quantities); i++) {
    bool counts = quantities[i].kind == KIND_COUNTS && !a->of_server && !b->of_server; /* how long each ran is its own choice */
    if (!counts && !is_repeated(ret, &quantities[i])) take_quantity(&sides, &quantities[i], ret);
  }
  take_tests(&sides, ret);
  take_traits(a, b, ret);
  ret->counts_unlike = counts_unlike(&sides);
  for (size_t i = 0; i < ret->n_figures; i++) {
    const struct instrument_figure *f = &ret->figures[i];
    if (!f->judged) continue;
    enum instruments_verdict own = f->status == INSTRUMENT_AGREES ? INSTRUMENTS_AGREE
                                   : f->status == INSTRUMENT_OPEN ? INSTRUMENTS_OPEN
                                                                  : INSTRUMENTS_EXPLAINED;
    if (ret->named == NULL || own > ret->verdict || (own == ret->verdict && fabs(log(f->ratio)) > fabs(log(ret->named->ratio)))) {
      ret->verdict = own;
      ret->named = f;
    }
  }
}

void instruments_release(struct instruments *instruments) {
  arena_release(&instruments->arena);
  instruments->n_figures = 0;
}
