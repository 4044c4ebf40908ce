#include "attribute/rule.h"

double state_share(const struct account *account, enum account_state first, enum account_state last) {
  int64_t sum = 0;
  for (int i = (int)first; i <= (int)last; i++) sum += account->states[i];
  return account->wall_ns > 0 ? (double)sum / (double)account->wall_ns : 0;
}
