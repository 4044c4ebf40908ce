/* A result file of InferenceX (agg_*.json): one configuration's throughput per GPU and latencies, in seconds. It carries no date. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "history/series_file.h"

static bool recognise(const struct series_file *file) {
  return json_is_number(json_object_get(file->json, "tput_per_gpu")) && json_is_string(json_object_get(file->json, "hw"));
}

/* Its parallelism, which is part of what is compared: "tp 8", or "prefill tp 4, decode tp 8". */
static const char *parallelism(const json_t *root, struct series_run *run) {
  static const char *const keys[] = {
      "tp", "ep", "pp", "dcp_size", "pcp_size", "prefill_tp", "prefill_num_workers", "decode_tp", "decode_num_workers"};
  const char *text = "";
  for (size_t i = 0; i < LYNX_COUNT(keys); i++)
    if (json_get_int(root, keys[i], 1) != 1)
      text = arena_printf(&run->arena, "%s, %s %lld", text, keys[i], (long long)json_get_int(root, keys[i], 1));
  return text;
}

static enum lynx_status read_file(const struct series_file *file, struct series_run *run, struct lynx_error *error) {
  static const char *const throughputs[] = {"tput_per_gpu", "output_tput_per_gpu", "input_tput_per_gpu"};
  static const char *const latencies[] = {"ttft", "tpot", "itl", "e2el", "e2e_latency"};
  static const struct {
    const char *before, *after;
  } kinds[] = {{"mean_", ""}, {"median_", ""}, {"p90_", ""}, {"p95_", ""}, {"p99_", ""}, {"", "_p50"}, {"", "_p99"}};
  static const char *const counts[] = {"conc", "isl", "osl"};
  const json_t *root = file->json;
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < LYNX_COUNT(counts); i++)
    if (json_get_int(root, counts[i], -1) < 0)
      return lynx_fail(error, LYNX_INPUT, "%s: found no number; accepted: a whole number from 0", counts[i]);
  char key[64];
  run->name = arena_printf(&run->arena, "InferenceX: %s on %s, %s, speculation %s, %lld in, %lld out, %lld at once%s",
                           json_get_text(root, "model", "a model"), json_get_text(root, "hw", ""), json_get_text(root, "framework", ""),
                           json_get_text(root, "spec_decoding", "none"), (long long)json_get_int(root, "isl", 0),
                           (long long)json_get_int(root, "osl", 0), (long long)json_get_int(root, "conc", 0), parallelism(root, run));
  run->precision = json_get_text(root, "precision", "");
  const char *slash = strrchr(file->path, '/');
  run->label = arena_printf(&run->arena, "%s (%s)", slash != NULL ? slash + 1 : file->path, json_get_text(root, "image", "no image"));
  for (size_t i = 0; i < LYNX_COUNT(throughputs) && status == LYNX_OK; i++)
    status = series_add(run, throughputs[i], "tokens/s", BETTER_MORE, json_get_double(root, throughputs[i], NAN), error);
  for (size_t i = 0; i < LYNX_COUNT(latencies); i++)
    for (size_t k = 0; k < LYNX_COUNT(kinds) && status == LYNX_OK; k++) {
      (void)snprintf(key, sizeof key, "%s%s%s", kinds[k].before, latencies[i], kinds[k].after);
      status = series_add(run, key, "s", BETTER_LESS, json_get_double(root, key, NAN), error);
    }
  return status;
}

const struct series_reader series_inferencex = {
    .name = "inferencex", .files = "agg_*.json of InferenceX", .recognise = recognise, .read = read_file};
