/* Python source: no crash, and a module's name is a name. */
#include <stdint.h>
#include <string.h>

#include "executor/python_imports.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(void *context, const char *module) {
  (void)context;
  size_t n = strlen(module);
  HOLDS(n > 0 && n < 300 && strpbrk(module, "/ \n\"'") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)python_is_dynamic((const char *)data, size);
  python_imports((const char *)data, size, look, NULL);
  return 0;
}
