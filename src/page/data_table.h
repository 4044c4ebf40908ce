/* page/data_table.h: a table once, shown three ways: on a page, as JSON, as CSV.
 * Order    table_begin, then for each row a cell for each column, then one of the table_to...; table_release
 * Shapes   a cell is a text, a number with the text that people read, or nothing
 * JSON     an array of objects by the columns' keys; CSV by RFC 4180, with the keys as its first line. A text that a spreadsheet would
 *          run as a formula gets a ' in front there */
#ifndef PAGE_DATA_TABLE_H
#define PAGE_DATA_TABLE_H

#include "base/arena.h"
#include "base/json.h"
#include "page/markup.h"

struct table_column {
  const char *key, *title; /* title NULL: not on the page */
  bool number;             /* to the right */
};

struct table_cell {
  const char *text; /* for people; NULL: nothing */
  const char *link; /* NULL: none */
  const char *pick; /* a box to choose the row by, with this value; NULL: none */
  const char *class;
  double number;
  bool is_number;
};

struct table {
  struct arena arena;
  const struct table_column *columns;
  size_t n_columns;
  struct table_cell *cells;
  size_t n_cells, room;
};

void table_begin(struct table *table, const struct table_column *columns, size_t n);
void table_text(struct table *table, const char *text);                  /* NULL: nothing */
void table_number(struct table *table, double number, const char *text); /* NaN: nothing; text NULL: the number itself */
/* Of the cell that was added last. */
void table_link(struct table *table, const char *address);
void table_class(struct table *table, const char *class);
/* A box before its text, in the form that the table lies in: as "q", with that value. */
void table_pick(struct table *table, const char *value);

void table_to_markup(const struct table *table, struct markup *markup);
void table_to_json(const struct table *table, struct json_writer *json);
void table_to_csv(const struct table *table, struct buffer *out);
void table_release(struct table *table);

#endif
