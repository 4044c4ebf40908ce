/* The command driver: any program that speaks the line protocol of docs/command.md over its standard input and output. One process per
 * request in flight; a process that dies, or is cut off by the time-out, is replaced.
 *
 * Times are the program's own where it gives them (the monotonic clock is the machine's), and then the lag of reading them is known too. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/json.h"
#include "base/number.h"
#include "base/json_scan.h"
#include "drivers/wait.h"
#include "load/driver.h"

enum { COMMAND_RESTARTS };
enum {
  TOKENS_MAX = 1000000000,
  MESSAGE_MAX = 16 << 20,
  READ_BYTES = 65536,
  EVENTS_AT_ONCE = 64,
  STARTING_POLL_NS = 2000000,
  DRAIN_GRACE_NS = 1000000000
};

static const struct driver_option command_options[] = {
    [COMMAND_RESTARTS] = {.name = "restarts",
                          .kind = OPTION_INTEGER,
                          .fallback = "3",
                          .least = 0,
                          .greatest = 1000000,
                          .help = "how often in a session a process that ended may be replaced; after that its requests fail at once",
                          .example = "10"},
};

/* ENDED: another will be started in its place; NONE: not so. DRAINING: its request was cut off, and it has a moment to come to its end. */
enum worker_state { WORKER_NONE, WORKER_ENDED, WORKER_STARTING, WORKER_IDLE, WORKER_BUSY, WORKER_DRAINING };

struct worker {
  enum worker_state state;
  struct child child;
  int to_fd, from_fd;
  struct buffer line; /* a message that is not whole yet */
  struct buffer out;  /* of a request, what the pipe had no room for */
  bool watches_out;
  uint32_t slot;
  int64_t id; /* of the request */
  int64_t written_ns, cut_off_ns, started_ns;
  int64_t last_ns; /* of what it told of the request; times do not run backwards */
  struct answer_end end;
  struct answer_phase phases[ANSWER_PHASES];
};

struct pending {
  uint32_t slot;
  int64_t at_ns;
  bool failed;
  struct answer_end end;
};

struct command_driver {
  struct driver_options options;
  struct waiter waiter;
  struct worker *workers; /* n_slots of them: any idle one takes the next request */
  int64_t *worker_of;     /* by slot: index + 1; 0: none */
  struct bytes *requests; /* per input: the message after its number */
  size_t n_requests;
  struct arena arena;
  struct fact_list facts; /* as the first process tells them */
  const char *executed;
  int64_t next_id, n_restarts, restarts_max;
  uint32_t n_ended, n_draining, n_starting; /* starting: in place of others */
  bool is_open;                             /* what is started from now on is started by a load thread */
  char last_words[160];                     /* why the last process that ended did */
  struct pending *pending;
  size_t n_pending;
  driver_deliver *deliver;
  void *context;
  char *scratch;
};

/* --- messages --- */

enum message_kind { MESSAGE_NONE, MESSAGE_READY, MESSAGE_TOKEN, MESSAGE_DONE, MESSAGE_ERROR, MESSAGE_UNAVAILABLE };

struct message {
  enum message_kind kind;
  int64_t id, n, at_ns, started_ns, ended_ns, prompt_tokens, output_tokens;
  bool has_text;
  struct bytes text, why;
  struct answer_phase phases[ANSWER_PHASES];
  size_t n_phases;
  bool phases_full; /* more than are kept: those are passed over */
};

static int64_t time_of(struct bytes raw) {
  int64_t value;
  return number_int64(raw.ptr, raw.length, &value) && value >= 0 ? value : -1;
}

static int64_t count_of(struct bytes raw) {
  int64_t value = time_of(raw);
  return value <= TOKENS_MAX ? value : -1;
}

static void name_phase(struct answer_phase *phase, struct bytes name) {
  size_t n = name.length < sizeof phase->name - 1 ? name.length : sizeof phase->name - 1;
  *phase = (struct answer_phase){.from_ns = -1, .took_ns = -1};
  for (size_t i = 0; i < n; i++) {
    char c = name.ptr[i];
    bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    phase->name[i] = good ? c : '_';
  }
}

/* "phases": [["forward", from, took], ...] */
static void take_phase(struct message *m, int depth, enum json_scan_kind kind, struct bytes raw) {
  if (depth == 2 && kind == JSON_SCAN_ARRAY) {
    m->phases_full = m->n_phases == ANSWER_PHASES;
    if (!m->phases_full) name_phase(&m->phases[m->n_phases++], (struct bytes){"unnamed", 7});
  } else if (depth == 3 && m->n_phases > 0 && !m->phases_full) {
    struct answer_phase *phase = &m->phases[m->n_phases - 1];
    if (kind == JSON_SCAN_STRING) name_phase(phase, raw);
    else if (kind == JSON_SCAN_NUMBER && phase->from_ns < 0) phase->from_ns = time_of(raw);
    else if (kind == JSON_SCAN_NUMBER) phase->took_ns = time_of(raw);
  }
}

static void visit(void *context, const struct bytes *path, int depth, enum json_scan_kind kind, struct bytes raw) {
  struct message *m = context;
  if (depth == 0) return;
  struct bytes name = path[0];
  if (bytes_equal(name, "phases")) take_phase(m, depth, kind, raw);
  if (depth != 1) return;
  if (bytes_equal(name, "ready")) m->kind = MESSAGE_READY;
  else if (bytes_equal(name, "token")) m->kind = MESSAGE_TOKEN, m->id = time_of(raw);
  else if (bytes_equal(name, "done")) m->kind = MESSAGE_DONE, m->id = time_of(raw);
  else if (bytes_equal(name, "error")) m->kind = MESSAGE_ERROR, m->id = time_of(raw);
  else if (bytes_equal(name, "unavailable")) m->kind = MESSAGE_UNAVAILABLE, m->why = raw;
  else if (bytes_equal(name, "n")) m->n = count_of(raw);
  else if (bytes_equal(name, "at")) m->at_ns = time_of(raw);
  else if (bytes_equal(name, "started")) m->started_ns = time_of(raw);
  else if (bytes_equal(name, "ended")) m->ended_ns = time_of(raw);
  else if (bytes_equal(name, "prompt_tokens")) m->prompt_tokens = count_of(raw);
  else if (bytes_equal(name, "output_tokens")) m->output_tokens = count_of(raw);
  else if (bytes_equal(name, "message") && kind == JSON_SCAN_STRING) m->why = raw;
  else if (bytes_equal(name, "text") && kind == JSON_SCAN_STRING) m->text = raw, m->has_text = true;
}

static bool read_message(struct message *ret, struct bytes line) {
  *ret = (struct message){.id = -1, .n = -1, .at_ns = -1, .started_ns = -1, .ended_ns = -1, .prompt_tokens = -1, .output_tokens = -1};
  return json_scan(line.ptr, line.length, visit, ret) && ret->kind != MESSAGE_NONE;
}

/* --- processes --- */

static void close_fds(struct worker *w) {
  if (w->to_fd >= 0) (void)close(w->to_fd);
  if (w->from_fd >= 0) (void)close(w->from_fd);
  w->to_fd = w->from_fd = -1;
  w->watches_out = false;
}

static void stop_worker(struct worker *w, int64_t within_ns) {
  close_fds(w); /* the end of its input: it may leave by itself */
  child_stop(&w->child, within_ns);
  w->state = WORKER_NONE;
  buffer_clear(&w->line);
  buffer_clear(&w->out);
}

static bool watch(const struct command_driver *driver, struct worker *w, int fd, uint32_t events, bool out) {
  uint64_t index = (uint64_t)(w - driver->workers);
  struct epoll_event event = {.events = events, .data.u64 = index * 2 + (out ? 1 : 0)};
  return epoll_ctl(driver->waiter.epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* "{"hello":1,...}" tells the program what it will be asked, before anything is timed. */
static bool say_hello(const struct command_driver *driver, const struct worker *w) {
  struct buffer hello;
  struct json_writer json;
  buffer_init(&hello, 65536);
  json_begin_object(&json, &hello);
  json_put_int(&json, "hello", 1);
  json_put_int(&json, "worker", w - driver->workers);
  json_put_text(&json, "model", driver->options.model);
  json_put_int(&json, "seed", driver->options.seed);
  json_put_double(&json, "temperature", driver->options.temperature);
  json_put_bool(&json, "stream", driver->options.stream);
  json_put_bool(&json, "ignore_eos", driver->options.ignore_eos);
  json_close(&json);
  bool good = json_finish(&json) && buffer_text(&hello, "\n") && write(w->to_fd, hello.data, hello.length) == (ssize_t)hello.length;
  buffer_release(&hello);
  return good;
}

static enum lynx_status start_worker(struct command_driver *driver, struct worker *w, struct lynx_error *error) {
  const struct child_request request = {.arguments = driver->options.command,
                                        .environment = driver->options.environment,
                                        .users = true,
                                        .output_path = driver->options.log_path,
                                        .stays = driver->is_open};
  enum lynx_status status = child_start_piped(&w->child, &request, &w->to_fd, &w->from_fd, error);
  if (status != LYNX_OK) return status;
  w->state = WORKER_STARTING;
  w->started_ns = clock_now(driver->options.clock);
  driver->n_starting++;
  if (!watch(driver, w, w->from_fd, EPOLLIN, false)) {
    stop_worker(w, 0);
    return lynx_fail(error, LYNX_IO, "epoll: %s", strerror(errno));
  }
  (void)say_hello(driver, w); /* if it is gone already, the end of its output says so */
  return LYNX_OK;
}

static void add_facts(struct command_driver *driver, const json_t *facts) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)facts, key, value) {
    const char *dot = strchr(key, '.');
    enum layer layer;
    if (dot == NULL || !json_is_string(value) || !layer_parse(arena_text(&driver->arena, key, (size_t)(dot - key)), &layer)) continue;
    fact_add(&driver->facts, &(struct fact){.layer = layer,
                                            .kind = FACT_IDENTITY,
                                            .status = FACT_READ,
                                            .key = arena_printf(&driver->arena, "program.%s", dot + 1),
                                            .value = json_string_value(value),
                                            .unit = "",
                                            .source = "the program, in its ready message"});
  }
}

static void take_ready(struct command_driver *driver, struct worker *w, struct bytes line) {
  w->state = WORKER_IDLE;
  driver->n_starting--;
  if (w != driver->workers || driver->executed != NULL) return;
  json_t *root = json_parse(line.ptr, line.length, MESSAGE_MAX, NULL);
  add_facts(driver, json_object_get(root, "facts"));
  const json_t *executed = json_object_get(root, "executed");
  char *text = json_is_object(executed) ? json_dumps(executed, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  driver->executed = text != NULL ? arena_copy(&driver->arena, text) : "";
  free(text);
  json_decref(root);
}

/* --- answers --- */

static void deliver_end(struct command_driver *driver, struct worker *w, int64_t at_ns, int64_t read_lag_ns) {
  driver->worker_of[w->slot] = 0;
  if (w->state == WORKER_BUSY) w->state = WORKER_IDLE;
  w->end.phases = w->phases;
  driver->deliver(
      driver->context,
      &(struct completion){.kind = COMPLETION_END, .slot = w->slot, .at_ns = at_ns, .read_lag_ns = read_lag_ns, .end = &w->end});
}

static void fail_request(struct command_driver *driver, struct worker *w, enum outcome outcome, const char *reason) {
  w->end.outcome = outcome;
  text_sanitise(w->end.reason, sizeof w->end.reason, reason, strlen(reason));
  w->end.n_phases = 0;
  deliver_end(driver, w, clock_now(driver->options.clock), -1);
}

/* The program's own time, if it can be true; else ours. */
static int64_t own_time(struct worker *w, int64_t told_ns, int64_t now_ns, int64_t *ret_lag_ns) {
  bool good = told_ns >= w->last_ns && told_ns <= now_ns;
  *ret_lag_ns = good ? now_ns - told_ns : -1;
  w->last_ns = good ? told_ns : now_ns;
  return w->last_ns;
}

static void take_token(struct command_driver *driver, struct worker *w, const struct message *m, int64_t now_ns) {
  int64_t lag_ns, at_ns = own_time(w, m->at_ns, now_ns, &lag_ns), n_bytes = m->has_text ? json_scan_text_bytes(m->text) : 0;
  if (n_bytes < 0) w->end.flags |= ANSWER_INVALID_UTF8;
  w->end.flags |= ANSWER_TOKENS_TOLD;
  driver->deliver(driver->context, &(struct completion){.kind = COMPLETION_EVENT,
                                                        .slot = w->slot,
                                                        .at_ns = at_ns,
                                                        .read_lag_ns = lag_ns,
                                                        .n_tokens = m->n >= 0 && m->n <= UINT32_MAX ? (uint32_t)m->n : 1,
                                                        .n_bytes = n_bytes > 0 ? (uint32_t)n_bytes : 0,
                                                        .carries_text = true,
                                                        .carries_answer = true,
                                                        .content = m->text});
}

static void add_phase(struct worker *w, const char *name, int64_t from_ns, int64_t took_ns) {
  if (w->end.n_phases == ANSWER_PHASES || took_ns < 0) return;
  struct answer_phase *phase = &w->phases[w->end.n_phases++];
  *phase = (struct answer_phase){.from_ns = from_ns, .took_ns = took_ns};
  memcpy(phase->name, name, sizeof phase->name);
}

static void take_done(struct command_driver *driver, struct worker *w, const struct message *m, int64_t now_ns) {
  static const char handover[sizeof w->phases[0].name] = "handover";
  int64_t lag_ns, at_ns = own_time(w, m->ended_ns, now_ns, &lag_ns);
  w->end.outcome = OUTCOME_OK;
  w->end.prompt_tokens = m->prompt_tokens;
  w->end.output_tokens = m->output_tokens;
  if (m->started_ns >= w->written_ns && m->started_ns <= at_ns) add_phase(w, handover, 0, m->started_ns - w->written_ns);
  for (size_t i = 0; i < m->n_phases; i++) {
    int64_t from_ns = m->phases[i].from_ns;
    bool known = from_ns >= w->written_ns && from_ns <= at_ns;
    if (m->phases[i].took_ns <= at_ns - w->written_ns)
      add_phase(w, m->phases[i].name, known ? from_ns - w->written_ns : -1, m->phases[i].took_ns);
  }
  bool whole = m->has_text && (w->end.flags & ANSWER_TOKENS_TOLD) == 0; /* one text at the end, with all of its tokens */
  if (whole) {
    int64_t n_bytes = json_scan_text_bytes(m->text);
    driver->deliver(driver->context, &(struct completion){.kind = COMPLETION_EVENT,
                                                          .slot = w->slot,
                                                          .at_ns = at_ns,
                                                          .read_lag_ns = lag_ns,
                                                          .n_tokens = 1,
                                                          .n_bytes = n_bytes > 0 ? (uint32_t)n_bytes : 0,
                                                          .carries_text = true,
                                                          .carries_answer = true,
                                                          .content = m->text});
  } else if (m->output_tokens > 0 && (w->end.flags & ANSWER_TOKENS_TOLD) == 0) { /* tokens, and no text of them */
    w->end.flags |= ANSWER_TOKENS_TOLD;
    driver->deliver(driver->context, &(struct completion){.kind = COMPLETION_EVENT,
                                                          .slot = w->slot,
                                                          .at_ns = at_ns,
                                                          .read_lag_ns = lag_ns,
                                                          .n_tokens = m->output_tokens <= UINT32_MAX ? (uint32_t)m->output_tokens : 0});
  }
  deliver_end(driver, w, at_ns, lag_ns);
}

static void take_error(struct command_driver *driver, struct worker *w, const struct message *m) {
  char reason[sizeof w->end.reason];
  text_sanitise(reason, sizeof reason, m->why.ptr != NULL ? m->why.ptr : "no message", m->why.ptr != NULL ? m->why.length : 10);
  fail_request(driver, w, OUTCOME_EXECUTOR, reason);
}

/* Ends a process that cannot go on, and its request with it; the next reap starts another while that is allowed. */
static void replace_worker(struct command_driver *driver, struct worker *w, enum outcome outcome, const char *why) {
  (void)snprintf(driver->last_words, sizeof driver->last_words, "%s", why);
  bool busy = w->state == WORKER_BUSY;
  driver->n_draining -= w->state == WORKER_DRAINING;
  driver->n_starting -= w->state == WORKER_STARTING;
  stop_worker(w, 0);
  if (busy) fail_request(driver, w, outcome, driver->last_words);
  if (driver->n_restarts >= driver->restarts_max) return;
  driver->n_restarts++;
  w->state = WORKER_ENDED;
  driver->n_ended++;
}

static void restart_ended(struct command_driver *driver) {
  struct lynx_error error = {0};
  for (uint32_t i = 0; i < driver->options.n_slots && driver->n_ended > 0; i++) {
    struct worker *w = &driver->workers[i];
    if (w->state != WORKER_ENDED) continue;
    driver->n_ended--;
    w->state = WORKER_NONE;
    if (start_worker(driver, w, &error) != LYNX_OK) (void)snprintf(driver->last_words, sizeof driver->last_words, "%.150s", error.message);
  }
}

/* False: the process must be replaced; *ret_why says so. */
static bool take_message(struct command_driver *driver, struct worker *w, struct bytes line, int64_t now_ns, char *ret_why, size_t size) {
  struct message m;
  if (!read_message(&m, line)) {
    char found[60];
    (void)snprintf(ret_why, size, "a line that is no message: '%s'", text_sanitise(found, sizeof found, line.ptr, line.length));
    return false;
  }
  if (m.kind == MESSAGE_READY && w->state == WORKER_STARTING) take_ready(driver, w, line);
  if (m.kind == MESSAGE_UNAVAILABLE && w->state == WORKER_STARTING) {
    text_sanitise(ret_why, size, m.why.ptr, m.why.length);
    return false;
  }
  bool ends = m.kind == MESSAGE_DONE || m.kind == MESSAGE_ERROR;
  if (w->state == WORKER_DRAINING && m.id == w->id && ends) {
    w->state = WORKER_IDLE;
    driver->n_draining--;
  }
  if (w->state != WORKER_BUSY || m.id != w->id) return true; /* of a request that is over */
  if (m.kind == MESSAGE_TOKEN) take_token(driver, w, &m, now_ns);
  else if (m.kind == MESSAGE_DONE) take_done(driver, w, &m, now_ns);
  else if (m.kind == MESSAGE_ERROR) take_error(driver, w, &m);
  return true;
}

static bool take_lines(struct command_driver *driver, struct worker *w, const char *data, size_t length, int64_t now_ns, char *ret_why,
                       size_t size) {
  while (length > 0) {
    const char *end = memchr(data, '\n', length);
    size_t n = end != NULL ? (size_t)(end - data) : length;
    bool whole = w->line.length == 0 && end != NULL;
    if (!whole && !buffer_append(&w->line, data, n)) {
      (void)snprintf(ret_why, size, "a message of more than %d bytes", MESSAGE_MAX);
      return false;
    }
    if (end == NULL) return true;
    struct bytes line = whole ? (struct bytes){data, n} : (struct bytes){w->line.data, w->line.length};
    if (line.length > 0 && !take_message(driver, w, line, now_ns, ret_why, size)) return false;
    buffer_clear(&w->line);
    data += n + 1;
    length -= n + 1;
  }
  return true;
}

static void explain_end(struct worker *w, char *why, size_t size) {
  const struct timespec step = {.tv_nsec = 1000000};
  for (int i = 0; i < 10 && child_running(&w->child); i++) (void)nanosleep(&step, NULL); /* its output ends a moment before it does */
  if (child_running(&w->child)) (void)snprintf(why, size, "the program closed its output");
  else if (w->child.exit_code > 128) (void)snprintf(why, size, "the program was ended by signal %d", w->child.exit_code - 128);
  else (void)snprintf(why, size, "the program ended with exit code %d", w->child.exit_code);
}

/* Reads what there is; false once the process must be replaced. */
static bool read_worker(struct command_driver *driver, struct worker *w, char *why, size_t size) {
  ssize_t n = read(w->from_fd, driver->scratch, READ_BYTES);
  int64_t now_ns = clock_now(driver->options.clock);
  if (n > 0) return take_lines(driver, w, driver->scratch, (size_t)n, now_ns, why, size);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  explain_end(w, why, size);
  return false;
}

/* --- the driver --- */

/* The end of their input tells programs to leave: they have stop_within for that, all of them together. */
static void let_leave(struct command_driver *driver) {
  const struct timespec step = {.tv_nsec = 2000000};
  int64_t until_ns = clock_now(driver->options.clock) + driver->options.stop_within_ns;
  for (uint32_t i = 0; i < driver->options.n_slots; i++)
    while (driver->workers[i].state > WORKER_ENDED && child_running(&driver->workers[i].child) &&
           clock_now(driver->options.clock) < until_ns)
      (void)nanosleep(&step, NULL);
}

static void command_close(void *state) {
  struct command_driver *driver = state;
  if (driver == NULL) return;
  for (uint32_t i = 0; driver->workers != NULL && i < driver->options.n_slots; i++) close_fds(&driver->workers[i]);
  if (driver->is_open) let_leave(driver);
  for (uint32_t i = 0; driver->workers != NULL && i < driver->options.n_slots; i++) {
    stop_worker(&driver->workers[i], 100000000);
    buffer_release(&driver->workers[i].line);
    buffer_release(&driver->workers[i].out);
  }
  if (driver->waiter.epoll >= 0) (void)close(driver->waiter.epoll);
  fact_list_release(&driver->facts);
  arena_release(&driver->arena);
  free(driver->workers);
  free(driver->worker_of);
  free(driver->requests);
  free(driver->pending);
  free(driver->scratch);
  free(driver);
}

static enum lynx_status starting_failed(const struct command_driver *driver, struct worker *w, const char *why, struct lynx_error *error) {
  const char *log = driver->options.log_path;
  if (!child_running(&w->child) && w->child.exit_code == driver->options.unavailable_exit)
    return lynx_fail(error, LYNX_UNSUPPORTED, "'%s' says so by its exit code %d", driver->options.command[0], w->child.exit_code);
  return lynx_fail(error, LYNX_IO, "'%s' was not ready: %s; what it printed is in %s", driver->options.command[0], why, log);
}

static bool is_unavailable(struct bytes line, char *why, size_t size) {
  struct message m;
  if (!read_message(&m, line) || m.kind != MESSAGE_UNAVAILABLE) return false;
  text_sanitise(why, size, m.why.ptr, m.why.length);
  return true;
}

/* Waits until a process has said that it is ready; untimed. */
static enum lynx_status wait_ready(struct command_driver *driver, struct worker *w, int64_t deadline_ns, struct lynx_error *error) {
  char why[160] = "";
  const struct timespec step = {.tv_nsec = STARTING_POLL_NS};
  while (w->state == WORKER_STARTING) {
    ssize_t n = read(w->from_fd, driver->scratch, READ_BYTES);
    if (n > 0) {
      const char *end = memchr(driver->scratch, '\n', (size_t)n);
      if (w->line.length == 0 && end != NULL &&
          is_unavailable((struct bytes){driver->scratch, (size_t)(end - driver->scratch)}, why, sizeof why))
        return lynx_fail(error, LYNX_UNSUPPORTED, "%s", why);
      if (!take_lines(driver, w, driver->scratch, (size_t)n, 0, why, sizeof why)) return starting_failed(driver, w, why, error);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
      explain_end(w, why, sizeof why);
      return starting_failed(driver, w, why, error);
    } else if (driver->options.stop != NULL && atomic_load(driver->options.stop) != 0)
      return lynx_fail(error, LYNX_IO, "stopped while the program was starting");
    else if (clock_now(driver->options.clock) > deadline_ns)
      return starting_failed(driver, w, "executor.start.ready_within is over", error);
    else (void)nanosleep(&step, NULL);
  }
  return LYNX_OK;
}

/* By which a program knows who started it. */
static const char *const *with_protocol(const char *const *environment, struct arena *arena) {
  size_t n = 0;
  while (environment[n] != NULL) n++;
  const char **list = arena_alloc(arena, n + 2, sizeof *list);
  for (size_t i = 0; i < n; i++) list[i + 1] = environment[i];
  list[0] = "LYNXBENCH_PROTOCOL=1";
  return list;
}

static enum lynx_status command_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  struct command_driver *driver = xalloc(1, sizeof *driver);
  driver->options = *options;
  driver->restarts_max = atoll(options->values[COMMAND_RESTARTS]); /* checked: an integer in range */
  driver->workers = xalloc(options->n_slots, sizeof *driver->workers);
  driver->worker_of = xalloc(options->n_slots, sizeof *driver->worker_of);
  driver->pending = xalloc((size_t)options->n_slots * 2, sizeof *driver->pending);
  driver->scratch = xalloc(READ_BYTES, 1);
  driver->waiter.epoll = epoll_create1(EPOLL_CLOEXEC);
  enum lynx_status status = driver->waiter.epoll < 0 ? lynx_fail(error, LYNX_IO, "epoll: %s", strerror(errno)) : LYNX_OK;
  driver->options.environment = with_protocol(options->environment, &driver->arena);
  (void)signal(SIGPIPE, SIG_IGN); /* its output's end shows that a process is gone */
  for (uint32_t i = 0; i < options->n_slots; i++) {
    struct worker *w = &driver->workers[i];
    w->to_fd = w->from_fd = -1;
    buffer_init(&w->line, MESSAGE_MAX);
    buffer_init(&w->out, MESSAGE_MAX + 64);
    if (status == LYNX_OK) status = start_worker(driver, w, error);
  }
  int64_t deadline_ns = clock_now(options->clock) + options->ready_within_ns;
  for (uint32_t i = 0; i < options->n_slots && status == LYNX_OK; i++) status = wait_ready(driver, &driver->workers[i], deadline_ns, error);
  if (status != LYNX_OK) {
    command_close(driver);
    return status;
  }
  driver->is_open = true;
  *ret_state = driver;
  return LYNX_OK;
}

static int64_t command_describe(void *state, struct fact_list *facts) {
  struct command_driver *driver = state;
  for (size_t i = 0; i < driver->facts.n_items; i++) fact_add(facts, &driver->facts.items[i]);
  for (uint32_t i = 0; i < driver->options.n_slots; i++)
    if (driver->workers[i].state >= WORKER_IDLE && child_running(&driver->workers[i].child)) return driver->workers[i].child.pid;
  return 0;
}

static const char *command_executed(void *state) {
  const struct command_driver *driver = state;
  return driver->executed != NULL && driver->executed[0] != 0 ? driver->executed : NULL;
}

static enum lynx_status command_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  struct command_driver *driver = state;
  struct buffer text;
  driver->requests = xalloc(n_inputs, sizeof *driver->requests);
  driver->n_requests = n_inputs;
  buffer_init(&text, MESSAGE_MAX);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++) {
    struct json_writer json;
    buffer_clear(&text);
    json_begin_object(&json, &text);
    json_put_int(&json, "input", (int64_t)i);
    json_key(&json, "prompt");
    json_bytes(&json, inputs[i].prompt, inputs[i].length);
    if (inputs[i].image != NULL) json_put_text(&json, "image", inputs[i].image);
    json_put_int(&json, "output_tokens", inputs[i].output_tokens);
    json_close(&json);
    bool good = json_finish(&json) && buffer_text(&text, "\n");
    if (!good) status = lynx_fail(error, LYNX_LIMIT, "input %zu makes a message of more than %d bytes", i, MESSAGE_MAX);
    else driver->requests[i] = (struct bytes){arena_text(&driver->arena, text.data + 1, text.length - 1), text.length - 1};
  }
  buffer_release(&text);
  return status;
}

static void keep_pending(struct command_driver *driver, const struct pending *pending) {
  lynx_assert(driver->n_pending < (size_t)driver->options.n_slots * 2);
  driver->pending[driver->n_pending++] = *pending;
}

static struct worker *find_idle(struct command_driver *driver, uint32_t slot, bool *ret_any) {
  *ret_any = false;
  for (uint32_t i = 0; i < driver->options.n_slots; i++) {
    struct worker *w = &driver->workers[(slot + i) % driver->options.n_slots];
    if (w->state == WORKER_IDLE) return w;
    *ret_any = *ret_any || w->state != WORKER_NONE;
  }
  return NULL;
}

static void send_request(struct command_driver *driver, struct worker *w, size_t input) {
  char head[40];
  int n_head = snprintf(head, sizeof head, "{\"run\":%lld,", (long long)w->id);
  struct bytes rest = driver->requests[input];
  struct iovec parts[] = {{head, (size_t)n_head}, {(void *)(uintptr_t)rest.ptr, rest.length}};
  w->written_ns = w->last_ns = clock_now(driver->options.clock);
  ssize_t n = w->out.length > 0 ? 0 : writev(w->to_fd, parts, 2); /* behind what the program left of the one before */
  size_t done = n > 0 ? (size_t)n : 0, all = (size_t)n_head + rest.length;
  if (done < all) { /* a prompt larger than the pipe's room; the head always fits */
    if (done < (size_t)n_head) (void)buffer_append(&w->out, head + done, (size_t)n_head - done);
    size_t from = done > (size_t)n_head ? done - (size_t)n_head : 0;
    (void)buffer_append(&w->out, rest.ptr + from, rest.length - from);
    if (!w->watches_out) w->watches_out = watch(driver, w, w->to_fd, EPOLLOUT, true);
  }
  keep_pending(driver, &(struct pending){.slot = w->slot, .at_ns = w->written_ns});
}

static enum driver_answer command_issue(void *state, uint32_t slot, size_t input) {
  struct command_driver *driver = state;
  bool any;
  struct worker *w = find_idle(driver, slot, &any);
  if (w == NULL && any) return DRIVER_BUSY; /* a process is being replaced */
  if (w == NULL) {
    struct pending pending = {.slot = slot, .at_ns = clock_now(driver->options.clock), .failed = true};
    pending.end = (struct answer_end){.outcome = OUTCOME_EXECUTOR, .prompt_tokens = -1, .output_tokens = -1};
    (void)snprintf(pending.end.reason, sizeof pending.end.reason, "no process is left after %lld restarts (%.90s)",
                   (long long)driver->n_restarts, driver->last_words);
    keep_pending(driver, &pending);
    return DRIVER_ACCEPTED;
  }
  w->state = WORKER_BUSY;
  w->slot = slot;
  w->id = driver->next_id++;
  w->end = (struct answer_end){.prompt_tokens = -1, .output_tokens = -1};
  driver->worker_of[slot] = w - driver->workers + 1;
  send_request(driver, w, input);
  return DRIVER_ACCEPTED;
}

static void write_more(struct command_driver *driver, struct worker *w) {
  ssize_t n = write(w->to_fd, w->out.data, w->out.length);
  if (n > 0) buffer_drop_front(&w->out, (size_t)n);
  if (w->out.length > 0 && (n > 0 || errno == EAGAIN || errno == EINTR)) return;
  (void)epoll_ctl(driver->waiter.epoll, EPOLL_CTL_DEL, w->to_fd, NULL);
  w->watches_out = false;
}

/* A program cannot be told to stop: one that does not come to its end is replaced; so is one that never becomes ready. */
static void end_late(struct command_driver *driver) {
  bool any = driver->n_draining > 0 || driver->n_starting > 0;
  int64_t now_ns = any ? clock_now(driver->options.clock) : 0;
  for (uint32_t i = 0; i < driver->options.n_slots && any; i++) {
    struct worker *w = &driver->workers[i];
    if (w->state == WORKER_STARTING && now_ns - w->started_ns > driver->options.ready_within_ns)
      replace_worker(driver, w, OUTCOME_EXECUTOR, "a process in its place was not ready within executor.start.ready_within");
    if (w->state == WORKER_DRAINING && now_ns - w->cut_off_ns > DRAIN_GRACE_NS)
      replace_worker(driver, w, OUTCOME_TIMEOUT, "it did not end after the time-out");
  }
}

static void command_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  struct command_driver *driver = state;
  struct epoll_event events[EVENTS_AT_ONCE];
  char why[160];
  driver->deliver = deliver;
  driver->context = context;
  for (size_t i = 0; i < driver->n_pending; i++) {
    const struct pending *p = &driver->pending[i];
    deliver(context, &(struct completion){.kind = p->failed ? COMPLETION_END : COMPLETION_WRITTEN,
                                          .slot = p->slot,
                                          .at_ns = p->at_ns,
                                          .read_lag_ns = -1,
                                          .end = p->failed ? &p->end : NULL});
    if (p->failed) deadline_ns = 0;
  }
  driver->n_pending = 0;
  end_late(driver);
  restart_ended(driver);
  int n = wait_until(&driver->waiter, driver->options.clock, deadline_ns, events, EVENTS_AT_ONCE);
  for (int i = 0; i < n; i++) {
    struct worker *w = &driver->workers[events[i].data.u64 / 2];
    if (w->state <= WORKER_ENDED) continue;
    if (events[i].data.u64 % 2 == 1) {
      if (w->watches_out) write_more(driver, w);
    } else if (!read_worker(driver, w, why, sizeof why)) replace_worker(driver, w, OUTCOME_EXECUTOR, why);
  }
}

static void command_cancel(void *state, uint32_t slot) {
  struct command_driver *driver = state;
  for (size_t i = 0; i < driver->n_pending; i++)
    if (driver->pending[i].slot == slot) driver->pending[i--] = driver->pending[--driver->n_pending];
  int64_t index = driver->worker_of[slot];
  if (index == 0) return;
  struct worker *w = &driver->workers[index - 1];
  driver->worker_of[slot] = 0;
  w->state = WORKER_DRAINING; /* nothing more is delivered for it */
  w->cut_off_ns = clock_now(driver->options.clock);
  driver->n_draining++;
}

const struct driver driver_command;
const struct driver driver_command = {
    .worker_per_slot = true,
    .abi = DRIVER_ABI,
    .name = "command",
    .summary = "any program that speaks the line protocol over pipes (docs/command.md); the Python package speaks it",
    .sees = "handover, every token that the program reports, and the phases that it marks",
    .in_process = true,
    .runs_command = true,
    .options = command_options,
    .n_options = LYNX_COUNT(command_options),

    .open = command_open,
    .describe = command_describe,
    .executed = command_executed,
    .prepare = command_prepare,
    .issue = command_issue,
    .reap = command_reap,
    .cancel = command_cancel,
    .close = command_close,
};
