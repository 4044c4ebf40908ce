#include "page/pages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "board/board_gauges.h"
#include "executor/disclose.h"
#include "page/frame.h"
#include "page/site_files.h"
#include "report/html_page.h"

enum { EVENTS_OPENED = 4, ROOT_DIGITS_LEAST = 8 };

static const struct {
  const char *ending, *type;
} forms[] = {[FORM_HTML] = {".html", "text/html; charset=utf-8"},
             [FORM_JSON] = {".json", "application/json"},
             [FORM_CSV] = {".csv", "text/csv; charset=utf-8"}};

/* An address in its parts: "contract", 64 digits, the form. */
struct place {
  char kind[16], stem[PAGE_ADDRESS_MAX];
  char what[PAGE_ADDRESS_MAX];
  enum page_form form;
};

static bool parse(const char *address, struct place *ret) {
  size_t length = strlen(address);
  if (length >= PAGE_ADDRESS_MAX) return false;
  *ret = (struct place){.kind = ""};
  if (length == 0) address = "index.html", length = strlen(address);
  for (size_t i = 0; i < LYNX_COUNT(forms); i++) {
    if (!text_ends_with(address, forms[i].ending)) continue;
    ret->form = (enum page_form)i;
    (void)snprintf(ret->stem, sizeof ret->stem, "%.*s", (int)(length - strlen(forms[i].ending)), address);
    const char *slash = strchr(ret->stem, '/');
    size_t n = slash != NULL ? (size_t)(slash - ret->stem) : strlen(ret->stem);
    if (n >= sizeof ret->kind) return false;
    memcpy(ret->kind, ret->stem, n);
    (void)snprintf(ret->what, sizeof ret->what, "%s", slash != NULL ? slash + 1 : "");
    return true;
  }
  return false;
}

static void answer_text(struct page *ret, unsigned status, const char *type, const char *text) {
  ret->status = status;
  ret->type = type;
  (void)buffer_text(&ret->body, text);
}

/* --- what is not there --- */

static void say(struct frame *f, struct page *ret, unsigned status, const char *title, const char *text) {
  struct json_writer json;
  ret->status = status;
  buffer_clear(&ret->body);
  if (f->form == FORM_HTML) {
    f->markup = (struct markup){.out = &ret->body};
    frame_begin(f, title, "");
    frame_title(f, "", title);
    markup_whole(&f->markup, "p", "lead", text);
    frame_end(f);
    return;
  }
  ret->type = forms[FORM_JSON].type;
  json_begin_object(&json, &ret->body);
  json_put_text(&json, "error", text);
  json_close(&json);
}

/* --- results --- */

static const char *why_no_bundle(const struct pages *pages, const struct board_run *run) {
  if (!run->has_file) return "Its entry names no file of it.";
  return pages->view == NULL ? "Bundles are not opened here."
                             : "Its file is not in this ledger, or it cannot be read: `lynxbench ledger get` says why.";
}

/* What is signed about a result is shown even where its bundle cannot be. */
static void answer_result(struct frame *f, const struct board_run *run, struct page *ret) {
  const struct pages *pages = f->pages;
  struct buffer made;
  buffer_init(&made, PAGE_BYTES_MAX);
  bool known = run->has_file && pages->view != NULL &&
               pages->view(pages->context, f->form == FORM_HTML ? VIEW_REPORT : VIEW_RESULT, run->file, NULL, &made);
  if (f->form == FORM_HTML) result_page(f, run, known ? &made : NULL, why_no_bundle(pages, run));
  else if (known) (void)buffer_append(&ret->body, made.data, made.length);
  else say(f, ret, 503, "", why_no_bundle(pages, run));
  buffer_release(&made);
}

static const struct board_run *run_named(const struct board *b, const char *hex) {
  uint8_t root[DIGEST_BYTES];
  size_t i;
  return hex_decode(hex, root, DIGEST_BYTES) && board_find_run(b, root, &i) ? &b->runs[i] : NULL;
}

static bool begins_with(const uint8_t root[DIGEST_BYTES], const char *digits, size_t n) {
  for (size_t i = 0; i < n; i++)
    if ("0123456789abcdef"[i % 2 == 0 ? root[i / 2] >> 4 : root[i / 2] & 15] != digits[i]) return false;
  return true;
}

/* One whose root begins so, with 8 digits or more; NULL: none, or several. */
static const struct board_run *run_that_begins(const struct board *b, const char *digits, size_t n) {
  const struct board_run *found = NULL;
  if (n < ROOT_DIGITS_LEAST || n >= DIGEST_HEX) return NULL;
  for (size_t i = 0; i < b->n_runs; i++) {
    if (b->runs[i].contract == BOARD_NO_CONTRACT || !begins_with(b->runs[i].root, digits, n)) continue;
    if (found != NULL) return NULL;
    found = &b->runs[i];
  }
  return found;
}

/* Roots, or how they begin, with "-" or blanks between them. */
static bool read_compared(const struct board *b, const char *text, struct compared *ret) {
  *ret = (struct compared){.n = 0};
  while (*(text += strspn(text, " -")) != 0) {
    size_t n = strcspn(text, " -");
    const struct board_run *run = run_that_begins(b, text, n);
    if (run == NULL || ret->n == COMPARED_MAX) return false;
    ret->run[ret->n++] = run;
    text += n;
  }
  return ret->n >= 2;
}

static void answer_comparison(struct frame *f, const char *what, struct page *ret) {
  struct compared runs;
  if (read_compared(f->pages->board, what, &runs)) compare_page(f, &runs);
  else
    say(f, ret, 404, "No such comparison",
        "Its address names two to five bundles of the ledger by their roots, or how these begin, with a - between them. A contract's page "
        "lists its runs: choose some there.");
}

static void answer_search(struct frame *f, const char *question, struct page *ret) {
  const char *wrong = search_page(f, question);
  if (wrong == NULL) return;
  if (f->form == FORM_HTML) ret->status = 400;
  else say(f, ret, 400, "", wrong);
}

/* "ROOT-LEVEL" */
static void answer_shared(struct frame *f, const char *what, struct page *ret) {
  static const enum bundle_view views[] = {[DISCLOSE_FULL] = VIEW_REPORT, [DISCLOSE_SHARED] = VIEW_SHARED, [DISCLOSE_PUBLIC] = VIEW_PUBLIC};
  const struct pages *pages = f->pages;
  enum disclosure level = DISCLOSE_PUBLIC;
  char root[DIGEST_HEX];
  struct buffer made;
  const char *dash = strchr(what, '-');
  (void)snprintf(root, sizeof root, "%.*s", dash != NULL ? (int)(dash - what) : 0, what);
  const struct board_run *run = run_named(pages->board, root);
  f->alone = true;
  if (run == NULL || dash == NULL || !disclosure_parse(dash + 1, &level)) {
    say(f, ret, 404, "No such result", "The link is to a result that is not in this ledger.");
    return;
  }
  buffer_init(&made, PAGE_BYTES_MAX);
  bool known = run->has_file && pages->view != NULL && pages->view(pages->context, views[level], run->file, NULL, &made);
  shared_page(f, run, level, known ? &made : NULL, "Its file is not in this ledger, or it cannot be read.");
  buffer_release(&made);
}

/* --- contracts --- */

/* What changed of the executor where figures did lies in the bundles. Of the newest changes, or a long history would open hundreds. */
static void learn(const struct pages *pages, struct board_contract *c) {
  size_t n = c->history.n_events;
  for (size_t i = n; i > 0 && n - i < EVENTS_OPENED && pages->view != NULL; i--) {
    const struct history_event *e = &c->history.events[i - 1];
    const struct board_run *a = &pages->board->runs[c->history.runs[e->before].from.source],
                           *b = &pages->board->runs[c->history.runs[e->after].from.source];
    struct buffer difference;
    if (c->coincidences[i - 1].kind != COINCIDENCE_UNREAD || !a->has_file || !b->has_file) continue;
    buffer_init(&difference, PAGE_BYTES_MAX);
    if (pages->view(pages->context, VIEW_DIFFERENCE, a->file, b->file, &difference))
      (void)board_learn(c, i - 1, difference.data, difference.length);
    buffer_release(&difference);
  }
}

static struct board_contract *contract_named(struct board *b, const char *hex) {
  uint8_t digest[DIGEST_BYTES];
  size_t i;
  return hex_decode(hex, digest, DIGEST_BYTES) && board_find_contract(b, digest, &i) ? &b->contracts[i] : NULL;
}

static void answer_contract(struct frame *f, const struct place *place, struct page *ret) {
  struct board_contract *c = contract_named(f->pages->board, place->what);
  if (c == NULL) {
    say(f, ret, 404, "No such contract", "No contract of this digest is in the ledger. The first page lists those that are.");
    return;
  }
  board_judge(f->pages->board, c);
  learn(f->pages, c);
  if (strcmp(place->kind, "contract") == 0) contract_page(f, c);
  else meeting_page(f, c);
}

/* --- entries --- */

static void put_entry(const struct ledger_entry *entry, struct buffer *out) {
  struct json_writer json;
  char hex[DIGEST_HEX];
  json_begin_object(&json, out);
  json_put_int(&json, "index", (int64_t)entry->index);
  json_put_text(&json, "entry", digest_hex(entry->leaf, hex));
  json_put_text(&json, "by", entry->signer);
  json_key(&json, "statement");
  json_made(&json, entry->envelope.payload); /* as it was signed */
  json_close(&json);
}

static void answer_entry(struct frame *f, const char *what, struct page *ret) {
  int64_t index = -1;
  struct arena arena = {0};
  struct ledger_entry entry;
  struct lynx_error error = {0};
  bool known = f->pages->ledger != NULL && number_int64(what, strlen(what), &index) && index >= 0 &&
               (uint64_t)index < f->pages->board->n_entries &&
               ledger_read_entry(f->pages->ledger, (uint64_t)index, &arena, &entry, &error) == LYNX_OK;
  if (!known) say(f, ret, 404, "No such entry", "The ledger has no entry of that number, or it cannot be read.");
  else {
    put_entry(&entry, &ret->body);
    statement_release(&entry.statement);
  }
  arena_release(&arena);
}

/* --- all --- */

bool pages_file(const char *address, struct page *ret) {
  *ret = (struct page){.status = 200};
  buffer_init(&ret->body, PAGE_BYTES_MAX);
  if (strcmp(address, "style.css") == 0) {
    answer_text(ret, 200, "text/css; charset=utf-8", report_style);
    (void)buffer_text(&ret->body, page_style);
  } else if (strcmp(address, "script.js") == 0) answer_text(ret, 200, "text/javascript; charset=utf-8", site_script);
  else if (strcmp(address, "openapi.json") == 0) answer_text(ret, 200, "application/json", site_openapi);
  else return false;
  return true;
}

/* For monitoring: /metrics is where Prometheus looks. */
static bool answer_metrics(struct board *board, const char *address, struct page *ret) {
  struct gauges gauges = {.families = NULL};
  if (strcmp(address, "metrics") != 0) return false;
  board_gauges(board, &gauges);
  gauges_sort(&gauges);
  ret->type = "text/plain; version=0.0.4; charset=utf-8";
  gauges_to_prometheus(&gauges, &ret->body);
  gauges_release(&gauges);
  return true;
}

static bool has_form(const struct place *place) {
  if (strcmp(place->kind, "look") == 0) return place->form == FORM_HTML;
  if (strcmp(place->kind, "entry") == 0) return place->form == FORM_JSON;
  if (strcmp(place->kind, "meeting") == 0 || strcmp(place->kind, "result") == 0) return place->form != FORM_CSV;
  return true;
}

/* Encoded for an address. */
static const char *encode_question(const char *question, char *text, size_t size) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  size_t n = (size_t)snprintf(text, size, "%s", question[0] != 0 ? "?q=" : "");
  for (; *question != 0 && n + 4 < size; question++) {
    bool as_it_is = strchr(plain, *question) != NULL;
    n += (size_t)snprintf(text + n, size - n, as_it_is ? "%c" : "%%%02X", as_it_is ? *question : (unsigned char)*question);
  }
  return text;
}

/* "search.html?q=..." without what is asked. */
static const char *cut_question(const char *address, char *plain, size_t size) {
  const char *mark = strchr(address, '?');
  (void)snprintf(plain, size, "%.*s", mark != NULL ? (int)(mark - address) : (int)strlen(address), address);
  return mark != NULL && strncmp(mark, "?q=", 3) == 0 ? mark + 3 : "";
}

void pages_look(struct pages *pages, const struct looked *looked, struct page *ret) {
  struct frame f = {.pages = pages, .markup = {.out = &ret->body}, .up = "", .address = "look", .asked = "", .form = FORM_HTML};
  *ret = (struct page){.status = looked->kind != LOOKED_UNKNOWN ? 200 : 422, .type = forms[FORM_HTML].type};
  buffer_init(&ret->body, PAGE_BYTES_MAX);
  look_page(&f, looked);
  if (ret->body.overflowed) say(&f, ret, 503, "This page is too large", "Its data would pass 64 MiB; lynxbench shows it on your machine.");
}

void pages_running(struct pages *pages, const struct running_run *runs, size_t n, struct page *ret) {
  struct frame f = {.pages = pages, .markup = {.out = &ret->body}, .up = "", .address = "running", .asked = "", .form = FORM_HTML};
  *ret = (struct page){.status = 200, .type = forms[FORM_HTML].type};
  buffer_init(&ret->body, PAGE_BYTES_MAX);
  running_page(&f, runs, n);
}

bool pages_schedule(struct pages *pages, const char *address, struct page *ret) {
  struct place place;
  if (pages->schedules == NULL || !parse(address, &place) || strcmp(place.stem, "schedule") != 0) return false;
  struct frame f = {.pages = pages, .markup = {.out = &ret->body}, .up = "", .address = "schedule", .asked = "", .form = place.form};
  *ret = (struct page){.status = 200, .type = forms[place.form].type};
  buffer_init(&ret->body, PAGE_BYTES_MAX);
  schedule_page(&f);
  return true;
}

bool pages_asks(const char *address) {
  return strncmp(address, "search.", 7) == 0 || strncmp(address, "compare.", 8) == 0;
}

void pages_answer(struct pages *pages, const char *whole, struct page *ret) {
  struct place place;
  char address[PAGE_ADDRESS_MAX + 1], asked[3 * PAGE_ADDRESS_MAX + 8];
  const char *question = cut_question(whole, address, sizeof address);
  if (pages_file(address, ret) || answer_metrics(pages->board, address, ret) || pages_schedule(pages, address, ret)) return;
  bool good = strlen(whole) < PAGE_ADDRESS_MAX && parse(address, &place) && has_form(&place);
  if (!good) place = (struct place){.kind = "", .form = FORM_HTML};
  struct frame f = {.pages = pages,
                    .markup = {.out = &ret->body},
                    .up = strchr(address, '/') != NULL ? "../" : "",
                    .address = place.stem,
                    .asked = encode_question(question, asked, sizeof asked),
                    .form = place.form};
  ret->type = forms[place.form].type;
  const struct board_run *run = strcmp(place.kind, "result") == 0 ? run_named(pages->board, place.what) : NULL;
  if (strcmp(place.stem, "index") == 0 && pages->cards == NULL) pages->cards = home_cards_new();
  if (strcmp(place.stem, "index") == 0) home_page(&f, pages->cards);
  else if (strcmp(place.stem, "work") == 0) work_page(&f);
  else if (strcmp(place.stem, "search") == 0 && pages->live) answer_search(&f, question, ret);
  else if (strcmp(place.stem, "look") == 0 && pages->live) look_page(&f, NULL);
  else if (strcmp(place.kind, "contract") == 0 || strcmp(place.kind, "meeting") == 0) answer_contract(&f, &place, ret);
  else if (strcmp(place.kind, "compare") == 0) answer_comparison(&f, place.what[0] != 0 ? place.what : question, ret);
  else if (strcmp(place.kind, "entry") == 0) answer_entry(&f, place.what, ret);
  else if (strcmp(place.kind, "shared") == 0 && place.form == FORM_HTML && pages->live) answer_shared(&f, place.what, ret);
  else if (run != NULL) answer_result(&f, run, ret);
  else
    say(&f, ret, 404, "No such page",
        "There are: metrics, index, work, contract/DIGEST, meeting/DIGEST, result/ROOT, compare/ROOT-ROOT (up to five), with .html, .json "
        "or .csv.");
  if (ret->body.overflowed)
    say(&f, ret, 503, "This page is too large", "Its data would pass 64 MiB; `lynxbench history` reads the ledger itself.");
}

void page_release(struct page *page) {
  buffer_release(&page->body);
}

void pages_release(struct pages *pages) {
  home_cards_release(pages->cards);
  pages->cards = NULL;
}

/* --- as files --- */

static bool each_of_contract(const struct board_contract *c, bool (*visit)(void *, const char *), void *context) {
  static const char *const kinds[] = {"contract", "meeting"};
  char address[PAGE_ADDRESS_MAX];
  bool more = true;
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++)
    for (size_t k = 0; k < LYNX_COUNT(forms) - i && more; k++) { /* a meeting page is no table */
      (void)snprintf(address, sizeof address, "%s/%s%s", kinds[i], c->hex, forms[k].ending);
      more = visit(context, address);
    }
  for (size_t i = 0; i < c->history.n_events && more; i++) {
    const struct history_event *e = &c->history.events[i];
    for (size_t k = 0; k < LYNX_COUNT(forms) && more; k++) {
      (void)snprintf(address, sizeof address, "compare/%s-%s%s", c->history.runs[e->before].from.root, c->history.runs[e->after].from.root,
                     forms[k].ending);
      more = visit(context, address);
    }
  }
  return more;
}

void pages_each(struct pages *pages, bool (*visit)(void *context, const char *address), void *context) {
  static const char *const always[] = {"style.css", "script.js", "openapi.json", "index.html", "index.json",
                                       "index.csv", "work.html", "work.json",    "work.csv"};
  struct board *b = pages->board;
  char address[PAGE_ADDRESS_MAX], hex[DIGEST_HEX];
  bool more = true;
  for (size_t i = 0; i < LYNX_COUNT(always) && more; i++) more = visit(context, always[i]);
  for (size_t i = 0; i < LYNX_COUNT(forms) && more && pages->schedules != NULL; i++) {
    (void)snprintf(address, sizeof address, "schedule%s", forms[i].ending);
    more = visit(context, address);
  }
  for (size_t i = 0; i < b->n_contracts && more; i++) {
    board_judge(b, &b->contracts[i]);
    more = each_of_contract(&b->contracts[i], visit, context);
  }
  for (size_t i = 0; i < b->n_runs && more; i++) {
    if (b->runs[i].contract == BOARD_NO_CONTRACT) continue;
    (void)snprintf(address, sizeof address, "result/%s.html", digest_hex(b->runs[i].root, hex));
    more = visit(context, address);
    (void)snprintf(address, sizeof address, "result/%s.json", hex);
    more = more && visit(context, address);
  }
  for (uint64_t i = 0; i < b->n_entries && more; i++) {
    (void)snprintf(address, sizeof address, "entry/%" PRIu64 ".json", i);
    more = visit(context, address);
  }
}
