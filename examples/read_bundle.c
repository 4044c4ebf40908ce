/* Reads a sealed bundle with liblynxbench: read_bundle BUNDLE prints its figures, its claims and whether all of it holds.
 * cc read_bundle.c $(pkg-config --cflags --libs lynxbench) -o read_bundle */
#include <lynxbench.h>
#include <stdio.h>

static int fail(const struct lynxbench_error *error) {
  (void)fprintf(stderr, "%s: %s\n", error->file, error->message);
  return 2;
}

int main(int argc, char **argv) {
  struct lynxbench_error error;
  struct lynxbench_bundle *bundle;
  char *result = NULL, *claims = NULL, *audit = NULL;
  if (argc != 2) return 2;
  if (lynxbench_bundle_open(argv[1], &bundle, &error) != LYNXBENCH_OK) return fail(&error);
  int code = 0;
  if (lynxbench_bundle_result(bundle, &result, &error) != LYNXBENCH_OK ||
      lynxbench_bundle_claims(bundle, &claims, &error) != LYNXBENCH_OK || lynxbench_audit(argv[1], &audit, &error) != LYNXBENCH_OK)
    code = fail(&error);
  else (void)printf("%s%s%s", result, claims, audit);
  lynxbench_free(result);
  lynxbench_free(claims);
  lynxbench_free(audit);
  lynxbench_bundle_close(bundle);
  return code;
}
