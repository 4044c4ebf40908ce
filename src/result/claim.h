/* result/claim.h: the sentence that a result supports, with every assumption in it, or the reasons why there is none.
 * Shapes   one claim per precision
 * Result   refused with at least one reason, or a sentence; what this version does not establish is said in it */
#ifndef RESULT_CLAIM_H
#define RESULT_CLAIM_H

#include "result/result.h"

/* Hoefler and Belli's twelve rules for reporting performance (SC 2015), applied to this claim. A broken one refuses it. */
enum { CLAIM_RULES = 12 };
enum rule_verdict { RULE_HOLDS, RULE_BROKEN, RULE_PARTLY, RULE_NOT_APPLICABLE };
const char *rule_verdict_text(enum rule_verdict verdict);
struct claim_rule {
  const char *rule, *text;
  enum rule_verdict verdict;
};

/* A part of the sentence by itself. */
struct claim_part {
  const char *label, *text; /* "on what"; without the comma that joins it */
};

enum { CLAIM_PARTS_MAX = 8 };

struct claim {
  const char *precision;
  const char *sentence;                     /* NULL if refused */
  struct claim_part parts[CLAIM_PARTS_MAX]; /* the sentence, part by part; none if refused */
  size_t n_parts;
  const char **reasons; /* why it is refused, each with what would help */
  size_t n_reasons;
  const char **caveats; /* what the claim does not establish */
  size_t n_caveats;
  struct claim_rule rules[CLAIM_RULES];
};

/* By the contract's measure: "100 % of answers equal", "2.8041 bits per byte". */
const char *accuracy_text(const struct contract *contract, double accuracy, struct arena *arena);

/* In the result's arena. */
void claim_build(struct result *result, size_t precision, struct claim *ret);
/* For a reason that lies outside of the result: there is no sentence. */
void claim_refuse(struct result *result, struct claim *claim, const char *reason);
/* Of every precision, in their order: result->n_precisions of them, in the result's arena. */
struct claim *claim_build_all(struct result *result);

#endif
