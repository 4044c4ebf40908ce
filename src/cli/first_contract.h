/* cli/first_contract.h: a commented contract from a few words, for `init` and for `run URL`. */
#ifndef CLI_FIRST_CONTRACT_H
#define CLI_FIRST_CONTRACT_H

#include "base/buffer.h"

/* As they stand in the contract; NULL where there is a fallback. */
struct first_contract {
  const char *name, *endpoint, *model, *output_tokens;
  const char *concurrency; /* a closed loop; NULL: rate, Poisson */
  const char *rate, *time_to_first_token, *warm_up, *counted, *sessions, *drain, *ready_path;
  bool chat;
};

struct first_contract first_contract_defaults(const char *endpoint, const char *model);

/* False where what was given makes no valid contract: which fields, is told as the command's. */
bool first_contract_write(const struct first_contract *first, const char *command, struct buffer *ret);

#endif
