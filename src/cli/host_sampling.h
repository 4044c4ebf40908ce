/* cli/host_sampling.h: the samplers alone, where the server runs and the load does not: a file that `lynxbench merge` takes.
 * Errors   an exit code; what is wrong was reported */
#ifndef CLI_HOST_SAMPLING_H
#define CLI_HOST_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

struct host_sampling {
  const char *url; /* NULL: the process is named */
  int64_t pid;     /* 0: the one that listens at the URL */
  int64_t for_ns;  /* 0: until Ctrl-C, or until the process ends */
  const char *out; /* NULL: samples- and the host's name */
  bool quiet;
};

int host_sampling_run(const struct host_sampling *wanted);

#endif
