/* Every rule on one account. */
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

static bool is_there(const struct evidence *evidence, enum rule_needs needs) {
  const struct live *live = evidence->live;
  switch (needs) {
    case NEEDS_REQUESTS: return live != NULL;
    case NEEDS_THREADS: return live != NULL && live->at.n_lanes > 0;
    default: return live == NULL;
  }
}

size_t rules_run(const struct evidence *evidence, struct finding *findings, size_t room) {
  size_t n = 0;
  for (size_t i = 0; rules_all[i] != NULL && n < room; i++) {
    struct finding finding = rules_all[i]->found;
    finding.id = rules_all[i]->name;
    if (!is_there(evidence, rules_all[i]->needs) || !rules_all[i]->apply(evidence, &finding)) continue;
    size_t k = n++;
    for (; k > 0 && findings[k - 1].share < finding.share; k--) findings[k] = findings[k - 1];
    findings[k] = finding;
  }
  return n;
}

const struct rule *rule_named(const char *name) {
  for (size_t i = 0; rules_all[i] != NULL; i++)
    if (strcmp(rules_all[i]->name, name) == 0) return rules_all[i];
  return NULL;
}
