/* Pages: what is escaped, tables in their three forms, and a recorded ledger read in one go and entry by entry. */
#include "page/pages.h"

#include <stdlib.h>
#include <unistd.h>

#include "board/work.h"
#include "page/data_table.h"
#include "tests/check.h"

static void check_markup(void) {
  struct buffer out;
  buffer_init(&out, 4096);
  struct markup m = {.out = &out};
  markup_open(&m, "p", "class", NULL, "title", "\"<a>\" & 'b'", NULL);
  markup_text(&m, "<script>\x01");
  markup_printf(&m, "%s%d", "&", 7);
  markup_link(&m, "x", "a<b", "%s.html", "\"onclick=\"");
  markup_close(&m);
  CHECK_TEXT(out.data, "<p title=\"&quot;&lt;a&gt;&quot; &amp; 'b'\">&lt;script&gt;\xef\xbf\xbd&amp;7"
                       "<a class=\"x\" href=\"&quot;onclick=&quot;.html\">a&lt;b</a></p>");
  CHECK_INT(m.depth, 0);
  buffer_release(&out);
}

static void check_table(void) {
  static const struct table_column columns[] = {{"name", "name", false}, {"value", "value", true}};
  struct table t;
  struct buffer out;
  struct json_writer json;
  struct markup m = {.out = &out};
  buffer_init(&out, 4096);
  table_begin(&t, columns, 2);
  table_text(&t, "=1+1");
  table_number(&t, 0.1, "a tenth");
  table_text(&t, "a \"quoted\", and\nmore");
  table_number(&t, NAN, NULL);
  table_to_csv(&t, &out);
  CHECK_TEXT(out.data, "name,value\r\n\"'=1+1\",0.1\r\n\"a \"\"quoted\"\", and\nmore\",\r\n");
  buffer_clear(&out);
  json_begin(&json, &out);
  table_to_json(&t, &json);
  CHECK_TEXT(out.data, "[{\"name\":\"=1+1\",\"value\":0.1},{\"name\":\"a \\\"quoted\\\", and\\nmore\",\"value\":null}]");
  buffer_clear(&out);
  table_to_markup(&t, &m);
  CHECK_CONTAINS(out.data, "<td class=\"n\" data-value=\"0.1\" data-label=\"value\">a tenth</td>");
  table_release(&t);
  buffer_release(&out);
}

static void check_map(void) {
  struct digest_map map = {.slots = NULL};
  uint8_t digest[DIGEST_BYTES];
  size_t found, n_right = 0;
  for (size_t i = 0; i < 10000; i++) {
    digest_of(&i, sizeof i, digest);
    CHECK(!digest_map_get(&map, digest, &found));
    digest_map_put(&map, digest, i);
    digest_map_put(&map, digest, i + 1);
  }
  for (size_t i = 0; i < 10000; i++) {
    digest_of(&i, sizeof i, digest);
    n_right += digest_map_get(&map, digest, &found) && found == i;
  }
  CHECK_INT(n_right, 10000);
  digest_map_release(&map);
}

/* Of every address of the pages, in one digest. */
struct summing {
  struct pages *pages;
  struct digest digest;
  size_t n, n_bad;
};

static bool add_page(void *context, const char *address) {
  struct summing *s = context;
  struct page page;
  pages_answer(s->pages, address, &page);
  digest_update(&s->digest, page.body.data, page.body.length);
  s->n++;
  s->n_bad += page.status != 200;
  page_release(&page);
  return true;
}

static size_t read_board(struct ledger *ledger, size_t step, uint8_t ret[DIGEST_BYTES]) {
  struct board board = {.address = "LEDGER"};
  struct pages pages = {.board = &board, .ledger = ledger};
  struct summing s = {.pages = &pages};
  struct lynx_error error = {0};
  bool more = true;
  while (more) CHECK_INT(board_update(&board, ledger, step, &more, &error), LYNX_OK);
  digest_init(&s.digest);
  pages_each(&pages, add_page, &s);
  digest_final(&s.digest, ret);
  CHECK_INT(board.n_contracts, 2);
  CHECK_INT(s.n_bad, board.n_runs); /* no bundle is at hand: the JSON of every result is refused, its page is not */
  board_judge(&board, &board.contracts[0]);
  struct meeting meeting;
  meeting_make(&board, &board.contracts[0], &meeting);
  CHECK(meeting.worse);
  CHECK(meeting.contested);
  meeting_release(&meeting);
  board_release(&board);
  return s.n;
}

static void check_board(void) {
  char command[300], path[64] = "/tmp/lynxbench-page-XXXXXX";
  uint8_t whole[DIGEST_BYTES], stepped[DIGEST_BYTES];
  struct ledger *ledger = NULL;
  struct lynx_error error = {0};
  CHECK(mkdtemp(path) != NULL);
  (void)snprintf(command, sizeof command, "cp " RECORDED "/ledger/story.ledger %s/", path);
  CHECK_INT(system(command), 0);
  (void)snprintf(command, sizeof command, "%s/story.ledger", path);
  CHECK_INT(ledger_open(command, NULL, &ledger, &error), LYNX_OK);
  size_t n = read_board(ledger, SIZE_MAX, whole);
  CHECK_INT(read_board(ledger, 1, stepped), n);
  CHECK(n > 60);
  CHECK(memcmp(whole, stepped, DIGEST_BYTES) == 0);
  ledger_close(ledger);
  (void)snprintf(command, sizeof command, "rm -rf %s", path);
  CHECK_INT(system(command), 0);
}

static enum effect effect_after(const char *a, double ratio, const char *b, double other) {
  struct effect_figures figures = {.n = 0};
  effect_add(&figures, a, ratio, BETTER_MORE);
  effect_add(&figures, b, other, BETTER_LESS);
  return effect_decide(&figures);
}

static void check_effect(void) {
  static const char *const same = "the same within the margin", *within = "different, but within the margin",
                           *beyond = "different beyond the margin";
  CHECK_INT(effect_after(beyond, 1.5, same, 1), EFFECT_IMPROVED);
  CHECK_INT(effect_after(within, 1.03, same, 1), EFFECT_IMPROVED);
  CHECK_INT(effect_after(same, 1, beyond, 0.7), EFFECT_IMPROVED);
  CHECK_INT(effect_after(beyond, 1.5, within, 1.02), EFFECT_IMPROVED);
  CHECK_INT(effect_after(beyond, 1.5, "inconclusive", 1.02), EFFECT_IMPROVED);
  CHECK_INT(effect_after(beyond, 1.5, beyond, 1.2), EFFECT_WORSE);
  CHECK_INT(effect_after(same, 1, same, 1), EFFECT_NONE);
  CHECK_INT(effect_after(within, 0.98, same, 1), EFFECT_NONE);
  CHECK_INT(effect_after(same, 1, "inconclusive", 1), EFFECT_UNDECIDED);
  CHECK_INT(effect_after("better", 2, "", NAN), EFFECT_UNDECIDED);
  CHECK_INT(effect_after(beyond, NAN, same, 1), EFFECT_UNDECIDED);
  struct effect_figures refused = {.n = 1, .n_better = 1, .refused = true}, none = {.n = 0};
  CHECK_INT(effect_decide(&refused), EFFECT_UNDECIDED);
  CHECK_INT(effect_decide(&none), EFFECT_UNDECIDED);
}

/* A finding found in three runs; the newest entry decides. */
static void check_work(void) {
  struct board_iteration good = {.change = "c", .effect = EFFECT_IMPROVED, .before = 0, .after = 1, .index = 30}, bad = good;
  struct board_change started = {.words = "c", .index = 20}, done = {.words = "c", .done = true, .index = 40};
  struct board_finding of[3];
  struct board_run runs[3] = {{.index = 1}, {.index = 25}, {.index = 35}};
  size_t order[3] = {0, 1, 2};
  struct board_contract contract = {.name = "c", .hex = "ab", .runs = order, .n_runs = 1};
  struct board board = {.address = "LEDGER", .contracts = &contract, .n_contracts = 1, .runs = runs, .n_runs = 3};
  static const struct {
    size_t n_changes, n_measured, n_runs;
    enum effect effect;
    bool again;
    enum work_state state;
  } cases[] = {{0, 0, 1, EFFECT_NONE, false, WORK_OPEN},       {1, 0, 1, EFFECT_NONE, false, WORK_STARTED},
               {1, 1, 1, EFFECT_IMPROVED, false, WORK_CLOSED}, {1, 1, 2, EFFECT_IMPROVED, false, WORK_CLOSED},
               {1, 1, 3, EFFECT_IMPROVED, false, WORK_AGAIN},  {1, 1, 1, EFFECT_NONE, false, WORK_AGAIN},
               {1, 1, 1, EFFECT_UNDECIDED, false, WORK_AGAIN}, {1, 1, 3, EFFECT_WORSE, true, WORK_DONE}};
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    struct work_list list;
    bad.effect = cases[i].effect;
    for (size_t k = 0; k < 3; k++) {
      of[k] = (struct board_finding){
          .rule = "r", .rung = "accounted", .title = k == 0 ? "one" : "two", .named = "", .layer = "serving", .index = 2 + k};
      runs[k].findings = &of[k];
      runs[k].n_findings = 1;
    }
    struct board_change changes[2] = {started, done};
    of[0].changes = changes;
    of[0].n_changes = cases[i].n_changes + cases[i].again;
    of[0].measured = &bad;
    of[0].n_measured = cases[i].n_measured;
    contract.n_runs = cases[i].n_runs;
    work_list_make(&board, &contract, &list);
    CHECK_INT(list.n_items, 1);
    CHECK_INT(list.items[0].state, cases[i].state);
    CHECK_INT(list.items[0].n_seen, cases[i].n_runs);
    CHECK_TEXT(list.items[0].finding->title, "one");
    CHECK_INT(list.n[cases[i].state], 1);
    work_list_release(&list);
  }
}

/* Twenty runs by hand: the throughput stays, the latency rises by half in the middle; who measured the last run verified it alone. */
static void check_meeting(void) {
  enum { RUNS = 20 };
  static struct summary_figure figures[RUNS][2];
  static struct summary_precision precisions[RUNS];
  static struct summary summaries[RUNS];
  static struct board_run runs[RUNS];
  size_t order[RUNS];
  struct standing_verification own = {.by = "ml", .decision = "reproduced", .index = 7};
  struct board_contract contract = {.name = "c", .hex = "ab", .text = "", .runs = order, .n_runs = RUNS};
  struct board board = {.address = "LEDGER", .contracts = &contract, .n_contracts = 1, .runs = runs, .n_runs = RUNS};
  struct meeting meeting;
  bool not_verified = false, itself = false;
  for (size_t i = 0; i < RUNS; i++) {
    double noise = 1 + 0.001 * (double)(i * 7 % 11);
    figures[i][0] = (struct summary_figure){"output throughput", "f1", "tokens/s", BETTER_MORE, 100 * noise, NAN, NAN, 1};
    figures[i][1] = (struct summary_figure){"end to end, p99", "f2", "ns", BETTER_LESS, (i < RUNS / 2 ? 1e6 : 1.5e6) * noise, NAN, NAN, 1};
    precisions[i] = (struct summary_precision){.name = "p", .fingerprint = "", .figures = figures[i], .n_figures = 2};
    summaries[i] = (struct summary){.started_ns = (int64_t)(i + 1) * 86400000000000, .precisions = &precisions[i], .n_precisions = 1};
    runs[i] = (struct board_run){.by = "ml", .label = "r", .time = "", .summary = &summaries[i], .root = {(uint8_t)(i + 1)}};
    order[i] = i;
  }
  runs[RUNS - 1].verifications = &own;
  runs[RUNS - 1].n_verifications = runs[RUNS - 1].n_reproduced = 1;
  board_judge(&board, &contract);
  meeting_make(&board, &contract, &meeting);
  CHECK_TEXT(meeting.title, "End to end, p99 rose from 1.006 ms to 1.507 ms between 1970-01-11 and 1970-01-12");
  CHECK(meeting.worse);
  CHECK(!meeting.contested);
  for (size_t i = 0; i < meeting.n_items; i++) {
    not_verified = not_verified || strstr(meeting.items[i].text, "Whether another team measures the same") != NULL;
    itself = itself || strcmp(meeting.items[i].text, "ml itself re-ran it: reproduced.") == 0;
  }
  CHECK(not_verified);
  CHECK(itself);
  meeting_release(&meeting);
  for (size_t i = 0; i < contract.history.n_events; i++) coincidence_release(&contract.coincidences[i]);
  free(contract.coincidences);
  history_release(&contract.history);
}

int main(void) {
  check_markup();
  check_table();
  check_map();
  check_effect();
  check_work();
  check_board();
  check_meeting();
  return check_end();
}
