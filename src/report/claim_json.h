/* report/claim_json.h: the claims of a result as JSON, one for each precision. */
#ifndef REPORT_CLAIM_JSON_H
#define REPORT_CLAIM_JSON_H

#include "ledger/standing.h"
#include "result/question_answer.h"
#include "result/claim.h"

/* answer: to the contract's question, in each. standing: in a ledger; NULL: none was asked. */
bool json_claims(const struct answer *answer, const struct claim *claims, size_t n, const struct standing *standing, struct buffer *ret);

#endif
