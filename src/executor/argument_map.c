#include "executor/argument_map.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 24, DIGITS_MAX = 7, FILE_NAME_MAX = 200, SETTING_MAX = 40 };

/* Source: the servers' own --help and documentation. */
static const struct argument arguments[] = {
    {"--max-num-seqs", LAYER_SERVING, "batch-most", "batching"},
    {"--max-num-batched-tokens", LAYER_SERVING, "batch-tokens-most", "batching"},
    {"--max-running-requests", LAYER_SERVING, "batch-most", "batching"},
    {"--max-batch-size", LAYER_SERVING, "batch-most", "batching"},
    {"--max-batch", LAYER_SERVING, "batch-most", "batching"},
    {"--max-concurrent-requests", LAYER_SERVING, "requests-most", "batching"},
    {"--max-batch-prefill-tokens", LAYER_SERVING, "prefill-tokens-most", "batching"},
    {"--max-batch-total-tokens", LAYER_SERVING, "batch-tokens-most", "batching"},
    {"--max-prefill-tokens", LAYER_SERVING, "prefill-tokens-most", "batching"},
    {"--waiting-served-ratio", LAYER_SERVING, "waiting-served-ratio", "batching"},
    {"--enable-chunked-prefill", LAYER_SERVING, "chunked-prefill", "batching"},
    {"--chunked-prefill-size", LAYER_SERVING, "chunked-prefill-size", "batching"},
    {"--schedule-policy", LAYER_SERVING, "schedule-policy", "batching"},
    {"--scheduling-policy", LAYER_SERVING, "schedule-policy", "batching"},
    {"--schedule-conservativeness", LAYER_SERVING, "schedule-conservativeness", "batching"},
    {"--batch-size", LAYER_SERVING, "batch-tokens-most", "batching"},
    {"-b", LAYER_SERVING, "batch-tokens-most", "batching"},
    {"--ubatch-size", LAYER_SERVING, "micro-batch", "batching"},
    {"-ub", LAYER_SERVING, "micro-batch", "batching"},
    {"--parallel", LAYER_SERVING, "slots", "batching"},
    {"-np", LAYER_SERVING, "slots", "batching"},
    {"--cont-batching", LAYER_SERVING, "continuous-batching", "batching"},
    {"--no-cont-batching", LAYER_SERVING, "no-continuous-batching", "batching"},
    {"--max-model-len", LAYER_SERVING, "context", "cache"},
    {"--context-length", LAYER_SERVING, "context", "cache"},
    {"--max-total-tokens", LAYER_SERVING, "context", "cache"},
    {"--max-input-tokens", LAYER_SERVING, "input-most", "cache"},
    {"--ctx-size", LAYER_SERVING, "context", "cache"},
    {"-c", LAYER_SERVING, "context", "cache"},
    {"--gpu-memory-utilization", LAYER_SERVING, "memory-share", "cache"},
    {"--mem-fraction-static", LAYER_SERVING, "memory-share", "cache"},
    {"--cuda-memory-fraction", LAYER_SERVING, "memory-share", "cache"},
    {"--kv-cache-dtype", LAYER_SERVING, "kv-cache-type", "cache"},
    {"--cache-type-k", LAYER_SERVING, "kv-cache-type-k", "cache"},
    {"--cache-type-v", LAYER_SERVING, "kv-cache-type-v", "cache"},
    {"-ctk", LAYER_SERVING, "kv-cache-type-k", "cache"},
    {"-ctv", LAYER_SERVING, "kv-cache-type-v", "cache"},
    {"--block-size", LAYER_SERVING, "block-size", "cache"},
    {"--page-size", LAYER_SERVING, "block-size", "cache"},
    {"--enable-prefix-caching", LAYER_SERVING, "prefix-caching", "cache"},
    {"--no-enable-prefix-caching", LAYER_SERVING, "no-prefix-caching", "cache"},
    {"--disable-radix-cache", LAYER_SERVING, "no-prefix-caching", "cache"},
    {"--swap-space", LAYER_SERVING, "swap-space", "cache"},
    {"--cpu-offload-gb", LAYER_SERVING, "cpu-offload", "cache"},
    {"--tensor-parallel-size", LAYER_SERVING, "tensor-parallel", "parallelism"},
    {"-tp", LAYER_SERVING, "tensor-parallel", "parallelism"},
    {"--tp-size", LAYER_SERVING, "tensor-parallel", "parallelism"},
    {"--tp", LAYER_SERVING, "tensor-parallel", "parallelism"},
    {"--num-shard", LAYER_SERVING, "tensor-parallel", "parallelism"},
    {"--pipeline-parallel-size", LAYER_SERVING, "pipeline-parallel", "parallelism"},
    {"-pp", LAYER_SERVING, "pipeline-parallel", "parallelism"},
    {"--data-parallel-size", LAYER_SERVING, "data-parallel", "parallelism"},
    {"--dp-size", LAYER_SERVING, "data-parallel", "parallelism"},
    {"--expert-parallel-size", LAYER_SERVING, "expert-parallel", "parallelism"},
    {"--enable-expert-parallel", LAYER_SERVING, "expert-parallel", "parallelism"},
    {"--gpu-layers", LAYER_SERVING, "layers-on-gpu", "parallelism"},
    {"--n-gpu-layers", LAYER_SERVING, "layers-on-gpu", "parallelism"},
    {"-ngl", LAYER_SERVING, "layers-on-gpu", "parallelism"},
    {"--threads", LAYER_SERVING, "threads", "parallelism"},
    {"-t", LAYER_SERVING, "threads", "parallelism"},
    {"--threads-batch", LAYER_SERVING, "threads-batch", "parallelism"},
    {"--enforce-eager", LAYER_SERVING, "enforce-eager", "execution"},
    {"--disable-cuda-graph", LAYER_SERVING, "no-cuda-graph", "execution"},
    {"--cuda-graph-max-bs", LAYER_SERVING, "cuda-graph-batch-most", "execution"},
    {"--cuda-graphs", LAYER_SERVING, "cuda-graphs", "execution"},
    {"--enable-torch-compile", LAYER_SERVING, "torch-compile", "execution"},
    {"--compilation-config", LAYER_SERVING, "compilation", "execution"},
    {"-O", LAYER_SERVING, "compilation", "execution"},
    {"--attention-backend", LAYER_SERVING, "attention-backend", "execution"},
    {"--flash-attn", LAYER_SERVING, "flash-attention", "execution"},
    {"-fa", LAYER_SERVING, "flash-attention", "execution"},
    {"--quantization", LAYER_SERVING, "quantisation", "execution"},
    {"-q", LAYER_SERVING, "quantisation", "execution"},
    {"--quantize", LAYER_SERVING, "quantisation", "execution"},
    {"--dtype", LAYER_SERVING, "data-type", "execution"},
    {"--precision", LAYER_SERVING, "data-type", "execution"},
    {"--speculative-config", LAYER_SERVING, "speculative", "execution"},
    {"--speculative-algorithm", LAYER_SERVING, "speculative", "execution"},
    {"--model-repository", LAYER_SERVING, "model-repository", "models"},
    {"--model-control-mode", LAYER_SERVING, "model-control-mode", "models"},
    {"--backend-config", LAYER_SERVING, "backend-config", "execution"},
    /* what is served */
    {"--model", LAYER_SERVING, NULL, "which model is served"},
    {"--model-path", LAYER_SERVING, NULL, "which model is served"},
    {"--model-id", LAYER_SERVING, NULL, "which model is served"},
    {"--model-dir", LAYER_SERVING, NULL, "which model is served"},
    {"--weights", LAYER_SERVING, NULL, "which model is served"},
    {"--served-model-name", LAYER_SERVING, NULL, "by which name it is asked for"},
    {"--alias", LAYER_SERVING, NULL, "by which name it is asked for"},
    {"--revision", LAYER_SERVING, NULL, "which model is served"},
    {"--tokenizer", LAYER_SERVING, NULL, "which tokenizer"},
    {"--tokenizer-path", LAYER_SERVING, NULL, "which tokenizer"},
    {"--tokenizer-mode", LAYER_SERVING, NULL, "which tokenizer"},
    {"--load-format", LAYER_SERVING, NULL, "how weights are read"},
    {"--shape", LAYER_SERVING, NULL, "shape of the reference model"},
    {"--precisions", LAYER_SERVING, NULL, "precisions of the reference model"},
    {"--device", LAYER_SERVING, NULL, "where it runs"},
    {"--devices", LAYER_SERVING, NULL, "where it runs"},
    {"--backend", LAYER_SERVING, NULL, "which backend runs it"},
    {"--distributed-executor-backend", LAYER_SERVING, NULL, "how its workers are started"},
    {"--split-mode", LAYER_SERVING, NULL, "how the model is split"},
    {"--main-gpu", LAYER_SERVING, NULL, "where it runs"},
    {"--numa", LAYER_SERVING, NULL, "where its memory lies"},
    {"--workers", LAYER_SERVING, NULL, "how many processes serve"},
    {"--worker-class", LAYER_SERVING, NULL, "how its workers serve"},
    {"--loop", LAYER_SERVING, NULL, "the event loop"},
    {"--http", LAYER_SERVING, NULL, "the HTTP parser"},
    {"--seed", LAYER_SERVING, NULL, "seed of sampling"},
    /* where it listens and writes: another port is the same executor */
    {"--port", LAYER_SERVING, NULL, "where it listens"},
    {"--host", LAYER_SERVING, NULL, "where it listens"},
    {"--address", LAYER_SERVING, NULL, "where it listens"},
    {"--uds", LAYER_SERVING, NULL, "where it listens"},
    {"--bind", LAYER_SERVING, NULL, "where it listens"},
    {"--log", LAYER_SERVING, NULL, "where it writes"},
    {"--log-file", LAYER_SERVING, NULL, "where it writes"},
    {"--log-level", LAYER_SERVING, NULL, "how much it writes"},
    /* of the interpreter */
    {"-m", LAYER_SERVING, NULL, "the module, or the model, that is run"},
    {"-X", LAYER_FRAMEWORK, NULL, "an option of Python"},
    {"-W", LAYER_FRAMEWORK, NULL, "an option of Python"},
};

const struct argument *argument_find(const char *name) {
  for (size_t i = 0; i < LYNX_COUNT(arguments); i++)
    if (strcmp(arguments[i].name, name) == 0) return &arguments[i];
  return NULL;
}

static bool is_word(const char *value) {
  static const char *const words[] = {
      "true",    "false",    "on",       "off",      "yes",   "no",     "none",  "null", "auto",   "default", "all", "any",   "float32",
      "float16", "bfloat16", "float64",  "half",     "float", "fp32",   "fp16",  "bf16", "fp8",    "f32",     "f16", "int8",  "int4",
      "uint8",   "tf32",     "fp8_e4m3", "fp8_e5m2", "cpu",   "cuda",   "gpu",   "xpu",  "hpu",    "tpu",     "mps", "debug", "info",
      "warning", "error",    "critical", "trace",    "serve", "server", "start", "run",  "launch", "(given)"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasecmp(value, words[i]) == 0) return true;
  return false;
}

/* "8192", "-1", "0.9", "1e-3", "512MiB", "0,1,2", "0-3": a number of at most seven digits on either side of a point, with a unit of at most
 * three letters; several after commas; or a range. Longer ones are numbers of cards and people. */
static bool is_number(const char *value) {
  size_t n = strlen(value), digits = 0, letters = 0, dashes = 0;
  if (n == 0 || n > NUMBER_MAX || value[strspn(value, "0123456789.,-+:%eEkKMGTiBmsunh")] != 0) return false;
  bool digit = false;
  for (size_t i = 0; i < n; i++) {
    bool is_digit = isdigit((unsigned char)value[i]) != 0, is_letter = isalpha((unsigned char)value[i]) != 0;
    if (is_digit && letters > 0 && strchr("eE+-", value[i - 1]) == NULL) return false;
    digits = is_digit ? digits + 1 : value[i] == '.' || value[i] == ',' || value[i] == '-' ? 0 : digits;
    digit = digit || is_digit;
    dashes += i > 0 && value[i] == '-' && strchr("eE", value[i - 1]) == NULL;
    letters = is_letter ? letters + 1 : value[i] == ',' ? 0 : letters;
    if (digits > DIGITS_MAX || dashes > 1 || letters > 3 || (is_letter && !digit)) return false;
  }
  return digit;
}

/* Parts of a name or a path: no '@' or ':' that a password could stand beside. */
static bool is_name(const char *value, size_t most) {
  static const char in_names[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-";
  size_t n = strlen(value);
  return n > 0 && n <= most && value[strspn(value, in_names)] == 0;
}

/* "server.py", "/srv/models/tiny.gguf": programs, models and settings are called so, keys are not. */
static bool is_file(const char *value) {
  static const char *const ends[] = {".py",          ".sh",  ".js",   ".jar",  ".rb",    ".pl",     ".gguf", ".onnx",
                                     ".safetensors", ".pt",  ".pth",  ".json", ".yaml",  ".yml",    ".toml", ".engine",
                                     ".plan",        ".xml", ".conf", ".ini",  ".jinja", ".tflite", ".so"};
  size_t n = strlen(value);
  if (!is_name(value, FILE_NAME_MAX)) return false;
  for (size_t i = 0; i < LYNX_COUNT(ends); i++) {
    size_t end = strlen(ends[i]);
    if (n > end && strcmp(value + n - end, ends[i]) == 0) return true;
  }
  return false;
}

bool argument_is_name(const char *value) {
  return is_name(value, FILE_NAME_MAX);
}

/* Short flags mean other things to other programs; a setting is a word, a name of something served or listened at may be a path. */
bool argument_fits(const struct argument *argument, const char *value) {
  bool address = strcmp(argument->reason, "where it listens") == 0;
  if (argument->name[1] != '-') return argument_is_plain(value);
  if (address && value[strspn(value, "0123456789abcdefABCDEF.:[]")] == 0) return strlen(value) < 60;
  return argument_is_plain(value) || is_name(value, argument->setting != NULL ? SETTING_MAX : FILE_NAME_MAX);
}

bool argument_is_plain(const char *value) {
  return is_word(value) || is_number(value) || is_file(value);
}
