/* cli/own_contract.h: which contracts this user has run, by their digests, in lynxbench's state folder. A contract that lies beside a bundle
 * may have come with it: it is the user's own where the user has run it before.
 * Errors   where nothing can be remembered, nothing is known: the user is asked */
#ifndef CLI_OWN_CONTRACT_H
#define CLI_OWN_CONTRACT_H

#include "contract/contract.h"

void own_contract_remember(const struct contract *contract);
bool own_contract_is_known(const struct contract *contract);

#endif
