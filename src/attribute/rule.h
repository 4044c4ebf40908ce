/* attribute/rule.h: what an account makes one suspect, of a trace or of a run: one rule a file, each with its threshold and where that
 * comes from.
 * Order    rules run on one account; a rule whose evidence is not there is not asked, one that does not apply says nothing
 * Limits   what an account shows is accounted at best: nothing here is confirmed */
#ifndef ATTRIBUTE_RULE_H
#define ATTRIBUTE_RULE_H

#include "attribute/account.h"
#include "attribute/collectives.h"
#include "attribute/host_names.h"
#include "result/finding.h"

struct live;

/* Of a trace, or of a run. */
struct evidence {
  const struct timeline *timeline; /* a trace's; NULL: none */
  const struct account *account;
  const struct host_names *host;         /* what the host was in, by name; NULL: not looked at */
  const struct collectives *collectives; /* over several ranks; NULL: one */
  const struct live *live;               /* attribute/live.h; NULL: no run */
};

/* What a rule goes by. A trace has spans and no requests; of a run threads are sampled, where the server's host can be seen. */
enum rule_needs { NEEDS_TRACE, NEEDS_REQUESTS, NEEDS_THREADS };

struct rule {
  const char *name, *summary;
  const char *threshold; /* in words, and its source */
  enum rule_needs needs;
  /* Required. False: does not apply. Sets share, evidence, next and what else it knows; the rest is in `found`. */
  bool (*apply)(const struct evidence *evidence, struct finding *ret);
  struct finding found; /* what is the same every time */
};

extern const struct rule *const rules_all[]; /* generated from src/attribute/rules; ends in NULL */

const struct rule *rule_named(const char *name); /* NULL: there is none */

/* All findings, the greatest share first; at most room of them. */
size_t rules_run(const struct evidence *evidence, struct finding *findings, size_t room);

/* The wall's share of a state, or of the states from first to last. */
double state_share(const struct account *account, enum account_state first, enum account_state last);

/* Notes the function or range that has most of these states; what it says is put in the finding's `named`. */
void state_named(const struct evidence *evidence, enum account_state first, enum account_state last, struct finding *ret);

#endif
