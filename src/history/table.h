/* history/table.h: a table of figures over time, as text: what teams already have, and Otava's tables.
 * Shapes   the first row names the columns; fields are separated by commas, semicolons or tabs, and may stand in double quotes. A column
 *          named time, date, timestamp or datetime says when a row was (seconds since 1970, or a date with an optional time and zone;
 *          without a zone: UTC); columns whose first value is a number are figures; the first other one names the row
 * Errors   INPUT with line and column: no header, no figure, a field that is no number where numbers are, a date that is none;
 *          LIMIT: more than TABLE_ROWS_MAX rows or SUMMARY_FIGURES_MAX figures
 * Limits   which direction is better is not known of such figures. An empty field is a missing value, never a made-up one */
#ifndef HISTORY_TABLE_H
#define HISTORY_TABLE_H

#include "history/history.h"

enum { TABLE_FILE_MAX = 64 << 20, TABLE_ROWS_MAX = 100000 };

/* name: of the series, as the file's. Adds one run per row. */
enum lynx_status table_read(struct bytes text, const char *name, size_t source, struct history *history,
                            struct lynx_error *error) LYNX_MUST_CHECK;

#endif
