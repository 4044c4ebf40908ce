/* measure/setup.h: from a contract to a driver that is ready: which driver, with which options, opened once per load thread.
 * Errors   setup_check lists what of a contract its driver cannot take; setup_open: UNSUPPORTED (this precision is unavailable), IO
 *          (the executor cannot be reached or does not start), INPUT, LIMIT */
#ifndef MEASURE_SETUP_H
#define MEASURE_SETUP_H

#include "contract/contract.h"
#include "load/driver.h"

void setup_check(const struct contract *contract, struct problem_list *problems);

/* The API key that the contract names, from the environment or its file; NULL: it names none. A variable must be called as keys of services
 * are, ..._API_KEY or ..._TOKEN, so that no contract takes another secret, or be `allowed` by the user. */
enum lynx_status setup_key(const struct contract *contract, const char *allowed, struct arena *arena, const char **ret,
                           struct lynx_error *error) LYNX_MUST_CHECK;

struct setup_request {
  const struct contract *contract;
  const struct driver *driver;
  const char *bearer;
  const char *precision; /* fills {precision} in a command */
  const char *log_path;  /* what a started program prints */
  int through_port;      /* as the drivers' */
  int64_t seed;
  int64_t concurrency;
  const struct driver_input *inputs;
  size_t n_inputs;
  const struct lynx_clock *clock;
  const atomic_int *stop; /* not 0: the user wants to stop */
};

/* The driver's states, one per load thread. */
struct setup {
  const struct driver *driver;
  struct arena arena;
  void **states;
  uint32_t n;
};

enum lynx_status setup_open(const struct setup_request *request, struct setup *ret, struct lynx_error *error) LYNX_MUST_CHECK;
void setup_close(struct setup *setup); /* accepts what setup_open left of a failure, or zeros */

/* Slots for that many requests in flight: what the contract says; in an open loop without a limit of its own, as many as can be due
 * within the time-out at that rate, as far as this process may open files. *ret_limited: the files are what limits it. */
int64_t setup_in_flight(const struct contract *contract, double rate_per_s, size_t n_at_once, bool *ret_limited);

/* Of n threads, how many of the requests in flight are that one's. */
uint32_t setup_share(int64_t concurrency, uint32_t index, uint32_t n);

/* An argument with {precision} and {port} filled in. */
const char *setup_argument(struct arena *arena, const struct contract *contract, const char *argument, const char *precision);

#endif
