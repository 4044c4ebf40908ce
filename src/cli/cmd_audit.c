#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "report/audit_report.h"

enum { FLAG_FIGURES, FLAG_LEDGER, FLAG_MODEL, FLAG_HTML, FLAG_JSON };

static const struct option_spec options[] = {
    [FLAG_FIGURES] = OPTION("figures", "FILE", "what `show --json` once printed of the bundle: checked against the rows"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "of a bundle: what the ledger says of it (default: LYNXBENCH_LEDGER)"),
    [FLAG_MODEL] = OPTION("model", "PATH",
                          "of a bundle: the model's file or folder; its digest is computed again and checked against the record"),
    [FLAG_HTML] = OPTION("html", "FILE", "the audit as a page, to attach"),
    [FLAG_JSON] = SWITCH("json", "the audit as JSON")};

enum { FIGURES_MAX = 64 << 20 };

static int print(const struct arguments *arguments, const struct audit *audit) {
  struct buffer out;
  char now[40];
  buffer_init(&out, 64 << 20);
  bool good = arguments->option[FLAG_JSON] != NULL ? json_audit(audit, &out) : text_audit(audit, color_wanted(stdout), &out);
  good = write_buffer(NULL, &out) && good;
  buffer_clear(&out);
  if (arguments->option[FLAG_HTML] != NULL)
    good = html_audit(audit, clock_text(now, clock_system.realtime_ns(clock_system.context)), &out) &&
           write_buffer(arguments->option[FLAG_HTML], &out) && good;
  buffer_release(&out);
  return !good ? EXIT_CONDITIONS : audit->n_failed > 0 ? EXIT_DOES_NOT_HOLD : EXIT_HOLDS;
}

static int run(const struct arguments *arguments) {
  const char *path = arguments->positional[0], *address = ledger_file_address(arguments->option[FLAG_LEDGER]);
  struct audit audit;
  struct ledger_file ledger = {.ledger = NULL};
  struct buffer figures;
  buffer_init(&figures, FIGURES_MAX);
  if (ledger_file_is(path)) {
    if (!ledger_file_open(path, LEDGER_READS, &ledger))
      return ledger_file_code(&ledger); /* it was reported why: altered, rolled back, forked */
    audit_ledger(ledger.ledger, ledger.address, &audit);
  } else {
    if (access(path, F_OK) != 0) { /* what is not there neither holds nor fails */
      complain("lynxbench audit: '%s': %s; accepted: a bundle, or a ledger\n", path, strerror(errno));
      return EXIT_WRONG_INPUT;
    }
    if (address != NULL && !ledger_file_open(address, LEDGER_READS, &ledger)) return EXIT_WRONG_INPUT;
    if (arguments->option[FLAG_MODEL] != NULL && access(arguments->option[FLAG_MODEL], R_OK) != 0) {
      complain("lynxbench audit: --model: %s: %s; accepted: a file or folder of weights\n", arguments->option[FLAG_MODEL], strerror(errno));
      ledger_file_close(&ledger);
      return EXIT_WRONG_INPUT;
    }
    if (arguments->option[FLAG_FIGURES] != NULL && !read_file(arguments->option[FLAG_FIGURES], FIGURES_MAX, &figures)) {
      ledger_file_close(&ledger);
      return EXIT_WRONG_INPUT;
    }
    const struct audit_bundle_request request = {.path = path,
                                                 .model = arguments->option[FLAG_MODEL],
                                                 .figures = {arguments->option[FLAG_FIGURES] == NULL ? NULL
                                                             : figures.data != NULL                  ? figures.data
                                                                                                     : "",
                                                             figures.length},
                                                 .ledger = ledger.ledger};
    audit_bundle(&request, &audit);
  }
  int code = print(arguments, &audit);
  audit_release(&audit);
  buffer_release(&figures);
  ledger_file_close(&ledger);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  const char *path = arguments->positional[0];
  ret->ledger = ledger_file_is(path) ? path : ledger_file_address(arguments->option[FLAG_LEDGER]);
  confine_output(ret, arguments->option[FLAG_HTML]);
  return true;
}

const struct command command_audit = {
    .name = "audit",
    .summary = "check a bundle or a ledger offline",
    .usage = "BUNDLE-OR-LEDGER",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Of a bundle: digests and seal, the contract's digest, every figure recomputed from the raw rows, times and totals checked\n"
               "against one another, the contract's rules applied again; with a ledger, the signature, the proof that it is there,\n"
               "agreement, verifications, contests. Of a ledger: every entry's hash, signature and admission, the whole tree, its\n"
               "checkpoint. Exits with 1 where a check fails. What could not be established is listed as such.",
    .example = "build/lynxbench run examples/null.yaml --out /tmp/a.lynx --quiet; build/lynxbench audit /tmp/a.lynx",
    .run = run,
    .confines = confines};
