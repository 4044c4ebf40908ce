/* For benchmarks: opens a bundle, which checks all of it, and closes it. */
#include <stdio.h>

#include "record/bundle.h"

int main(int argc, char **argv) {
  struct bundle *bundle = NULL;
  struct bundle_seal_info seal;
  struct lynx_error error = {0};
  if (argc != 2 || bundle_open(argv[1], &bundle, &seal, &error) != LYNX_OK) {
    (void)fprintf(stderr, "open_bundle: %s\n", argc != 2 ? "BUNDLE" : error.message);
    return 1;
  }
  bundle_close(bundle);
  return 0;
}
