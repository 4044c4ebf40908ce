/* A ledger for the benchmark of its pages (bench/pages.py): N results over C contracts, one a day of each, whose bundles are nowhere. Every
 * tenth contract's figures become 10 % worse in the middle. Leaves pages.ledger, its key, and more.jsonl: envelopes of further runs, one a
 * line, for who pushes them. usage: pages FOLDER [N [C [ADDRESS [few]]]] (ADDRESS: where the ledger is made instead, postgresql://...;
 * few: two figures of each run) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "bench/bulk.h"
#include "bench/measuring.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/number.h"
#include "contract/contract.h"
#include "ledger/entry.h"
#include "ledger/ledger.h"
#include "result/formula.h"
#include "result/summary.h"
#include "stats/draw.h"

enum { BATCH = 1000, MORE = 1000, DIGITS = 7, SESSIONS = 5, STEPPED = 10, FEW = 2, PATH = 4096 };
static const char origin[] = "bench", postgres[] = "postgresql://", example_name[] = "name: \"null\"";
static const int64_t day_ns = 86400000000000, first_ns = 1577836800000000000; /* 2020-01-01 */

struct terms {
  struct contract contract;
  char digest[DIGEST_HEX];
};

struct making {
  char path[PATH];
  struct signer signer;
  struct signing_key *log_key;
  struct merkle_edge edge;
  struct bulk *bulk; /* NULL: the ledger is in a file */
  bool few;          /* figures: the first FEW */
  FILE *more;        /* where envelopes go instead; NULL */
  struct arena arena;
  struct random_stream stream;
  struct terms *terms;
  size_t n_terms, n_runs, n_batch;
  struct buffer batch[BATCH];
};

/* One run of a contract. */
struct run {
  const struct terms *terms;
  size_t day;
  bool after; /* the step */
  int64_t when_ns;
};

static void must_do(bool done, const char *path) {
  if (done) return;
  perror(path);
  exit(1);
}

/* --- entries --- */

/* Entries from `next` on, which the tree's edge counts already. */
static enum lynx_status give_batch(void *context, uint64_t next, struct bytes *ret, size_t *ret_n, struct lynx_error *error) {
  const struct making *m = context;
  (void)error;
  for (size_t i = (size_t)(next + m->n_batch - m->edge.size); i < m->n_batch && *ret_n < LEDGER_TILE; i++)
    ret[(*ret_n)++] = (struct bytes){m->batch[i].data, m->batch[i].length};
  return LYNX_OK;
}

static void sign_edge(const struct making *m, struct buffer *ret) {
  struct lynx_error error = {0};
  struct checkpoint checkpoint = {.size = m->edge.size};
  (void)snprintf(checkpoint.origin, sizeof checkpoint.origin, "%s", origin);
  merkle_edge_root(&m->edge, checkpoint.root);
  buffer_init(ret, NOTE_MAX);
  must_do(checkpoint_text(&checkpoint, ret), origin);
  must(note_sign(ret, origin, m->log_key, &error), &error);
}

/* As a copy is continued: to add a bundle that answers an intent, ledger_add reads every entry of its contract. */
static void copy_batch(struct making *m) {
  struct lynx_error error = {0};
  struct buffer note;
  uint8_t leaf[DIGEST_BYTES];
  uint64_t before;
  for (size_t i = 0; i < m->n_batch; i++) {
    merkle_leaf((struct bytes){m->batch[i].data, m->batch[i].length}, leaf);
    must(merkle_append(&m->edge, leaf, NULL, NULL, &error), &error);
  }
  sign_edge(m, &note);
  const struct ledger_copy copy = {.note = {note.data, note.length}, .give = give_batch, .context = m};
  must(ledger_copy(m->path, &copy, &before, &error), &error);
  buffer_release(&note);
}

static void add_batch(struct making *m) {
  if (m->bulk == NULL) {
    copy_batch(m);
    return;
  }
  for (size_t i = 0; i < m->n_batch; i++) bulk_add(m->bulk, (struct bytes){m->batch[i].data, m->batch[i].length});
  m->edge = *bulk_edge(m->bulk);
}

static void flush(struct making *m) {
  if (m->more == NULL && m->n_batch > 0) add_batch(m);
  for (size_t i = 0; i < m->n_batch && m->more != NULL; i++) (void)fprintf(m->more, "%s\n", m->batch[i].data); /* fclose reports it */
  m->n_batch = 0;
}

static void give(struct making *m, struct entry *entry, int64_t when_ns, uint8_t ret_leaf[DIGEST_BYTES]) {
  struct lynx_error error = {0};
  struct buffer *to = &m->batch[m->n_batch++];
  char time[32];
  entry->ledger = origin;
  buffer_clear(to);
  must(entry_sign(entry, clock_text(time, when_ns), &m->signer, to, &error), &error);
  merkle_leaf((struct bytes){to->data, to->length}, ret_leaf);
  if (m->n_batch == BATCH) flush(m);
}

static void draw_digest(struct making *m, uint8_t ret[DIGEST_BYTES]) {
  char number[24];
  digest_of(number, (size_t)snprintf(number, sizeof number, "%016llx", (unsigned long long)random_next(&m->stream)), ret);
}

/* --- contracts --- */

static char *read_example(void) {
  char text[PATH] = "";
  FILE *file = fopen(EXAMPLE, "re");
  must_do(file != NULL && fread(text, 1, sizeof text - 1, file) > 0, EXAMPLE);
  (void)fclose(file); /* it was read */
  return strdup(text);
}

static void make_contract(struct making *m, const char *example, size_t i, struct terms *ret) {
  const char *name = strstr(example, example_name);
  struct problem_list problems = {.arena = &m->arena};
  struct entry entry = {.kind = "contract"};
  uint8_t leaf[DIGEST_BYTES];
  must_do(name != NULL, EXAMPLE);
  const char *text = arena_printf(&m->arena, "%.*sname: \"null %zu\"%s", (int)(name - example), example, i, name + sizeof example_name - 1);
  must_do(contract_parse(text, strlen(text), &m->arena, &ret->contract, &problems) == LYNX_OK, EXAMPLE);
  contract_digest(&ret->contract, ret->digest);
  entry_subject_hex(&entry, "contract", ret->digest);
  entry_member(&entry, "name", ret->contract.name);
  entry_member(&entry, "text", text);
  give(m, &entry, first_ns, leaf);
}

static void make_contracts(struct making *m) {
  char *example = read_example();
  m->terms = xalloc(m->n_terms, sizeof *m->terms);
  for (size_t i = 0; i < m->n_terms; i++) make_contract(m, example, i, &m->terms[i]);
  free(example);
}

/* --- runs --- */

static void make_figure(struct making *m, const struct session_figure *figure, size_t i, bool after, struct summary_figure *ret) {
  double level = figure->metric < 0 ? 1000 : 20e6 * (double)(i + 1), step = figure->more_is_better ? 0.9 : 1.1;
  double value = level * (1 + 0.02 * draw_normal(&m->stream)) * (after ? step : 1);
  *ret = (struct summary_figure){.name = figure->name,
                                 .formula = formulas[figure->formula].id,
                                 .unit = formulas[figure->formula].unit,
                                 .better = figure->more_is_better ? BETTER_MORE : BETTER_LESS,
                                 .value = number_round(value, DIGITS),
                                 .low = number_round(0.99 * value, DIGITS),
                                 .high = number_round(1.01 * value, DIGITS),
                                 .n = SESSIONS};
}

static void write_summary(void *context, struct json_writer *json) {
  json_key(json, "summary");
  json_open_object(json);
  summary_write(context, json);
  json_close(json);
}

static void make_intent(struct making *m, const struct run *run, char ret_leaf[DIGEST_HEX]) {
  struct entry entry = {.kind = "intent"};
  uint8_t leaf[DIGEST_BYTES], random[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  draw_digest(m, random);
  entry_subject_hex(&entry, "contract", run->terms->digest);
  entry_member(&entry, "name", run->terms->contract.name);
  entry_member(&entry, "host", "bench");
  entry_member(&entry, "run", digest_hex(random, hex));
  entry_member(&entry, "tool", "lynxbench " LYNX_VERSION);
  give(m, &entry, run->when_ns, leaf);
  (void)digest_hex(leaf, ret_leaf);
}

/* It answers the intent. */
static void make_bundle(struct making *m, const struct run *run, const char *intent, struct summary *summary) {
  struct entry entry = {.kind = "bundle", .write_more = write_summary, .context = summary};
  uint8_t root[DIGEST_BYTES], file[DIGEST_BYTES], leaf[DIGEST_BYTES];
  char name[40];
  draw_digest(m, root);
  draw_digest(m, file);
  (void)snprintf(name, sizeof name, "run-%zu.lynx", run->day);
  entry_subject(&entry, "bundle", root);
  entry_subject_hex(&entry, "contract", run->terms->digest);
  entry_subject(&entry, "file", file);
  entry_member(&entry, "name", name);
  entry_member(&entry, "bytes", "1000"); /* ten million of them are within a quota */
  entry_member(&entry, "ended", "complete");
  entry_member(&entry, "intent", intent);
  entry_member(&entry, "tool", "lynxbench " LYNX_VERSION);
  give(m, &entry, run->when_ns, leaf);
}

/* The i-th of all. Its executor changes with its figures. */
static void make_run(struct making *m, size_t i) {
  const size_t of = i % m->n_terms;
  struct run run = {.terms = &m->terms[of], .day = i / m->n_terms};
  struct session_figure figures[SESSION_FIGURES_MAX];
  struct summary_figure values[SESSION_FIGURES_MAX];
  uint8_t executor[DIGEST_BYTES];
  char hex[DIGEST_HEX], intent[DIGEST_HEX];
  run.after = of % STEPPED == 0 && 2 * run.day >= m->n_runs / m->n_terms;
  run.when_ns = first_ns + (int64_t)run.day * day_ns + (int64_t)of * 1000000000;
  digest_of(run.after ? "after" : "before", run.after ? 5 : 6, executor);
  struct summary_precision precision = {.name = run.terms->contract.precisions.items[0],
                                        .fingerprint = digest_hex(executor, hex),
                                        .conditions = {.others = 0.01, .pressure = 0.01},
                                        .figures = values};
  precision.n_figures = session_figures(&run.terms->contract, true, true, figures);
  if (m->few) precision.n_figures = FEW;
  for (size_t k = 0; k < precision.n_figures; k++) make_figure(m, &figures[k], k, run.after, &values[k]);
  struct summary summary = {.analysis = ANALYSIS_VERSION,
                            .started_ns = run.when_ns,
                            .contract = run.terms->digest,
                            .name = run.terms->contract.name,
                            .precisions = &precision,
                            .n_precisions = 1};
  make_intent(m, &run, intent);
  make_bundle(m, &run, intent, &summary);
}

/* --- the ledger --- */

static void save_key(const char *ledger, const struct signing_key *key) {
  struct lynx_error error = {0};
  struct buffer pem;
  char path[PATH + 8];
  (void)snprintf(path, sizeof path, "%s.key", ledger);
  buffer_init(&pem, 4096);
  must(signing_key_write(key, NULL, &pem, &error), &error);
  must_do(file_create_private(path, pem.data, pem.length) == 0, path);
  buffer_wipe(&pem);
}

/* With its first entry, the policy. */
static void begin(struct making *m, const char *folder) {
  struct lynx_error error = {0};
  struct ledger *ledger;
  char beside[PATH];
  (void)snprintf(beside, sizeof beside, "%.4000s/pages.ledger", folder);
  if (m->path[0] == 0) (void)snprintf(m->path, sizeof m->path, "%s", beside);
  (void)snprintf(m->signer.name, sizeof m->signer.name, "ml");
  must(signing_key_make(&m->signer.key, &error), &error);
  must(signing_key_make(&m->log_key, &error), &error);
  save_key(beside, m->log_key);
  const struct ledger_start start = {.origin = origin, .admin = &m->signer, .log_key = m->log_key};
  must(ledger_create(m->path, &start, &error), &error);
  must(ledger_open(m->path, STORE_READ, NULL, &ledger, &error), &error);
  const struct merkle_source tree = ledger_tree(ledger);
  must(merkle_edge_read(&tree, 1, &m->edge, &error), &error);
  ledger_close(ledger);
  if (strncmp(m->path, postgres, sizeof postgres - 1) == 0) m->bulk = bulk_begin(m->path);
  random_init(&m->stream, 1, "pages");
  for (size_t i = 0; i < BATCH; i++) buffer_init(&m->batch[i], ENVELOPE_MAX);
}

static void end_bulk(struct making *m) {
  struct buffer note;
  sign_edge(m, &note);
  bulk_end(m->bulk, (struct bytes){note.data, note.length});
  buffer_release(&note);
}

static void put_more(struct making *m, const char *folder) {
  char path[PATH];
  (void)snprintf(path, sizeof path, "%.4000s/more.jsonl", folder);
  m->more = fopen(path, "we");
  must_do(m->more != NULL, path);
  for (size_t i = 0; i < MORE; i++) make_run(m, m->n_runs + i);
  flush(m);
  must_do(fclose(m->more) == 0, path);
}

static void end(struct making *m) {
  for (size_t i = 0; i < BATCH; i++) buffer_release(&m->batch[i]);
  signing_key_release(m->signer.key);
  signing_key_release(m->log_key);
  arena_release(&m->arena);
  free(m->terms);
}

int main(int argc, char **argv) {
  static struct making m = {.n_runs = 100000, .n_terms = 100};
  struct stat info;
  if (argc > 2) m.n_runs = strtoul(argv[2], NULL, 10);
  if (argc > 3) m.n_terms = strtoul(argv[3], NULL, 10);
  if (argc > 4) (void)snprintf(m.path, sizeof m.path, "%s", argv[4]);
  m.few = argc > 5 && strcmp(argv[5], "few") == 0;
  if (argc < 2 || m.n_terms == 0) {
    (void)fprintf(stderr, "usage: pages FOLDER [N [C [ADDRESS [few]]]]\n");
    return 2;
  }
  begin(&m, argv[1]);
  double begun = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
  make_contracts(&m);
  for (size_t i = 0; i < m.n_runs; i++) make_run(&m, i);
  flush(&m);
  if (m.bulk != NULL) end_bulk(&m);
  begun = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun, wall = seconds(CLOCK_MONOTONIC) - wall;
  (void)printf("%zu results of %zu contracts, %" PRIu64 " entries: built in %.1f s, %.1f s of processor time", m.n_runs, m.n_terms,
               m.edge.size, wall, begun);
  (void)printf("; the first contract's digest is %s", m.terms[0].digest);
  if (stat(m.path, &info) == 0) (void)printf("; the file is %.1f MB", (double)info.st_size / 1e6);
  (void)printf("\n");
  put_more(&m, argv[1]);
  end(&m);
  return 0;
}
