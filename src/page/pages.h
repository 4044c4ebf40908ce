/* page/pages.h: the pages over a ledger: an address in, a page out.
 *
 * page shows what the board (board/board.h) and reports say, and decides nothing. A page is markup, or JSON or CSV of the same table
 * at the same address with another ending. It opens no bundle: what only a bundle says is made by who hands `view` in, in a cage of
 * its own.
 *
 * Addresses   index, work, search (with ?q=, the question, as %-encoded bytes or plain; only where somebody answers), contract/DIGEST, meeting/DIGEST, result/ROOT, compare/ROOT-ROOT, each with .html or .json, tables with
 *             .csv, too; entry/N.json; metrics; style.css, script.js, openapi.json. Links are relative: the pages work below any
 *             address, and as files
 * Order       pages_answer whenever the board does not change; page_release; pages_release at the end
 * Errors      404 with a page that says what there is; 503 where a bundle cannot be read now
 */
#ifndef PAGE_PAGES_H
#define PAGE_PAGES_H

#include "page/source.h"

struct page {
  unsigned status; /* as HTTP's */
  const char *type;
  struct buffer body;
};

/* address: without what stands before it, and without a slash at its beginning: "contract/33e5....html" */
void pages_answer(struct pages *pages, const char *address, struct page *ret);
/* A page of its own, for who brought it alone. */
void pages_look(struct pages *pages, const struct looked *looked, struct page *ret);
/* Runs that go on: a page, and what its script and programs read: an array, the same fields. */
void pages_running(struct pages *pages, const struct running_run *runs, size_t n, struct page *ret);
bool running_json(const struct running_run *runs, size_t n, struct buffer *ret);
/* address: schedule.html, .json or .csv. False: another one, or there are none to show. */
bool pages_schedule(struct pages *pages, const char *address, struct page *ret);
/* Whether what is behind a ? matters to the page at that address. */
bool pages_asks(const char *address);
/* One that does not depend on the ledger: style.css, script.js, openapi.json. False: it is none of them. */
bool pages_file(const char *address, struct page *ret);
void page_release(struct page *page);
/* What pages were made with. The board is its owner's. */
void pages_release(struct pages *pages);

/* Every address of these pages, for who writes them as files. False from visit: enough. */
void pages_each(struct pages *pages, bool (*visit)(void *context, const char *address), void *context);

#endif
