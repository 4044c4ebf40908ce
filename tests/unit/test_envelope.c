/* DSSE: a published vector's signed bytes, one signed bit for bit as an independent implementation did, every byte changed; statements. */
#include "ledger/envelope.h"

#include <stdlib.h>

#include "base/base64.h"
#include "tests/check.h"

static struct signing_key *own_key(void) {
  static const char seed_text[] = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
  struct buffer decoded;
  buffer_init(&decoded, 64);
  CHECK(base64_decode(&decoded, seed_text, strlen(seed_text)));
  struct signing_key *key = signing_key_of_seed((const uint8_t *)decoded.data + 1);
  buffer_release(&decoded);
  return key;
}

static bool holds(const char *text, size_t length, const uint8_t public_key[SIGNATURE_KEY_BYTES]) {
  struct arena arena = {0};
  struct envelope envelope;
  struct lynx_error ignored = {0};
  struct bytes bytes = {text, length};
  bool good = envelope_parse(bytes, &arena, &envelope, &ignored) == LYNX_OK && envelope_plain(bytes, &envelope) &&
              envelope_signed_by(&envelope, public_key);
  struct note_key key;
  char id[NOTE_KEY_TEXT_MAX];
  note_key_make("PeterNeumann", NOTE_ED25519, public_key, &key);
  good = good && strcmp(envelope.signatures[0].key_id, note_key_id_text(&key, id)) == 0;
  arena_release(&arena);
  return good;
}

static void check_vectors(const struct signing_key *key, const uint8_t public_key[SIGNATURE_KEY_BYTES]) {
  struct buffer out;
  struct lynx_error error = {0};
  buffer_init(&out, ENVELOPE_MAX);
  CHECK(envelope_signed_bytes(bytes_of("http://example.com/HelloWorld"), bytes_of("hello world"), &out));
  CHECK_TEXT(out.data, "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  buffer_clear(&out);
  CHECK_INT(envelope_make(bytes_of("application/vnd.lynxbench.claim+json"), bytes_of("{\"a\":1}"), "PeterNeumann", key, &out, &error),
            LYNX_OK);
  CHECK_CONTAINS(out.data, "\"w6x/ReIdphyFnI7yjx+BwCx44Z5AeWyQ4Gqj91E0PeEoegl/+IB0epOdSnjIkkQXe9mCzsbsYxdhYN4WNgh+DA==\"");
  CHECK_CONTAINS(out.data, "\"keyid\":\"PeterNeumann+c74f20a3\"");
  CHECK(holds(out.data, out.length, public_key));
  size_t n_held = 0;
  for (size_t i = 0; i < out.length; i++)
    for (int bit = 0; bit < 8; bit++) {
      out.data[i] = (char)(out.data[i] ^ 1 << bit);
      n_held += holds(out.data, out.length, public_key);
      out.data[i] = (char)(out.data[i] ^ 1 << bit);
    }
  for (size_t n = 0; n < out.length; n++) n_held += holds(out.data, n, public_key);
  CHECK_INT(n_held, 0);
  buffer_release(&out);
}

/* Made elsewhere: blanks, URL-safe digits, no key id, and a signature of another kind before ours. It holds, and is not plain. */
static void check_foreign(const uint8_t public_key[SIGNATURE_KEY_BYTES]) {
  static const char text[] =
      "{ \"payload\": \"eyJhIjoxfQ==\",\n \"payloadType\": \"application/vnd.lynxbench.claim+json\", \"signatures\": [{\"sig\": \"AAAA\"},"
      "{\"sig\": \"w6x_ReIdphyFnI7yjx-BwCx44Z5AeWyQ4Gqj91E0PeEoegl_-IB0epOdSnjIkkQXe9mCzsbsYxdhYN4WNgh-DA==\"}]}";
  struct arena arena = {0};
  struct envelope envelope;
  struct lynx_error error = {0};
  CHECK_INT(envelope_parse(bytes_of(text), &arena, &envelope, &error), LYNX_OK);
  CHECK(envelope_signed_by(&envelope, public_key) && !envelope_plain(bytes_of(text), &envelope));
  arena_release(&arena);
}

static void check_statements(const struct signing_key *key) {
  struct buffer payload, out;
  struct json_writer json;
  struct lynx_error error = {0};
  struct arena arena = {0};
  struct envelope envelope;
  struct statement statement;
  struct statement_subject subjects[2] = {{.name = "contract"}, {.name = "bundle"}};
  digest_of("one", 3, subjects[0].digest);
  digest_of("two", 3, subjects[1].digest);
  buffer_init(&payload, ENVELOPE_MAX);
  buffer_init(&out, ENVELOPE_MAX);
  statement_begin(&json, &payload, "signature", "here", subjects, 2);
  json_put_text(&json, "reservation", "cooling was not ours");
  CHECK(statement_end(&json));
  CHECK_INT(envelope_make(bytes_of(statement_payload_type), (struct bytes){payload.data, payload.length}, "ml", key, &out, &error),
            LYNX_OK);
  CHECK_INT(envelope_parse((struct bytes){out.data, out.length}, &arena, &envelope, &error), LYNX_OK);
  CHECK_INT(statement_parse(&envelope, &arena, &statement, &error), LYNX_OK);
  CHECK_TEXT(statement.kind, "signature");
  CHECK_INT(statement.n_subjects, 2);
  CHECK(memcmp(statement_subject_named(&statement, "bundle"), subjects[1].digest, DIGEST_BYTES) == 0);
  CHECK(statement_subject_named(&statement, "other") == NULL);
  CHECK_TEXT(json_get_text(statement.predicate, "reservation", ""), "cooling was not ours");
  statement_release(&statement);
#define OURS "{\"_type\":\"https://in-toto.io/Statement/v1\","
  static const char *const refused[] = {
      "{}",
      "[]",
      (OURS "\"subject\":[],\"predicateType\":\"urn:other:x:1\",\"predicate\":{}}"),
      (OURS "\"subject\":[{\"digest\":{\"sha256\":\"00\"}}],\"predicateType\":\"urn:lynxbench:x:1\",\"predicate\":{}}"),
      (OURS "\"subject\":[],\"predicateType\":\"urn:lynxbench::1\",\"predicate\":{}}"),
      (OURS "\"subject\":[],\"predicateType\":\"urn:lynxbench:x:1\",\"predicate\":7}")};
  for (size_t i = 0; i < LYNX_COUNT(refused); i++) {
    struct envelope bad = {.payload_type = bytes_of(statement_payload_type), .payload = bytes_of(refused[i])};
    CHECK_INT(statement_parse(&bad, &arena, &statement, &error), LYNX_INPUT);
  }
  arena_release(&arena);
  buffer_release(&payload);
  buffer_release(&out);
}

int main(void) {
  struct signing_key *key = own_key();
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  signing_key_public(key, public_key);
  check_vectors(key, public_key);
  check_foreign(public_key);
  check_statements(key);
  signing_key_release(key);
  return check_end();
}
