#include "cli/compare_instruments.h"

#include <string.h>

#include "cli/bundle_file.h"
#include "cli/text_file.h"
#include "report/instruments_report.h"
#include "telemetry/metrics.h"

/* A page of Prometheus's text says so in its first comments, and a result file never begins so. */
static bool is_metrics_page(const struct buffer *text) {
  return strncmp(text->data, "# HELP", 6) == 0 || strncmp(text->data, "# TYPE", 6) == 0 || strstr(text->data, "\n# TYPE ") != NULL;
}

static bool read_bundle(const char *path, struct instrument *ret) {
  struct bundle_file file;
  struct lynx_error error = {0};
  if (!bundle_file_open_possible(path, &file)) return false;
  bool good = instrument_of_bundle(file.bundle, &file.result, path, ret, &error) == LYNX_OK;
  if (!good) report_error(&error);
  bundle_file_close(&file);
  return good;
}

/* AIPerf writes its requests into a file of their own: behind the summary they are of the same side. */
static bool is_of_requests(const struct buffer *text) {
  return strstr(text->data, "\"request_start_ns\"") != NULL;
}

/* The file at *at, with the next one where that holds its requests. */
static bool read_result(const char *const *paths, size_t n, size_t *at, const struct buffer *text, const char *digest,
                        struct instrument *ret) {
  const char *path = paths[*at];
  struct import_file files[2] = {{.path = path, .text = text->data, .length = text->length}};
  struct imported imported;
  struct lynx_error error = {0};
  struct buffer second;
  size_t n_files = 1;
  memcpy(files[0].digest, digest, sizeof files[0].digest);
  if (*at + 1 < n && !is_of_requests(text) && !file_is_record(paths[*at + 1])) {
    if (!text_file_read(paths[*at + 1], IMPORT_FILE_BYTES_MAX, &second, files[1].digest)) return false;
    files[1].path = paths[*at + 1];
    files[1].text = second.data;
    files[1].length = second.length;
    if (is_of_requests(&second)) n_files = 2, ++*at;
    else buffer_release(&second);
  }
  enum lynx_status status = import_read(files, n_files, NULL, 1, &imported, &error);
  if (n_files == 2) buffer_release(&second);
  if (status != LYNX_OK) return report_error(&error), false;
  if (imported.n_parts > 1) {
    complain("lynxbench compare: %s: holds %zu runs; accepted: a file of one run\n", path, imported.n_parts);
    return import_release(&imported), false;
  }
  instrument_of_import(&imported, ret);
  return true;
}

/* The page at *at, and the one behind it. */
static bool read_server(const char *const *files, size_t n, size_t *at, const struct buffer *before, struct instrument *ret) {
  struct buffer after;
  struct lynx_error error = {0};
  const char *path = files[*at];
  if (*at + 1 >= n || file_is_record(files[*at + 1])) {
    complain("lynxbench compare: %s: a metrics page; accepted: two of them, before and after the run\n"
             "next: curl URL/metrics > before.prom; run the load; curl URL/metrics > after.prom\n",
             path);
    return false;
  }
  path = files[++*at];
  if (!text_file_read(path, METRICS_PAGE_MAX, &after, NULL)) return false;
  bool good = is_metrics_page(&after);
  if (!good) complain("lynxbench compare: %s: not a metrics page; accepted: the page after the run, behind the one before it\n", path);
  else
    good = instrument_of_server((struct bytes){before->data, before->length}, (struct bytes){after.data, after.length}, path, ret,
                                &error) == LYNX_OK;
  if (error.status != LYNX_OK) report_error(&error);
  buffer_release(&after);
  return good;
}

/* The side that begins at *at, which is then behind it. */
static bool read_side(const char *const *files, size_t n, size_t *at, struct instrument *ret) {
  struct buffer text;
  char digest[DIGEST_HEX];
  const char *path = files[*at];
  bool good;
  if (file_is_record(path)) good = read_bundle(path, ret);
  else if (!text_file_read(path, IMPORT_FILE_BYTES_MAX, &text, digest)) good = false;
  else {
    good = is_metrics_page(&text) ? read_server(files, n, at, &text, ret) : read_result(files, n, at, &text, digest, ret);
    buffer_release(&text);
  }
  ++*at;
  return good;
}

static int show(const struct instrument sides[2], double margin, bool json) {
  struct instruments *judged = xalloc(1, sizeof *judged);
  struct buffer out;
  buffer_init(&out, 16 << 20);
  instruments_judge(&sides[0], &sides[1], margin, judged);
  bool whole = json ? instruments_json(judged, &sides[0], &sides[1], &out) : instruments_text(judged, &sides[0], &sides[1], &out);
  int code = judged->verdict == INSTRUMENTS_AGREE       ? EXIT_HOLDS
             : judged->verdict == INSTRUMENTS_EXPLAINED ? EXIT_DOES_NOT_HOLD
                                                        : EXIT_INCONCLUSIVE;
  if (!write_buffer(NULL, &out) || !whole) code = EXIT_CONDITIONS;
  buffer_release(&out);
  instruments_release(judged);
  free(judged);
  return code;
}

int compare_instruments(const char *const *files, size_t n, double margin, bool json) {
  struct instrument sides[2];
  size_t n_sides = 0, at = 0;
  bool good = true;
  int code = EXIT_WRONG_INPUT;
  while (good && at < n && n_sides < 2) {
    good = read_side(files, n, &at, &sides[n_sides]);
    n_sides += good;
  }
  if (good && at < n)
    complain("lynxbench compare: --instruments: found files behind two sides, from %s on; accepted: two sides: each a result, a bundle, or "
             "two metrics pages\n",
             files[at]);
  else if (good && n_sides < 2)
    complain("lynxbench compare: --instruments: found %zu side%s in %zu file%s; accepted: two sides: each a result, a bundle, or two "
             "metrics pages\n",
             n_sides, LYNX_S(n_sides), n, LYNX_S(n));
  else if (good) code = show(sides, margin, json);
  for (size_t i = 0; i < n_sides; i++) instrument_release(&sides[i]);
  return code;
}
