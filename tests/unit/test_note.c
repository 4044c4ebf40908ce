/* Signed notes: Go's and C2SP's published ones, a checkpoint signed bit for bit as an independent implementation did, cosignatures, and
 * every byte of a note changed. */
#include "ledger/note.h"

#include <stdlib.h>

#include "base/base64.h"
#include "tests/check.h"

#define DASH "\xe2\x80\x94 "

/* golang.org/x/mod, sumdb/note: the key of its tests. */
static const char peter[] = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                  seed_text[] = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz",
                  peter_note[] =
                      "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n" DASH
                      "PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
/* C2SP signed-note.md */
static const char example[] = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
                  example_note[] =
                      "This is an example message.\n\n" DASH
                      "example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";

static struct signing_key *own_key(void) {
  struct buffer decoded;
  buffer_init(&decoded, 64);
  CHECK(base64_decode(&decoded, seed_text, strlen(seed_text)) && decoded.length == 33);
  struct signing_key *key = signing_key_of_seed((const uint8_t *)decoded.data + 1);
  buffer_release(&decoded);
  return key;
}

static bool holds(const char *note, size_t length, const struct note_key *key) {
  struct note parsed;
  struct lynx_error ignored = {0};
  return note_parse((struct bytes){note, length}, &parsed, &ignored) == LYNX_OK && note_signed_by(&parsed, key, NULL);
}

static void check_published(const char *key_text, const char *note) {
  struct note_key key;
  struct lynx_error error = {0};
  char text[NOTE_KEY_TEXT_MAX];
  CHECK_INT(note_key_parse(key_text, &key, &error), LYNX_OK);
  CHECK_TEXT(note_key_text(&key, text), key_text);
  CHECK(holds(note, strlen(note), &key));
  char *changed = strdup(note);
  size_t n_held = 0;
  for (size_t i = 0; i < strlen(note); i++)
    for (int bit = 0; bit < 8; bit++) {
      changed[i] = (char)(changed[i] ^ 1 << bit);
      n_held += holds(changed, strlen(note), &key);
      changed[i] = note[i];
    }
  for (size_t n = 0; n < strlen(note); n++) n_held += holds(note, n, &key);
  CHECK_INT(n_held, 0);
  free(changed);
}

/* The eight leaves of test_merkle under a name of our own, signed with Go's key: the line that an independent implementation wrote. */
static void check_golden(struct signing_key *key) {
  static const char wanted[] =
      "lynxbench.example/ledger\n8\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n\n" DASH
      "lynxbench.example/ledger 2xwQmLowyovZpOl1qLfh4R5SxRGumltttIMX9+7nFVKHjcuZaP8iyU3K27ENHLi2DUXVLeYxFEoSPTU/dcv5mfjCtAI=\n";
  struct checkpoint checkpoint = {.origin = "lynxbench.example/ledger", .size = 8}, again;
  struct lynx_error error = {0};
  struct buffer note;
  struct note parsed;
  uint8_t public_key[SIGNATURE_KEY_BYTES];
  struct note_key log_key, witness;
  uint64_t time_s = 0;
  buffer_init(&note, NOTE_MAX);
  CHECK(hex_decode("5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328", checkpoint.root, DIGEST_BYTES));
  CHECK(checkpoint_text(&checkpoint, &note));
  CHECK_INT(note_sign(&note, "lynxbench.example/ledger", key, &error), LYNX_OK);
  CHECK_TEXT(note.data, wanted);
  CHECK_INT(note_cosign(&note, "peter.example/witness", key, 1732233600, &error), LYNX_OK);
  CHECK_INT(note_parse((struct bytes){note.data, note.length}, &parsed, &error), LYNX_OK);
  CHECK_INT(checkpoint_parse(parsed.text, &again, &error), LYNX_OK);
  CHECK_INT(again.size, 8);
  CHECK_TEXT(again.origin, checkpoint.origin);
  CHECK(memcmp(again.root, checkpoint.root, DIGEST_BYTES) == 0);
  signing_key_public(key, public_key);
  note_key_make("lynxbench.example/ledger", NOTE_ED25519, public_key, &log_key);
  note_key_make("peter.example/witness", NOTE_COSIGNATURE, public_key, &witness);
  CHECK(note_signed_by(&parsed, &log_key, NULL) && note_signed_by(&parsed, &witness, &time_s));
  CHECK_INT(time_s, 1732233600);
  size_t n_held = 0;
  for (size_t i = 0; i < note.length; i++) { /* whichever byte: one of the two signatures is gone */
    note.data[i] ^= 1;
    n_held += holds(note.data, note.length, &log_key) && holds(note.data, note.length, &witness);
    note.data[i] ^= 1;
  }
  CHECK_INT(n_held, 0);
  note_key_make("peter.example/other", NOTE_COSIGNATURE, public_key, &witness);
  CHECK(!note_signed_by(&parsed, &witness, NULL));
  buffer_release(&note);
}

static const char *const no_keys[] = {"",
                                      "name",
                                      "name+00000000+",
                                      "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                                      "peterneumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                                      "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TX",
                                      "a b+00000000+AQ=="};
static const char *const no_checkpoints[] = {"",
                                             "o\n",
                                             "o\n1\n",
                                             "o\n01\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n",
                                             "o\n-1\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n",
                                             "o\n18446744073709551616\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n",
                                             "\n1\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n",
                                             "o\n1\nXcna\n",
                                             "o\n1\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg=\n\n",
                                             "o\n1\nXcnaeacGWamtVZy3Ad7ZoqudgjqtL0lgz+Nw7/RgQyg="};
static const char *const no_notes[] = {"",
                                       "\n",
                                       "\n\n",
                                       "text\n",
                                       "text\n\n",
                                       "text\n\nname AAAA\n",
                                       "text\n\n" DASH "name\n",
                                       "text\n\n" DASH "name AAAA",
                                       "te\txt\n\n" DASH "name AAAAAAAA\n",
                                       "te\xff\n\n" DASH "name AAAAAAAA\n"};

int main(void) {
  struct lynx_error error = {0};
  struct note_key key;
  struct checkpoint checkpoint;
  struct note note;
  check_published(peter, peter_note);
  check_published(example, example_note);
  struct signing_key *own = own_key();
  check_golden(own);
  for (size_t i = 0; i < LYNX_COUNT(no_keys); i++) CHECK_INT(note_key_parse(no_keys[i], &key, &error), LYNX_INPUT);
  for (size_t i = 0; i < LYNX_COUNT(no_checkpoints); i++)
    CHECK_INT(checkpoint_parse(bytes_of(no_checkpoints[i]), &checkpoint, &error), LYNX_INPUT);
  for (size_t i = 0; i < LYNX_COUNT(no_notes); i++) CHECK_INT(note_parse(bytes_of(no_notes[i]), &note, &error), LYNX_INPUT);
  CHECK(note_name_valid("ml-team") && note_name_valid("lynx.example/ml") && !note_name_valid("a b") && !note_name_valid("a+b") &&
        !note_name_valid(""));
  signing_key_release(own);
  return check_end();
}
