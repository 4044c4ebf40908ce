/* verify/evidence.h: everything about a result in one archive, which verifies on a machine that has nothing but a shell, openssl and
 * sha256sum, by the instructions inside it.
 * Shapes   a tar archive (ustar); entries/N-KIND/ holds each of the ledger's entries about the bundle, its contract and its intent: the
 *          envelope, the public key of who signed it, and its path to the checkpoint's root, hash by hash
 * Errors   IO; NOT_FOUND: the bundle is not in the ledger; LIMIT: a file of 8 GiB, which ustar cannot hold
 * Limits   the archive shows digests, signatures and inclusion; figures are recomputed by `lynxbench audit`, whose report is inside */
#ifndef VERIFY_EVIDENCE_H
#define VERIFY_EVIDENCE_H

#include "ledger/ledger.h"
#include "result/result.h"

struct evidence_request {
  const char *bundle_path, *out_path;
  struct bundle *bundle;
  const struct result *result;
  struct ledger *ledger;
  struct bytes report_html, audit_html, audit_text, claim; /* what was made of it */
  int64_t now_s;
};

enum lynx_status evidence_write(const struct evidence_request *request, size_t *ret_n_entries, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
