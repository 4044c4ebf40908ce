#include "measure/machine_speed.h"

#include "base/endpoint.h"
#include "base/json.h"
#include "base/number.h"
#include "executor/capture.h"
#include "measure/ceilings.h"

enum { RECORD_MAX = 16384, DIGITS = 5 };

/* Why it is not measured; NULL: it is. */
static const char *why_not(const struct run *run) {
  struct endpoint endpoint;
  if (run->request->part.count > 0) return "a part of a load is measured";
  if (run->request->perturbation != NULL) return "resources are slowed on purpose";
  if (run->driver->in_process || run->contract.executor.endpoint == NULL) return NULL;
  if (endpoint_parse(run->contract.executor.endpoint, &endpoint, NULL) == LYNX_OK && capture_is_local(&endpoint)) return NULL;
  return "the executor is not on this machine, and of its own nothing can be measured from here";
}

static void put_record(struct run *run, const char *key, const struct ceilings *c) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, RECORD_MAX);
  json_begin_object(&json, &text);
  json_put_int(&json, "lynx_machine_speed", 1);
  json_put_double(&json, "others", number_round(c->others, 3));
  json_key(&json, "figures");
  json_open_array(&json);
  for (size_t i = 0; i < c->n; i++) {
    json_open_object(&json);
    json_put_text(&json, "name", c->items[i].name);
    json_put_text(&json, "unit", ceiling_unit_text(c->items[i].unit));
    json_put_double(&json, "value", number_round(c->items[i].value, DIGITS));
    json_close(&json);
  }
  json_close(&json);
  json_close(&json);
  if (json_finish(&json)) bundle_put_meta(run->bundle, key, text.data);
  buffer_release(&text);
}

void machine_speed_put(struct run *run, bool after) {
  struct ceilings found;
  if (run->contract.method.machine_speed != MACHINE_SPEED_BEFORE_AND_AFTER || run->bundle == NULL) return;
  const char *why = why_not(run);
  if (why != NULL && !after) run_note(run, arena_printf(&run->arena, "method.machine_speed: not measured: %s", why));
  if (why != NULL) return;
  if (ceilings_measure_few(run->request->root, run->request->stop, &found))
    put_record(run, after ? "machine_speed_after" : "machine_speed_before", &found);
}
