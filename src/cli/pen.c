#include "cli/pen.h"

#include <stdio.h>

#include "cli/command.h"

int pen_open(const struct pen_wanted *wanted, struct pen *ret) {
  const char *address = ledger_file_address(wanted->ledger);
  if (address == NULL) {
    complain("lynxbench %s: %s: --ledger LEDGER, or LYNXBENCH_LEDGER, is needed\n", wanted->command, wanted->because);
    return EXIT_WRONG_INPUT;
  }
  if (!team_key_wanted(wanted->key, wanted->command, &ret->signer)) return EXIT_WRONG_INPUT;
  if (ledger_file_open(address, LEDGER_ADDS, &ret->file)) return EXIT_HOLDS;
  signing_key_release(ret->signer.key);
  return ledger_file_code(&ret->file);
}

void pen_close(struct pen *pen) {
  ledger_file_close(&pen->file);
  signing_key_release(pen->signer.key);
}
