/* report/withholding.h: what of a result is not shown below the level full (executor/disclose.h): values of facts, what other programs
 * printed, and texts that name what such a fact would.
 * Order    withhold_result before claims are built, whose reasons repeat its texts */
#ifndef REPORT_WITHHOLDING_H
#define REPORT_WITHHOLDING_H

#include "executor/disclose.h"
#include "result/question_answer.h"
#include "result/claim.h"

void withhold_result(enum disclosure level, struct result *result);
void withhold_claim(enum disclosure level, struct claim *claim);
/* Of a ledger's entry: what was found otherwise, and why there is no claim. ret: what is shown of it; texts in the arena. */
void withhold_summary(enum disclosure level, const struct summary *summary, struct arena *arena, struct summary *ret);
void withhold_answer(enum disclosure level, struct answer *answer);
/* A value is there or not: a digest would be another one on every page. */
void withhold_facts(enum disclosure level, struct fact_list *facts);

#endif
