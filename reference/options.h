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

/* A server that cheats, so that the checks of lynxbench have something to catch. */
enum cheat {
  CHEAT_NONE,
  CHEAT_CACHING,     /* metronome: a prompt seen before is answered at once */
  CHEAT_PREFIX,      /* metronome: a prompt seen before has its first token four times as soon */
  CHEAT_SEED,        /* metronome: requests with seed 1, the usual one, are four times as fast */
  CHEAT_LENGTH,      /* half of the tokens, whatever was asked for */
  CHEAT_USAGE,       /* usage says twice as many tokens as were sent */
  CHEAT_FIRST_TOKEN, /* a blank at once, the text when it is there */
  CHEAT_FAILURES,    /* metronome: what would take longer than 1.5 times the mean to begin is failed then */
  CHEAT_COUNT
};

struct options {
  const char *address, *mode, *precision, *shape, *weights, *log;
  int port, threads, max_batch, queue;
  int64_t seed, first_token_ns, gap_ns;
  enum distribution first_token, gap;
  enum fault fault;
  int64_t fault_every;
  enum cheat cheat;
  int64_t slots;        /* metronome: requests served at once, the others wait; 0: all. Its capacity is known then */
  int64_t change_after; /* metronome: requests after which every time is change_percent of what it was; 0: never */
  int64_t change_percent;
  int64_t slow_ns; /* model: added to every step: a planted bottleneck */
};

#endif
