/* page/frame.h: what every page has: its head, the way back, where its data is, its foot. */
#ifndef PAGE_FRAME_H
#define PAGE_FRAME_H

#include "page/markup.h"
#include "executor/disclose.h"
#include "page/source.h"

enum page_form { FORM_HTML, FORM_JSON, FORM_CSV };

enum { COMPARED_MAX = 5 };

struct compared {
  const struct board_run *run[COMPARED_MAX];
  size_t n;
};

/* What a page is made with. */
struct frame {
  const struct pages *pages;
  struct markup markup;
  const char *up;      /* "" or "../": to the first page's folder */
  const char *address; /* this page's, without its ending */
  const char *asked;   /* what stands behind its ending: "?q=driver+570"; "" */
  enum page_form form;
  bool alone; /* of one who may read nothing else: no link leads away */
};

/* data: what else there is at this address: "json", "json csv", "" */
void frame_begin(struct frame *frame, const char *title, const char *data);
void frame_end(struct frame *frame);

/* A page's h1, with what stands small above it. */
void frame_title(struct frame *frame, const char *above, const char *title);
void frame_heading(struct frame *frame, const char *text);
/* "entry 12", linked to it. */
void frame_entry(struct frame *frame, uint64_t index);

/* One of the contract's series, of two values or more. */
void frame_plot(struct frame *frame, const struct board_contract *contract, const struct history_series *series);

/* --- the pages; each writes its whole body --- */

void home_page(struct frame *frame, struct home_cards *cards);
struct home_cards *home_cards_new(void);
void home_cards_release(struct home_cards *cards); /* accepts NULL */
void work_page(struct frame *frame);
/* text: the question. What is wrong with it; NULL: nothing */
const char *search_page(struct frame *frame, const char *text);
void running_page(struct frame *frame, const struct running_run *runs, size_t n);
void schedule_page(struct frame *frame);
/* looked NULL: nothing was brought yet */
void look_page(struct frame *frame, const struct looked *looked);
void contract_page(struct frame *frame, const struct board_contract *contract);
void meeting_page(struct frame *frame, const struct board_contract *contract);
/* inside: what `lynxbench show --html - --inside` made of its bundle; NULL: not to be had, and why */
void result_page(struct frame *frame, const struct board_run *run, const struct buffer *inside, const char *why);
/* The same for one who has a link to it alone; level: how much of it is shown. */
void shared_page(struct frame *frame, const struct board_run *run, enum disclosure level, const struct buffer *inside, const char *why);
/* Two runs or more; what their bundles say is asked of the frame's pages. */
void compare_page(struct frame *frame, const struct compared *runs);

#endif
