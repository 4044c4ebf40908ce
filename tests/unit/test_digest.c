#include "base/digest.h"
#include "tests/check.h"

int main(void) {
  uint8_t d[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  digest_of("abc", 3, d); /* FIPS 180-2, B.1 */
  CHECK_TEXT(digest_hex(d, hex), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  struct digest parts;
  digest_init(&parts);
  digest_update(&parts, "a", 1);
  digest_update(&parts, "bc", 2);
  digest_final(&parts, d);
  CHECK_TEXT(digest_hex(d, hex), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  return check_end();
}
