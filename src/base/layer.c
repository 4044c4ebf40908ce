#include "base/layer.h"

#include <string.h>

static const struct {
  const char *name, *meaning, *owner, *group;
} layers[LAYER_COUNT] = {
    [LAYER_APPLICATION] = {"application", "application code, model architecture and weights", "ML", "ML"},
    [LAYER_SERVING] = {"serving", "model serving framework: batching, scheduling, routes", "ML platform", "platform"},
    [LAYER_RUNTIME] = {"runtime", "inference runtime and kernel libraries", "ML platform engineering", "platform"},
    [LAYER_FRAMEWORK] = {"framework", "framework and dependency versions", "Platform", "platform"},
    [LAYER_SYSTEM] = {"system", "operating system, driver, system libraries", "Infrastructure", "infrastructure"},
    [LAYER_ACCELERATOR] = {"accelerator", "the processor that computes: GPU, or the CPU as one", "Hardware", "infrastructure"},
    [LAYER_PROCUREMENT] = {"procurement", "what was ordered and approved", "Procurement", "procurement"},
    [LAYER_FACILITY] = {"facility", "cooling, power, data centre", "Facilities", "infrastructure"},
    [LAYER_DEMAND] = {"demand", "workload demand and objectives", "Product", "product"},
};

const char *layer_text(enum layer layer) {
  return layers[layer].name;
}

const char *layer_meaning(enum layer layer) {
  return layers[layer].meaning;
}

const char *layer_default_owner(enum layer layer) {
  return layers[layer].owner;
}

const char *layer_group(enum layer layer) {
  return layers[layer].group;
}

const char *owner_group(const char *owner) {
  for (int i = 0; i < LAYER_COUNT; i++)
    if (strcmp(layers[i].owner, owner) == 0) return layers[i].group;
  return NULL;
}

bool layer_parse(const char *text, enum layer *ret) {
  for (int i = 0; i < LAYER_COUNT; i++) {
    if (strcmp(layers[i].name, text) != 0) continue;
    *ret = (enum layer)i;
    return true;
  }
  return false;
}

bool library_is_openmp(const char *file_name) {
  static const char *const names[] = {"libgomp", "libiomp", "libomp"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strncmp(file_name, names[i], strlen(names[i])) == 0) return true;
  return false;
}
