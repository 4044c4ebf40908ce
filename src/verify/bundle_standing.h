/* verify/bundle_standing.h: the standing of a bundle by a ledger: the question is put from the bundle's own record.
 * Errors   what the ledger's are; INPUT: the bundle's rows cannot be read */
#ifndef VERIFY_BUNDLE_STANDING_H
#define VERIFY_BUNDLE_STANDING_H

#include "ledger/standing.h"
#include "result/result.h"

enum lynx_status bundle_standing(struct ledger *ledger, struct bundle *bundle, const struct result *result, struct standing *ret,
                                 struct lynx_error *error) LYNX_MUST_CHECK;

#endif
