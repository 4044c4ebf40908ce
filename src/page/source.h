/* page/source.h: what pages are made from. */
#ifndef PAGE_SOURCE_H
#define PAGE_SOURCE_H

#include "board/meeting.h"
#include "history/timetable.h"
#include "ledger/running.h"

enum { PAGE_BYTES_MAX = 64 << 20, PAGE_ADDRESS_MAX = 400 };

enum bundle_view {
  VIEW_REPORT,    /* HTML, for inside a page */
  VIEW_SHARED,    /* the same for another company, */
  VIEW_PUBLIC,    /* and for everybody: executor/disclose.h */
  VIEW_RESULT,    /* JSON */
  VIEW_DIFFERENCE /* JSON: how the executors of two bundles differ */
};

/* A file that somebody brought to be looked at. */
enum looked_kind { LOOKED_UNKNOWN, LOOKED_BUNDLE, LOOKED_TRACE, LOOKED_RESULT, LOOKED_KINDS };

struct looked {
  const char *name; /* as who brought it calls it */
  enum looked_kind kind;
  const struct buffer *inside; /* markup, of a file that could be read */
  const char *why;             /* else why not, in lines */
};

/* Schedules whose logs are looked at. */
enum { SCHEDULES_MAX = 200, SCHEDULE_SLOTS_KEPT = 300 };
struct page_schedules {
  const char *folder; /* NULL: none is */
  struct timetable_log *items;
  size_t n, n_unreadable;
  bool more; /* logs are there than SCHEDULES_MAX */
  int64_t now_s;
};

struct home_cards; /* what was made for the first page: it is made again only for contracts of which something changed */

struct pages {
  struct board *board;
  struct ledger *ledger; /* for entries; NULL: none are shown */
  bool live;             /* somebody answers: there are pages that search, and that look at a file. Files do not */
  /* Of bundles that the ledger keeps, by the digests of their files; b NULL: one alone. False: it cannot be had. NULL: none can. */
  bool (*view)(void *context, enum bundle_view view, const uint8_t a[DIGEST_BYTES], const uint8_t b[DIGEST_BYTES], struct buffer *ret);
  void *context;
  const struct page_schedules *schedules; /* NULL: there is no page of them */
  struct home_cards *cards;               /* begins as NULL */
};

#endif
