/* executor/identity_facts.h: the facts that an executor's fingerprint is made of, as a text that proves itself: whoever reads it computes
 * the fingerprint again.
 * Shapes   base64 of zlib's form of a JSON array of arrays: layer, key, status, value, unit. A ledger's entry has room for it
 * Limits   IDENTITY_FACTS_MAX facts, IDENTITY_BYTES_MAX bytes of JSON; a capture of which something was withheld does not have its own
 *          fingerprint */
#ifndef EXECUTOR_IDENTITY_FACTS_H
#define EXECUTOR_IDENTITY_FACTS_H

#include "base/buffer.h"
#include "base/digest.h"
#include "base/fact.h"

enum { IDENTITY_FACTS_MAX = 5000, IDENTITY_BYTES_MAX = 1 << 20 };

/* False: too much, or no memory. */
bool identity_facts_write(const struct fact_list *facts, struct buffer *ret);
/* False: it is no such text, or of another fingerprint; ret is empty then. Else the caller releases it. */
bool identity_facts_read(const char *text, const char *fingerprint, struct fact_list *ret);

#endif
