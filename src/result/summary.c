#include "result/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/claim.h"
#include "result/machine_figures.h"
#include "stats/quantile.h"

enum { DIGITS = 7 };

/* --- from a result --- */

static const char *why_left_out(struct result *r, const struct result_precision *p) {
  const char *impossible = plausibility_text(&r->plausibility, &r->arena);
  if (r->seal.root[0] == 0) return "the bundle is not sealed";
  if (impossible != NULL) return arena_printf(&r->arena, "no run can have written its rows: %s", impossible);
  if (r->perturbed) return "resources were slowed, or settings swapped, on purpose";
  if (r->part[0] != 0) return r->part;
  if (r->seal.end != BUNDLE_COMPLETE) return arena_printf(&r->arena, "the run is incomplete (%s)", bundle_end_text(r->seal.end));
  if (p->unavailable) return "the precision was not available";
  if (p->n_complete == 0 || p->n_counted == 0) return "no session was complete";
  if (p->instrument_limited) return "the instrument was too slow for this load";
  return NULL;
}

static void add_figure(struct result *r, const struct result_precision *p, const struct session_figure *f, struct summary_precision *to) {
  double *x = xalloc(p->n_sessions + 1, sizeof *x);
  size_t n = 0;
  bool infinite = false;
  for (size_t i = 0; i < p->n_sessions; i++) {
    double value = session_figure_of(&p->sessions[i], f);
    infinite = infinite || isinf(value);
    if (isfinite(value)) x[n++] = value;
  }
  if (n > 0 && !infinite && (f->metric < 0 || result_states(&r->contract, &p->latency[f->metric], f->quantile))) {
    struct interval interval = session_figure_interval(&r->contract, f, p, x, n);
    to->figures[to->n_figures++] = (struct summary_figure){.name = f->name,
                                                           .formula = formulas[f->formula].id,
                                                           .unit = formulas[f->formula].unit,
                                                           .better = f->more_is_better ? BETTER_MORE : BETTER_LESS,
                                                           .value = number_round(quantile_plain_mean(x, n), DIGITS),
                                                           .low = interval.bounded ? number_round(interval.low, DIGITS) : NAN,
                                                           .high = interval.bounded ? number_round(interval.high, DIGITS) : NAN,
                                                           .n = (int64_t)n};
  }
  free(x);
}

static const char *why_no_claim(struct result *r, size_t precision) {
  struct claim claim;
  claim_build(r, precision, &claim);
  return claim.n_reasons > 0 ? claim.reasons[0] : NULL;
}

/* What the machine itself did, beside every precision: a drift of it is none of the executor's. */
static void add_machine(const struct result *r, struct summary_precision *to) {
  struct machine_speed speeds[MACHINE_SPEED_FIGURES];
  size_t n = machine_speed_read(r->machine_before, r->machine_after, speeds);
  for (size_t i = 0; i < n; i++) {
    const struct machine_speed *s = &speeds[i];
    to->figures[to->n_figures++] = (struct summary_figure){.name = s->name,
                                                           .formula = formulas[FORMULA_MACHINE_SPEED].id,
                                                           .unit = s->unit,
                                                           .better = s->more_is_better ? BETTER_MORE : BETTER_LESS,
                                                           .value = number_round((s->before + s->after) / 2, DIGITS),
                                                           .low = NAN, /* two measurements make no interval */
                                                           .high = NAN,
                                                           .n = 1};
  }
}

static void add_objectives(struct result *r, const struct result_precision *p, struct summary_precision *to) {
  to->objectives = arena_alloc(&r->arena, SUMMARY_OBJECTIVES_MAX, sizeof *to->objectives);
  for (size_t i = 0; i < p->n_objectives && i < SUMMARY_OBJECTIVES_MAX; i++) {
    const struct result_objective *o = &p->objectives[i];
    bool known = o->verdict != OBJECTIVE_NO_VALUES && isfinite(o->measured.estimate), bounded = known && o->measured.bounded;
    to->objectives[to->n_objectives++] = (struct summary_objective){.metric = o->metric,
                                                                    .verdict = o->verdict,
                                                                    .quantile = o->quantile,
                                                                    .at_most_ns = (double)o->at_most_ns,
                                                                    .value = known ? number_round(o->measured.estimate, DIGITS) : NAN,
                                                                    .low = bounded ? number_round(o->measured.low, DIGITS) : NAN,
                                                                    .high = bounded ? number_round(o->measured.high, DIGITS) : NAN};
  }
}

/* What the contract's question may ask beside the figures. */
static void add_answers(struct result *r, const struct result_precision *p, struct summary_precision *to) {
  const struct result_certificate *c = &p->certificate;
  add_objectives(r, p, to);
  to->certified = c->certified || c->range_ended;
  to->knee = p->knee;
  if (!contract_states(&r->contract, "accuracy") || !p->accuracy_known) return;
  to->gate = p->accuracy_passed ? ACCURACY_PASSES : ACCURACY_FAILS;
  to->accuracy_ratio = number_round(p->accuracy_ratio, DIGITS);
}

void summary_make(struct result *r, struct summary *ret) {
  *ret = (struct summary){
      .analysis = ANALYSIS_VERSION, .started_ns = r->started_ns, .contract = r->contract_digest, .name = r->contract.name};
  ret->n_expected = (int64_t)r->contract.executor.expect.n_items;
  ret->departures = r->departures;
  ret->n_departures = r->n_departures < SUMMARY_DEPARTURES_MAX ? r->n_departures : SUMMARY_DEPARTURES_MAX;
  ret->precisions = arena_alloc(&r->arena, r->n_precisions + 1, sizeof *ret->precisions);
  for (size_t i = 0; i < r->n_precisions && i < SUMMARY_PRECISIONS_MAX; i++) {
    const struct result_precision *p = &r->precisions[i];
    struct summary_precision *to = &ret->precisions[ret->n_precisions++];
    struct session_figure figures[SESSION_FIGURES_MAX];
    *to = (struct summary_precision){.name = p->name,
                                     .fingerprint = p->fingerprint,
                                     .conditions = p->conditions,
                                     .left_out = why_left_out(r, p),
                                     .passing = NAN,
                                     .failing = NAN,
                                     .accuracy_ratio = NAN};
    if (to->left_out == NULL) to->no_claim = why_no_claim(r, i);
    const struct result_certificate *c = &p->certificate;
    to->passing = c->searched && c->passing > 0 ? number_round(c->passing, DIGITS) : NAN;
    to->failing = c->searched && c->failing > 0 ? number_round(c->failing, DIGITS) : NAN;
    size_t n = session_figures(&r->contract, p->has_tokens, p->accuracy_known, figures);
    to->figures = arena_alloc(&r->arena, n + MACHINE_SPEED_FIGURES, sizeof *to->figures);
    for (size_t f = 0; f < n && to->left_out == NULL; f++) add_figure(r, p, &figures[f], to);
    if (to->left_out == NULL && to->n_figures == 0) to->left_out = "it has no figure that its sample can bound";
    if (to->left_out == NULL) {
      add_machine(r, to);
      add_answers(r, p, to);
    }
  }
}

const struct summary_figure *summary_figure_named(const struct summary_precision *p, const char *name) {
  for (size_t i = 0; p != NULL && i < p->n_figures; i++)
    if (strcmp(p->figures[i].name, name) == 0) return &p->figures[i];
  return NULL;
}

const struct summary_precision *summary_precision_named(const struct summary *s, const char *name) {
  for (size_t i = 0; s != NULL && i < s->n_precisions; i++)
    if (strcmp(s->precisions[i].name, name) == 0) return &s->precisions[i];
  return NULL;
}

bool summary_counts(const struct summary *s) {
  return s->analysis >= SUMMARY_ANALYSIS_LEAST && s->analysis <= ANALYSIS_VERSION;
}

/* --- as JSON --- */

static void write_figure(const struct summary_figure *f, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "name", f->name);
  json_put_text(json, "formula", f->formula);
  json_put_text(json, "unit", f->unit);
  if (f->better != BETTER_UNKNOWN) json_put_text(json, "better", f->better == BETTER_MORE ? "more" : "less");
  json_put_double(json, "value", f->value);
  json_put_double(json, "low", f->low);
  json_put_double(json, "high", f->high);
  json_put_int(json, "sessions", f->n);
  json_close(json);
}

static const char *const gates[] = {[ACCURACY_NOT_GATED] = "", [ACCURACY_PASSES] = "passes", [ACCURACY_FAILS] = "fails"};

static void write_objective(const struct summary_objective *o, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "metric", metric_text(o->metric));
  json_put_double(json, "quantile", o->quantile);
  json_put_double(json, "at_most_ns", o->at_most_ns);
  json_put_text(json, "verdict", objective_verdict_text(o->verdict));
  json_put_double(json, "value_ns", o->value);
  json_put_double(json, "low_ns", o->low);
  json_put_double(json, "high_ns", o->high);
  json_close(json);
}

static void write_answers(const struct summary_precision *p, struct json_writer *json) {
  if (p->n_objectives > 0) {
    json_key(json, "objectives");
    json_open_array(json);
    for (size_t i = 0; i < p->n_objectives; i++) write_objective(&p->objectives[i], json);
    json_close(json);
  }
  if (isfinite(p->passing)) json_put_double(json, "sustained_per_s", p->passing);
  if (isfinite(p->failing)) json_put_double(json, "not_sustained_per_s", p->failing);
  if (isfinite(p->passing)) json_put_bool(json, "certified", p->certified);
  if (p->knee > 0) json_put_int(json, "knee_in_flight", p->knee);
  if (p->gate == ACCURACY_NOT_GATED) return;
  json_put_text(json, "accuracy_gate", gates[p->gate]);
  json_put_double(json, "accuracy_ratio", p->accuracy_ratio);
}

void summary_write(const struct summary *summary, struct json_writer *json) {
  json_put_int(json, "analysis", summary->analysis);
  json_put_int(json, "started_ns", summary->started_ns);
  json_put_text(json, "contract", summary->contract);
  json_put_text(json, "name", summary->name);
  if (summary->n_expected > 0) {
    json_put_int(json, "expected_facts", summary->n_expected);
    json_put_texts(json, "departures", summary->departures, summary->n_departures);
  }
  json_key(json, "precisions");
  json_open_array(json);
  for (size_t i = 0; i < summary->n_precisions; i++) {
    const struct summary_precision *p = &summary->precisions[i];
    json_open_object(json);
    json_put_text(json, "precision", p->name);
    json_put_text(json, "fingerprint", p->fingerprint);
    if (p->left_out != NULL) json_put_text(json, "left_out", p->left_out);
    if (p->no_claim != NULL) json_put_text(json, "no_claim", p->no_claim);
    json_put_double(json, "others", number_round(p->conditions.others, DIGITS));
    json_put_double(json, "steal", number_round(p->conditions.steal, DIGITS));
    json_put_double(json, "throttled", number_round(p->conditions.throttled, DIGITS));
    json_put_double(json, "pressure", number_round(p->conditions.pressure, DIGITS));
    json_key(json, "figures");
    json_open_array(json);
    for (size_t f = 0; f < p->n_figures; f++) write_figure(&p->figures[f], json);
    json_close(json);
    write_answers(p, json);
    json_close(json);
  }
  json_close(json);
}

/* --- read --- */

/* By what a walk through the JSON comes upon, in its order. */
struct reading {
  struct arena *arena;
  struct text_set *texts; /* NULL: each text is kept as often as it comes */
  struct summary *ret;
  int under;    /* keys that lead to the summary */
  bool escaped; /* strings are as JSON writes them */
  bool good, is_list;
  struct room *room;
  size_t n_figures, n_objectives; /* in it */
};

/* For what is read and not yet counted; nobody writes it over beforehand: there may be ten thousand. */
struct room {
  struct summary_figure figures[SUMMARY_FIGURES_MAX]; /* of the precision that is read */
  struct summary_objective objectives[SUMMARY_OBJECTIVES_MAX];
  const char *departures[SUMMARY_DEPARTURES_MAX];
  struct summary_precision precisions[SUMMARY_PRECISIONS_MAX];
};

/* Cut and made fit to be shown. */
static const char *text_of(const struct reading *r, enum json_scan_kind kind, struct bytes raw) {
  char plain[4 * SUMMARY_TEXT_MAX], text[SUMMARY_TEXT_MAX];
  if (kind != JSON_SCAN_STRING) return "";
  if (r->escaped && memchr(raw.ptr, '\\', raw.length) != NULL) {
    int64_t n = json_scan_text(raw, plain, sizeof plain);
    raw = (struct bytes){plain, n > 0 ? (size_t)n : 0};
  }
  (void)text_sanitise(text, sizeof text, raw.ptr, raw.length);
  return r->texts != NULL ? text_set_keep(r->texts, r->arena, text) : arena_copy(r->arena, text);
}

static double real_of(enum json_scan_kind kind, struct bytes raw) {
  double value;
  return kind == JSON_SCAN_NUMBER && number_double(raw.ptr, raw.length, &value) ? value : NAN;
}

static double bound_of(enum json_scan_kind kind, struct bytes raw) {
  double value = real_of(kind, raw);
  return fabs(value) <= SUMMARY_VALUE_MAX ? value : NAN;
}

static int64_t integer_of(enum json_scan_kind kind, struct bytes raw) {
  int64_t value;
  return kind == JSON_SCAN_NUMBER && number_int64(raw.ptr, raw.length, &value) ? value : 0;
}

static enum better better_of(const char *text) {
  return strcmp(text, "more") == 0 ? BETTER_MORE : strcmp(text, "less") == 0 ? BETTER_LESS : BETTER_UNKNOWN;
}

static void take_figure(const struct reading *r, struct bytes key, enum json_scan_kind kind, struct bytes raw, struct summary_figure *f) {
  if (bytes_equal(key, "name")) f->name = text_of(r, kind, raw);
  else if (bytes_equal(key, "formula")) f->formula = text_of(r, kind, raw);
  else if (bytes_equal(key, "unit")) f->unit = text_of(r, kind, raw);
  else if (bytes_equal(key, "better")) f->better = better_of(text_of(r, kind, raw));
  else if (bytes_equal(key, "value")) f->value = real_of(kind, raw);
  else if (bytes_equal(key, "low")) f->low = bound_of(kind, raw);
  else if (bytes_equal(key, "high")) f->high = bound_of(kind, raw);
  else if (bytes_equal(key, "sessions")) f->n = integer_of(kind, raw);
}

/* By its text, among n of which text gives each; n: none. */
static int choice_of(const char *text, int n, const char *(*text_of_choice)(int)) {
  int i = 0;
  while (i < n && strcmp(text, text_of_choice(i)) != 0) i++;
  return i;
}

static const char *metric_name(int i) {
  return metric_text((enum metric)i);
}

static const char *verdict_name(int i) {
  return objective_verdict_text((enum objective_verdict)i);
}

static const char *gate_name(int i) {
  return gates[i];
}

static void take_objective(struct reading *r, struct bytes key, enum json_scan_kind kind, struct bytes raw, struct summary_objective *o) {
  int choice = 0;
  if (bytes_equal(key, "metric")) {
    choice = choice_of(text_of(r, kind, raw), METRIC_COUNT, metric_name);
    r->good = r->good && choice < METRIC_COUNT;
    o->metric = (enum metric)choice;
  } else if (bytes_equal(key, "verdict")) {
    choice = choice_of(text_of(r, kind, raw), OBJECTIVE_DOUBTED + 1, verdict_name);
    r->good = r->good && choice <= OBJECTIVE_DOUBTED;
    o->verdict = (enum objective_verdict)choice;
  } else if (bytes_equal(key, "quantile")) o->quantile = bound_of(kind, raw);
  else if (bytes_equal(key, "at_most_ns")) o->at_most_ns = bound_of(kind, raw);
  else if (bytes_equal(key, "value_ns")) o->value = bound_of(kind, raw);
  else if (bytes_equal(key, "low_ns")) o->low = bound_of(kind, raw);
  else if (bytes_equal(key, "high_ns")) o->high = bound_of(kind, raw);
}

static void take_precision(const struct reading *r, struct bytes key, enum json_scan_kind kind, struct bytes raw,
                           struct summary_precision *p) {
  if (bytes_equal(key, "precision")) p->name = text_of(r, kind, raw);
  else if (bytes_equal(key, "fingerprint")) p->fingerprint = text_of(r, kind, raw);
  else if (bytes_equal(key, "left_out")) p->left_out = text_of(r, kind, raw);
  else if (bytes_equal(key, "no_claim")) p->no_claim = text_of(r, kind, raw);
  else if (bytes_equal(key, "others")) p->conditions.others = real_of(kind, raw);
  else if (bytes_equal(key, "steal")) p->conditions.steal = real_of(kind, raw);
  else if (bytes_equal(key, "throttled")) p->conditions.throttled = real_of(kind, raw);
  else if (bytes_equal(key, "pressure")) p->conditions.pressure = real_of(kind, raw);
  else if (bytes_equal(key, "sustained_per_s")) p->passing = bound_of(kind, raw);
  else if (bytes_equal(key, "not_sustained_per_s")) p->failing = bound_of(kind, raw);
  else if (bytes_equal(key, "certified")) p->certified = kind == JSON_SCAN_TRUE;
  else if (bytes_equal(key, "knee_in_flight")) p->knee = integer_of(kind, raw);
  else if (bytes_equal(key, "accuracy_ratio")) p->accuracy_ratio = bound_of(kind, raw);
  else if (bytes_equal(key, "accuracy_gate"))
    p->gate = (enum accuracy_gate)(choice_of(text_of(r, kind, raw), ACCURACY_FAILS + 1, gate_name) % (ACCURACY_FAILS + 1));
}

static void take_whole(struct reading *r, struct bytes key, enum json_scan_kind kind, struct bytes raw) {
  struct summary *s = r->ret;
  if (bytes_equal(key, "analysis")) s->analysis = integer_of(kind, raw);
  else if (bytes_equal(key, "started_ns")) s->started_ns = integer_of(kind, raw);
  else if (bytes_equal(key, "contract")) s->contract = text_of(r, kind, raw);
  else if (bytes_equal(key, "name")) s->name = text_of(r, kind, raw);
  else if (bytes_equal(key, "expected_facts")) s->n_expected = integer_of(kind, raw);
  else if (bytes_equal(key, "precisions")) r->is_list = kind == JSON_SCAN_ARRAY;
}

/* What came is the last precision's. */
static void keep_objectives(struct reading *r) {
  struct summary_precision *p = &r->room->precisions[r->ret->n_precisions - 1];
  p->objectives = arena_alloc(r->arena, r->n_objectives, sizeof *p->objectives);
  memcpy(p->objectives, r->room->objectives, r->n_objectives * sizeof *p->objectives);
  p->n_objectives = r->n_objectives;
}

static void end_precision(struct reading *r) {
  if (r->n_objectives > 0 && r->good) keep_objectives(r);
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct summary_figure *f = &r->room->figures[i];
    r->good = r->good && f->name[0] != 0 && fabs(f->value) <= SUMMARY_VALUE_MAX && !(f->low > f->value) && !(f->high < f->value);
  }
  if (r->n_figures == 0 || !r->good) return;
  struct summary_precision *p = &r->room->precisions[r->ret->n_precisions - 1];
  p->figures = arena_alloc(r->arena, r->n_figures, sizeof *p->figures);
  memcpy(p->figures, r->room->figures, r->n_figures * sizeof *p->figures);
  p->n_figures = r->n_figures;
}

static void begin_precision(struct reading *r) {
  struct summary *s = r->ret;
  end_precision(r);
  r->n_figures = r->n_objectives = 0;
  if (s->n_precisions == SUMMARY_PRECISIONS_MAX) r->good = false;
  if (!r->good) return;
  r->room->precisions[s->n_precisions++] = (struct summary_precision){
      .name = "",
      .fingerprint = "",
      .passing = NAN,
      .failing = NAN,
      .accuracy_ratio = NAN,
      /* one that was slowed has no claim, which is in no_claim */
      .conditions = {.others = NAN, .steal = NAN, .throttled = NAN, .pressure = NAN, .lost = NAN, .slowed = NAN, .gpus_slowed = NAN}};
}

static void begin_figure(struct reading *r) {
  if (r->n_figures == SUMMARY_FIGURES_MAX) r->good = false;
  if (!r->good) return;
  r->room->figures[r->n_figures++] = (struct summary_figure){.name = "", .formula = "", .unit = "", .value = NAN, .low = NAN, .high = NAN};
}

static void begin_objective(struct reading *r) {
  if (r->n_objectives == SUMMARY_OBJECTIVES_MAX) r->good = false;
  if (!r->good) return;
  r->room->objectives[r->n_objectives++] = (struct summary_objective){
      .quantile = NAN, .at_most_ns = NAN, .value = NAN, .low = NAN, .high = NAN};
}

/* {"departures": ["..."]} */
static void take_departure(struct reading *r, enum json_scan_kind kind, struct bytes raw) {
  if (r->ret->n_departures == SUMMARY_DEPARTURES_MAX) r->good = false;
  if (r->good) r->room->departures[r->ret->n_departures++] = text_of(r, kind, raw);
}

/* {"precisions": [{"figures": [{"value": 1}]}]} */
static void take(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct reading *r = context;
  path += r->under;
  depth -= r->under;
  if (!r->good || depth <= 0) return;
  if (depth == 1) take_whole(r, path[0], kind, raw);
  if (depth == 2 && bytes_equal(path[0], "departures") && path[1].ptr == NULL) take_departure(r, kind, raw);
  if (depth == 1 || !bytes_equal(path[0], "precisions") || path[1].ptr != NULL) return;
  if (depth == 2) begin_precision(r);
  if (depth < 3 || !r->good) return;
  struct summary_precision *p = &r->room->precisions[r->ret->n_precisions - 1];
  bool of_figure = bytes_equal(path[2], "figures"), of_objective = bytes_equal(path[2], "objectives");
  if (depth == 3 && !of_figure && !of_objective) take_precision(r, path[2], kind, raw, p);
  if (depth == 3 || !(of_figure || of_objective) || path[3].ptr != NULL) return;
  if (depth == 4 && of_figure) begin_figure(r);
  if (depth == 4 && of_objective) begin_objective(r);
  if (depth != 5 || !r->good) return;
  if (of_figure) take_figure(r, path[4], kind, raw, &r->room->figures[r->n_figures - 1]);
  else take_objective(r, path[4], kind, raw, &r->room->objectives[r->n_objectives - 1]);
}

static struct reading begin(struct arena *arena, struct text_set *texts, struct room *room, struct summary *ret) {
  *ret = (struct summary){.contract = "", .name = ""};
  return (struct reading){.arena = arena, .texts = texts, .room = room, .ret = ret, .good = true};
}

static bool end(struct reading *r) {
  struct summary *s = r->ret;
  if (r->good) end_precision(r);
  if (s->n_precisions > 0) {
    s->precisions = arena_alloc(r->arena, s->n_precisions, sizeof *s->precisions);
    memcpy(s->precisions, r->room->precisions, s->n_precisions * sizeof *s->precisions);
  }
  if (s->n_departures > 0) {
    s->departures = arena_alloc(r->arena, s->n_departures, sizeof *s->departures);
    memcpy(s->departures, r->room->departures, s->n_departures * sizeof *s->departures);
  }
  return r->good && r->is_list && s->started_ns >= 0;
}

bool summary_read(const json_t *object, struct arena *arena, struct text_set *texts, struct summary *ret) {
  struct room room;
  struct reading r = begin(arena, texts, &room, ret);
  json_walk(object, take, &r);
  return end(&r);
}

/* --- of an entry in a ledger's list of runs --- */

struct said {
  struct summary_said *ret;
  struct reading reading;
};

static void take_said(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct said *s = context;
  if (depth < 1) return;
  if (bytes_equal(path[0], "summary")) take(&s->reading, path, depth, kind, raw);
  if (depth != 1) return;
  if (bytes_equal(path[0], "name")) s->ret->name = text_of(&s->reading, kind, raw);
  else if (bytes_equal(path[0], "bundle")) s->ret->bundle = text_of(&s->reading, kind, raw);
  else if (bytes_equal(path[0], "file")) s->ret->file = text_of(&s->reading, kind, raw);
}

bool summary_said_read(struct bytes text, struct arena *arena, struct summary_said *ret) {
  struct room room;
  *ret = (struct summary_said){.name = "", .bundle = "", .file = ""};
  struct said s = {ret, begin(arena, NULL, &room, &ret->summary)};
  s.reading.escaped = true;
  s.reading.under = 1;
  bool whole = json_scan(text.ptr, text.length, take_said, &s);
  ret->has_summary = end(&s.reading);
  return whole;
}
