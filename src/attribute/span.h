/* attribute/span.h: one event of a trace that has a duration, as a timeline keeps it: 32 bytes. */
#ifndef ATTRIBUTE_SPAN_H
#define ATTRIBUTE_SPAN_H

#include <stdint.h>

enum span_flag {
  SPAN_ORPHAN = 1,        /* device work whose call is not in the trace, though calls are: launched before it began */
  SPAN_LAUNCHES = 2,      /* a call that launched device work */
  SPAN_COLD = 8,          /* a launch call that takes so much longer than others that code is loaded in it; a first step that does */
  SPAN_LIFE = 16,         /* asynchronous, and so many of them overlap that no thread can be in it: a request's life, say */
  SPAN_COLLECTIVE = 32,   /* `more` is an index into collectives + 1 */
  SPAN_FIRST_OF_GRAPH = 4 /* the first device span of several that one call launched */
};

struct span {
  int64_t start_ns, duration_ns;
  uint32_t name;
  uint32_t link; /* of a host call or device span: index into links + 1; 0: none */
  uint32_t more; /* index into collectives + 1; else the bits of a float: of copies the bytes moved, of kernels the thread blocks for each
                    multiprocessor; 0: not known */
  uint16_t track;
  uint8_t kind, flags;
};

#endif
