#include "measure/run_record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/random.h"
#include "base/secret.h"
#include "telemetry/metrics.h"

void run_note(const struct run *run, const char *text) {
  if (run->request->note != NULL) run->request->note(run->request->context, text);
}

int64_t run_realtime(const struct run *run) {
  return run->request->clock->realtime_ns(run->request->clock->context);
}

void run_put_event(struct run *run, enum event_kind kind, const char *text) {
  bundle_put_event(run->bundle, run_realtime(run), kind, secret_mask(arena_copy(&run->arena, text)));
}

void run_show_step(const struct run *run, const char *step, const char *precision) {
  struct run_progress progress = {
      .step = step, .precision = precision, .session = run->next_session, .n_sessions = run->n_sessions_planned};
  if (run->request->progress != NULL) run->request->progress(run->request->context, &progress);
}

bool run_only_observes(const struct run *run) {
  return run->request->observation.on || run->contract.regime.load == LOAD_OBSERVED;
}

bool run_is_over(const struct run *run) {
  if (atomic_load(run->request->stop) != 0 || run->outcome->aborted_by_slo) return true;
  int64_t budget = run->contract.method.budget_ns;
  return contract_states(&run->contract, "method.budget") && clock_now(run->request->clock) - run->begun_ns > budget;
}

/* --- before anything is sent --- */

static void put_references(struct run *run) {
  for (size_t i = 0; i < run->inputs.n_items && run->inputs.references != NULL; i++)
    bundle_put_answer(run->bundle, BUNDLE_REFERENCES, (int64_t)i, run->inputs.references[i], strlen(run->inputs.references[i]));
}

/* A file that the figures depend on goes into the record whole. */
static enum lynx_status put_file(struct run *run, const char *key, const char *path) {
  if (path == NULL) return LYNX_OK;
  struct buffer text;
  enum lynx_status status = inputs_read_text(path, &text, run->error);
  if (status == LYNX_OK) bundle_put_meta(run->bundle, key, text.data);
  buffer_release(&text);
  return status;
}

/* A prompt as it was sent, with the digest of its picture; or, withheld, a salted digest of both: who has them can show that they match. */
static enum lynx_status put_input(struct run *run, size_t index) {
  const struct driver_input *input = &run->inputs.items[index];
  char hex[DIGEST_HEX], salt_hex[33];
  uint8_t salt[16], sum[DIGEST_BYTES];
  struct digest digest = {{0}};
  size_t n_image = input->image != NULL ? strlen(input->image) : 0;
  if (!run->contract.workload.prompts.withhold && input->image == NULL) {
    bundle_put_input(run->bundle, (int64_t)index, input->prompt, input->length);
    return LYNX_OK;
  }
  digest_init(&digest);
  const char *text;
  if (run->contract.workload.prompts.withhold) {
    if (!random_salt(salt, sizeof salt)) return lynx_fail(run->error, LYNX_MACHINE, "no random bytes to withhold prompts with");
    digest_update(&digest, salt, sizeof salt);
    digest_update(&digest, input->prompt, input->length);
    digest_update(&digest, input->image != NULL ? input->image : "", n_image);
    digest_final(&digest, sum);
    text = arena_printf(&run->arena, "withheld: %zu bytes of text, %zu of a picture; salt %s, SHA-256 of salt, text and picture %s",
                        input->length, n_image, hex_encode(salt, sizeof salt, salt_hex), digest_hex(sum, hex));
    bundle_put_input(run->bundle, (int64_t)index, text, strlen(text));
    return LYNX_OK;
  }
  digest_update(&digest, input->image, n_image);
  digest_final(&digest, sum);
  struct buffer whole;
  buffer_init(&whole, input->length + 256);
  bool fits = buffer_append(&whole, input->prompt, input->length) &&
              buffer_printf(&whole, "\n[and a picture: a data URL of %zu bytes, SHA-256 %s]", n_image, digest_hex(sum, hex));
  lynx_assert(fits); /* 256 bytes are more than that takes */
  bundle_put_input(run->bundle, (int64_t)index, whole.data, whole.length);
  buffer_release(&whole);
  return LYNX_OK;
}

/* By itself a part shows a part of the load: nothing can be claimed from it. */
static void put_part(struct run *run) {
  const struct run_part *part = &run->request->part;
  struct buffer text;
  buffer_init(&text, 4096);
  part_write(part, &text);
  bundle_put_meta(run->bundle, "part", text.data);
  buffer_release(&text);
  run_put_event(run, EVENT_PART,
                arena_printf(&run->arena, "part %lld of %lld: `lynxbench merge` makes the whole of all of them", (long long)part->number,
                             (long long)part->count));
}

enum lynx_status run_put_intent(struct run *run) {
  char now[40], host[128] = "";
  (void)gethostname(host, sizeof host - 1); /* an unnamed host stays unnamed */
  const struct {
    const char *key, *value;
  } meta[] = {{"format", "lynx bundle 4"},
              {"tool", "lynxbench " LYNX_VERSION},
              {"contract", NULL},
              {"contract_digest", run->contract_digest},
              {"intended_at", clock_text(now, run_realtime(run))},
              {"host", host},
              {"answers", driver_answers_text(run->driver->answers)}};
  char *contract = arena_text(&run->arena, run->request->contract_text, run->request->contract_length);
  for (size_t i = 0; i < LYNX_COUNT(meta); i++) bundle_put_meta(run->bundle, meta[i].key, meta[i].value != NULL ? meta[i].value : contract);
  if (run->request->endpoint != NULL) bundle_put_meta(run->bundle, "endpoint", run->request->endpoint);
  for (size_t i = 0; i < run->request->n_meta; i++) bundle_put_meta(run->bundle, run->request->meta[i].key, run->request->meta[i].value);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < run->inputs.n_items && status == LYNX_OK; i++) status = put_input(run, i);
  if (status == LYNX_OK) status = put_file(run, "profile", run->contract.workload.profile_file);
  if (status != LYNX_OK) return status;
  put_references(run);
  if (run->request->calibration != NULL) bundle_put_meta(run->bundle, "calibration", run->request->calibration);
  if (run->request->envelope != NULL) bundle_put_meta(run->bundle, "envelope", run->request->envelope);
  if (run->request->interleaved != NULL) bundle_put_meta(run->bundle, "interleaved", run->request->interleaved);
  if (run->inputs.note != NULL) {
    run_note(run, run->inputs.note);
    run_put_event(run, EVENT_INPUTS, run->inputs.note);
  }
  if (run->request->part.count > 0) put_part(run);
  run_put_event(run, EVENT_INTENT, "the run was started");
  return bundle_commit(run->bundle, run->error);
}

/* --- while it goes on --- */

void run_put_metrics(struct run *run, int64_t session, int64_t at_ns) {
  struct bytes page = {run->metrics.data, run->metrics.length};
  for (int i = 0; i < METRICS_COUNT; i++) {
    double value = metrics_value(page, (enum metrics_series)i);
    if (!isnan(value)) bundle_put_sample(run->bundle, session, at_ns, metrics_series_text((enum metrics_series)i), value);
  }
  double hits = metrics_value(page, METRICS_CACHE_HITS), queries = metrics_value(page, METRICS_CACHE_QUERIES);
  /* Of what was looked up since the reading before; counters that went back are of a server that was restarted. */
  if (queries > run->cache_queries && hits >= run->cache_hits && run->cache_queries > 0)
    bundle_put_sample(run->bundle, session, at_ns, "server.cache_hit_ratio", (hits - run->cache_hits) / (queries - run->cache_queries));
  run->cache_queries = queries;
  run->cache_hits = hits;
}

/* "-1" is a value, "--x" the next argument. */
static bool is_value(const char *word) {
  char *end;
  if (word[0] != '-') return true;
  (void)strtod(word, &end);
  return word[1] != 0 && *end == 0;
}

void run_set_argument(struct run *run, const char *argument) {
  struct text_list *command = &run->contract.executor.start.command;
  const char *name = arena_text(&run->arena, argument, strcspn(argument, "=")), *value = strchr(argument, '=');
  const char **items = arena_alloc(&run->arena, command->n_items + 1, sizeof *items);
  size_t n = 0, length = strlen(name);
  bool found = false, ended = false;
  for (size_t i = 0; i < command->n_items; i++) {
    const char *word = command->items[i];
    bool ends = !ended && strcmp(word, "--") == 0;
    if (ends && !found) items[n++] = argument;
    ended = ended || ends;
    found = found || ends;
    bool whole = !ended && strcmp(word, name) == 0, joined = !ended && strncmp(word, name, length) == 0 && word[length] == '=';
    found = found || whole || joined;
    items[n++] = whole || joined ? argument : word;
    if (whole && value != NULL && i + 1 < command->n_items && is_value(command->items[i + 1])) i++; /* its old value */
  }
  if (!found) items[n++] = argument;
  *command = (struct text_list){.items = items, .n_items = n};
}

void run_add_environment(struct run *run, const char *const *more) {
  struct text_list *environment = &run->contract.executor.start.environment;
  size_t n = 0;
  while (more != NULL && more[n] != NULL) n++;
  if (n == 0) return;
  const char **items = arena_alloc(&run->arena, n + environment->n_items, sizeof *items);
  for (size_t i = 0; i < n; i++) items[i] = more[i];
  for (size_t i = 0; i < environment->n_items; i++) items[n + i] = environment->items[i];
  *environment = (struct text_list){.items = items, .n_items = n + environment->n_items};
}
