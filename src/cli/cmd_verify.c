#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_entry.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/consent.h"
#include "cli/contract_run.h"
#include "cli/option_value.h"
#include "cli/team_key.h"
#include "report/verification_report.h"

enum {
  FLAG_OUT,
  FLAG_AGAINST,
  FLAG_PLAN,
  FLAG_RUN,
  FLAG_ENDPOINT,
  FLAG_KEY_ENV,
  FLAG_KEY_FILE,
  FLAG_SESSIONS_AT_MOST,
  FLAG_CONTEST,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_JSON,
  FLAG_QUIET
};

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the bundle of the re-run (default: the contract's name and the time, .lynx)"),
    [FLAG_AGAINST] = OPTION("against", "BUNDLE", "decide from this re-run, which was made before, instead of making one"),
    [FLAG_PLAN] = SWITCH("plan", "only tell what a re-run could decide, and with how many sessions"),
    [FLAG_RUN] = OPTION("run", "DIGEST", "run the bundle's contract, which has this digest, without asking (its first 12 digits or more)"),
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "where the executor is here; the bundle's is not used, but where its contract starts it"),
    [FLAG_KEY_ENV] = OPTION("api-key-env", "NAME", "the variable that holds your API key; the bundle's is not used"),
    [FLAG_KEY_FILE] = OPTION("api-key-file", "FILE", "or the file that holds it"),
    [FLAG_SESSIONS_AT_MOST] = OPTION_WITH("sessions-at-most", "N", "of the re-run, whatever the plan needs (default: 30)", VALUE_COUNT, 2,
                                          1000, "a whole number from 2 to 1000"),
    [FLAG_CONTEST] = OPTION("contest", "ENTRY", "the contest that this re-measurement answers: its entry's digest"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER", "record the re-run and the decision (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "the team's private key for it (default: LYNXBENCH_KEY)"),
    [FLAG_JSON] = SWITCH("json", "the decision as JSON"),
    [FLAG_QUIET] = SWITCH_QUIET};

enum { SESSIONS_AT_MOST = 30 };

/* What the whole command holds, so that it can be let go in one place. */
struct verifying {
  const struct arguments *arguments;
  struct bundle_file sealed, again;
  struct decision_report plan;
  struct verification made;
  struct ledger_file ledger;
  struct signer signer;
  struct run_link link;
  const char *address, *out;
  char out_name[300];
  bool recorded, has_again;
  uint8_t contest[DIGEST_BYTES]; /* the entry that it answers */
  bool answers;
};

static bool print_report(struct verifying *v, bool decided) {
  struct buffer out;
  buffer_init(&out, 16 << 20);
  const struct decision_report *report = decided ? &v->made.report : &v->plan;
  const struct configuration *configuration = decided ? &v->made.configuration : NULL;
  if (v->arguments->option[FLAG_JSON] != NULL)
    (void)json_verification_whole(v->sealed.result.seal.root, decided ? v->again.result.seal.root : NULL, report, configuration, &out);
  else (void)text_verification(report, configuration, color_wanted(stdout), &out);
  bool good = write_buffer(NULL, &out);
  buffer_release(&out);
  return good;
}

/* --- the re-run --- */

static int run_again(struct verifying *v, int64_t sessions) {
  const char *contract = bundle_meta(v->sealed.bundle, "contract");
  struct contract_run r;
  contract_run_init(&r, v->arguments->option[FLAG_QUIET] != NULL, contract, strlen(contract), v->out);
  r.request.sessions = sessions;
  r.request.endpoint = v->arguments->option[FLAG_ENDPOINT];
  r.request.foreign = true;
  r.request.api_key_env = r.request.key_variable = v->arguments->option[FLAG_KEY_ENV];
  r.request.api_key_file = v->arguments->option[FLAG_KEY_FILE];
  r.request.meta = v->link.meta;
  r.request.n_meta = v->recorded ? LYNX_COUNT(v->link.meta) : 0;
  int code = contract_run_whole(&r);
  if (code != EXIT_HOLDS && r.outcome.sealed)
    complain("The re-run was sealed as %s (%s) in %s: it decides nothing\n", bundle_end_text(r.outcome.end), r.outcome.why, v->out);
  return code;
}

/* A sealed result that no claim may be made of can be reproduced all the same; whoever reads the decision should know. */
static void warn_of_sealed(const struct result *r) {
  bool limited = false;
  for (size_t i = 0; i < r->n_precisions; i++) limited = limited || r->precisions[i].instrument_limited;
  if (r->part[0] != 0 || r->n_conditions + r->n_changed + r->n_departures > 0 || limited)
    complain("note: the sealed result itself is under a condition, changed, out of contract or instrument-limited; `lynxbench "
             "show --claim` says why\n");
}

/* --- the entry --- */

static void write_members(void *context, struct json_writer *json) {
  struct verifying *v = context;
  json_verification(&v->made.report, &v->made.configuration, json);
}

static bool record(struct verifying *v) {
  uint64_t index;
  struct entry entry = {.kind = "verification", .write_more = write_members, .context = v};
  entry_subject_hex(&entry, "bundle", v->sealed.result.seal.root);
  entry_subject_hex(&entry, "verifying", v->again.result.seal.root);
  entry_subject_hex(&entry, "contract", v->sealed.result.contract_digest);
  if (v->answers) entry_subject(&entry, "contest", v->contest);
  if (!bundle_entry_add(&v->ledger, v->out, &v->signer, &index) || !ledger_file_add(&v->ledger, &entry, &v->signer, &index, NULL))
    return false;
  complain("%s: entry %llu: %s\n", v->address, (unsigned long long)index, decision_text(v->made.report.decision));
  return true;
}

/* --- all of it --- */

/* An option of this call that the next one needs, too; where it is not known, in capitals; nothing, where a variable says it. */
static void say_option(const struct verifying *v, const char *name, const char *value, const char *unknown) {
  if (value != NULL) say(" --%s %s", name, shell_word(value));
  else if (!v->recorded) say(" --%s %s", name, unknown);
}

static void say_contest(const struct verifying *v) {
  say("next: lynxbench contest %s --ground figure --with %s --text '...'", shell_word(v->arguments->positional[0]), shell_word(v->out));
  say_option(v, "ledger", v->arguments->option[FLAG_LEDGER], "LEDGER");
  say_option(v, "key", v->arguments->option[FLAG_KEY], "TEAM.key");
  say("\n");
}

static int decide(struct verifying *v) {
  struct lynx_error error = {0};
  if (!bundle_file_open_possible(v->out, &v->again)) return EXIT_WRONG_INPUT;
  v->has_again = true;
  const struct verification_side sealed = {v->sealed.bundle, &v->sealed.result}, again = {v->again.bundle, &v->again.result};
  enum lynx_status status = verification_make(&sealed, &again, &v->made, &error);
  for (size_t i = 0; i < v->made.n_conditions; i++) complain("%s\n", v->made.conditions[i]);
  if (v->made.n_conditions > 0) {
    complain("The re-run's conditions make it invalid: it decides nothing\n");
    return EXIT_CONDITIONS;
  }
  if (status == LYNX_INPUT) complain("lynxbench verify: %s: %s\n", v->out, error.message);
  if (status != LYNX_OK) return status == LYNX_INPUT ? EXIT_WRONG_INPUT : report_error(&error);
  bool recorded = !v->recorded || record(v); /* first: whoever reads what is printed may go away */
  if (!print_report(v, true) || !recorded) return EXIT_CONDITIONS;
  enum decision decision = v->made.report.decision;
  if (decision == DECISION_NOT_REPRODUCED && v->arguments->option[FLAG_JSON] == NULL) say_contest(v);
  return decision == DECISION_REPRODUCED ? EXIT_HOLDS : decision == DECISION_INCONCLUSIVE ? EXIT_INCONCLUSIVE : EXIT_DOES_NOT_HOLD;
}

struct contest {
  const char *root;
  bool found;
};

static bool take_contest(void *context, const struct ledger_entry *entry, const char *subject) {
  struct contest *c = context;
  const uint8_t *of = statement_subject_named(&entry->statement, "bundle");
  char hex[DIGEST_HEX];
  c->found = c->found ||
             (subject[0] == 0 && strcmp(entry->statement.kind, "contest") == 0 && of != NULL && strcmp(digest_hex(of, hex), c->root) == 0);
  return !c->found;
}

static bool is_contest(struct verifying *v) {
  struct contest c = {.root = v->sealed.result.seal.root};
  struct lynx_error error = {0};
  enum lynx_status status = ledger_digest(v->ledger.ledger, v->arguments->option[FLAG_CONTEST], "", v->contest, &error);
  if (status == LYNX_OK) status = ledger_each_mention(v->ledger.ledger, v->contest, take_contest, &c, &error);
  v->answers = status == LYNX_OK && c.found;
  if (v->answers) return true;
  complain("lynxbench verify: --contest: there is no contest of this bundle under that digest in %s%s%s\n", v->address,
           status != LYNX_OK ? ": " : "", status != LYNX_OK ? error.message : "");
  return false;
}

static bool open_recording(struct verifying *v, bool intends) {
  const char *address = ledger_file_address(v->arguments->option[FLAG_LEDGER]);
  if (address == NULL) return true;
  if (!team_key_wanted(v->arguments->option[FLAG_KEY], "verify", &v->signer) || !ledger_file_open(address, LEDGER_ADDS, &v->ledger))
    return false;
  v->address = v->ledger.address;
  v->recorded = true;
  if (v->arguments->option[FLAG_CONTEST] != NULL && !is_contest(v)) return false;
  return !intends ||
         run_link_begin(&v->ledger, &v->sealed.result.contract, bundle_meta(v->sealed.bundle, "contract"), &v->signer, &v->link);
}

/* A re-run that its own plan cannot decide costs time for nothing: it is run where the user says so. */
static bool is_worth_running(const struct verifying *v) {
  char answer[16] = "";
  if (!v->plan.too_few || v->arguments->option[FLAG_SESSIONS_AT_MOST] != NULL) return true;
  if (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
    complain("The plan decides nothing: %s. Type yes to run it all the same: ", v->plan.why);
    return fgets(answer, sizeof answer, stdin) != NULL && strcmp(answer, "yes\n") == 0;
  }
  complain("lynxbench verify: nothing was run: %s. To run it all the same: --sessions-at-most N\n", v->plan.why);
  return false;
}

static int verify(struct verifying *v) {
  const char *against = v->arguments->option[FLAG_AGAINST], *contest = v->arguments->option[FLAG_CONTEST];
  int64_t most = option_count(v->arguments, FLAG_SESSIONS_AT_MOST, SESSIONS_AT_MOST);
  if (contest != NULL && (strlen(contest) < LEDGER_DIGITS_LEAST || strspn(contest, "0123456789abcdefABCDEF") != strlen(contest))) {
    complain("lynxbench verify: --contest: found '%s', accepted: the digest of the contest's entry, or its first %d digits and more, as "
             "`lynxbench show --ledger` gives it\n",
             contest, LEDGER_DIGITS_LEAST);
    return EXIT_WRONG_INPUT;
  }
  if (v->sealed.result.seal.end != BUNDLE_COMPLETE) {
    complain("lynxbench verify: the bundle is incomplete (%s): there is no result to verify\n", v->sealed.result.seal.why);
    return EXIT_WRONG_INPUT;
  }
  if (v->sealed.result.observed) {
    complain("lynxbench verify: the bundle is of a watch: its requests were others', and do not come again\nnext: lynxbench compare %s "
             "ANOTHER-WATCH.lynx\n",
             shell_word(v->arguments->positional[0]));
    return EXIT_WRONG_INPUT;
  }
  if (bundle_meta(v->sealed.bundle, "contract") == NULL) {
    complain("lynxbench verify: the bundle's contract was withheld: it cannot be run again\n");
    return EXIT_WRONG_INPUT;
  }
  if (v->arguments->option[FLAG_SESSIONS_AT_MOST] != NULL && most < v->sealed.result.contract.method.sessions) {
    complain("lynxbench verify: --sessions-at-most: found %lld, accepted: at least the contract's own %lld\n", (long long)most,
             (long long)v->sealed.result.contract.method.sessions);
    return EXIT_WRONG_INPUT;
  }
  warn_of_sealed(&v->sealed.result);
  decision_plan(&v->sealed.result, &v->plan);
  if (v->arguments->option[FLAG_PLAN] != NULL)
    return !print_report(v, false) ? EXIT_CONDITIONS : v->plan.too_few ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
  if (against == NULL && v->plan.none) {
    complain("lynxbench verify: nothing was run: %s\nnext: lynxbench show %s\n", v->plan.why, shell_word(v->arguments->positional[0]));
    return print_report(v, false) ? EXIT_INCONCLUSIVE : EXIT_CONDITIONS;
  }
  const struct consent_request consent = {.command = "verify",
                                          .contract = &v->sealed.result.contract,
                                          .digest = v->sealed.result.contract_digest,
                                          .agreed = v->arguments->option[FLAG_RUN],
                                          .endpoint = v->arguments->option[FLAG_ENDPOINT],
                                          .has_key = v->arguments->option[FLAG_KEY_ENV] != NULL ||
                                                     v->arguments->option[FLAG_KEY_FILE] != NULL};
  if (against == NULL && !consent_given(&consent)) return EXIT_WRONG_INPUT;
  if (against == NULL && v->arguments->option[FLAG_OUT] != NULL && !output_is_free("verify", v->arguments->option[FLAG_OUT]))
    return EXIT_WRONG_INPUT;
  if (against == NULL && !is_worth_running(v)) return print_report(v, false) ? EXIT_INCONCLUSIVE : EXIT_CONDITIONS;
  if (!open_recording(v, against == NULL)) return EXIT_WRONG_INPUT;
  v->out = against;
  if (against == NULL) {
    const char *out = v->arguments->option[FLAG_OUT];
    int64_t sessions = (int64_t)v->plan.planned < most ? (int64_t)v->plan.planned : most;
    complain("plan: %s%s\n", v->plan.why, (int64_t)v->plan.planned > most ? "; --sessions-at-most allows fewer" : "");
    v->out = out != NULL ? out : screen_bundle_name(&v->sealed.result.contract, "-verify", v->out_name, sizeof v->out_name);
    int code = run_again(v, sessions);
    if (code != EXIT_HOLDS) return code;
  }
  return decide(v);
}

static int run(const struct arguments *arguments) {
  struct verifying v = {.arguments = arguments};
  buffer_init(&v.link.checkpoint, NOTE_MAX);
  if (!bundle_file_open_possible(arguments->positional[0], &v.sealed)) return EXIT_WRONG_INPUT;
  int code = verify(&v);
  decision_release(&v.plan);
  verification_release(&v.made);
  if (v.has_again) bundle_file_close(&v.again);
  bundle_file_close(&v.sealed);
  run_link_release(&v.link);
  ledger_file_close(&v.ledger);
  signing_key_release(v.signer.key);
  return code;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "run a sealed contract again; decide whether it is reproduced",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "The bundle's integrity is checked; its contract is run again here with as many sessions as a decision takes; then\n"
               "the executor's facts and the prompts are compared with the sealed ones, layer by layer, each difference with its\n"
               "owner; and each figure is decided at the contract's margin: reproduced (0), not reproduced or not the same\n"
               "configuration (1), inconclusive (3). A re-run under bad conditions decides nothing (4). With a ledger, the re-run's\n"
               "intent, its bundle and the signed decision are entries. Files that the contract names must be here. What running the\n"
               "contract does is shown first; it is run where you type yes or name its digest with --run. Where the plan can decide\n"
               "nothing, it is run only with --sessions-at-most.",
    .example = "build/lynxbench verify build/demo/demo.lynx --plan",
    .run = run};
