#include "experiment/perturber_table.h"

#include <string.h>

const struct perturber *perturber_find(const char *name, size_t length) {
  for (size_t i = 0; perturbers_all[i] != NULL; i++)
    if (strlen(perturbers_all[i]->name) == length && memcmp(perturbers_all[i]->name, name, length) == 0) return perturbers_all[i];
  return NULL;
}
