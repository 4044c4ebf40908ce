#include "telemetry/kernel_counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 65536, FIELDS_MAX = 512 };

double kernel_counter(const struct root *root, const char *path, const char *group, const char *name) {
  struct buffer text;
  char next[32];
  double found = -1;
  (void)snprintf(next, sizeof next, "\n%.28s", group);
  buffer_init(&text, FILE_MAX);
  char *names = root_read(root, path, &text, NULL) == LYNX_OK ? strstr(text.data, group) : NULL,
       *values = names != NULL ? strstr(names + strlen(group), next) : NULL;
  if (values != NULL) {
    *values = 0;
    char *name_rest = names + strlen(group), *value_rest = values + strlen(next);
    for (int i = 0; i < FIELDS_MAX && found < 0; i++) {
      const char *one = strsep(&name_rest, " "), *value = strsep(&value_rest, " \n");
      if (one == NULL || value == NULL) break;
      if (strcmp(one, name) == 0) found = strtod(value, NULL);
    }
  }
  buffer_release(&text);
  return found;
}

bool kernel_pressure(const struct root *root, const char *what, double *ret_percent) {
  char path[64], line[256];
  (void)snprintf(path, sizeof path, "/proc/pressure/%.20s", what);
  return root_read_line(root, path, line, sizeof line) && sscanf(line, "some avg10=%lf", ret_percent) == 1;
}
