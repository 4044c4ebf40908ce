/* Samples of another host: no crash, what is read is in range, and the same twice. */
#include <math.h>
#include <string.h>

#include "measure/host_samples.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct counted {
  int64_t n, most_ns;
};

static void count_value(void *context, int64_t at_ns, const char *series, double value) {
  struct counted *c = context;
  HOLDS(at_ns >= 0 && series[0] != 0 && isfinite(value));
  c->n++;
  if (at_ns > c->most_ns) c->most_ns = at_ns;
}

static void count_name(void *context, const struct thread_name *name) {
  struct counted *c = context;
  HOLDS(name->process > 0 && name->thread >= 0 && strlen(name->program) < 64 && strlen(name->name) < 64);
  c->n++;
}

static void count_activity(void *context, const struct thread_activity *a) {
  struct counted *c = context;
  HOLDS(a->process > 0 && a->at_ns >= 0 && a->span_ns > 0 && a->running_ns >= 0 && a->ready_ns >= 0);
  c->n++;
  if (a->at_ns > c->most_ns) c->most_ns = a->at_ns;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  struct host_samples_head head = {.n_ports = 0}, again;
  struct counted one = {0}, two = {0};
  int64_t last_ns = -1, last_again_ns;
  struct lynx_error error = {0};
  struct host_samples_visit visit = {&one, count_value, count_name, count_activity};
  enum lynx_status status = host_samples_read(text, size, &visit, &head, &last_ns, &error);
  if (status != LYNX_OK) {
    HOLDS(error.message[0] != 0);
    return 0;
  }
  HOLDS(head.begun_ns >= 0 && head.process > 0 && head.n_ports <= HOST_PORTS_MAX && last_ns >= one.most_ns);
  visit.context = &two;
  HOLDS(host_samples_read(text, size, &visit, &again, &last_again_ns, NULL) == LYNX_OK && two.n == one.n && last_again_ns == last_ns);
  return 0;
}
