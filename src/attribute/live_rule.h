/* attribute/live_rule.h: what a live account makes one suspect: one rule a file in attribute/live_rules, each with its threshold and where
 * that comes from.
 * Limits   what an account shows is accounted at best: nothing here is confirmed */
#ifndef ATTRIBUTE_LIVE_RULE_H
#define ATTRIBUTE_LIVE_RULE_H

#include "attribute/live_shape.h"

struct live_rule {
  const char *name, *summary;
  const char *threshold; /* in words, and its source */
  /* Required. False: does not apply. Sets share, evidence, next and what else it knows; the rest is in `found`. */
  bool (*apply)(const struct live *live, struct finding *ret);
  bool from_outside; /* it needs no thread of the server to be seen */
  struct finding found;
};

extern const struct live_rule *const live_rules_all[]; /* generated from src/attribute/live_rules; ends in NULL */

#endif
