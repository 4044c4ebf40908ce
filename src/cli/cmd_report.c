#include <string.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "cli/standing_file.h"
#include "report/html.h"

enum { FLAG_OUT, FLAG_LEDGER, FLAG_DISCLOSE, FLAG_INSIDE };

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the HTML file (default: the bundle's name with .html)"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "its standing there, too (default: LYNXBENCH_LEDGER)"),
    [FLAG_DISCLOSE] = OPTION("disclose", "LEVEL", "full, shared (no serials, hosts, people) or public (no paths and arguments either)"),
    [FLAG_INSIDE] = SWITCH("inside", "what goes into another page: no head, no style, no end")};

/* --out, or the bundle's name with .html. */
static const char *page_path(const struct arguments *arguments) {
  static char path[4200];
  const char *bundle = arguments->positional[0];
  size_t n = strlen(bundle);
  if (arguments->option[FLAG_OUT] != NULL) return arguments->option[FLAG_OUT];
  if (n > 5 && strcmp(bundle + n - 5, ".lynx") == 0) n -= 5;
  (void)snprintf(path, sizeof path, "%.*s.html", (int)n, bundle);
  return path;
}

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  struct lynx_error error = {0};
  const char *bundle = arguments->positional[0];
  struct standing standing;
  bool known;
  struct html_report_options wanted = {.inside = arguments->option[FLAG_INSIDE] != NULL};
  const char *level = arguments->option[FLAG_DISCLOSE];
  if (level != NULL && !disclosure_parse(level, &wanted.level)) {
    complain("lynxbench report: --disclose: found '%s'; accepted: full, shared, public\n", level);
    return EXIT_WRONG_INPUT;
  }
  if (wanted.level != DISCLOSE_FULL && arguments->option[FLAG_LEDGER] != NULL) {
    complain("lynxbench report: --disclose %s with --ledger: what teams said there is theirs to disclose\n", level);
    return EXIT_WRONG_INPUT;
  }
  if (!bundle_file_open(bundle, &file)) return EXIT_WRONG_INPUT;
  known = false;
  if (wanted.level == DISCLOSE_FULL && !standing_file_read(arguments->option[FLAG_LEDGER], &file, &standing, &known)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  const char *to = page_path(arguments);
  buffer_init(&out, 256 << 20);
  wanted.standing = known ? &standing : NULL;
  enum lynx_status status = html_report(file.bundle, &file.result, &wanted, &out, &error);
  int code = EXIT_HOLDS;
  if (status != LYNX_OK) code = report_error(&error);
  else if (!write_buffer(to, &out)) code = EXIT_CONDITIONS;
  else if (strcmp(to, "-") != 0) say("%s: %zu bytes, one file, no network\n", to, out.length);
  if (code == EXIT_HOLDS && plausibility_text(&file.result.plausibility, &file.result.arena) != NULL) code = EXIT_DOES_NOT_HOLD;
  buffer_release(&out);
  if (wanted.level == DISCLOSE_FULL) standing_release(&standing);
  bundle_file_close(&file);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  bool full = arguments->option[FLAG_DISCLOSE] == NULL || strcmp(arguments->option[FLAG_DISCLOSE], "full") == 0;
  ret->ledger = full ? ledger_file_address(arguments->option[FLAG_LEDGER]) : NULL;
  confine_output(ret, page_path(arguments));
  return true;
}

const struct command command_report = {
    .name = "report",
    .summary = "write one self-contained HTML file of a bundle",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "The claim, latency over time with the counted window marked, the percentile spectrum, throughput over\n"
        "time, the executor by layer and owner, what was excluded and why, and the instrument's own error.\n"
        "With --disclose it is for others: facts are withheld as `capture --disclose` withholds them, and what the server's threads\n"
        "did is left out.",
    .example = "build/lynxbench report build/demo/demo.lynx --out /tmp/demo.html",
    .run = run,
    .confines = confines};
