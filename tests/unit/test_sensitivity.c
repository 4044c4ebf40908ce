/* What blocks say, where an answer holds tokens and no text: it says how many, not when. And what stands first of what they say. */
#include "experiment/sensitivity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/perturber_table.h"
#include "load/events.h"
#include "report/sensitivity_report.h"
#include "tests/check.h"

enum { CYCLES = 6, TOKENS_EACH = 10 };
static const int64_t second = 1000000000, block_ns = 12000000000;

static char dir[64], path[128];
static bool in_one_piece;      /* answers without text come whole, at their end */
static int64_t n_stalled = 0;  /* of the slowed blocks, the first ones: nothing is answered in them */
static int64_t of_cycle = 2;   /* blocks; every second one is undisturbed */
static int64_t drift_ns = 0;   /* by which a request takes longer in each further block */
static int64_t in_step_ns = 0; /* by which it takes longer in the undisturbed blocks that are the control's */

/* One request after another for a block's time; every third one, or all, without text. Its tokens with text come in its middle. */
static void put_requests(struct bundle *b, int64_t *id, int64_t from, int64_t each_ns, int64_t silent_of_three) {
  for (int64_t at = from; at + each_ns <= from + block_ns; at += each_ns) {
    bool silent = *id % 3 < silent_of_three;
    struct buffer events;
    buffer_init(&events, 100);
    if (!silent) {
      const struct answer_event event = {.at_ns = each_ns / 2, .n_tokens = 1, .n_bytes = 4, .carries_text = true};
      CHECK(events_append(&events, 0, &event));
    }
    int64_t text_ns = silent ? -1 : at + each_ns / 2;
    bundle_put_request(b, &(struct bundle_request){.id = (*id)++,
                                                   .phase = PHASE_COUNTED,
                                                   .outcome = OUTCOME_OK,
                                                   .reason = "",
                                                   .http_status = 200,
                                                   .scheduled_ns = at,
                                                   .issued_ns = at,
                                                   .written_ns = at,
                                                   .first_byte_ns = silent && in_one_piece ? at + each_ns - 1 : at,
                                                   .first_token_ns = text_ns,
                                                   .first_answer_ns = -1,
                                                   .first_tool_call_ns = -1,
                                                   .last_token_ns = text_ns,
                                                   .end_ns = at + each_ns - 1,
                                                   .prompt_tokens = 1,
                                                   .output_tokens = TOKENS_EACH,
                                                   .n_text_events = !silent,
                                                   .read_lag_ns = 0,
                                                   .events = events.data,
                                                   .events_length = events.length});
    buffer_release(&events);
  }
}

static void put_block(struct bundle *b, int64_t number, const char *target, double slowness, int64_t from_ns) {
  bundle_put_block(b, &(struct bundle_block){.number = number,
                                             .cycle = number / of_cycle,
                                             .target = target,
                                             .asked = slowness,
                                             .given = slowness,
                                             .from_ns = from_ns,
                                             .to_ns = from_ns + block_ns,
                                             .running_ns = -1,
                                             .ready_ns = -1});
}

/* In the slowed blocks a request takes 1.5 s, not 1 s, of a resource that is twice as slow. */
static void read_of(int64_t silent_of_three, struct sensitivities *ret) {
  struct lynx_error error = {0};
  struct bundle *b;
  struct bundle_seal_info seal;
  char root[DIGEST_HEX];
  const struct contract contract = {.workload = {.stream = true}};
  (void)unlink(path);
  CHECK_INT(bundle_create(path, &b, &error), LYNX_OK);
  bundle_put_session(b, &(struct bundle_session){.precision = "f32",
                                                 .purpose = PURPOSE_PERTURB,
                                                 .concurrency = 1,
                                                 .end = SESSION_COMPLETE,
                                                 .why = "",
                                                 .counted_ns = 2 * CYCLES * block_ns,
                                                 .schedule_digest = "",
                                                 .executed_json = "",
                                                 .instrument_json = "{}"});
  int64_t id = 0;
  for (int64_t k = 0; k < 2 * CYCLES; k++) {
    bool slowed = k % 2 == 1;
    put_block(b, k, slowed ? "function: encode" : "", slowed ? 2 : 1, k * block_ns);
    int64_t plain_ns = second + k * drift_ns + (!slowed && (k % of_cycle / 2 + k / of_cycle + 1) % 2 == 1 ? in_step_ns : 0);
    if (!slowed || k / 2 >= n_stalled) put_requests(b, &id, k * block_ns, slowed ? 3 * second / 2 : plain_ns, silent_of_three);
  }
  CHECK_INT(bundle_seal(b, BUNDLE_COMPLETE, "", root, &error), LYNX_OK);
  bundle_close(b);
  CHECK_INT(bundle_open(path, &b, &seal, &error), LYNX_OK);
  CHECK_INT(sensitivities_read(b, &contract, 0.95, ret, &error), LYNX_OK);
  bundle_close(b);
}

static void check_answers(int64_t silent_of_three) {
  struct sensitivities all;
  read_of(silent_of_three, &all);
  CHECK_INT(all.n, 1);
  CHECK_INT(all.n_empty, 0);
  CHECK_INT(all.n_cycles, CYCLES);
  CHECK_NEAR(all.throughput, TOKENS_EACH, 1e-9);
  CHECK_NEAR(all.answers, 12, 1e-9);
  CHECK_NEAR(all.items[0].of[RESPONSE_THROUGHPUT].estimate, 0.5, 1e-9);
}

/* What is slowed and answers nothing at all has no estimate; where it answers now and then it has one, of the mean. */
static void check_stalls(void) {
  struct sensitivities all;
  n_stalled = CYCLES;
  read_of(0, &all);
  const struct sensitivity *s = &all.items[0];
  CHECK(s->stalls && !s->of[RESPONSE_THROUGHPUT].bounded && !isfinite(s->of[RESPONSE_THROUGHPUT].estimate));
  CHECK(!s->levels[0].effect.bounded);
  CHECK(sensitivity_is_impossible(s));
  CHECK_INT(all.n_empty, CYCLES);
  n_stalled = CYCLES / 2;
  read_of(0, &all);
  CHECK(!s->stalls && s->of[RESPONSE_THROUGHPUT].bounded);
  CHECK_NEAR(s->of[RESPONSE_THROUGHPUT].estimate, 2, 0.03); /* half of 1 / 1.5 is a third; half a token each */
  n_stalled = 0;
}

/* A drift is no answer; what changes in step with the blocks is one, although nothing was done. */
static void check_control(void) {
  struct sensitivities all;
  read_of(0, &all);
  CHECK(!all.control.bounded); /* one undisturbed block in each cycle */
  of_cycle = 4;
  drift_ns = second / 50;
  read_of(0, &all);
  CHECK(all.control.bounded && all.control.low < 0 && all.control.high > 0);
  drift_ns = 0;
  in_step_ns = second / 2;
  read_of(0, &all);
  CHECK_NEAR(all.control.estimate, -log(1.5), 1e-6);
  CHECK(all.control.bounded && all.control.high < -0.3);
  of_cycle = 2;
  in_step_ns = 0;
}

/* One that lasts over two blocks, of which the first begins in its midst, gives each its part; what is before, between and after is none's. */
static void check_parts(void) {
  struct lynx_error error = {0};
  struct bundle *b;
  struct bundle_seal_info seal;
  char root[DIGEST_HEX];
  const struct contract contract = {.workload = {.stream = true}};
  const struct session_load load = {.concurrency = 1};
  struct session_response response;
  int64_t id = 0;
  (void)unlink(path);
  CHECK_INT(bundle_create(path, &b, &error), LYNX_OK);
  put_block(b, 0, "", 1, 3 * second);
  put_block(b, 1, "", 1, 5 * second + block_ns);
  put_requests(b, &id, 0, block_ns, 3);
  put_requests(b, &id, block_ns, block_ns, 3);
  CHECK_INT(bundle_seal(b, BUNDLE_COMPLETE, "", root, &error), LYNX_OK);
  bundle_close(b);
  CHECK_INT(bundle_open(path, &b, &seal, &error), LYNX_OK);
  CHECK_INT(session_response_read(b, &contract, &load, &response, &error), LYNX_OK);
  bundle_close(b);
  CHECK(response.found);
  CHECK_NEAR(response.answers, 1, 1e-9); /* 9 s of the first, 3 s of the second */
  CHECK_NEAR(response.y[RESPONSE_THROUGHPUT], log(10.0 / 12), 1e-9);
}

/* A few odd blocks make a great estimate and a wide interval; what spins costs more than all of the time: neither costs most. */
static void check_order(void) {
  static const char *const names[] = {"function: odd", "function: third", "function: first", "function: spins", "function: none"};
  static const struct slope costs[] = {{.estimate = 23.7, .low = -14.9, .high = 62.3, .bounded = true},
                                       {.estimate = 0.4, .low = 0.1, .high = 0.7, .bounded = true},
                                       {.estimate = 0.3, .low = 0.2, .high = 0.4, .bounded = true},
                                       {.estimate = 21.5, .low = 14.9, .high = 28.2, .bounded = true},
                                       {.estimate = 0.9}};
  const struct contract contract = {.workload = {.stream = true}};
  struct sensitivities all = {.n = LYNX_COUNT(costs), .n_blocks = 60, .n_cycles = 6, .tokens = true, .answers = 20, .throughput = 100};
  for (size_t i = 0; i < all.n; i++) {
    all.items[i] = (struct sensitivity){
        .perturber = perturber_find("function", 8), .n_blocks = 12, .of = {costs[i], costs[i], costs[i], costs[i]}};
    (void)strcpy(all.items[i].target, names[i]);
  }
  struct buffer text;
  buffer_init(&text, 1 << 16);
  CHECK(sensitivity_text(&all, &contract, NULL, 0, false, &text));
  CHECK(buffer_text(&text, ""));
  const char *table = strstr(text.data, "slowed, % for each %");
  CHECK(strncmp(text.data, "function: first: 1 % slower costs 0.30 [0.20, 0.40] % of the throughput.", 72) == 0);
  CHECK(table != NULL);
  const char *first = strstr(table, "\n  first "), *third = strstr(table, "\n  third "), *odd = strstr(table, "\n  odd "),
             *none = strstr(table, "\n  none "), *spins = strstr(table, "\n  spins ");
  CHECK(first != NULL && third > first && odd > third && none > odd && spins > none);
  CHECK(sensitivity_is_impossible(&all.items[3]));
  all.items[3].perturber = perturber_find("library", 7); /* its threads may wait for one another */
  CHECK(!sensitivity_is_impossible(&all.items[3]));
  CHECK(!sensitivity_is_impossible(&all.items[0]));
  all.items[0].levels[0] = (struct sensitivity_level){
      1.5, 1.5, {.estimate = -1.3, .error = 0.9, .low = -3.4, .high = 0.8, .bounded = true}};
  all.items[0].levels[1] = (struct sensitivity_level){
      2.5, 2.5, {.estimate = -4.8, .error = 0.8, .low = -6.7, .high = -2.9, .bounded = true}};
  all.items[0].n_levels = 2;
  CHECK(sensitivity_is_impossible(&all.items[0])); /* 2.5 times as slow, a twentieth of the throughput or less */
  buffer_release(&text);
}

/* Where processor time as a whole costs most, the single cause is named beside it; where throughput says none, by latency. */
static void check_cause(void) {
  static const char *const names[] = {"contention: its processors", "function: encode", "function: decode"};
  static const char *const perturbers[] = {"contention", "function", "function"};
  static const struct slope throughput[] = {{.estimate = 0.9, .low = 0.7, .high = 1.1, .bounded = true},
                                            {.estimate = 0.4, .low = 0.2, .high = 0.6, .bounded = true},
                                            {.estimate = 0.5, .low = 0.1, .high = 0.9, .bounded = true}},
                            latency[] = {{.estimate = 1, .low = 0.9, .high = 1.1, .bounded = true},
                                         {.estimate = 0.3, .low = 0.2, .high = 0.4, .bounded = true},
                                         {.estimate = 0.5, .low = 0.4, .high = 0.6, .bounded = true}};
  const struct contract contract = {.workload = {.stream = true}};
  struct sensitivities all = {.n = LYNX_COUNT(names), .n_blocks = 60, .n_cycles = 6, .tokens = true, .answers = 20, .throughput = 100};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    all.items[i] = (struct sensitivity){.perturber = perturber_find(perturbers[i], strlen(perturbers[i])), .n_blocks = 12};
    (void)strcpy(all.items[i].target, names[i]);
    all.items[i].of[RESPONSE_THROUGHPUT] = throughput[i];
    all.items[i].of[RESPONSE_END_TO_END] = latency[i];
  }
  struct buffer text;
  buffer_init(&text, 1 << 16);
  CHECK(sensitivity_text(&all, &contract, NULL, 0, false, &text) && buffer_text(&text, ""));
  CHECK(strncmp(text.data, "contention: its processors: 1 % slower costs 0.90 [0.70, 1.10] % of the throughput.", 83) == 0);
  CHECK(strstr(text.data, "\nOf single causes, function: encode costs most for certain: 0.40 [0.20, 0.60] % of the throughput.\n") != NULL);
  all.items[1].of[RESPONSE_THROUGHPUT].low = all.items[2].of[RESPONSE_THROUGHPUT].low = -0.1;
  buffer_release(&text);
  buffer_init(&text, 1 << 16);
  CHECK(sensitivity_text(&all, &contract, NULL, 0, false, &text) && buffer_text(&text, ""));
  CHECK(strstr(text.data, "\nNo single cause costs throughput for certain. Of the median end-to-end latency function: decode costs "
                          "most for certain: 0.50 [0.40, 0.60] %.\n") != NULL);
  buffer_release(&text);
}

int main(void) {
  char name[] = "/tmp/lynx-sensitivity-XXXXXX";
  CHECK(mkdtemp(name) != NULL);
  (void)snprintf(dir, sizeof dir, "%s", name);
  (void)snprintf(path, sizeof path, "%s/blocks.lynx", dir);
  for (int64_t silent = 0; silent <= 3; silent++) check_answers(silent);
  in_one_piece = true;
  for (int64_t silent = 1; silent <= 3; silent++) check_answers(silent);
  in_one_piece = false;
  check_parts();
  check_stalls();
  check_control();
  check_order();
  check_cause();
  (void)unlink(path);
  (void)rmdir(dir);
  return check_end();
}
