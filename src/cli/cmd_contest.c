#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/shell.h"
#include "cli/bundle_entry.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/hook.h"
#include "cli/improvement_entry.h"
#include "cli/team_key.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "report/text.h"
#include "result/comparison.h"

enum { FLAG_GROUND, FLAG_TEXT, FLAG_WITH, FLAG_LAYER, FLAG_HOOK, FLAG_WITHDRAW, FLAG_LEDGER, FLAG_KEY };

static const struct option_spec options[] = {
    [FLAG_GROUND] = OPTION("ground", "GROUND", "figure, configuration, conditions or method"),
    [FLAG_TEXT] = OPTION("text", "TEXT", "what is wrong, in words"),
    [FLAG_WITH] = OPTION("with", "BUNDLE", "evidence: a re-run, which goes into the ledger too, and is shown beside the contested one"),
    [FLAG_LAYER] = OPTION("layer", "LAYER", "whose layer it concerns: its owner is named"),
    [FLAG_HOOK] = OPTION("hook", "URL|PROGRAM", "tell the owner: the signed entry is sent there, or is a program's input, as JSON"),
    [FLAG_WITHDRAW] = OPTION("withdraw", "ENTRY", "take back a contest of one's own: its entry's digest"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "the ledger (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key (default: LYNXBENCH_KEY)")};

static bool ground_known(const char *ground) {
  static const char *const known[] = {"figure", "configuration", "conditions", "method"};
  for (size_t i = 0; ground != NULL && i < LYNX_COUNT(known); i++)
    if (strcmp(known[i], ground) == 0) return true;
  complain("lynxbench contest: --ground: found %s, accepted: figure, configuration, conditions, method\n",
           ground != NULL ? ground : "nothing");
  return false;
}

/* Both results, and how their executors differ. */
static void show_both(struct bundle_file *sealed, struct bundle_file *with) {
  struct comparison_list list;
  struct difference_list differences;
  struct fact_list a = {0}, b = {0};
  struct buffer out;
  struct lynx_error error = {0};
  const char *precision = sealed->result.n_precisions > 0 ? sealed->result.precisions[0].name : "";
  bool known = bundle_start_facts(sealed->bundle, precision, &a, &error) == LYNX_OK &&
               bundle_start_facts(with->bundle, precision, &b, &error) == LYNX_OK;
  comparison_make(&sealed->result, &with->result, false, &list);
  if (known) capture_diff(&a, &b, &differences);
  buffer_init(&out, 16 << 20);
  (void)text_comparison(&sealed->result, &with->result, &list, known ? &differences : NULL, color_wanted(stdout), &out);
  (void)write_buffer(NULL, &out); /* a failure was reported */
  buffer_release(&out);
  if (known) difference_list_release(&differences);
  comparison_release(&list);
  fact_list_release(&a);
  fact_list_release(&b);
}

static int withdraw(const struct arguments *arguments, struct ledger_file *ledger, const struct signer *signer) {
  struct entry entry = {.kind = "withdrawal"};
  uint8_t digest[DIGEST_BYTES];
  uint64_t index;
  const char *text = arguments->option[FLAG_WITHDRAW];
  struct lynx_error error = {0};
  lynx_error_at(&error, "contest --withdraw", 0, NULL);
  if (ledger_digest(ledger->ledger, text, "", digest, &error) != LYNX_OK) return report_error(&error);
  entry_subject(&entry, "entry", digest);
  entry_member(&entry, "text", arguments->option[FLAG_TEXT]);
  if (!ledger_file_add(ledger, &entry, signer, &index, NULL)) return EXIT_WRONG_INPUT;
  say("%s: entry %llu: the contest is withdrawn\n", ledger->address, (unsigned long long)index);
  return EXIT_HOLDS;
}

static int contest(const struct arguments *arguments, struct ledger_file *ledger, const struct signer *signer, struct bundle_file *sealed,
                   struct bundle_file *with) {
  const char *layer_name = arguments->option[FLAG_LAYER], *owner = NULL, *with_path = arguments->option[FLAG_WITH];
  struct entry entry = {.kind = "contest"};
  enum layer layer;
  char leaf_hex[DIGEST_HEX];
  uint8_t leaf[DIGEST_BYTES];
  uint64_t index;
  if (layer_name != NULL && !layer_read("contest", layer_name, &layer)) return EXIT_WRONG_INPUT;
  if (layer_name != NULL) owner = contract_owner(&sealed->result.contract, layer);
  if (with != NULL) show_both(sealed, with);
  entry_subject_hex(&entry, "bundle", sealed->result.seal.root);
  if (with != NULL) entry_subject_hex(&entry, "evidence", with->result.seal.root);
  entry_member(&entry, "ground", arguments->option[FLAG_GROUND]);
  entry_member(&entry, "text", arguments->option[FLAG_TEXT]);
  entry_member(&entry, "layer", layer_name);
  entry_member(&entry, "owner", owner);
  if (with_path != NULL && !bundle_entry_add(ledger, with_path, signer, &index)) return EXIT_WRONG_INPUT;
  if (!ledger_file_add(ledger, &entry, signer, &index, leaf)) return EXIT_WRONG_INPUT;
  (void)digest_hex(leaf, leaf_hex);
  say("%s: entry %llu, %s: open until somebody re-measures (lynxbench verify %s --contest %s) or %s withdraws it\n", ledger->address,
      (unsigned long long)index, leaf_hex, shell_word(arguments->positional[0]), leaf_hex, signer->name);
  if (arguments->option[FLAG_HOOK] != NULL && !hook_tell("contest", arguments->option[FLAG_HOOK], ledger, index)) return EXIT_EXECUTOR;
  return EXIT_HOLDS;
}

static int run(const struct arguments *arguments) {
  const char *address = ledger_file_address(arguments->option[FLAG_LEDGER]), *with_path = arguments->option[FLAG_WITH];
  struct signer signer;
  struct ledger_file ledger = {.ledger = NULL};
  struct bundle_file sealed, with;
  bool withdraws = arguments->option[FLAG_WITHDRAW] != NULL;
  if (address == NULL) {
    complain("lynxbench contest: a contest is an entry: --ledger LEDGER, or LYNXBENCH_LEDGER, is needed\n");
    return EXIT_WRONG_INPUT;
  }
  if (!withdraws && !ground_known(arguments->option[FLAG_GROUND])) return EXIT_WRONG_INPUT;
  if (!withdraws && (arguments->option[FLAG_TEXT] == NULL || arguments->option[FLAG_TEXT][0] == 0)) {
    complain("lynxbench contest: --text is needed: what is wrong, in words\n");
    return EXIT_WRONG_INPUT;
  }
  if (!team_key_wanted(arguments->option[FLAG_KEY], "contest", &signer)) return EXIT_WRONG_INPUT;
  int code = EXIT_WRONG_INPUT;
  if (bundle_file_open(arguments->positional[0], &sealed)) {
    bool has_with = with_path != NULL && bundle_file_open(with_path, &with);
    if (sealed.result.seal.root[0] == 0) complain("lynxbench contest: the bundle is not sealed: there is nothing to contest\n");
    else if (has_with && with.result.seal.root[0] == 0)
      complain("lynxbench contest: --with: %s is not sealed: no entry can name it\n", with_path);
    else if ((with_path == NULL || has_with) && ledger_file_open(address, LEDGER_ADDS, &ledger))
      code = withdraws ? withdraw(arguments, &ledger, &signer) : contest(arguments, &ledger, &signer, &sealed, has_with ? &with : NULL);
    if (has_with) bundle_file_close(&with);
    bundle_file_close(&sealed);
  }
  ledger_file_close(&ledger);
  signing_key_release(signer.key);
  return code;
}

const struct command command_contest = {
    .name = "contest",
    .summary = "disagree with a result, on the record",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "An entry in the ledger against the bundle's result. It stays open, and is shown wherever the result is, until a\n"
               "re-measurement that was made for it decides (`lynxbench verify --contest ENTRY`), or its team withdraws it.\n"
               "Exits with 5 where the contest is recorded and the hook could not be told.",
    .example = "rm -rf /tmp/ct; mkdir -p /tmp/ct; build/lynxbench ledger key ml --out /tmp/ct; build/lynxbench ledger create "
               "/tmp/ct/t.ledger --key "
               "/tmp/ct/ml.key; "
               "build/lynxbench ledger put /tmp/ct/t.ledger build/demo/demo.lynx --key /tmp/ct/ml.key; "
               "build/lynxbench contest build/demo/demo.lynx --ground conditions --text 'the machine was shared' --layer system --ledger "
               "/tmp/ct/t.ledger --key /tmp/ct/ml.key",
    .run = run};
