/* page/work_page.h: findings and what became of them (board/work.h), as a table: the page, its data, and `lynxbench iterate list --json`.
 */
#ifndef PAGE_WORK_PAGE_H
#define PAGE_WORK_PAGE_H

#include "board/work.h"
#include "page/data_table.h"

void work_table_begin(struct table *table);
void work_table_add(struct table *table, const struct board *board, const struct work_item *item);

#endif
