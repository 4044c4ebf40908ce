/* page/markup.h: HTML and SVG, element by element. What comes from outside is text or an attribute's value, and both are escaped here: no
 * caller can forget it.
 * Order    markup_open, then what is inside it, then markup_close, which closes the innermost; markup_end checks that all are closed
 * Errors   the buffer's: it overflows
 * Limits   elements MARKUP_DEPTH deep. Names of elements and attributes are ours, never from outside */
#ifndef PAGE_MARKUP_H
#define PAGE_MARKUP_H

#include "base/buffer.h"

enum { MARKUP_DEPTH = 32 };

struct markup {
  struct buffer *out;
  const char *open[MARKUP_DEPTH];
  int depth;
};

/* An element's name, then pairs of an attribute's name and its value, then NULL. A value that is NULL leaves its attribute out, "" writes
 * it empty. */
#define markup_open(markup, ...) markup_begin(markup, (const char *const[]){__VA_ARGS__})
/* One that holds nothing: <br>, <link ...>. */
#define markup_empty(markup, ...) markup_put(markup, (const char *const[]){__VA_ARGS__})
void markup_begin(struct markup *markup, const char *const *words);
void markup_put(struct markup *markup, const char *const *words);
void markup_close(struct markup *markup);
void markup_text(struct markup *markup, const char *text); /* NULL: none */
void markup_printf(struct markup *markup, const char *format, ...) LYNX_PRINTF(2, 3);
/* An element with a text in it. */
void markup_whole(struct markup *markup, const char *element, const char *class, const char *text);
void markup_link(struct markup *markup, const char *class, const char *text, const char *address, ...) LYNX_PRINTF(4, 5);
/* What another part of the program made as markup: a plot. */
void markup_made(struct markup *markup, const struct buffer *made);

#endif
