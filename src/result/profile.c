#include "result/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/signature.h"
#include "base/number.h"
#include "base/random.h"
#include "stats/quantile.h"
#include "stats/resample.h"
#include "telemetry/metrics.h"

enum { PROFILE_VERSION = 1, DIGITS = 7, BLOCK_TOKENS = 512 };

static size_t thin(size_t n, size_t most, size_t k) {
  return n <= most ? k : (size_t)((double)k * (double)n / (double)most);
}

/* The share of prompt tokens that stood in the same place of an earlier prompt, by the log's blocks or the server's word. */
struct seen {
  int64_t *ids;
  size_t room; /* a power of two */
};

static bool see(struct seen *seen, int64_t id) {
  size_t at = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15u) & (seen->room - 1);
  while (seen->ids[at] != INT64_MIN) {
    if (seen->ids[at] == id) return true;
    at = (at + 1) & (seen->room - 1);
  }
  seen->ids[at] = id;
  return false;
}

static double reuse_of(const struct request_log *log) {
  double reused = 0, all = 0;
  size_t n_blocks = 0, room = 16;
  for (size_t i = 0; i < log->n_items; i++) n_blocks += log->items[i].n_blocks;
  while (room < 2 * n_blocks + 16) room *= 2;
  struct seen seen = {.ids = xalloc(room, sizeof *seen.ids), .room = room};
  for (size_t i = 0; i < room; i++) seen.ids[i] = INT64_MIN;
  for (size_t i = 0; i < log->n_items; i++) {
    const struct logged_request *q = &log->items[i];
    if (q->n_blocks > 0) {
      bool still = true; /* a prefix is reused up to its first new block; ids are of whole prefixes */
      for (size_t k = 0; k < q->n_blocks; k++) {
        still = see(&seen, q->blocks[k]) && still;
        reused += still ? BLOCK_TOKENS : 0;
      }
      all += (double)q->n_blocks * BLOCK_TOKENS;
    } else if (q->cached_tokens >= 0 && q->prompt_tokens > 0) {
      reused += (double)q->cached_tokens;
      all += (double)q->prompt_tokens;
    }
  }
  free(seen.ids);
  return all > 0 ? reused / all : NAN;
}

static void take_gaps(const struct request_log *log, struct profile *p) {
  size_t n = log->n_items - 1;
  double seconds = (double)log->items[n].at_ns / 1e9, mean = seconds / (double)n, squares = 0;
  if (!(seconds > 0)) return;
  p->rate_per_s = (double)n / seconds;
  for (size_t i = 0; i < n; i++) {
    double gap = (double)(log->items[i + 1].at_ns - log->items[i].at_ns) / 1e9 / mean;
    squares += (gap - 1) * (gap - 1) / (double)n;
  }
  p->gap_variation = squares;
  p->n_gaps = n < PROFILE_GAPS_MAX ? n : PROFILE_GAPS_MAX;
  p->gaps = arena_alloc(&p->arena, p->n_gaps, sizeof *p->gaps);
  for (size_t k = 0; k < p->n_gaps; k++) {
    size_t i = thin(n, PROFILE_GAPS_MAX, k);
    p->gaps[k] = (double)(log->items[i + 1].at_ns - log->items[i].at_ns) / 1e9 / mean;
  }
  quantile_sort(p->gaps, p->n_gaps);
}

void profile_of_log(const struct request_log *log, const char *source, const char *taken_at, struct profile *ret) {
  *ret = (struct profile){
      .rate_per_s = NAN, .gap_variation = NAN, .mean_concurrency = NAN, .n_requests = (int64_t)log->n_items, .from = "", .to = ""};
  ret->source = arena_copy(&ret->arena, source);
  ret->taken_at = arena_copy(&ret->arena, taken_at);
  char text[40];
  if (log->first_realtime_ns > 0) {
    ret->from = arena_copy(&ret->arena, clock_text(text, log->first_realtime_ns));
    ret->to = arena_copy(&ret->arena, clock_text(text, log->first_realtime_ns + log->items[log->n_items - 1].at_ns));
  }
  size_t n_known = 0, at = 0;
  for (size_t i = 0; i < log->n_items; i++) n_known += log->items[i].prompt_tokens >= 0 && log->items[i].output_tokens >= 0;
  size_t *known = xalloc(n_known + 1, sizeof *known);
  for (size_t i = 0; i < log->n_items; i++)
    if (log->items[i].prompt_tokens >= 0 && log->items[i].output_tokens >= 0) known[at++] = i;
  ret->n_pairs = n_known < PROFILE_PAIRS_MAX ? n_known : PROFILE_PAIRS_MAX;
  ret->prompt_tokens = arena_alloc(&ret->arena, ret->n_pairs + 1, sizeof(double));
  ret->output_tokens = arena_alloc(&ret->arena, ret->n_pairs + 1, sizeof(double));
  for (size_t k = 0; k < ret->n_pairs; k++) {
    const struct logged_request *q = &log->items[known[thin(n_known, PROFILE_PAIRS_MAX, k)]];
    ret->prompt_tokens[k] = (double)q->prompt_tokens;
    ret->output_tokens[k] = (double)q->output_tokens;
  }
  free(known);
  if (log->n_items > 1) take_gaps(log, ret);
  double busy = 0;
  size_t n_timed = 0;
  for (size_t i = 0; i < log->n_items; i++)
    if (log->items[i].duration_ns >= 0) busy += (double)log->items[i].duration_ns / 1e9, n_timed++;
  if (n_timed > 0 && ret->rate_per_s > 0) ret->mean_concurrency = ret->rate_per_s * busy / (double)n_timed; /* Little's law */
  ret->prefix_reuse = reuse_of(log);
}

/* The middles of the buckets, as often as they were hit, evenly thinned to at most PROFILE_PAIRS_MAX / 4. */
static size_t middles_of(const struct metrics_histogram *before, const struct metrics_histogram *after, double *ret) {
  enum { MOST = PROFILE_PAIRS_MAX / 4 };
  double all = 0, done = 0;
  size_t n = 0;
  bool same = before->n == after->n;
  for (size_t i = 0; i < after->n && same; i++) same = before->bound[i] <= after->bound[i] && before->bound[i] >= after->bound[i];
  for (size_t i = 0; i < after->n; i++) all += after->count[i] - (same ? before->count[i] : 0);
  double scale = all > MOST ? MOST / all : 1;
  for (size_t i = 0; i < after->n; i++) {
    double low = i > 0 ? after->bound[i - 1] : 0, high = isinf(after->bound[i]) ? low : after->bound[i];
    done += (after->count[i] - (same ? before->count[i] : 0)) * scale;
    while ((double)n + 0.5 < done && n < MOST) ret[n++] = (low + high) / 2;
  }
  return n;
}

static void shuffle(double *x, size_t n, const char *purpose) {
  struct random_stream random;
  random_init(&random, 1, purpose);
  for (size_t i = n; i > 1; i--) {
    size_t k = random_below(&random, i);
    double kept = x[i - 1];
    x[i - 1] = x[k];
    x[k] = kept;
  }
}

enum lynx_status profile_of_observation(const struct observation *o, const char *source, const char *taken_at, struct profile *ret,
                                        struct lynx_error *error) {
  static const char *const prompts[] = {"vllm:request_prompt_tokens", "sglang:prompt_tokens_histogram", "tgi_request_input_length"},
                           *const outputs[] = {"vllm:request_generation_tokens", "sglang:generation_tokens_histogram",
                                               "tgi_request_generated_tokens"};
  struct metrics_histogram a, b;
  double finished = metrics_value(o->after, METRICS_FINISHED) - metrics_value(o->before, METRICS_FINISHED);
  *ret = (struct profile){.gap_variation = NAN,
                          .prefix_reuse = NAN,
                          .mean_concurrency = o->mean_in_system,
                          .n_requests = finished > 0 && finished < 9e15 ? (int64_t)finished : 0,
                          .from = "",
                          .to = ""};
  ret->source = arena_copy(&ret->arena, source);
  ret->taken_at = arena_copy(&ret->arena, taken_at);
  ret->gaps = arena_alloc(&ret->arena, 1, sizeof(double));
  if (!(finished > 0) || finished >= 9e15 || !(o->seconds > 0)) {
    profile_release(ret);
    return lynx_fail(
        error, LYNX_INPUT,
        "the server finished no request while it was observed, or restarted meanwhile, or does not count them: observe it for longer");
  }
  ret->rate_per_s = finished / o->seconds;
  double sum = 0, squares = 0;
  for (size_t i = 0; i < o->n_counts; i++) sum += o->counts[i] / (double)o->n_counts;
  for (size_t i = 0; i < o->n_counts; i++) squares += (o->counts[i] - sum) * (o->counts[i] - sum) / (double)o->n_counts;
  if (o->n_counts >= 10 && sum > 0) ret->gap_variation = squares / sum; /* the index of dispersion of counts */
  double hits = metrics_value(o->after, METRICS_CACHE_HITS) - metrics_value(o->before, METRICS_CACHE_HITS),
         queries = metrics_value(o->after, METRICS_CACHE_QUERIES) - metrics_value(o->before, METRICS_CACHE_QUERIES);
  if (queries > 0) ret->prefix_reuse = hits / queries;
  ret->prompt_tokens = arena_alloc(&ret->arena, PROFILE_PAIRS_MAX, sizeof(double));
  ret->output_tokens = arena_alloc(&ret->arena, PROFILE_PAIRS_MAX, sizeof(double));
  size_t n_prompts = 0, n_outputs = 0;
  for (size_t i = 0; i < LYNX_COUNT(prompts) && n_prompts == 0; i++) {
    (void)metrics_histogram(o->before, prompts[i], &a); /* empty before the first request */
    if (metrics_histogram(o->after, prompts[i], &b)) n_prompts = middles_of(&a, &b, ret->prompt_tokens);
    (void)metrics_histogram(o->before, outputs[i], &a);
    if (metrics_histogram(o->after, outputs[i], &b)) n_outputs = middles_of(&a, &b, ret->output_tokens);
  }
  shuffle(ret->prompt_tokens, n_prompts, "observed prompts"); /* which prompt had which output is not known */
  shuffle(ret->output_tokens, n_outputs, "observed outputs");
  ret->n_pairs = n_prompts < n_outputs ? n_prompts : n_outputs;
  return LYNX_OK;
}

static void put_numbers(struct json_writer *json, const char *key, const double *x, size_t n) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < n; i++) json_double(json, number_round(x[i], DIGITS));
  json_close(json);
}

static void put_number(struct json_writer *json, const char *key, double value) {
  json_put_double(json, key, isfinite(value) ? number_round(value, DIGITS) : value);
}

static bool write_profile(const struct profile *p, const char *key, const char *signature, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_int(&json, "lynx_profile", PROFILE_VERSION);
  json_put_text(&json, "source", p->source);
  json_put_text(&json, "taken_at", p->taken_at);
  json_put_text(&json, "from", p->from);
  json_put_text(&json, "to", p->to);
  json_put_int(&json, "n_requests", p->n_requests);
  put_number(&json, "rate_per_s", p->rate_per_s);
  put_number(&json, "gap_variation", p->gap_variation);
  put_number(&json, "mean_concurrency", p->mean_concurrency);
  put_number(&json, "prefix_reuse", p->prefix_reuse);
  put_numbers(&json, "prompt_tokens", p->prompt_tokens, p->n_pairs);
  put_numbers(&json, "output_tokens", p->output_tokens, p->n_pairs);
  put_numbers(&json, "gaps", p->gaps, p->n_gaps);
  if (key != NULL) {
    json_key(&json, "signature");
    json_open_object(&json);
    json_put_text(&json, "algorithm", "Ed25519");
    json_put_text(&json, "key", key);
    json_put_text(&json, "value", signature);
    json_close(&json);
  }
  return json_end_line(&json);
}

bool profile_write(const struct profile *p, struct buffer *ret) {
  return write_profile(p, NULL, NULL, ret);
}

enum lynx_status profile_sign(const struct profile *p, struct bytes private_pem, struct buffer *ret, struct lynx_error *error) {
  char key[SIGNATURE_KEY_HEX], value[SIGNATURE_HEX];
  struct buffer message;
  buffer_init(&message, 16 << 20);
  enum lynx_status status = profile_write(p, &message) ? LYNX_OK : lynx_fail(error, LYNX_LIMIT, "no memory to write the profile");
  if (status == LYNX_OK) status = signature_make(private_pem, (struct bytes){message.data, message.length}, key, value, error);
  if (status == LYNX_OK && !write_profile(p, key, value, ret)) status = lynx_fail(error, LYNX_LIMIT, "no memory to write the profile");
  buffer_release(&message);
  return status;
}

/* What was read says the same again, without the signature: that is what was signed. */
static bool signature_is_of(const struct profile *p, const char *key, const char *value) {
  struct buffer message;
  buffer_init(&message, 16 << 20);
  bool holds = profile_write(p, &message) && signature_holds(key, value, (struct bytes){message.data, message.length});
  buffer_release(&message);
  return holds;
}

static double *read_numbers(struct profile *p, const json_t *root, const char *key, size_t most, size_t *ret_n) {
  const json_t *array = json_object_get(root, key);
  size_t n = json_array_size(array);
  if (!json_is_array(array) || n > most) return NULL;
  double *x = arena_alloc(&p->arena, n + 1, sizeof *x);
  for (size_t i = 0; i < n; i++) {
    const json_t *value = json_array_get(array, i);
    if (!json_is_number(value) || !(json_number_value(value) >= 0) || json_number_value(value) > 1e12) return NULL;
    x[i] = json_number_value(value);
  }
  *ret_n = n;
  return x;
}

enum lynx_status profile_read(const char *text, size_t length, struct profile *ret, struct lynx_error *error) {
  *ret = (struct profile){0};
  json_t *root = json_parse(text, length, 16 << 20, error);
  if (root == NULL) return lynx_fail(error, LYNX_INPUT, "not a profile");
  size_t n_outputs = 0;
  bool good = json_get_int(root, "lynx_profile", 0) == PROFILE_VERSION;
  ret->source = arena_copy(&ret->arena, json_get_text(root, "source", ""));
  ret->taken_at = arena_copy(&ret->arena, json_get_text(root, "taken_at", ""));
  ret->from = arena_copy(&ret->arena, json_get_text(root, "from", ""));
  ret->to = arena_copy(&ret->arena, json_get_text(root, "to", ""));
  ret->n_requests = json_get_int(root, "n_requests", 0);
  ret->rate_per_s = json_get_double(root, "rate_per_s", NAN);
  ret->gap_variation = json_get_double(root, "gap_variation", NAN);
  ret->mean_concurrency = json_get_double(root, "mean_concurrency", NAN);
  ret->prefix_reuse = json_get_double(root, "prefix_reuse", NAN);
  ret->prompt_tokens = read_numbers(ret, root, "prompt_tokens", PROFILE_PAIRS_MAX, &ret->n_pairs);
  ret->output_tokens = read_numbers(ret, root, "output_tokens", PROFILE_PAIRS_MAX, &n_outputs);
  ret->gaps = read_numbers(ret, root, "gaps", PROFILE_GAPS_MAX, &ret->n_gaps);
  good = good && ret->prompt_tokens != NULL && ret->output_tokens != NULL && ret->gaps != NULL && n_outputs == ret->n_pairs;
  const json_t *signature = json_object_get(root, "signature");
  const char *key = arena_copy(&ret->arena, json_get_text(signature, "key", "")),
             *value = arena_copy(&ret->arena, json_get_text(signature, "value", ""));
  bool carries = signature != NULL;
  json_decref(root);
  if (good) quantile_sort(ret->gaps, ret->n_gaps);
  ret->signed_by = "";
  if (good && carries && !signature_is_of(ret, key, value)) {
    profile_release(ret);
    return lynx_fail(error, LYNX_INPUT, "the signature is not of this profile: it was changed after it was signed");
  }
  if (good && carries) ret->signed_by = key;
  if (good) return LYNX_OK;
  profile_release(ret);
  return lynx_fail(error, LYNX_INPUT, "not a profile of version %d, as `lynxbench profile` writes it", PROFILE_VERSION);
}

void profile_release(struct profile *profile) {
  arena_release(&profile->arena);
  *profile = (struct profile){0};
}

static double distance_of(const double *a, size_t n_a, const double *b, size_t n_b) {
  double *x = xalloc(n_a + 1, sizeof *x), *y = xalloc(n_b + 1, sizeof *y);
  for (size_t i = 0; i < n_a; i++) x[i] = a[i];
  for (size_t i = 0; i < n_b; i++) y[i] = b[i];
  quantile_sort(x, n_a);
  quantile_sort(y, n_b);
  double d = distance_ks(x, n_a, y, n_b);
  free(x);
  free(y);
  return d;
}

struct profile_distance profile_compare(const struct profile *run, const struct profile *real) {
  return (struct profile_distance){
      .prompt_length = distance_of(run->prompt_tokens, run->n_pairs, real->prompt_tokens, real->n_pairs),
      .output_length = distance_of(run->output_tokens, run->n_pairs, real->output_tokens, real->n_pairs),
      .arrivals = distance_of(run->gaps, run->n_gaps, real->gaps, real->n_gaps),
      .concurrency_ratio = real->mean_concurrency > 0 ? run->mean_concurrency / real->mean_concurrency : NAN,
      .prefix_reuse = fabs(run->prefix_reuse - real->prefix_reuse),
  };
}
