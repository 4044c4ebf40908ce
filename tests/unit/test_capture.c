/* Probes on a recorded machine: tests/recorded/plain, a few files of /proc and /sys. */
#include "executor/capture.h"
#include "executor/difference.h"
#include "executor/layer_map.h"
#include "tests/check.h"

static void recorded(void) {
  const struct root root = {RECORDED "/plain"};
  struct fact_list facts = {0};
  struct capture_request request = {.root = &root, .clock = &clock_system, .endpoint = "http://127.0.0.1:8000"};
  CHECK_INT(capture_find_listener(&root, 8000), 42);
  CHECK_INT(capture_find_listener(&root, 8001), 0);
  capture_run(&request, &facts);
  static const struct {
    const char *key, *value;
    enum layer layer;
    enum fact_status status;
  } rows[] = {
      {"cpu.model", "Recorded CPU 9000", LAYER_ACCELERATOR, FACT_READ},
      {"cpu.microcode", "0x2b", LAYER_ACCELERATOR, FACT_READ},
      {"cpu.isa", "sse4_2 avx avx2 avx512f avx512_vnni amx_tile amx_bf16", LAYER_ACCELERATOR, FACT_READ},
      {"machine.virtual", "no", LAYER_SYSTEM, FACT_READ},
      {"cpu.governor", "performance", LAYER_SYSTEM, FACT_READ},
      {"cpu.boost", "No such file or directory", LAYER_SYSTEM, FACT_ABSENT}, /* never 0 for absent */
      {"memory.total", "65536000 kB", LAYER_SYSTEM, FACT_READ},
      {"os.distribution", "Recorded Linux 1", LAYER_SYSTEM, FACT_READ},
      {"mitigation.meltdown", "Not affected", LAYER_SYSTEM, FACT_READ},
      {"cgroup.version", "2", LAYER_SYSTEM, FACT_READ},
      {"cgroup.cpu-max", "200000 100000", LAYER_SYSTEM, FACT_READ},
      {"process.argument.--model", "m", LAYER_SERVING, FACT_READ},
      {"probe.topology", "the recorded tree holds no topology", LAYER_ACCELERATOR, FACT_UNSUPPORTED},
      {"process.argument.--api-key", "(hidden: may be a secret)", LAYER_SERVING, FACT_READ},
      {"environment.OMP_NUM_THREADS", "8", LAYER_RUNTIME, FACT_READ},
  };
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    const struct fact *fact = fact_find(&facts, rows[i].key);
    check_true(fact != NULL, rows[i].key, __FILE__, __LINE__);
    if (fact == NULL) continue;
    CHECK_TEXT(fact->value, rows[i].value);
    CHECK_INT(fact->layer, rows[i].layer);
    CHECK_INT(fact->status, rows[i].status);
  }
  /* Libraries, each on its layer, with a version from its name. */
  const struct fact *dnnl = fact_find(&facts, "library.libdnnl.so");
  CHECK(dnnl != NULL && dnnl->layer == LAYER_RUNTIME);
  CHECK_CONTAINS(dnnl != NULL ? dnnl->value : "", "version 2.6");
  /* Planted secrets are nowhere. */
  for (size_t i = 0; i < facts.n_items; i++) CHECK(strstr(facts.items[i].value, "hunter2") == NULL);

  /* A file and back; the fingerprint is of what it is, not of how it is. */
  struct buffer json;
  struct fact_list back = {0};
  struct difference_list differences;
  struct lynx_error error = {0};
  char a[DIGEST_HEX], b[DIGEST_HEX];
  buffer_init(&json, 1 << 20);
  CHECK(capture_write(&facts, &(struct capture_head){.taken_at = "2026-01-01T00:00:00Z"}, &json));
  CHECK_INT(capture_read(json.data, json.length, &back, &error), LYNX_OK);
  capture_fingerprint(&facts, a);
  capture_fingerprint(&back, b);
  CHECK_TEXT(b, a);
  capture_diff(&facts, &back, &differences);
  CHECK_INT(differences.n_items, 0);
  difference_list_release(&differences);
  fact_list_release(&facts);

  facts = (struct fact_list){0};
  const struct root other = {RECORDED "/other"};
  request.root = &other;
  capture_run(&request, &facts);
  capture_diff(&back, &facts, &differences);
  bool governor = false;
  for (size_t i = 0; i < differences.n_items; i++)
    if (strcmp(differences.items[i].key, "cpu.governor") == 0) {
      governor = true;
      CHECK_INT(differences.items[i].layer, LAYER_SYSTEM);
      CHECK_TEXT(differences.items[i].a, "performance");
      CHECK_TEXT(differences.items[i].b, "powersave");
    }
  CHECK(governor);
  CHECK(differences.n_identity > 0);
  difference_list_release(&differences);
  fact_list_release(&facts);
  fact_list_release(&back);
  CHECK_INT(capture_read("{}", 2, &back, &error), LYNX_INPUT);
  buffer_release(&json);
}

static void holes(void) {
  const struct root root = {RECORDED "/plain"};
  struct fact_list facts = {0};
  struct capture_request request = {.root = &root, .clock = &clock_system, .endpoint = "http://192.0.2.1:80"};
  capture_run(&request, &facts);
  const struct fact *hole = fact_find(&facts, "hole.remote-host");
  CHECK(hole != NULL);
  CHECK_CONTAINS(hole != NULL ? hole->value : "", "another host");
  fact_list_release(&facts);
  facts = (struct fact_list){0};
  request.endpoint = "http://127.0.0.1:8001"; /* nobody listens that we can see */
  request.behind_proxy = true;
  capture_run(&request, &facts);
  CHECK(fact_find(&facts, "hole.serving-process") != NULL);
  CHECK(fact_find(&facts, "hole.behind-proxy") != NULL);
  fact_list_release(&facts);
}

static void secrets(void) {
  static const struct {
    const char *name;
    bool secret;
  } rows[] = {{"HF_TOKEN", true},         {"OPENAI_API_KEY", true},          {"VLLM_API_KEY", true}, {"MY_PASSWORD", true},
              {"OMP_NUM_THREADS", false}, {"TOKENIZERS_PARALLELISM", false}, {"--api-key", true},    {"--max-model-len", false}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) CHECK_INT(variable_is_secret(rows[i].name), rows[i].secret);
  enum layer layer;
  const char *reason;
  CHECK(!layer_of_variable("VLLM_API_KEY", &layer, &reason)); /* performance-relevant by its prefix, and still never recorded */
  CHECK_INT(layer_of_library("libcudart.so.12"), LAYER_RUNTIME);
  CHECK_INT(layer_of_library("libc.so.6"), LAYER_SYSTEM);
  CHECK_INT(layer_of_library("libtorch_cpu.so"), LAYER_FRAMEWORK);
}

int main(void) {
  recorded();
  holes();
  secrets();
  return check_end();
}
