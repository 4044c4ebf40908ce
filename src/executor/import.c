#include "executor/import.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/known_file.h"
#include "executor/capture.h"
#include "executor/device_text.h"
#include "executor/layer_map.h"
#include "executor/nvidia_smi.h"

enum { FILE_MAX = 32 << 20, LINES_MAX = 20000, HEAD_MAX = 1 << 16 };

static void add(struct fact_list *list, enum layer layer, enum fact_status status, const char *key, const char *value, const char *source) {
  fact_add(list, &(struct fact){
                     .layer = layer, .kind = FACT_IDENTITY, .status = status, .key = key, .value = value, .unit = "", .source = source});
}

/* "GCC version" -> "imported.gcc-version" */
static void imported_key(const char *name, char *key, size_t size) {
  size_t n = (size_t)snprintf(key, size, "imported.");
  for (const char *p = name; *p != 0 && n + 1 < size && n < 120; p++) {
    if (isalnum((unsigned char)*p)) key[n++] = (char)tolower((unsigned char)*p);
    else if (key[n - 1] != '-' && key[n - 1] != '.') key[n++] = '-';
  }
  while (n > 0 && key[n - 1] == '-') n--;
  key[n] = 0;
}

static bool is_nothing(const char *value) {
  static const char *const words[] = {"N/A", "None", "Could not collect", "", "n/a", "-"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcmp(value, words[i]) == 0) return true;
  return false;
}

/* --- collect_env: "Key: value" lines, GPUs and packages in lists --- */

static const struct {
  const char *name, *key;
  enum layer layer;
} lines[] = {{"PyTorch version", "torch.version", LAYER_FRAMEWORK},
             {"Is debug build", "torch.debug", LAYER_FRAMEWORK},
             {"CUDA used to build PyTorch", "torch.cuda", LAYER_FRAMEWORK},
             {"ROCM used to build PyTorch", "torch.hip", LAYER_FRAMEWORK},
             {"OS", "os.distribution", LAYER_SYSTEM},
             {"Libc version", "os.libc", LAYER_SYSTEM},
             {"Python version", "python.version-full", LAYER_FRAMEWORK},
             {"Nvidia driver version", "driver.nvidia", LAYER_SYSTEM},
             {"CUDA runtime version", "imported.cuda-runtime", LAYER_RUNTIME},
             {"cuDNN version", "imported.cudnn", LAYER_RUNTIME},
             {"CUDA_MODULE_LOADING set to", "environment.CUDA_MODULE_LOADING", LAYER_SYSTEM},
             {"Model name", "cpu.model", LAYER_ACCELERATOR},
             {"Vendor ID", "cpu.vendor", LAYER_ACCELERATOR},
             {"CPU family", "cpu.family", LAYER_ACCELERATOR},
             {"Model", "cpu.model-number", LAYER_ACCELERATOR},
             {"Stepping", "cpu.stepping", LAYER_ACCELERATOR},
             {"On-line CPU(s) list", "cpu.online", LAYER_ACCELERATOR},
             {"Socket(s)", "topology.packages", LAYER_ACCELERATOR},
             {"NUMA node(s)", "topology.numa-nodes", LAYER_ACCELERATOR},
             {"CPU(s)", "topology.threads", LAYER_ACCELERATOR},
             {"vLLM Version", "serving.version", LAYER_SERVING},
             {"vLLM Build Flags", "imported.vllm-build-flags", LAYER_SERVING}};

/* The same thing said in our way: "glibc-2.36" -> "2.36", "3.11.7 (main, ...)" -> "3.11.7", "Debian 12 (x86_64)" -> "Debian 12". */
static const char *in_our_words(const char *key, const char *value, char *text, size_t size) {
  (void)snprintf(text, size, "%s", value);
  char *end = NULL;
  if (strcmp(key, "os.libc") == 0 && strncmp(value, "glibc-", 6) == 0) return value + 6;
  if (strcmp(key, "python.version-full") == 0) end = strchr(text, ' ');
  if (strcmp(key, "os.distribution") == 0) end = strstr(text, " (x86_64)") != NULL ? strstr(text, " (x86_64)") : strstr(text, " (aarch64)");
  if (end != NULL) *end = 0;
  /* lscpu prints the kernel's "Mitigation: " with a semicolon. */
  if (strncmp(key, "mitigation.", 11) == 0 && strncmp(text, "Mitigation; ", 12) == 0) text[10] = ':';
  return text;
}

static void add_line(struct fact_list *list, const char *name, const char *value) {
  static const char source[] = "torch collect_env";
  char key[160], text[2000];
  enum layer layer = LAYER_SYSTEM;
  imported_key(name, key, sizeof key);
  for (size_t i = 0; i < LYNX_COUNT(lines); i++)
    if (strcmp(lines[i].name, name) == 0) {
      (void)snprintf(key, sizeof key, "%s", lines[i].key);
      layer = lines[i].layer;
    }
  if (strncmp(name, "Vulnerability ", 14) == 0) {
    imported_key(name + 14, key, sizeof key);
    char mitigation[180];
    (void)snprintf(mitigation, sizeof mitigation, "mitigation.%s", key + 9);
    for (char *p = mitigation; *p != 0; p++)
      if (*p == '-') *p = '_';
    add(list, layer, is_nothing(value) ? FACT_ABSENT : FACT_READ, mitigation, in_our_words(mitigation, value, text, sizeof text), source);
    return;
  }
  if (strcmp(name, "CPU MHz") == 0 || strcmp(name, "BogoMIPS") == 0) return; /* of that moment */
  bool without = strncmp(key, "torch.", 6) == 0 && is_nothing(value);
  if (without) value = "none: built without";
  add(list, layer, !without && is_nothing(value) ? FACT_ABSENT : FACT_READ, key, in_our_words(key, value, text, sizeof text), source);
}

/* "[pip3] numpy==1.26.4", "[conda] numpy 1.26.4 py311 conda-forge" */
static void add_package(struct fact_list *list, const char *line) {
  char name[128], version[128], key[200];
  const char *after = strchr(line, ']');
  if (after == NULL || strstr(after, "Could not collect") != NULL ||
      (sscanf(after + 1, " %127[^= ]==%127s", name, version) != 2 && sscanf(after + 1, " %127s %127s", name, version) != 2))
    return;
  for (char *p = name; *p != 0; p++) *p = *p == '_' || *p == '.' ? '-' : (char)tolower((unsigned char)*p);
  (void)snprintf(key, sizeof key, "python.package.%s", name);
  add(list, LAYER_FRAMEWORK, FACT_READ, key, version, "torch collect_env");
}

/* --- `nvidia-smi topo -m`, as newer ones hold it: a line of names, then one for each device --- */

enum { COLUMNS_MAX = 64 };

struct topology {
  char columns[COLUMNS_MAX][16]; /* "GPU0", "NIC0" */
  size_t n;
};

static bool is_device(const char *word) {
  return (strncmp(word, "GPU", 3) == 0 || strncmp(word, "NIC", 3) == 0 || strncmp(word, "mlx", 3) == 0) && strlen(word) < 16 &&
         strpbrk(word, "0123456789") != NULL;
}

/* The line of names begins with a blank. */
static bool read_columns(const char *line, struct topology *ret) {
  char copy[2000], *save = NULL;
  *ret = (struct topology){.n = 0};
  (void)snprintf(copy, sizeof copy, "%s", line);
  for (char *word = strtok_r(copy, " \t", &save); word != NULL && is_device(word) && ret->n < COLUMNS_MAX;
       word = strtok_r(NULL, " \t", &save))
    (void)snprintf(ret->columns[ret->n++], sizeof ret->columns[0], "%s", word);
  return ret->n > 1 && (line[0] == ' ' || line[0] == '\t');
}

/* Each pair once. */
static bool take_row(struct fact_list *list, const struct topology *t, const char *line) {
  char copy[2000], *save = NULL, key[80];
  size_t own = 0;
  (void)snprintf(copy, sizeof copy, "%s", line);
  const char *name = strtok_r(copy, " \t", &save);
  while (name != NULL && own < t->n && strcmp(t->columns[own], name) != 0) own++;
  if (name == NULL || own == t->n) return false;
  for (size_t k = 0; k < t->n; k++) {
    const char *word = strtok_r(NULL, " \t", &save);
    if (word == NULL) return true;
    if (k <= own) continue;
    (void)snprintf(key, sizeof key, "imported.link.%s-%s", name, t->columns[k]);
    add(list, LAYER_ACCELERATOR, FACT_READ, key, word, "nvidia-smi topo -m");
  }
  static const char *const affinities[] = {"cpu", "numa"}; /* what stands behind the links, of a GPU */
  for (size_t i = 0; i < LYNX_COUNT(affinities) && strncmp(name, "GPU", 3) == 0; i++) {
    const char *word = strtok_r(NULL, " \t", &save);
    if (word == NULL) break;
    (void)snprintf(key, sizeof key, "imported.affinity.%s.%s", name, affinities[i]);
    add(list, LAYER_SYSTEM, is_nothing(word) ? FACT_ABSENT : FACT_READ, key, word, "nvidia-smi topo -m");
  }
  return true;
}

/* "NCCL_CUMEM_ENABLE=0"; a value that may be a secret is not kept. */
static bool take_variable(struct fact_list *list, const char *line) {
  char key[200];
  size_t n = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  enum layer layer = LAYER_SYSTEM;
  const char *reason;
  if (n < 2 || n > 120 || line[n] != '=' || (line[0] >= '0' && line[0] <= '9')) return false;
  (void)snprintf(key, sizeof key, "environment.%.*s", (int)n, line);
  bool secret = variable_is_secret(key + 12) || value_may_be_secret(line + n + 1);
  if (!secret) (void)layer_of_variable(key + 12, &layer, &reason);
  if (!secret) add(list, layer, FACT_READ, key, line + n + 1, "collect_env"); /* what is withheld is not known to be alike */
  return true;
}

/* Tabs are blanks. */
static void take_words(char *ret, size_t size, const char *at, size_t n) {
  char blanks[2000];
  if (n > sizeof blanks - 1) n = sizeof blanks - 1;
  while (n > 0 && at[n - 1] == '\r') n--;
  for (size_t i = 0; i < n; i++) blanks[i] = at[i] == '\t' ? ' ' : at[i];
  text_sanitise(ret, size, blanks, n);
}

static void import_collect_env(const char *text, size_t length, struct fact_list *list) {
  int n_gpus = 0, n_lines = 0;
  char key[64], line[2000], count[16];
  struct topology topology = {.n = 0};
  for (const char *at = text, *end = text + length; at < end && n_lines < LINES_MAX; n_lines++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t n = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
    take_words(line, sizeof line, at, n);
    at += n + 1;
    char *first = line + strspn(line, " \t"), *colon = strchr(first, ':');
    struct topology columns;
    if (read_columns(line, &columns)) {
      topology = columns;
      continue;
    }
    if ((topology.n > 0 && take_row(list, &topology, line)) || take_variable(list, first)) continue;
    if (first[0] == '[') {
      add_package(list, first);
      continue;
    }
    if (colon == NULL || colon == first) continue;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    while (colon > first && colon[-1] == ' ') colon--; /* newer ones pad the names */
    *colon = 0;
    /* One GPU stands behind its heading, several below it. */
    const char *inner = strncmp(value, "GPU ", 4) == 0 ? strchr(value, ':') : NULL;
    if (strcmp(first, "GPU models and configuration") == 0 && inner != NULL) {
      static char gpu_0[] = "GPU 0";
      first = gpu_0;
      value = inner + 1 + strspn(inner + 1, " ");
    }
    if (strncmp(first, "GPU ", 4) == 0 && isdigit((unsigned char)first[4])) {
      (void)snprintf(key, sizeof key, "gpu.%d.name", n_gpus++);
      char name[200];
      (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(value, "("), value); /* "NVIDIA A100 (UUID: ...)" */
      while (name[0] != 0 && name[strlen(name) - 1] == ' ') name[strlen(name) - 1] = 0;
      add(list, LAYER_ACCELERATOR, FACT_READ, key, name, "torch collect_env");
    } else if (value[0] != 0) add_line(list, first, value); /* a heading has no value */
  }
  (void)snprintf(count, sizeof count, "%d", n_gpus);
  if (n_gpus > 0) add(list, LAYER_ACCELERATOR, FACT_READ, "gpu.count", count, "torch collect_env");
}

/* --- MLPerf --- */

static const struct {
  const char *name, *key;
  enum layer layer;
} fields[] = {{"host_processor_model_name", "cpu.model", LAYER_ACCELERATOR},
              {"host_processors_per_node", "topology.packages", LAYER_ACCELERATOR},
              {"host_processor_core_count", "imported.cores-per-processor", LAYER_ACCELERATOR},
              {"host_memory_capacity", "memory.installed", LAYER_PROCUREMENT},
              {"host_memory_configuration", "memory.modules", LAYER_PROCUREMENT},
              {"accelerators_per_node", "gpu.count", LAYER_ACCELERATOR},
              {"accelerator_model_name", "gpu.0.name", LAYER_ACCELERATOR},
              {"accelerator_memory_capacity", "gpu.0.memory", LAYER_ACCELERATOR},
              {"operating_system", "os.distribution", LAYER_SYSTEM},
              {"framework", "imported.framework", LAYER_FRAMEWORK},
              {"other_software_stack", "imported.other-software-stack", LAYER_RUNTIME},
              {"cooling", "imported.cooling", LAYER_FACILITY},
              {"system_name", "imported.system-name", LAYER_PROCUREMENT}};

static void import_mlperf(const json_t *root, struct fact_list *list) {
  const char *name;
  json_t *member;
  json_object_foreach((json_t *)(uintptr_t)root, name, member) {
    char key[160], number[40], plain[160];
    enum layer layer = strncmp(name, "accelerator", 11) == 0 ? LAYER_ACCELERATOR
                       : strncmp(name, "sw_", 3) == 0        ? LAYER_FRAMEWORK
                                                             : LAYER_PROCUREMENT;
    const char *value = json_string_value(member);
    text_sanitise(plain, sizeof plain, name, strlen(name));
    imported_key(plain, key, sizeof key);
    for (size_t i = 0; i < LYNX_COUNT(fields); i++)
      if (strcmp(fields[i].name, name) == 0) {
        (void)snprintf(key, sizeof key, "%s", fields[i].key);
        layer = fields[i].layer;
      }
    (void)snprintf(number, sizeof number, json_is_integer(member) ? "%.0f" : "%g", json_number_value(member));
    if (value == NULL && json_is_number(member)) value = number;
    if (value != NULL) add(list, layer, is_nothing(value) ? FACT_ABSENT : FACT_DECLARED, key, value, "MLPerf system description");
  }
}

enum lynx_status capture_import(const char *text, size_t length, struct fact_list *ret, struct lynx_error *error) {
  size_t blank = 0;
  while (blank < length && strchr(" \t\r\n", text[blank]) != NULL && text[blank] != 0) blank++;
  const char *something = known_file_text(text, length < HEAD_MAX ? length : HEAD_MAX, "diff");
  bool environment = memmem(text, length, "PyTorch version", 15) != NULL,
       ours = environment || memmem(text, length, "\"lynx_capture\"", 14) != NULL ||
              memmem(text, length, "accelerators_per_node", 21) != NULL || memmem(text, length, "nvidia_smi_log", 14) != NULL;
  const char *tool = device_text_tool(text, length);
  bool topology = memmem(text, length, "CPU Affinity", 12) != NULL && memmem(text, length, "GPU0", 4) != NULL; /* nvidia-smi topo -m */
  if (!ours && !topology && tool == NULL && something != NULL) return lynx_fail(error, LYNX_INPUT, "it is %s", something);
  if (length > blank && text[blank] == '{') {
    json_t *root = json_parse(text, length, FILE_MAX, error);
    if (root == NULL) return error != NULL && error->status != LYNX_OK ? error->status : LYNX_INPUT;
    bool mlperf = json_object_get(root, "lynx_capture") == NULL && json_object_get(root, "accelerators_per_node") != NULL;
    if (mlperf) import_mlperf(root, ret);
    json_decref(root);
    fact_sort(ret);
    if (mlperf && ret->n_items == 0) return lynx_fail(error, LYNX_INPUT, "a system description that describes nothing");
    return mlperf ? LYNX_OK : capture_read(text, length, ret, error);
  }
  bool xml = length > blank && text[blank] == '<' && (!environment || memmem(text, length, "nvidia_smi_log", 14) != NULL);
  if (xml) { /* what is pasted into an issue begins with <details> as well */
    enum lynx_status status = nvidia_smi_import(text, length, ret, error);
    fact_sort(ret);
    return status;
  }
  if (!environment && !topology && tool == NULL)
    return lynx_fail(error, LYNX_INPUT,
                     "not an executor: accepted are lynxbench captures and bundles, the text of PyTorch's collect_env, what nvidia-smi, "
                     "rocm-smi, amd-smi, npu-smi and hl-smi print, `nvidia-smi -q -x` and `topo -m`, and MLPerf's system description");
  struct lynx_error none = {0};
  bool alone = !environment && !topology;
  if (tool != NULL && device_text_import(text, length, ret, alone ? error : &none) != LYNX_OK && alone) return error->status;
  if (!alone) import_collect_env(text, length, ret);
  fact_sort(ret);
  return ret->n_items > 0 ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "it holds no line that collect_env prints");
}
