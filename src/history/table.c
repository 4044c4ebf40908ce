#include "history/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "history/when.h"

enum { COLUMNS_MAX = 80, FIELD_MAX = 200, SEPARATOR_LINE_MAX = 65536 };
enum role { ROLE_IGNORED, ROLE_TIME, ROLE_LABEL, ROLE_FIGURE };

struct table {
  const char *at, *end;
  char separator;
  int64_t line;
  size_t n_columns, n_fields; /* n_fields: of the row at hand */
  char name[COLUMNS_MAX][FIELD_MAX], field[COLUMNS_MAX][FIELD_MAX];
  enum role role[COLUMNS_MAX];
  const char *broken; /* what is wrong with the row's quotes; NULL: nothing */
  struct lynx_error *error;
};

static enum lynx_status wrong(struct table *t, const char *column, const char *found, const char *accepted) {
  lynx_error_at(t->error, NULL, (int)t->line, column[0] != 0 ? column : NULL);
  return lynx_fail(t->error, LYNX_INPUT, "found '%.60s'; accepted: %s", found, accepted);
}

/* --- rows --- */

/* Blanks around a field are no part of it. */
static void keep_field(struct table *t, const char *from, size_t length) {
  while (length > 0 && (*from == ' ' || *from == '\t')) from++, length--;
  while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\r' || from[length - 1] == '\t')) length--;
  if (t->n_fields < COLUMNS_MAX) (void)text_sanitise(t->field[t->n_fields], FIELD_MAX, from, length);
  t->n_fields++;
}

static const char *quoted_end(const char *p, const char *end) {
  for (p++; p < end; p++) {
    if (*p != '"') continue;
    if (p + 1 < end && p[1] == '"') p++;
    else break;
  }
  return p;
}

static void read_quoted(struct table *t, const char *from, const char *to) {
  char text[FIELD_MAX];
  size_t n = 0;
  for (const char *p = from + 1; p < to && n + 1 < sizeof text; p++) {
    text[n++] = *p;
    if (*p == '"') p++; /* doubled */
  }
  keep_field(t, text, n);
}

/* True: another one follows in the row. */
static bool read_field(struct table *t) {
  const char *from = t->at, *p = from;
  bool quoted = p < t->end && *p == '"';
  if (quoted) p = quoted_end(p, t->end);
  const char *closing = p;
  if (quoted && closing == t->end) t->broken = "a quote that does not end";
  while (p < t->end && *p != t->separator && *p != '\n') p++;
  for (const char *q = closing + 1; quoted && q < p; q++)
    if (strchr(" \t\r", *q) == NULL) t->broken = "text behind a closing quote";
  if (quoted) read_quoted(t, from, closing);
  else keep_field(t, from, (size_t)(p - from));
  for (const char *q = from; quoted && q < closing && t->broken == NULL; q++) t->line += *q == '\n';
  bool more = p < t->end && *p == t->separator;
  t->at = p < t->end ? p + 1 : p;
  return more;
}

/* False: there is no further row, or it is broken. Empty lines are none, nor are comments of '#' before the names of the columns. */
static bool read_row(struct table *t) {
  for (t->n_fields = 0; t->at < t->end && t->n_fields == 0 && t->broken == NULL;) {
    t->line++;
    if ((*t->at == '#' && t->n_columns == 0) || *t->at == '\n' || *t->at == '\r') {
      const char *line = memchr(t->at, '\n', (size_t)(t->end - t->at));
      t->at = line != NULL ? line + 1 : t->end;
      continue;
    }
    while (read_field(t) && t->broken == NULL)
      ;
  }
  return t->n_fields > 0 && t->broken == NULL;
}

/* --- columns --- */

static bool is_number(const char *text) {
  double number;
  return number_double(text, strlen(text), &number);
}

static bool is_one_of(const char *text, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(text, words[i]) == 0) return true;
  return false;
}

/* What programs write for a value that is missing. */
static bool is_missing(const char *text) {
  static const char *const words[] = {"", "nan", "na", "n/a", "null", "none"};
  return is_one_of(text, words, LYNX_COUNT(words));
}

static bool read_header(struct table *t) {
  static const char *const times[] = {"time", "date", "timestamp", "datetime", "started"}, *const labels[] = {
                                                                                               "commit", "sha",   "revision", "version",
                                                                                               "build",  "run",   "branch",   "tag",
                                                                                               "name",   "label", "id"};
  bool has_time = false;
  if (t->end - t->at >= 3 && memcmp(t->at, "\xef\xbb\xbf", 3) == 0) t->at += 3; /* a byte order mark */
  const char *line = memchr(t->at, '\n', (size_t)(t->end - t->at));
  size_t n_of[3] = {0};
  for (const char *p = t->at; p < (line != NULL ? line : t->end) && p < t->at + SEPARATOR_LINE_MAX; p++)
    for (int i = 0; i < 3; i++) n_of[i] += *p == ",;\t"[i];
  t->separator = n_of[2] > n_of[0] && n_of[2] > n_of[1] ? '\t' : n_of[1] > n_of[0] ? ';' : ',';
  if (!read_row(t)) return false;
  t->n_columns = t->n_fields < COLUMNS_MAX ? t->n_fields : COLUMNS_MAX;
  memcpy(t->name, t->field, sizeof t->name);
  for (size_t i = 0; i < t->n_columns; i++)
    if (!has_time && is_one_of(t->name[i], times, LYNX_COUNT(times))) t->role[i] = ROLE_TIME, has_time = true;
    else if (is_one_of(t->name[i], labels, LYNX_COUNT(labels))) t->role[i] = ROLE_LABEL; /* a commit may look like a number */
  return true;
}

/* By the first value that each has. */
static void see_roles(struct table *t) {
  for (size_t i = 0; i < t->n_columns && i < t->n_fields; i++)
    if (t->role[i] == ROLE_IGNORED && !is_missing(t->field[i])) t->role[i] = is_number(t->field[i]) ? ROLE_FIGURE : ROLE_LABEL;
}

static enum lynx_status take_row(struct table *t, const char *name, size_t source, struct history *history) {
  struct summary_figure figures[COLUMNS_MAX];
  struct summary_precision row = {.name = "", .fingerprint = "", .figures = figures, .conditions = {NAN, NAN, NAN, NAN, NAN, NAN, NAN}};
  struct summary summary = {.contract = "", .name = name, .precisions = &row, .n_precisions = 1};
  const char *label = "";
  char row_name[32];
  if (t->n_fields != t->n_columns) return wrong(t, "", t->field[0], "as many fields as the first row has columns");
  see_roles(t);
  for (size_t i = 0; i < t->n_columns; i++) {
    const char *text = t->field[i];
    if (t->role[i] == ROLE_LABEL && label[0] == 0) label = text;
    if (t->role[i] == ROLE_TIME && !when_read(text, &summary.started_ns))
      return wrong(t, t->name[i], text, "seconds since 1970, or a date such as 2026-11-23 or 2026-11-23T06:00:00Z");
    if (t->role[i] != ROLE_FIGURE || is_missing(text)) continue;
    struct summary_figure *f = &figures[row.n_figures++];
    *f = (struct summary_figure){.name = t->name[i], .formula = "", .unit = "", .low = NAN, .high = NAN, .n = 1};
    if (!number_double(text, strlen(text), &f->value) || fabs(f->value) > SUMMARY_VALUE_MAX)
      return wrong(t, t->name[i], text, "a number, or nothing where there is none");
  }
  if (row.n_figures > SUMMARY_FIGURES_MAX) return lynx_fail(t->error, LYNX_LIMIT, "more than %d figures in a table", SUMMARY_FIGURES_MAX);
  if (row.n_figures == 0) row.left_out = "no value";
  if (label[0] == 0) {
    (void)snprintf(row_name, sizeof row_name, "line %" PRId64, t->line);
    label = row_name;
  }
  history_add(history, &(struct history_origin){label, "", "", source}, &summary);
  return LYNX_OK;
}

enum lynx_status table_read(struct bytes text, const char *name, size_t source, struct history *history, struct lynx_error *error) {
  struct table *t = xalloc(1, sizeof *t);
  size_t n_rows = 0, n_figures = 0;
  *t = (struct table){.at = text.ptr, .end = text.ptr + text.length, .error = error};
  enum lynx_status status = LYNX_OK;
  if (text.length == 0 || !read_header(t))
    status = lynx_fail(error, LYNX_INPUT, "it is empty; accepted: a table whose first row names columns");
  else if (t->n_fields > COLUMNS_MAX) status = lynx_fail(error, LYNX_LIMIT, "%zu columns; accepted: at most %d", t->n_fields, COLUMNS_MAX);
  for (size_t i = 0; i < t->n_columns && status == LYNX_OK; i++)
    for (size_t k = 0; k < i && status == LYNX_OK; k++)
      if (strcmp(t->name[i], t->name[k]) == 0 && t->name[i][0] != 0)
        status = wrong(t, t->name[i], "a second column of this name", "different names");
  while (status == LYNX_OK && read_row(t)) {
    status = ++n_rows > TABLE_ROWS_MAX ? lynx_fail(error, LYNX_LIMIT, "more than %d rows", TABLE_ROWS_MAX)
                                       : take_row(t, name, source, history);
  }
  if (status == LYNX_OK && t->broken != NULL) status = wrong(t, "", t->broken, "fields, or quoted fields");
  for (size_t i = 0; i < t->n_columns; i++) n_figures += t->role[i] == ROLE_FIGURE;
  if (status == LYNX_OK && n_figures == 0)
    status = lynx_fail(error, LYNX_INPUT, "no column holds numbers; accepted: a table with a row of names, then one row for each run");
  free(t);
  return status;
}
