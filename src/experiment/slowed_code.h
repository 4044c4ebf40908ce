/* experiment/slowed_code.h: a folder by which an executor that lynxbench starts slows one function or one library of its own, in
 * proportion to its time (src/experiment/python/sitecustomize.py, src/experiment/preload/slow_library.c).
 * Limits   a function that is named in the module's or a class's own code, a method, a generator or a coroutine; no asynchronous generator,
 *          and none that is made again at every call. It takes Python 3.8 or later that reads PYTHONPATH. A library: of a program that is
 *          linked at run time against the same C library as lynxbench
 * Errors   IO: the folder cannot be made */
#ifndef EXPERIMENT_SLOWED_CODE_H
#define EXPERIMENT_SLOWED_CODE_H

#include "experiment/perturber.h"

struct slowed_code {
  char folder[256];
  const char *environment[3]; /* "NAME=VALUE"; ends in NULL */
  char slow[640], path[5000];
};

/* named: "encode (/srv/app.py:188)"; "time.sleep in encode (/srv/app.py:188)": what it sleeps; "time.sleep": every sleep of every thread.
 * locked: the share of its processor time in which it holds the interpreter's lock. path: the PYTHONPATH that the executor would have,
 * with the folders of other functions before it; "": none. */
enum lynx_status slowed_function_open(const char *named, double locked, const char *path, struct slowed_code *ret,
                                      struct lynx_error *error) LYNX_MUST_CHECK;
/* named: the last part of the library's file, or "[anonymous]": code that was made at run time. preload: the LD_PRELOAD that the executor
 * would have; "": none. */
enum lynx_status slowed_library_open(const char *named, const char *preload, struct slowed_code *ret,
                                     struct lynx_error *error) LYNX_MUST_CHECK;
void slowed_code_close(struct slowed_code *slowed); /* removes the folder */

/* What all processes of the executor have counted so far. */
struct slowed_counts {
  double found, calls, own_ns, added_ns; /* calls: looks, of a library */
  double gone;                           /* processes that have loaded the function's file, which holds none of that name */
};
struct slowed_counts slowed_code_count(const char *folder);
/* Slows it until then, and returns how much slower it was by its own count; 1: nothing was done. */
double slowed_code_hold(const char *folder, double slowness, const struct perturbing *request, int64_t until_ns);

#endif
