/* cli/hook.h: telling somebody of an entry that was just made.
 *
 * What is sent is one JSON object: kind, entry (its digest), index, by, ledger (its origin), every text of its predicate, layer and owner
 * where a finding names them, and "envelope": the entry as it was signed (DSSE), by which whoever is told can check all of it against
 * the team's public key. A hook decides nothing: the entry stands whether it answers or not.
 *
 * A hook is an http:// or https:// address (POST, 10 s; certificates of LYNXBENCH_CA_FILE), or the path of a program, which is started
 * without a shell, with the object as its standard input and PATH and HOME alone of our environment (30 s). */
#ifndef CLI_HOOK_H
#define CLI_HOOK_H

#include "cli/ledger_file.h"

/* False: it was not told, and that was said. command: who says it. */
bool hook_tell(const char *command, const char *hook, const struct ledger_file *file, uint64_t index);

#endif
