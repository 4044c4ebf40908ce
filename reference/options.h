/* reference/options.h: the command line of lynxbench-ref. */
#ifndef REFERENCE_OPTIONS_H
#define REFERENCE_OPTIONS_H

#include "base/status.h"

enum distribution { DISTRIBUTION_CONSTANT, DISTRIBUTION_EXPONENTIAL };

enum fault {
  FAULT_NONE,
  FAULT_HANG,  /* takes the request and never answers */
  FAULT_CLOSE, /* closes the connection after a few tokens */
  FAULT_HTML,  /* 200 with a page of HTML */
  FAULT_429,
  FAULT_500,
  FAULT_ERROR,   /* an error object inside a 200 stream */
  FAULT_UTF8,    /* a token that is not UTF-8 */
  FAULT_ENDLESS, /* a line that does not end */
  FAULT_NO_DONE, /* ends without finish reason and [DONE] */
  FAULT_USAGE,   /* usage says half of the tokens that were sent */
  FAULT_COUNT
};

struct options {
  const char *address, *mode, *precision, *shape, *weights, *log;
  int port, threads, max_batch, queue;
  int64_t seed, first_token_ns, gap_ns;
  enum distribution first_token, gap;
  enum fault fault;
  int64_t fault_every;
  int64_t slow_ns; /* model: added to every step: a planted bottleneck */
};

#endif
