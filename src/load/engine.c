#include "load/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/secret.h"
#include "base/arena.h"
#include "base/random.h"
#include "load/events.h"

/* REFUSED_PAUSE: in a closed loop, nobody there is no reason to storm. */
enum { SCAN_EVERY_NS = 10000000, REFUSED_PAUSE_NS = 10000000, EVENT_BLOB_MAX = 16 << 20, ANSWER_MAX = 1 << 20 };

struct slot {
  bool busy;
  uint32_t turn; /* the next one of this user's conversation */
  int64_t conversation;
  int64_t last_event_ns;
  struct request_row row;
};

struct engine {
  const struct engine_plan *plan;
  const struct driver *driver;
  void *state;
  struct slot *slots;
  int64_t *deadlines_ns; /* by slot; INT64_MAX: free. Apart from the slots, as all of them are looked at often */
  uint32_t n_slots;
  uint32_t *free_slots;
  uint32_t n_free;
  size_t next_arrival;   /* open loop: index into the schedule */
  int64_t next_id;       /* closed loop */
  int64_t *closed_ready; /* closed loop: when each slot became free, by slot */
  int64_t next_conversation;
  int64_t starved_ns;     /* when an arrival last found no free slot; -1: never */
  uint32_t batch_left;    /* of the batch that is being sent */
  int64_t batch_ready_ns; /* when the one before it was over */
  int64_t held_ns;        /* closed loop: until when a request that was ready was last held back; 0: never */
  struct random_stream thinking;
  int64_t n_cut_off;                  /* counted requests that were not over at the end */
  int64_t last_scan_ns, begun_cpu_ns; /* of this thread at the session's zero; -1: before it */
  int64_t stopped_ns;                 /* when the user (or a full disk) stopped it: what was due later was never owed */
  struct engine_report report;
};

static int64_t now_of(const struct engine *engine) {
  return clock_now(engine->plan->clock) - engine->plan->start_ns;
}

static enum phase phase_of(const struct engine_plan *plan, int64_t scheduled_ns) {
  return phase_at(scheduled_ns, plan->warm_up_ns, plan->counted_ns);
}

/* What is shown while it goes on; figures come from the rows. */
static void add_latencies(struct engine_progress *progress, const struct request_row *row) {
  int64_t first = row->first_token_ns >= 0 ? row->first_token_ns : row->end_ns;
  atomic_fetch_add_explicit(&progress->n_ok, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&progress->time_to_first_token_ns, first - row->scheduled_ns, memory_order_relaxed);
  atomic_fetch_add_explicit(&progress->end_to_end_ns, row->end_ns - row->scheduled_ns, memory_order_relaxed);
}

/* seen_ns: when we knew of it, from which on the slot's next request can be due. */
static void finish(struct engine *engine, uint32_t index, int64_t at_ns, int64_t seen_ns, const struct answer_end *end) {
  struct slot *slot = &engine->slots[index];
  struct request_row *row = &slot->row;
  struct engine_progress *progress = engine->plan->progress;
  row->end_ns = at_ns;
  row->outcome = end->outcome;
  row->http_status = end->http_status;
  row->prompt_tokens = end->prompt_tokens;
  row->output_tokens = end->output_tokens;
  row->n_empty_events = end->n_empty_events;
  row->flags |= end->flags;
  memcpy(row->reason, end->reason, sizeof row->reason);
  (void)secret_mask(row->reason); /* a server may tell what it was started with */
  lynx_assert(end->n_phases <= ANSWER_PHASES);
  if (end->n_phases > 0) (void)buffer_append(&row->phases, end->phases, end->n_phases * sizeof *end->phases); /* fits its limit */
  if (row->phase == PHASE_COUNTED) atomic_fetch_sub(&progress->n_counted_left, 1);
  if (row->events.overflowed) engine->report.event_bytes_lost++;
  atomic_fetch_add_explicit(&progress->n_done, 1, memory_order_relaxed);
  if (end->outcome != OUTCOME_OK && end->outcome != OUTCOME_ABANDONED)
    atomic_fetch_add_explicit(&progress->n_failed, 1, memory_order_relaxed);
  if (end->outcome == OUTCOME_OK) add_latencies(progress, row);
  atomic_fetch_sub_explicit(&progress->in_flight, 1, memory_order_relaxed);
  engine->plan->sink(engine->plan->sink_context, row);
  slot->busy = false;
  engine->deadlines_ns[index] = INT64_MAX;
  bool nobody = end->outcome == OUTCOME_REFUSED || end->outcome == OUTCOME_EXECUTOR;
  engine->closed_ready[index] = nobody ? seen_ns + REFUSED_PAUSE_NS : seen_ns;
  if (engine->plan->think_mean_ns > 0) engine->closed_ready[index] += random_exponential_ns(&engine->thinking, engine->plan->think_mean_ns);
  engine->batch_ready_ns = engine->closed_ready[index] > engine->batch_ready_ns ? engine->closed_ready[index] : engine->batch_ready_ns;
  engine->free_slots[engine->n_free++] = index;
}

static void deliver(void *context, const struct completion *completion) {
  struct engine *engine = context;
  lynx_assert(completion->slot < engine->n_slots);
  struct slot *slot = &engine->slots[completion->slot];
  if (!slot->busy) return;
  struct request_row *row = &slot->row;
  int64_t at = completion->at_ns - engine->plan->start_ns;
  if (completion->read_lag_ns > row->read_lag_ns) row->read_lag_ns = completion->read_lag_ns;
  switch (completion->kind) {
    case COMPLETION_WRITTEN:
      if (row->written_ns < 0) row->written_ns = slot->last_event_ns = at;
      break;
    case COMPLETION_FIRST_BYTE:
      if (row->first_byte_ns < 0) row->first_byte_ns = at;
      break;
    case COMPLETION_EVENT: {
      struct answer_event event = {.at_ns = at - row->written_ns,
                                   .n_tokens = completion->n_tokens,
                                   .n_bytes = completion->n_bytes,
                                   .carries_text = completion->carries_text};
      (void)events_append(&row->events, slot->last_event_ns - row->written_ns, &event);
      slot->last_event_ns = at;
      if (completion->carries_text && row->first_token_ns < 0) row->first_token_ns = at;
      if (completion->carries_answer && row->first_answer_ns < 0) row->first_answer_ns = at;
      if (completion->carries_tool_call && row->first_tool_call_ns < 0) row->first_tool_call_ns = at;
      if (completion->carries_text || completion->n_tokens > 0) {
        row->last_token_ns = at;
        atomic_fetch_add_explicit(&engine->plan->progress->n_tokens, completion->n_tokens, memory_order_relaxed);
      }
      if (completion->carries_text) row->n_text_events++;
      if (row->answer.limit > 0 && completion->content.length > 0)
        (void)buffer_append(&row->answer, completion->content.ptr, completion->content.length); /* cut at its limit */
      break;
    }
    case COMPLETION_END:
      finish(engine, completion->slot, at, completion->read_lag_ns > 0 ? at + completion->read_lag_ns : at, completion->end);
      break;
  }
}

/* Request k asks for the k-th input in order; a user's next turn for the one after the turn before. */
static size_t input_of(struct engine *engine, const struct slot *slot, int64_t id) {
  const struct engine_plan *plan = engine->plan;
  if (plan->turns <= 1) return plan->input_order[(size_t)id % plan->n_inputs];
  return (size_t)plan->input_order[(size_t)slot->conversation % plan->n_inputs] * plan->turns + slot->turn;
}

static void begin(struct engine *engine, uint32_t index, int64_t id, int64_t scheduled_ns) {
  const struct engine_plan *plan = engine->plan;
  struct slot *slot = &engine->slots[index];
  if (plan->turns > 1 && slot->turn == 0) slot->conversation = engine->next_conversation++;
  size_t input = input_of(engine, slot, id);
  struct buffer events = slot->row.events, phases = slot->row.phases, answer = slot->row.answer;
  buffer_clear(&events), buffer_clear(&phases), buffer_clear(&answer);
  bool keeps = phase_of(plan, scheduled_ns) == PHASE_COUNTED && input < plan->keep_answers;
  events.limit = EVENT_BLOB_MAX;
  phases.limit = ANSWER_PHASES * sizeof(struct answer_phase);
  answer.limit = keeps ? ANSWER_MAX : 0;
  engine->deadlines_ns[index] = scheduled_ns + plan->timeout_ns;
  *slot = (struct slot){
      .busy = true,
      .conversation = slot->conversation,
      .turn = plan->turns > 1 ? (slot->turn + 1) % plan->turns : 0,
      .row = {.id = id,
              .phase = phase_of(plan, scheduled_ns),
              .input = input,
              .scheduled_ns = scheduled_ns,
              .issued_ns = now_of(engine),
              .written_ns = -1,
              .first_byte_ns = -1,
              .first_token_ns = -1,
              .first_answer_ns = -1,
              .first_tool_call_ns = -1,
              .last_token_ns = -1,
              .end_ns = -1,
              .prompt_tokens = -1,
              .output_tokens = -1,
              .flags = plan->schedule->kind != SCHEDULE_CLOSED && scheduled_ns <= engine->starved_ns ? ANSWER_WAITED_SLOT : 0,
              .read_lag_ns = -1,
              .events = events,
              .phases = phases,
              .answer = answer},
  };
  if (slot->row.phase == PHASE_COUNTED && plan->schedule->kind == SCHEDULE_CLOSED) atomic_fetch_add(&plan->progress->n_counted_left, 1);
  atomic_fetch_add_explicit(&plan->progress->n_issued, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&plan->progress->in_flight, 1, memory_order_relaxed);
}

/* Hands one request to the driver; false if the driver is busy (the slot stays free). */
static bool send_one(struct engine *engine, int64_t id, int64_t scheduled_ns) {
  if (engine->n_free == 0) return false;
  uint32_t index = engine->free_slots[--engine->n_free];
  struct slot before = engine->slots[index];
  int64_t next_conversation = engine->next_conversation;
  begin(engine, index, id, scheduled_ns);
  if (engine->driver->issue(engine->state, index, engine->slots[index].row.input) == DRIVER_ACCEPTED) return true;
  struct request_row *row = &engine->slots[index].row;
  if (row->phase == PHASE_COUNTED && engine->plan->schedule->kind == SCHEDULE_CLOSED)
    atomic_fetch_sub(&engine->plan->progress->n_counted_left, 1);
  atomic_fetch_sub_explicit(&engine->plan->progress->n_issued, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&engine->plan->progress->in_flight, 1, memory_order_relaxed);
  engine->slots[index] = before; /* with the user's turn as it was, and the same buffers */
  engine->deadlines_ns[index] = INT64_MAX;
  engine->next_conversation = next_conversation;
  engine->free_slots[engine->n_free++] = index;
  return false;
}

/* Sends all that is due; returns when the next is, or INT64_MAX. */
static int64_t send_due_open(struct engine *engine, int64_t now) {
  const struct schedule *schedule = engine->plan->schedule;
  while (engine->next_arrival < schedule->n_arrivals) {
    int64_t at = schedule->at_ns[engine->next_arrival];
    if (at > now) return at;
    if (engine->n_free == 0) engine->starved_ns = now;
    if (!send_one(engine, (int64_t)engine->next_arrival, at)) {
      engine->report.n_busy++;
      return now + 1000000; /* wait for a slot, not for the clock */
    }
    engine->next_arrival += engine->plan->n_engines;
  }
  return INT64_MAX;
}

/* This engine's part of a number of all engines. */
static uint32_t part_of(const struct engine_plan *plan, uint32_t n) {
  return n / plan->n_engines + (plan->index < n % plan->n_engines ? 1 : 0);
}

static bool is_held_back(const struct engine *engine) {
  uint32_t most = engine->plan->in_flight_most != NULL ? atomic_load_explicit(engine->plan->in_flight_most, memory_order_relaxed) : 0;
  return most > 0 && engine->n_slots - engine->n_free >= part_of(engine->plan, most);
}

static int64_t send_due_closed(struct engine *engine, int64_t now) {
  if (now < 0) return 0;                                    /* the session has not begun */
  if (engine->plan->batch > 0 && engine->batch_left == 0) { /* the next batch begins when all of this one are over */
    if (engine->n_free < engine->n_slots) return INT64_MAX;
    if (engine->batch_ready_ns > now) return engine->batch_ready_ns;
    engine->batch_left = engine->n_slots;
  }
  int64_t next = INT64_MAX;
  for (uint32_t left = engine->n_free; left > 0 && (engine->plan->batch == 0 || engine->batch_left > 0); left--) {
    uint32_t at = left - 1, index = engine->free_slots[at];
    int64_t ready = engine->plan->batch > 0 ? engine->batch_ready_ns : engine->closed_ready[index];
    if (is_held_back(engine)) {
      engine->held_ns = now; /* it is due when it is let go */
      return now + 1000000;
    }
    if (ready < engine->held_ns) ready = engine->held_ns;
    if (ready > now) { /* still thinking; others may be ready */
      if (ready < next) next = ready;
      continue;
    }
    engine->free_slots[at] = engine->free_slots[engine->n_free - 1];
    engine->free_slots[engine->n_free - 1] = index;
    if (!send_one(engine, engine->next_id, ready)) return now + 1000000;
    if (engine->batch_left > 0) engine->batch_left--;
    engine->next_id += engine->plan->n_engines;
  }
  return next;
}

static void give_up(struct engine *engine, uint32_t index, int64_t now, enum outcome outcome) {
  engine->driver->cancel(engine->state, index);
  struct answer_end end = {.outcome = outcome, .prompt_tokens = -1, .output_tokens = -1};
  finish(engine, index, now, now, &end);
}

static void scan_timeouts(struct engine *engine, int64_t now) {
  if (now - engine->last_scan_ns < SCAN_EVERY_NS) return;
  engine->last_scan_ns = now;
  for (uint32_t i = 0; i < engine->n_slots; i++)
    if (now >= engine->deadlines_ns[i]) give_up(engine, i, now, OUTCOME_TIMEOUT);
}

static bool is_over(const struct engine *engine, int64_t now, int stop) {
  const struct engine_plan *plan = engine->plan;
  int64_t counted_end = plan->warm_up_ns + plan->counted_ns;
  if (stop == ENGINE_ABORT) return true;
  bool idle = engine->n_free == engine->n_slots;
  if (stop == ENGINE_DRAIN) return idle || now >= counted_end + plan->drain_ns;
  if (now < counted_end) return false;
  return atomic_load(&plan->progress->n_counted_left) <= 0 || now >= counted_end + plan->drain_ns;
}

static int64_t thread_cpu_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void loop(struct engine *engine) {
  const struct engine_plan *plan = engine->plan;
  engine->stopped_ns = INT64_MAX;
  for (;;) {
    int stop = atomic_load_explicit(plan->stop, memory_order_relaxed);
    int64_t now = now_of(engine);
    if (stop != ENGINE_RUN && engine->stopped_ns == INT64_MAX) {
      engine->stopped_ns = now;
      if (stop == ENGINE_DRAIN && plan->schedule->kind != SCHEDULE_CLOSED)
        (void)send_due_open(engine, now); /* due before the stop was seen */
    }
    if (now >= 0 && engine->begun_cpu_ns < 0) engine->begun_cpu_ns = thread_cpu_ns();
    if (is_over(engine, now, stop) || (stop == ENGINE_DRAIN && now - engine->stopped_ns > plan->drain_ns)) break;
    int64_t due = INT64_MAX;
    if (stop == ENGINE_RUN) due = plan->schedule->kind == SCHEDULE_CLOSED ? send_due_closed(engine, now) : send_due_open(engine, now);
    scan_timeouts(engine, now);
    int64_t until = now + SCAN_EVERY_NS < due ? now + SCAN_EVERY_NS : due;
    engine->driver->reap(engine->state, until + plan->start_ns, deliver, engine);
    int64_t away = now_of(engine) - until;
    if (now >= 0 && away > engine->report.longest_away_ns) engine->report.longest_away_ns = away;
    engine->report.n_loops++;
  }
}

/* This engine's arrivals of the counted window. */
static int64_t count_arrivals(const struct engine *engine) {
  const struct engine_plan *plan = engine->plan;
  int64_t n = 0;
  for (size_t i = engine->next_arrival; i < plan->schedule->n_arrivals; i += plan->n_engines)
    n += phase_of(plan, plan->schedule->at_ns[i]) == PHASE_COUNTED;
  return n;
}

/* Counted arrivals that were due and found no slot until the end: unfinished, like those that were sent, and kept. */
static void keep_unsent(struct engine *engine, int64_t due_before_ns, int64_t end_ns) {
  const struct engine_plan *plan = engine->plan;
  const struct schedule *schedule = plan->schedule;
  for (; engine->next_arrival < schedule->n_arrivals && schedule->at_ns[engine->next_arrival] < due_before_ns;
       engine->next_arrival += plan->n_engines) {
    int64_t at = schedule->at_ns[engine->next_arrival];
    if (phase_of(plan, at) != PHASE_COUNTED) continue;
    lynx_assert(engine->n_free > 0); /* every slot was given up */
    uint32_t index = engine->free_slots[--engine->n_free];
    begin(engine, index, (int64_t)engine->next_arrival, at);
    engine->slots[index].row.issued_ns = -1; /* it never was */
    struct answer_end end = {
        .outcome = OUTCOME_UNFINISHED, .prompt_tokens = -1, .output_tokens = -1, .reason = "never sent: no slot was free until the end"};
    finish(engine, index, end_ns, end_ns, &end);
    engine->n_cut_off++;
  }
}

enum lynx_status engine_run(const struct engine_plan *plan, const struct driver *driver, void *state, struct engine_report *ret,
                            struct lynx_error *error) {
  lynx_assert(plan->n_inputs > 0 && plan->n_engines > 0 && plan->index < plan->n_engines);
  enum lynx_status status = driver_check(driver, error);
  if (status != LYNX_OK) return status;
  uint32_t share = part_of(plan, plan->concurrency);
  struct engine engine = {.plan = plan,
                          .driver = driver,
                          .state = state,
                          .n_slots = share,
                          .next_arrival = plan->index,
                          .next_id = plan->index,
                          .starved_ns = -1};
  engine.slots = xalloc(share, sizeof *engine.slots);
  engine.free_slots = xalloc(share, sizeof *engine.free_slots);
  engine.closed_ready = xalloc(share, sizeof *engine.closed_ready);
  random_init(&engine.thinking, plan->seed, "thinking");
  engine.deadlines_ns = xalloc(share, sizeof *engine.deadlines_ns);
  for (uint32_t i = 0; i < share; i++) engine.free_slots[engine.n_free++] = share - 1 - i;
  for (uint32_t i = 0; i < share; i++) engine.deadlines_ns[i] = INT64_MAX;
  (void)prctl(PR_SET_TIMERSLACK, 1UL); /* wake when asked, not up to 50 us later; without it we are later, and say so */
  atomic_fetch_add(&plan->progress->n_counted_left, count_arrivals(&engine));
  engine.begun_cpu_ns = -1; /* the wait for a start that several hosts share is no part of what measuring costs */
  loop(&engine);
  int64_t end = now_of(&engine);
  for (uint32_t i = 0; i < share; i++) {
    if (!engine.slots[i].busy) continue;
    bool counted = engine.slots[i].row.phase == PHASE_COUNTED;
    engine.n_cut_off += counted;
    give_up(&engine, i, end, counted ? OUTCOME_UNFINISHED : OUTCOME_ABANDONED);
  }
  keep_unsent(&engine, end < engine.stopped_ns ? end : engine.stopped_ns, end);
  engine.report.drained = engine.n_cut_off == 0;
  engine.report.ended_ns = end;
  engine.report.cpu_ns = engine.begun_cpu_ns >= 0 ? thread_cpu_ns() - engine.begun_cpu_ns : 0;
  engine.report.wall_ns = engine.begun_cpu_ns >= 0 ? end : 0;
  for (uint32_t i = 0; i < share; i++) {
    buffer_release(&engine.slots[i].row.events);
    buffer_release(&engine.slots[i].row.phases);
    buffer_release(&engine.slots[i].row.answer);
  }
  free(engine.slots);
  free(engine.deadlines_ns);
  free(engine.free_slots);
  free(engine.closed_ready);
  *ret = engine.report;
  return LYNX_OK;
}
