#include "report/answer_report.h"

#include <string.h>

#include "report/html_page.h"
#include "report/svg.h"
#include "base/shown.h"

static const char *const colors_of[] = {
    [TILE_NOT_ASKED] = "dim", [TILE_NOT_COMPUTED] = "dim", [TILE_UNKNOWN] = "warn", [TILE_KEPT] = "good", [TILE_MISSED] = "bad"};

void answer_text(const struct answer *answer, bool color, struct buffer *ret) {
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *dim = color ? text_colors[TEXT_DIM] : "",
             *plain = color ? text_colors[TEXT_PLAIN] : "";
  (void)buffer_printf(ret, "%s%s%s\n", strong, answer->sentence, plain);
  if (answer->next[0] != 0) (void)buffer_printf(ret, "next: %s\n", answer->next);
  (void)buffer_printf(ret, "%sasked:%s %.300s%s\n", dim, plain, answer->question, strlen(answer->question) > 300 ? " ..." : "");
  for (int i = 0; i < ANSWER_TILES; i++) {
    const struct answer_tile *t = &answer->tiles[i];
    if (t->state == TILE_NOT_ASKED) continue;
    (void)buffer_printf(ret, "  %s%s:%s %s %s; %s%s%s", dim, t->name, plain, t->asks, t->promised, t->measured,
                        t->measured[0] != 0 ? ", " : "", tile_words(t));
    (void)buffer_printf(ret, "%s%s%s\n", t->next[0] != 0 ? " (next: " : "", t->next, t->next[0] != 0 ? ")" : "");
  }
}

void answer_html(const struct answer *answer, struct buffer *ret) {
  html_text(ret, "<p class='asked'>", answer->question, "</p><h1>");
  html_text(ret, "", answer->sentence, "</h1>");
  (void)buffer_printf(ret, "<p class='state %s'><span aria-hidden='true'>%s</span> %s", answer_state_class(answer->state),
                      answer_state_icon(answer->state), answer_state_text(answer->state));
  (void)buffer_text(ret, "</p>");
  const char *meaning = answer_state_meaning(answer->state);
  if (meaning[0] != 0) html_text(ret, " <span class='dim meaning'>", meaning, "</span>");
}

static void put_tile(const struct answer_tile *t, struct buffer *ret) {
  bool asked = t->state != TILE_NOT_ASKED, known = t->measured[0] != 0;
  (void)buffer_printf(ret, "<li class='tile%s'><span class='name'>", asked ? "" : " grey");
  html_text(ret, "", t->name, "</span><b>");
  html_text(ret, "", known ? t->measured : tile_state_text(t->state), "</b>");
  (void)buffer_printf(ret, "<span class='%s'>", colors_of[t->state]);
  if (asked) html_text(ret, t->asks, ": ", "");
  if (asked) html_text(ret, "", t->promised, known ? " · " : "");
  if (known) (void)buffer_text(ret, tile_words(t));
  (void)buffer_text(ret, "</span>");
  if (t->next[0] != 0 && asked) html_text(ret, "<code>", t->next, "</code>");
  (void)buffer_text(ret, "</li>");
}

void answer_tiles_html(const struct answer *answer, struct buffer *ret) {
  (void)buffer_text(ret, "<ul class='tiles' aria-label='promised and measured'>");
  for (int i = 0; i < ANSWER_TILES; i++) put_tile(&answer->tiles[i], ret);
  (void)buffer_text(ret, "</ul>");
}
