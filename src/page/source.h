/* page/source.h: what pages are made from. */
#ifndef PAGE_SOURCE_H
#define PAGE_SOURCE_H

#include "board/meeting.h"

enum { PAGE_BYTES_MAX = 64 << 20, PAGE_ADDRESS_MAX = 200 };

enum bundle_view {
  VIEW_REPORT,    /* HTML, for inside a page */
  VIEW_RESULT,    /* JSON */
  VIEW_DIFFERENCE /* JSON: how the executors of two bundles differ */
};

struct pages {
  struct board *board;
  struct ledger *ledger; /* for entries; NULL: none are shown */
  bool live;             /* somebody answers: there is a page that searches. Files do not */
  /* Of bundles that the ledger keeps, by the digests of their files; b NULL: one alone. False: it cannot be had. NULL: none can. */
  bool (*view)(void *context, enum bundle_view view, const uint8_t a[DIGEST_BYTES], const uint8_t b[DIGEST_BYTES], struct buffer *ret);
  void *context;
};

#endif
