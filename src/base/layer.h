/* base/layer.h: the nine layers of an AI Executor, and the team that usually owns each. */
#ifndef BASE_LAYER_H
#define BASE_LAYER_H

#include "base/status.h"

enum layer {
  LAYER_APPLICATION,
  LAYER_SERVING,
  LAYER_RUNTIME,
  LAYER_FRAMEWORK,
  LAYER_SYSTEM,
  LAYER_ACCELERATOR,
  LAYER_PROCUREMENT,
  LAYER_FACILITY,
  LAYER_DEMAND,
  LAYER_COUNT
};

#define LAYER_BIT(layer) (1u << (layer))

const char *layer_text(enum layer layer);
const char *layer_meaning(enum layer layer);
const char *layer_default_owner(enum layer layer);
/* Who speaks for it where the four teams meet: ML, platform, infrastructure, procurement; product, who asks. */
const char *layer_group(enum layer layer);
/* The group of a usual owner; NULL: it is the name of some team. */
const char *owner_group(const char *owner);
bool layer_parse(const char *text, enum layer *ret);

/* A runtime of OpenMP, by its file's name: GNU's, Intel's, LLVM's. */
bool library_is_openmp(const char *file_name);

#endif
