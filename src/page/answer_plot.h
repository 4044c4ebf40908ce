/* page/answer_plot.h: the one picture of an answer: before and after, or the load against its limit, or a latency against its objective. */
#ifndef PAGE_ANSWER_PLOT_H
#define PAGE_ANSWER_PLOT_H

#include "board/meeting.h"
#include "page/markup.h"

/* False: there is nothing to draw. */
bool answer_plot(struct markup *markup, const struct meeting *meeting);

#endif
