#include "report/import_report.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "report/html_page.h"

enum { JSON_LIMIT = 16 << 20, CELL_MAX = 120 };

static const char *figure_text(const json_t *figure, const char *key, char *text, size_t size) {
  const char *unit = json_get_text(figure, "unit", "");
  double value = json_get_double(figure, key, NAN), ns = strcmp(unit, "ns") == 0 ? value : strcmp(unit, "ms") == 0 ? 1e6 * value : NAN;
  if (isnan(value)) return "";
  if (isfinite(ns)) return number_duration_text(text, size, ns);
  bool whole = strcmp(unit, "1") == 0 && value >= 0 && value < 1e15 && !(floor(value) < value); /* a count is exact */
  if (whole) (void)snprintf(text, size, "%.0f", value);
  else (void)number_text(text, size, number_round(value, 6));
  if (strcmp(unit, "1/s") == 0) (void)snprintf(text + strlen(text), size - strlen(text), " /s");
  return text;
}

static const char *safe(const char *value, char text[CELL_MAX]) {
  return text_sanitise(text, CELL_MAX, value, strlen(value));
}

static void put_list(struct buffer *ret, const json_t *list, const char *title) {
  if (json_array_size(list) > 0) (void)buffer_printf(ret, "\n%s\n", title);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *text = json_string_value(json_array_get(list, i));
    char line[400];
    (void)buffer_printf(ret, "  - %s\n", text_sanitise(line, sizeof line, text != NULL ? text : "", text != NULL ? strlen(text) : 0));
  }
}

bool import_text(const char *json, bool whole, struct buffer *ret) {
  json_t *root = json[0] != 0 ? json_parse(json, strlen(json), JSON_LIMIT, NULL) : NULL;
  const json_t *figures = json_object_get(root, "figures");
  char name[CELL_MAX], formula[CELL_MAX], stated[CELL_MAX], recomputed[CELL_MAX];
  int width = 36;
  for (size_t i = 0; i < json_array_size(figures); i++) {
    int n = (int)strlen(safe(json_get_text(json_array_get(figures, i), "figure", ""), name));
    width = n > width ? n : width;
  }
  if (whole) put_list(ret, json_object_get(root, "against"), "What speaks against it:");
  if (json_array_size(figures) > 0)
    (void)buffer_printf(ret, "\n  %-*s %16s %16s   formula\n", width, "as its tool states it", "stated", "from its rows");
  for (size_t i = 0; i < json_array_size(figures); i++) {
    const json_t *f = json_array_get(figures, i);
    (void)buffer_printf(ret, "  %-*s %16s %16s   %s\n", width, safe(json_get_text(f, "figure", ""), name),
                        figure_text(f, "stated", stated, sizeof stated), figure_text(f, "recomputed", recomputed, sizeof recomputed),
                        safe(json_get_text(f, "formula", ""), formula));
  }
  if (whole) put_list(ret, json_object_get(root, "lacks"), "What it lacks, and why no claim can be made from it:");
  if (!whole && root != NULL) (void)buffer_text(ret, "\n");
  json_decref(root);
  return !ret->overflowed;
}

bool import_html(const char *json, struct buffer *ret) {
  json_t *root = json[0] != 0 ? json_parse(json, strlen(json), JSON_LIMIT, NULL) : NULL;
  const json_t *figures = json_object_get(root, "figures"), *against = json_object_get(root, "against");
  char stated[CELL_MAX], recomputed[CELL_MAX];
  if (root == NULL) return true;
  html_text(ret, "<h2>As ", json_get_text(root, "tool", ""), " states it</h2>");
  for (size_t i = 0; i < json_array_size(against); i++) {
    const char *text = json_string_value(json_array_get(against, i));
    html_text(ret, "<p class='bad'>Against it: ", text != NULL ? text : "", "</p>");
  }
  (void)buffer_text(ret, "<table><tr><th scope='col'>figure</th><th scope='col' class='n'>stated</th><th scope='col' class='n'>from its "
                         "own requests</th><th scope='col'>formula</th></tr>");
  for (size_t i = 0; i < json_array_size(figures); i++) {
    const json_t *f = json_array_get(figures, i);
    html_text(ret, "<tr><td>", json_get_text(f, "figure", ""), "</td><td class='n'>");
    html_text(ret, "", figure_text(f, "stated", stated, sizeof stated), "</td><td class='n'>");
    html_text(ret, "", figure_text(f, "recomputed", recomputed, sizeof recomputed), "</td><td class='mono'>");
    html_text(ret, "", json_get_text(f, "formula", ""), "</td></tr>");
  }
  (void)buffer_text(ret, "</table>");
  json_decref(root);
  return !ret->overflowed;
}
