#include <inttypes.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "cli/standing_file.h"
#include "report/claim_json.h"
#include "report/standing_report.h"
#include "report/text.h"

enum { FLAG_JSON, FLAG_LEDGER };

static const struct option_spec options[] = {
    [FLAG_JSON] = SWITCH("json", "claims, reasons and caveats as JSON"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "its standing there, too (default: LYNXBENCH_LEDGER)")};

/* Was a claim made for each precision that there could be one of? What this machine cannot do is reported, and is no failure. */
static bool all_made(const struct result *result, const struct claim *claims) {
  size_t n_made = 0, n_wanted = 0;
  for (size_t i = 0; i < result->n_precisions; i++) {
    n_made += claims[i].sentence != NULL;
    n_wanted += !result->precisions[i].unavailable;
  }
  return n_made == n_wanted && n_made > 0;
}

static void write_text(const struct result *result, const struct claim *claims, const struct standing *standing, struct buffer *out) {
  for (size_t i = 0; i < result->n_precisions; i++) {
    if (i > 0) (void)buffer_text(out, "\n");
    (void)text_claim(result, &claims[i], color_wanted(stdout), out);
  }
  if (standing != NULL) (void)text_standing(standing, color_wanted(stdout), out);
  else if (result->contract.signatories.n_items > 0)
    (void)buffer_text(out, "\nNo ledger was asked (--ledger): whether its signatories agreed before the run, and who verified or "
                           "contested it, is not known.\n");
}

/* The ledger holds what the run really gave: whoever sends this file has taken its intent. */
static void refuse_rival(struct result *result, struct claim *claims, const struct standing *s) {
  const struct standing_rival *r = &s->rivals[0];
  const char *reason = arena_printf(&result->arena,
                                    "entry %" PRIu64
                                    " of the ledger %s, by %s, is another bundle (%.16s) under the intent that this one names: "
                                    "one run has one bundle; ask for that one",
                                    r->index, s->origin, r->by, r->bundle);
  for (size_t i = 0; i < result->n_precisions; i++) claim_refuse(result, &claims[i], reason);
}

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  struct standing standing;
  bool known;
  if (!bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  if (!standing_file_read(arguments->option[FLAG_LEDGER], &file, &standing, &known)) {
    bundle_file_close(&file);
    return EXIT_WRONG_INPUT;
  }
  buffer_init(&out, 64 << 20);
  struct claim *claims = claim_build_all(&file.result);
  if (known && standing.is_rival) refuse_rival(&file.result, claims, &standing);
  if (arguments->option[FLAG_JSON] != NULL) (void)json_claims(claims, file.result.n_precisions, known ? &standing : NULL, &out);
  else write_text(&file.result, claims, known ? &standing : NULL, &out);
  bool good = write_buffer(NULL, &out); /* one that overflowed, too, is reported here */
  bool holds = all_made(&file.result, claims);
  buffer_release(&out);
  standing_release(&standing);
  bundle_file_close(&file);
  return !good ? EXIT_CONDITIONS : holds ? EXIT_HOLDS : EXIT_DOES_NOT_HOLD;
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
