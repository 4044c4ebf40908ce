/* cli/work_text.h: the work that findings are (board/work.h), as `lynxbench iterate list` prints it. */
#ifndef CLI_WORK_TEXT_H
#define CLI_WORK_TEXT_H

#include "board/work.h"

struct work_filter {
  const char *owner, *layer, *contract; /* contract: its name, or the beginning of its digest; NULL: any */
  bool closed;                          /* those, too */
};

bool work_is_wanted(const struct work_filter *filter, const struct work_item *item);
void work_text(const struct board *board, const struct work_list *list, const struct work_filter *filter, struct buffer *out);

#endif
