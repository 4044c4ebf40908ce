/* executor/layer_map.h: the one table that puts libraries and environment variables on layers.
 *
 * executor reads what produces the performance: probes collect facts, capture runs them, fingerprint and diff compare two
 * captures. It measures nothing.
 *
 * Limits   by name: a library that is renamed is unknown */
#ifndef EXECUTOR_LAYER_MAP_H
#define EXECUTOR_LAYER_MAP_H

#include "base/layer.h"

/* False: it is not in the table. Whose time is spent in it is then not attributed; as a part of the executor it is a dependency
 * (framework). */
bool layer_of_library(const char *file_name, enum layer *ret);
/* The C library and what comes with compilers: the time in it is its caller's, where that is known. */
bool library_serves_its_caller(const char *file_name);

/* Whose Python is in a file, by where it lies: a package's, below site-packages or, in a relative path, by its first folder; the standard
 * library's, which works for who called it; any other file is the project's own: application. */
enum python_file { PYTHON_FILE_KNOWN, PYTHON_FILE_STANDARD, PYTHON_FILE_UNKNOWN };
enum python_file layer_of_python_file(const char *path, enum layer *ret);

/* Whose is a range that a program named in a trace, by the words that servers and frameworks begin theirs with? */
bool layer_of_range(const char *name, size_t length, enum layer *ret);

/* Is this variable one that changes performance? Then its layer and why. */
bool layer_of_variable(const char *name, enum layer *ret_layer, const char **ret_reason);

/* May its value be a secret? Then it is never recorded, whatever the table above says. */
bool variable_is_secret(const char *name);
/* May this value hold one, whatever it is called? */
bool value_may_be_secret(const char *value);

#endif
