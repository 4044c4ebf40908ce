/* Figures from rows that were made by hand: every value below can be checked with a pencil. */
#include <stdlib.h>
#include <unistd.h>

#include "load/engine.h"
#include "load/events.h"
#include "result/claim.h"
#include "tests/check.h"

enum { SECOND = 1000000000 };

static const char contract[] =
    "lynxbench: 1\nname: made\nexecutor: {endpoint: \"http://h:1\", expect: {accelerator.cpu.model: X}}\nworkload: {model: m, "
    "output_tokens: 4, "
    "continuous_usage: true}\nregime: {load: closed, concurrency: 4}\n"
    "slo: [{metric: time_to_first_token, quantile: 0.5, at_most: 30ms}]\nprecisions: [f32]\naccuracy: {text_file: x, reference: "
    "f32, at_least_ratio: 0.99}\nmethod: {warm_up: 1s, counted: 2s, sessions: 6, steady: reported, failures_at_most: 0.2, "
    "instrument_error_at_most: "
    "0.03}\n"
    "checks: [length, usage, first_token]\n";

static void add(struct bundle *b, int64_t session, int64_t id, int64_t at, enum phase phase, enum outcome outcome, int64_t ttft,
                int64_t late) {
  struct buffer events;
  buffer_init(&events, 1000);
  int64_t written = at + late, before = 0;
  for (int i = 0; i < 4 && outcome == OUTCOME_OK; i++) { /* tokens at ttft, +10 ms, +20 ms, +30 ms */
    struct answer_event event = {.at_ns = ttft - late + i * 10000000, .n_tokens = 1, .n_bytes = 1, .carries_text = true};
    CHECK(events_append(&events, before, &event));
    before = event.at_ns;
  }
  bool ok = outcome == OUTCOME_OK;
  struct bundle_request r = {.session = session,
                             .id = id,
                             .phase = phase,
                             .outcome = outcome,
                             .reason = "",
                             .http_status = ok ? 200 : 500,
                             .scheduled_ns = at,
                             .issued_ns = at + late,
                             .written_ns = written,
                             .first_byte_ns = at + ttft,
                             .first_token_ns = ok ? at + ttft : -1,
                             .first_answer_ns = -1,
                             .first_tool_call_ns = -1,
                             .last_token_ns = ok ? at + ttft + 30000000 : -1,
                             .end_ns = at + ttft + 31000000,
                             .prompt_tokens = 7,
                             .output_tokens = ok ? 4 : -1,
                             .n_text_events = ok ? 4 : 0,
                             .read_lag_ns = 1000,
                             .events = events.data,
                             .events_length = events.length};
  bundle_put_request(b, &r);
  buffer_release(&events);
}

static void make(const char *path, bool with_failure, int64_t late, const char *cpu, bool complete, char root[DIGEST_HEX]) {
  struct bundle *b;
  struct lynx_error e = {0};
  struct fact_list facts = {0};
  (void)unlink(path);
  CHECK_INT(bundle_create(path, &b, &e), LYNX_OK);
  bundle_put_meta(b, "contract", contract);
  bundle_put_meta(b, "intended_at", "1970-01-01T00:00:00.000Z");
  bundle_put_event(b, 0, EVENT_INTENT, "the run was started");
  bundle_put_input(b, 0, "prompt", 6);
  fact_add(&facts,
           &(struct fact){
               .layer = LAYER_ACCELERATOR, .kind = FACT_IDENTITY, .status = FACT_READ, .key = "cpu.model", .value = cpu, .source = "test"});
  bundle_put_facts(b, "start:f32", &facts);
  for (int64_t s = 0; s < 6; s++) {
    bundle_put_session(b, &(struct bundle_session){.id = s,
                                                   .precision = "f32",
                                                   .index = s,
                                                   .executor = EXECUTOR_ALREADY_RUNNING,
                                                   .end = SESSION_COMPLETE,
                                                   .why = "",
                                                   .warm_up_ns = SECOND,
                                                   .counted_ns = 2 * (int64_t)SECOND,
                                                   .schedule_digest = "",
                                                   .purpose = PURPOSE_MEASURE,
                                                   .concurrency = 4,
                                                   .executed_json = "{\"executed\":\"f32\",\"status\":\"native\",\"primitive\":\"p\"}",
                                                   .instrument_json = "{\"threads\":1,\"cpu_ns\":1,\"wall_ns\":3000000000}"});
    add(b, s, 0, 0, PHASE_WARM_UP, OUTCOME_OK, 20000000, late);
    for (int64_t i = 0; i < 10; i++)
      add(b, s, 1 + i, SECOND + i * 100000000, PHASE_COUNTED, with_failure && i == 3 ? OUTCOME_HTTP_STATUS : OUTCOME_OK,
          20000000 + i * 1000000, late);
    add(b, s, 11, 3 * (int64_t)SECOND, PHASE_TAIL, OUTCOME_OK, 20000000, late);
    bundle_put_accuracy(b, s, 0, "bits", 500, 250);
    bundle_put_accuracy(b, s, 1, "bits", 520, 250);
  }
  CHECK_INT(bundle_seal(b, complete ? BUNDLE_COMPLETE : BUNDLE_INTERRUPTED, "test", root, &e), LYNX_OK);
  bundle_close(b);
  fact_list_release(&facts);
}

static void open_result(const char *path, struct bundle **b, struct result *r) {
  struct bundle_seal_info seal;
  struct lynx_error e = {0};
  CHECK_INT(bundle_open(path, b, &seal, &e), LYNX_OK);
  CHECK_INT(result_compute(*b, &seal, r, &e), LYNX_OK);
}

static bool refused_for(const struct claim *claim, const char *why) {
  for (size_t i = 0; i < claim->n_reasons; i++)
    if (strstr(claim->reasons[i], why) != NULL) return true;
  return false;
}

static void figures(const char *path) {
  struct bundle *b;
  struct result r;
  struct claim claim;
  char root[DIGEST_HEX];
  make(path, true, 500000, "X", true, root);
  open_result(path, &b, &r);
  const struct result_precision *p = &r.precisions[0];
  CHECK_INT(p->n_counted, 60);
  CHECK_INT(p->n_ok, 54);
  CHECK_INT(p->outcomes[OUTCOME_HTTP_STATUS], 6);
  CHECK_INT(p->n_warm_up, 6);
  CHECK_INT(p->n_tail, 6);
  CHECK_NEAR(p->failure_share, 0.1, 1e-15);
  /* 9 answers of 4 tokens in 2 s of window, all of them inside: 18 tokens/s, the same in every session. */
  CHECK_NEAR(p->output_rate.estimate, 18, 1e-12);
  /* No finer than one answer of 4 tokens in 2 s, however alike the sessions are. */
  CHECK_NEAR(p->output_rate.low, 16, 1e-12);
  /* 9 of 10 met the 30 ms objective: 4.5 good answers per second. */
  CHECK_NEAR(p->goodput.estimate, 4.5, 1e-12);
  /* TTFT from the scheduled time: 20..29 ms but one infinite. Sorted: the median is the 30th of 60: 25 ms. */
  CHECK_INT(p->latency[METRIC_TIME_TO_FIRST_TOKEN].n, 60);
  CHECK_INT(p->latency[METRIC_TIME_TO_FIRST_TOKEN].n_infinite, 6);
  CHECK_NEAR(p->latency[METRIC_TIME_TO_FIRST_TOKEN].at[0].quantile.estimate, 25000000, 0);
  CHECK(isinf(p->latency[METRIC_TIME_TO_FIRST_TOKEN].at[3].quantile.estimate));              /* the p99 is a failure */
  CHECK_NEAR(p->latency[METRIC_TIME_PER_OUTPUT_TOKEN].at[0].quantile.estimate, 10000000, 0); /* 30 ms / (4 - 1) */
  CHECK_INT(p->latency[METRIC_INTER_TOKEN_LATENCY].n, 54 * 3);
  CHECK_NEAR(p->latency[METRIC_INTER_TOKEN_LATENCY].at[0].quantile.estimate, 10000000, 0);
  CHECK_NEAR(p->latency[METRIC_END_TO_END].at[0].quantile.estimate, 56000000, 0);
  CHECK_NEAR(p->send_lag.p99, 500000, 0);
  CHECK(!p->instrument_limited);
  CHECK_NEAR(p->accuracy.estimate, 1020.0 / 500, 1e-12);
  CHECK_NEAR(p->accuracy_ratio, 1, 1e-12);
  CHECK_INT(p->objectives[0].verdict, OBJECTIVE_HOLDS);
  claim_build(&r, 0, &claim);
  CHECK(claim.sentence != NULL && claim.n_reasons == 0);
  CHECK_CONTAINS(claim.sentence, "18.00 tokens/s");
  CHECK_CONTAINS(claim.sentence, "10 % of 60 counted requests failed");
  CHECK_CONTAINS(claim.sentence, "representativeness unknown");
  /* The same bytes twice. */
  struct buffer one, two;
  struct result again;
  struct bundle *b2;
  buffer_init(&one, 1 << 20);
  buffer_init(&two, 1 << 20);
  open_result(path, &b2, &again);
  CHECK(result_write(&r, &one) && result_write(&again, &two));
  CHECK_TEXT(two.data, one.data);
  CHECK_CONTAINS(one.data, "\"estimate\":\"infinite\"");
  buffer_release(&one);
  buffer_release(&two);
  result_release(&again);
  bundle_close(b2);
  result_release(&r);
  bundle_close(b);
}

static void refusals(const char *path) {
  struct bundle *b;
  struct result r;
  struct claim claim;
  char root[DIGEST_HEX];
  make(path, false, 2000000, "Y", false, root);
  open_result(path, &b, &r);
  claim_build(&r, 0, &claim);
  CHECK(claim.sentence == NULL);
  CHECK(refused_for(&claim, "interrupted"));
  CHECK(refused_for(&claim, "instrument-limited"));
  CHECK(refused_for(&claim, "cpu.model"));
  CHECK(!refused_for(&claim, "failed"));
  result_release(&r);
  bundle_close(b);
}

int main(void) {
  char dir[] = "/tmp/lynx-result-XXXXXX", path[64];
  CHECK(mkdtemp(dir) != NULL);
  (void)snprintf(path, sizeof path, "%s/a.lynx", dir);
  figures(path);
  refusals(path);
  (void)unlink(path);
  (void)rmdir(dir);
  return check_end();
}
