#include "cli/run_exit.h"

#include <string.h>
#include <unistd.h>

int run_exit_code(enum lynx_status status, const struct run_outcome *outcome, const struct lynx_error *error, const char *path) {
  if (status != LYNX_OK) {
    int code = report_error(error);
    if (outcome->sealed) (void)fprintf(stderr, "What was measured was sealed as %s in %s\n", bundle_end_text(outcome->end), path);
    else if (status != LYNX_INPUT && access(path, F_OK) == 0)
      (void)fprintf(stderr, "%s holds what was recorded before; it is not sealed, and counts as incomplete\n", path);
    if (outcome->executor_failed) return EXIT_EXECUTOR;
    if (status != LYNX_IO || access(path, F_OK) != 0) return code;
    return strcmp(error->file, path) == 0 ? EXIT_CONDITIONS
                                          : EXIT_EXECUTOR; /* the record could not be written; or the endpoint's name is not known */
  }
  if (outcome->aborted_by_slo) return EXIT_CONDITIONS;
  return outcome->end == BUNDLE_COMPLETE ? EXIT_HOLDS : EXIT_INTERRUPTED;
}
