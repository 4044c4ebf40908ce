#include "page/markup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report/svg.h"

enum { TEXT_MAX = 1 << 16, ADDRESS_MAX = 1000 };

void markup_put(struct markup *m, const char *const *words) {
  (void)buffer_printf(m->out, "<%s", words[0]);
  for (const char *const *pair = words + 1; pair[0] != NULL; pair += 2) {
    if (pair[1] == NULL) continue;
    (void)buffer_printf(m->out, " %s=\"", pair[0]);
    (void)html_escape(m->out, pair[1]);
    (void)buffer_text(m->out, "\"");
  }
  (void)buffer_text(m->out, ">");
}

void markup_begin(struct markup *m, const char *const *words) {
  lynx_assert(m->depth < MARKUP_DEPTH);
  markup_put(m, words);
  m->open[m->depth++] = words[0];
}

void markup_close(struct markup *m) {
  lynx_assert(m->depth > 0);
  (void)buffer_printf(m->out, "</%s>", m->open[--m->depth]);
}

void markup_text(struct markup *m, const char *text) {
  if (text != NULL) (void)html_escape(m->out, text);
}

void markup_printf(struct markup *m, const char *format, ...) {
  struct buffer text;
  va_list more;
  buffer_init(&text, TEXT_MAX);
  va_start(more, format);
  int n = vsnprintf(NULL, 0, format, more);
  va_end(more);
  va_start(more, format);
  if (n > 0 && buffer_reserve(&text, (size_t)n + 1)) {
    (void)vsnprintf(text.data, (size_t)n + 1, format, more);
    markup_text(m, text.data);
  }
  va_end(more);
  buffer_release(&text);
}

void markup_whole(struct markup *m, const char *element, const char *class, const char *text) {
  markup_open(m, element, "class", class, NULL);
  markup_text(m, text);
  markup_close(m);
}

void markup_link(struct markup *m, const char *class, const char *text, const char *address, ...) {
  char to[ADDRESS_MAX];
  va_list more;
  va_start(more, address);
  (void)vsnprintf(to, sizeof to, address, more);
  va_end(more);
  markup_open(m, "a", "class", class, "href", to, NULL);
  markup_text(m, text);
  markup_close(m);
}

void markup_made(struct markup *m, const struct buffer *made) {
  (void)buffer_append(m->out, made->data, made->length);
}
