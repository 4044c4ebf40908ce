#include <string.h>

#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "result/export.h"

enum { FLAG_FORMAT, FLAG_PRECISION, FLAG_OUT, FLAG_FORMULAS };

static const struct option_spec options[] = {
    [FLAG_FORMAT] = OPTION("format", "NAME",
                           "vllm, aiperf, guidellm, mlperf, perf_analyzer, or csv: every request, a line each (default: vllm)"),
    [FLAG_PRECISION] = OPTION("precision", "NAME", "which (default: the first that was measured)"),
    [FLAG_OUT] = OPTION("out", "FILE", "instead of standard output"),
    [FLAG_FORMULAS] = SWITCH("formulas", "only print the ids and what they mean")};

static const struct export_format *find_format(const char *name) {
  for (size_t i = 0; i < n_export_formats; i++)
    if (strcmp(export_formats[i].name, name) == 0) return &export_formats[i];
  complain("lynxbench export: --format: found '%s', accepted:", name);
  for (size_t i = 0; i < n_export_formats; i++) complain("%s %s", i > 0 ? "," : "", export_formats[i].name);
  complain("\n");
  return NULL;
}

static bool find_precision(const struct result *result, const char *name, size_t *ret) {
  for (size_t i = 0; i < result->n_precisions; i++) {
    const struct result_precision *p = &result->precisions[i];
    if (name != NULL ? strcmp(p->name, name) != 0 : p->n_ok == 0) continue;
    *ret = i;
    return true;
  }
  complain("lynxbench export: %s%s\n", name != NULL ? "the bundle has no precision " : "nothing was measured in this bundle",
           name != NULL ? name : "");
  return false;
}

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  struct lynx_error error = {0};
  size_t precision;
  if (arguments->option[FLAG_FORMULAS] != NULL) {
    for (size_t i = 0; i < n_foreign_formulas; i++) say("%-30s %s\n", foreign_formulas[i].id, foreign_formulas[i].definition);
    for (size_t i = 0; i < FORMULA_COUNT; i++) say("%-30s %s\n", formulas[i].id, formulas[i].definition);
    return EXIT_HOLDS;
  }
  if (arguments->n_positional == 0) {
    complain("lynxbench export: an argument is missing: BUNDLE (only --formulas needs none)\n");
    return EXIT_WRONG_INPUT;
  }
  const struct export_format *format = find_format(arguments->option[FLAG_FORMAT] != NULL ? arguments->option[FLAG_FORMAT] : "vllm");
  if (format == NULL || !bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  int code = EXIT_INCONCLUSIVE;
  buffer_init(&out, 1 << 30);
  if (find_precision(&file.result, arguments->option[FLAG_PRECISION], &precision)) {
    enum lynx_status status = export_precision(file.bundle, &file.result, precision, format, &out, &error);
    code = status != LYNX_OK ? report_error(&error) : write_buffer(arguments->option[FLAG_OUT], &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
  } else if (arguments->option[FLAG_PRECISION] != NULL) code = EXIT_WRONG_INPUT;
  buffer_release(&out);
  bundle_file_close(&file);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  confine_output(ret, arguments->option[FLAG_OUT]);
  return true;
}

const struct command command_export = {
    .name = "export",
    .summary = "write a run's requests in another tool's terms",
    .usage = "BUNDLE",
    .least = 0,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Teams' tools give the same names to different formulas. An export recomputes each figure by the formula of the tool\n"
               "that will read it, from the raw rows, and writes the formula's id beside it.",
    .example = "build/lynxbench export /tmp/null.lynx --format vllm",
    .confines = confines,
    .run = run};
