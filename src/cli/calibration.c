#include "cli/calibration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/root.h"
#include "base/state.h"

enum { CALIBRATION_MAX = 65536 };

bool calibration_path(char *path, size_t size) {
  const char *own = getenv("LYNXBENCH_CALIBRATION");
  if (own == NULL || own[0] == 0) return state_path("calibration.json", path, size);
  (void)snprintf(path, size, "%s", own);
  return true;
}

bool calibration_load(struct buffer *ret) {
  char path[700], host[128] = "";
  const struct root root = {""};
  buffer_init(ret, CALIBRATION_MAX);
  if (!calibration_path(path, sizeof path) || root_read(&root, path, ret, NULL) != LYNX_OK) return false;
  json_t *record = json_parse(ret->data, ret->length, CALIBRATION_MAX, NULL);
  (void)gethostname(host, sizeof host - 1); /* an unnamed host has an unnamed calibration */
  bool ours = json_get_int(record, "lynx_calibration", 0) == 1 && strcmp(json_get_text(record, "host", "?"), host) == 0;
  json_decref(record);
  return ours;
}
