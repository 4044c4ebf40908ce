#include "drivers/drivers.h"

#include <string.h>

const struct driver *drivers_find(const char *name) {
  for (int i = 0; drivers_all[i] != NULL; i++)
    if (strcmp(drivers_all[i]->name, name) == 0) return drivers_all[i];
  return NULL;
}
