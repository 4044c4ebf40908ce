/* cli/consent.h: a contract that came in a bundle is somebody else's program. What running it would do here is shown first, and it is run
 * only where the user says so: by the contract's digest, or by a word typed on a terminal.
 * Not used of such a contract: its sources of keys, variables that it names without a value, and its endpoint, but where it starts the
 * service itself on this machine. */
#ifndef CLI_CONSENT_H
#define CLI_CONSENT_H

#include "contract/contract.h"

struct consent_request {
  const char *command; /* "verify" */
  const struct contract *contract;
  const char *digest;   /* of the contract */
  const char *agreed;   /* what the user gave as --run: the digest's first digits, 12 at least; NULL */
  const char *endpoint; /* the user's own; NULL */
  bool has_key;         /* the user gave one */
};

/* True: go on. False: the user did not agree, or something of the user's own is missing; it was reported. */
bool consent_given(const struct consent_request *request);

#endif
