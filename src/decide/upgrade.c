#include "decide/upgrade.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define ARITHMETIC "arithmetic."
#define FACTOR_MOST 1e4

const struct resource resources[] = {{.name = "memory.bandwidth", .measured_by = {"memory", "gpu"}, .of_device = true},
                                     {.name = "memory.capacity", .is_capacity = true},
                                     {.name = "arithmetic", .measured_by = {"gpu", "processor"}, .of_device = true},
                                     {.name = "gpu", .measured_by = {"gpu", NULL}},
                                     {.name = "host.clock", .measured_by = {"processor", NULL}},
                                     {.name = "host.cores", .has_steps = true},
                                     {.name = "link.host"},
                                     {.name = "link.peer"},
                                     {.name = "wire", .measured_by = {"wire", NULL}},
                                     {.name = "disk", .measured_by = {"disk", NULL}},
                                     {.name = "power.cap", .has_steps = true}};
const size_t n_resources = LYNX_COUNT(resources);

const struct resource *resource_find(const char *name, size_t length) {
  for (size_t i = 0; i < n_resources; i++)
    if (strlen(resources[i].name) == length && strncmp(resources[i].name, name, length) == 0) return &resources[i];
  return NULL;
}

static bool refuse(char *why, size_t size, const char *format, ...) LYNX_PRINTF(3, 4);
static bool refuse(char *why, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  (void)vsnprintf(why, size, format, args);
  va_end(args);
  return false;
}

static void list_names(char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < n_resources && used < size; i++) {
    bool typed = strcmp(resources[i].name, "arithmetic") == 0;
    used += (size_t)snprintf(text + used, size - used, "%s%s%s", i > 0 ? ", " : "", resources[i].name, typed ? ".TYPE" : "");
  }
}

static bool read_name(const char *word, size_t length, struct upgrade_part *ret) {
  const size_t prefix = strlen(ARITHMETIC);
  if (length <= prefix || strncmp(word, ARITHMETIC, prefix) != 0) {
    ret->resource = resource_find(word, length);
    return ret->resource != NULL && strcmp(ret->resource->name, "arithmetic") != 0;
  }
  ret->resource = resource_find(ARITHMETIC, prefix - 1);
  if (length - prefix >= sizeof ret->type) return false;
  for (size_t i = prefix; i < length; i++)
    if (!isalnum((unsigned char)word[i]) && word[i] != '_') return false;
  (void)snprintf(ret->type, sizeof ret->type, "%.*s", (int)(length - prefix), word + prefix);
  return true;
}

static bool read_value(const char *word, size_t length, struct upgrade_part *ret) {
  double value;
  if (length > 1 && word[0] == 'x' && number_double(word + 1, length - 1, &value) && value > 0 && value <= FACTOR_MOST) {
    ret->factor = value;
    return true;
  }
  static const char *const units[] = {"GB", "GiB", "TB", "TiB", "MB", "MiB"};
  for (size_t i = 0; ret->resource->is_capacity && i < LYNX_COUNT(units); i++) {
    size_t unit = strlen(units[i]);
    if (length <= unit || length >= sizeof ret->size || strncmp(word + length - unit, units[i], unit) != 0) continue;
    if (!number_double(word, length - unit, &value) || !(value > 0)) continue;
    ret->factor = NAN;
    (void)snprintf(ret->size, sizeof ret->size, "%.*s", (int)length, word);
    return true;
  }
  return false;
}

static bool read_part(const char *text, size_t length, struct upgrade *ret, char *why, size_t size) {
  char names[400];
  while (length > 0 && text[0] == ' ') text++, length--;
  while (length > 0 && text[length - 1] == ' ') length--;
  size_t name = 0;
  while (name < length && text[name] != ' ') name++;
  size_t value = name;
  while (value < length && text[value] == ' ') value++;
  list_names(names, sizeof names);
  if (ret->n == UPGRADE_PARTS_MAX) return refuse(why, size, "more than %d resources", UPGRADE_PARTS_MAX);
  struct upgrade_part *part = &ret->parts[ret->n];
  *part = (struct upgrade_part){0};
  if (!read_name(text, name, part)) return refuse(why, size, "found the resource '%.*s'; accepted: %s", (int)name, text, names);
  for (size_t i = 0; i < ret->n; i++)
    if (ret->parts[i].resource == part->resource && strcmp(ret->parts[i].type, part->type) == 0)
      return refuse(why, size, "'%.*s' is there twice", (int)name, text);
  if (!read_value(text + value, length - value, part))
    return refuse(why, size, "%.*s: found '%.*s'; accepted: a factor as x1.43%s", (int)name, text, (int)(length - value), text + value,
                  part->resource->is_capacity ? ", or its new size as 141GB" : "");
  ret->n++;
  return true;
}

bool upgrade_parse(const char *text, struct upgrade *ret, char *why, size_t size) {
  *ret = (struct upgrade){0};
  for (const char *at = text;;) {
    size_t length = strcspn(at, ",");
    if (!read_part(at, length, ret, why, size)) return false;
    if (at[length] == 0) return true;
    at += length + 1;
  }
}

char *upgrade_type(const char *stated, char *text, size_t size) {
  static const char *const same[][2] = {{"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"}, {"f16", "fp16"},
                                        {"float32", "f32"},   {"fp32", "f32"},     {"float", "f32"}};
  size_t n = strspn(stated, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
  (void)snprintf(text, size, "%s", stated[n] == 0 ? stated : ""); /* a sentence is no name: "not stated by the executor" */
  for (size_t i = 0; i < LYNX_COUNT(same); i++)
    if (strcasecmp(text, same[i][0]) == 0) (void)snprintf(text, size, "%s", same[i][1]);
  if (strncasecmp(text, "fp8", 3) == 0 || strncasecmp(text, "float8", 6) == 0) (void)snprintf(text, size, "fp8");
  return text;
}

char *upgrade_part_name(const struct upgrade_part *part, char *text, size_t size) {
  (void)snprintf(text, size, "%s%s%s", part->resource->name, part->type[0] != 0 ? "." : "", part->type);
  return text;
}

char *upgrade_text(const struct upgrade *upgrade, char *text, size_t size) {
  char name[2 * UPGRADE_TEXT];
  size_t used = 0;
  text[0] = 0;
  for (size_t i = 0; i < upgrade->n && used < size; i++) {
    const struct upgrade_part *p = &upgrade->parts[i];
    used += (size_t)snprintf(text + used, size - used, "%s%s ", i > 0 ? ", " : "", upgrade_part_name(p, name, sizeof name));
    if (used >= size) break;
    used += (size_t)(isnan(p->factor) ? snprintf(text + used, size - used, "%s", p->size)
                                      : snprintf(text + used, size - used, "x%.3g", p->factor));
  }
  return text;
}
