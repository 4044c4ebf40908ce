/* measure/service.h: the executor as a service: started if the contract says how, asked whether it is ready and what it
 * executes, asked for accuracy, stopped again. Nothing here is timed.
 * Errors   IO: it cannot be reached, ended, or was not ready in time (with the end of what it printed); UNSUPPORTED: it
 *          says that this precision is unavailable */
#ifndef MEASURE_SERVICE_H
#define MEASURE_SERVICE_H

#include <stdatomic.h>

#include "base/child.h"
#include "contract/contract.h"

struct service {
  const struct contract *contract;
  const char *bearer;
  const atomic_int *stop; /* not 0: the user wants to stop; waits are cut short */
  struct child child;
  bool metrics_elsewhere; /* at TensorRT-LLM's path */
  char log_path[600];     /* what the started executor prints; "" if none was started */
};

/* precision fills {precision} in the command. */
enum lynx_status service_start(struct service *service, const char *precision, const char *log_path,
                               struct lynx_error *error) LYNX_MUST_CHECK;
/* What the executor says that it executes: the member "executed" of its first model, as JSON; "" if it does not say. */
void service_executed(const struct service *service, struct buffer *ret_json);

/* Does it answer on its ready path within 2 s? */
enum lynx_status service_alive(const struct service *service, struct lynx_error *error) LYNX_MUST_CHECK;
/* The server's metrics page, in Prometheus's text; false if it has none, or did not give it within half a second. The buffer is cleared first. */
bool service_metrics(struct service *service, struct buffer *page);

/* The answer's body is not kept. go_on: false gives it up. Threads: any, while the service is there. */
enum lynx_status service_post(const struct service *service, const char *path, const char *json, int64_t timeout_ns,
                              bool (*go_on)(void *context), void *context, int *ret_http_status, struct lynx_error *error) LYNX_MUST_CHECK;

typedef enum lynx_status service_accuracy_row(void *context, int64_t window, double bits, int64_t bytes);
/* Bits of each window of held-out text under teacher forcing. UNSUPPORTED: the server gives no prompt log-probabilities. */
enum lynx_status service_accuracy(const struct service *service, service_accuracy_row *row, void *context,
                                  struct lynx_error *error) LYNX_MUST_CHECK;
void service_stop(struct service *service);

/* The last lines of the log, sanitised. */
void service_log_tail(const struct service *service, char *text, size_t size);

#endif
