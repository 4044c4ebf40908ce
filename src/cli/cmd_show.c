#include <string.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "cli/show_claim.h"
#include "cli/standing_file.h"
#include "report/html.h"
#include "report/standing_report.h"
#include "report/text.h"

enum { FLAG_CLAIM, FLAG_HTML, FLAG_JSON, FLAG_LEDGER, FLAG_SESSIONS, FLAG_DISCLOSE, FLAG_INSIDE };

static const struct option_spec options[] = {
    [FLAG_CLAIM] = SWITCH("claim", "the sentence that it supports, or why there is none"),
    [FLAG_HTML] = OPTION("html", "FILE", "one self-contained page, in place of the figures here (-: standard output)"),
    [FLAG_JSON] = SWITCH("json", "the result as JSON: the same bytes from the same bundle, always; of --claim: claims, reasons, caveats"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "its standing there, too (default: LYNXBENCH_LEDGER)"),
    [FLAG_SESSIONS] = SWITCH("sessions", "throughput and latencies of every session, too"),
    [FLAG_DISCLOSE] = OPTION("disclose", "LEVEL",
                             "of --html: full, shared (no serials, hosts, people) or public (no paths and arguments either)"),
    [FLAG_INSIDE] = SWITCH("inside", "of --html: what goes into another page: no head, no style, no end")};

static bool is_full(const struct arguments *arguments) {
  return arguments->option[FLAG_DISCLOSE] == NULL || strcmp(arguments->option[FLAG_DISCLOSE], "full") == 0;
}

/* False: it was reported. */
static bool check_options(const struct arguments *arguments, struct html_report_options *ret) {
  const char *level = arguments->option[FLAG_DISCLOSE], *html = arguments->option[FLAG_HTML];
  ret->inside = arguments->option[FLAG_INSIDE] != NULL;
  if (html == NULL && (level != NULL || ret->inside)) complain("lynxbench show: --disclose and --inside belong to --html FILE\n");
  else if (html != NULL && (arguments->option[FLAG_CLAIM] != NULL || arguments->option[FLAG_JSON] != NULL))
    complain("lynxbench show: --html: found with --claim or --json; accepted: by itself, as the page holds the claim\n");
  else if (level != NULL && !disclosure_parse(level, &ret->level))
    complain("lynxbench show: --disclose: found '%s'; accepted: full, shared, public\n", level);
  else if (!is_full(arguments) && arguments->option[FLAG_LEDGER] != NULL)
    complain("lynxbench show: --disclose %s with --ledger: what teams said there is theirs to disclose\n", level);
  else return true;
  return false;
}

static int show_page(struct bundle_file *file, const struct html_report_options *wanted, const char *to) {
  struct buffer out;
  struct lynx_error error = {0};
  int code = EXIT_HOLDS;
  buffer_init(&out, 256 << 20);
  if (html_report(file->bundle, &file->result, wanted, &out, &error) != LYNX_OK) code = report_error(&error);
  else if (!write_buffer(to, &out)) code = EXIT_CONDITIONS;
  else if (strcmp(to, "-") != 0) say("%s: %zu bytes, one file, no network\n", to, out.length);
  if (code == EXIT_HOLDS && plausibility_text(&file->result.plausibility, &file->result.arena) != NULL) code = EXIT_DOES_NOT_HOLD;
  buffer_release(&out);
  return code;
}

static int show_figures(struct bundle_file *file, const struct standing *standing, const struct arguments *arguments) {
  struct buffer out;
  bool as_json = arguments->option[FLAG_JSON] != NULL;
  buffer_init(&out, 64 << 20);
  bool good = as_json ? result_write(&file->result, &out)
                      : text_result(&file->result, arguments->option[FLAG_SESSIONS] != NULL, color_wanted(stdout), &out);
  if (standing != NULL && as_json) {
    struct json_writer json;
    json_begin(&json, &out);
    json_standing(standing, &json);
    good = json_finish(&json) && buffer_text(&out, "\n") && good;
  } else if (standing != NULL) good = text_standing(standing, color_wanted(stdout), &out) && good;
  good = write_buffer(NULL, &out) && good;
  bool possible = plausibility_text(&file->result.plausibility, &file->result.arena) == NULL;
  int64_t n_counted = 0;
  for (size_t i = 0; i < file->result.n_precisions; i++) n_counted += file->result.precisions[i].n_counted;
  buffer_release(&out);
  return !good ? EXIT_CONDITIONS : !possible ? EXIT_DOES_NOT_HOLD : n_counted > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct standing standing;
  struct html_report_options wanted = {.inside = false};
  bool known = false, full = is_full(arguments);
  if (!check_options(arguments, &wanted) || !bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (full && !standing_file_read(arguments->option[FLAG_LEDGER], &file, &standing, &known)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  wanted.standing = known ? &standing : NULL;
  int code = arguments->option[FLAG_HTML] != NULL    ? show_page(&file, &wanted, arguments->option[FLAG_HTML])
             : arguments->option[FLAG_CLAIM] != NULL ? show_claim(&file, wanted.standing, arguments->option[FLAG_JSON] != NULL)
                                                     : show_figures(&file, wanted.standing, arguments);
  if (full) standing_release(&standing);
  bundle_file_close(&file);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  ret->ledger = is_full(arguments) ? ledger_file_address(arguments->option[FLAG_LEDGER]) : NULL;
  confine_output(ret, arguments->option[FLAG_HTML]);
  return true;
}

const struct command command_show = {
    .name = "show",
    .summary = "check a bundle; show its figures, its claim, or a page of it",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Everything is recomputed from the raw rows, after the seal was checked. A figure that the sample cannot\n"
               "bound is 'unbounded'. An incomplete bundle is shown, and said to be incomplete. Exits with 1 if no run can\n"
               "have written its rows (times out of order, requests missing), with 3 if nothing\n"
               "was counted. With a ledger, a second line of --json is the standing: what was agreed, verified, contested.\n"
               "With --claim: one claim for each precision; refused, with exit code 1, where the contract's bar is not met: the\n"
               "reasons name what is missing and what would help.\n"
               "With --html: the claim, latency over time with the counted window marked, the percentile spectrum, throughput over\n"
               "time, the executor by layer and owner, what was excluded and why, and the instrument's own error. With --disclose it is\n"
               "for others: facts are withheld as `capture --disclose` withholds them, and what the server's threads did is left out.",
    .example = "build/lynxbench show build/demo/demo.lynx --claim",
    .confines = confines,
    .run = run};
