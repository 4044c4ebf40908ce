#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "cli/standing_file.h"
#include "report/standing_report.h"
#include "report/text.h"

enum { FLAG_JSON, FLAG_LEDGER, FLAG_SESSIONS };

static const struct option_spec options[] = {
    [FLAG_JSON] = SWITCH("json", "the result as JSON: the same bytes from the same bundle, always"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "its standing there, too (default: LYNXBENCH_LEDGER)"),
    [FLAG_SESSIONS] = SWITCH("sessions", "throughput and latencies of every session, too")};

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  struct standing standing;
  bool as_json = arguments->option[FLAG_JSON] != NULL, known;
  if (!bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (!standing_file_read(arguments->option[FLAG_LEDGER], &file, &standing, &known)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  buffer_init(&out, 64 << 20);
  bool good = as_json ? result_write(&file.result, &out)
                      : text_result(&file.result, arguments->option[FLAG_SESSIONS] != NULL, color_wanted(stdout), &out);
  if (known && as_json) {
    struct json_writer json;
    json_begin(&json, &out);
    json_standing(&standing, &json);
    good = json_finish(&json) && buffer_text(&out, "\n") && good;
  } else if (known) good = text_standing(&standing, color_wanted(stdout), &out) && good;
  good = write_buffer(NULL, &out) && good;
  bool possible = plausibility_text(&file.result.plausibility, &file.result.arena) == NULL;
  int64_t n_counted = 0;
  for (size_t i = 0; i < file.result.n_precisions; i++) n_counted += file.result.precisions[i].n_counted;
  buffer_release(&out);
  standing_release(&standing);
  bundle_file_close(&file);
  return !good ? EXIT_CONDITIONS : !possible ? EXIT_DOES_NOT_HOLD : n_counted > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  ret->ledger = ledger_file_address(arguments->option[FLAG_LEDGER]);
  return true;
}

const struct command command_show = {
    .name = "show",
    .summary = "check a bundle and show its figures",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Everything is recomputed from the raw rows, after the seal was checked. A figure that the sample cannot\n"
               "bound is 'unbounded'. An incomplete bundle is shown, and said to be incomplete. Exits with 1 if no run can\n"
               "have written its rows (times out of order, requests missing), with 3 if nothing\n"
               "was counted. With a ledger, a second line of --json is the standing: what was agreed, verified, contested.",
    .example = "build/lynxbench show build/demo/demo.lynx",
    .confines = confines,
    .run = run};
