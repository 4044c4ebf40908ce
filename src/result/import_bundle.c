#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "contract/contract.h"
#include "load/driver.h"
#include "load/events.h"
#include "record/bundle.h"
#include "result/import_result.h"

static void put_words(struct bundle *bundle, int64_t now, const char *const *texts, size_t n, const char *before, struct arena *arena) {
  for (size_t i = 0; i < n; i++) bundle_put_event(bundle, now, EVENT_CONDITION, arena_printf(arena, "%s%s", before, texts[i]));
}

/* YAML's quoted text of plain letters: what a file says of itself is no structure. */
static const char *quoted(struct arena *arena, const char *text) {
  char *copy = arena_printf(arena, "\"%.100s\"", text);
  for (char *p = copy + 1; p[0] != 0 && p[1] != 0; p++)
    if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\') *p = '?';
  return copy;
}

static const char *regime_of(struct arena *arena, const struct imported *m) {
  if (m->rate_per_s > 0) return arena_printf(arena, "{load: %s, rate_per_s: %.9g}", m->poisson ? "poisson" : "constant", m->rate_per_s);
  if (m->concurrency > 0) return arena_printf(arena, "{load: closed, concurrency: %lld}", (long long)m->concurrency);
  return arena_printf(arena, "{load: offline, batch: %zu}", m->n_requests > 0 ? m->n_requests : 1);
}

/* usual: nothing of the file's own. */
static const char *contract_words(struct arena *arena, const struct imported *m, bool usual, double seconds) {
  const char *endpoint = usual || m->endpoint[0] == 0 ? "http://not.stated" : m->endpoint,
             *model = usual || m->model[0] == 0 ? "not stated" : m->model;
  return arena_printf(arena,
                      "# Written by `lynxbench import` from what a file of %s says: nobody agreed to it, and it cannot be run as it is.\n"
                      "lynxbench: 1\nname: %s\nexecutor: {endpoint: %s}\nworkload: {model: %s}\nregime: %s\n"
                      "method: {warm_up: 0s, counted: %.3fs, sessions: 1, steady: reported}\nchecks: [failures]\n",
                      m->reader, quoted(arena, usual ? "imported" : m->tool), quoted(arena, endpoint), quoted(arena, model),
                      usual ? "{load: closed, concurrency: 1}" : regime_of(arena, m), fmin(fmax(seconds, 0.1), 259200));
}

/* What a file says of its load may be nothing that a contract can say: then it says the least. NULL: not even that can be said. */
static const char *contract_of(struct arena *arena, const struct imported *m, double seconds, char ret_digest[DIGEST_HEX],
                               bool *ret_usual) {
  struct contract contract;
  struct problem_list problems;
  for (int usual = 0; usual < 2; usual++) {
    const char *words = contract_words(arena, m, usual == 1, seconds);
    *ret_usual = usual == 1;
    if (contract_parse(words, strlen(words), arena, &contract, &problems) != LYNX_OK) continue;
    contract_digest(&contract, ret_digest);
    return words;
  }
  return NULL;
}

void import_json(const struct imported *m, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "format", m->reader);
  json_put_text(json, "tool", m->tool);
  json_put_text(json, "version", m->version);
  json_key(json, "files");
  json_open_array(json);
  for (size_t i = 0; i < m->n_files; i++) {
    json_open_object(json);
    json_put_text(json, "name", m->files[i].name);
    json_put_text(json, "sha256", m->files[i].digest);
    json_close(json);
  }
  json_close(json);
  json_key(json, "figures");
  json_open_array(json);
  for (size_t i = 0; i < m->n_figures; i++) {
    const struct import_figure *f = &m->figures[i];
    json_open_object(json);
    json_put_text(json, "figure", f->name);
    json_put_text(json, "formula", f->formula);
    json_put_text(json, "unit", f->unit);
    json_put_double(json, "stated", f->stated);
    json_put_double(json, "recomputed", f->recomputed);
    json_close(json);
  }
  json_close(json);
  json_put_texts(json, "against", m->against, m->n_against);
  json_put_texts(json, "lacks", m->lacks, m->n_lacks);
  json_close(json);
}

static bool write_figures(const struct imported *m, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  import_json(m, &json);
  return json_finish(&json);
}

static int64_t to_ns(double seconds, double from) {
  double ns = (seconds - from) * 1e9;
  return isnan(ns) ? -1 : ns < 0 ? 0 : ns > 9e18 ? INT64_MAX / 4 : (int64_t)(ns + 0.5);
}

/* When each token came is not known, but for the first and the last: two events, or one, which the whole count is spread over. */
static bool put_events(struct buffer *events, int64_t start, int64_t first, int64_t last) {
  const struct answer_event early = {.at_ns = first - start, .n_tokens = 1, .carries_text = true},
                            late = {.at_ns = last - start, .n_tokens = 1, .carries_text = true};
  bool both = first >= start && last > first;
  if (both) return events_append(events, 0, &early) && events_append(events, early.at_ns, &late);
  return events_append(events, 0, first >= start ? &early : &late);
}

static void put_request(struct bundle *bundle, const struct imported *m, size_t i, double from) {
  const struct import_request *r = &m->requests[i];
  bool answered = r->ok && r->output_tokens > 0;
  int64_t start = to_ns(r->start_s, from), end = to_ns(r->end_s, from), first = answered ? to_ns(r->first_token_s, from) : -1,
          last = isnan(r->last_token_s) || first < 0 ? end : to_ns(r->last_token_s, from);
  struct buffer events;
  buffer_init(&events, 64);
  if (answered) (void)put_events(&events, start, first, last); /* a few bytes fit */
  const struct bundle_request row = {.session = 1,
                                     .id = (int64_t)i,
                                     .phase = PHASE_COUNTED,
                                     .outcome = r->ok ? OUTCOME_OK : OUTCOME_EXECUTOR,
                                     .reason = r->reason,
                                     .http_status = -1,
                                     .input = -1,
                                     .scheduled_ns = start,
                                     .issued_ns = start,
                                     .written_ns = start,
                                     .first_byte_ns = first,
                                     .first_token_ns = first,
                                     .first_answer_ns = first,
                                     .first_tool_call_ns = -1,
                                     .last_token_ns = first >= 0 ? last : -1,
                                     .end_ns = end,
                                     .prompt_tokens = r->prompt_tokens,
                                     .output_tokens = r->output_tokens,
                                     .n_text_events = !answered                    ? 0
                                                      : first >= 0 && last > first ? 2
                                                                                   : 1,
                                     .read_lag_ns = -1,
                                     .events = events.data != NULL ? events.data : "",
                                     .events_length = events.length};
  bundle_put_request(bundle, &row);
  buffer_release(&events);
}

enum lynx_status import_write(const struct imported *m, const char *path, char ret_root[DIGEST_HEX], struct lynx_error *error) {
  struct arena arena = {0};
  struct bundle *bundle = NULL;
  struct buffer figures;
  double from = INFINITY, to = -INFINITY;
  for (size_t i = 0; i < m->n_requests; i++) {
    from = fmin(from, m->requests[i].start_s);
    to = fmax(to, m->requests[i].end_s);
  }
  double seconds = m->n_requests > 0 && to > from ? to - from : m->seconds > 0 ? m->seconds : 1;
  int64_t now = clock_system.realtime_ns(clock_system.context);
  buffer_init(&figures, 16 << 20);
  char digest[DIGEST_HEX];
  bool usual;
  const char *text = contract_of(&arena, m, seconds, digest, &usual);
  enum lynx_status status = text != NULL && write_figures(m, &figures)
                                ? LYNX_OK
                                : lynx_fail(error, LYNX_INPUT, "its words are more than a bundle holds");
  const struct {
    const char *key, *value;
  } meta[] = {{"format", "lynx bundle 4"},
              {"tool", "lynxbench " LYNX_VERSION},
              {"contract", text},
              {"contract_digest", digest},
              {"imported", figures.data != NULL ? figures.data : "{}"}};
  const struct bundle_session session = {.id = 1,
                                         .precision = "as-served",
                                         .purpose = PURPOSE_MEASURE,
                                         .rate_per_s = m->rate_per_s,
                                         .concurrency = m->concurrency,
                                         .executor = EXECUTOR_ALREADY_RUNNING,
                                         .end = m->n_requests > 0 ? SESSION_COMPLETE : SESSION_UNAVAILABLE,
                                         .why = m->n_requests > 0 ? "" : "the import holds no requests",
                                         .start_realtime_ns = now,
                                         .counted_ns = to_ns(seconds, 0) + 1,
                                         .schedule_digest = "",
                                         .executed_json = "",
                                         .instrument_json = ""};
  if (status == LYNX_OK) status = bundle_create(path, &bundle, error);
  if (status == LYNX_OK) {
    for (size_t i = 0; i < LYNX_COUNT(meta); i++) bundle_put_meta(bundle, meta[i].key, meta[i].value);
    bundle_put_event(bundle, now, EVENT_CONDITION,
                     arena_printf(&arena, "imported from %s %s: it was not measured by lynxbench", m->tool, m->version));
    put_words(bundle, now, m->against, m->n_against, "against it: ", &arena);
    put_words(bundle, now, m->lacks, m->n_lacks, "", &arena);
    if (usual)
      bundle_put_event(bundle, now, EVENT_CONDITION, "what its file says of model and load fits no contract: the bundle's says neither");
    bundle_put_session(bundle, &session);
    for (size_t i = 0; i < m->n_requests; i++) put_request(bundle, m, i, from);
    status = bundle_seal(bundle, BUNDLE_COMPLETE, "imported", ret_root, error);
  }
  bundle_close(bundle);
  buffer_release(&figures);
  arena_release(&arena);
  return status;
}
