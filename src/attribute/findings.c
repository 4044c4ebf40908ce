/* Every rule on one account. */
#include <string.h>

#include "attribute/rule.h"

size_t rules_run(const struct evidence *evidence, struct finding *findings, size_t room) {
  size_t n = 0;
  for (size_t i = 0; rules_all[i] != NULL && n < room; i++) {
    struct finding finding = rules_all[i]->found;
    finding.id = rules_all[i]->name;
    finding.rung = RUNG_ACCOUNTED;
    if (!rules_all[i]->apply(evidence, &finding)) continue;
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
