/* experiment/slowed_function.h: a folder by which a Python executor that lynxbench starts slows one of its functions
 * (src/experiment/python/sitecustomize.py).
 * Limits   a function that is named in the module's or a class's own code, a method, a generator or a coroutine; no asynchronous generator,
 *          and none that is made again at every call. It takes Python 3.8 or later that reads PYTHONPATH
 * Errors   IO: the folder cannot be made */
#ifndef EXPERIMENT_SLOWED_FUNCTION_H
#define EXPERIMENT_SLOWED_FUNCTION_H

#include "base/status.h"

struct slowed_function {
  char folder[256];
  const char *environment[3]; /* "NAME=VALUE"; ends in NULL */
  char slow[320], path[4200];
};

/* named: "encode (/srv/app.py:188)", or "time.sleep": every sleep of every thread. path: the PYTHONPATH that the executor would have; "":
 * none. */
enum lynx_status slowed_function_open(const char *named, const char *path, struct slowed_function *ret,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
void slowed_function_close(struct slowed_function *slowed); /* removes the folder */

#endif
