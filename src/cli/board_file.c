#include "cli/board_file.h"

#include "cli/output.h"

bool board_file_read(const struct ledger_file *file, struct board *ret) {
  struct lynx_error error = {0};
  bool more = true;
  *ret = (struct board){.address = file->address};
  while (more)
    if (board_update(ret, file->ledger, SIZE_MAX, &more, &error) != LYNX_OK) {
      (void)report_error(&error);
      return false;
    }
  return true;
}
