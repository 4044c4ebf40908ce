/* cli/quick_run.h: `run URL --for 1min` and `diagnose URL`: an answer without a contract of one's own; the contract that was used is
 * written. */
#ifndef CLI_QUICK_RUN_H
#define CLI_QUICK_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/contract_file.h"

struct quick_run {
  const char *tool;                   /* the command's name */
  const char *url, *duration, *model; /* NULL: a minute; the first model that the server lists */
  const char *key_variable, *ca_file; /* NULL: none */
  bool chat;
  bool climbs;                /* to the knee, with sessions for profilers, instead of 4 in flight */
  const char *at_most;        /* in flight; NULL: 64 */
  const char *in_flight;      /* of what climbs: no climb, so many; NULL */
  bool leave_server_profiler; /* it is not asked */
  int64_t pid;                /* of the serving process; 0: found by its socket */
  const char *const *command; /* starts the server; ends in NULL; NULL: it runs already */
};

/* Of --profilers; NULL: all. False: what is wrong was reported, as the tool's. */
bool profilers_read(const char *tool, const char *names);

/* "out.lynx" -> "out.yaml" */
const char *quick_run_contract(const char *bundle, char *path, size_t size);

/* Writes the contract to path, for a run whose bundle will be the other, and gives it. Returns an exit code; what is wrong was reported, and
 * the contract is then none. */
int quick_run_write(const struct quick_run *quick, const char *bundle, const char *path, struct contract_file *ret);

#endif
