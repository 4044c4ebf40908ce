/* result/server_figures.h: what a server's own metrics tell of how it worked in the counted windows: speculative decoding, prefix cache,
 * preemption, and the latencies that it measures itself, beside ours.
 * Shapes   counters by their increase between readings (a counter that went back is of a server that was restarted, and begins anew);
 *          ratios that a server gives itself by the mean of the readings
 * Result   figures of which there is something, each with its course over time in at most SERVER_POINTS_MAX points
 * Limits   it is the server's word: nothing of it can be recomputed from requests, and no claim rests on it */
#ifndef RESULT_SERVER_FIGURES_H
#define RESULT_SERVER_FIGURES_H

#include "record/bundle.h"
#include "result/figures.h"

enum { SERVER_POINTS_MAX = 240 };

/* rows: one per session of the precision. */
enum lynx_status server_figures_judge(struct bundle *bundle, struct result *result, struct result_precision *p,
                                      const struct bundle_session *const *rows, struct lynx_error *error);
/* "2.31 tokens per step [1.9 to 2.6 over time]". Returns text. size >= 160. */
char *server_figure_text(const struct result_server *figure, char *text, size_t size);

#endif
