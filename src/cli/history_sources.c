#include "cli/history_sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/root.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "history/series_file.h"
#include "history/table.h"
#include "ledger/blob.h"

enum { LABEL_MAX = 256 };
static const int64_t progress_ns = 500000000;

/* --- one run --- */

static bool is_wanted_contract(const struct history_filter *f, const struct summary *s) {
  return f->contract == NULL || strcmp(s->name, f->contract) == 0 ||
         (strlen(f->contract) >= 4 && strncmp(s->contract, f->contract, strlen(f->contract)) == 0);
}

/* Takes out what is not wanted. */
static bool apply(const struct history_filter *f, struct summary *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_precisions; i++) {
    struct summary_precision *p = &s->precisions[i];
    size_t n_figures = 0;
    if (f->precision != NULL && strcmp(p->name, f->precision) != 0) continue;
    for (size_t k = 0; k < p->n_figures; k++)
      if (f->figure == NULL || strstr(p->figures[k].name, f->figure) != NULL) p->figures[n_figures++] = p->figures[k];
    p->n_figures = n_figures;
    s->precisions[n++] = *p;
  }
  bool wanted = is_wanted_contract(f, s);
  s->n_precisions = wanted ? n : 0;
  return wanted;
}

static size_t add_source(struct history_sources *s, const struct history_source *source) {
  s->items = xroom(s->items, s->n, &s->room, sizeof *s->items);
  s->items[s->n] = *source;
  return s->n++;
}

static void add_run(struct history_sources *s, const char *label, const char *root, const struct history_source *source,
                    struct summary *summary) {
  if (s->filter.keep != NULL && !s->filter.keep(s->filter.context, root, summary)) return;
  s->n_other += !apply(&s->filter, summary);
  history_add(s->history, &(struct history_origin){label, root, source->ledger != NULL ? s->opened.address : "", add_source(s, source)},
              summary);
  s->n_read++;
}

static void show_progress(struct history_sources *s) {
  int64_t now = clock_now(&clock_system);
  if (s->quiet || now - s->looked_ns < progress_ns) return;
  s->looked_ns = now;
  if (isatty(STDERR_FILENO) == 0) return;
  s->told = true;
  complain("\r%zu runs read", s->n_read);
}

static void read_bundle(struct history_sources *s, const char *path, const char *label, const struct history_source *source) {
  struct bundle_file file;
  struct summary summary;
  show_progress(s);
  if (!bundle_file_open(path, &file)) { /* it was reported */
    s->n_unreadable++;
    return;
  }
  summary_make(&file.result, &summary);
  add_run(s, label, file.result.seal.root, source, &summary);
  bundle_file_close(&file);
}

/* --- texts of other tools --- */

/* What was read of a text, as far as it is wanted. */
static void take_runs(struct history_sources *s, const struct history *all) {
  for (size_t i = 0; i < all->n_runs; i++) {
    struct summary_precision precision = *all->runs[i].precision;
    struct summary summary = {.started_ns = all->runs[i].at_ns,
                              .contract = all->runs[i].contract,
                              .name = all->runs[i].name,
                              .precisions = &precision,
                              .n_precisions = 1};
    s->n_other += !apply(&s->filter, &summary);
    history_add(s->history, &all->runs[i].from, &summary);
    s->n_read++;
  }
}

static enum lynx_status no_reader(struct lynx_error *error) {
  char known[400] = "";
  for (size_t i = 0; series_readers[i] != NULL; i++) {
    size_t n = strlen(known);
    (void)snprintf(known + n, sizeof known - n, "%s; ", series_readers[i]->files);
  }
  return lynx_fail(error, LYNX_INPUT, "no tool's file that is known; accepted: %sbundles; tables (CSV)", known);
}

/* A file that lies there twice, by another name or a link, is one run. */
static bool is_new(struct history_sources *s, const struct buffer *text) {
  uint8_t digest[DIGEST_BYTES];
  size_t known;
  digest_of(text->data, text->length, digest);
  if (digest_map_get(&s->texts, digest, &known)) return false;
  digest_map_put(&s->texts, digest, 0);
  return true;
}

/* A table, or one run as another tool writes it. In a folder, what no tool wrote is passed over. */
static int read_text(struct history_sources *s, const char *path, const struct buffer *text, bool in_folder) {
  struct lynx_error error = {0}, none = {0};
  struct history all = {.runs = NULL};
  const char *head = text->data != NULL ? text->data : "";
  const size_t mark = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* of the byte order */
  head += mark;
  const char first = head[strspn(head, " \t\r\n")];
  bool named = text_ends_with(path, ".json") || text_ends_with(path, ".xml");
  bool marked_up = first == '{' || first == '[' || first == '<' || named;
  json_t *json = first == '{' || first == '[' ? json_parse(head, strlen(head), TABLE_FILE_MAX, &none) : NULL;
  const struct series_file file = {.path = path, .text = head, .length = strlen(head), .json = json};
  enum lynx_status status = LYNX_OK;
  if (series_file_reader(&file) != NULL) {
    if (is_new(s, text)) status = series_file_read(&file, add_source(s, &(struct history_source){.path = ""}), &all, &error);
  } else if ((first == '{' || first == '[') && json == NULL) {
    lynx_error_at(&none, path, none.line, NULL);
    return report_error(&none);
  } else if (marked_up && !in_folder) status = no_reader(&error);
  else if (!in_folder)
    status = table_read((struct bytes){head, text->length - mark}, path, add_source(s, &(struct history_source){.path = ""}), &all, &error);
  if (status == LYNX_OK) take_runs(s, &all);
  history_release(&all);
  json_decref(json);
  if (status == LYNX_OK) return EXIT_HOLDS;
  lynx_error_at(&error, path, 0, NULL);
  return report_error(&error);
}

/* --- folders and files --- */

struct listing {
  struct history_sources *sources;
  const char *folder;
  const char **names; /* of texts */
  size_t n_names, room;
};

static void read_schedule(struct history_sources *s, const char *folder, const char *name) {
  struct lynx_error error = {0};
  struct timetable_log log;
  char path[4200];
  (void)snprintf(path, sizeof path, "%.3900s/%.200s", folder, name);
  enum lynx_status status = timetable_file_read(path, &log, &error);
  if (status == LYNX_OK && !log.known)
    status = lynx_fail(&error, LYNX_INPUT, "%s: found no line of a schedule's log; accepted: what `lynxbench schedule run` writes", path);
  if (status != LYNX_OK) {
    (void)report_error(&error);
    s->n_unreadable++;
    timetable_log_release(&log);
    return;
  }
  s->schedules = xroom(s->schedules, s->n_schedules, &s->schedules_room, sizeof *s->schedules);
  s->schedules[s->n_schedules++] = log;
}

static void take_file(void *context, const char *name) {
  const struct listing *l = context;
  if (text_ends_with(name, TIMETABLE_LOG_ENDING)) read_schedule(l->sources, l->folder, name);
  if (!text_ends_with(name, ".lynx")) return;
  const char *path = arena_printf(&l->sources->arena, "%s/%s", strcmp(l->folder, "/") == 0 ? "" : l->folder, name);
  read_bundle(l->sources, path, path, &(struct history_source){.path = path});
}

static void note_text(void *context, const char *name) {
  struct listing *l = context;
  if (!text_ends_with(name, ".json") && !text_ends_with(name, ".xml")) return;
  l->names = xroom(l->names, l->n_names, &l->room, sizeof *l->names);
  l->names[l->n_names++] = arena_copy(&l->sources->arena, name);
}

/* As people number files, run9 before run10: of files without a date it is the order of time. */
static int by_number(const void *a, const void *b) {
  return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static void take_text(const struct listing *l, const char *name) {
  struct buffer text;
  char path[4400];
  (void)snprintf(path, sizeof path, "%.4100s/%.255s", l->folder, name);
  if (!read_file(path, TABLE_FILE_MAX, &text)) {
    l->sources->n_unreadable++;
    return;
  }
  if (read_text(l->sources, path, &text, true) != EXIT_HOLDS) l->sources->n_unreadable++;
  buffer_release(&text);
}

static int read_folder(struct history_sources *s, const char *path) {
  static const struct root root = {""};
  char shown[4200];
  struct listing listing = {.sources = s, .folder = shown};
  (void)snprintf(shown, sizeof shown, "%.4100s", path);
  for (size_t n = strlen(shown); n > 1 && shown[n - 1] == '/'; n--) shown[n - 1] = 0;
  size_t n_before = s->n_read + s->n_unreadable;
  bool listed = root_list(&root, shown, HISTORY_FILES_MAX, take_file, &listing);
  /* Beside bundles, JSON and XML are what this program wrote of them. */
  if (listed && s->n_read + s->n_unreadable == n_before) listed = root_list(&root, shown, HISTORY_FILES_MAX, note_text, &listing);
  if (listing.n_names > 0) qsort(listing.names, listing.n_names, sizeof *listing.names, by_number);
  for (size_t i = 0; i < listing.n_names; i++) take_text(&listing, listing.names[i]);
  free(listing.names);
  if (listed) return EXIT_HOLDS;
  complain("lynxbench: %s: the folder cannot be read\n", path);
  return EXIT_WRONG_INPUT;
}

/* --- ledgers --- */

static bool open_ledger(struct history_sources *s, const char *address) {
  if (s->is_open && strcmp(s->opened.real, address) == 0) return true;
  history_sources_let_go(s);
  s->is_open = ledger_file_open(address, LEDGER_READS, &s->opened);
  return s->is_open;
}

/* Of the cage, or, where there is none, a folder of our own, which history_sources_release takes away. */
static const char *scratch_file(struct history_sources *s) {
  const char *folder = confine_scratch();
  if (folder == NULL && s->folder[0] == 0 && !make_folder(s->folder, sizeof s->folder)) return NULL;
  return arena_printf(&s->arena, "%s/new", folder != NULL ? folder : s->folder);
}

/* Where a bundle of the ledger lies while it is read; NULL: it cannot be had, which was reported. */
static const char *fetch(struct history_sources *s, const uint8_t digest[DIGEST_BYTES]) {
  struct lynx_error error = {0};
  const char *path = scratch_file(s);
  if (path == NULL) return NULL; /* it was reported */
  (void)unlink(path);            /* the one before, if it is there still */
  if (blob_get_file(ledger_store(s->opened.ledger), digest, path, &error) == LYNX_OK) return path;
  (void)report_error(&error);
  return NULL;
}

/* Of another contract, by its digest or the name that is kept beside it: nothing more of it need be read. */
static bool passes_over(const struct history_filter *f, const struct ledger_run *run) {
  char hex[DIGEST_HEX];
  if (f->contract == NULL || run->name.length == 0) return false;
  const size_t n = strlen(f->contract);
  bool by_name = run->name.length == n && memcmp(run->name.ptr, f->contract, n) == 0;
  return !by_name && (n < 4 || strncmp(digest_hex(run->contract, hex), f->contract, n) != 0);
}

static void take_said(struct history_sources *s, const struct ledger_run *run, struct summary_said *said) {
  struct history_source source = {.path = "", .ledger = s->opened.real};
  char label[LABEL_MAX], root[DIGEST_HEX];
  (void)snprintf(label, sizeof label, "#%" PRIu64 " %.200s", run->index, said->name);
  (void)snprintf(root, sizeof root, "%.64s", said->bundle);
  bool has_file = hex_decode(said->file, source.digest, DIGEST_BYTES);
  /* Figures of another analysis are none to follow beside ours: they are computed again. */
  if (said->has_summary && summary_counts(&said->summary)) {
    add_run(s, label, root, &source, &said->summary);
    return;
  }
  const char *path = has_file && blob_known(ledger_store(s->opened.ledger), source.digest) ? fetch(s, source.digest) : NULL;
  if (path != NULL) read_bundle(s, path, label, &source);
  else s->n_unreadable++;
}

static bool take_run(void *context, const struct ledger_run *run) {
  struct history_sources *s = context;
  if (passes_over(&s->filter, run)) return true;
  struct summary_said said;
  struct arena arena = {0}; /* what is followed is copied out of it */
  show_progress(s);
  if (summary_said_read(run->said, &arena, &said)) take_said(s, run, &said);
  else s->n_unreadable++;
  arena_release(&arena);
  return true;
}

static int read_ledger(struct history_sources *s, const char *address) {
  struct lynx_error error = {0};
  if (s->from_ledger && strcmp(s->opened.real, address) != 0) { /* the cage holds one */
    complain("lynxbench: found two ledgers, %s and %s; accepted: one\n", s->opened.address, address);
    return EXIT_WRONG_INPUT;
  }
  if (!open_ledger(s, address)) return ledger_file_code(&s->opened);
  uint8_t digest[DIGEST_BYTES];
  bool one = s->filter.contract != NULL && hex_decode(s->filter.contract, digest, DIGEST_BYTES); /* then nothing of others is read */
  s->from_ledger = true;
  return ledger_each_run(s->opened.ledger, one ? digest : NULL, take_run, s, &error) == LYNX_OK ? EXIT_HOLDS : report_error(&error);
}

static int read_one(struct history_sources *s, const char *address) {
  struct stat info;
  struct buffer text;
  int code;
  if (stat(address, &info) == 0 && S_ISDIR(info.st_mode)) code = read_folder(s, address);
  else if (ledger_file_is(address)) code = read_ledger(s, address);
  else if (file_is_record(address)) {
    const char *path = arena_copy(&s->arena, address);
    read_bundle(s, path, path, &(struct history_source){.path = path});
    code = EXIT_HOLDS;
  } else if (!read_file(address, TABLE_FILE_MAX, &text)) return EXIT_WRONG_INPUT;
  else {
    code = read_text(s, address, &text, false);
    buffer_release(&text);
  }
  if (s->told) complain("\r\033[K");
  s->told = false;
  return code;
}

/* --- opened again --- */

static bool open_run(void *context, const struct history_run *run, struct history_facts *ret) {
  struct history_sources *s = context;
  const struct history_source *source = &s->items[run->from.source];
  struct bundle_file *file = s->a_taken ? &s->b : &s->a;
  struct lynx_error error = {0};
  const char *path = source->path;
  if (path[0] == 0 && (source->ledger == NULL || !open_ledger(s, source->ledger))) return false;
  if (path[0] == 0) path = fetch(s, source->digest);
  if (path == NULL || !bundle_file_open(path, file)) return false;
  *ret = (struct history_facts){.contract = &file->result.contract};
  if (bundle_start_facts(file->bundle, run->precision->name, &ret->list, &error) != LYNX_OK) {
    (void)report_error(&error);
    fact_list_release(&ret->list);
    bundle_file_close(file);
    return false;
  }
  s->a_taken = true;
  return true;
}

static void close_run(void *context, struct history_facts *facts) {
  struct history_sources *s = context;
  bool is_a = facts->contract == &s->a.result.contract;
  fact_list_release(&facts->list);
  bundle_file_close(is_a ? &s->a : &s->b);
  if (is_a) s->a_taken = false;
}

struct history_opener history_sources_opener(struct history_sources *s) {
  return (struct history_opener){.open = open_run, .close = close_run, .context = s};
}

int history_sources_read(struct history_sources *s, const struct arguments *arguments, int first) {
  const char *ledger = arguments->n_positional == 0 ? ledger_file_address(NULL) : NULL;
  int code = ledger != NULL ? read_one(s, ledger) : EXIT_HOLDS;
  for (int i = first; i < arguments->n_positional; i++) { /* one that cannot be read does not hide the others */
    int one = read_one(s, arguments->positional[i]);
    if (code == EXIT_HOLDS) code = one;
  }
  return code;
}

void history_sources_confine(const struct arguments *arguments, int first, struct confinement *ret) {
  if (arguments->n_positional == 0) ret->ledger = ledger_file_address(NULL);
  for (int i = first; i < arguments->n_positional; i++)
    if (ledger_file_is(arguments->positional[i])) ret->ledger = arguments->positional[i];
  ret->scratch = ret->ledger != NULL; /* where its bundles are opened */
}

void history_sources_let_go(struct history_sources *s) {
  if (s->is_open) ledger_file_close(&s->opened);
  s->is_open = false;
}

void history_sources_release(struct history_sources *s) {
  for (size_t i = 0; i < s->n_schedules; i++) timetable_log_release(&s->schedules[i]);
  free(s->schedules);
  char path[4200];
  if (s->folder[0] != 0) {
    (void)snprintf(path, sizeof path, "%.4100s/new", s->folder);
    (void)unlink(path);
    (void)rmdir(s->folder);
  }
  history_sources_let_go(s);
  free(s->items);
  digest_map_release(&s->texts);
  arena_release(&s->arena);
}
