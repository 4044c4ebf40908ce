#include "cli/history_export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "board/board_gauges.h"
#include "cli/board_file.h"
#include "cli/confine.h"
#include "cli/history_sources.h"
#include "cli/ledger_fetch.h"
#include "cli/post.h"
#include "report/history_gauges.h"

enum { TEXT_MAX = 64 << 20 };

/* --- what is measured --- */

static int from_ledger(const char *address, struct gauges *ret) {
  struct ledger_file file;
  struct board board = {.address = ""};
  if (!ledger_file_open(address, LEDGER_READS, &file)) return ledger_file_code(&file);
  int code = board_file_read(&file, &board) ? EXIT_HOLDS : EXIT_WRONG_INPUT;
  if (code == EXIT_HOLDS) board_gauges(&board, ret);
  board_release(&board);
  ledger_file_close(&file);
  return code;
}

static int from_sources(const struct arguments *arguments, const struct export_wanted *wanted, struct gauges *ret) {
  struct history history = {.runs = NULL};
  struct history_sources sources = {.history = &history, .quiet = wanted->quiet, .filter = {.contract = wanted->contract}};
  int code = history_sources_read(&sources, arguments, 0);
  if (code == EXIT_HOLDS && sources.n_unreadable > 0)
    code = EXIT_WRONG_INPUT; /* a value that is missing would look like one that is gone */
  if (code == EXIT_HOLDS) {
    history_search(&history, &change_plan_usual);
    const struct history_report report = {
        .history = &history, .plan = &change_plan_usual, .schedules = sources.schedules, .n_schedules = sources.n_schedules};
    history_gauges(&report, ret);
  }
  history_sources_release(&sources);
  history_release(&history);
  return code;
}

/* --- where it goes --- */

static void put_otlp(const struct gauges *gauges, struct buffer *out) {
  struct json_writer json;
  json_begin(&json, out);
  gauges_to_otlp(gauges, LYNX_VERSION, clock_system.realtime_ns(clock_system.context), &json);
}

static int send_to(const char *url, const struct buffer *body) {
  struct lynx_error error = {0};
  if (post_json(url, body->data, &error) == LYNX_OK) return EXIT_HOLDS;
  complain("lynxbench history: --send: %s; accepted: a collector that answers with 200, at an address such as .../v1/metrics\n",
           error.message);
  return EXIT_EXECUTOR;
}

static int deliver(const struct export_wanted *wanted, const struct gauges *gauges) {
  const char *out = wanted->out, *url = wanted->send;
  struct buffer text;
  int code = EXIT_HOLDS;
  buffer_init(&text, TEXT_MAX);
  if (url != NULL) {
    put_otlp(gauges, &text);
    code = text.overflowed ? EXIT_CONDITIONS : send_to(url, &text);
    buffer_clear(&text);
  }
  if (wanted->otlp) put_otlp(gauges, &text);
  else gauges_to_prometheus(gauges, &text);
  if ((url == NULL || out != NULL) && !write_buffer(out, &text) && code == EXIT_HOLDS) code = EXIT_CONDITIONS;
  buffer_release(&text);
  return code;
}

static const char *only_ledger(const struct arguments *arguments) {
  if (arguments->n_positional == 0) return ledger_file_address(NULL);
  return arguments->n_positional == 1 && ledger_file_is(arguments->positional[0]) ? arguments->positional[0] : NULL;
}

int history_export(const struct arguments *arguments, const struct export_wanted *wanted) {
  const char *ledger = only_ledger(arguments), *url = wanted->send;
  struct gauges gauges = {.families = NULL};
  if (url != NULL && !ledger_is_url(url)) {
    complain("lynxbench history: --send: found '%s'; accepted: an address such as http://127.0.0.1:4318/v1/metrics\n", url);
    return EXIT_WRONG_INPUT;
  }
  int code = ledger != NULL ? from_ledger(ledger, &gauges) : from_sources(arguments, wanted, &gauges);
  if (code == EXIT_HOLDS && gauges.n_families == 0) {
    complain("lynxbench history: no run and no schedule is there: nothing was written\n");
    code = EXIT_INCONCLUSIVE;
  }
  if (code == EXIT_HOLDS) {
    gauges_sort(&gauges);
    code = deliver(wanted, &gauges);
  }
  gauges_release(&gauges);
  return code;
}
