#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/bundle.h"
#include "tests/check.h"

static char dir[64], path[128];

static void write_rows(struct bundle *b) {
  struct lynx_error e = {0};
  struct fact_list facts = {0};
  fact_add(
      &facts,
      &(struct fact){.layer = LAYER_SYSTEM, .kind = FACT_IDENTITY, .status = FACT_READ, .key = "kernel", .value = "6.1", .source = "test"});
  bundle_put_meta(b, "contract", "lynxbench: 1");
  bundle_put_input(b, 0, "a prompt\0with a zero", 20);
  bundle_put_facts(b, "start:f32", &facts);
  bundle_put_session(b, &(struct bundle_session){.id = 0,
                                                 .precision = "f32",
                                                 .executor = EXECUTOR_IN_PROCESS,
                                                 .end = SESSION_COMPLETE,
                                                 .why = "",
                                                 .counted_ns = 5,
                                                 .schedule_digest = "",
                                                 .executed_json = "",
                                                 .instrument_json = "{}"});
  for (int64_t i = 0; i < 200; i++) {
    struct bundle_request r = {.session = 0,
                               .id = i,
                               .phase = PHASE_COUNTED,
                               .outcome = OUTCOME_OK,
                               .reason = "",
                               .http_status = 200,
                               .scheduled_ns = i * 10,
                               .issued_ns = i * 10 + 1,
                               .written_ns = i * 10 + 2,
                               .first_byte_ns = -1,
                               .first_token_ns = i * 10 + 4,
                               .first_answer_ns = -1,
                               .first_tool_call_ns = -1,
                               .last_token_ns = i * 10 + 5,
                               .end_ns = i * 10 + 6,
                               .prompt_tokens = -1,
                               .output_tokens = 3,
                               .read_lag_ns = -1,
                               .events = "abc",
                               .events_length = 3};
    bundle_put_request(b, &r);
  }
  bundle_put_sample(b, 0, 10, "machine.busy_ratio", 0.25);
  bundle_put_accuracy(b, 0, 0, "bits", 512.5, 256);
  bundle_put_event(b, 7, EVENT_INTENT, "begun");
  CHECK_INT(bundle_commit(b, &e), LYNX_OK);
  fact_list_release(&facts);
}

static enum lynx_status count_request(void *context, const struct bundle_request *r) {
  CHECK_INT(r->first_byte_ns, -1); /* what never was comes back as never */
  CHECK_INT(r->end_ns, r->id * 10 + 6);
  CHECK_INT(r->events_length, 3);
  ++*(int *)context;
  return LYNX_OK;
}

static void round_trip(void) {
  struct bundle *b;
  struct bundle_seal_info seal;
  struct lynx_error e = {0};
  char root[DIGEST_HEX];
  int n = 0;
  (void)snprintf(path, sizeof path, "%s/a.lynx", dir);
  CHECK_INT(bundle_create(path, &b, &e), LYNX_OK);
  struct bundle *again;
  CHECK_INT(bundle_create(path, &again, &e), LYNX_INPUT); /* never overwritten */
  CHECK_CONTAINS(e.message, "never overwritten");
  e = (struct lynx_error){0};
  write_rows(b);
  struct bundle *reader;
  CHECK_INT(bundle_open(path, &reader, &seal, &e), LYNX_INPUT); /* while it is being written: its log is beside it */
  CHECK_CONTAINS(e.message, "a.lynx-wal");
  e = (struct lynx_error){0};
  CHECK_INT(bundle_recover(path, &e), LYNX_INPUT);
  CHECK_CONTAINS(e.message, "a run is writing it");
  e = (struct lynx_error){0};
  CHECK_INT(bundle_seal(b, BUNDLE_COMPLETE, "all ran", root, &e), LYNX_OK);
  bundle_close(b);
  CHECK_INT(bundle_open(path, &reader, &seal, &e), LYNX_OK);
  CHECK_INT(seal.end, BUNDLE_COMPLETE);
  CHECK_TEXT(seal.root, root);
  CHECK_TEXT(seal.why, "all ran");
  CHECK_TEXT(bundle_meta(reader, "contract"), "lynxbench: 1");
  CHECK(bundle_meta(reader, "nothing") == NULL);
  CHECK_INT(bundle_each_request(reader, 0, count_request, &n, &e), LYNX_OK);
  CHECK_INT(n, 200);
  struct fact_list facts = {0};
  CHECK_INT(bundle_facts(reader, "start:f32", &facts, &e), LYNX_OK);
  CHECK_TEXT(fact_find(&facts, "kernel")->value, "6.1");
  fact_list_release(&facts);
  bundle_close(reader);
}

/* The same rows twice: the same content, but another salt, so another root: a root cannot be guessed from the content. */
static void salted(void) {
  char first[DIGEST_HEX], second[DIGEST_HEX];
  struct lynx_error e = {0};
  for (int i = 0; i < 2; i++) {
    struct bundle *b;
    (void)snprintf(path, sizeof path, "%s/salt%d.lynx", dir, i);
    CHECK_INT(bundle_create(path, &b, &e), LYNX_OK);
    write_rows(b);
    CHECK_INT(bundle_seal(b, BUNDLE_COMPLETE, "", i == 0 ? first : second, &e), LYNX_OK);
    bundle_close(b);
  }
  CHECK(strcmp(first, second) != 0);
}

static char *slurp(const char *from, long *size) {
  FILE *f = fopen(from, "rb");
  CHECK(f != NULL && fseek(f, 0, SEEK_END) == 0);
  *size = ftell(f);
  rewind(f);
  char *data = malloc((size_t)*size);
  CHECK(data != NULL && fread(data, 1, (size_t)*size, f) == (size_t)*size && fclose(f) == 0);
  return data;
}

static void spill(const char *to, const char *data, long size) {
  FILE *f = fopen(to, "wb");
  CHECK(f != NULL && fwrite(data, 1, (size_t)size, f) == (size_t)size && fclose(f) == 0);
}

static enum lynx_status sum_request(void *context, const struct bundle_request *r) {
  uint64_t *sum = context;
  *sum = *sum * 31 + (uint64_t)r->end_ns + (uint64_t)r->output_tokens + r->events_length + (unsigned char)((const char *)r->events)[0];
  return LYNX_OK;
}

/* One byte changed, at many places: refused, or a byte that holds no data, so that every row reads as before. */
static void altered(void) {
  long size;
  int refused = 0, harmless = 0;
  char *good;
  uint64_t whole = 0;
  struct bundle *b;
  struct bundle_seal_info seal;
  struct lynx_error e = {0};
  (void)snprintf(path, sizeof path, "%s/a.lynx", dir);
  good = slurp(path, &size);
  CHECK_INT(bundle_open(path, &b, &seal, &e), LYNX_OK);
  CHECK_INT(bundle_each_request(b, 0, sum_request, &whole, &e), LYNX_OK);
  bundle_close(b);
  (void)snprintf(path, sizeof path, "%s/bad.lynx", dir);
  for (long at = 0; at < size; at += 97) {
    good[at] ^= 0x15;
    spill(path, good, size);
    good[at] ^= 0x15;
    e = (struct lynx_error){0};
    if (bundle_open(path, &b, &seal, &e) != LYNX_OK) {
      CHECK(e.message[0] != 0);
      refused++;
      continue;
    }
    uint64_t sum = 0;
    if (seal.end != BUNDLE_UNSEALED) {
      CHECK_INT(bundle_each_request(b, 0, sum_request, &sum, &e), LYNX_OK);
      CHECK_INT(sum, whole);
    }
    harmless++;
    bundle_close(b);
  }
  (void)printf("one byte changed at %d places: %d refused, %d in space that holds no data\n", refused + harmless, refused, harmless);
  CHECK(refused > 100);
  for (long keep = size - 1; keep > 0; keep = keep * 2 / 3) { /* truncated */
    spill(path, good, keep);
    e = (struct lynx_error){0};
    CHECK(bundle_open(path, &b, &seal, &e) != LYNX_OK);
    CHECK(e.message[0] != 0);
  }
  spill(path, "not a database at all, but long enough to be looked at", 54);
  e = (struct lynx_error){0};
  CHECK(bundle_open(path, &b, &seal, &e) != LYNX_OK);
  CHECK_INT(bundle_open("/nowhere/at.lynx", &b, &seal, &e), LYNX_NOT_FOUND);
  free(good);
}

int main(void) {
  (void)snprintf(dir, sizeof dir, "/tmp/lynx-bundle-XXXXXX");
  CHECK(mkdtemp(dir) != NULL);
  round_trip();
  salted();
  altered();
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf %s", dir);
  CHECK_INT(system(command), 0);
  return check_end();
}
