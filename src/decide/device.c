#include "decide/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DOUBT(figure) (1u << DEVICE_##figure)

static const char aic[] = "aiconfigurator, systems/*.yaml at 095f58a";
static const char analysis[] = "llm-analysis, gpu_configs at 472f71f";
static const char hmc[] = "hmc-tech.com";
static const char tpu[] = "docs.cloud.google.com/tpu";
static const char neuron[] = "awsdocs-neuron";

const char devices_read_on[] = "2026-11-27";

const struct device devices[] = {
    {"T4", "Turing", {[DEVICE_INT8] = 130, [DEVICE_BANDWIDTH] = 0.32, [DEVICE_CAPACITY] = 16, [DEVICE_POWER] = 70}, 0, hmc},
    {"A10", "Ampere GA102", {125, 0, 250, 0, 0.6, 24, 150}, 0, analysis},
    {"A10G", "Ampere GA102", {70, 0, 140, 0, 0.6, 24, 300}, DOUBT(POWER), analysis},
    {"L4", "Ada", {121, 242, 242, 0, 0.3, 24, 72}, 0, aic},
    {"L40S", "Ada", {362, 733, 733, 0, 0.864, 48, 350}, 0, aic},
    {"A100-40GB-SXM", "Ampere GA100", {312, 0, 624, 0, 1.555, 40, 400}, 0, analysis},
    {"A100-80GB-SXM", "Ampere GA100", {312, 0, 624, 0, 2.039, 80, 400}, 0, aic},
    {"A100-80GB-PCIe", "Ampere GA100", {312, 0, 624, 0, 1.935, 80, 300}, 0, aic},
    {"H100-SXM", "Hopper", {989, 1978, 1978, 0, 3.35, 80, 700}, 0, aic},
    {"H100-PCIe", "Hopper", {756.5, 1513, 1513, 0, 2.0, 80, 350}, 0, aic},
    {"H100-NVL", "Hopper", {835, 1671, 1671, 0, 3.9, 94, 400}, DOUBT(BF16) | DOUBT(FP8) | DOUBT(INT8), "aiminingco.com"},
    {"H200-SXM", "Hopper", {989, 1978, 1978, 0, 4.8, 141, 700}, 0, aic},
    {"B200-SXM", "Blackwell", {2250, 4500, 4500, 9000, 7.7, 180, 1000}, 0, aic},
    {"GB200", "Blackwell", {2500, 5000, 5000, 10000, 8.0, 185, 1200}, 0, aic},
    {"B300-SXM", "Blackwell Ultra", {2250, 4500, 154, 14000, 7.75, 269, 1100}, 0, aic},
    {"GB300", "Blackwell Ultra", {2500, 5000, 165, 15000, 8.0, 278, 1400}, 0, aic},
    {"RTX-4090", "Ada", {165, 330, 661, 0, 1.01, 24, 450}, 0, hmc},
    {"RTX-5090",
     "Blackwell GB202",
     {209.5, 419, 838, 1676, 1.792, 32, 575},
     DOUBT(BF16) | DOUBT(FP8),
     "Linux Format 5/2025; spheron.network"},
    {"RTX-PRO-6000-S", "Blackwell GB202", {467.8, 936, 936, 1871, 1.792, 96, 600}, 0, aic},
    {"MI210", "CDNA 2", {181, 0, 181, 0, 1.64, 64, 300}, 0, "anandtech 17326; llm-analysis"},
    {"MI250X", "CDNA 2", {383, 0, 383, 0, 3.2, 128, 560}, 0, "zexron.com; llm-analysis"},
    {"MI300X", "CDNA 3", {1307, 2615, 2615, 0, 5.3, 192, 750}, DOUBT(INT8), "MI300X-vs-H200, METHODOLOGY.md; xprof"},
    {"MI325X", "CDNA 3", {1307, 2615, 2615, 0, 6.0, 256, 1000}, DOUBT(FP8) | DOUBT(INT8) | DOUBT(POWER), "docs.vultr.com; TraceLens"},
    {"MI355X", "CDNA 4", {2517, 5033, 5033, 10066, 8.0, 288, 1400}, DOUBT(FP8) | DOUBT(FP4), "xprof; another source doubles fp4"},
    {"Gaudi2", "Gaudi 2", {432, 865, 0, 0, 2.45, 96, 600}, DOUBT(FP8), "pcguia.pt"},
    {"Gaudi3", "Gaudi 3", {1835, 1835, 1835, 0, 3.7, 128, 900}, DOUBT(INT8), "yobitel.com"},
    {"TPU-v5e", "TPU v5e", {197, 0, 393, 0, 0.819, 16, 0}, 0, tpu},
    {"TPU-v5p", "TPU v5p", {459, 0, 918, 0, 2.765, 95, 0}, DOUBT(INT8), tpu},
    {"TPU-v6e", "TPU v6e", {918, 0, 1836, 0, 1.638, 32, 0}, 0, tpu},
    {"Inferentia2", "Inferentia 2", {190, 190, 380, 0, 0.88, 32, 0}, 0, neuron},
    {"Trainium2", "Trainium 2", {667, 1299, 0, 0, 2.9, 96, 0}, 0, neuron}};
const size_t n_devices = LYNX_COUNT(devices);

const char *device_figure_text(enum device_figure figure) {
  static const char *const texts[] = {"arithmetic.bf16",  "arithmetic.fp8",  "arithmetic.int8", "arithmetic.fp4",
                                      "memory.bandwidth", "memory.capacity", "power.cap"};
  return texts[figure];
}

/* Letters and digits of a name, in lower case. size > 0 */
static void plain_name(const char *name, char *ret, size_t size) {
  size_t n = 0;
  for (; *name != 0 && n + 1 < size; name++)
    if (isalnum((unsigned char)*name)) ret[n++] = (char)tolower((unsigned char)*name);
  ret[n] = 0;
}

const struct device *device_find(const char *name) {
  char wanted[UPGRADE_TEXT], known[UPGRADE_TEXT];
  plain_name(name, wanted, sizeof wanted);
  for (size_t i = 0; i < n_devices; i++) {
    plain_name(devices[i].name, known, sizeof known);
    if (strcmp(known, wanted) == 0) return &devices[i];
  }
  return NULL;
}

/* The next run of letters and digits; its length, 0 at the end. */
static size_t next_word(const char **at) {
  while (**at != 0 && !isalnum((unsigned char)**at)) ++*at;
  size_t n = 0;
  while (isalnum((unsigned char)(*at)[n])) n++;
  return n;
}

static bool has_word(const char *text, const char *word) {
  size_t n;
  for (const char *at = text; (n = next_word(&at)) > 0; at += n)
    if (n == strlen(word) && strncasecmp(at, word, n) == 0) return true;
  return false;
}

bool device_is(const struct device *device, const char *found) {
  /* Words of another product of the same number: in both, or in neither. */
  static const char *const apart[] = {"PCIe", "NVL", "40GB", "Quadro", "Ada", "Laptop", "Mobile"};
  for (size_t i = 0; i < LYNX_COUNT(apart); i++) {
    bool one_form = strcmp(apart[i], "PCIe") == 0 && strchr(device->name, '-') == NULL; /* "L4" is sold in no other */
    if (!one_form && has_word(device->name, apart[i]) != has_word(found, apart[i])) return false;
  }
  const char *model = device->name;
  size_t length = next_word(&model);
  while (length > 0 && strcspn(model, "0123456789") >= length) { /* "RTX" alone says little: the word with the number does */
    model += length;
    length = next_word(&model);
  }
  size_t n;
  for (const char *at = found; (n = next_word(&at)) > 0; at += n)
    if (n == length && strncasecmp(at, model, n) == 0) return true;
  return false;
}

void device_upgrade(const struct device *from, const struct device *to, struct upgrade *ret) {
  *ret = (struct upgrade){0};
  for (int k = 0; k < DEVICE_POWER; k++) { /* more power is no speed */
    if (!(from->of[k] > 0) || !(to->of[k] > 0)) continue;
    const char *name = device_figure_text((enum device_figure)k), *type = strncmp(name, "arithmetic.", 11) == 0 ? name + 11 : "";
    struct upgrade_part *part = &ret->parts[ret->n++];
    *part = (struct upgrade_part){.resource = resource_find(name, type[0] != 0 ? 10 : strlen(name)), .factor = to->of[k] / from->of[k]};
    (void)snprintf(part->type, sizeof part->type, "%s", type);
    if (k == DEVICE_CAPACITY) (void)snprintf(part->size, sizeof part->size, "%gGB", to->of[k]);
  }
}
