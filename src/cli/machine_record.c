#include "cli/machine_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "base/state.h"

enum { RECORD_MAX = 65536 };

const struct machine_record record_of_calibration = {"LYNXBENCH_CALIBRATION", "calibration.json", "lynx_calibration"};
const struct machine_record record_of_envelope = {"LYNXBENCH_ENVELOPE", "envelope.json", "lynx_envelope"};

bool machine_record_path(const struct machine_record *record, char *path, size_t size) {
  const char *own = getenv(record->variable);
  if (own == NULL || own[0] == 0) return state_path(record->file, path, size);
  (void)snprintf(path, size, "%s", own);
  return true;
}

void machine_record_begin(const struct machine_record *record, struct json_writer *json, struct buffer *out) {
  char now[40], host[128] = "";
  (void)gethostname(host, sizeof host - 1); /* an unnamed host has an unnamed record */
  json_begin_object(json, out);
  json_put_int(json, record->key, 1);
  json_put_text(json, "tool", "lynxbench " LYNX_VERSION);
  json_put_text(json, "host", host);
  json_put_text(json, "taken_at", clock_text(now, clock_system.realtime_ns(clock_system.context)));
}

static const char *load(const struct machine_record *record, struct buffer *text) {
  char path[700], host[128] = "";
  const struct root root = {""};
  buffer_init(text, RECORD_MAX);
  if (!machine_record_path(record, path, sizeof path) || root_read(&root, path, text, NULL) != LYNX_OK) return NULL;
  json_t *json = json_parse(text->data, text->length, RECORD_MAX, NULL);
  (void)gethostname(host, sizeof host - 1); /* an unnamed host has an unnamed record */
  bool ours = json_get_int(json, record->key, 0) == 1 && strcmp(json_get_text(json, "host", "?"), host) == 0;
  json_decref(json);
  return ours ? text->data : NULL;
}

void machine_records_load(struct machine_records *ret) {
  ret->calibration = load(&record_of_calibration, &ret->calibration_text);
  ret->envelope = load(&record_of_envelope, &ret->envelope_text);
}

void machine_records_release(struct machine_records *records) {
  buffer_release(&records->calibration_text);
  buffer_release(&records->envelope_text);
}
