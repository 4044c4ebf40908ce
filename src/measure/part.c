#include "measure/part.h"

#include <string.h>

#include "base/clock.h"
#include "base/host.h"

enum { PAUSE_NS = 2000000000 }; /* between the drain's end and the next zero: rows are written, the executor is looked at */

int64_t part_period_ns(const struct contract *c) {
  return c->method.warm_up_ns + c->method.counted_ns + c->method.drain_ns + PAUSE_NS;
}

enum lynx_status part_check(const struct run_part *part, const struct contract *c, const struct driver *driver, struct lynx_error *error) {
  static const char accepted[] = "for several load hosts: a service that runs already, and a load that can be shared out";
  const char *found = NULL;
  int64_t engines = part->count * c->method.threads, slots = contract_in_flight(c) > 0 ? contract_in_flight(c) : engines;
  if (driver->in_process || driver->runs_command) found = "workload.driver: a driver that runs the workload on the load host itself";
  else if (contract_states(c, "executor.start")) found = "executor.start: each host would start one";
  else if (c->regime.load == LOAD_SATURATION || c->regime.load == LOAD_CLIMB)
    found = "regime.load: saturation or climb, whose loads are chosen as it goes";
  else if (c->regime.load == LOAD_SINGLE_STREAM || c->regime.load == LOAD_MULTI_STREAM) found = "regime.load: a stream of one host";
  else if (c->regime.load == LOAD_CONVERSATIONS) found = "regime.load: conversations, whose users stay together";
  else if (contract_states(c, "method.precision_target")) found = "method.precision_target: what one host has seen does not decide it";
  else if (contract_states(c, "method.budget")) found = "method.budget: hosts would end at different sessions";
  else if (contract_states(c, "where.abort_slo")) found = "where.abort_slo: one host would stop, and the others go on";
  else if (contract_states(c, "accuracy")) found = "accuracy, which is measured once";
  else if (contract_wants_check(c, "caching") || contract_wants_check(c, "prefix") || contract_wants_check(c, "seed"))
    found = "checks: one that has sessions of its own";
  if (found != NULL) return lynx_fail(error, LYNX_INPUT, "%s; accepted %s", found, accepted);
  if (slots < engines)
    return lynx_fail(error, LYNX_INPUT, "regime.concurrency: %lld for %lld load threads in all; accepted: one for each at least",
                     (long long)slots, (long long)engines);
  return LYNX_OK;
}

void part_write(const struct run_part *part, struct buffer *ret) {
  char start[40];
  struct host host;
  struct json_writer json;
  host_read(&host);
  json_begin_object(&json, ret);
  json_put_int(&json, "part", part->number);
  json_put_int(&json, "of", part->count);
  json_put_text(&json, "start", clock_text(start, part->start_realtime_ns));
  json_put_int(&json, "start_ns", part->start_realtime_ns);
  host_write(&host, &json);
  json_close(&json);
  lynx_assert(json_finish(&json));
}
