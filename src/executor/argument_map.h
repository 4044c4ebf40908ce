/* executor/argument_map.h: the one table of arguments whose values are shown, and what they say.
 *
 * A capture shows the value of an argument that stands in the table, or that cannot be a key by its kind (a number, a switch, the name of a
 * type or of a program's file). Of any other it shows a salted digest: whether it has changed can be told, what it is cannot.
 *
 * Limits   by name, whatever program is started: a secret under a listed name is shown, unless it looks like one (executor/layer_map.h) */
#ifndef EXECUTOR_ARGUMENT_MAP_H
#define EXECUTOR_ARGUMENT_MAP_H

#include "base/layer.h"

struct argument {
  const char *name;
  enum layer layer;
  const char *setting; /* what servers' different names mean alike; NULL: no setting that is compared across servers */
  const char *reason;
};

/* NULL: it is not in the table. */
const struct argument *argument_find(const char *name);

/* Can this value be no key, whatever it is given under? */
bool argument_is_plain(const char *value);

#endif
