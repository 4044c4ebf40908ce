/* cli/show_claim.h: `show --claim`: the sentence that a bundle supports, or why there is none. */
#ifndef CLI_SHOW_CLAIM_H
#define CLI_SHOW_CLAIM_H

#include "cli/bundle_file.h"
#include "cli/output.h"
#include "ledger/standing.h"

/* standing: NULL where no ledger was asked. The exit code: DOES_NOT_HOLD where a claim is refused. */
int show_claim(struct bundle_file *file, const struct standing *standing, bool as_json);

#endif
