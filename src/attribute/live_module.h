/* attribute/live_module.h: whose code is in a file that a thread was seen in, by the layer map.
 * Shapes   module: a path, "[kernel]", "[anonymous]"; function: a linker's name, of the kernel what it does; "" where there is none
 * Limits   by the file's name and folder; names that a program gave to its functions are its own words */
#ifndef ATTRIBUTE_LIVE_MODULE_H
#define ATTRIBUTE_LIVE_MODULE_H

#include "attribute/live_shape.h"

/* Without share and looks. */
struct live_part live_module_part(struct live *live, const char *module, const char *function);
/* Without what it does. */
struct live_part live_kernel_part(void);

/* "libtorch_cpu.so" of its path. */
const char *live_module_file(const char *path);
bool live_is_kernel(const char *module);
bool live_is_interpreter(const char *module);
/* By the name of its file: copies, memory, and the way into the kernel. */
bool live_is_c_library(const char *file);
/* Does it wait for another thread without giving up its processor? */
bool live_is_spinning(const char *function);
/* CPython writes its functions as "py::NAME:FILE" (-X perf): false: another name. */
bool live_perf_python(const char *function, const char **ret_name, size_t *ret_length, const char **ret_file);
/* By its name; *ret_name: the part of a C++ name that says so, else the name. */
enum live_kernel_kind live_kernel_kind_of(const char *function, const char **ret_name);

#endif
