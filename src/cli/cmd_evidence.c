#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/ledger_file.h"
#include "report/audit_report.h"
#include "report/html.h"
#include "report/standing_report.h"
#include "report/text.h"
#include "verify/bundle_standing.h"
#include "verify/evidence.h"

enum { FLAG_OUT, FLAG_LEDGER };

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the archive (default: the bundle's name with .evidence.tar)"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "that holds the bundle (default: LYNXBENCH_LEDGER)")};

static struct bytes view(const struct buffer *buffer) {
  return (struct bytes){buffer->data != NULL ? buffer->data : "", buffer->length};
}

/* What is made of the bundle for people: the claims with their standing, the report, the audit. */
static enum lynx_status write_parts(const char *path, struct bundle_file *file, struct ledger *ledger, struct buffer parts[4],
                                    struct lynx_error *error) {
  const struct audit_bundle_request request = {.path = path, .ledger = ledger};
  struct standing standing;
  struct audit audit;
  char now[40];
  enum lynx_status status = bundle_standing(ledger, file->bundle, &file->result, &standing, error);
  if (status != LYNX_OK) return status;
  for (size_t i = 0; i < file->result.n_precisions; i++) {
    struct claim claim;
    claim_build(&file->result, i, &claim);
    (void)text_claim(&file->result, &claim, false, &parts[0]);
  }
  (void)text_standing(&standing, false, &parts[0]);
  status = html_report(file->bundle, &file->result, &(struct html_report_options){.standing = &standing}, &parts[1], error);
  standing_release(&standing);
  if (status != LYNX_OK) return status;
  audit_bundle(&request, &audit);
  audit.subject = "bundle.lynx";
  (void)html_audit(&audit, clock_text(now, clock_system.realtime_ns(clock_system.context)), &parts[2]);
  (void)text_audit(&audit, false, &parts[3]);
  audit_release(&audit);
  for (int i = 0; i < 4; i++)
    if (parts[i].overflowed) status = lynx_fail(error, LYNX_LIMIT, "a part of the archive would pass %zu bytes", parts[i].limit);
  return status;
}

static int run(const struct arguments *arguments) {
  const char *path = arguments->positional[0], *address = ledger_file_address(arguments->option[FLAG_LEDGER]);
  struct bundle_file file;
  struct ledger_file ledger;
  struct buffer parts[4];
  struct lynx_error error = {0};
  char name[4200];
  size_t n = strlen(path), n_entries = 0;
  if (address == NULL) {
    complain("lynxbench evidence: the proofs come out of a ledger: --ledger LEDGER, or LYNXBENCH_LEDGER, is needed\n");
    return EXIT_WRONG_INPUT;
  }
  if (!bundle_file_open(path, &file)) return EXIT_WRONG_INPUT;
  if (!ledger_file_open(address, LEDGER_READS, &ledger)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  if (n > 5 && strcmp(path + n - 5, ".lynx") == 0) n -= 5;
  (void)snprintf(name, sizeof name, "%.*s.evidence.tar", (int)(n < 4000 ? n : 4000), path);
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : name;
  for (int i = 0; i < 4; i++) buffer_init(&parts[i], 256 << 20);
  enum lynx_status status = write_parts(path, &file, ledger.ledger, parts, &error);
  if (status == LYNX_OK) {
    const struct evidence_request request = {.bundle_path = path,
                                             .out_path = out,
                                             .bundle = file.bundle,
                                             .result = &file.result,
                                             .ledger = ledger.ledger,
                                             .claim = view(&parts[0]),
                                             .report_html = view(&parts[1]),
                                             .audit_html = view(&parts[2]),
                                             .audit_text = view(&parts[3]),
                                             .now_s = clock_system.realtime_ns(clock_system.context) / 1000000000};
    status = evidence_write(&request, &n_entries, &error);
  }
  int code = status == LYNX_OK ? EXIT_HOLDS : report_error(&error);
  if (status == LYNX_OK)
    say("%s: the bundle, %zu entries of the ledger with their proofs, report and audit\nnext: tar xf %s; sh evidence/verify.sh\n", out,
        n_entries, out);
  for (int i = 0; i < 4; i++) buffer_release(&parts[i]);
  ledger_file_close(&ledger);
  bundle_file_close(&file);
  return code;
}

const struct command command_evidence = {
    .name = "evidence",
    .summary = "pack a result with its signatures and proofs in one archive",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "A tar archive of the bundle, its contract, the ledger's entries about both with signatures, public keys and proofs, the\n"
               "claim, the report and the audit. `sh evidence/verify.sh` checks it where there is no lynxbench: README.txt inside\n"
               "says what each step means, and what it does not show.",
    .example =
        "rm -rf /tmp/ev; mkdir -p /tmp/ev; build/lynxbench ledger key ml --out /tmp/ev; build/lynxbench ledger create /tmp/ev/t.ledger "
        "--key "
        "/tmp/ev/ml.key; "
        "build/lynxbench ledger put /tmp/ev/t.ledger build/demo/demo.lynx --key /tmp/ev/ml.key; "
        "build/lynxbench evidence build/demo/demo.lynx --ledger /tmp/ev/t.ledger --out /tmp/ev/e.tar; tar xf /tmp/ev/e.tar -C /tmp/ev; "
        "sh /tmp/ev/evidence/verify.sh",
    .run = run};
