/* cli/compare_files.h: `lynxbench compare --before FILE ... --after FILE ...`: reads the files and shows what came out. */
#ifndef CLI_COMPARE_FILES_H
#define CLI_COMPARE_FILES_H

#include "cli/command.h"
#include "result/files_compared.h"

struct compare_files_request {
  const char *before[COMPARED_FILES_MAX], *after[COMPARED_FILES_MAX];
  size_t n_before, n_after;
  const char *environment_before, *environment_after; /* NULL: not given */
  double margin, confidence;
  bool json;
};

/* The exit code. */
int compare_files(const struct compare_files_request *request);

#endif
