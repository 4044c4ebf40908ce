#include "executor/link_speeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* Of a link of NVLink, each way; 0: a GPU that is not known. */
static double link_of(const char *gpu) {
  static const struct {
    const char *name;
    double bytes_per_s;
  } gpus[] = {{"P100", 20e9}, {"V100", 25e9},  {"A100", 25e9}, {"A800", 25e9}, {"H100", 25e9}, {"H800", 25e9},  {"H200", 25e9},
              {"H20", 25e9},  {"GH200", 25e9}, {"B100", 50e9}, {"B200", 50e9}, {"B300", 50e9}, {"GB200", 50e9}, {"GB300", 50e9}};
  for (size_t i = 0; i < LYNX_COUNT(gpus); i++)
    if (strstr(gpu, gpus[i].name) != NULL) return gpus[i].bytes_per_s;
  return 0;
}

static const char *value_of(const struct fact_list *facts, const char *key) {
  const struct fact *fact = fact_find(facts, key);
  return fact != NULL && fact_is_known(fact) ? fact->value : "";
}

static void take_host(const struct fact_list *facts, struct link_speeds *ret) {
  static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9}; /* by generation */
  static const char *const families[] = {"gpu", "amd-gpu", "gaudi"};
  for (size_t i = 0; i < LYNX_COUNT(families) && ret->host <= 0; i++) {
    char key[60];
    (void)snprintf(key, sizeof key, "%s.0.pcie-generation-most", families[i]);
    int64_t generation = 0, width = 0;
    const char *text = value_of(facts, key);
    (void)number_int64(text, strlen(text), &generation);
    (void)snprintf(key, sizeof key, "%s.0.pcie-width-most", families[i]);
    text = value_of(facts, key);
    (void)number_int64(text, strlen(text), &width);
    if (generation < 1 || generation >= (int64_t)LYNX_COUNT(lane) || width < 1 || width > 32) continue;
    ret->host = lane[generation] * (double)width;
    (void)snprintf(ret->host_text, sizeof ret->host_text, "PCIe %lld with %lld lanes", (long long)generation, (long long)width);
  }
}

/* The pair with the fewest links is what a ring goes at; a pair without any goes over PCIe. */
static void take_peers(const struct fact_list *facts, struct link_speeds *ret) {
  double each = link_of(value_of(facts, "gpu.0.name"));
  int64_t least = INT64_MAX;
  const char *over = NULL;
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *f = &facts->items[i];
    int64_t links;
    if (strncmp(f->key, "imported.link.GPU", 17) != 0 || strstr(f->key, "-GPU") == NULL) continue;
    bool nvlink = strncmp(f->value, "NV", 2) == 0 && number_int64(f->value + 2, strlen(f->value + 2), &links);
    if (!nvlink) over = f->value;
    else if (links < least) least = links;
  }
  if (over != NULL) {
    ret->peer = ret->host;
    (void)snprintf(ret->peer_text, sizeof ret->peer_text, "%.20s: over PCIe", over);
  } else if (least < INT64_MAX) {
    ret->peer = each * (double)least;
    if (each > 0)
      (void)snprintf(ret->peer_text, sizeof ret->peer_text, "NV%lld: %lld links of %.0f GB/s", (long long)least, (long long)least,
                     each / 1e9);
    else (void)snprintf(ret->peer_text, sizeof ret->peer_text, "NV%lld, of a GPU whose links are not known", (long long)least);
  }
}

void link_speeds_of(const struct fact_list *facts, struct link_speeds *ret) {
  *ret = (struct link_speeds){.peer = 0};
  take_host(facts, ret);
  take_peers(facts, ret);
}
