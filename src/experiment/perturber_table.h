/* experiment/perturber_table.h: every perturber there is. */
#ifndef EXPERIMENT_PERTURBER_TABLE_H
#define EXPERIMENT_PERTURBER_TABLE_H

#include "experiment/perturber.h"

extern const struct perturber *const perturbers_all[];                   /* generated from src/experiment/perturbers; ends in NULL */
const struct perturber *perturber_find(const char *name, size_t length); /* NULL: there is none */

#endif
