/* cli/first_contract.h: a commented contract from a few words, for `init` and for `run URL`. */
#ifndef CLI_FIRST_CONTRACT_H
#define CLI_FIRST_CONTRACT_H

#include "base/buffer.h"

/* As they stand in the contract; NULL where there is a fallback. */
struct first_contract {
  const char *name, *endpoint, *model, *output_tokens;
  const char *concurrency; /* a closed loop; NULL: rate, Poisson */
  const char *rate, *time_to_first_token, *warm_up, *counted, *sessions, *drain, *ready_path;
  const char *climb;                       /* as concurrency, and climbed to; NULL: no climb */
  const char *attribution_sessions;        /* NULL: none */
  bool leave_server_profiler;              /* it is not asked */
  const char *const *command;              /* starts the executor; ends in NULL; NULL: it runs already */
  int64_t pid;                             /* of the serving process; 0: found by its socket */
  const char *key_variable, *ca_file;      /* NULL: none */
  bool chat, ends_itself, steady_reported; /* ends_itself: ignore_eos is not asked for */
};

struct first_contract first_contract_defaults(const char *endpoint, const char *model);

/* False where what was given makes no valid contract: which fields, is told as the command's. */
bool first_contract_write(const struct first_contract *first, const char *command, struct buffer *ret);

#endif
