/* executor/layer_map.h: the one table that puts libraries and environment variables on layers.
 *
 * executor reads what produces the performance: probes collect facts, capture runs them, fingerprint and diff compare two
 * captures. It measures nothing.
 *
 * Limits   by name: a library that is renamed is on the layer of unknown libraries, framework */
#ifndef EXECUTOR_LAYER_MAP_H
#define EXECUTOR_LAYER_MAP_H

#include "base/layer.h"

enum layer layer_of_library(const char *file_name);

/* Is this variable one that changes performance? Then its layer and why. */
bool layer_of_variable(const char *name, enum layer *ret_layer, const char **ret_reason);

/* May its value be a secret? Then it is never recorded, whatever the table above says. */
bool variable_is_secret(const char *name);
/* May this value hold one, whatever it is called? */
bool value_may_be_secret(const char *value);

#endif
