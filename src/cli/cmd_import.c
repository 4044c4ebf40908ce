#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/shell.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/option_value.h"
#include "cli/text_file.h"
#include "report/import_report.h"
#include "result/import_result.h"

enum { FLAG_OUT, FLAG_FORMAT, FLAG_FORMATS, FLAG_PART, FLAG_JSON };

static const struct option_spec options[] = {[FLAG_OUT] = OPTION("out", "FILE", "the bundle (default: the first file's name with .lynx)"),
                                             [FLAG_FORMAT] = OPTION("format", "NAME", "instead of recognising it; --formats lists them"),
                                             [FLAG_FORMATS] = SWITCH("formats", "only list what can be imported"),
                                             [FLAG_PART] = OPTION_WITH("part", "N", "which of several benchmarks in the file (default 1)",
                                                                       VALUE_COUNT, 1, 1000000, "a whole number from 1"),
                                             [FLAG_JSON] = SWITCH_JSON};

/* What could be made of it is printed; where memory was gone, that is told. */
static bool print_whole(bool whole, const struct buffer *text, const char *out) {
  if (whole) return write_buffer(NULL, text);
  complain("lynxbench: there is no memory to show what was imported; the bundle is whole: lynxbench show %s\n", shell_word(out));
  return false;
}

static bool show(const struct imported *m, const char *out, const char *root) {
  struct buffer text, json;
  struct json_writer writer;
  buffer_init_shown(&text, 64 << 20);
  buffer_init(&json, 64 << 20);
  json_begin(&writer, &json);
  import_json(m, &writer);
  bool good = json_finish(&writer) &&
              buffer_printf(&text, "%s%s%s%s%s%s%s\n", m->tool, m->version[0] != 0 ? " " : "", m->version,
                            m->model[0] != 0 ? ", model " : "", m->model, m->begun[0] != 0 ? ", " : "", m->begun) &&
              import_text(json.data, true, &text) &&
              buffer_printf(&text, "\n%s: %zu request%s, root %.16s\nnext: lynxbench show %s\n", out, m->n_requests, LYNX_S(m->n_requests),
                            root, shell_word(out));
  good = print_whole(good, &text, out);
  buffer_release(&text);
  buffer_release(&json);
  return good;
}

static bool show_json(const struct imported *m, const char *out, const char *root) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 64 << 20);
  json_begin_object(&json, &text);
  json_put_text(&json, "bundle", out);
  json_put_text(&json, "root", root);
  json_put_int(&json, "requests", (int64_t)m->n_requests);
  json_key(&json, "imported");
  import_json(m, &json);
  json_close(&json);
  bool good = json_finish(&json) && buffer_text(&text, "\n");
  good = print_whole(good, &text, out);
  buffer_release(&text);
  return good;
}

/* False: reported. */
static bool load(const char *path, struct import_file *ret, struct buffer *text) {
  *ret = (struct import_file){.path = path};
  if (!text_file_read(path, IMPORT_FILE_BYTES_MAX, text, ret->digest)) return false;
  ret->text = text->data;
  ret->length = text->length;
  return true;
}

/* What cannot be read is not left there. False: reported. */
static bool reads_back(const char *path) {
  struct bundle_file file;
  bool good = bundle_file_open(path, &file);
  if (good) bundle_file_close(&file);
  else (void)unlink(path); /* it was reported why */
  return good;
}

/* --out, or the first file's name with .lynx, in this folder. */
static const char *bundle_path(const struct arguments *arguments) {
  static char out[4200];
  if (arguments->option[FLAG_OUT] != NULL) return arguments->option[FLAG_OUT];
  const char *slash = strrchr(arguments->positional[0], '/');
  (void)snprintf(out, sizeof out - 8, "%s", slash != NULL ? slash + 1 : arguments->positional[0]);
  char *dot = strrchr(out, '.');
  bool again = dot != NULL && strcmp(dot, ".lynx") == 0; /* what is read stays */
  if (dot != NULL && dot != out) *dot = 0;
  if (again) (void)strncat(out, "-imported", sizeof out - strlen(out) - 1);
  (void)strncat(out, ".lynx", sizeof out - strlen(out) - 1);
  return out;
}

enum { IMPORTED_BUNDLE_MAX = 2000000000 };

static bool hand_over(const char *made, const char *to) {
  struct buffer bytes;
  if (!read_file(made, IMPORTED_BUNDLE_MAX, &bytes)) return false;
  bool good = write_new_output(to, bytes.data, bytes.length);
  buffer_release(&bytes);
  return good;
}

static int import_all(const struct arguments *arguments, struct import_file *files, size_t n) {
  struct imported imported;
  struct lynx_error error = {0};
  char root[DIGEST_HEX], out[4200];
  int64_t part = option_count(arguments, FLAG_PART, 1);
  const char *to = bundle_path(arguments), *at = to;
  if (confine_scratch() != NULL && access(to, F_OK) != 0) { /* it is made there, and handed over whole */
    (void)snprintf(out, sizeof out, "%.4000s/new", confine_scratch());
    at = out;
  }
  if (import_read(files, n, arguments->option[FLAG_FORMAT], (size_t)part, &imported, &error) != LYNX_OK) return report_error(&error);
  int code = EXIT_HOLDS;
  if (import_write(&imported, at, root, &error) != LYNX_OK) code = report_error(&error);
  else if (!reads_back(at)) code = EXIT_WRONG_INPUT;
  else if (at != to && !hand_over(at, to)) code = EXIT_CONDITIONS;
  else {
    if (!(arguments->option[FLAG_JSON] != NULL ? show_json(&imported, to, root) : show(&imported, to, root))) code = EXIT_CONDITIONS;
    if (code == EXIT_HOLDS && imported.n_against > 0) code = EXIT_DOES_NOT_HOLD;
  }
  import_release(&imported);
  return code;
}

static int run(const struct arguments *arguments) {
  struct import_file files[IMPORT_FILES_MAX];
  struct buffer texts[IMPORT_FILES_MAX];
  size_t n = 0, wanted = (size_t)arguments->n_positional;
  if (arguments->option[FLAG_FORMATS] != NULL) {
    for (size_t i = 0; importers[i] != NULL; i++) say("%-16s %s: %s\n", importers[i]->name, importers[i]->summary, importers[i]->files);
    return EXIT_HOLDS;
  }
  if (wanted == 0 || wanted > IMPORT_FILES_MAX) {
    complain("lynxbench import: found %zu files; accepted: 1 to %d (only --formats needs none)\n", wanted, IMPORT_FILES_MAX);
    return EXIT_WRONG_INPUT;
  }
  while (n < wanted && load(arguments->positional[n], &files[n], &texts[n])) n++;
  int code = n == wanted ? import_all(arguments, files, n) : EXIT_WRONG_INPUT;
  for (size_t i = 0; i < n; i++) buffer_release(&texts[i]);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  if (arguments->n_positional == 0) return false;
  confine_output(ret, bundle_path(arguments));
  ret->scratch = ret->makes_new = true;
  return true;
}

const struct command command_import = {
    .name = "import",
    .summary = "read another tool's results as a bundle",
    .usage = "FILE ...",
    .least = 0,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "FILEs are of one run: MLPerf LoadGen's logs, AIPerf, GuideLLM, vllm bench serve, inference-perf, llama-bench.\n"
               "Every figure keeps the id of its tool's own formula and is recomputed where the file holds requests. What the files\n"
               "say against each other or themselves is named; then the exit code is 1. The bundle works with show, compare,\n"
               "export and diff, and supports no claim: what it lacks is told.",
    .example = "rm -f /tmp/im.lynx; build/lynxbench import tests/recorded/imports/mlperf/mlperf_log_detail.txt "
               "tests/recorded/imports/mlperf/mlperf_log_summary.txt --out /tmp/im.lynx",
    .run = run,
    .confines = confines};
