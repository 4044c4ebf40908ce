/* cli/team_key.h: a team's key on disk: TEAM.key (private, PKCS#8 in PEM, with the team's name above it) and TEAM.pub (one line).
 * A passphrase comes from LYNXBENCH_PASSPHRASE, or the file that LYNXBENCH_PASSPHRASE_FILE names: nobody is asked at a terminal. */
#ifndef CLI_TEAM_KEY_H
#define CLI_TEAM_KEY_H

#include "ledger/entry.h"

/* False: what is wrong was told. The caller calls signing_key_release(ret->key). */
bool team_key_load(const char *path, struct signer *ret);
/* path NULL: LYNXBENCH_KEY. */
bool team_key_wanted(const char *path, const char *command, struct signer *ret);
/* A TEAM.pub file. */
bool team_key_public(const char *path, struct note_key *ret);

enum { PASSPHRASE_MAX = 1024 };
/* "" where there is none; false: the file that is named cannot be read. */
bool team_key_passphrase(char ret[PASSPHRASE_MAX]);

#endif
