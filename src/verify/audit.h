/* verify/audit.h: what can be established of a bundle, or of a ledger, from its data alone, offline: a list of checks.
 * Result   each check passed, failed, or was not established, with the reason in words; figures are recomputed from raw rows, rules of the
 *          contract applied anew, times held against one another
 * Errors   none: what cannot be opened is a failed check. IO of a ledger's store is a failed check, too
 * Limits   it shows that a record is consistent and, with a ledger, that it stood there when; not that what it records took place: an
 *          unsigned bundle can be made anew by anybody, and the audit says so */
#ifndef VERIFY_AUDIT_H
#define VERIFY_AUDIT_H

#include "ledger/standing.h"
#include "result/result.h"

enum audit_verdict { AUDIT_PASSED, AUDIT_FAILED, AUDIT_NOT_ESTABLISHED };
const char *audit_verdict_text(enum audit_verdict verdict);

struct audit_check {
  const char *name, *text;
  enum audit_verdict verdict;
};

struct audit {
  struct arena arena;
  const char *subject; /* the file, or the ledger's address */
  struct audit_check *checks;
  size_t n_checks, n_passed, n_failed, n_not_established;
};

void audit_add(struct audit *audit, enum audit_verdict verdict, const char *name, const char *text);

/* figures: what `show --json` once printed of it, to hold the recomputed ones against; ptr NULL: none was handed in. ledger NULL: none is
 * at hand. model: a file or folder whose digest is computed anew and held against the one in the record; NULL. */
struct audit_bundle_request {
  const char *path, *model;
  struct bytes figures;
  struct ledger *ledger;
};
void audit_bundle(const struct audit_bundle_request *request, struct audit *ret);
void audit_ledger(struct ledger *ledger, const char *address, struct audit *ret);
void audit_release(struct audit *audit);

#endif
