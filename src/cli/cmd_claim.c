#include "base/json.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "cli/standing_file.h"
#include "report/standing_report.h"
#include "report/text.h"

enum { FLAG_JSON, FLAG_LEDGER };

static const struct option_spec options[] = {[FLAG_JSON] = {"json", NULL, "claims, reasons and caveats as JSON"},
                                             [FLAG_LEDGER] = {"ledger", "LEDGER", "its standing there, too (default: LYNXBENCH_LEDGER)"}};

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  struct json_writer json;
  bool as_json = arguments->option[FLAG_JSON] != NULL;
  size_t n_made = 0, n_wanted = 0;
  struct standing standing;
  bool known;
  if (!bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (!standing_file_read(arguments->option[FLAG_LEDGER], &file, &standing, &known)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  buffer_init(&out, 64 << 20);
  json_begin(&json, &out);
  if (as_json) json_open_array(&json);
  for (size_t i = 0; i < file.result.n_precisions; i++) {
    struct claim claim;
    claim_build(&file.result, i, &claim);
    n_made += claim.sentence != NULL;
    n_wanted += !file.result.precisions[i].unavailable; /* what this machine cannot do is told, and is no failure */
    if (!as_json) {
      if (i > 0) (void)buffer_text(&out, "\n");
      (void)text_claim(&file.result, &claim, color_wanted(stdout), &out);
      continue;
    }
    json_open_object(&json);
    json_put_text(&json, "precision", claim.precision);
    json_put_text(&json, "claim", claim.sentence);
    json_put_texts(&json, "refused_because", claim.reasons, claim.n_reasons);
    json_put_texts(&json, "not_established", claim.caveats, claim.n_caveats);
    json_key(&json, "rules");
    json_open_array(&json);
    for (size_t k = 0; k < CLAIM_RULES; k++) {
      json_open_object(&json);
      json_put_text(&json, "rule", claim.rules[k].rule);
      json_put_text(&json, "verdict", rule_verdict_text(claim.rules[k].verdict));
      json_put_text(&json, "text", claim.rules[k].text);
      json_close(&json);
    }
    json_close(&json);
    if (known) {
      json_key(&json, "standing");
      json_standing(&standing, &json);
    }
    json_close(&json);
  }
  if (as_json) json_close(&json);
  else if (known) (void)text_standing(&standing, color_wanted(stdout), &out);
  else if (file.result.contract.signatories.n_items > 0)
    (void)buffer_text(&out, "\nNo ledger was asked (--ledger): whether its signatories agreed before the run, and who verified or "
                            "contested it, is not known.\n");
  if (as_json) (void)buffer_text(&out, "\n");
  bool good = write_buffer(NULL, &out);
  buffer_release(&out);
  standing_release(&standing);
  bundle_file_close(&file);
  return !good ? EXIT_CONDITIONS : n_made == n_wanted && n_made > 0 ? EXIT_HOLDS : EXIT_DOES_NOT_HOLD;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  ret->ledger = ledger_file_address(arguments->option[FLAG_LEDGER]);
  return true;
}

const struct command command_claim = {
    .name = "claim",
    .summary = "print the sentence that a bundle supports, or why there is none",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "One claim per precision. Refused, with exit code 1, where the contract's bar is not met: the reasons name\n"
               "what is missing and what would help.",
    .example = "build/lynxbench claim build/demo/demo.lynx",
    .confines = confines,
    .run = run};
