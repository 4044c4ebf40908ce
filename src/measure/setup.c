#include "measure/setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/endpoint.h"
#include "base/root.h"
#include "drivers/drivers.h"
#include "measure/environment.h"

static enum request_route route_of(const struct contract *c) {
  static const enum request_route routes[] = {
      [API_COMPLETIONS] = ROUTE_COMPLETIONS, [API_CHAT] = ROUTE_CHAT,     [API_RESPONSES] = ROUTE_RESPONSES,
      [API_EMBEDDINGS] = ROUTE_EMBEDDINGS,   [API_NATIVE] = ROUTE_NATIVE, [API_NATIVE_CHAT] = ROUTE_NATIVE_CHAT};
  return routes[c->workload.api];
}

/* --- what of a contract its driver cannot take --- */

static void refuse(struct problem_list *problems, const char *field, const char *found, const char *accepted) {
  problem_add(problems, PROBLEM_ERROR, 0, field, found, accepted);
}

static void check_options(const struct contract *c, const struct driver *driver, struct problem_list *problems) {
  const struct text_map *given = &c->workload.options;
  const char **values = arena_alloc(problems->arena, driver->n_options + 1, sizeof *values), *key = "";
  struct lynx_error why = {0};
  if (driver_read_options(driver, given->keys, given->values, given->n_items, values, &key, &why) != LYNX_OK) {
    refuse(problems, arena_printf(problems->arena, "workload.options.%s", key), arena_copy(problems->arena, why.message),
           "what `lynxbench lint --drivers` lists");
    return;
  }
  const struct driver_options options = {.route = route_of(c), .stream = c->workload.stream, .values = values};
  const char *field = "workload";
  if (driver->check != NULL && driver->check(&options, &field, &why) != LYNX_OK)
    refuse(problems, field, arena_copy(problems->arena, why.message), "what its driver can do (docs/drivers.md)");
}

void setup_check(const struct contract *c, struct problem_list *problems) {
  const struct contract_workload *w = &c->workload;
  if (w->driver == NULL) return;
  const struct driver *driver = drivers_find(w->driver);
  if (driver == NULL) {
    const char *list = "one of:";
    for (int i = 0; drivers_all[i] != NULL; i++) list = arena_printf(problems->arena, "%s %s", list, drivers_all[i]->name);
    refuse(problems, "workload.driver", w->driver, list);
    return;
  }
  check_options(c, driver, problems);
  if (!driver->in_process && !contract_states(c, "executor.endpoint"))
    refuse(problems, "executor.endpoint", "nothing",
           arena_printf(problems->arena, "the %s driver needs one, such as http://127.0.0.1:8000", driver->name));
  if (driver->in_process && contract_states(c, "executor.endpoint"))
    refuse(problems, "executor.endpoint", "an address",
           arena_printf(problems->arena, "nothing: the %s driver reaches no server", driver->name));
  bool starts = contract_states(c, "executor.start");
  if (driver->runs_command && !starts)
    refuse(problems, "executor.start", "nothing", "the command driver runs executor.start.command, once for every request in flight");
  if (driver->in_process && !driver->runs_command && starts)
    refuse(problems, "executor.start", "a command",
           arena_printf(problems->arena, "nothing: the %s driver starts no process", driver->name));
  if (driver->worker_per_slot && contract_in_flight(c) == 0)
    refuse(problems, "regime.concurrency", "nothing",
           arena_printf(problems->arena, "how many requests may run at once: the %s driver has a %s for each", driver->name,
                        driver->runs_command ? "process" : "thread"));
}

/* --- keys --- */

static size_t key_length(const char *text, size_t length) {
  size_t n = 0;
  while (n < length && text[n] > ' ' && text[n] < 127) n++;
  return n;
}

static bool is_key_of_a_service(const char *name) {
  static const char *const ends[] = {"_API_KEY", "_TOKEN"};
  size_t n = strlen(name);
  for (size_t i = 0; i < LYNX_COUNT(ends); i++)
    if (n > strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

enum lynx_status setup_key(const struct contract *c, const char *allowed, struct arena *arena, const char **ret, struct lynx_error *error) {
  const struct contract_workload *w = &c->workload;
  const struct root root = {""};
  struct buffer text;
  *ret = NULL;
  if (w->api_key_env != NULL) {
    if (!is_key_of_a_service(w->api_key_env) && (allowed == NULL || strcmp(allowed, w->api_key_env) != 0))
      return lynx_fail(
          error, LYNX_INPUT,
          "workload.api_key_env: found %.80s; accepted: a name that ends in _API_KEY or _TOKEN, or one that --key-variable allows",
          w->api_key_env);
    *ret = getenv(w->api_key_env);
    size_t n = *ret != NULL ? key_length(*ret, strlen(*ret)) : 0;
    if (n > 0 && (*ret)[n] == 0) return LYNX_OK;
    if (*ret != NULL)
      return lynx_fail(error, LYNX_INPUT, "workload.api_key_env: what %.80s holds is not a key: letters, digits and marks without blanks",
                       w->api_key_env);
    return lynx_fail(error, LYNX_INPUT, "workload.api_key_env names %.80s, which is not set in this environment", w->api_key_env);
  }
  if (w->api_key_file == NULL) return LYNX_OK;
  buffer_init(&text, 16384);
  enum lynx_status status = root_read(&root, w->api_key_file, &text, error);
  size_t n = key_length(text.data != NULL ? text.data : "", text.length);
  if (status == LYNX_OK && (n == 0 || (n < text.length && text.data[n] != '\n' && text.data[n] != '\r'))) {
    lynx_error_at(error, w->api_key_file, 1, "workload.api_key_file");
    status = lynx_fail(error, LYNX_INPUT, "the first line is not a key: letters, digits and marks without blanks");
  }
  if (status == LYNX_OK) *ret = arena_text(arena, text.data, n);
  buffer_wipe(&text);
  return status;
}

/* --- how many at once --- */

enum { FILES_KEPT = 128, IN_FLIGHT_MOST = 65536 };

static int64_t files_left(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return IN_FLIGHT_MOST;
  return limit.rlim_max > (rlim_t)IN_FLIGHT_MOST + FILES_KEPT ? IN_FLIGHT_MOST : (int64_t)limit.rlim_max - FILES_KEPT;
}

int64_t setup_in_flight(const struct contract *c, double rate_per_s, size_t n_at_once, bool *ret_limited) {
  int64_t stated = contract_in_flight(c), files = files_left();
  *ret_limited = false;
  if (stated > 0) return stated;
  /* More than are due within the time-out, and six standard deviations of their number, are never there at once. */
  double due = rate_per_s * (double)c->method.request_timeout_ns / 1e9;
  due = due + 6 * sqrt(due) + 64 + (double)n_at_once;
  int64_t wanted = due < IN_FLIGHT_MOST ? (int64_t)due : IN_FLIGHT_MOST;
  if (contract_states(c, "where.load_cap_in_flight") && wanted > c->where.load_cap_in_flight) return c->where.load_cap_in_flight;
  *ret_limited = wanted > files;
  return *ret_limited ? (files > 1 ? files : 1) : wanted;
}

/* --- opening --- */

static const char *replace(struct arena *arena, const char *argument, const char *name, const char *value) {
  const char *found = strstr(argument, name);
  if (found == NULL) return argument;
  return replace(arena, arena_printf(arena, "%.*s%s%s", (int)(found - argument), argument, value, found + strlen(name)), name, value);
}

const char *setup_argument(struct arena *arena, const struct contract *c, const char *argument, const char *precision) {
  struct endpoint endpoint = {.port = 80};
  if (c->executor.endpoint == NULL || endpoint_parse(c->executor.endpoint, &endpoint, NULL) != LYNX_OK) endpoint.port = 80;
  return replace(arena, replace(arena, argument, "{precision}", precision), "{port}", arena_printf(arena, "%d", endpoint.port));
}

uint32_t setup_share(int64_t concurrency, uint32_t index, uint32_t n) {
  return (uint32_t)concurrency / n + (index < (uint32_t)concurrency % n ? 1 : 0);
}

static const char *const *command_of(struct setup *setup, const struct setup_request *request) {
  const struct text_list *command = &request->contract->executor.start.command;
  const char **arguments = arena_alloc(&setup->arena, command->n_items + 1, sizeof *arguments);
  for (size_t i = 0; i < command->n_items; i++)
    arguments[i] = setup_argument(&setup->arena, request->contract, command->items[i], request->precision);
  return arguments;
}

enum lynx_status setup_open(const struct setup_request *request, struct setup *ret, struct lynx_error *error) {
  const struct contract *c = request->contract;
  const struct contract_workload *w = &c->workload;
  const struct driver *driver = request->driver;
  *ret = (struct setup){.driver = driver};
  ret->n = c->method.threads < request->concurrency ? (uint32_t)c->method.threads : (uint32_t)request->concurrency;
  ret->states = arena_alloc(&ret->arena, ret->n, sizeof *ret->states);
  const char **values = arena_alloc(&ret->arena, driver->n_options + 1, sizeof *values), *key = "";
  enum lynx_status status = driver_read_options(driver, w->options.keys, w->options.values, w->options.n_items, values, &key, error);
  if (status != LYNX_OK) lynx_error_at(error, NULL, 0, arena_printf(&ret->arena, "workload.options.%s", key));
  for (uint32_t i = 0; i < ret->n && status == LYNX_OK; i++) {
    struct driver_options options = {.endpoint = c->executor.endpoint,
                                     .through_port = request->through_port,
                                     .ca_file = c->executor.ca_file,
                                     .bearer = request->bearer,
                                     .user_agent = request->contract->workload.user_agent,
                                     .route = route_of(c),
                                     .stream = w->stream,
                                     .ignore_eos = w->ignore_eos,
                                     .continuous_usage = w->continuous_usage,
                                     .model = w->model,
                                     .temperature = w->temperature,
                                     .seed = request->seed,
                                     .n_slots = setup_share(request->concurrency, i, ret->n),
                                     .command = driver->runs_command ? command_of(ret, request) : NULL,
                                     .environment = driver->runs_command ? environment_of_start(c, &ret->arena) : NULL,
                                     .log_path = request->log_path,
                                     .ready_within_ns = c->executor.start.ready_within_ns,
                                     .stop_within_ns = c->executor.start.stop_within_ns,
                                     .unavailable_exit = (int)c->executor.start.unavailable_exit,
                                     .values = values,
                                     .n_slots_in_all = (uint32_t)request->concurrency,
                                     .stop = request->stop,
                                     .clock = request->clock};
    status = driver->open(&options, &ret->states[i], error);
    if (status == LYNX_OK) status = driver->prepare(ret->states[i], request->inputs, request->n_inputs, error);
  }
  return status;
}

void setup_close(struct setup *setup) {
  for (uint32_t i = 0; i < setup->n; i++) setup->driver->close(setup->states[i]);
  arena_release(&setup->arena);
  *setup = (struct setup){0};
}
