#include "result/question_answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "result/figure_text.h"

struct answering {
  const struct answer_evidence *from;
  const struct contract *contract;   /* NULL */
  const struct summary_precision *p; /* whose figures are asked; NULL: none */
  struct arena *arena;
  struct answer *to;
};

const char *tile_words(const struct answer_tile *tile) {
  bool known = tile->measured[0] != 0;
  if (tile->state == TILE_UNKNOWN && known) return "not decided";
  if (tile->state == TILE_NOT_ASKED && known) return "nothing was promised";
  if (tile->state == TILE_MISSED && strcmp(tile->asks, "ordered") == 0) return "not as ordered";
  return tile_state_text(tile->state);
}

const char *tile_state_text(enum tile_state state) {
  static const char *const texts[] = {[TILE_NOT_ASKED] = "not asked",
                                      [TILE_NOT_COMPUTED] = "not computed yet",
                                      [TILE_UNKNOWN] = "not known",
                                      [TILE_KEPT] = "kept",
                                      [TILE_MISSED] = "missed"};
  return texts[state];
}

static const struct {
  const char *text, *class, *icon, *meaning;
} answer_states[] = {
    [ANSWER_NONE] = {"no answer yet", "open", "\u25cb", ""},
    [ANSWER_MEASURED] = {"measured", "measured", "\u25cf", "one team measured it; no other team has checked it"},
    [ANSWER_NOT_AS_ORDERED] = {"not what was ordered", "not-ordered", "\u2715", "what was found differs from what the contract says"},
    [ANSWER_VERIFIED] = {"verified", "verified", "\u2713", "another team measured again and found the same"},
    [ANSWER_CONTESTED] = {"contested", "contested", "!", "a team disputes it, or measured something else"}};

const char *answer_state_text(enum answer_state state) {
  return answer_states[state].text;
}

const char *answer_state_class(enum answer_state state) {
  return answer_states[state].class;
}

const char *answer_state_icon(enum answer_state state) {
  return answer_states[state].icon;
}

const char *answer_state_meaning(enum answer_state state) {
  return answer_states[state].meaning;
}

/* --- words --- */

static LYNX_PRINTF(2, 3) void say(struct answering *a, const char *format, ...) {
  char text[2000];
  va_list args;
  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  a->to->state = ANSWER_MEASURED;
  a->to->sentence = arena_copy(a->arena, text);
}

static void say_none(struct answering *a, const char *why, const char *next) {
  a->to->state = ANSWER_NONE;
  a->to->why = why;
  a->to->next = next;
  a->to->sentence = arena_printf(a->arena, "No answer yet: %s.", why);
}

static const char *value_text(struct answering *a, double value, double low, double high, const char *unit) {
  struct buffer text;
  buffer_init(&text, 4096);
  figure_put(value, low, high, unit, &text);
  const char *ret = arena_copy(a->arena, text.data);
  buffer_release(&text);
  return ret;
}

static const char *figure_words(struct answering *a, const struct summary_figure *f) {
  return value_text(a, f->value, f->low, f->high, f->unit);
}

static const char *rate_words(struct answering *a, double rate_per_s) {
  return value_text(a, rate_per_s, NAN, NAN, "requests/s");
}

static const char *duration_words(struct answering *a, double ns) {
  char text[48];
  return arena_copy(a->arena, isfinite(ns) ? number_duration_text(text, sizeof text, ns) : "not known");
}

/* "time to first token" */
static const char *metric_words(struct answering *a, enum metric metric) {
  char *text = arena_copy(a->arena, metric_text(metric));
  for (char *c = text; *c != 0; c++)
    if (*c == '_') *c = ' ';
  return text;
}

/* "at 20 requests/s", "with 16 in flight"; "" */
static const char *load_words(struct answering *a) {
  const struct contract *c = a->contract;
  if (c == NULL) return "";
  switch (c->regime.load) {
    case LOAD_SINGLE_STREAM: return ", one request at a time";
    case LOAD_CLIMB: return arena_printf(a->arena, ", with %lld in flight", (long long)a->p->knee);
    case LOAD_CLOSED:
    case LOAD_CONVERSATIONS: return arena_printf(a->arena, ", with %lld in flight", (long long)c->regime.concurrency);
    case LOAD_CONSTANT:
    case LOAD_POISSON:
    case LOAD_BURSTY: return arena_printf(a->arena, ", at %s", rate_words(a, c->regime.rate_per_s));
    case LOAD_SATURATION: return isfinite(a->p->passing) ? arena_printf(a->arena, ", at %s", rate_words(a, a->p->passing)) : "";
    default: return "";
  }
}

/* --- figures --- */

static const struct summary_figure *throughput_of(const struct summary_precision *p) {
  const struct summary_figure *tokens = summary_figure_named(p, "output throughput");
  return tokens != NULL ? tokens : summary_figure_named(p, "request throughput");
}

static bool is_claimed(const struct summary_precision *p) {
  return p->left_out == NULL && p->no_claim == NULL;
}

/* The first that supports a claim; else the first with figures; else the first. */
static const struct summary_precision *precision_asked(const struct summary *s) {
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++)
    if (is_claimed(&s->precisions[i])) return &s->precisions[i];
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++)
    if (s->precisions[i].left_out == NULL) return &s->precisions[i];
  return s != NULL && s->n_precisions > 0 ? &s->precisions[0] : NULL;
}

/* The figure that the operating target names first. */
static const struct summary_figure *headline_of(struct answering *a, const struct summary_precision *p) {
  if (a->contract == NULL || contract_target(a->contract) != TARGET_LATENCY) return throughput_of(p);
  const struct contract_slo *slo = a->contract->slo.items;
  const struct summary_figure *f = NULL;
  if (a->contract->slo.n_items > 0) {
    const char *metric = slo->metric == METRIC_INTER_TOKEN_LATENCY ? "inter-token latency" : metric_words(a, (enum metric)slo->metric);
    f = summary_figure_named(p, arena_printf(a->arena, "%s, p%g", metric, 100 * slo->quantile));
  }
  if (f == NULL) f = summary_figure_named(p, "time to first token, p50");
  if (f == NULL) f = summary_figure_named(p, "end to end, p50");
  return f != NULL ? f : throughput_of(p);
}

static bool is_missed(const struct summary_objective *o) {
  return o->verdict == OBJECTIVE_FAILS || o->verdict == OBJECTIVE_NOT_MET;
}

static bool is_kept(const struct summary_objective *o) {
  return o->verdict == OBJECTIVE_HOLDS;
}

/* The one that says most: missed, then not decided, or met by the estimate alone. NULL: there is none. */
static const struct summary_objective *worst_objective(const struct summary_precision *p) {
  const struct summary_objective *worst = NULL;
  int badness = -1;
  for (size_t i = 0; p != NULL && i < p->n_objectives; i++) {
    const struct summary_objective *o = &p->objectives[i];
    int bad = is_missed(o) ? 2 : is_kept(o) ? 0 : 1;
    if (bad > badness) badness = bad, worst = o;
  }
  return worst;
}

/* "time to first token p99 is 180 ms (at most 200 ms)" */
static const char *objective_words(struct answering *a, const struct summary_objective *o) {
  return arena_printf(a->arena, "%s p%g is %s (at most %s)", metric_words(a, o->metric), 100 * o->quantile, duration_words(a, o->value),
                      duration_words(a, o->at_most_ns));
}

/* The contract's price for a million of what the throughput counts. */
static bool cost_of(struct answering *a, const struct summary_precision *p, struct interval *ret) {
  const struct summary_figure *f = throughput_of(p);
  if (a->contract == NULL || !contract_states(a->contract, "cost") || f == NULL || !(f->value > 0)) return false;
  double price = a->contract->cost.price_per_hour * 1e6 / 3600;
  *ret = (struct interval){.estimate = price / f->value, .low = price / f->high, .high = price / f->low, .bounded = f->low > 0};
  return true;
}

/* Three digits that count, as of money. */
static const char *money_words(struct answering *a, double value) {
  int decimals = 0;
  double x = fabs(value);
  while (x > 0 && x < 100 && decimals < 9) {
    x *= 10;
    decimals++;
  }
  return arena_printf(a->arena, "%.*f", decimals, value);
}

static const char *cost_words(struct answering *a, const struct interval *cost) {
  const char *currency = a->contract->cost.currency;
  return cost->bounded ? arena_printf(a->arena, "%s %s [%s, %s]", currency, money_words(a, cost->estimate), money_words(a, cost->low),
                                      money_words(a, cost->high))
                       : arena_printf(a->arena, "%s %s", currency, money_words(a, cost->estimate));
}

static const char *million_words(const struct summary_precision *p) {
  return summary_figure_named(p, "output throughput") != NULL ? "per million output tokens" : "per million requests";
}

/* --- the rules: one for each kind of question --- */

/* Is there a claim to answer from? Else it says so. */
static bool is_answerable(struct answering *a) {
  if (a->p == NULL) say_none(a, "nothing is measured", "lynxbench run CONTRACT");
  else if (!is_claimed(a->p))
    say_none(a, a->p->left_out != NULL ? a->p->left_out : a->p->no_claim,
             arena_printf(a->arena, "lynxbench show %s --claim", a->from->file));
  return a->p != NULL && is_claimed(a->p);
}

static void put_objectives(struct answering *a, struct buffer *out) {
  const struct summary_precision *p = a->p;
  const struct summary_objective *worst = worst_objective(p);
  size_t n = 0;
  for (size_t i = 0; i < p->n_objectives; i++) {
    const struct summary_objective *o = &p->objectives[i];
    if (is_missed(worst) != is_missed(o)) continue;
    (void)buffer_printf(out, "%s%s", n++ > 0 ? "; " : "", objective_words(a, o));
  }
}

static void answer_how_fast(struct answering *a) {
  if (!is_answerable(a)) return;
  const struct summary_objective *worst = worst_objective(a->p);
  const struct summary_figure *f = headline_of(a, a->p), *rate = throughput_of(a->p);
  const char *first = f != NULL ? arena_printf(a->arena, "%s %s", f->name, figure_words(a, f)) : "";
  if (worst == NULL && f == NULL) {
    say_none(a, "it has no figure that its sample can bound", "more sessions (method.sessions), or longer ones (method.counted)");
    return;
  }
  if (worst == NULL) {
    const char *other = f != rate && rate != NULL ? arena_printf(a->arena, "; %s %s", rate->name, figure_words(a, rate)) : "";
    say(a, "%s%s%s.", first, other, load_words(a));
    return;
  }
  struct buffer text;
  buffer_init(&text, 4096);
  put_objectives(a, &text);
  const char *lead = contract_target(a->contract) == TARGET_LATENCY || f == NULL ? "" : arena_printf(a->arena, "%s; ", first);
  const char *verb = "it holds its objectives";
  if (is_missed(worst)) verb = "it misses its objective";
  else if (worst->verdict == OBJECTIVE_MET) verb = "it meets its objectives by the estimate, not for sure";
  else if (!is_kept(worst)) verb = "whether it holds its objective is not decided";
  else if (a->p->n_objectives == 1) verb = "it holds its objective";
  say(a, "%s%s: %s%s.", lead, verb, text.data, load_words(a));
  buffer_release(&text);
}

/* A climb that ended where it had to has no knee. */
static bool is_climbed_out(const struct answering *a) {
  return a->contract != NULL && a->p->knee >= a->contract->regime.concurrency;
}

static void answer_climbed(struct answering *a) {
  const struct summary_figure *requests = summary_figure_named(a->p, "request throughput");
  const struct summary_objective *worst = worst_objective(a->p);
  if (requests == NULL) say_none(a, "the climb has no throughput", "");
  else if (worst != NULL && !is_kept(worst))
    say(a, "Less than %s: with %lld in flight, %s.", figure_words(a, requests), (long long)a->p->knee, objective_words(a, worst));
  else if (is_climbed_out(a))
    say(a, "At least %s, with %lld in flight, the most that were allowed. The limit was not found.", figure_words(a, requests),
        (long long)a->p->knee);
  else say(a, "%s, with %lld in flight: more in flight bring less than 5 %% more.", figure_words(a, requests), (long long)a->p->knee);
}

/* Are as many answered as come? */
static bool keeps_up(const struct answering *a) {
  const struct summary_figure *requests = summary_figure_named(a->p, "request throughput");
  return requests != NULL && (isfinite(requests->high) ? requests->high : requests->value) >= 0.97 * a->contract->regime.rate_per_s;
}

static void answer_offered(struct answering *a) {
  const struct summary_objective *worst = worst_objective(a->p);
  const struct summary_figure *requests = summary_figure_named(a->p, "request throughput");
  const char *offered = rate_words(a, a->contract->regime.rate_per_s);
  if (requests == NULL || worst == NULL) say_none(a, "no load was searched, and no objective says what is too much", "load: saturation");
  else if (!keeps_up(a)) say(a, "Less than the %s that were offered: %s were answered.", offered, figure_words(a, requests));
  else if (is_missed(worst)) say(a, "Less than the %s that were offered: %s.", offered, objective_words(a, worst));
  else if (is_kept(worst)) say(a, "At least the %s that were offered: %s. More was not tried.", offered, objective_words(a, worst));
  else
    say_none(a, arena_printf(a->arena, "at the %s that were offered it is not sure that %s", offered, objective_words(a, worst)),
             "more sessions (method.sessions)");
}

static void answer_how_many(struct answering *a) {
  const struct contract *c = a->contract;
  const char *lacks = c != NULL ? question_kind_lacks(c, QUESTION_HOW_MANY) : "its words";
  bool passing = a->p != NULL && isfinite(a->p->passing), failing = a->p != NULL && isfinite(a->p->failing);
  if (lacks != NULL) {
    say_none(a, arena_printf(a->arena, "the contract asks how many, and lacks %s", lacks), "load: saturation");
    return;
  }
  if (!is_answerable(a)) {
    if (!passing && failing)
      a->to->sentence = arena_printf(a->arena, "Not certified: no load was sustained; %s, the least that failed, were too much.",
                                     rate_words(a, a->p->failing));
    if (passing && failing)
      a->to->sentence = arena_printf(a->arena, "Not certified: %s were sustained, %.4g were not; the limit is in between (%s).",
                                     rate_words(a, a->p->passing), a->p->failing, a->p->no_claim != NULL ? a->p->no_claim : a->p->left_out);
    return;
  }
  if (passing && failing) say(a, "At least %s. %.4g is too much; the limit is in between.", rate_words(a, a->p->passing), a->p->failing);
  else if (passing) say(a, "At least %s: the greatest load that was tried. The limit was not found.", rate_words(a, a->p->passing));
  else if (a->p->knee > 0) answer_climbed(a);
  else answer_offered(a);
}

/* "5.8 times [5.1, 6.8]" */
static const char *factor_words(struct answering *a, double ratio, double low, double high) {
  int decimals = ratio < 10 ? 2 : ratio < 100 ? 1 : 0;
  return arena_printf(a->arena, "%.*f times [%.*f, %.*f]", decimals, ratio, decimals, low, decimals, high);
}

static void answer_better(struct answering *a) {
  if (a->from->before == NULL) {
    if (a->p != NULL && a->p->left_out == NULL && throughput_of(a->p) != NULL)
      say_none(a, arena_printf(a->arena, "one run has no before and after (it measured %s)", figure_words(a, throughput_of(a->p))),
               arena_printf(a->arena, "lynxbench compare BEFORE.lynx %s", a->from->file));
    else (void)is_answerable(a);
    return;
  }
  struct effect_measured *e = arena_alloc(a->arena, 1, sizeof *e);
  effect_measure(a->from->before, a->from->summary, a->from->interleaved, a->contract, e);
  a->to->effect = e;
  const char *first = e->name[0] != 0 ? factor_words(a, e->ratio, e->low, e->high) : "";
  const char *factor = arena_printf(a->arena, "%s is %s what it was", e->name, first);
  if (e->figure[0] != 0 && strcmp(e->figure, e->name) != 0) /* what decided is told first */
    factor = arena_printf(a->arena, "%s is %s what it was (%s: %s)", e->figure,
                          factor_words(a, e->figure_ratio, e->figure_low, e->figure_high), e->name, first);
  switch (e->effect) {
    case EFFECT_IMPROVED: say(a, "Yes: %s.", factor); break;
    case EFFECT_WORSE: say(a, "No, it got worse: %s.", factor); break;
    case EFFECT_NONE: say(a, "No: it is the same within the margin; %s.", factor); break;
    default: say_none(a, e->why, "lynxbench compare BEFORE.yaml AFTER.yaml, which runs both in turn");
  }
}

/* What was promised and was not kept: one tile's words; NULL: nothing. */
static const struct answer_tile *missed_promise(const struct answering *a) {
  for (int i = 0; i < ANSWER_TILES; i++)
    if (a->to->tiles[i].state == TILE_MISSED) return &a->to->tiles[i];
  return NULL;
}

/* A promise that nothing decides; NULL: none. */
static const struct answer_tile *open_promise(const struct answering *a) {
  static const int promises[] = {TILE_CAPACITY, TILE_COST};
  for (size_t i = 0; i < LYNX_COUNT(promises); i++)
    if (a->to->tiles[promises[i]].state == TILE_UNKNOWN) return &a->to->tiles[promises[i]];
  return NULL;
}

/* "KEY (OWNER): expected 'A', found 'B'" as "KEY is 'B'; 'A' was ordered (OWNER)"; of another form: as it is. */
static const char *departure_words(struct answering *a, const char *text) {
  const char *open = strstr(text, " ("), *close = open != NULL ? strstr(open, "): expected ") : NULL;
  const char *found = close != NULL ? strstr(close, ", found ") : NULL;
  if (found == NULL) return text;
  const char *expected = close + strlen("): expected ");
  return arena_printf(a->arena, "%.*s is %s; %.*s was ordered (%.*s)", (int)(open - text), text, found + strlen(", found "),
                      (int)(found - expected), expected, (int)(close - open - 2), open + 2);
}

static void answer_as_ordered(struct answering *a) {
  const struct summary *s = a->from->summary;
  const char *lacks = a->contract != NULL ? question_kind_lacks(a->contract, QUESTION_AS_ORDERED) : NULL;
  const struct answer_tile *missed = missed_promise(a);
  if (lacks != NULL) say_none(a, arena_printf(a->arena, "the contract does not say %s", lacks), "lynxbench capture");
  else if (s == NULL || a->p == NULL) say_none(a, "nothing is measured", "lynxbench run CONTRACT");
  else if (s->n_departures > 0)
    say(a, "No: %s%s", departure_words(a, s->departures[0]),
        s->n_departures > 1
            ? arena_printf(a->arena, "; %zu more of %lld ordered facts differ.", s->n_departures - 1, (long long)s->n_expected)
            : ".");
  else if (missed != NULL) say(a, "No: %s was promised as %s, and is %s.", missed->name, missed->promised, missed->measured);
  else if (!is_answerable(a)) return;
  else if (open_promise(a) != NULL) {
    const struct answer_tile *t = open_promise(a);
    const char *known = t->measured[0] != 0 ? arena_printf(a->arena, "%s does not decide it", t->measured) : "was not measured";
    say_none(a, arena_printf(a->arena, "%s was promised as %s, and %s", t->name, t->promised, known), t->next);
    if (s->n_expected > 0) a->to->sentence = arena_printf(a->arena, "Not decided: the ordered facts were found; %s.", a->to->why);
  } else if (s->n_expected > 0)
    say(a, "Yes: %s, by what this system reports of itself.",
        s->n_expected == 1 ? "the ordered fact was found"
                           : arena_printf(a->arena, "all %lld ordered facts were found", (long long)s->n_expected));
  else say(a, "Yes: what was promised was measured.");
  if (a->to->state == ANSWER_MEASURED && (s->n_departures > 0 || missed != NULL)) a->to->state = ANSWER_NOT_AS_ORDERED;
}

static void answer_cost(struct answering *a) {
  struct interval cost;
  const char *lacks = a->contract != NULL ? question_kind_lacks(a->contract, QUESTION_COST) : "a price (cost.price_per_hour)";
  if (lacks != NULL) {
    say_none(a, arena_printf(a->arena, "the contract asks for a cost, and lacks %s", lacks), "cost: {price_per_hour, currency}");
    return;
  }
  if (!is_answerable(a)) return;
  if (!cost_of(a, a->p, &cost)) {
    say_none(a, "the run has no throughput", "");
    return;
  }
  const struct summary_objective *worst = worst_objective(a->p);
  const struct answer_tile *promised = &a->to->tiles[TILE_COST];
  const char *broken = promised->state == TILE_MISSED ? arena_printf(a->arena, "; promised was %s", promised->promised) : "";
  const char *missed = worst != NULL && is_missed(worst)
                           ? arena_printf(a->arena, "; it misses its objective: %s", objective_words(a, worst))
                           : "";
  say(a, "%s %s, at %s %.6g an hour%s%s%s.", cost_words(a, &cost), million_words(a->p), a->contract->cost.currency,
      a->contract->cost.price_per_hour, load_words(a), broken, missed);
}

/* Is the first better than the second beyond what both intervals leave open? */
static bool is_separated(const struct summary_figure *best, const struct summary_figure *other) {
  return best->better == BETTER_MORE ? best->low > other->high : best->high < other->low;
}

static bool is_better(const struct summary_figure *f, const struct summary_figure *than) {
  return f->better == BETTER_MORE ? f->value > than->value : f->value < than->value;
}

/* Speed that misses an objective, or the gate, is not asked for. */
static bool is_candidate(const struct summary_precision *p) {
  const struct summary_objective *worst = worst_objective(p);
  return is_claimed(p) && p->gate != ACCURACY_FAILS && (worst == NULL || !is_missed(worst));
}

/* "; bf16 misses its objective: ..." */
static const char *left_out_words(struct answering *a) {
  const struct summary *s = a->from->summary;
  const char *text = "";
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++) {
    const struct summary_precision *p = &s->precisions[i];
    const struct summary_objective *worst = worst_objective(p);
    if (is_candidate(p)) continue;
    if (!is_claimed(p)) text = arena_printf(a->arena, "%s; %s supports no claim", text, p->name);
    else if (p->gate == ACCURACY_FAILS) text = arena_printf(a->arena, "%s; %s fails the gate for accuracy", text, p->name);
    else if (worst != NULL) text = arena_printf(a->arena, "%s; %s misses its objective: %s", text, p->name, objective_words(a, worst));
  }
  return text;
}

static void answer_which(struct answering *a) {
  const struct summary *s = a->from->summary;
  const struct summary_precision *best = NULL, *second = NULL;
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++) {
    const struct summary_precision *p = &s->precisions[i];
    const struct summary_figure *f = is_candidate(p) ? headline_of(a, p) : NULL;
    if (f == NULL) continue;
    if (best == NULL || is_better(f, headline_of(a, best))) second = best, best = p;
    else if (second == NULL || is_better(f, headline_of(a, second))) second = p;
  }
  const char *others = left_out_words(a);
  if (best == NULL) {
    if (is_answerable(a)) say(a, "None: %s.", others[0] != 0 ? others + 2 : "there is no figure");
    return;
  }
  if (second == NULL && s->n_precisions > 1) {
    const struct summary_figure *only = headline_of(a, best);
    a->p = best;
    say(a, "%s%s: %s %s%s.", best->name, load_words(a), only->name, figure_words(a, only), others);
    return;
  }
  if (second == NULL) {
    say_none(a, "one run of one precision has nothing beside it", arena_printf(a->arena, "lynxbench compare A.lynx %s", a->from->file));
    return;
  }
  const struct summary_figure *f = headline_of(a, best), *other = headline_of(a, second);
  a->p = best;
  if (is_separated(f, other))
    say(a, "%s%s: %s %s; %s comes next with %s%s.", best->name, load_words(a), f->name, figure_words(a, f), second->name,
        figure_words(a, other), others);
  else {
    say_none(a, arena_printf(a->arena, "the intervals of %s and %s overlap", best->name, second->name),
             "more sessions (method.sessions), or longer ones (method.counted)");
    a->to->sentence = arena_printf(a->arena, "Not decided: %s %s at %s, %s at %s.", f->name, figure_words(a, f), best->name,
                                   figure_words(a, other), second->name);
  }
}

static void answer_limit(struct answering *a) {
  const struct answer_finding *f = a->from->finding;
  if (f == NULL) {
    say_none(a, "figures name no cause", arena_printf(a->arena, "lynxbench attribute %s", a->from->file));
    return;
  }
  if (!f->confirmed) {
    say_none(a, arena_printf(a->arena, "%s (%s) is %s, and no experiment has confirmed it", f->title, f->whose, f->rung),
             arena_printf(a->arena, "lynxbench confirm %s", a->from->file));
    a->to->sentence = arena_printf(a->arena, "Not confirmed yet: %s. Whose: %s. It is %s; no experiment has tested it.", f->title, f->whose,
                                   f->rung);
    return;
  }
  say(a, "%s. Whose: %s. It was %s by an experiment.", f->title, f->whose, f->rung);
}

/* How many bits a name says: of what is not known, 0. */
static int bits_of(const char *name) {
  static const struct {
    const char *name;
    int bits;
  } known[] = {{"f64", 64}, {"fp64", 64}, {"f32", 32},     {"fp32", 32},     {"float32", 32}, {"tf32", 19}, {"bf16", 16},
               {"f16", 16}, {"fp16", 16}, {"float16", 16}, {"bfloat16", 16}, {"fp8", 8},      {"f8", 8},    {"int8", 8},
               {"w8a8", 8}, {"fp4", 4},   {"nvfp4", 4},    {"int4", 4},      {"w4a16", 4}};
  for (size_t i = 0; i < LYNX_COUNT(known); i++)
    if (strcasecmp(name, known[i].name) == 0) return known[i].bits;
  return 0;
}

static bool is_higher(const char *name, const char *reference) {
  return bits_of(name) > 0 && bits_of(reference) > 0 && bits_of(name) > bits_of(reference);
}

enum gain { GAIN_UNKNOWN, GAIN_NONE, GAIN_SURE };

/* What a precision brings beside the reference, by the figure that the target names first. */
static enum gain gain_of(struct answering *a, const struct summary_precision *p, const struct summary_precision *reference) {
  const struct summary_figure *f = is_claimed(p) ? headline_of(a, p) : NULL, *other = reference != NULL ? headline_of(a, reference) : NULL;
  if (f == NULL || other == NULL || strcmp(f->name, other->name) != 0) return GAIN_UNKNOWN;
  return is_better(f, other) && is_separated(f, other) ? GAIN_SURE : GAIN_NONE;
}

/* "int8 keeps 99.7 % of f32's accuracy (at least 99 % is asked), and its output throughput is ... instead of ..." */
static void put_gate(struct answering *a, const struct summary_precision *p, const struct summary_precision *reference,
                     struct buffer *out) {
  const struct summary_objective *worst = worst_objective(p);
  (void)buffer_printf(out, "%s keeps %.4g %% of %s's accuracy (at least %.4g %% is asked)", p->name, 100 * p->accuracy_ratio,
                      a->contract->accuracy.reference, 100 * a->contract->accuracy.at_least_ratio);
  if (p->gate == ACCURACY_PASSES && worst != NULL && is_missed(worst))
    (void)buffer_printf(out, ", and misses its objective: %s", objective_words(a, worst));
  enum gain gain = p->gate == ACCURACY_PASSES ? gain_of(a, p, reference) : GAIN_UNKNOWN;
  if (gain == GAIN_UNKNOWN) return;
  const struct summary_figure *f = headline_of(a, p);
  (void)buffer_printf(out, gain == GAIN_SURE ? ", and its %s is %s instead of %s" : ". No gain is shown: %s %s instead of %s", f->name,
                      figure_words(a, f), figure_words(a, headline_of(a, reference)));
}

static void answer_precision(struct answering *a) {
  const struct summary *s = a->from->summary;
  const char *lacks = a->contract != NULL ? question_kind_lacks(a->contract, QUESTION_PRECISION) : "its words";
  if (lacks != NULL) {
    say_none(a, arena_printf(a->arena, "the contract asks for a lower precision, and lacks %s", lacks), "lynxbench decide --precision");
    return;
  }
  const char *name = a->contract->accuracy.reference;
  const struct summary_precision *reference = summary_precision_named(s, name);
  struct buffer text;
  size_t n = 0, n_passing = 0;
  buffer_init(&text, 8192);
  (void)buffer_text(&text, "");
  for (int round = 0; round < 2; round++) /* those that pass come first */
    for (size_t i = 0; s != NULL && i < s->n_precisions; i++) {
      const struct summary_precision *p = &s->precisions[i];
      if (strcmp(p->name, name) == 0 || is_higher(p->name, name) || p->gate != (round == 0 ? ACCURACY_PASSES : ACCURACY_FAILS)) continue;
      (void)buffer_text(&text, n++ > 0 ? "; " : "");
      if (round == 1 && n_passing > 0) (void)buffer_text(&text, "not ");
      put_gate(a, p, reference, &text);
      n_passing += p->gate == ACCURACY_PASSES;
    }
  if (n == 0 && is_answerable(a)) say_none(a, "no lower precision than the reference has a known accuracy", "");
  else if (n > 0) say(a, "%s: %s.", n_passing > 0 ? "Yes" : "No", text.data);
  buffer_release(&text);
}

/* --- tiles --- */

static const char *ordered_words(struct answering *a, int64_t n) {
  return arena_printf(a->arena, "%lld fact%s", (long long)n, LYNX_S(n));
}

static bool is_offered(const struct contract *c) {
  return c->regime.load == LOAD_CONSTANT || c->regime.load == LOAD_POISSON || c->regime.load == LOAD_BURSTY;
}

static void tile_capacity(struct answering *a, struct answer_tile *t) {
  const struct contract *c = a->contract;
  const struct summary_precision *p = a->p;
  bool asked = c != NULL && contract_states(c, "targets.requests_per_s");
  double promised = asked ? c->targets.requests_per_s : NAN;
  t->name = "capacity";
  if (asked) t->promised = rate_words(a, promised);
  if (p == NULL || !is_claimed(p)) {
    t->state = asked ? TILE_UNKNOWN : TILE_NOT_ASKED;
    return;
  }
  const struct summary_figure *requests = summary_figure_named(p, "request throughput");
  double low = NAN, high = NAN; /* between which the capacity lies */
  if (isfinite(p->passing)) {
    low = p->passing, high = p->failing;
    t->measured = isfinite(high) ? arena_printf(a->arena, "at least %s; %.4g is too much", rate_words(a, low), high)
                                 : arena_printf(a->arena, "at least %s", rate_words(a, low));
  } else if (p->knee > 0 && requests != NULL) {
    const struct summary_objective *worst = worst_objective(p);
    bool held = worst == NULL || is_kept(worst), out = is_climbed_out(a);
    low = held ? requests->low : NAN, high = held && out ? NAN : requests->high;
    t->measured = arena_printf(a->arena, "%s%s", !held ? "less than " : out ? "at least " : "", figure_words(a, requests));
  } else if (c != NULL && is_offered(c) && worst_objective(p) != NULL && is_kept(worst_objective(p)) && keeps_up(a)) {
    low = c->regime.rate_per_s;
    t->measured = arena_printf(a->arena, "at least %s", rate_words(a, low));
  } else t->next = "load: saturation";
  if (!asked) t->state = TILE_NOT_ASKED;
  else if (low >= promised) t->state = TILE_KEPT;
  else if (high <= promised) t->state = TILE_MISSED;
  else t->state = TILE_UNKNOWN;
}

static void tile_latency(struct answering *a, struct answer_tile *t) {
  const struct contract *c = a->contract;
  const struct summary_precision *p = a->p;
  const struct summary_objective *worst = worst_objective(p);
  const struct contract_slo *slo = c != NULL ? c->slo.items : NULL;
  t->name = "latency";
  t->asks = "objective";
  t->state = TILE_NOT_ASKED;
  if (worst != NULL) {
    t->promised = arena_printf(a->arena, "%s p%g at most %s", metric_words(a, worst->metric), 100 * worst->quantile,
                               duration_words(a, worst->at_most_ns));
    t->measured = isfinite(worst->value) ? value_text(a, worst->value, worst->low, worst->high, "ns") : "not known";
    t->state = is_missed(worst) ? TILE_MISSED : is_kept(worst) && is_claimed(p) ? TILE_KEPT : TILE_UNKNOWN;
    if (p->n_objectives > 1 && is_kept(worst))
      t->measured = arena_printf(a->arena, "%s; all %zu objectives hold", t->measured, p->n_objectives);
  } else if (c != NULL && c->slo.n_items > 0) {
    t->promised = arena_printf(a->arena, "%s p%g at most %s", metric_words(a, (enum metric)slo->metric), 100 * slo->quantile,
                               duration_words(a, (double)slo->at_most_ns));
    t->state = TILE_UNKNOWN;
  } else {
    const struct summary_figure *f = summary_figure_named(p, "time to first token, p50");
    if (f == NULL) f = summary_figure_named(p, "end to end, p50");
    if (f != NULL) t->measured = arena_printf(a->arena, "%s %s", f->name, figure_words(a, f));
  }
}

static void tile_cost(struct answering *a, struct answer_tile *t) {
  const struct contract *c = a->contract;
  struct interval cost;
  bool asked = c != NULL && contract_states(c, "targets.cost_per_million");
  t->name = summary_figure_named(a->p, "output throughput") != NULL || a->p == NULL ? "cost per million output tokens"
                                                                                    : "cost per million requests";
  t->state = asked ? TILE_UNKNOWN : TILE_NOT_ASKED;
  if (asked)
    t->promised = arena_printf(a->arena, "at most %s %.6g", c->cost.currency != NULL ? c->cost.currency : "", c->targets.cost_per_million);
  if (a->p == NULL || !is_claimed(a->p)) return;
  if (!cost_of(a, a->p, &cost)) {
    t->next = "cost: {price_per_hour, currency}";
    return;
  }
  t->measured = cost_words(a, &cost);
  if (!asked || !cost.bounded) return;
  if (cost.high <= c->targets.cost_per_million) t->state = TILE_KEPT;
  else if (cost.low > c->targets.cost_per_million) t->state = TILE_MISSED;
}

/* One is enough where its own certificate says so. How many more would take is no division. */
static void tile_executors(struct answering *a, struct answer_tile *t) {
  const struct contract *c = a->contract;
  const struct summary_precision *p = a->p;
  t->name = "executors for the demand";
  t->asks = "demand";
  t->state = TILE_NOT_ASKED;
  if (c == NULL || !contract_states(c, "targets.demand_per_s")) return;
  t->promised = rate_words(a, c->targets.demand_per_s);
  t->state = TILE_NOT_COMPUTED;
  t->next = arena_printf(a->arena, "lynxbench decide fleet %s --rate %.6g", p != NULL && p->knee > 0 ? a->from->file : "CLIMB.lynx",
                         c->targets.demand_per_s);
  if (p == NULL || !is_claimed(p) || !isfinite(p->passing)) return;
  if (p->passing >= c->targets.demand_per_s) {
    t->measured = "1";
    t->state = TILE_KEPT;
    t->next = "";
  }
}

static void tile_ordered(struct answering *a, struct answer_tile *t) {
  const struct summary *s = a->from->summary;
  int64_t n = a->contract != NULL ? (int64_t)a->contract->executor.expect.n_items : s != NULL ? s->n_expected : 0;
  t->name = "ordered and found";
  t->asks = "ordered";
  t->state = n > 0 ? TILE_UNKNOWN : TILE_NOT_ASKED;
  if (n == 0) return;
  t->promised = ordered_words(a, n);
  if (s == NULL || a->p == NULL || s->n_expected == 0 || a->p->fingerprint[0] == 0) return; /* nothing was captured */
  t->state = s->n_departures > 0 ? TILE_MISSED : TILE_KEPT;
  t->measured = s->n_departures > 0 ? arena_printf(a->arena, "%zu of %lld differ%s", s->n_departures, (long long)s->n_expected,
                                                   s->n_departures == 1 ? "s" : "")
                                    : "all found";
}

static void make_tiles(struct answering *a) {
  static void (*const rules[ANSWER_TILES])(struct answering *, struct answer_tile *) = {[TILE_CAPACITY] = tile_capacity,
                                                                                        [TILE_LATENCY] = tile_latency,
                                                                                        [TILE_COST] = tile_cost,
                                                                                        [TILE_EXECUTORS] = tile_executors,
                                                                                        [TILE_ORDERED] = tile_ordered};
  for (int i = 0; i < ANSWER_TILES; i++) {
    a->to->tiles[i] = (struct answer_tile){.asks = "promised", .promised = "", .measured = "", .next = ""};
    rules[i](a, &a->to->tiles[i]);
  }
}

/* How fast, how many, at what cost: each precision has its own answer. */
static bool is_of_each(const struct answering *a) {
  const struct summary *s = a->from->summary;
  bool own = a->to->kind == QUESTION_HOW_FAST || a->to->kind == QUESTION_HOW_MANY || a->to->kind == QUESTION_COST;
  return own && s != NULL && s->n_precisions > 1;
}

static void answer_each(struct answering *a, void (*rule)(struct answering *)) {
  const struct summary_precision *asked = a->p;
  const struct summary *s = a->from->summary;
  const char *all = "", *why = "", *next = "";
  bool any = false;
  for (size_t i = 0; i < s->n_precisions; i++) {
    a->p = &s->precisions[i];
    rule(a);
    all = arena_printf(a->arena, "%s%s%s: %s", all, i > 0 ? " " : "", a->p->name, a->to->sentence);
    any = any || a->to->state != ANSWER_NONE;
    if (a->to->state == ANSWER_NONE) why = a->to->why, next = a->to->next;
  }
  a->p = asked;
  a->to->sentence = all;
  a->to->state = any ? ANSWER_MEASURED : ANSWER_NONE;
  a->to->why = any ? "" : why;
  a->to->next = any ? "" : next;
}

/* It begins with a capital, but where a precision's name begins it. */
static const char *begun(struct answering *a, const char *text) {
  char *sentence = arena_copy(a->arena, text);
  bool named = a->to->kind == QUESTION_WHICH || is_of_each(a);
  if (sentence[0] >= 'a' && sentence[0] <= 'z' && !named) sentence[0] = (char)(sentence[0] - 'a' + 'A');
  return sentence;
}

void answer_make(const struct answer_evidence *evidence, struct arena *arena, struct answer *ret) {
  static void (*const rules[QUESTION_KINDS])(struct answering *) = {
      [QUESTION_HOW_FAST] = answer_how_fast,     [QUESTION_HOW_MANY] = answer_how_many,  [QUESTION_BETTER] = answer_better,
      [QUESTION_AS_ORDERED] = answer_as_ordered, [QUESTION_COST] = answer_cost,          [QUESTION_WHICH] = answer_which,
      [QUESTION_LIMIT] = answer_limit,           [QUESTION_PRECISION] = answer_precision};
  const struct contract *c = evidence->contract;
  struct answering a = {.from = evidence, .contract = c, .p = precision_asked(evidence->summary), .arena = arena, .to = ret};
  *ret = (struct answer){.kind = c != NULL ? contract_asks(c) : QUESTION_HOW_FAST, .sentence = "", .why = "", .next = "", .precision = ""};
  ret->question = c != NULL && c->question != NULL ? c->question : question_kind_words(ret->kind);
  make_tiles(&a);
  const struct summary_precision *asked = a.p;
  if (is_of_each(&a)) answer_each(&a, rules[ret->kind]);
  else rules[ret->kind](&a);
  if (a.p != asked) make_tiles(&a); /* the rule chose another precision */
  ret->sentence = begun(&a, ret->sentence);
  if (a.p != NULL) ret->precision = a.p->name;
  if (ret->state == ANSWER_MEASURED && ret->tiles[TILE_ORDERED].state == TILE_MISSED) ret->state = ANSWER_NOT_AS_ORDERED;
}

void answer_of_result(struct result *r, struct answer *ret) {
  struct summary summary;
  summary_make(r, &summary);
  answer_make(&(struct answer_evidence){.contract = &r->contract, .summary = &summary, .file = "RUN.lynx"}, &r->arena, ret);
}

void answer_refuse(struct answer *answer, const char *why) {
  answer->state = ANSWER_NONE;
  answer->why = answer->sentence = why;
  answer->next = "";
}

void answer_write(const struct answer *answer, struct json_writer *json) {
  static const char *const names[ANSWER_TILES] = {"capacity", "latency", "cost_per_million", "executors", "ordered"};
  json_key(json, "answer");
  json_open_object(json);
  json_put_text(json, "question", answer->question);
  json_put_text(json, "kind", question_kind_text(answer->kind));
  json_put_text(json, "sentence", answer->sentence);
  json_put_text(json, "state", answer_state_text(answer->state));
  if (answer->why[0] != 0) json_put_text(json, "why", answer->why);
  if (answer->next[0] != 0) json_put_text(json, "next", answer->next);
  if (answer->precision[0] != 0) json_put_text(json, "precision", answer->precision);
  json_key(json, "tiles");
  json_open_object(json);
  for (int i = 0; i < ANSWER_TILES; i++) {
    const struct answer_tile *t = &answer->tiles[i];
    json_key(json, names[i]);
    json_open_object(json);
    json_put_text(json, "promised", t->promised[0] != 0 ? t->promised : NULL);
    json_put_text(json, "measured", t->measured[0] != 0 ? t->measured : NULL);
    json_put_text(json, "state", tile_state_text(t->state));
    if (t->next[0] != 0) json_put_text(json, "next", t->next);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}
