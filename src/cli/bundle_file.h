/* cli/bundle_file.h: a bundle opened, checked and analysed for a command. */
#ifndef CLI_BUNDLE_FILE_H
#define CLI_BUNDLE_FILE_H

#include "result/result.h"

struct bundle_file {
  struct bundle *bundle;
  struct result result;
  enum lynx_status status; /* of opening it */
};

/* False if it cannot be; the reason was reported. */
bool bundle_file_open(const char *path, struct bundle_file *ret);
/* The same, and refused where no run can have written its rows: for whatever rests a decision on it, or passes it on. */
bool bundle_file_open_possible(const char *path, struct bundle_file *ret);
void bundle_file_close(struct bundle_file *file);

/* Were their sessions run in turn, by one command? */
bool bundle_files_interleaved(const struct bundle_file *a, const struct bundle_file *b);

#endif
