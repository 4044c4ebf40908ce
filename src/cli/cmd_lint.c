#include <string.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/contract_file.h"
#include "drivers/drivers.h"
#include "report/contract_json.h"
#include "report/text.h"
#include "report/verification_report.h"

enum { FLAG_JSON, FLAG_CANONICAL, FLAG_SCHEMA, FLAG_REFERENCE, FLAG_DRIVERS, FLAG_LIKE };

static const struct option_spec options[] = {
    [FLAG_JSON] = SWITCH("json", "problems, grade and digest as JSON"),
    [FLAG_CANONICAL] = SWITCH("canonical", "print the canonical form instead, whose SHA-256 is the digest"),
    [FLAG_SCHEMA] = SWITCH("schema", "print the JSON Schema of contracts (CONTRACT may be left out)"),
    [FLAG_REFERENCE] = SWITCH("reference", "print the table of all fields, in Markdown"),
    [FLAG_DRIVERS] = SWITCH("drivers", "print every driver with its options (workload.options), in Markdown"),
    [FLAG_LIKE] = OPTION("like", "BUNDLE", "what a re-run could decide, if sessions vary as they did in this bundle")};

static void print_json(const struct contract_file *file) {
  struct buffer out;
  buffer_init(&out, 64 << 20);
  (void)json_problems(&file->contract, &file->problems, &out); /* one that overflowed is reported when it is written */
  (void)write_buffer(NULL, &out);
  buffer_release(&out);
}

static int print_generated(bool (*make)(struct buffer *)) {
  struct buffer out;
  buffer_init(&out, 16 << 20);
  bool good = make(&out);
  good = write_buffer(NULL, &out) && good;
  buffer_release(&out);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

static bool write_options(const struct driver *driver, struct buffer *out) {
  bool good = buffer_text(out, "\n| option | value | default | what | example |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < driver->n_options; i++) {
    const struct driver_option *o = &driver->options[i];
    good = good && buffer_printf(out, "| `%s` | ", o->name);
    if (o->kind == OPTION_INTEGER && o->greatest == INT64_MAX)
      good = good && buffer_printf(out, "an integer, %lld or more", (long long)o->least);
    else if (o->kind == OPTION_INTEGER)
      good = good && buffer_printf(out, "an integer, %lld to %lld", (long long)o->least, (long long)o->greatest);
    else good = good && buffer_text(out, o->kind == OPTION_CHOICE ? o->choices : o->kind == OPTION_BOOL ? "true or false" : "text");
    good = good && buffer_printf(out, " | %s | %s | `%s` |\n",
                                 o->required           ? "required"
                                 : o->fallback != NULL ? o->fallback
                                                       : "",
                                 o->help, o->example);
  }
  return good;
}

static bool write_drivers(struct buffer *out) {
  enum { WIDTH = 100 };
  bool good = true;
  char text[1000];
  for (int i = 0; drivers_all[i] != NULL; i++) {
    const struct driver *d = drivers_all[i];
    good = good && buffer_printf(out, "%s### %s\n\n", i > 0 ? "\n" : "", d->name);
    (void)snprintf(text, sizeof text, "%s.", d->summary);
    text_wrap(out, 0, 0, WIDTH, text);
    (void)snprintf(text, sizeof text, "Sees: %s.", d->sees);
    good = good && buffer_text(out, "\n\n");
    text_wrap(out, 0, 0, WIDTH, text);
    good = good && buffer_text(out, "\n") && !out->overflowed;
    if (d->n_options > 0) good = good && write_options(d, out);
    if (d->list != NULL) good = good && d->list(out);
  }
  return good;
}

/* Is the plan able to decide? Known variance is that of another run, of this contract or of one like it. */
static int print_forecast(const struct contract *contract, const char *path) {
  struct bundle_file like;
  struct decision_report report;
  struct buffer out;
  if (!bundle_file_open(path, &like)) return EXIT_WRONG_INPUT;
  decision_forecast(contract, &like.result, &report);
  buffer_init(&out, 1 << 20);
  (void)buffer_printf(&out, "a result of %lld sessions, verified: ", (long long)contract->method.sessions);
  (void)text_verification(&report, NULL, color_wanted(stdout), &out);
  int code = !write_buffer(NULL, &out) ? EXIT_CONDITIONS : report.too_few ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
  buffer_release(&out);
  decision_release(&report);
  bundle_file_close(&like);
  return code;
}

static int run(const struct arguments *arguments) {
  struct contract_file file;
  if (arguments->option[FLAG_SCHEMA] != NULL) return print_generated(contract_schema);
  if (arguments->option[FLAG_REFERENCE] != NULL) return print_generated(contract_reference);
  if (arguments->option[FLAG_DRIVERS] != NULL) return print_generated(write_drivers);
  if (arguments->n_positional == 0) {
    complain("lynxbench lint: an argument is missing: CONTRACT\nusage: lynxbench lint CONTRACT [options]\nnext: lynxbench lint --help\n");
    return EXIT_WRONG_INPUT;
  }
  const char *path = arguments->positional[0];
  if (!contract_file_read(path, &file)) return EXIT_WRONG_INPUT;
  char digest[DIGEST_HEX] = "";
  bool valid = file.problems.n_errors == 0;
  if (valid) contract_digest(&file.contract, digest);
  if (arguments->option[FLAG_CANONICAL] != NULL && valid) {
    struct buffer canonical;
    buffer_init(&canonical, 16 << 20);
    if (contract_canonical(&file.contract, &canonical)) (void)write_buffer(NULL, &canonical); /* output_finish reports a failure */
    buffer_release(&canonical);
  } else if (arguments->option[FLAG_JSON] != NULL) print_json(&file);
  else {
    contract_file_print_problems(&file, path, true, true, stdout);
    size_t n_unstated = 0;
    for (size_t i = 0; i < file.problems.n_items; i++) n_unstated += file.problems.items[i].kind == PROBLEM_UNSTATED;
    if (!valid) say("%s: %zu error%s: it cannot be run\n", path, file.problems.n_errors, LYNX_S(file.problems.n_errors));
    else
      say("%s: valid; grade %s (%zu thing%s left unstated); digest %s\n", path, grade_text(contract_grade(&file.problems)), n_unstated,
          LYNX_S(n_unstated), digest);
  }
  if (!valid && arguments->option[FLAG_CANONICAL] != NULL) contract_file_print_problems(&file, path, false, false, stderr);
  int code = !valid                                 ? EXIT_WRONG_INPUT
             : arguments->option[FLAG_LIKE] != NULL ? print_forecast(&file.contract, arguments->option[FLAG_LIKE])
                                                    : EXIT_HOLDS;
  contract_file_release(&file);
  return code;
}

const struct command command_lint = {
    .name = "lint",
    .summary = "check a contract; list all its errors and what it leaves open",
    .usage = "CONTRACT",
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Errors and warnings name line, field, what was found and what is accepted. The grade says how much\n"
        "the contract leaves unstated: A nothing, B up to two things, C up to five, D more. The digest is the\n"
        "contract's identity: comments, order and spelling do not change it, meaning does.\n"
        "--like BUNDLE says whether a re-run could reproduce or refute a result of so many sessions at decision.margin (exit code 3\n"
        "where it could not).",
    .example = "build/lynxbench lint examples/demo.yaml",
    .run = run};
