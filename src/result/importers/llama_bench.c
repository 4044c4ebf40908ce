/* llama-bench -o json or jsonl: tokens per second of prompt processing and of generation, sample by sample. */
#include <math.h>
#include <string.h>

#include "result/import_result.h"

enum { ROWS_MAX = 1000, LINE_MAX_BYTES = 1 << 20 };

static bool recognise(const struct import_file *file) {
  return strstr(file->text, "\"avg_ts\"") != NULL && strstr(file->text, "\"n_prompt\"") != NULL;
}

/* Each sample says how long it took: tokens over that is what it states, and what the mean is of. */
static void check_samples(struct imported *m, const char *name, const json_t *row, double tokens) {
  const json_t *took = json_object_get(row, "samples_ns"), *rates = json_object_get(row, "samples_ts");
  double sum = 0, sum_ns = 0;
  size_t n = json_array_size(took);
  if (n == 0 || n != json_array_size(rates)) {
    import_lacks(m, arena_printf(&m->arena, "%s: its samples are not in it", name));
    return;
  }
  for (size_t i = 0; i < n; i++) {
    double ns = json_number_value(json_array_get(took, i)), rate = json_number_value(json_array_get(rates, i));
    import_agree(m, arena_printf(&m->arena, "%s, sample %zu", name, i + 1), rate, "its tokens over its time", tokens / (ns / 1e9), 0.001);
    sum += rate;
    sum_ns += ns;
  }
  import_agree(m, arena_printf(&m->arena, "'avg_ts' of %s", name), json_get_double(row, "avg_ts", NAN), "the mean of its samples",
               sum / (double)n, 0.001);
  import_agree(m, arena_printf(&m->arena, "'avg_ns' of %s", name), json_get_double(row, "avg_ns", NAN), "the mean of its samples",
               sum_ns / (double)n, 0.001);
  m->seconds += sum_ns / 1e9;
}

static enum lynx_status take_row(const json_t *row, struct imported *m, struct lynx_error *error) {
  int64_t prompt, generated, depth;
  if (!import_tokens(json_get_double(row, "n_prompt", 0), &prompt) || !import_tokens(json_get_double(row, "n_gen", 0), &generated) ||
      !import_tokens(json_get_double(row, "n_depth", 0), &depth) || isnan(json_get_double(row, "avg_ts", NAN)))
    return lynx_fail(error, LYNX_INPUT, "a test without avg_ts, or whose n_prompt, n_gen or n_depth is no number of tokens");
  const char *name = arena_printf(
      &m->arena, "%s%lld%s%s%s", prompt > 0 ? "prompt of " : "generation of ", (long long)(prompt > 0 ? prompt : generated),
      prompt > 0 && generated > 0 ? arena_printf(&m->arena, " and generation of %lld", (long long)generated) : "",
      depth > 0 ? arena_printf(&m->arena, " after %lld", (long long)depth) : "", " tokens");
  if (m->version[0] == 0) {
    m->model = import_words(m, json_get_text(row, "model_filename", ""));
    m->version = import_words(m, arena_printf(&m->arena, "build %lld (%.20s)", (long long)json_get_int(row, "build_number", 0),
                                              json_get_text(row, "build_commit", "")));
    m->begun = import_words(m, json_get_text(row, "test_time", ""));
  }
  import_figure_add(m, arena_printf(&m->arena, "%s, tokens per second", name), "llama_bench.rate.1", "1/s",
                    json_get_double(row, "avg_ts", NAN));
  import_figure_add(m, arena_printf(&m->arena, "%s, standard deviation", name), "llama_bench.rate.1", "1/s",
                    json_get_double(row, "stddev_ts", NAN));
  check_samples(m, name, row, (double)prompt + (double)generated);
  return LYNX_OK;
}

struct rows {
  struct imported *imported;
  size_t n;
};

static enum lynx_status take_one(struct rows *rows, const json_t *row, struct lynx_error *error) {
  if (rows->n++ == ROWS_MAX) return lynx_fail(error, LYNX_LIMIT, "more than %d tests", ROWS_MAX);
  return take_row(row, rows->imported, error);
}

static enum lynx_status take_line(void *context, const char *line, size_t length, struct lynx_error *error) {
  json_t *row = json_parse_python(line, length, LINE_MAX_BYTES, error);
  enum lynx_status status = row != NULL ? take_one(context, row, error) : error->status;
  json_decref(row);
  return status;
}

static enum lynx_status read_all(const struct import_file *files, size_t n, struct imported *ret, struct lynx_error *error) {
  struct rows rows = {.imported = ret};
  enum lynx_status status = LYNX_OK;
  ret->tool = "llama-bench";
  if (n > 1) return lynx_fail(error, LYNX_INPUT, "a second file; accepted: one");
  import_lacks(ret, "tokenisation and sampling are outside what llama-bench times");
  if (files[0].text[strspn(files[0].text, " \t\r\n")] != '[') return import_each_line(&files[0], take_line, &rows, error);
  json_t *root = json_parse_python(files[0].text, files[0].length, IMPORT_FILE_BYTES_MAX, error);
  if (root == NULL) return error->status;
  for (size_t i = 0; i < json_array_size(root) && status == LYNX_OK; i++) status = take_one(&rows, json_array_get(root, i), error);
  json_decref(root);
  return status;
}

const struct importer importer_llama_bench = {.name = "llama_bench",
                                              .summary = "llama-bench of llama.cpp",
                                              .files = "what `llama-bench -o json` or `-o jsonl` prints",
                                              .recognise = recognise,
                                              .read = read_all};
