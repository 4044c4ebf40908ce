/* cli/calibrate_machine.h: `calibrate` of this machine: peak memory bandwidth, arithmetic, latencies. */
#ifndef CLI_CALIBRATE_MACHINE_H
#define CLI_CALIBRATE_MACHINE_H

#include <stdbool.h>

struct machine_wanted {
  const char *declared; /* "NAME=N,...": what the specification says; NULL */
  const char *out;      /* the record's file; NULL: where runs look for it */
  bool quiet, json;
};

/* An exit code; what went wrong was reported. */
int calibrate_machine(const struct machine_wanted *wanted);

#endif
