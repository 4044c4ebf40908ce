#include "report/gauges.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"

enum { LABELS_BYTES_MAX = 8192 };

static struct gauge_family *family_of(struct gauges *g, const char *name, const char *help, const char *unit) {
  for (size_t i = 0; i < g->n_families; i++)
    if (strcmp(g->families[i].name, name) == 0) return &g->families[i];
  g->families = xroom(g->families, g->n_families, &g->room, sizeof *g->families);
  g->families[g->n_families] = (struct gauge_family){.name = name, .help = help, .unit = unit};
  return &g->families[g->n_families++];
}

/* {a="b",c="d"}: a backslash, a quote and a new line are escaped. */
static char *labels_text(struct gauges *g, const struct gauge_label *labels, size_t n) {
  struct buffer text;
  buffer_init(&text, LABELS_BYTES_MAX);
  for (size_t i = 0; i < n; i++) {
    (void)buffer_printf(&text, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
    for (const char *p = labels[i].value; *p != 0; p++)
      if (*p == '\n') (void)buffer_text(&text, "\\n");
      else (void)buffer_printf(&text, "%s%c", *p == '\\' || *p == '"' ? "\\" : "", *p);
    (void)buffer_text(&text, "\"");
  }
  if (n > 0) (void)buffer_text(&text, "}");
  char *kept = arena_copy(&g->arena, text.data != NULL && !text.overflowed ? text.data : "");
  buffer_release(&text);
  return kept;
}

void gauges_add(struct gauges *g, const char *name, const char *help, const char *unit, const struct gauge_label *labels, size_t n_labels,
                double value) {
  struct gauge_family *f = family_of(g, name, help, unit);
  lynx_assert(n_labels <= GAUGE_LABELS_MAX);
  if (isnan(value)) return;
  f->samples = xroom(f->samples, f->n_samples, &f->room, sizeof *f->samples);
  struct gauge_sample *s = &f->samples[f->n_samples];
  *s = (struct gauge_sample){.n_labels = n_labels, .order = f->n_samples, .value = value, .text = labels_text(g, labels, n_labels)};
  f->n_samples++;
  for (size_t i = 0; i < n_labels; i++) s->labels[i] = (struct gauge_label){labels[i].name, arena_copy(&g->arena, labels[i].value)};
}

static int by_labels(const void *a, const void *b) {
  const struct gauge_sample *x = a, *y = b;
  int order = strcmp(x->text, y->text);
  return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

void gauges_sort(struct gauges *g) {
  for (size_t i = 0; i < g->n_families; i++) {
    struct gauge_family *f = &g->families[i];
    size_t n = 0;
    if (f->n_samples > 0) qsort(f->samples, f->n_samples, sizeof *f->samples, by_labels);
    for (size_t k = 0; k < f->n_samples; k++)
      if (k + 1 == f->n_samples || strcmp(f->samples[k].text, f->samples[k + 1].text) != 0) f->samples[n++] = f->samples[k];
    f->n_samples = n;
  }
}

static const char *value_text(double value, char *text) {
  if (isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return number_text(text, 32, value);
}

void gauges_to_prometheus(const struct gauges *g, struct buffer *out) {
  char text[32];
  for (size_t i = 0; i < g->n_families; i++) {
    const struct gauge_family *f = &g->families[i];
    if (f->n_samples == 0) continue;
    (void)buffer_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", f->name, f->help, f->name);
    for (size_t k = 0; k < f->n_samples; k++) {
      (void)buffer_text(out, f->name);
      (void)buffer_text(out, f->samples[k].text);
      (void)buffer_printf(out, " %s\n", value_text(f->samples[k].value, text));
    }
  }
}

/* --- OTLP --- */

static void put_attribute(struct json_writer *json, const char *key, const char *value) {
  json_open_object(json);
  json_put_text(json, "key", key);
  json_key(json, "value");
  json_open_object(json);
  json_put_text(json, "stringValue", value);
  json_close(json);
  json_close(json);
}

static void put_point(struct json_writer *json, const struct gauge_sample *s, const char *at) {
  json_open_object(json);
  json_key(json, "attributes");
  json_open_array(json);
  for (size_t i = 0; i < s->n_labels; i++) put_attribute(json, s->labels[i].name, s->labels[i].value);
  json_close(json);
  json_put_text(json, "timeUnixNano", at); /* 64 bits are text there */
  if (isinf(s->value)) json_put_text(json, "asDouble", s->value > 0 ? "Infinity" : "-Infinity");
  else json_put_double(json, "asDouble", s->value);
  json_close(json);
}

static void put_family(struct json_writer *json, const struct gauge_family *f, const char *at) {
  json_open_object(json);
  json_put_text(json, "name", f->name);
  json_put_text(json, "description", f->help);
  json_put_text(json, "unit", f->unit);
  json_key(json, "gauge");
  json_open_object(json);
  json_key(json, "dataPoints");
  json_open_array(json);
  for (size_t i = 0; i < f->n_samples; i++) put_point(json, &f->samples[i], at);
  json_close(json);
  json_close(json);
  json_close(json);
}

/* Who measured: the resource's service, and the scope. */
static void put_resource(struct json_writer *json, const char *version) {
  json_key(json, "resource");
  json_open_object(json);
  json_key(json, "attributes");
  json_open_array(json);
  put_attribute(json, "service.name", "lynxbench");
  put_attribute(json, "service.version", version);
  json_close(json);
  json_close(json);
}

void gauges_to_otlp(const struct gauges *g, const char *version, int64_t at_ns, struct json_writer *json) {
  char at[32];
  (void)snprintf(at, sizeof at, "%" PRId64, at_ns);
  json_open_object(json);
  json_key(json, "resourceMetrics");
  json_open_array(json);
  json_open_object(json);
  put_resource(json, version);
  json_key(json, "scopeMetrics");
  json_open_array(json);
  json_open_object(json);
  json_key(json, "scope");
  json_open_object(json);
  json_put_text(json, "name", "lynxbench");
  json_put_text(json, "version", version);
  json_close(json);
  json_key(json, "metrics");
  json_open_array(json);
  for (size_t i = 0; i < g->n_families; i++)
    if (g->families[i].n_samples > 0) put_family(json, &g->families[i], at);
  for (int i = 0; i < 6; i++) json_close(json);
}

void gauges_release(struct gauges *g) {
  for (size_t i = 0; i < g->n_families; i++) free(g->families[i].samples);
  free(g->families);
  arena_release(&g->arena);
}
