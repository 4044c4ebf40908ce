/* report/contract_json.h: a contract's problems, grade and digest as JSON. */
#ifndef REPORT_CONTRACT_JSON_H
#define REPORT_CONTRACT_JSON_H

#include "contract/contract.h"

bool json_problems(const struct contract *contract, const struct problem_list *problems, struct buffer *ret);

#endif
