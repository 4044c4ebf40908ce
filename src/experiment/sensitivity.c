#include "experiment/sensitivity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "experiment/perturber_table.h"
#include "result/rows.h"
#include "stats/quantile.h"
#include "stats/special.h"

/* An elasticity. It is 1 at most where calls follow one another; threads that share the interpreter, or a deadline, make it about twice as
 * much. */
#define MOST_POSSIBLE 4

/* BLOCKS_OF_ANSWER: what one without any text can have lasted; more are made up. */
enum { BLOCKS_MAX = 100000, ANSWERS_LEAST = 8, GIVEN_MOST = 4, BLOCKS_OF_ANSWER = 64 };

/* A block and what was answered in it. */
struct block {
  struct bundle_block row;
  char target[TARGET_NAME];
  int64_t group;                  /* its cycle, of all sessions */
  int64_t begun_ns;               /* of its part that does not count, as the block before it ended */
  size_t n_ended[RESPONSE_COUNT]; /* of requests whose first token, or end, came in it; values: of those that began in it */
  double n_answers;               /* tokens' events, or whole answers */
  double tokens;
  double *values[RESPONSE_COUNT]; /* of latencies, ns */
  size_t n[RESPONSE_COUNT], room[RESPONSE_COUNT];
  double y[RESPONSE_COUNT]; /* ln; NaN: nothing was answered */
};

struct reading {
  struct bundle *bundle;
  struct row_terms terms;
  struct block *blocks;
  size_t n, room, first; /* first: of the session */
  int64_t *sessions;
  size_t n_sessions, sessions_room;
  int64_t group;
  bool open_load;
  double rate_per_s;
  int64_t in_flight;
};

const char *response_text(enum response response) {
  static const char *const texts[] = {"throughput", "TTFT p50", "ITL mean", "E2E p50"};
  return texts[response];
}

enum response sensitivities_response(const struct sensitivities *all) {
  return all->open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT;
}

bool sensitivity_takes_away(const struct sensitivity *s) {
  return s->perturber != NULL && s->perturber->takes_away;
}

bool sensitivity_is_of_load(const struct sensitivity *s) {
  return s->perturber != NULL && s->perturber->of_load;
}

static bool is_by_waiting(const struct sensitivity *s) {
  return s->perturber != NULL && s->perturber->by_waiting;
}

bool sensitivity_is_of_all(const struct sensitivity *s) {
  return strcmp(s->target, "processor: all") == 0;
}

bool sensitivity_is_of_one_process(const struct sensitivity *s) {
  return s->perturber != NULL && strcmp(s->perturber->name, "processor") == 0 && !sensitivity_is_of_all(s);
}

bool sensitivity_is_of_processors(const struct sensitivity *s) {
  return is_by_waiting(s) || sensitivity_is_of_all(s) || sensitivity_is_of_one_process(s);
}

/* By one level alone. */
static struct slope level_elasticity(const struct sensitivity_level *l) {
  const struct slope *e = &l->effect;
  double more = l->given - 1, time = special_exp(-e->estimate);
  struct slope ret = {.n = e->n, .n_groups = e->n_groups, .bounded = e->bounded && more > 0 && fabs(e->estimate) < 50};
  if (!ret.bounded) return ret;
  ret.estimate = (time - 1) / more;
  ret.error = time * e->error / more;
  /* Of a rate that is almost 0 the ln has a wide interval, and the rate itself a narrow one. */
  ret.low = (time / (1 + e->high - e->estimate) - 1) / more;
  ret.high = (special_exp(-fmax(e->low, -50)) - 1) / more;
  return ret;
}

bool sensitivity_is_impossible(const struct sensitivity *s) {
  const struct slope *e = &s->of[RESPONSE_THROUGHPUT];
  if (s->perturber == NULL || strcmp(s->perturber->name, "function") != 0) return false;
  if (s->stalls) return true;
  if (s->smaller.bounded && s->smaller.high < MOST_POSSIBLE) return false; /* it says what it costs */
  bool ret = e->bounded && e->low > MOST_POSSIBLE;
  for (size_t i = 0; i < s->n_levels && !ret; i++) {
    struct slope by_level = level_elasticity(&s->levels[i]);
    ret = by_level.bounded && by_level.low > MOST_POSSIBLE;
  }
  return ret;
}

bool sensitivity_all_impossible(const struct sensitivities *all) {
  for (size_t i = 0; i < all->n; i++)
    if (!sensitivity_is_impossible(&all->items[i])) return false;
  return all->n > 0;
}

bool sensitivity_bends(const struct sensitivity *s) {
  return s->curvature.bounded && (s->curvature.low > 0 || s->curvature.high < 0);
}

double sensitivity_gain_at_most(const struct sensitivity *s, double elasticity) {
  double slowness = s->n_levels > 0 && s->levels[0].given > 1 ? s->levels[0].given : 1;
  return 0.1 * elasticity * slowness / (1 + elasticity * (slowness - 1));
}

bool sensitivity_layer(const struct sensitivity *s, enum layer *ret) {
  const char *what = strstr(s->target, ": ");
  return what != NULL && s->perturber != NULL && s->perturber->whose != NULL && s->perturber->whose(what + 2, ret);
}

/* --- blocks and rows --- */

static enum lynx_status keep_session(void *context, const struct bundle_session *s) {
  struct reading *r = context;
  if (s->purpose != PURPOSE_PERTURB) return LYNX_OK;
  r->open_load = r->open_load || s->rate_per_s > 0;
  r->rate_per_s = s->rate_per_s;
  r->in_flight = s->concurrency;
  r->sessions = xroom(r->sessions, r->n_sessions, &r->sessions_room, sizeof *r->sessions);
  r->sessions[r->n_sessions++] = s->id;
  return LYNX_OK;
}

static enum lynx_status keep_block(void *context, const struct bundle_block *row) {
  struct reading *r = context;
  /* One block that was slowed far beyond what was asked would outweigh all others. */
  bool possible = row->to_ns > row->from_ns && row->from_ns >= 0 && row->given >= 1 && row->asked >= 1 && row->asked < 1e6 &&
                  row->given <= GIVEN_MOST * row->asked;
  if (!possible || r->n == BLOCKS_MAX) return LYNX_OK;
  r->blocks = xroom(r->blocks, r->n, &r->room, sizeof *r->blocks);
  struct block *b = &r->blocks[r->n];
  *b = (struct block){.row = *row};
  (void)text_sanitise(b->target, sizeof b->target, row->target, strlen(row->target));
  b->row.target = NULL; /* it lives until the visit returns */
  if (r->n == 0 || r->blocks[r->n - 1].row.cycle != row->cycle) r->group++;
  b->group = r->group;
  b->begun_ns = r->n > r->first ? r->blocks[r->n - 1].row.to_ns : row->from_ns;
  r->n++;
  return LYNX_OK;
}

/* The first block of the session that ends later. Blocks stand in the order of time and do not overlap. */
static size_t block_ending_after(const struct reading *r, int64_t at_ns) {
  size_t low = r->first, high = r->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->blocks[middle].row.to_ns <= at_ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

static struct block *block_at(struct reading *r, int64_t at_ns) {
  size_t i = block_ending_after(r, at_ns);
  return i < r->n && r->blocks[i].row.from_ns <= at_ns ? &r->blocks[i] : NULL;
}

static void add_value(struct block *block, enum response response, double value) {
  if (block == NULL || !(value > 0) || !isfinite(value)) return;
  block->values[response] = xroom(block->values[response], block->n[response], &block->room[response], sizeof(double));
  block->values[response][block->n[response]++] = value;
}

/* A latency of a request counts in the block in which the request began: else it is of the blocks before, too. */
static void add_latency(struct reading *r, enum response response, enum metric metric, const struct row *row, int64_t at_ns) {
  double value;
  struct block *block = block_at(r, at_ns);
  if (block == NULL || !row_latency(&r->terms, metric, row, &value)) return;
  block->n_ended[response]++;
  if (row->request->scheduled_ns >= block->begun_ns) add_value(block, response, value);
}

static void add_answer(struct block *b, double part, int64_t tokens) {
  if (b == NULL) return;
  b->tokens += part * (double)tokens;
  b->n_answers += part;
}

/* An answer without any text tells how many tokens it had, not when: they are spread from its first byte to its end. Else a block in which
 * it was under way would look like one in which nothing was done. */
static void spread_tokens(struct reading *r, const struct bundle_request *q) {
  if (q->output_tokens <= 0 || q->first_byte_ns < 0) return;
  if (q->end_ns <= q->first_byte_ns) { /* it came in one piece */
    add_answer(block_at(r, q->end_ns), 1, q->output_tokens);
    return;
  }
  const size_t first = block_ending_after(r, q->first_byte_ns);
  for (size_t i = first; i < r->n && i - first < BLOCKS_OF_ANSWER && r->blocks[i].row.from_ns < q->end_ns; i++) {
    struct block *b = &r->blocks[i];
    int64_t from = b->row.from_ns > q->first_byte_ns ? b->row.from_ns : q->first_byte_ns;
    int64_t to = b->row.to_ns < q->end_ns ? b->row.to_ns : q->end_ns;
    if (to <= from) continue; /* a row that no run has written */
    add_answer(b, (double)(to - from) / (double)(q->end_ns - q->first_byte_ns), q->output_tokens);
  }
}

static enum lynx_status take_row(void *context, const struct row *row) {
  struct reading *r = context;
  const struct bundle_request *q = row->request;
  double value;
  if (!row->ok && !row->tokens_count) return LYNX_OK;
  if (row->ok) {
    add_latency(r, RESPONSE_TIME_TO_FIRST_TOKEN, METRIC_TIME_TO_FIRST_TOKEN, row, q->first_token_ns);
    add_latency(r, RESPONSE_END_TO_END, METRIC_END_TO_END, row, q->end_ns);
  }
  int64_t before = -1;
  for (size_t i = 0; i < row->n_tokens && r->terms.holds_tokens; i++) {
    struct block *block = block_at(r, row->tokens[i].at_ns);
    if (block != NULL && row->tokens_count) {
      block->tokens += row->tokens[i].n;
      block->n_answers += row->tokens[i].n > 0;
    }
    if (row_gap(row, i, &before, &value)) add_value(block, RESPONSE_INTER_TOKEN, value);
  }
  if (row->ok && !r->terms.holds_tokens) add_answer(block_at(r, q->end_ns), 1, 1);
  else if (row->ok && row->n_tokens == 0) spread_tokens(r, q);
  return LYNX_OK;
}

static double median(double *values, size_t n) {
  if (n == 0) return NAN;
  quantile_sort(values, n);
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static double ln(double value) {
  return value > 0 && isfinite(value) ? special_log(value) : NAN;
}

static void finish_block(struct block *b) {
  /* A block without any answer is not left out, which would choose by the outcome: it counts as half of one. */
  b->y[RESPONSE_THROUGHPUT] = ln(fmax(b->tokens, 0.5) / ((double)(b->row.to_ns - b->row.from_ns) / 1e9));
  for (int k = RESPONSE_THROUGHPUT + 1; k < RESPONSE_COUNT; k++) {
    /* A stop lengthens few gaps between tokens by much, which a median does not see. */
    b->y[k] = ln(k == RESPONSE_INTER_TOKEN ? quantile_plain_mean(b->values[k], b->n[k]) : median(b->values[k], b->n[k]));
    if (2 * b->n[k] < b->n_ended[k]) b->y[k] = NAN; /* those that fit in are the short ones */
    free(b->values[k]);
    b->values[k] = NULL;
  }
}

static enum lynx_status read_session(struct reading *r, int64_t session, struct lynx_error *error) {
  r->first = r->n;
  enum lynx_status status = bundle_each_block(r->bundle, session, keep_block, r, error);
  if (status == LYNX_OK) status = rows_each(r->bundle, session, take_row, r, error);
  for (size_t k = r->first; k < r->n; k++) finish_block(&r->blocks[k]);
  return status;
}

static enum lynx_status read_blocks(struct reading *r, struct lynx_error *error) {
  enum lynx_status status = bundle_each_session(r->bundle, keep_session, r, error);
  for (size_t i = 0; i < r->n_sessions && status == LYNX_OK; i++) status = read_session(r, r->sessions[i], error);
  return status;
}

/* --- elasticities --- */

static double slowness_of(const struct block *b, bool by_waiting) {
  if (by_waiting)
    return b->row.running_ns > 0 && b->row.ready_ns >= 0 ? (double)(b->row.running_ns + b->row.ready_ns) / (double)b->row.running_ns : NAN;
  return b->row.given;
}

/* What undisturbed threads wait is in every block: slowness is a multiple of that. */
static double undisturbed_waiting(const struct reading *r) {
  double sum = 0, n = 0;
  for (size_t i = 0; i < r->n; i++) {
    double x = slowness_of(&r->blocks[i], true);
    if (r->blocks[i].target[0] != 0 || !isfinite(x)) continue;
    sum += x;
    n++;
  }
  return n > 0 ? sum / n : 1;
}

/* The undisturbed blocks and those of the target (of one level: asked > 0) that have an answer, in their groups. Their slope is ln of the
 * ratio, or where the target was slowed by several levels the elasticity. */
static size_t points_of(const struct reading *r, const struct sensitivity *s, enum response response, double asked, struct block_point *ret,
                        bool *ret_tell) {
  size_t n = 0;
  *ret_tell = true;
  const bool ratio = asked > 0 || sensitivity_takes_away(s), demand = sensitivity_is_of_load(s), by_waiting = is_by_waiting(s);
  const bool rate = response == RESPONSE_THROUGHPUT;
  const double undisturbed_x = by_waiting && !ratio ? undisturbed_waiting(r) : 1;
  for (size_t i = 0; i < r->n; i++) {
    const struct block *b = &r->blocks[i];
    bool undisturbed = b->target[0] == 0, of_it = strcmp(b->target, s->target) == 0 && (asked <= 0 || b->row.asked == asked);
    double x = ratio ? !undisturbed : slowness_of(b, by_waiting) / undisturbed_x;
    if (demand && !ratio) x = rate ? -ln(x) : ln(x);
    if ((!undisturbed && !of_it) || !isfinite(x) || !isfinite(b->y[response])) continue;
    ret[n++] = (struct block_point){b->group, x, rate ? special_exp(b->y[response]) : b->y[response], 1};
  }
  if (rate) *ret_tell = elasticity_linearise(ret, n, ratio || demand ? RATE_FOLLOWS_EXPONENT : RATE_FOLLOWS_SLOWNESS);
  else if (!ratio && !demand) *ret_tell = elasticity_linearise(ret, n, LN_TIME_FOLLOWS_SLOWNESS);
  return n;
}

static struct slope fit(const struct reading *r, const struct sensitivity *s, enum response response, double asked, double confidence,
                        struct block_point *points) {
  bool tell;
  size_t n = points_of(r, s, response, asked, points, &tell);
  struct slope ret = slope_within(points, n, confidence);
  ret.bounded = ret.bounded && tell;
  return ret;
}

/* A negative control: of undisturbed blocks alone. */
static struct slope control_of(const struct reading *r, enum response response, double confidence, struct block_point *points) {
  size_t n = 0, of_group = 0;
  int64_t group = -1;
  bool tell = true;
  const bool rate = response == RESPONSE_THROUGHPUT;
  for (size_t i = 0; i < r->n; i++) {
    const struct block *b = &r->blocks[i];
    of_group = b->group == group ? of_group : 0;
    group = b->group;
    if (b->target[0] != 0 || !isfinite(b->y[response])) continue;
    double as_if = (double)((of_group++ + (size_t)group) % 2);
    points[n++] = (struct block_point){group, as_if, rate ? special_exp(b->y[response]) : b->y[response], 1};
  }
  if (rate) tell = elasticity_linearise(points, n, RATE_FOLLOWS_EXPONENT);
  struct slope ret = slope_within(points, n, confidence);
  ret.bounded = ret.bounded && tell;
  return ret;
}

static void add_levels(const struct reading *r, struct sensitivity *s, double confidence, struct block_point *points) {
  for (size_t l = 0; l < s->n_levels; l++) {
    double given = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
      if (strcmp(r->blocks[i].target, s->target) == 0 && r->blocks[i].row.asked == s->levels[l].asked) {
        given += r->blocks[i].row.given;
        n++;
      }
    s->levels[l].given = n > 0 ? given / (double)n : NAN;
    s->levels[l].effect = fit(r, s, RESPONSE_THROUGHPUT, s->levels[l].asked, confidence, points);
    s->levels[l].effect.bounded = s->levels[l].effect.bounded && !s->stalls;
  }
}

static void find_curvature(struct sensitivity *s, double confidence) {
  if (s->n_levels < 2 || sensitivity_takes_away(s) || sensitivity_is_of_load(s) || is_by_waiting(s)) return;
  const struct sensitivity_level *small = &s->levels[0], *great = &s->levels[s->n_levels - 1];
  struct slope smaller = level_elasticity(small), greater = level_elasticity(great);
  if (!smaller.bounded || !greater.bounded || !(great->given > small->given)) return;
  struct slope c = {
      .n = smaller.n + greater.n, .n_groups = greater.n_groups, .bounded = true, .estimate = greater.estimate - smaller.estimate};
  /* Both share the undisturbed blocks; taken as independent the interval is rather too wide. */
  c.error = sqrt(smaller.error * smaller.error + greater.error * greater.error);
  double half = special_t_quantile(1 - (1 - confidence) / 2, (double)c.n_groups - 1) * c.error;
  c.low = c.estimate - half;
  c.high = c.estimate + half;
  s->smaller = smaller;
  s->curvature = c;
}

static void add_sensitivity(const struct reading *r, struct sensitivity *s, double confidence, struct block_point *points) {
  for (int k = 0; k < RESPONSE_COUNT; k++) s->of[k] = fit(r, s, (enum response)k, 0, confidence, points);
  if (s->stalls) s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = NAN}; /* it would be that of half a token in each block */
  add_levels(r, s, confidence, points);
  find_curvature(s, confidence);
}

static struct sensitivity *sensitivity_of(struct sensitivities *all, const char *target) {
  for (size_t i = 0; i < all->n; i++)
    if (strcmp(all->items[i].target, target) == 0) return &all->items[i];
  if (all->n == SENSITIVITIES_MAX) return NULL;
  struct sensitivity *s = &all->items[all->n++];
  *s = (struct sensitivity){.perturber = perturber_find(target, strcspn(target, ":"))};
  (void)snprintf(s->target, sizeof s->target, "%s", target);
  return s;
}

/* Levels in ascending order. */
static void note_level(struct sensitivity *s, double asked) {
  size_t at = 0;
  while (at < s->n_levels && s->levels[at].asked < asked) at++;
  if ((at < s->n_levels && s->levels[at].asked == asked) || s->n_levels == LEVELS_MAX) return;
  for (size_t i = s->n_levels; i > at; i--) s->levels[i] = s->levels[i - 1];
  s->levels[at] = (struct sensitivity_level){.asked = asked};
  s->n_levels++;
}

static void describe(const struct reading *r, struct sensitivities *ret) {
  double sum = 0, squares = 0, mean = 0, length = 0, answers = 0;
  size_t n = 0;
  for (size_t i = 0; i < r->n; i++) {
    const struct block *b = &r->blocks[i];
    length += (double)(b->row.to_ns - b->row.from_ns) / 1e9 / (double)r->n;
    ret->n_empty += b->n_answers <= 0;
    if (b->target[0] != 0 || !isfinite(b->y[RESPONSE_THROUGHPUT])) continue;
    answers += b->n_answers;
    sum += special_exp(b->y[RESPONSE_THROUGHPUT]);
    n++;
    double from_mean = b->y[RESPONSE_THROUGHPUT] - mean; /* Welford 1962 */
    mean += from_mean / (double)n;
    squares += from_mean * (b->y[RESPONSE_THROUGHPUT] - mean);
  }
  ret->answers = n > 0 ? answers / (double)n : 0;
  ret->too_few = r->n > 0 && !(ret->answers >= ANSWERS_LEAST);
  ret->block_s = length;
  ret->throughput = n > 0 ? sum / (double)n : NAN;
  ret->spread = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

static void add_up(const struct reading *r, struct sensitivities *ret, double confidence) {
  const struct block_point *lists[SENSITIVITIES_MAX];
  struct block_point *own[SENSITIVITIES_MAX];
  size_t n[SENSITIVITIES_MAX], k = 0;
  for (size_t i = 0; i < ret->n; i++) {
    if (!sensitivity_is_of_one_process(&ret->items[i]) || !isfinite(ret->items[i].of[RESPONSE_THROUGHPUT].estimate)) continue;
    own[k] = xalloc(r->n + 1, sizeof *own[k]);
    bool tell;
    n[k] = points_of(r, &ret->items[i], RESPONSE_THROUGHPUT, 0, own[k], &tell);
    lists[k] = own[k];
    if (tell) k++;
    else free(own[k]);
  }
  if (k > 1) ret->sum = slope_sum(lists, n, k, confidence);
  for (size_t i = 0; i < k; i++) free(own[i]);
}

/* Counts of a few answers are too coarse for a slope. */
static void forget_intervals(struct sensitivities *ret) {
  for (size_t i = 0; i < ret->n; i++) {
    for (int k = 0; k < RESPONSE_COUNT; k++) ret->items[i].of[k].bounded = false;
    for (size_t l = 0; l < ret->items[i].n_levels; l++) ret->items[i].levels[l].effect.bounded = false;
    ret->items[i].smaller.bounded = ret->items[i].curvature.bounded = false;
  }
  ret->sum.bounded = ret->control.bounded = false;
}

static void compute(struct reading *r, double confidence, struct sensitivities *ret) {
  for (size_t i = 0; i < r->n; i++) {
    if (r->blocks[i].target[0] == 0) continue;
    struct sensitivity *s = sensitivity_of(ret, r->blocks[i].target);
    if (s == NULL) continue;
    s->stalls = (s->n_blocks == 0 || s->stalls) && r->blocks[i].n_answers <= 0;
    s->n_blocks++;
    note_level(s, r->blocks[i].row.asked);
  }
  struct block_point *points = xalloc(r->n + 1, sizeof *points);
  for (size_t i = 0; i < ret->n; i++) add_sensitivity(r, &ret->items[i], confidence, points);
  ret->control = control_of(r, r->open_load ? RESPONSE_END_TO_END : RESPONSE_THROUGHPUT, confidence, points);
  free(points);
  ret->n_blocks = r->n;
  ret->n_cycles = (size_t)r->group;
  ret->tokens = r->terms.holds_tokens;
  describe(r, ret);
  add_up(r, ret, confidence);
  ret->open_load = r->open_load;
  ret->rate_per_s = r->rate_per_s;
  ret->in_flight = r->in_flight;
  if (ret->too_few) forget_intervals(ret);
}

enum lynx_status sensitivities_read(struct bundle *bundle, const struct contract *contract, double confidence, struct sensitivities *ret,
                                    struct lynx_error *error) {
  struct reading r = {.bundle = bundle, .terms = row_terms_of(bundle, contract)};
  *ret = (struct sensitivities){.n = 0};
  enum lynx_status status = read_blocks(&r, error);
  if (status == LYNX_OK) compute(&r, confidence, ret);
  for (size_t i = 0; i < r.n; i++)
    for (int k = 0; k < RESPONSE_COUNT; k++) free(r.blocks[i].values[k]);
  free(r.blocks);
  free(r.sessions);
  return status;
}

enum lynx_status session_response_read(struct bundle *bundle, const struct contract *contract, const struct session_load *load,
                                       struct session_response *ret, struct lynx_error *error) {
  struct reading r = {.bundle = bundle, .terms = row_terms_of(bundle, contract)};
  enum lynx_status status = read_session(&r, load->id, error);
  *ret = (struct session_response){.open_load = load->rate_per_s > 0,
                                   .in_flight = load->concurrency > 0 ? (double)load->concurrency : 1,
                                   .found = status == LYNX_OK && r.n > 0};
  ret->answers = ret->found ? r.blocks[0].n_answers : 0;
  for (int k = 0; k < RESPONSE_COUNT; k++) ret->y[k] = ret->answers > 0 ? r.blocks[0].y[k] : NAN;
  if (ret->found) (void)snprintf(ret->target, sizeof ret->target, "%s", r.blocks[0].target);
  free(r.blocks);
  return status;
}
