/* Pages: what is escaped, tables in their three forms, and a recorded ledger read in one go and entry by entry. */
#include "page/pages.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "board/work.h"
#include "page/data_table.h"
#include "stats/special.h"
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

/* What was kept of the first page for contracts that did not change since is what would be made of them now. */
static bool home_is_new(struct pages *pages) {
  static const char *const addresses[] = {"index.html", "index.json"};
  bool same = true;
  for (size_t i = 0; i < LYNX_COUNT(addresses); i++) {
    struct pages fresh = {.board = pages->board, .ledger = pages->ledger};
    struct page kept, made;
    pages_answer(pages, addresses[i], &kept);
    pages_answer(&fresh, addresses[i], &made);
    same = same && kept.body.length == made.body.length && memcmp(kept.body.data, made.body.data, made.body.length) == 0;
    page_release(&kept);
    page_release(&made);
    pages_release(&fresh);
  }
  return same;
}

static size_t read_board(struct ledger *ledger, size_t step, uint8_t ret[DIGEST_BYTES]) {
  struct board board = {.address = "LEDGER"};
  struct pages pages = {.board = &board, .ledger = ledger};
  struct summing s = {.pages = &pages};
  struct lynx_error error = {0};
  bool more = true;
  while (more) {
    CHECK_INT(board_update(&board, ledger, step, &more, &error), LYNX_OK);
    CHECK(home_is_new(&pages));
  }
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
  pages_release(&pages);
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
  CHECK_INT(ledger_open(command, STORE_WRITE, NULL, &ledger, &error), LYNX_OK);
  size_t n = read_board(ledger, SIZE_MAX, whole);
  CHECK_INT(read_board(ledger, 1, stepped), n);
  CHECK(n > 60);
  CHECK(memcmp(whole, stepped, DIGEST_BYTES) == 0);
  ledger_close(ledger);
  (void)snprintf(command, sizeof command, "rm -rf %s", path);
  CHECK_INT(system(command), 0);
}

/* Two runs of two figures: the second gives that many times the first's values. */
static struct effect_measured effect_after(double throughput, double latency, double width, int64_t n) {
  static struct summary_figure figures[2][2];
  static struct summary_precision precisions[2];
  static struct summary summaries[2];
  struct effect_measured effect;
  for (int i = 0; i < 2; i++) {
    double a = i == 0 ? 100 : 100 * throughput, b = i == 0 ? 1e6 : 1e6 * latency;
    figures[i][0] = (struct summary_figure){"output throughput", "f1", "tokens/s", BETTER_MORE, a, a / (1 + width), a * (1 + width), n};
    figures[i][1] = (struct summary_figure){"end to end, p50", "f2", "ns", BETTER_LESS, b, b / (1 + width), b * (1 + width), n};
    precisions[i] = (struct summary_precision){.name = "p", .fingerprint = "", .figures = figures[i], .n_figures = 2};
    summaries[i] = (struct summary){.started_ns = 1 + i, .precisions = &precisions[i], .n_precisions = 1};
  }
  effect_measure(&summaries[0], &summaries[1], false, NULL, &effect);
  return effect;
}

static void check_effect(void) {
  CHECK_INT(effect_after(1.5, 1, 0.01, 10).effect, EFFECT_IMPROVED);
  CHECK_INT(effect_after(1, 0.7, 0.01, 10).effect, EFFECT_IMPROVED);
  CHECK_INT(effect_after(1.5, 1.02, 0.01, 10).effect, EFFECT_IMPROVED); /* worse, and within the margin */
  CHECK_INT(effect_after(1.5, 1.2, 0.01, 10).effect, EFFECT_WORSE);
  CHECK_TEXT(effect_after(1.5, 1.2, 0.01, 10).figure, "end to end, p50");
  CHECK_INT(effect_after(1, 1, 0.01, 10).effect, EFFECT_NONE);
  CHECK_INT(effect_after(1, 1, 0.2, 10).effect, EFFECT_UNDECIDED);
  CHECK_INT(effect_after(1.03, 1, 0.03, 10).effect, EFFECT_UNDECIDED);
  CHECK_INT(effect_after(1.5, 1, 0.01, 1).effect, EFFECT_UNDECIDED); /* one session has no interval */
  CHECK_INT(effect_after(NAN, 1, 0.01, 10).effect, EFFECT_NONE);     /* the other figure alone */
  CHECK_INT(effect_after(-1, -1, 0.01, 10).effect, EFFECT_UNDECIDED);
  /* MOVER with equal widths: half a width times sqrt(2) on ln, to each side. */
  struct effect_measured e = effect_after(2, 1, 0.05, 10);
  CHECK(fabs(e.ratio - 2) < 1e-12);
  CHECK(fabs(log(e.high / e.ratio) - sqrt(2) * log(1.05)) < 1e-12);
  CHECK(fabs(log(e.ratio / e.low) - sqrt(2) * log(1.05)) < 1e-12);
}

/* Nothing changed, 4,000 times: five figures of five sessions each, which vary by 1 %. */
static void check_effect_of_nothing(void) {
  enum { TRIALS = 4000, FIGURES = 5, SESSIONS = 5 };
  struct random_stream random;
  size_t n_improved = 0, n_worse = 0;
  double t = special_t_quantile(0.975, SESSIONS - 1);
  random_init(&random, 7, "effect");
  for (int trial = 0; trial < TRIALS; trial++) {
    struct summary_figure figures[2][FIGURES];
    struct summary_precision precisions[2];
    struct summary summaries[2];
    struct effect_measured effect;
    for (int i = 0; i < 2; i++) {
      for (int f = 0; f < FIGURES; f++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < SESSIONS; k++) {
          double u = (double)(random_next(&random) >> 11) * 0x1p-53, x = 100 * (1 + 0.01 * special_normal_quantile(0.0001 + 0.9998 * u));
          sum += x;
          squares += x * x;
        }
        double mean = sum / SESSIONS, half = t * sqrt((squares - sum * mean) / (SESSIONS - 1) / SESSIONS);
        figures[i][f] = (struct summary_figure){f == 0 ? "a" : f == 1 ? "b" : f == 2 ? "c" : f == 3 ? "d" : "e",
                                                "f",
                                                "u",
                                                BETTER_MORE,
                                                mean,
                                                mean - half,
                                                mean + half,
                                                SESSIONS};
      }
      precisions[i] = (struct summary_precision){.name = "p", .fingerprint = "", .figures = figures[i], .n_figures = FIGURES};
      summaries[i] = (struct summary){.started_ns = 1 + i, .precisions = &precisions[i], .n_precisions = 1};
    }
    effect_measure(&summaries[0], &summaries[1], false, NULL, &effect);
    n_improved += effect.effect == EFFECT_IMPROVED;
    n_worse += effect.effect == EFFECT_WORSE;
  }
  CHECK(n_improved <= TRIALS / 40); /* 2.5 % to each side is promised */
  CHECK(n_improved > 0);
  CHECK_INT(n_worse, 0); /* by more than the margin of 5 % */
  (void)printf("false improvements: %zu of %d\n", n_improved, TRIALS);
}

/* A finding found in three runs; the newest entry decides. */
static void check_work(void) {
  static struct summary_figure figures[3];
  static struct summary_precision precisions[3];
  static struct summary summaries[3];
  const double slow = 100, fast = 200;
  struct board_change started = {.words = "c", .index = 20}, done = {.words = "c", .done = true, .index = 40};
  static const struct {
    size_t n_changes, n_measured, n_runs;
    double after;
    enum work_state state;
    const char *why;
  } cases[] = {{0, 0, 1, 200, WORK_OPEN, ""},
               {1, 0, 1, 200, WORK_STARTED, ""},
               {1, 1, 1, 200, WORK_CLOSED, ""},
               {1, 1, 2, 200, WORK_AGAIN, "it was found again"},
               {1, 1, 3, 200, WORK_AGAIN, "it was found again"},
               {1, 1, 1, 100, WORK_AGAIN, "no figure improved"},
               {1, 1, 1, 90, WORK_AGAIN, "a figure got worse"},
               {2, 1, 1, 90, WORK_DONE, "a figure got worse"},
               {2, 1, 1, 200, WORK_DONE, "it was closed before"}};
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    struct board_iteration measured = {.by = "ml", .change = "c", .before = 0, .after = 1, .index = 30};
    struct board_change changes[2] = {started, done};
    struct board_finding of[3];
    struct board_run runs[3] = {{.index = 1}, {.index = 25}, {.index = 35}};
    size_t order[3] = {0, 1, 2};
    struct board_contract contract = {.name = "c", .hex = "ab", .runs = order, .n_runs = cases[i].n_runs};
    struct board board = {.address = "LEDGER", .contracts = &contract, .n_contracts = 1, .runs = runs, .n_runs = 3};
    struct work_list list;
    for (size_t k = 0; k < 3; k++) {
      double value = k == 1 ? cases[i].after : k == 0 ? slow : fast;
      figures[k] = (struct summary_figure){"output throughput", "f1", "tokens/s", BETTER_MORE, value, value * 0.99, value * 1.01, 10};
      precisions[k] = (struct summary_precision){.name = "p", .fingerprint = "", .figures = &figures[k], .n_figures = 1};
      summaries[k] = (struct summary){.started_ns = (int64_t)k + 1, .precisions = &precisions[k], .n_precisions = 1};
      of[k] = (struct board_finding){
          .rule = "r", .rung = "accounted", .title = k == 0 ? "one" : "two", .named = "", .layer = "serving", .owner = "x", .index = 2 + k};
      runs[k].summary = &summaries[k];
      runs[k].findings = &of[k];
      runs[k].n_findings = 1;
    }
    of[0].changes = changes;
    of[0].n_changes = cases[i].n_changes;
    of[0].measured = &measured;
    of[0].n_measured = cases[i].n_measured;
    work_list_make(&board, &contract, &list);
    CHECK_INT(list.n_items, 1);
    CHECK_INT(list.items[0].state, cases[i].state);
    CHECK_TEXT(list.items[0].why, cases[i].why);
    CHECK_INT(list.items[0].n_seen, cases[i].n_runs);
    CHECK_TEXT(list.items[0].finding->title, cases[i].n_runs > 1 ? "two" : "one");
    CHECK_INT(list.n[cases[i].state], 1);
    work_list_release(&list);
  }
  /* What says nothing of it: another contract, the same run, a run that is not there. */
  struct board_run runs[3] = {{.contract = 0}, {.contract = 1}, {.contract = BOARD_NO_CONTRACT}};
  struct board_contract contracts[2] = {{.contract = NULL}, {.contract = NULL}}; /* whose words nobody knows */
  struct board board = {.runs = runs, .n_runs = 3, .contracts = contracts, .n_contracts = 2};
  for (size_t k = 0; k < 3; k++) {
    struct board_iteration measured = {.before = 0, .after = k};
    struct effect_measured effect;
    work_effect(&board, &measured, &effect);
    CHECK_INT(effect.effect, EFFECT_UNDECIDED);
    CHECK(effect.why[0] != 0);
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
  CHECK_TEXT(meeting.trend, "End to end, p99 rose from 1.006 ms to 1.507 ms between 1970-01-11 and 1970-01-12");
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

/* Which of a series' values is shown: 'c' its run supports a claim, '-' it supports none; 'C' and '~' likewise, but the run was
 * made to verify another. */
static void check_newest(const char *runs, size_t wanted, size_t n_runs, size_t n_newer) {
  struct summary_precision claimed = {.no_claim = NULL}, unclaimed = {.no_claim = "too few sessions"};
  struct board_run of_ledger[8] = {{.index = 0}};
  struct history_run in_time[8] = {{.at_ns = 0}};
  struct history_value values[8] = {{.run = 0}};
  size_t n = strlen(runs);
  for (size_t i = 0; i < n; i++) {
    bool verifies = runs[i] == 'C' || runs[i] == '~';
    of_ledger[i].verifies = verifies;
    in_time[i] = (struct history_run){.from.source = i, .precision = runs[i] == 'c' || runs[i] == 'C' ? &claimed : &unclaimed};
    values[i] = (struct history_value){.run = i, .value = (double)i};
  }
  struct board board = {.runs = of_ledger, .n_runs = n};
  struct board_contract contract = {.history = {.runs = in_time, .n_runs = n}};
  const struct history_series series = {.values = values, .n_values = n};
  struct board_value found;
  bool any = board_value_of(&board, &contract, &series, &found);
  CHECK(any == (n > 0));
  if (!any) return;
  CHECK_INT((long long)found.value->value, (long long)wanted);
  CHECK_INT((long long)found.n_runs, (long long)n_runs);
  CHECK_INT((long long)found.n_newer, (long long)n_newer);
  CHECK((found.no_claim == NULL) == (runs[wanted] == 'c' || runs[wanted] == 'C'));
}

int main(void) {
  check_newest("", 0, 0, 0);
  check_newest("cc", 1, 2, 0);
  check_newest("c-", 0, 2, 1); /* one that supports no claim takes no other's place */
  check_newest("c--c-", 3, 5, 1);
  check_newest("--", 1, 2, 0);
  check_newest("cC", 0, 1, 0); /* nor does a re-run that verified it */
  check_newest("-C", 0, 1, 0);
  check_newest("C", 0, 0, 0);
  check_newest("~C~", 1, 0, 0);
  check_markup();
  check_table();
  check_map();
  check_effect();
  check_effect_of_nothing();
  check_work();
  check_board();
  check_meeting();
  return check_end();
}
