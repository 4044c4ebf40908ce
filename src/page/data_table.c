#include "page/data_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void table_begin(struct table *t, const struct table_column *columns, size_t n) {
  *t = (struct table){.columns = columns, .n_columns = n};
}

static struct table_cell *add(struct table *t, const char *text) {
  t->cells = xroom(t->cells, t->n_cells, &t->room, sizeof *t->cells);
  struct table_cell *cell = &t->cells[t->n_cells++];
  *cell = (struct table_cell){.text = text != NULL ? arena_copy(&t->arena, text) : NULL, .number = NAN};
  return cell;
}

void table_text(struct table *t, const char *text) {
  (void)add(t, text);
}

void table_number(struct table *t, double number, const char *text) {
  char own[40];
  bool known = isfinite(number);
  struct table_cell *cell = add(t, !known ? NULL : text != NULL ? text : number_text(own, sizeof own, number));
  cell->number = number;
  cell->is_number = true;
}

void table_link(struct table *t, const char *address) {
  t->cells[t->n_cells - 1].link = arena_copy(&t->arena, address);
}

void table_class(struct table *t, const char *class) {
  t->cells[t->n_cells - 1].class = class;
}

void table_pick(struct table *t, const char *value) {
  t->cells[t->n_cells - 1].pick = arena_copy(&t->arena, value);
}

static const struct table_cell *cell_at(const struct table *t, size_t row, size_t column) {
  return &t->cells[row * t->n_columns + column];
}

static size_t count_rows(const struct table *t) {
  return t->n_columns > 0 ? t->n_cells / t->n_columns : 0;
}

static void put_row(const struct table *t, size_t row, struct markup *m) {
  char value[40];
  markup_open(m, "tr", NULL);
  for (size_t i = 0; i < t->n_columns; i++) {
    const struct table_cell *cell = cell_at(t, row, i);
    if (t->columns[i].title == NULL) continue;
    bool sorts = cell->is_number && isfinite(cell->number);
    markup_open(m, "td", "class",
                cell->class != NULL    ? cell->class
                : t->columns[i].number ? "n"
                                       : NULL,
                "data-value", sorts ? number_text(value, sizeof value, cell->number) : NULL, "data-label", t->columns[i].title, NULL);
    if (cell->pick != NULL)
      markup_empty(m, "input", "type", "checkbox", "name", "q", "value", cell->pick, "aria-label", "choose this run", NULL);
    if (cell->link != NULL && cell->text != NULL) markup_link(m, NULL, cell->text, "%s", cell->link);
    else markup_text(m, cell->text != NULL ? cell->text : "");
    markup_close(m);
  }
  markup_close(m);
}

void table_to_markup(const struct table *t, struct markup *m) {
  markup_open(m, "div", "class", "wide", "tabindex", "0", "role", "group", "aria-label", "a table, which may be wider than the screen",
              NULL);
  markup_open(m, "table", NULL);
  markup_open(m, "thead", NULL);
  markup_open(m, "tr", NULL);
  for (size_t i = 0; i < t->n_columns; i++)
    if (t->columns[i].title != NULL) {
      markup_open(m, "th", "scope", "col", "class", t->columns[i].number ? "n" : NULL, NULL);
      markup_text(m, t->columns[i].title);
      markup_close(m);
    }
  markup_close(m);
  markup_close(m);
  markup_open(m, "tbody", NULL);
  for (size_t row = 0; row < count_rows(t); row++) put_row(t, row, m);
  for (int i = 0; i < 3; i++) markup_close(m);
}

void table_to_json(const struct table *t, struct json_writer *json) {
  json_open_array(json);
  for (size_t row = 0; row < count_rows(t); row++) {
    json_open_object(json);
    for (size_t i = 0; i < t->n_columns; i++) {
      const struct table_cell *cell = cell_at(t, row, i);
      if (cell->is_number) json_put_double(json, t->columns[i].key, cell->number);
      else json_put_text(json, t->columns[i].key, cell->text);
    }
    json_close(json);
  }
  json_close(json);
}

static void put_field(const char *text, struct buffer *out) {
  bool formula = text[0] != 0 && strchr("=+-@\t\r", text[0]) != NULL;
  bool quoted = formula || text[strcspn(text, "\",\r\n")] != 0;
  (void)buffer_text(out, quoted ? "\"" : "");
  (void)buffer_text(out, formula ? "'" : "");
  for (const char *p = text; *p != 0; p++) (void)buffer_append(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
  (void)buffer_text(out, quoted ? "\"" : "");
}

void table_to_csv(const struct table *t, struct buffer *out) {
  char number[40];
  for (size_t i = 0; i < t->n_columns; i++) (void)buffer_printf(out, "%s%s", i > 0 ? "," : "", t->columns[i].key);
  (void)buffer_text(out, "\r\n");
  for (size_t row = 0; row < count_rows(t); row++) {
    for (size_t i = 0; i < t->n_columns; i++) {
      const struct table_cell *cell = cell_at(t, row, i);
      (void)buffer_text(out, i > 0 ? "," : "");
      if (!cell->is_number) put_field(cell->text != NULL ? cell->text : "", out);
      else if (isfinite(cell->number)) (void)buffer_text(out, number_text(number, sizeof number, cell->number));
    }
    (void)buffer_text(out, "\r\n");
  }
}

void table_release(struct table *t) {
  free(t->cells);
  arena_release(&t->arena);
  *t = (struct table){.columns = NULL};
}
