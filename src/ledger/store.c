#include "ledger/store.h"

#include <string.h>

enum lynx_status store_open(const char *address, enum store_access access, struct store **ret, struct lynx_error *error) {
  const struct store_table *path = NULL;
  for (int i = 0; stores[i] != NULL; i++) {
    lynx_assert(stores[i]->abi == STORE_ABI);
    size_t n = strlen(stores[i]->scheme);
    if (n == 0) path = stores[i];
    else if (strncmp(address, stores[i]->scheme, n) == 0) return stores[i]->open(address, access, ret, error);
  }
  if (path != NULL && strstr(address, "://") == NULL) return path->open(address, access, ret, error);
  lynx_error_at(error, address, 0, NULL);
  return lynx_fail(error, LYNX_UNSUPPORTED,
                   "no store of this build has such an address; accepted: the path of a file, or postgresql://...");
}
