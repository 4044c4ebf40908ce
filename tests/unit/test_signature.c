/* Ed25519 against RFC 8032, 7.1, tests 1 and 2. */
#include "base/signature.h"
#include "tests/check.h"

static const char pem[] =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

int main(void) {
  static const char
      public_key[] = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      value[] = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe246551"
                "41438e7a100b";
  char found_key[SIGNATURE_KEY_HEX] = "", found[SIGNATURE_HEX] = "";
  struct lynx_error error = {0};
  CHECK_INT(signature_make(bytes_of(pem), bytes_of(""), found_key, found, &error), LYNX_OK);
  CHECK_TEXT(found_key, public_key);
  CHECK_TEXT(found, value);
  CHECK(signature_holds(public_key, value, bytes_of("")));
  CHECK(!signature_holds(public_key, value, bytes_of("x")));
  CHECK(signature_holds(
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb"
      "0c00",
      bytes_of("\x72")));
  CHECK(!signature_holds("", value, bytes_of("")) && !signature_holds(public_key, "zz", bytes_of("")));
  CHECK_INT(signature_make(bytes_of("no key"), bytes_of(""), found_key, found, &error), LYNX_INPUT);
  return check_end();
}
