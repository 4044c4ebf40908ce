/* cli/live_site.h: a ledger's pages (page/pages.h), kept up to date with it: what `serve` answers and `site` writes.
 *
 * What only a bundle says comes from this same program, started as a child on a copy of the bundle: it parses what others wrote, and does
 * that in its cage, one at a time. What it gives depends on the bundle alone, so it is kept.
 *
 * Limits   pages and what bundles gave: LIVE_SITE_KEPT bytes are kept, the oldest go; a bundle of more than LIVE_SITE_BUNDLE bytes, or
 * whose page takes longer than LIVE_SITE_VIEW_S, is not shown. Of the server's threads LIVE_SITE_MAKERS at most make pages or wait for
 *          that; further ones are asked to come again: what the server does besides must go on
 * Threads  live_site_get any, several at once; one of its own, which follows the ledger; else one */
#ifndef CLI_LIVE_SITE_H
#define CLI_LIVE_SITE_H

#include "cli/ledger_file.h"
#include "page/pages.h"
#include "serve/log_server.h"

#define LIVE_SITE_KEPT ((size_t)128 << 20)
#define LIVE_SITE_BUNDLE ((int64_t)256 << 20)
enum { LIVE_SITE_VIEW_S = 20, LIVE_SITE_MAKERS = 2 };

struct live_site;

/* NULL: no such ledger, or no folder for bundles, which was reported; *ret_code: what the command ends with. */
struct live_site *live_site_open(const char *ledger, int *ret_code);
/* What it shows beside the ledger, before it follows it: runs in progress, and schedules whose logs lie in that folder; NULL: none. False: no
 * such folder, which was reported. */
bool live_site_show(struct live_site *site, const char *command, struct running *running, const char *schedules);
/* How readers name the ledger: before anything else. */
void live_site_name(struct live_site *site, const char *address);
/* From here on it follows the ledger. False: no thread. */
bool live_site_follow(struct live_site *site);
void live_site_close(struct live_site *site); /* accepts NULL */

/* For log_server_at.pages; context: the site. */
void live_site_look(void *context, int fd, const char *name, const atomic_int *stop, struct served_page *ret);
bool live_site_get(void *context, const char *address, bool compressed, struct served_page *ret);
/* Without following it: all of the ledger's entries as of now. False: reported. */
bool live_site_read(struct live_site *site);
struct pages *live_site_pages(struct live_site *site);
struct ledger_file *live_site_ledger(struct live_site *site);

#endif
