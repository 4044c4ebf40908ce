/* cli/pen.h: a ledger that is open to be added to, and the key that signs what is added: those that --ledger and --key name, or the
 * environment. */
#ifndef CLI_PEN_H
#define CLI_PEN_H

#include "cli/ledger_file.h"
#include "cli/team_key.h"

struct pen_wanted {
  const char *command, *because; /* "compare", "--change": for words about what is missing */
  const char *ledger, *key;      /* as the options say; NULL: the environment's */
  const char *hook;              /* who hears of each entry (cli/hook.h); NULL: nobody */
};

struct pen {
  struct ledger_file file;
  struct signer signer;
};

/* EXIT_HOLDS: pen_close is the caller's. Else what is wrong was reported. */
int pen_open(const struct pen_wanted *wanted, struct pen *ret);
void pen_close(struct pen *pen);

#endif
