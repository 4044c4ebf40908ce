#include "ledger/store.h"

#include <string.h>

enum lynx_status store_open(const char *address, bool create, struct store **ret, struct lynx_error *error) {
  const struct store_table *path = NULL;
  for (int i = 0; stores[i] != NULL; i++) {
    lynx_assert(stores[i]->abi == STORE_ABI);
    size_t n = strlen(stores[i]->scheme);
    if (n == 0) path = stores[i];
    else if (strncmp(address, stores[i]->scheme, n) == 0) return stores[i]->open(address, create, ret, error);
  }
  if (path != NULL && strstr(address, "://") == NULL) return path->open(address, create, ret, error);
  lynx_error_at(error, address, 0, NULL);
  return lynx_fail(error, LYNX_UNSUPPORTED,
                   "no store of this build has such an address; accepted: the path of a file, or postgresql://...");
}

void store_bounds_of(const struct store_range *range, struct store_bounds *ret) {
  *ret = (struct store_bounds){.n_least = range->prefix.length, .n_most = sizeof ret->most};
  memset(ret->most, 0xff, sizeof ret->most); /* behind every key that begins so */
  if (range->prefix.length > 0) memcpy(ret->least, range->prefix.ptr, range->prefix.length);
  if (range->prefix.length > 0) memcpy(ret->most, range->prefix.ptr, range->prefix.length);
  store_bounds_from(ret, range->backwards, range->from);
}

void store_bounds_from(struct store_bounds *bounds, bool backwards, struct bytes key) {
  if (key.length == 0 || key.length > STORE_KEY_MAX) return;
  memcpy(backwards ? bounds->most : bounds->least, key.ptr, key.length);
  *(backwards ? &bounds->n_most : &bounds->n_least) = key.length;
}
