/* Probes on a recorded machine: tests/recorded/plain, a few files of /proc and /sys. */
#include <signal.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "executor/file_digest.h"
#include "executor/layer_map.h"
#include "executor/model_header.h"
#include "executor/probe_run.h"
#include "tests/check.h"

static void recorded(void) {
  const struct root root = {RECORDED "/plain"};
  struct fact_list facts = {0};
  struct capture_request request = {.root = &root, .clock = &clock_system, .endpoint = "http://127.0.0.1:8000"};
  CHECK_INT(capture_find_listener(&root, &(struct endpoint){.port = 8000}), 42);
  CHECK_INT(capture_find_listener(&root, &(struct endpoint){.port = 8001}), 0);
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
      {"memory.modules", "2 of 3 slots filled", LAYER_PROCUREMENT, FACT_READ},
      {"memory.installed", "81920 MB", LAYER_PROCUREMENT, FACT_READ},
      {"memory.type", "DDR5", LAYER_PROCUREMENT, FACT_READ},
      {"memory.speed-configured", "4800 MT/s", LAYER_PROCUREMENT, FACT_READ},
      {"memory.part", "PART-32G", LAYER_PROCUREMENT, FACT_READ},
      {"system.serial", "SN-0001", LAYER_PROCUREMENT, FACT_READ},
      {"processor.sockets", "1 populated", LAYER_PROCUREMENT, FACT_READ},
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

/* The tree over the eight leaves of the Certificate Transparency reference implementation's tests. */
static void trees(void) {
  static const char *const leaves[] = {"", "\x00", "\x10", "\x20\x21", "\x30\x31", "@ABC", "PQRSTUVW", "`abcdefghijklmno"};
  static const size_t lengths[] = {0, 1, 1, 2, 2, 4, 8, 16};
  static const char *const roots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                                      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                                      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                                      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                                      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                                      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                                      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                                      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  struct digest_leaf hashes[LYNX_COUNT(leaves)];
  for (size_t n = 0; n < LYNX_COUNT(leaves); n++) {
    uint8_t root[DIGEST_BYTES];
    char hex[DIGEST_HEX];
    digest_leaf_of(leaves[n], lengths[n], &hashes[n]);
    digest_tree(hashes, n + 1, root);
    CHECK_TEXT(digest_hex(root, hex), roots[n]);
  }
}

static void versions(void) {
  static const struct {
    const char *a, *b;
    int order;
  } rows[] = {{"1.9", "1.10", -1},
              {"2.0", "2.0rc1", 1},
              {"535.129.03", "535.54.03", 1},
              {"12.4", "12.4", 0},
              {"2.4.1+cu121", "2.4.1", 0},
              {"2.4.0+cu121", "2.4.1+cpu", -1},
              {"1.0", "1.0.1", -1},
              {"6.1.0-18", "6.1.0-9", 1},
              {"2.0.dev1", "2.0", -1},
              {"007", "7", 0},
              {"10", "9", 1}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    CHECK_INT(version_compare(rows[i].a, rows[i].b), rows[i].order);
    CHECK_INT(version_compare(rows[i].b, rows[i].a), -rows[i].order);
  }
}

static void model_headers(void) {
  static const struct {
    const char *file, *format, *types, *architecture;
  } rows[] = {{"safetensors", "safetensors", "BF16 94.1 %, F32 5.9 % of 3.4e-05 M parameters", ""},
              {"gguf", "GGUF", "Q4_K 97.7 %, F32 2.3 % of 0.001048 M parameters", "llama"},
              {"onnx", "ONNX", "F32 88.9 %, F16 11.1 % of 3.6e-05 M parameters", ""}};
  const struct root root = {RECORDED "/../fuzz/corpus/model"};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    struct model_header header = {.n_files = 0};
    struct buffer bytes;
    char path[64], text[400];
    buffer_init(&bytes, 65536);
    (void)snprintf(path, sizeof path, "/%s", rows[i].file);
    CHECK_INT(root_read(&root, path, &bytes, NULL), LYNX_OK);
    CHECK(model_header_read((const uint8_t *)bytes.data, bytes.length, &header));
    CHECK_TEXT(header.format, rows[i].format);
    CHECK_TEXT(header.architecture, rows[i].architecture);
    CHECK_TEXT(model_types_text(&header, text, sizeof text), rows[i].types);
    /* Cut anywhere inside its header, it is refused, and nothing of it is counted. */
    for (size_t n = 0; n < bytes.length && i == 1; n++) {
      struct model_header cut = {.n_files = 0};
      CHECK(!model_header_read((const uint8_t *)bytes.data, n, &cut) && cut.n_tensors == 0);
    }
    buffer_release(&bytes);
  }
}

/* Probes that hang, crash, and answer, in this order. */
static const char *always(const struct probe_target *target) {
  (void)target;
  return NULL;
}

static void hang(const struct probe_target *target, struct fact_list *facts) {
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "before.it-hung", "kept", "", "test");
  for (;;) (void)pause();
}

static void crash(const struct probe_target *target, struct fact_list *facts) {
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "before.it-crashed", "kept", "", "test");
  (void)raise(SIGKILL);
}

static void answer(const struct probe_target *target, struct fact_list *facts) {
  const struct fact *kept = fact_find(facts, "before.it-hung"); /* it sees what others read before it, also in another child */
  probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "answer", kept != NULL ? kept->value : "alone", "", "test");
}

static void isolation(void) {
  static const struct probe probes[] = {{"hangs", "", "", LAYER_SYSTEM, 0, always, hang},
                                        {"crashes", "", "", LAYER_SYSTEM, 0, always, crash},
                                        {"answers", "", "", LAYER_SYSTEM, 0, always, answer}};
  static const struct probe *const all[] = {&probes[0], &probes[1], &probes[2], NULL};
  const struct root root = {""};
  struct probe_target target = {.root = &root, .clock = &clock_system};
  struct fact_list facts = {0};
  probes_run(all, &target, 200000000, &facts);
  static const char *const rows[][2] = {
      {"before.it-hung", "kept"},
      {"before.it-crashed", "kept"},
      {"answer", "kept"},
      {"probe.hangs", "did not end within 0.2 s, and was given up; what it had read by then is kept"},
      {"probe.crashes", "ended by signal 9 while it was asked; what it had read by then is kept"},
      {"hole.probe.hangs",
       "what the probe 'hangs' reads (): it did not end within 0.2 s, and was given up; what it had read by then is kept"},
      {"hole.probe.crashes",
       "what the probe 'crashes' reads (): it ended by signal 9 while it was asked; what it had read by then is kept"}};
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    const struct fact *fact = fact_find(&facts, rows[i][0]);
    CHECK_TEXT(fact != NULL ? fact->value : "(no such fact)", rows[i][1]);
  }
  CHECK_INT(facts.n_items, LYNX_COUNT(rows));
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
  CHECK(layer_of_library("libcudart.so.12", &layer) && layer == LAYER_RUNTIME);
  CHECK(layer_of_library("libc.so.6", &layer) && layer == LAYER_SYSTEM);
  CHECK(layer_of_library("libtorch_cpu.so", &layer) && layer == LAYER_FRAMEWORK);
  CHECK(!layer_of_library("libours.so.1", &layer));                                              /* nobody's by default */
  CHECK(layer_of_library("libscipy_openblas64_-ff651d7f.so", &layer) && layer == LAYER_RUNTIME); /* as NumPy's wheel has it */
  CHECK(layer_of_library("libopenblas64_p-r0-0cf96a72.3.23.dev.so", &layer) && layer == LAYER_RUNTIME);
  CHECK(library_serves_its_caller("libcrypto.so.3") && library_serves_its_caller("libz-eb09ad1d.so.1.2.3"));
  CHECK(!library_serves_its_caller("libssl.so.3") && !library_serves_its_caller("libscipy_openblas64_-ff651d7f.so"));
}

int main(void) {
  recorded();
  holes();
  trees();
  versions();
  model_headers();
  isolation();
  secrets();
  return check_end();
}
