#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/ledger_export.h"
#include "cli/live_site.h"

enum { FLAG_URL, FLAG_SCHEDULES, FLAG_QUIET };

static const struct option_spec options[] = {
    [FLAG_URL] = OPTION("url", "URL", "where the folder will be served: what commands on the pages name (default: LEDGER)"),
    [FLAG_SCHEDULES] = OPTION("schedules", "DIR", "show what became of the schedules whose runs go there (schedule add --folder)"),
    [FLAG_QUIET] = SWITCH_QUIET};

static const int64_t progress_ns = 500000000;

struct writing {
  struct live_site *site;
  const char *folder;
  bool progress, good;
  int64_t told_ns;
  size_t n_written, n_failed;
};

static bool write_page(void *context, const char *address) {
  struct writing *w = context;
  struct page page;
  char path[4200];
  pages_answer(live_site_pages(w->site), address, &page);
  int n = snprintf(path, sizeof path, "%s/%s", w->folder, address);
  file_make_parents(path, 0755);
  w->good = n > 0 && n < (int)sizeof path && write_buffer(path, &page.body);
  w->n_written += w->good;
  w->n_failed += page.status != 200;
  page_release(&page);
  int64_t now = clock_now(&clock_system);
  if (w->progress && now - w->told_ns > progress_ns) {
    complain("\r%zu pages", w->n_written);
    w->told_ns = now;
  }
  return w->good;
}

static int write_site(struct writing *w) {
  if (!live_site_read(w->site)) return EXIT_CONDITIONS;
  pages_each(live_site_pages(w->site), write_page, w);
  if (w->told_ns != 0) complain("\r\033[K");
  if (!w->good) return EXIT_CONDITIONS; /* it was reported */
  const size_t length = strlen(w->folder);
  const bool slash = length > 1 && w->folder[length - 1] == '/';
  say("%s: %zu pages", w->folder, w->n_written);
  if (w->n_failed > 0) say(", %zu of which say that their bundle cannot be shown", w->n_failed);
  say("\nnext: open %s%sindex.html, or let any web server serve the folder\n", w->folder, slash ? "" : "/");
  return EXIT_HOLDS;
}

static int run(const struct arguments *arguments) {
  const char *url = arguments->option[FLAG_URL], *schedules = arguments->option[FLAG_SCHEDULES];
  struct writing w = {
      .folder = arguments->positional[1], .good = true, .progress = arguments->option[FLAG_QUIET] == NULL && isatty(STDERR_FILENO) != 0};
  int code = EXIT_CONDITIONS;
  w.site = live_site_open(arguments->positional[0], &code);
  if (w.site == NULL) return code;
  live_site_name(w.site, url != NULL ? url : live_site_ledger(w.site)->address);
  if (schedules != NULL && !live_site_show(w.site, "site", NULL, schedules)) code = EXIT_WRONG_INPUT;
  else code = ledger_export(live_site_ledger(w.site), w.folder) ? write_site(&w) : EXIT_CONDITIONS;
  live_site_close(w.site);
  return code;
}

const struct command command_site = {
    .name = "site",
    .summary = "write a ledger's pages as static files",
    .usage = "LEDGER FOLDER",
    .least = 2,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "The pages that `lynxbench serve` answers with, and beside them the log's own files (`ledger export`), so that whoever reads a\n"
        "page can also `lynxbench ledger pull` the ledger and check every entry. Bundles are part of it, with what they hold: prompts that "
        "a\n"
        "contract does not withhold, names of hosts and files. What is in the folder already is written again, and nothing is removed.",
    .example = "rm -rf /tmp/st; mkdir -p /tmp/st; build/lynxbench ledger key ml --out /tmp/st; build/lynxbench ledger create "
               "/tmp/st/t.ledger --key "
               "/tmp/st/ml.key; build/lynxbench site /tmp/st/t.ledger /tmp/st/site",
    .run = run};
