/* executor/python_imports.h: which modules Python source asks for, by its text.
 * Shapes   "import a.b, c" -> "a.b", "c". "from a import b, c" -> "a", "a.b", "a.c" (b may be a module or a name in one).
 *          "from ..x import y" -> "..x", "..x.y": the dots stay. importlib.import_module("a") and __import__("a") -> "a"
 * Limits   a name is at most 300 characters. What is built at run time is not known here; a line of a string that reads like an import is
 *          taken for one: the caller looks whether there is such a file
 * Errors   none: text that is no Python has no imports */
#ifndef EXECUTOR_PYTHON_IMPORTS_H
#define EXECUTOR_PYTHON_IMPORTS_H

#include <stddef.h>

/* Does the text change where modules are looked for, or run code that it names at run time (sys.path, runpy, exec, a name that is made)?
 * Returns the word; NULL: not that can be seen. */
const char *python_is_dynamic(const char *text, size_t length);

void python_imports(const char *text, size_t length, void (*visit)(void *context, const char *module), void *context);

#endif
