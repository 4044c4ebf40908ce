#include "attribute/live_roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "executor/capture.h"

enum { RECORD_MAX = 65536 };

/* "1100048384 bytes in 1 files" */
static double weight_bytes(const struct live *live) {
  const char *text = live_fact(live, LAYER_APPLICATION, "model.size");
  int64_t bytes;
  if (text == NULL || !number_int64(text, strspn(text, "0123456789"), &bytes) || bytes <= 0) return NAN;
  return (double)bytes;
}

/* "BF16 100.0 % of 1.1 G parameters" */
static double parameters(const struct live *live) {
  const char *text = live_fact(live, LAYER_APPLICATION, "model.tensor-types"), *of = text != NULL ? strstr(text, " of ") : NULL;
  if (of == NULL) return NAN;
  double n = strtod(of + 4, NULL);
  if (!(n > 0) || !(n < 1e6)) return NAN;
  return strstr(of, " G parameters") != NULL ? n * 1e9 : strstr(of, " M parameters") != NULL ? n * 1e6 : NAN;
}

static double ceiling(const json_t *record, const char *name) {
  const json_t *list = json_object_get(record, "ceilings");
  size_t i;
  const json_t *one;
  json_array_foreach(list, i, one) {
    double value = json_get_double(one, "value", 0);
    if (strcmp(json_get_text(one, "name", ""), name) == 0 && value > 0 && isfinite(value)) return value;
  }
  return NAN;
}

/* The type in which it computed, as the ceilings call it: what the executor said, else what the weights are kept in. */
static const char *type_of(const struct live *live) {
  static const struct {
    const char *part, *type;
  } types[] = {{"bf16", "bf16"},   {"bfloat16", "bf16"}, {"int8", "int8"},   {"i8", "int8"}, {"f16", "f16"},
               {"float16", "f16"}, {"f64", "f64"},       {"float64", "f64"}, {"f32", "f32"}, {"float32", "f32"}};
  const char *said[] = {live->precision->executed, live_fact(live, LAYER_APPLICATION, "model.tensor-types"),
                        live_fact(live, LAYER_APPLICATION, "model.declared-type")};
  for (size_t k = 0; k < LYNX_COUNT(said); k++)
    for (size_t i = 0; i < LYNX_COUNT(types) && said[k] != NULL; i++)
      if (strcasestr(said[k], types[i].part) != NULL) return types[i].type;
  return "f32";
}

static bool same_machine(const struct live *live, const json_t *record) {
  char own[DIGEST_HEX];
  return capture_fingerprint_layer(&live->facts, LAYER_ACCELERATOR, own) && strcmp(own, json_get_text(record, "fingerprint", "")) == 0;
}

/* Why these definitions do not hold here; NULL: nothing says so. */
static const char *not_applicable(const struct live *live) {
  const char *accelerators = live_fact(live, LAYER_ACCELERATOR, "accelerator.count");
  static const char *const experts[] = {"moe",  "mixtral", "deepseek", "gpt_oss", "gptoss",     "dbrx",      "llama4",   "jamba",
                                        "grok", "arctic",  "minimax",  "kimi",    "qwen3_next", "qwen3next", "ernie4_5", "hunyuan"};
  const char *kinds[] = {live_fact(live, LAYER_APPLICATION, "model.type"), live_fact(live, LAYER_APPLICATION, "model.architecture")};
  if (accelerators != NULL && strcmp(accelerators, "0") != 0)
    return "the machine has accelerators: these are ceilings of its processors, and where the model ran is not known";
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++)
    for (size_t k = 0; kinds[i] != NULL && k < LYNX_COUNT(experts); k++)
      if (strcasestr(kinds[i], experts[k]) != NULL) return "the model has experts: how many of its weights a step reads is not known";
  return NULL;
}

void live_roofline_read(struct live *live, const char *ceilings) {
  struct live_roofline *r = &live->roofline;
  const struct result_precision *p = live->precision;
  json_t *record = ceilings != NULL ? json_parse(ceilings, strlen(ceilings), RECORD_MAX, NULL) : NULL;
  double step_ns = p->latency[METRIC_TIME_PER_OUTPUT_TOKEN].at[0].quantile.estimate, tokens = p->output_rate.estimate;
  *r = (struct live_roofline){.weight_bytes = weight_bytes(live), .parameters = parameters(live), .type = type_of(live), .why = ""};
  r->bandwidth = ceiling(record, "memory.triad");
  r->arithmetic = ceiling(record, arena_printf(&live->arena, "arithmetic.%s", r->type));
  r->read_hz = p->has_tokens && step_ns > 0 ? r->weight_bytes / (step_ns / 1e9) : NAN;
  double prompts = p->mean_output_tokens > 0 && p->mean_prompt_tokens > 0 ? tokens * p->mean_prompt_tokens / p->mean_output_tokens : 0;
  r->operations_hz = p->has_tokens && tokens > 0 ? 2 * r->parameters * (tokens + prompts) : NAN;
  if (record == NULL)
    r->why = "this machine's ceilings are not known: `lynxbench calibrate` measures them, and every later run carries them";
  else if (not_applicable(live) != NULL) {
    r->why = not_applicable(live);
    r->bandwidth = r->arithmetic = NAN;
  } else if (!same_machine(live, record)) {
    r->why = "the ceilings that the run carries are of other processors than the server's";
    r->bandwidth = r->arithmetic = NAN;
  } else if (!(r->weight_bytes > 0)) r->why = "the size of the model is not known: its files are not visible to this user";
  if (r->read_hz > 1.1 * r->bandwidth || r->operations_hz > 1.1 * r->arithmetic) {
    r->why = "it comes out above the ceilings, so that they are not its own: caches hold the model, or units compute that were not "
             "measured (AMX)";
    r->bandwidth = r->arithmetic = NAN;
  }
  json_decref(record);
}
