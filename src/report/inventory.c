#include "report/inventory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static const char *known(const struct fact_list *facts, const char *key) {
  const struct fact *fact = fact_find(facts, key);
  return fact != NULL && fact_is_known(fact) ? fact->value : NULL;
}

/* --- CycloneDX --- */

static void put_property(struct json_writer *json, const char *name, const char *value) {
  json_open_object(json);
  json_put_text(json, "name", name);
  json_put_text(json, "value", value);
  json_close(json);
}

static void begin_component(struct json_writer *json, const char *type, const char *reference, const char *name, const char *version) {
  json_open_object(json);
  json_put_text(json, "type", type);
  json_put_text(json, "bom-ref", reference);
  json_put_text(json, "name", name);
  if (version != NULL && version[0] != 0) json_put_text(json, "version", version);
}

/* Everything else of a layer, as properties: nothing that was read is lost in the format. */
static void put_properties(struct json_writer *json, const struct fact_list *facts, const char *prefix) {
  json_key(json, "properties");
  json_open_array(json);
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *f = &facts->items[i];
    char name[400];
    if (!fact_is_known(f) || f->kind == FACT_STATE || strncmp(f->key, prefix, strlen(prefix)) != 0) continue;
    (void)snprintf(name, sizeof name, "lynxbench:%s:%.300s", layer_text(f->layer), f->key);
    put_property(json, name, f->value);
  }
  json_close(json);
}

static void put_model(struct json_writer *json, const struct fact_list *facts) {
  const char *asked = known(facts, "model.asked-for"), *name = known(facts, "model.name"), *digest = known(facts, "model.digest"),
             *architecture = known(facts, "model.architecture");
  if (known(facts, "model.path") == NULL && asked == NULL && digest == NULL) return;
  begin_component(json, "machine-learning-model", "model",
                  name != NULL    ? name
                  : asked != NULL ? asked
                                  : "model",
                  known(facts, "model.revision"));
  json_key(json, "modelCard");
  json_open_object(json);
  json_key(json, "modelParameters");
  json_open_object(json);
  if (architecture != NULL) json_put_text(json, "modelArchitecture", architecture);
  json_close(json);
  json_close(json);
  put_properties(json, facts, "model.");
  json_close(json);
}

/* "version 2.6; build id c740..." */
static void put_library(struct json_writer *json, const struct fact *f) {
  char version[128] = "";
  size_t n = strlen(f->key);
  if (n > 5 && strcmp(f->key + n - 5, ".path") == 0) return;
  if (strncmp(f->value, "version ", 8) == 0) (void)snprintf(version, sizeof version, "%.*s", (int)strcspn(f->value + 8, ";"), f->value + 8);
  begin_component(json, "library", f->key, f->key + 8, version);
  json_key(json, "properties");
  json_open_array(json);
  put_property(json, "lynxbench:layer", layer_text(f->layer));
  put_property(json, "lynxbench:build", f->value);
  json_close(json);
  json_close(json);
}

static void put_package(struct json_writer *json, const struct fact *f) {
  char url[300];
  const char *name = f->key + 15;
  size_t n = strlen(name);
  if ((n > 6 && strcmp(name + n - 6, ".files") == 0) || (n > 7 && strcmp(name + n - 7, ".origin") == 0)) return;
  begin_component(json, "library", f->key, name, f->value);
  (void)snprintf(url, sizeof url, "pkg:pypi/%.120s@%.120s", name, f->value);
  /* A local version ("+cu121") is none of the index's; and what would have to be escaped is none that it could hold. */
  if (strspn(f->value, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_") == strlen(f->value))
    json_put_text(json, "purl", url); /* a local version is none of the index's */
  json_close(json);
}

static void put_metadata(struct json_writer *json, const char *fingerprint, const char *taken_at) {
  json_key(json, "metadata");
  json_open_object(json);
  json_put_text(json, "timestamp", taken_at);
  json_key(json, "tools");
  json_open_object(json);
  json_key(json, "components");
  json_open_array(json);
  begin_component(json, "application", "lynxbench", "lynxbench", LYNX_VERSION);
  json_close(json);
  json_close(json);
  json_close(json);
  json_key(json, "component");
  begin_component(json, "platform", "executor", "AI executor", NULL);
  json_key(json, "properties");
  json_open_array(json);
  put_property(json, "lynxbench:fingerprint", fingerprint);
  json_close(json);
  json_close(json);
  json_close(json);
}

bool inventory_cyclonedx(const struct fact_list *facts, const char *fingerprint, const char *taken_at, struct buffer *ret) {
  struct json_writer json;
  char serial[64];
  /* A UUID of version 8 (RFC 9562) from the fingerprint: the same executor has the same document number. */
  (void)snprintf(serial, sizeof serial, "urn:uuid:%.8s-%.4s-8%.3s-8%.3s-%.12s", fingerprint, fingerprint + 8, fingerprint + 12,
                 fingerprint + 15, fingerprint + 18);
  json_begin_object(&json, ret);
  json_put_text(&json, "bomFormat", "CycloneDX");
  json_put_text(&json, "specVersion", "1.6");
  json_put_text(&json, "serialNumber", serial);
  json_put_int(&json, "version", 1);
  put_metadata(&json, fingerprint, taken_at);
  json_key(&json, "components");
  json_open_array(&json);
  put_model(&json, facts);
  static const struct {
    const char *type, *id, *name, *version, *prefix;
  } parts[] = {{"application", "serving", "serving.server", "serving.version", "serving."},
               {"operating-system", "os", "os.distribution", "kernel.release", "kernel."},
               {"device", "cpu", "cpu.model", NULL, "cpu."},
               {"device", "gpu", "gpu.0.name", NULL, "gpu."}};
  for (size_t i = 0; i < LYNX_COUNT(parts); i++) {
    if (known(facts, parts[i].name) == NULL) continue;
    begin_component(&json, parts[i].type, parts[i].id, known(facts, parts[i].name),
                    parts[i].version != NULL ? known(facts, parts[i].version) : NULL);
    put_properties(&json, facts, parts[i].prefix);
    json_close(&json);
  }
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *f = &facts->items[i];
    if (!fact_is_known(f)) continue;
    if (strncmp(f->key, "library.", 8) == 0) put_library(&json, f);
    if (strncmp(f->key, "python.package.", 15) == 0) put_package(&json, f);
  }
  json_close(&json);
  return json_end_line(&json);
}

/* --- MLPerf --- */

/* In the order of MLPerf's own descriptions. */
static const struct {
  const char *field, *key;
} mlperf_fields[] = {{"division", NULL},
                     {"submitter", NULL},
                     {"status", NULL},
                     {"system_name", "declared.system_name"},
                     {"number_of_nodes", NULL},
                     {"host_processor_model_name", "cpu.model"},
                     {"host_processors_per_node", "topology.packages"},
                     {"host_processor_core_count", "topology.cores"},
                     {"host_processor_frequency", "cpu.hardware-frequency-most"},
                     {"host_processor_caches", "topology.l3"},
                     {"host_processor_interconnect", "declared.host_processor_interconnect"},
                     {"host_memory_capacity", "memory.size"},
                     {"host_memory_configuration", "memory.modules"},
                     {"host_storage_capacity", "storage.size"},
                     {"host_storage_type", "storage.model"},
                     {"host_networking", "declared.host_networking"},
                     {"host_networking_topology", "declared.host_networking_topology"},
                     {"host_network_card_count", "declared.host_network_card_count"},
                     {"accelerators_per_node", "gpu.count"},
                     {"accelerator_model_name", "gpu.0.name"},
                     {"accelerator_memory_capacity", "gpu.0.memory"},
                     {"accelerator_memory_configuration", "gpu.0.memory-bus"},
                     {"accelerator_frequency", "gpu.0.clock.sm-most"},
                     {"accelerator_host_interconnect", "gpu.0.pcie-generation-most"},
                     {"accelerator_interconnect", "gpu.0.nvlink"},
                     {"accelerator_interconnect_topology", "gpu.0.common-ancestor"},
                     {"accelerator_on-chip_memories", "declared.accelerator_on-chip_memories"},
                     {"framework", "serving.server"},
                     {"operating_system", "os.distribution"},
                     {"other_software_stack", NULL},
                     {"cooling", "declared.cooling"},
                     {"system_type", "declared.system_type"},
                     {"system_type_detail", "declared.system_type_detail"},
                     {"hw_notes", NULL},
                     {"sw_notes", NULL}};

static void put_software(struct json_writer *json, const struct fact_list *facts) {
  static const char *const keys[] = {"kernel.release", "driver.nvidia", "driver.cuda", "torch.version", "python.version", "os.libc"};
  struct buffer software;
  buffer_init(&software, 65536);
  (void)buffer_text(&software, "");
  for (size_t k = 0; k < LYNX_COUNT(keys); k++)
    if (known(facts, keys[k]) != NULL)
      (void)buffer_printf(&software, "%s%s %s", software.length > 0 ? ", " : "", keys[k], known(facts, keys[k]));
  json_put_text(json, "other_software_stack", software.data != NULL ? software.data : "");
  buffer_release(&software);
}

static void put_known(struct json_writer *json, const struct fact_list *facts, const char *field, const struct fact *fact) {
  char value[600], *end;
  (void)snprintf(value, sizeof value, "%.500s%s%.60s", fact->value, fact->unit[0] != 0 ? " " : "", fact->unit);
  long whole = strtol(fact->value, &end, 10);
  const char *packages = known(facts, "topology.packages");
  if (strcmp(field, "host_processor_core_count") == 0 && packages != NULL && strtol(packages, NULL, 10) > 0)
    whole /= strtol(packages, NULL, 10); /* of one processor */
  bool number = *end == 0 && end != fact->value && (strstr(field, "count") != NULL || strstr(field, "per_node") != NULL);
  if (number) json_put_int(json, field, whole);
  else json_put_text(json, field, value);
}

bool inventory_mlperf(const struct fact_list *facts, struct buffer *ret) {
  struct json_writer json;
  struct buffer missing;
  buffer_init(&missing, 65536);
  json_begin_object(&json, ret);
  for (size_t i = 0; i < LYNX_COUNT(mlperf_fields); i++) {
    const char *field = mlperf_fields[i].field;
    const struct fact *fact = mlperf_fields[i].key != NULL ? fact_find(facts, mlperf_fields[i].key) : NULL;
    if (strcmp(field, "number_of_nodes") == 0) json_put_int(&json, field, 1);
    else if (strcmp(field, "other_software_stack") == 0) put_software(&json, facts);
    else if (strcmp(field, "sw_notes") == 0 || strcmp(field, "hw_notes") == 0) continue;
    else if (fact != NULL && fact_is_known(fact)) put_known(&json, facts, field, fact);
    else {
      (void)buffer_printf(&missing, "%s%s", missing.length > 0 ? ", " : "", field);
      json_put_text(&json, field, "");
    }
  }
  json_put_text(&json, "hw_notes", "");
  char notes[3000];
  (void)snprintf(notes, sizeof notes, "From a lynxbench capture. Not known to it, and left empty to be filled in: %.2800s",
                 missing.data != NULL ? missing.data : "nothing");
  json_put_text(&json, "sw_notes", notes);
  json_close(&json);
  buffer_release(&missing);
  return json_finish(&json) && buffer_text(ret, "\n");
}

/* --- Markdown --- */

/* The page is for people, in whatever shows it. */
static void put_cell(struct buffer *out, const char *text) {
  for (size_t i = 0, n, length = strlen(text); i < length; i += n) {
    const unsigned char *p = (const unsigned char *)text + i;
    n = utf8_length(p, length - i);
    bool misleads = n == 0 || text_misleads(p, n);
    if (n == 1 && strchr("|\\<`*_[]!&", *p) != NULL) (void)buffer_text(out, "\\");
    (void)buffer_append(out, misleads ? "?" : text + i, misleads ? 1 : n);
    n += n == 0;
  }
}

bool inventory_markdown(const struct fact_list *facts, const char *fingerprint, const char *taken_at, struct buffer *ret) {
  (void)buffer_printf(ret, "# AI executor %.12s\n\nCaptured %s by lynxbench %s. Fingerprint `%s`.\n", fingerprint, taken_at, LYNX_VERSION,
                      fingerprint);
  for (int layer = 0; layer < LAYER_COUNT; layer++) {
    bool headed = false;
    for (size_t i = 0; i < facts->n_items; i++) {
      const struct fact *f = &facts->items[i];
      if (f->layer != (enum layer)layer || f->kind == FACT_STATE) continue;
      if (!headed)
        (void)buffer_printf(ret, "\n## %s (usually owned by %s)\n\n| fact | value | source |\n|---|---|---|\n", layer_text(f->layer),
                            layer_default_owner(f->layer));
      headed = true;
      (void)buffer_text(ret, "| ");
      put_cell(ret, f->key);
      (void)buffer_text(ret, " | ");
      if (!fact_is_known(f)) (void)buffer_printf(ret, "*%s:* ", fact_status_text(f->status));
      put_cell(ret, f->value);
      (void)buffer_printf(ret, "%s%s | ", f->unit[0] != 0 ? " " : "", f->unit);
      put_cell(ret, f->source);
      (void)buffer_text(ret, " |\n");
    }
  }
  return !ret->overflowed;
}
