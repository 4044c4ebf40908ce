/* Bundles: whatever the file holds, a clear error or figures; never a crash. */
#include "result/claim.h"
#include "tests/fuzz/file.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(data, size);
  if (path == NULL) return 0;
  struct bundle *bundle;
  struct bundle_seal_info seal;
  struct result result;
  struct lynx_error error = {0};
  if (bundle_open(path, &bundle, &seal, &error) == LYNX_OK) {
    if (result_compute(bundle, &seal, &result, &error) == LYNX_OK) {
      struct buffer out;
      struct claim claim;
      buffer_init(&out, 16 << 20);
      (void)result_write(&result, &out);
      for (size_t i = 0; i < result.n_precisions; i++) claim_build(&result, i, &claim);
      buffer_release(&out);
      result_release(&result);
    } else HOLDS(error.message[0] != 0);
    bundle_close(bundle);
  } else HOLDS(error.message[0] != 0);
  return 0;
}
