/* The engine on a simulated clock and a simulated server: every time below is exact. */
#include "load/engine.h"
#include "tests/check.h"

/* A server that takes `service_ns` per request, one at a time, and stalls from stall_from for stall_ns. */
struct sim {
  int64_t now_ns, service_ns, stall_from_ns, stall_ns, free_at_ns;
  bool mute; /* never answers */
  struct {
    bool busy;
    int64_t done_ns;
  } slots[64];
  /* What was seen. */
  struct request_row rows[512];
  size_t n_rows;
};

static int64_t sim_now(void *context) {
  return ((struct sim *)context)->now_ns;
}

static enum lynx_status sim_open(const struct driver_options *o, void **s, struct lynx_error *e) {
  (void)o, (void)s, (void)e;
  return LYNX_OK;
}

static enum lynx_status sim_prepare(void *s, const struct driver_input *i, size_t n, struct lynx_error *e) {
  (void)s, (void)i, (void)n, (void)e;
  return LYNX_OK;
}

static enum driver_answer sim_issue(void *state, uint32_t slot, size_t input) {
  (void)input;
  struct sim *sim = state;
  int64_t start = sim->free_at_ns > sim->now_ns ? sim->free_at_ns : sim->now_ns;
  if (start >= sim->stall_from_ns && start < sim->stall_from_ns + sim->stall_ns) start = sim->stall_from_ns + sim->stall_ns;
  sim->slots[slot].busy = true;
  sim->slots[slot].done_ns = sim->free_at_ns = start + sim->service_ns;
  return DRIVER_ACCEPTED;
}

static void sim_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  struct sim *sim = state;
  int64_t next = deadline_ns;
  for (int i = 0; i < 64 && !sim->mute; i++)
    if (sim->slots[i].busy && sim->slots[i].done_ns < next) next = sim->slots[i].done_ns;
  if (next > sim->now_ns) sim->now_ns = next;
  for (uint32_t i = 0; i < 64 && !sim->mute; i++) {
    if (!sim->slots[i].busy || sim->slots[i].done_ns > sim->now_ns) continue;
    sim->slots[i].busy = false;
    struct answer_end end = {.outcome = OUTCOME_OK, .http_status = 200, .prompt_tokens = 1, .output_tokens = 1};
    deliver(context, &(struct completion){
                         .kind = COMPLETION_WRITTEN, .slot = i, .at_ns = sim->slots[i].done_ns - sim->service_ns, .read_lag_ns = -1});
    deliver(context, &(struct completion){.kind = COMPLETION_EVENT,
                                          .slot = i,
                                          .at_ns = sim->slots[i].done_ns,
                                          .read_lag_ns = 5,
                                          .n_tokens = 1,
                                          .n_bytes = 1,
                                          .carries_text = true});
    deliver(context,
            &(struct completion){.kind = COMPLETION_END, .slot = i, .at_ns = sim->slots[i].done_ns, .read_lag_ns = -1, .end = &end});
  }
}

static void sim_cancel(void *state, uint32_t slot) {
  ((struct sim *)state)->slots[slot].busy = false;
}

static void sim_close(void *state) {
  (void)state;
}

static const struct driver_option sim_options[] = {
    {.name = "speed", .kind = OPTION_CHOICE, .fallback = "slow", .choices = "slow, fast", .help = "", .example = "fast"},
    {.name = "n", .kind = OPTION_INTEGER, .least = 1, .greatest = 9, .help = "", .example = "3"},
    {.name = "file", .kind = OPTION_TEXT, .required = true, .help = "", .example = "a.txt"},
};

static const struct driver sim_driver = {.abi = DRIVER_ABI,
                                         .name = "sim",
                                         .summary = "simulated",
                                         .sees = "everything",
                                         .options = sim_options,
                                         .n_options = LYNX_COUNT(sim_options),
                                         .open = sim_open,
                                         .prepare = sim_prepare,
                                         .issue = sim_issue,
                                         .reap = sim_reap,
                                         .cancel = sim_cancel,
                                         .close = sim_close};

static void keep(void *context, struct request_row *row) {
  struct sim *sim = context;
  if (sim->n_rows < 512) sim->rows[sim->n_rows++] = *row;
  buffer_release(&row->events);
}

static struct engine_report run(struct sim *sim, struct schedule *schedule, uint32_t concurrency, int64_t warm_up, int64_t counted,
                                int64_t drain, int64_t timeout) {
  static const uint32_t order[] = {0, 1, 2};
  static atomic_int stop;
  struct engine_progress progress = {0};
  const struct lynx_clock clock = {sim_now, sim_now, sim};
  struct engine_report report = {0};
  struct lynx_error error = {0};
  struct engine_plan plan = {.clock = &clock,
                             .schedule = schedule,
                             .concurrency = concurrency,
                             .warm_up_ns = warm_up,
                             .counted_ns = counted,
                             .drain_ns = drain,
                             .timeout_ns = timeout,
                             .input_order = order,
                             .n_inputs = 3,
                             .n_engines = 1,
                             .stop = &stop,
                             .progress = &progress,
                             .sink = keep,
                             .sink_context = sim};
  CHECK_INT(engine_run(&plan, &sim_driver, sim, &report, &error), LYNX_OK);
  CHECK_INT(atomic_load(&progress.in_flight), 0);
  CHECK_INT(atomic_load(&progress.n_issued), (int64_t)sim->n_rows);
  return report;
}

enum { MS = 1000000 };

/* A stall of 500 ms must show in the latency of everything that was due meanwhile: no coordinated omission. */
static void stalls_are_seen(void) {
  struct schedule schedule;
  struct sim sim = {.service_ns = 1 * MS, .stall_from_ns = 1000 * MS, .stall_ns = 500 * MS};
  CHECK_INT(
      schedule_make(&schedule,
                    &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 100000000, .length_ns = 3000 * (int64_t)MS, .seed = 1},
                    NULL),
      LYNX_OK); /* every 10 ms */
  struct engine_report report = run(&sim, &schedule, 64, 500 * MS, 2000 * (int64_t)MS, 500 * MS, 10000 * (int64_t)MS);
  CHECK(report.drained);
  int64_t slow = 0, n_counted = 0;
  for (size_t i = 0; i < sim.n_rows; i++) {
    const struct request_row *r = &sim.rows[i];
    CHECK_INT(r->issued_ns, r->scheduled_ns); /* on a perfect clock the instrument is never late */
    if (r->phase == PHASE_COUNTED) n_counted++;
    if (r->end_ns - r->scheduled_ns > 10 * MS) slow++;
    if (r->scheduled_ns == 1000 * MS) CHECK_INT(r->end_ns - r->scheduled_ns, 501 * MS);
    if (r->scheduled_ns == 1200 * MS) CHECK_INT(r->end_ns - r->scheduled_ns, 321 * MS); /* waits for the stall and for the 20 before it */
    CHECK_INT(r->phase, r->scheduled_ns < 500 * MS ? PHASE_WARM_UP : r->scheduled_ns < 2500 * (int64_t)MS ? PHASE_COUNTED : PHASE_TAIL);
  }
  CHECK_INT(n_counted, 200);
  CHECK(slow >= 50); /* the 50 that were due in the stall, and the queue behind them */
  schedule_release(&schedule);
}

/* With one slot, arrivals wait for it: they are late by the instrument's own limit, and that is counted. */
static void lateness_is_counted(void) {
  struct schedule schedule;
  struct sim sim = {.service_ns = 15 * MS};
  CHECK_INT(
      schedule_make(&schedule,
                    &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 100000000, .length_ns = 200 * (int64_t)MS, .seed = 1},
                    NULL),
      LYNX_OK);
  struct engine_report report = run(&sim, &schedule, 1, 0, 100 * MS, 100 * MS, 10000 * (int64_t)MS);
  CHECK(report.n_busy > 0);
  int n_counted = 0;
  for (size_t i = 0; i < sim.n_rows; i++) n_counted += sim.rows[i].phase == PHASE_COUNTED;
  CHECK_INT(n_counted, 10); /* all that were due in the window have a row, also those that had to wait beyond it */
  CHECK(report.drained);
  CHECK(sim.rows[5].issued_ns - sim.rows[5].scheduled_ns >= 25 * MS); /* 5 x (15 - 10) ms behind */
  schedule_release(&schedule);
}

/* A server that takes 400 ms each, one slot, ten due in 100 ms, and a drain too short for most: what could not even be sent is kept. */
static void the_unsent_are_kept(void) {
  struct schedule schedule;
  struct sim sim = {.service_ns = 400 * MS};
  CHECK_INT(
      schedule_make(&schedule,
                    &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 100000000, .length_ns = 200 * (int64_t)MS, .seed = 1},
                    NULL),
      LYNX_OK);
  struct engine_report report = run(&sim, &schedule, 1, 0, 100 * MS, 100 * MS, 10000 * (int64_t)MS);
  int n_counted = 0, n_unsent = 0;
  for (size_t i = 0; i < sim.n_rows; i++) {
    n_counted += sim.rows[i].phase == PHASE_COUNTED;
    n_unsent += strstr(sim.rows[i].reason, "never sent") != NULL;
    if (sim.rows[i].phase == PHASE_COUNTED) CHECK_INT(sim.rows[i].outcome, OUTCOME_UNFINISHED);
  }
  CHECK_INT(n_counted, 10);
  CHECK_INT(n_unsent, 9);
  CHECK(!report.drained);
  schedule_release(&schedule);
}

static void time_outs_and_leftovers(void) {
  struct schedule schedule;
  struct sim sim = {.mute = true};
  CHECK_INT(
      schedule_make(&schedule,
                    &(struct schedule_plan){.kind = SCHEDULE_CONSTANT, .rate_micro = 10000000, .length_ns = 1000 * (int64_t)MS, .seed = 1},
                    NULL),
      LYNX_OK); /* every 100 ms */
  struct engine_report report = run(&sim, &schedule, 64, 0, 600 * MS, 200 * MS, 500 * MS);
  CHECK(!report.drained);
  int n[OUTCOME_COUNT] = {0};
  for (size_t i = 0; i < sim.n_rows; i++) {
    n[sim.rows[i].outcome]++;
    if (sim.rows[i].outcome == OUTCOME_TIMEOUT) CHECK_NEAR((double)(sim.rows[i].end_ns - sim.rows[i].scheduled_ns), 500.0 * MS, 10.0 * MS);
    if (sim.rows[i].outcome == OUTCOME_UNFINISHED) CHECK_INT(sim.rows[i].end_ns, report.ended_ns); /* its age */
  }
  CHECK_INT(n[OUTCOME_OK], 0);
  CHECK_INT(n[OUTCOME_TIMEOUT] + n[OUTCOME_UNFINISHED], 6);
  CHECK(n[OUTCOME_TIMEOUT] >= 3);
  CHECK_INT(n[OUTCOME_ABANDONED], 2); /* of the tail: not counted */
  schedule_release(&schedule);
}

static void closed_loop(void) {
  struct schedule schedule;
  struct sim sim = {.service_ns = 10 * MS};
  CHECK_INT(schedule_make(&schedule, &(struct schedule_plan){.kind = SCHEDULE_CLOSED, .rate_micro = 0, .length_ns = 0, .seed = 1}, NULL),
            LYNX_OK);
  sim.now_ns = -20 * MS; /* the engine is up before the session begins */
  (void)run(&sim, &schedule, 2, 100 * MS, 400 * MS, 100 * MS, 10000 * (int64_t)MS);
  CHECK(sim.n_rows >= 50 && sim.n_rows <= 56); /* one every 10 ms for half a second, and what was in flight */
  for (size_t i = 0; i < sim.n_rows; i++) CHECK(sim.rows[i].scheduled_ns >= 0);
  for (size_t i = 2; i < sim.n_rows; i++)
    CHECK(sim.rows[i].end_ns - sim.rows[i].scheduled_ns <= 21 * MS); /* two in flight share one server */
}

/* What a contract may say, and what is said of what it may not. */
static void driver_options(void) {
  static const struct {
    const char *key, *value, *bad_key, *message;
  } rows[] = {{"speed", "fast", NULL, NULL},
              {"speed", "fas", "speed", "one of these is expected: slow, fast"},
              {"speed", "", "speed", "one of these"},
              {"n", "9", NULL, NULL},
              {"n", "10", "n", "an integer from 1 to 9"},
              {"n", "1x", "n", "an integer"},
              {"colour", "red", "colour", "it has speed, n, file"},
              {"file", "", "file", "such as 'a.txt'"}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    const char *keys[] = {"file", rows[i].key}, *texts[] = {"x", rows[i].value}, *values[3], *key = "";
    struct lynx_error error = {0};
    enum lynx_status status = driver_read_options(&sim_driver, keys, texts, 2, values, &key, &error);
    CHECK_INT(status, rows[i].bad_key != NULL ? LYNX_INPUT : LYNX_OK);
    if (rows[i].bad_key == NULL) continue;
    CHECK_TEXT(key, rows[i].bad_key);
    CHECK_CONTAINS(error.message, rows[i].message);
  }
  const char *values[3], *key = "";
  struct lynx_error error = {0};
  CHECK_INT(driver_read_options(&sim_driver, NULL, NULL, 0, values, &key, &error), LYNX_INPUT); /* a required one is missing */
  CHECK_TEXT(key, "file");
  const char *keys[] = {"file"}, *texts[] = {"x"};
  CHECK_INT(driver_read_options(&sim_driver, keys, texts, 1, values, &key, &error), LYNX_OK);
  CHECK_TEXT(values[0], "slow");
  CHECK(values[1] == NULL);
}

int main(void) {
  driver_options();
  stalls_are_seen();
  lateness_is_counted();
  the_unsent_are_kept();
  time_outs_and_leftovers();
  closed_loop();
  struct driver broken = sim_driver;
  struct lynx_error error = {0};
  broken.reap = NULL;
  CHECK_INT(driver_check(&broken, &error), LYNX_UNSUPPORTED);
  CHECK_CONTAINS(error.message, "'reap'");
  return check_end();
}
