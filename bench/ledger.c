/* How fast a ledger of N entries is: added to in batches, proved from, asked for a result's standing, audited. Prints processor seconds of
 * this process. usage: ledger N FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/measuring.h"
#include "ledger/entry.h"
#include "ledger/ledger.h"
#include "ledger/standing.h"

enum { BATCH = 1000, ASKED = 100 };

static void make(size_t i, const struct signer *signer, struct buffer *ret) {
  struct entry entry = {.kind = "finding", .ledger = "bench"};
  struct lynx_error error = {0};
  char text[32];
  uint8_t digest[DIGEST_BYTES];
  (void)snprintf(text, sizeof text, "%zu", i % 1000); /* a thousand bundles are spoken of */
  digest_of(text, strlen(text), digest);
  entry_subject(&entry, "bundle", digest);
  (void)snprintf(text, sizeof text, "%zu", i);
  entry_member(&entry, "text", text);
  must(entry_sign(&entry, "2026-11-21T00:00:00Z", signer, ret, &error), &error);
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
  char path[300];
  struct lynx_error error = {0};
  struct signer signer = {.name = "ml"};
  struct signing_key *log_key;
  struct ledger *ledger;
  static struct buffer envelopes[BATCH];
  static struct bytes bytes[BATCH];
  static uint64_t index[BATCH];
  double signing = 0, adding = 0, adding_wall = 0;
  (void)snprintf(path, sizeof path, "%s/bench-%d.ledger", argc > 2 ? argv[2] : "/tmp", (int)getpid());
  must(signing_key_make(&signer.key, &error), &error);
  must(signing_key_make(&log_key, &error), &error);
  const struct ledger_start start = {.origin = "bench", .admin = &signer, .log_key = log_key};
  must(ledger_create(path, &start, &error), &error);
  must(ledger_open(path, STORE_WRITE, log_key, &ledger, &error), &error);
  for (size_t done = 0; done < n; done += BATCH) {
    double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < BATCH; i++) {
      buffer_init(&envelopes[i], ENVELOPE_MAX);
      make(done + i, &signer, &envelopes[i]);
      bytes[i] = (struct bytes){envelopes[i].data, envelopes[i].length};
    }
    double made = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    must(ledger_add(ledger, bytes, BATCH, index, &error), &error);
    adding += seconds(CLOCK_PROCESS_CPUTIME_ID) - made;
    adding_wall += seconds(CLOCK_MONOTONIC) - wall;
    signing += made - begun;
    for (size_t i = 0; i < BATCH; i++) buffer_release(&envelopes[i]);
  }
  (void)printf("%zu entries in batches of %d: %.0f/s by the clock, %.0f per processor second (signatures checked); making them: %.0f per "
               "processor second\n",
               n, BATCH, (double)n / adding_wall, (double)n / adding, (double)n / signing);
  double begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < ASKED; i++) {
    struct buffer proof;
    buffer_init(&proof, NOTE_MAX);
    must(ledger_proof_text(ledger, (uint64_t)(n / ASKED) * (uint64_t)i, &proof, &error), &error);
    buffer_release(&proof);
  }
  (void)printf("a proof of inclusion: %.2f ms\n", 1e3 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun) / ASKED);
  begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < ASKED; i++) {
    struct arena arena = {0};
    struct ledger_entry entry;
    must(ledger_read_entry(ledger, (uint64_t)(n / ASKED) * (uint64_t)i, &arena, &entry, &error), &error);
    statement_release(&entry.statement);
    arena_release(&arena);
  }
  (void)printf("one entry read: %.3f ms\n", 1e3 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun) / ASKED);
  begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
  struct standing standing;
  struct standing_question question = {.intent = ""};
  digest_of("7", 1, question.bundle);
  must(standing_of(ledger, &question, &standing, &error), &error);
  standing_release(&standing);
  (void)printf("standing of a bundle that %zu entries speak of: %.2f ms\n", n / 1000, 1e3 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun));
  for (int signatures = 0; signatures < 2; signatures++) {
    struct ledger_audit audit;
    begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double wall = seconds(CLOCK_MONOTONIC);
    must(ledger_audit(ledger, signatures == 1, &audit, &error), &error);
    (void)printf("audit of the whole tree%s: %.0f entries per processor second, %.0f/s by the clock\n",
                 signatures == 1 ? " and every signature" : "", (double)audit.n_entries / (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun),
                 (double)audit.n_entries / (seconds(CLOCK_MONOTONIC) - wall));
  }
  begun = seconds(CLOCK_PROCESS_CPUTIME_ID);
  struct ledger *again;
  must(ledger_open(path, STORE_READ, NULL, &again, &error), &error);
  (void)printf("opening it: %.2f ms\n", 1e3 * (seconds(CLOCK_PROCESS_CPUTIME_ID) - begun));
  ledger_close(again);
  ledger_close(ledger);
  char command[1200];
  (void)snprintf(command, sizeof command, "du -m %.250s | cut -f1 | sed 's/$/ MB on disk/'; rm -f %.250s %.250s-wal %.250s-shm", path, path,
                 path, path);
  int rc = system(command);
  signing_key_release(signer.key);
  signing_key_release(log_key);
  return rc == 0 ? 0 : 1;
}
