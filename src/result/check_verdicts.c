#include "result/check_verdicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "result/check_plan.h"
#include "result/rows.h"
#include "result/values.h"
#include "stats/compare.h"
#include "stats/special.h"

enum {
  FAILURES_LEAST = 5,
  ANSWERS_LEAST = 10,
  GAPS_LEAST = 3,
  FIRST_GAPS = 3,
  OTHERS_LEAST = 5,
  RECOUNTED_MOST = 1024,
  RECOUNTED_OF_SESSION = 64,
  RECOUNTED_LEAST = 4
};
static const double odd_share = 0.01, blank_share = 0.5, cached_ratio = 0.67, warm_ratio = 0.8, seed_margin = 0.1, apart_ratio = 4,
                    wait_ratio = 2, sooner_ratio = 2, recount_ratio = 1.05;

/* Answers that were counted again after the session, by a tokenizer.json or by the server's own route. */
enum { CLAIMED, COUNTED, EVIDENT, COUNTED_BY_FILE, EMPTY, RECOUNT_SERIES };
static const char *const recount_series[RECOUNT_SERIES] = {"answer.tokens_claimed", "answer.tokens_counted", "answer.tokens_evident",
                                                           "answer.tokens_counted_by_file", "answer.tokens_empty"};

struct rows {
  const struct contract *contract;
  double n_ok, n_short, n_untold, n_overstated, n_unheard, n_contradicting, choices;
  double n_blank, blank_wait_ns, blank_first_ns, blank_other_ns,
      n_blank_other; /* of answers that begin with what nobody can see: sums of gaps */
  double apart_first_ns,
      apart_behind_ns;              /* of answers with such a gap: sums of the times until the first text, and until what follows it */
  double n_apart, n_early, n_brief; /* one of the first gaps is like no other; and nothing can be seen before it; too few gaps to tell */
  /* ns: of good answers until the first token (or the end), and until the end; of failed ones until they failed, before the first token
   * and after it */
  struct values ok_wait, ok_whole, failed_wait, failed_midway;
  struct values fresh[2], repeated[2]; /* of a caching check: ln of the time until the first token, and from it to the end */
  bool caching;
  struct values inputs;                             /* of the present session */
  double recounted[RECOUNT_SERIES][RECOUNTED_MOST]; /* of an answer: NaN where there is none */
  int64_t recounted_from;                           /* where the present session's begin */
  bool repeats;                                     /* a prompt was asked twice in a session */
};

static int64_t text_bytes(const struct row *row) {
  int64_t n = 0;
  for (size_t i = 0; i < row->n_tokens; i++) n += row->tokens[i].n_bytes;
  return n;
}

/* More tokens than were asked for, or than bytes of text. Some tokens decode to nothing: what a model says after its end (which is asked
 * for by ignore_eos), and halves of a letter. Where an event came for each of them, that explains it; an answer that came whole cannot show
 * it. */
static void look_at_usage(struct rows *rows, const struct row *row) {
  const struct bundle_request *r = row->request;
  const struct contract_workload *w = &rows->contract->workload;
  bool fixed = w->output_distribution == LENGTH_FIXED && rows->contract->regime.load != LOAD_REPLAY;
  bool asked_more = fixed && (double)r->output_tokens > rows->choices * (double)w->output_tokens;
  bool beyond = r->output_tokens > text_bytes(row), told = (r->flags & ANSWER_EMPTY_TOKENS) != 0;
  bool silent = beyond && !(told && w->ignore_eos);
  bool may_be = !asked_more && (told || (w->ignore_eos && !w->stream));
  if (r->output_tokens < 0) return;
  rows->n_overstated += asked_more || (silent && !may_be);
  rows->n_unheard += silent && may_be;
}

/* A first token that was sent before the model had run is followed by the wait for the real one: one of the first gaps then resembles no
 * other of the answer (the second greatest of the others is taken: one stall later on hides nothing). A handover from one worker to another
 * after the prompt makes such a gap too; text that nobody can see before it has no such reason. And it comes sooner than what follows it: a
 * model that has read a prompt took longer for that than for a token. */
static void look_at_first_gaps(struct rows *rows, const struct row *row) {
  double first = 0, greatest = 0, second = 0, gap, begin = 0, rest = 0;
  size_t n = 0, n_other = 0, place = 0;
  int64_t before = -1, behind_ns = 0;
  for (size_t i = 0; i < row->n_tokens; i++) {
    if (!row_gap(row, i, &before, &gap)) continue;
    if (n < FIRST_GAPS && gap > first) first = gap, place = n, behind_ns = row->tokens[i].at_ns;
    *(n == 0 ? &begin : &rest) += gap;
    n++;
  }
  before = -1;
  for (size_t i = 0, at = 0; i < row->n_tokens; i++) {
    if (!row_gap(row, i, &before, &gap) || at++ == place) continue;
    n_other++;
    if (gap > greatest) second = greatest, greatest = gap;
    else if (gap > second) second = gap;
  }
  bool blank = (row->request->flags & ANSWER_BLANK_FIRST) != 0;
  double wait = (double)(row->request->first_token_ns - row->request->written_ns);
  bool apart = n >= GAPS_LEAST && first > sooner_ratio * wait && first > apart_ratio * (n_other >= OTHERS_LEAST ? second : greatest);
  if (blank && n > 1) {
    rows->n_blank++;
    rows->blank_wait_ns += wait;
    rows->blank_first_ns += begin;
    rows->blank_other_ns += rest;
    rows->n_blank_other += (double)(n - 1);
  }
  rows->n_brief += n < GAPS_LEAST && blank;
  rows->n_apart += apart;
  if (apart) {
    rows->apart_first_ns += (double)(row->request->first_token_ns - row->request->scheduled_ns);
    rows->apart_behind_ns += (double)(behind_ns - row->request->scheduled_ns);
  }
  rows->n_early += apart && blank;
}

/* Answers to one request: workload.options.extra_body may ask for several ({"n": 4}). */
static double choices_of(const struct contract *contract) {
  const struct text_map *options = &contract->workload.options;
  json_int_t n = 1;
  for (size_t i = 0; i < options->n_items; i++) {
    if (strcmp(options->keys[i], "extra_body") != 0) continue;
    json_t *extra = json_parse(options->values[i], strlen(options->values[i]), 1 << 20, NULL);
    if (json_is_integer(json_object_get(extra, "n"))) n = json_integer_value(json_object_get(extra, "n"));
    json_decref(extra);
  }
  return n > 1 ? (double)n : 1;
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct rows *rows = context;
  const struct bundle_request *r = row->request;
  int64_t until = r->first_token_ns >= 0 ? r->first_token_ns : r->end_ns;
  if (rows->caching && row->ok) {
    bool fresh = r->id >= CHECK_PROMPTS && r->id < 2 * CHECK_PROMPTS, repeated = r->id >= 2 * CHECK_PROMPTS && r->id < 3 * CHECK_PROMPTS;
    struct values *to = fresh ? rows->fresh : rows->repeated;
    if (!fresh && !repeated) return LYNX_OK;
    if (until > r->scheduled_ns) values_add(&to[0], special_log((double)(until - r->scheduled_ns)));
    int64_t from = r->first_token_ns >= 0 && r->first_token_ns < r->end_ns ? r->first_token_ns : r->scheduled_ns;
    if (r->end_ns > from) values_add(&to[1], special_log((double)(r->end_ns - from)));
    return LYNX_OK;
  }
  values_add(&rows->inputs, (double)r->input);
  if (!row->counted) return LYNX_OK;
  if (row->ok) {
    rows->n_ok++;
    rows->n_short += (r->flags & ANSWER_SHORT) != 0;
    rows->n_untold += r->output_tokens < 0;
    rows->n_contradicting += row->contradicts;
    look_at_usage(rows, row);
    look_at_first_gaps(rows, row);
    values_add(&rows->ok_wait, (double)(until - r->scheduled_ns));
    values_add(&rows->ok_whole, (double)(r->end_ns - r->scheduled_ns));
  } else if (r->outcome != OUTCOME_TIMEOUT && r->outcome != OUTCOME_UNFINISHED) /* those are ours */
    values_add(r->first_token_ns >= 0 ? &rows->failed_midway : &rows->failed_wait, (double)(r->end_ns - r->scheduled_ns));
  return LYNX_OK;
}

static enum lynx_status take_recount(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct rows *rows = context;
  (void)session;
  bool fits = at_ns >= 0 && at_ns < RECOUNTED_OF_SESSION && rows->recounted_from + at_ns < RECOUNTED_MOST;
  for (int k = 0; k < RECOUNT_SERIES && fits && value >= 0 && value <= UINT32_MAX; k++)
    if (strcmp(series, recount_series[k]) == 0) rows->recounted[k][rows->recounted_from + at_ns] = value;
  return LYNX_OK;
}

static void note_repeats(struct rows *rows) {
  quantile_sort(rows->inputs.at, rows->inputs.n);
  for (size_t i = 1; i < rows->inputs.n; i++) rows->repeats = rows->repeats || !(rows->inputs.at[i] > rows->inputs.at[i - 1]);
  rows->inputs.n = 0;
}

static void rows_release(struct rows *rows) {
  values_release(&rows->inputs);
  values_release(&rows->ok_wait);
  values_release(&rows->ok_whole);
  values_release(&rows->failed_wait);
  values_release(&rows->failed_midway);
  for (int i = 0; i < 2; i++) values_release(&rows->fresh[i]), values_release(&rows->repeated[i]);
}

static struct result_check decided(const char *name, bool good, const char *text) {
  return (struct result_check){name, text, good ? CHECK_PASSED : CHECK_FAILED};
}

static struct result_check undecided(const char *name, const char *text) {
  return (struct result_check){name, text, CHECK_NOT_DECIDED};
}

/* --- from the rows --- */

static struct result_check check_share(struct arena *arena, const char *name, double n_odd, double n, double bound, const char *what) {
  if (n < ANSWERS_LEAST) return undecided(name, "too few answers to tell");
  return decided(name, n_odd <= bound * n, arena_printf(arena, "%.0f of %.0f answers %s", n_odd, n, what));
}

/* Sums over answers that were counted again. What their text is, by the contract's tokenizer or by the server's own; a token that ends an
 * answer has no text, and past a model's end (where that was asked for) tokens have none: for each of those an event came. */
struct recounting {
  double n, claimed, counted;
};

static void recounting_add(struct recounting *r, double claimed, double counted) {
  r->n++;
  r->claimed += claimed;
  r->counted += counted;
}

static bool too_many(const struct recounting *r) {
  return r->claimed > recount_ratio * r->counted;
}

static struct result_check check_recount(struct arena *arena, const struct rows *rows, struct result_check otherwise) {
  const struct contract_workload *w = &rows->contract->workload;
  const char *file = w->prompts.tokenizer != NULL && strcmp(w->prompts.tokenizer, "server") != 0 ? w->prompts.tokenizer : NULL;
  bool by_file = false;
  for (int i = 0; i < RECOUNTED_MOST; i++) by_file = by_file || !isnan(rows->recounted[COUNTED_BY_FILE][i]);
  const double *counts = rows->recounted[by_file ? COUNTED_BY_FILE : COUNTED];
  const char *by = by_file && file != NULL ? file : by_file ? "a file" : "the server's own /tokenize";
  struct recounting all = {0}, unseen = {0}; /* unseen: usage says more than events with text came */
  for (int i = 0; i < RECOUNTED_MOST; i++) {
    double told = rows->recounted[CLAIMED][i], empty = rows->recounted[EMPTY][i];
    if (isnan(told) || isnan(counts[i])) continue;
    double count = counts[i] + (w->ignore_eos && !isnan(empty) ? empty : 0) + (told < (double)w->output_tokens ? 1 : 0);
    recounting_add(&all, told, count);
    if (told > rows->recounted[EVIDENT][i]) recounting_add(&unseen, told, count);
  }
  if (otherwise.verdict != CHECK_PASSED) return otherwise;
  if (all.n < RECOUNTED_LEAST)
    return undecided("usage", arena_printf(arena, "%s; but %.0f answers could be counted again by %.200s, and %d are needed%s",
                                           otherwise.text, all.n, file != NULL ? file : by, RECOUNTED_LEAST,
                                           file != NULL ? "" : ": workload.prompts.tokenizer may name the model's tokenizer.json"));
  const char *found = arena_printf(arena, "usage claims %.0f tokens for %.0f answers whose text is %.0f by %.200s", all.claimed, all.n,
                                   all.counted, by);
  if (unseen.n >= RECOUNTED_LEAST && too_many(&unseen) && (w->stream || !w->ignore_eos))
    return decided("usage", false,
                   arena_printf(arena, "%s (a model with random weights, whose tokens are not those of its text, shows the same)", found));
  if (too_many(&all))
    return undecided(
        "usage", arena_printf(arena, "%s; %s", found,
                              w->stream ? "as many events came, as they do where a model with random weights writes tokens that are not "
                                          "those of its text, or where events were cut in pieces"
                                        : "past a model's end (workload.ignore_eos) tokens hold no text, which a stream would show"));
  otherwise.text = arena_printf(arena, "%s; %.0f answers of %.0f tokens were counted again by %.200s: %.0f", otherwise.text, all.n,
                                all.claimed, by, all.counted);
  return otherwise;
}

static struct result_check check_usage(struct arena *arena, const struct rows *rows) {
  if (rows->n_contradicting > odd_share * rows->n_ok)
    return decided("usage", false,
                   arena_printf(arena, "%.0f of %.0f answers count other tokens with their events than in their last usage",
                                rows->n_contradicting, rows->n_ok));
  if (rows->n_overstated <= odd_share * rows->n_ok && rows->n_unheard > odd_share * rows->n_ok)
    return undecided("usage",
                     "answers claim more tokens than they have bytes of text; past a model's end (workload.ignore_eos) tokens may hold "
                     "none, which a stream would show");
  return check_recount(arena, rows,
                       check_share(arena, "usage", rows->n_overstated, rows->n_ok, odd_share,
                                   "claim more tokens than they have bytes of text, or than were asked for"));
}

/* Did they fail when nearly all good ones were past that point? */
static bool failed_late(struct values *good, struct values *failed, double *ret_soonest, double *ret_slow) {
  if (failed->n < FAILURES_LEAST) return false;
  quantile_sort(good->at, good->n);
  quantile_sort(failed->at, failed->n);
  *ret_slow = quantile_of(good->at, good->n, 0.95);
  *ret_soonest = quantile_of(failed->at, failed->n, 0.1);
  return *ret_soonest > *ret_slow;
}

/* A server that drops what would be slow: what failed without a first token is held against the good ones' wait for it, and what broke off
 * later against their ends. */
static struct result_check check_failures(struct arena *arena, struct rows *rows) {
  size_t n = rows->failed_wait.n + rows->failed_midway.n;
  char a[40], b[40];
  double soonest, slow;
  if (rows->n_ok < ANSWERS_LEAST) return undecided("failures", "too few answers to tell");
  if (n > 0 && rows->failed_wait.n < FAILURES_LEAST && rows->failed_midway.n < FAILURES_LEAST)
    return undecided("failures", arena_printf(arena, "%zu failed, %zu of them midway: %d of one kind are needed to tell when they do", n,
                                              rows->failed_midway.n, FAILURES_LEAST));
  if (failed_late(&rows->ok_wait, &rows->failed_wait, &soonest, &slow))
    return decided("failures", false,
                   arena_printf(arena,
                                "%zu failed before their first token; nine in ten of them had waited %s or longer for it, and 95 %% of the "
                                "good ones had it within %s",
                                rows->failed_wait.n, number_duration_text(a, sizeof a, soonest), number_duration_text(b, sizeof b, slow)));
  if (failed_late(&rows->ok_whole, &rows->failed_midway, &soonest, &slow))
    return decided("failures", false,
                   arena_printf(arena,
                                "%zu broke off after their first token; nine in ten of them had lasted %s or longer, and 95 %% of the good "
                                "ones were over within %s",
                                rows->failed_midway.n, number_duration_text(a, sizeof a, soonest),
                                number_duration_text(b, sizeof b, slow)));
  return decided("failures", true,
                 arena_printf(arena, "%zu failed, %zu of them midway; not later than good answers get as far", n, rows->failed_midway.n));
}

static struct result_check check_length(struct arena *arena, const struct contract *contract, const struct rows *rows) {
  if (!contract->workload.ignore_eos) return undecided("length", "the contract lets the model end when it wants (workload.ignore_eos)");
  if (rows->n_short <= odd_share * rows->n_ok && rows->n_untold > odd_share * rows->n_ok)
    return undecided("length",
                     arena_printf(arena, "%.0f of %.0f answers do not say how many tokens they have (usage)", rows->n_untold, rows->n_ok));
  return check_share(arena, "length", rows->n_short, rows->n_ok, odd_share, "are shorter than was asked for, although ignore_eos was");
}

/* Honest servers that hand a prompt over make such a gap, too, so that nobody is accused; but when the first token of the model came is not
 * known then, whether the check was asked for or not. */
static void doubt_first_token(const struct rows *rows, struct result_precision *p) {
  if (rows->n_ok < ANSWERS_LEAST || rows->n_apart <= blank_share * rows->n_ok) return;
  p->first_text_ns = rows->apart_first_ns / rows->n_apart;
  p->behind_gap_ns = rows->apart_behind_ns / rows->n_apart;
  for (size_t i = 0; i < p->n_objectives; i++)
    if (p->objectives[i].metric == METRIC_TIME_TO_FIRST_TOKEN) p->objectives[i].verdict = OBJECTIVE_DOUBTED;
}

static struct result_check check_first_token(struct arena *arena, const struct contract *contract, const struct rows *rows) {
  if (!contract->workload.stream) return undecided("first_token", "without a stream there is none");
  /* Where the real token's wait is short, no single answer shows it, and all of them together do. */
  bool enough = rows->n_ok >= ANSWERS_LEAST, blanks = enough && rows->n_blank > blank_share * rows->n_ok;
  double first = blanks ? rows->blank_first_ns / rows->n_blank : 0, other = blanks ? rows->blank_other_ns / rows->n_blank_other : 0;
  bool sooner = blanks && first > sooner_ratio * rows->blank_wait_ns / rows->n_blank;
  bool waits = sooner && first > wait_ratio * other, failed = rows->n_early > blank_share * rows->n_ok || waits;
  if (waits) {
    char a[40], b[40];
    return decided(
        "first_token", false,
        arena_printf(arena,
                     "%.0f of %.0f answers begin with a token that cannot be seen; the gap behind it is %s long on average, and the "
                     "others of these answers %s",
                     rows->n_blank, rows->n_ok, number_duration_text(a, sizeof a, first), number_duration_text(b, sizeof b, other)));
  }
  if (enough && !failed && rows->n_apart > blank_share * rows->n_ok)
    return undecided(
        "first_token",
        arena_printf(arena,
                     "in %.0f of %.0f answers one of the first gaps is more than four times as long as the others: tokens that are "
                     "sent before the model has run make such a gap; a handover from a worker that reads prompts to one that "
                     "writes does too",
                     rows->n_apart, rows->n_ok));
  if (enough && !failed && rows->n_brief > blank_share * rows->n_ok)
    return undecided("first_token",
                     arena_printf(arena,
                                  "%.0f of %.0f answers begin with a token that cannot be seen, and are too short to compare "
                                  "their gaps",
                                  rows->n_brief, rows->n_ok));
  return check_share(arena, "first_token", rows->n_early, rows->n_ok, blank_share,
                     "begin with a token that cannot be seen, followed by a gap like no other");
}

/* --- from sessions of their own --- */

static struct result_check compare_repeated(struct arena *arena, const char *name, const struct rows *rows, int part, double bound,
                                            const char *what) {
  const struct values *fresh = &rows->fresh[part], *repeated = &rows->repeated[part];
  if (fresh->n < CHECK_PROMPTS / 2 || repeated->n < CHECK_PROMPTS / 2)
    return undecided(name, "the check's session was too short: too few prompts were asked twice");
  struct shift shift = compare_shift(repeated->at, repeated->n, fresh->at, fresh->n, 0.95);
  return decided(name, !(shift.bounded && special_exp(shift.high) < bound),
                 arena_printf(arena, "a prompt asked again takes %.2g times as long %s [%.2g, %.2g]", special_exp(shift.estimate), what,
                              special_exp(shift.low), special_exp(shift.high)));
}

/* Repetition helps the first token; is that so in the workload too, and not in what it stands for? */
static struct result_check judge_prefix(struct arena *arena, const struct result_precision *p, const struct rows *rows,
                                        struct result_check found) {
  bool known = p->distance_known && p->distance.prefix_reuse <= 0.1;
  if (found.verdict != CHECK_FAILED || (rows->repeats && !known)) return found;
  return decided("prefix", true,
                 arena_printf(arena, "%s; but %s", found.text,
                              rows->repeats ? "the profile shares as much of its prompts" : "no prompt was asked twice in a session"));
}

static double figure_of(const struct result_session *s, int which) {
  return which == 0   ? s->at[METRIC_TIME_TO_FIRST_TOKEN][0]
         : which == 1 ? s->at[METRIC_TIME_PER_OUTPUT_TOKEN][0]
                      : s->at[METRIC_END_TO_END][0];
}

/* Slower than another session of the same would be: beyond the prediction interval, and a tenth. */
static struct result_check check_seed(struct arena *arena, const struct result_precision *p, const double other[3]) {
  static const char *const names[] = {"the median time to first token", "the median time per output token",
                                      "the median end-to-end latency"};
  const char *text = "too few sessions to tell";
  for (int which = 0; which < 3; which++) {
    double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t i = 0; i < p->n_sessions; i++)
      if (p->sessions[i].complete && figure_of(&p->sessions[i], which) > 0) sum += special_log(figure_of(&p->sessions[i], which)), n++;
    if (n < 2 || !(other[which] > 0) || isinf(other[which])) continue;
    double mean = sum / (double)n, beyond;
    for (size_t i = 0; i < p->n_sessions; i++)
      if (p->sessions[i].complete && figure_of(&p->sessions[i], which) > 0) {
        double d = special_log(figure_of(&p->sessions[i], which)) - mean;
        squares += d * d;
      }
    beyond = special_t_quantile(0.975, (double)(n - 1)) * sqrt(squares / (double)(n - 1) * (1 + 1 / (double)n)) +
             special_log(1 + seed_margin);
    double ratio = special_exp(special_log(other[which]) - mean);
    text = arena_printf(arena, "with other prompts and another seed %s is %.2g times as much", names[which], ratio);
    if (special_log(ratio) > beyond) return decided("seed", false, text);
  }
  return strcmp(text, "too few sessions to tell") == 0 ? undecided("seed", text) : decided("seed", true, text);
}

/* --- the whole --- */

static const struct bundle_session *session_for(const struct session_list *sessions, const char *precision, enum purpose purpose) {
  for (size_t i = 0; i < sessions->n_items; i++) {
    const struct bundle_session *s = &sessions->items[i];
    if (strcmp(s->precision, precision) == 0 && s->purpose == purpose && s->end == SESSION_COMPLETE) return s;
  }
  return NULL;
}

struct medians {
  struct row_terms terms;
  struct values values[3];
};

static enum lynx_status take_latencies(void *context, const struct row *row) {
  struct medians *m = context;
  static const enum metric metrics[] = {METRIC_TIME_TO_FIRST_TOKEN, METRIC_TIME_PER_OUTPUT_TOKEN, METRIC_END_TO_END};
  double ns;
  for (int i = 0; i < 3; i++)
    if (row->counted && row_latency(&m->terms, metrics[i], row, &ns)) values_add(&m->values[i], ns);
  return LYNX_OK;
}

static enum lynx_status medians_of(struct bundle *bundle, const struct result *result, const struct bundle_session *session, double ret[3],
                                   struct lynx_error *error) {
  struct medians m = {.terms = row_terms_of(bundle, &result->contract)};
  enum lynx_status status = rows_each(bundle, session->id, take_latencies, &m, error);
  for (int i = 0; i < 3; i++) {
    quantile_sort(m.values[i].at, m.values[i].n);
    ret[i] = m.values[i].n > 0 ? quantile_of(m.values[i].at, m.values[i].n, 0.5) : NAN;
    values_release(&m.values[i]);
  }
  return status;
}

enum lynx_status check_verdicts_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                      const struct session_list *sessions, struct lynx_error *error) {
  const struct contract *contract = &result->contract;
  struct arena *arena = &result->arena;
  struct rows rows = {.contract = contract, .choices = choices_of(contract)}, caching = {.contract = contract, .caching = true};
  double other[3] = {NAN, NAN, NAN};
  const struct bundle_session *cached = session_for(sessions, p->name, PURPOSE_CHECK_CACHING),
                              *seeded = session_for(sessions, p->name, PURPOSE_CHECK_SEED);
  enum lynx_status status = LYNX_OK;
  for (int k = 0; k < RECOUNT_SERIES; k++)
    for (int i = 0; i < RECOUNTED_MOST; i++) rows.recounted[k][i] = NAN;
  for (size_t i = 0; i < p->n_sessions && status == LYNX_OK; i++)
    if (p->sessions[i].complete) {
      status = rows_each(bundle, p->sessions[i].id, take_row, &rows, error);
      note_repeats(&rows);
      if (status == LYNX_OK) status = bundle_each_sample(bundle, p->sessions[i].id, take_recount, &rows, error);
      rows.recounted_from += RECOUNTED_OF_SESSION;
    }
  if (status == LYNX_OK && cached != NULL) status = rows_each(bundle, cached->id, take_row, &caching, error);
  if (status == LYNX_OK && seeded != NULL) status = medians_of(bundle, result, seeded, other, error);
  if (status == LYNX_OK) doubt_first_token(&rows, p);
  p->checks = arena_alloc(arena, contract->checks.n_items + 1, sizeof *p->checks);
  for (size_t i = 0; i < contract->checks.n_items && status == LYNX_OK && !p->unavailable; i++) {
    const char *name = contract->checks.items[i];
    struct result_check *c = &p->checks[p->n_checks++];
    bool of_tokens = strcmp(name, "failures") != 0;
    if (of_tokens && result->observed) p->n_checks--; /* of what was asked and of bytes of text, neither of which is ours */
    else if (of_tokens && rows.n_ok > 0 && !p->has_tokens) *c = undecided(name, "answers hold no tokens");
    else if (strcmp(name, "length") == 0) *c = check_length(arena, contract, &rows);
    else if (strcmp(name, "usage") == 0) *c = check_usage(arena, &rows);
    else if (strcmp(name, "first_token") == 0) *c = check_first_token(arena, contract, &rows);
    else if (strcmp(name, "failures") == 0) *c = check_failures(arena, &rows);
    else if (strcmp(name, "seed") == 0) *c = seeded != NULL ? check_seed(arena, p, other) : undecided("seed", "its session was not run");
    else if (cached == NULL) *c = undecided(name, "its session was not run");
    else if (strcmp(name, "caching") == 0)
      *c = compare_repeated(arena, "caching", &caching, 1, cached_ratio, "from the first token to the end");
    else *c = judge_prefix(arena, p, &rows, compare_repeated(arena, "prefix", &caching, 0, warm_ratio, "to its first token"));
  }
  rows_release(&rows);
  rows_release(&caching);
  return status;
}
