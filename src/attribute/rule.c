#include "attribute/rule.h"

#include <stdio.h>
#include <string.h>

double state_share(const struct account *account, enum account_state first, enum account_state last) {
  int64_t sum = 0;
  for (int i = (int)first; i <= (int)last; i++) sum += account->states[i];
  return account->wall_ns > 0 ? (double)sum / (double)account->wall_ns : 0;
}

void state_named(const struct evidence *evidence, enum account_state first, enum account_state last, struct finding *ret) {
  const struct host_name *most = evidence->host != NULL ? host_names_first(evidence->host, first, last) : NULL;
  if (most == NULL) return;
  const struct span_name *name = &evidence->timeline->names[most->name];
  (void)text_sanitise(ret->named, sizeof ret->named, name->text, name->length);
}
