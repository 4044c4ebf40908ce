/* ledger/standing.h: how a result stands, derived from the ledger each time it is asked: agreed or not, how many runs were started,
 * sealed, abandoned, who reproduced it and who did not, what is contested.
 * Memory   everything lives in its arena; standing_release
 * Limits   what the ledger's policy admitted is believed here; that it did so rightly is for `audit` to show */
#ifndef LEDGER_STANDING_H
#define LEDGER_STANDING_H

#include "ledger/ledger.h"

struct standing_question {
  uint8_t contract[DIGEST_BYTES], bundle[DIGEST_BYTES];
  const char *const *signatories; /* teams that the contract names */
  size_t n_signatories;
  bool has_intent;
  uint8_t intent[DIGEST_BYTES]; /* of the run, by the bundle's own record */
  struct bytes checkpoint;      /* the signed note that the run embedded when it began; length 0 */
  int64_t run_start_s;          /* by the bundle's own record */
};

enum agreement {
  AGREEMENT_NOBODY,     /* the contract names no signatories */
  AGREEMENT_OF_ANOTHER, /* another bundle is recorded under the intent that this one names */
  AGREEMENT_MISSING,    /* not all of them signed before the run, or it cannot be shown */
  AGREEMENT_UNANSWERED, /* all signed before the intent that this bundle names, and the team of that intent has not entered this bundle */
  AGREEMENT_BY_ORDER,   /* all signed before the run's intent, in the log's own order: its keeper's word */
  AGREEMENT_WITNESSED   /* and a quorum of witnesses had cosigned that, at a time before the run began */
};
const char *agreement_text(enum agreement agreement);

struct standing_signature {
  const char *team, *reservation; /* "" where there is none */
  uint64_t index;
  bool before_run;
};

/* Another bundle under the same intent: one run has one bundle. */
struct standing_rival {
  const char *by;
  uint64_t index;
  char bundle[DIGEST_HEX];
};

struct standing_verification {
  const char *by, *decision; /* "reproduced", "not reproduced", "inconclusive", "not the same configuration" */
  uint64_t index;
  const char *rerun_by; /* who recorded the re-run; NULL: not known */
};

struct standing_contest {
  const char *by, *ground, *text, *layer, *owner, *time;
  uint64_t index;
  char leaf[DIGEST_HEX];
  const char *closed; /* why; NULL: open */
};

/* An experiment of one of its findings. */
struct standing_confirmation {
  const char *by, *finding, *named, *verdict, *form, *rung;
  double estimate, low, high, threshold; /* NaN: not given */
  uint64_t index;
};

struct standing {
  struct arena arena;
  bool recorded; /* the bundle is in the ledger */
  const char *recorded_by;
  uint64_t index, n_entries;
  char origin[NOTE_NAME_MAX];
  enum agreement agreement;
  const char **missing; /* signatories that did not sign before the run */
  size_t n_missing;
  struct standing_signature *signatures, *bundle_signatures;
  size_t n_signatures, n_bundle_signatures;
  size_t n_started, n_sealed, n_abandoned; /* runs of this contract */
  struct standing_rival *rivals;
  size_t n_rivals;
  bool is_rival; /* and this one was not entered by the team whose intent it is: nothing of that intent is this bundle's */
  struct standing_verification *verifications;
  size_t n_verifications, n_reproduced, n_not_reproduced, n_inconclusive;
  struct standing_contest *contests;
  size_t n_contests, n_open;
  struct standing_confirmation *confirmations; /* in the log's order */
  size_t n_confirmations;
};

enum lynx_status standing_of(struct ledger *ledger, const struct standing_question *question, struct standing *ret,
                             struct lynx_error *error) LYNX_MUST_CHECK;
void standing_release(struct standing *standing);

/* --- the rules, for who keeps entries as they come --- */

/* Does that decision of a verification decide anything? */
bool standing_is_decided(const char *decision);

struct standing_contest standing_contest_of(const struct ledger_entry *entry, struct arena *arena);
struct standing_confirmation standing_confirmation_of(const struct ledger_entry *entry, struct arena *arena);
/* Why an entry that speaks of a contest against this bundle closes it; NULL: it does not. recorded_by NULL: the bundle is not recorded. */
const char *standing_closes(const struct standing_contest *contest, const uint8_t bundle[DIGEST_BYTES], const char *recorded_by,
                            const struct ledger_entry *entry, const char *subject, struct arena *arena);

#endif
