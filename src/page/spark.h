/* page/spark.h: a series as a small picture: its values, its levels, where it changed. */
#ifndef PAGE_SPARK_H
#define PAGE_SPARK_H

#include "history/history.h"
#include "page/markup.h"

void spark_put(struct markup *markup, const struct history *history, const struct history_series *series);

#endif
