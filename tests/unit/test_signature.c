/* Ed25519 against RFC 8032, 7.1, tests 1 and 2, and against every vector of Wycheproof's, most of which must be refused; keys on disk. */
#include "base/signature.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/root.h"
#include "tests/check.h"

static const char pem[] =
    "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n";

static uint8_t *bytes_from_hex(const char *hex, size_t *ret_length) {
  *ret_length = strlen(hex) / 2;
  uint8_t *bytes = calloc(*ret_length + 1, 1);
  CHECK(hex_decode(hex, bytes, *ret_length));
  return bytes;
}

static void check_wycheproof(void) {
  const struct root root = {""};
  struct buffer text;
  struct lynx_error error = {0};
  json_t *rows, *row;
  size_t i, n_valid = 0;
  buffer_init(&text, 1 << 20);
  CHECK_INT(root_read(&root, RECORDED "/ledger/ed25519.json", &text, &error), LYNX_OK);
  rows = json_parse(text.data, text.length, text.length, &error);
  CHECK_INT(json_array_size(rows), 151);
  json_array_foreach(rows, i, row) {
    size_t n_key, n_message, n_value;
    uint8_t *key = bytes_from_hex(json_get_text(row, "key", ""), &n_key);
    uint8_t *message = bytes_from_hex(json_get_text(row, "message", ""), &n_message);
    uint8_t *value = bytes_from_hex(json_get_text(row, "signature", ""), &n_value);
    bool wanted = strcmp(json_get_text(row, "result", ""), "valid") == 0;
    bool found = n_key == SIGNATURE_KEY_BYTES && n_value == SIGNATURE_BYTES &&
                 signature_valid(key, value, (struct bytes){(const char *)message, n_message});
    if (found != wanted) (void)printf("test %s:\n", json_get_text(row, "comment", "?"));
    CHECK(found == wanted);
    n_valid += wanted;
    free(key);
    free(message);
    free(value);
  }
  CHECK_INT(n_valid, 88);
  json_decref(rows);
  buffer_release(&text);
}

/* What is written is read again; with a passphrase, only with that one. */
static void check_keys(void) {
  struct signing_key *key = NULL, *again = NULL;
  struct lynx_error error = {0};
  struct buffer out;
  uint8_t one[SIGNATURE_KEY_BYTES], two[SIGNATURE_KEY_BYTES], value[SIGNATURE_BYTES];
  CHECK_INT(signing_key_make(&key, &error), LYNX_OK);
  signing_key_public(key, one);
  for (int i = 0; i < 2; i++) {
    const char *passphrase = i == 0 ? NULL : "a lynx sees far";
    buffer_init(&out, 4096);
    CHECK_INT(signing_key_write(key, passphrase, &out, &error), LYNX_OK);
    struct bytes written = {out.data, out.length};
    CHECK_INT(signing_key_read(written, passphrase, &again, &error), LYNX_OK);
    signing_key_public(again, two);
    CHECK(memcmp(one, two, sizeof one) == 0);
    CHECK_INT(signing_key_sign(again, bytes_of("x"), value, &error), LYNX_OK);
    CHECK(signature_valid(one, value, bytes_of("x")) && !signature_valid(one, value, bytes_of("y")));
    signing_key_release(again);
    if (i == 1) {
      struct lynx_error wrong = {0}, none = {0};
      CHECK_INT(signing_key_read(written, "another", &again, &wrong), LYNX_INPUT);
      CHECK_CONTAINS(wrong.message, "does not open it");
      CHECK_INT(signing_key_read(written, NULL, &again, &none), LYNX_INPUT);
      CHECK_CONTAINS(none.message, "none was given");
    }
    buffer_release(&out);
  }
  buffer_init(&out, 4096);
  CHECK(signature_public_pem(one, &out));
  CHECK_CONTAINS(out.data, "BEGIN PUBLIC KEY");
  buffer_release(&out);
  signing_key_release(key);
}

int main(void) {
  check_wycheproof();
  check_keys();
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
