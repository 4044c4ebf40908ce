/* What an open ledger is: its store, and the policies that it had. */
#include "ledger/ledger_private.h"

/* In force when entry `index` was added; the first policy vouches for itself. */
const struct policy *ledger_policy_at(const struct ledger *ledger, uint64_t index) {
  size_t i = ledger->n_history;
  while (i > 1 && ledger->history[i - 1].index >= index) i--;
  return i > 0 ? &ledger->history[i - 1].policy : &ledger->policy;
}

struct store *ledger_store(struct ledger *ledger) {
  return ledger->store;
}

const struct policy *ledger_policy(const struct ledger *ledger) {
  return &ledger->policy;
}
