/* executor/argument_map.h: the one table of arguments whose values are shown, and what they say.
 *
 * A capture shows the value of an argument that stands in the table, or that cannot be a key by its kind (a number, a switch, the name of a
 * type or of a program's file). Of any other it shows a salted digest: whether it has changed can be told, what it is cannot.
 *
 * Limits   by name and form, whatever program is started: a secret under a listed name that is a word, as settings are, is shown, unless it
 *          looks like a key (executor/layer_map.h); so is one of up to seven digits */
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

/* Is this a value as such an argument takes? */
bool argument_fits(const struct argument *argument, const char *value);
/* Can this value be no key, whatever it is given under? */
bool argument_is_plain(const char *value);
/* Letters, digits and . _ / + - alone: fit to be a program's, a model's or a file's name. */
bool argument_is_name(const char *value);

#endif
