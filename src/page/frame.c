#include "page/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PLOT_MAX = 4 << 20 };

static void put_data_link(struct frame *f, const char *ending, const char *words) {
  markup_link(&f->markup, NULL, words, "%s%s.%s%s", f->up, f->address, ending, f->asked);
}

static void put_head(struct frame *f, const char *title) {
  struct markup *m = &f->markup;
  const char *style = f->up[0] != 0 ? "../style.css" : "style.css";
  (void)buffer_text(m->out, "<!doctype html>");
  (void)buffer_text(m->out, "<html lang=\"en\">");
  markup_open(m, "head", NULL);
  markup_empty(m, "meta", "charset", "utf-8", NULL);
  markup_empty(m, "meta", "name", "viewport", "content", "width=device-width,initial-scale=1", NULL);
  if (f->alone) markup_empty(m, "meta", "name", "robots", "content", "noindex", NULL);
  markup_empty(m, "meta", "name", "color-scheme", "content", "light dark", NULL);
  markup_open(m, "title", NULL);
  markup_printf(m, "%s · lynxbench", title);
  markup_close(m);
  markup_empty(m, "link", "rel", "stylesheet", "href", style, NULL);
  markup_close(m);
  (void)buffer_text(m->out, "<body class=\"site\">");
  markup_link(m, "skip", "Skip to the page", "#main");
  markup_open(m, "header", NULL);
  if (f->alone) {
    markup_whole(m, "b", NULL, "lynxbench");
    markup_close(m);
    return;
  }
  markup_open(m, "a", "class", "home", "href", f->up[0] != 0 ? "../index.html" : "index.html", NULL);
  markup_whole(m, "b", NULL, "lynxbench");
  markup_text(m, " all contracts");
  markup_close(m);
  markup_link(m, "home", "findings", "%swork.html", f->up);
  if (f->pages->schedules != NULL) markup_link(m, "home", "schedules", "%sschedule.html", f->up);
  if (f->pages->live) {
    markup_link(m, "home", "search", "%ssearch.html", f->up);
    markup_link(m, "home", "in progress", "%srunning.html", f->up);
    markup_link(m, "home look", "look at a file", "%slook.html", f->up);
  }
  markup_close(m);
}

void frame_begin(struct frame *f, const char *title, const char *data) {
  struct markup *m = &f->markup;
  put_head(f, title);
  markup_open(m, "nav", "class", "data", "aria-label", "this page as data", NULL);
  if (strstr(data, "json") != NULL) put_data_link(f, "json", "JSON");
  if (strstr(data, "csv") != NULL) put_data_link(f, "csv", "CSV");
  markup_close(m);
  markup_open(m, "main", "id", "main", NULL);
}

static void put_way_to_data(struct frame *f) {
  struct markup *m = &f->markup;
  markup_text(m, "Every figure is from a signed entry; whoever doubts one can read the ledger and measure again: ");
  markup_whole(m, "code", NULL, "lynxbench ledger pull ");
  markup_whole(m, "code", NULL, f->pages->board->address);
  markup_whole(m, "code", NULL, " copy.ledger");
  markup_text(m, ". ");
  markup_link(m, NULL, "The addresses", "%sopenapi.json", f->up);
}

void frame_end(struct frame *f) {
  struct markup *m = &f->markup;
  const struct board *b = f->pages->board;
  markup_close(m);
  markup_open(m, "footer", NULL);
  markup_printf(m, "By the ledger %s, %" PRIu64 " entries. ", b->origin, b->n_entries);
  if (!f->alone) put_way_to_data(f);
  markup_close(m);
  markup_open(m, "script", "src", f->up[0] != 0 ? "../script.js" : "script.js", "defer", "", NULL);
  markup_close(m);
  (void)buffer_text(m->out, "</body></html>\n");
  lynx_assert(m->depth == 0);
}

void frame_title(struct frame *f, const char *above, const char *title) {
  markup_whole(&f->markup, "p", "above", above);
  markup_whole(&f->markup, "h1", NULL, title);
}

void frame_heading(struct frame *f, const char *text) {
  markup_whole(&f->markup, "h2", NULL, text);
}

void frame_plot(struct frame *f, const struct board_contract *c, const struct history_series *series) {
  const struct history_report report = board_report(c);
  struct buffer plot;
  buffer_init(&plot, PLOT_MAX);
  history_plot(&report, (size_t)(series - c->history.series), &plot);
  markup_made(&f->markup, &plot);
  buffer_release(&plot);
}

void frame_entry(struct frame *f, uint64_t index) {
  char text[40];
  if (f->alone) return;
  (void)snprintf(text, sizeof text, "entry %" PRIu64, index);
  markup_link(&f->markup, "entry", text, "%sentry/%" PRIu64 ".json", f->up, index);
}
