/* ledger/running.h: runs that go on, as their teams tell beside the log: kept in memory, entered nowhere, forgotten soon.
 *
 * A run whose intent is in the ledger says once, signed by the intent's team, by what secret it will be known; what it tells from then on
 * comes with that secret. What it tells is no figure: it is not checked, and nothing rests on it.
 * Limits   RUNNING_MAX runs; one that has not been heard of for RUNNING_S seconds is forgotten
 * Errors   INPUT: not signed by the team of an intent that is here, not known, or no such fields; LIMIT: too many at once
 * Threads  any, but for what reads the ledger */
#ifndef LEDGER_RUNNING_H
#define LEDGER_RUNNING_H

#include "ledger/ledger.h"

enum { RUNNING_MAX = 64, RUNNING_S = 30 };

struct running_run {
  char intent[DIGEST_HEX], contract[DIGEST_HEX];
  char by[NOTE_NAME_MAX], name[160], host[80]; /* the team; of the contract, and of where the load is made, as they say */
  char step[40], precision[80], purpose[24];
  int64_t session, n_sessions; /* from 1; of how many, 0: not known */
  double elapsed_s, total_s;   /* of this session's windows */
  int64_t in_flight, n_done, n_failed;
  double requests_per_s, tokens_per_s, time_to_first_token_ns, end_to_end_ns, steal, idle; /* of the last second; NaN: not known */
  double silent_s;                                                                         /* since it was last heard of */
};

struct running;
struct running *running_open(void);
void running_close(struct running *running); /* accepts NULL */

/* Its first word: a statement of kind "progress" about the entry of its intent, with the SHA-256 of the secret and the time, which is not a
 * day away from this machine's. Of a run that said that it is over it is refused: whoever kept it cannot bring the run back. */
enum lynx_status running_begin(struct running *running, struct ledger *ledger, struct bytes envelope,
                               struct lynx_error *error) LYNX_MUST_CHECK;
/* A further one: JSON with "intent", "secret" and what running_run has. */
enum lynx_status running_tell(struct running *running, struct bytes json, struct lynx_error *error) LYNX_MUST_CHECK;
/* Those that go on, the newest first. */
size_t running_list(struct running *running, struct running_run ret[RUNNING_MAX]);

#endif
