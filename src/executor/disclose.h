/* executor/disclose.h: what of a capture is shown to whom; and captures of several hosts as one.
 * Rule     full: everything.
 *          shared (another company under an agreement): what tells one exemplar or person from another is withheld: context facts
 *          (serial numbers, host names, addresses, places of files), and values that hold a home directory, an e-mail address or a URL.
 *          public: also every value of an argument or environment variable, the kernel's command line, and every value that holds a path.
 *          Names of facts, layers, status and the fingerprint always stay
 * Result   a withheld fact shows SHA-256(salt, key, value, unit), so that the full capture, which keeps the salt, can be shown to match */
#ifndef EXECUTOR_DISCLOSE_H
#define EXECUTOR_DISCLOSE_H

#include "base/digest.h"
#include "base/fact.h"

enum disclosure { DISCLOSE_FULL, DISCLOSE_SHARED, DISCLOSE_PUBLIC, DISCLOSURE_COUNT };

const char *disclosure_text(enum disclosure level);
bool disclosure_parse(const char *text, enum disclosure *ret);

/* Free text, which may name what a fact would: is it withheld at that level? */
bool disclosure_hides(enum disclosure level, const char *text);

void fact_digest(const struct fact *fact, const char *salt, char ret[DIGEST_HEX]);

/* ret is sorted and has no salt, except at full. facts must have a salt, unless the level is full. */
void capture_disclose(const struct fact_list *facts, enum disclosure level, struct fact_list *ret);

/* Adds one host's facts as "ROLE/key". facts NULL: a host that was not captured, which is a hole with a name. */
void capture_join(struct fact_list *ret, const char *role, const struct fact_list *facts);

/* How far the clocks of two joined hosts may be apart: the sum of what each kernel says of its own. Adds a fact for every pair. */
void capture_join_clocks(struct fact_list *ret, const char *const *roles, size_t n_roles);

#endif
