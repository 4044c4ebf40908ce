/* The range of keys that a listing asks for. */
#include <string.h>

#include "ledger/store.h"

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
