#include "report/server_html.h"

#include <math.h>
#include <string.h>

#include "report/html_page.h"
#include "report/svg.h"
#include "result/server_figures.h"

/* What the server's own metrics report, each with its course over the counted windows. */
void server_html(const struct result_precision *p, struct buffer *out) {
  char text[160];
  if (p->n_server == 0) return;
  (void)buffer_text(out,
                    "<h3>By the server's own metrics</h3><p class='dim'>Its word: nothing of it can be recomputed from requests. Over the "
                    "counted windows, one behind the other.</p>");
  for (size_t i = 0; i < p->n_server; i++) {
    const struct result_server *f = &p->server[i];
    const struct formula *formula = &formulas[f->formula];
    struct svg_plot plot = {.out = out, .width = 720, .height = 150};
    html_text(out, "<p><b>", formula->name, "</b>: ");
    (void)html_escape(out, server_figure_text(f, text, sizeof text));
    html_text(out, " <span class='dim mono'>", formula->id, "</span></p>");
    if (f->n_points < 2) continue;
    double greatest = fmax(f->greatest, 1e-9);
    plot.x = (struct svg_axis){.least = 0, .greatest = fmax(f->at_s[f->n_points - 1], 1e-9), .unit = SVG_SECONDS, .label = "counted time"};
    plot.y = (struct svg_axis){.least = 0,
                               .greatest = 1.1 * greatest,
                               .unit = strcmp(formula->unit, "share") == 0 ? SVG_SHARE
                                       : strcmp(formula->unit, "ns") == 0  ? SVG_NANOSECONDS
                                                                           : SVG_NUMBER,
                               .label = formula->name};
    (void)buffer_text(out, "<figure>");
    svg_begin(&plot, formula->name);
    svg_line(&plot, f->at_s, f->points, f->n_points, (int)i, false);
    svg_end(&plot);
    (void)buffer_text(out, "</figure>");
  }
}
