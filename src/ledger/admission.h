/* ledger/admission.h: may these bytes be the next entry under that policy? Everything that can be said of an entry without the
 * ledger's others.
 * Result   its envelope and statement, and whose it is; *policy becomes what the entry makes of it, where it is a policy
 * Errors   INPUT: the form, the kind, its subjects, the signature, or what a change of policy may not do, with what would be accepted
 * Memory   everything lives in the arena, but for the statement: statement_release, also after an error
 */
#ifndef LEDGER_ADMISSION_H
#define LEDGER_ADMISSION_H

#include "ledger/policy.h"

struct admission {
  struct envelope envelope;
  struct statement statement;
  const struct policy_team *signer; /* NULL: a policy by which its signer is no team any more */
};

/* policy->number 0: there is none yet, and the entry must be the first one. */
enum lynx_status admission_check(struct policy *policy, struct bytes bytes, struct arena *arena, struct admission *ret,
                                 struct lynx_error *error) LYNX_MUST_CHECK;

/* The same of what is told beside the log and never entered: in form, for this ledger, and signed by one of its teams; of any kind. */
enum lynx_status admission_signed(const struct policy *policy, struct bytes bytes, struct arena *arena, struct admission *ret,
                                  struct lynx_error *error) LYNX_MUST_CHECK;

#endif
