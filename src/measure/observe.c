#include "measure/observe.h"

#include "measure/observe_counters.h"
#include "measure/observe_packets.h"

enum lynx_status observe_open(struct run *run) {
  enum lynx_status status = observe_packets_open(run);
  if (status != LYNX_UNSUPPORTED || !run->request->observation.else_counters) return status;
  run_note(run, arena_printf(&run->arena, "counters only: %s. The server is asked for its metrics once a second, which is a request",
                             run->error->message));
  *run->error = (struct lynx_error){0};
  return LYNX_OK;
}

enum lynx_status run_observe(struct run *run) {
  return run->watcher != NULL ? run_observe_packets(run) : run_observe_counters(run);
}
