#include "cli/recording.h"

#include <stdio.h>

#include "base/shell.h"
#include "cli/output.h"

bool recording_begin(const struct pen_wanted *wanted, const struct contract_file *file, struct recording *ret) {
  *ret = (struct recording){.wanted = ledger_file_address(wanted->ledger) != NULL};
  if (!ret->wanted) return true;
  if (pen_open(wanted, &ret->pen) != EXIT_HOLDS) {
    ret->wanted = false;
    return false;
  }
  ret->begun = run_link_begin(&ret->pen.file, &file->contract, file->text.data, &ret->pen.signer, &ret->link);
  if (ret->begun) ret->telling = telling_begin(&ret->pen.file, &ret->pen.signer, ret->link.intent);
  return ret->begun;
}

bool recording_end(struct recording *recording, const char *path, bool sealed, bool quiet) {
  uint64_t index;
  bool good = true;
  telling_end(recording->telling);
  if (recording->begun && sealed) {
    good = bundle_entry_add(&recording->pen.file, path, &recording->pen.signer, &index);
    if (good && !quiet) say("%s: entry %llu, with the file itself\n", recording->pen.file.address, (unsigned long long)index);
    if (!good) complain("next: lynxbench ledger put %s %s\n", shell_word(recording->pen.file.address), shell_word(path));
  }
  run_link_release(&recording->link);
  if (recording->wanted) pen_close(&recording->pen);
  *recording = (struct recording){.wanted = false};
  return good;
}
