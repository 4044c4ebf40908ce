/* ledger/policy.h: who may add to a ledger, and whose word on its history counts. It is itself an entry: the first, and every change of it.
 * Shapes   {"number", "origin", "log", "teams": [{"key", "admin", "witness", "quota"}], "quorum"}
 * Result   number counts the changes from 1; a change is signed by an admin of the policy before it
 * Errors   INPUT: not such a policy, with what is wrong
 * Limits   POLICY_TEAMS_MAX teams; a quorum of 0 says that nobody vouches for the log but who keeps it */
#ifndef LEDGER_POLICY_H
#define LEDGER_POLICY_H

#include "ledger/entry.h"

enum { POLICY_TEAMS_MAX = 64 };
#define POLICY_QUOTA ((int64_t)64 << 30)

struct policy_team {
  struct note_key key; /* of type NOTE_ED25519 */
  bool admin, witness;
  int64_t quota; /* bytes of entries and files that it may bring; 0: POLICY_QUOTA */
};

struct policy {
  int format;             /* of the entry that it was entered by: under 2, entries that name no ledger are taken no more */
  int64_t number, quorum; /* quorum: of witnesses whose cosignatures a checkpoint needs to be vouched for */
  char origin[NOTE_NAME_MAX];
  struct note_key log;
  struct policy_team teams[POLICY_TEAMS_MAX];
  size_t n_teams;
};

/* The digest under which every policy speaks of itself. */
void policy_subject(uint8_t ret[DIGEST_BYTES]);
enum lynx_status policy_parse(const json_t *predicate, struct policy *ret, struct lynx_error *error) LYNX_MUST_CHECK;
/* The entry that makes it so: to be signed by an admin. Borrows the policy. */
void policy_entry(struct policy *policy, struct entry *ret);
/* What no policy may be: no admin, names or keys twice, a quorum that its witnesses cannot reach. */
enum lynx_status policy_check(const struct policy *policy, struct lynx_error *error) LYNX_MUST_CHECK;

int64_t policy_quota(const struct policy_team *team);
/* Whose signature this envelope carries; NULL: nobody's here. */
const struct policy_team *policy_signer(const struct policy *policy, const struct envelope *envelope);
const struct policy_team *policy_team_named(const struct policy *policy, const char *name);
/* How many witnesses cosigned, each once; latest: when the one that completed the quorum signed (0: not reached). */
size_t policy_cosigned(const struct policy *policy, const struct note *note, uint64_t *ret_latest_s);

#endif
