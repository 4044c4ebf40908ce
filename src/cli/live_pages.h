/* cli/live_pages.h: a bundle's live attribution, shown: on the screen or as JSON, and as a page. */
#ifndef CLI_LIVE_PAGES_H
#define CLI_LIVE_PAGES_H

#include <stdbool.h>

#include "cli/pen.h"

/* html: the page's file; NULL: none. An exit code: INCONCLUSIVE where no window was complete, or no thread was seen, which is said. */
int live_pages_write(const char *bundle, bool json, const char *html);

/* Where the file is a bundle with threads: shows it and sets the exit code; record: the bundle whose findings the ledger gets, itself;
 * NULL: none. False: another file, or none of them; nothing was printed. */
bool live_pages_try(const char *path, bool json, const char *html, const char *record, const struct pen_wanted *wanted, int *ret_code);

/* Two bundles that tell of threads: what changed. False as above. */
bool live_pages_try_change(const char *before, const char *after, bool json, int *ret_code);

#endif
