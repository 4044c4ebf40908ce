#include "cli/standing_file.h"

#include "cli/command.h"
#include "cli/ledger_file.h"
#include "verify/bundle_standing.h"

bool standing_file_read(const char *option, const struct bundle_file *file, struct standing *ret, bool *ret_known) {
  const char *address = ledger_file_address(option);
  struct ledger_file ledger;
  *ret_known = false;
  *ret = (struct standing){.recorded = false};
  if (address == NULL) return true;
  if (!ledger_file_open(address, LEDGER_READS, &ledger)) return false;
  struct lynx_error error = {0};
  *ret_known = bundle_standing(ledger.ledger, file->bundle, &file->result, ret, &error) == LYNX_OK;
  if (!*ret_known) (void)report_error(&error);
  ledger_file_close(&ledger);
  return *ret_known;
}
