/* report/server_html.h: what a server's own metrics say of how it worked (result/server_figures.h), as a section of a page. */
#ifndef REPORT_SERVER_HTML_H
#define REPORT_SERVER_HTML_H

#include "base/buffer.h"
#include "result/figures.h"

/* Nothing where there is none. */
void server_html(const struct result_precision *precision, struct buffer *out);

#endif
