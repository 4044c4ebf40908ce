/* cli/team_key.h: a team's key on disk: TEAM.key (private, PKCS#8 in PEM, with the team's name above it; or where it is held instead: in
 * ssh-agent, on a PKCS#11 token) and TEAM.pub (one line). A passphrase, or a token's PIN, comes from LYNXBENCH_PASSPHRASE, or the file that
 * LYNXBENCH_PASSPHRASE_FILE names; else it is asked for on the terminal, if there is one. */
#ifndef CLI_TEAM_KEY_H
#define CLI_TEAM_KEY_H

#include "ledger/entry.h"

/* False: what is wrong was reported. The caller calls signing_key_release(ret->key). */
bool team_key_load(const char *path, struct signer *ret);
/* path NULL: LYNXBENCH_KEY. */
bool team_key_wanted(const char *path, const char *command, struct signer *ret);
/* The log's key and every other one: a private key in PEM. ret_name: of whom, as it says or its file's name does. False: reported. */
bool key_file_read(const char *path, const char *passphrase, char ret_name[NOTE_NAME_MAX], struct signing_key **ret);
/* A new file for its owner alone, with `head` above the key; passphrase NULL: under none. False: reported; ret_exists: because it was there. */
bool key_file_create(const char *path, const char *head, const struct signing_key *key, const char *passphrase, bool *ret_exists);
/* The same where the key is held elsewhere: in ssh-agent under a comment, or on a token at a URI (the other is NULL). Gives the key. */
bool key_file_point(const char *path, const char *team, const char *comment, const char *uri, struct signing_key **ret, bool *ret_exists);
/* A team's name as part of a file's: without slashes. Returns ret. */
char *team_key_file_name(const char *team, char ret[NOTE_NAME_MAX]);
/* A TEAM.pub file. */
bool team_key_public(const char *path, struct note_key *ret);

enum { PASSPHRASE_MAX = 1024 };
/* "" where there is none; false: the file that is named cannot be read. */
bool team_key_passphrase(char ret[PASSPHRASE_MAX]);
/* On the terminal, unseen; twice, where it is a new one. False: there is no terminal, or nothing was typed. */
bool team_key_ask(const char *prompt, bool twice, char ret[PASSPHRASE_MAX]);

#endif
