/* attribute/code_kind.h: what a function's name, as a linker has it, says of it: whose it is, and which work it does beside a model's.
 * Source   the names of Go's, Rust's and C++'s own packages; libuv's, V8's and tokio's places where threads have nothing to do; what
 *          libraries of each kind call their entries
 * Limits   names that a program gave to its own functions are its own words: one that calls its matrix product `json` is taken by its word */
#ifndef ATTRIBUTE_CODE_KIND_H
#define ATTRIBUTE_CODE_KIND_H

#include <stdbool.h>
#include <stddef.h>

/* Of the language's own library or runtime: Go's packages, Rust's std, core and alloc, C++'s std, V8 and Node, libuv, tokio. */
bool code_is_language(const char *function);
/* A function that V8 made, where it was told to name them: "JS:*signToken /srv/server.js:12:3" (or "LazyCompile:", "Function:"). */
bool code_is_script(const char *function);
/* A thread that waits below it has nothing to do. */
bool code_parks(const char *function);
/* Where Go's runtime puts a goroutine that cannot go on. */
bool code_parks_goroutine(const char *function);

/* Work that a request may need and a model does not: each kind with what is asked about it. */
struct code_work {
  const char *name;     /* "JSON" */
  const char *question; /* what is not known of it */
  const char *next;
  bool of_runtime; /* memory and its collection, not a request's own work */
};

/* NULL: none of the kinds. */
const struct code_work *code_work_of(const char *function);

/* Functions that a compiler puts into their callers wherever it optimises: as calls they are of a build for debugging. */
bool code_is_unoptimised(const char *function);

#endif
