#include "cli/live_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_change.h"
#include "attribute/live.h"
#include "base/arena.h"
#include "base/shell.h"
#include "cli/bundle_file.h"
#include "cli/improvement_entry.h"
#include "cli/output.h"
#include "cli/standing_file.h"
#include "report/watched_change_report.h"
#include "report/confirmation_report.h"
#include "report/live_report.h"

enum { PAGE_MAX = 64 << 20 };

static int write_pages(const struct live *live, const char *bundle, bool json, const char *html) {
  struct buffer out, page;
  buffer_init(&out, PAGE_MAX);
  buffer_init(&page, PAGE_MAX);
  bool whole = json ? live_json(live, &out) : live_text(live, bundle, color_wanted(stdout), &out);
  bool good = write_buffer(NULL, &out) && whole;
  if (good && html != NULL) good = live_html(live, bundle, &page) && write_buffer(html, &page);
  buffer_release(&out);
  buffer_release(&page);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

int live_pages_write(const char *bundle, bool json, const char *html) {
  struct bundle_file file;
  struct live live;
  if (!bundle_file_open(bundle, &file)) return EXIT_WRONG_INPUT;
  int code = EXIT_INCONCLUSIVE;
  if (live_read(file.bundle, &file.result, &live)) {
    bool seen = live.at.n_lanes > 0 && live.bottleneck != LIVE_FAILING;
    code = write_pages(&live, bundle, json, html);
    if (code == EXIT_HOLDS && !seen) code = EXIT_INCONCLUSIVE;
    live_release(&live);
  } else complain("%s: no window was complete: there is nothing to account for\nnext: lynxbench show %s\n", bundle, shell_word(bundle));
  bundle_file_close(&file);
  return code;
}

static int write_change(const struct live *before, const struct live *after, bool json) {
  struct buffer out;
  struct arena arena = {0};
  struct live_change *change = xalloc(1, sizeof *change);
  live_change_find(before, after, &arena, change);
  buffer_init(&out, PAGE_MAX);
  bool whole = json ? live_change_json(change, &out) : live_change_text(change, color_wanted(stdout), &out),
       good = write_buffer(NULL, &out) && whole;
  int code = !good ? EXIT_CONDITIONS : change->abstained ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
  buffer_release(&out);
  arena_release(&arena);
  free(change);
  return code;
}

/* Of two watches: how much is other demand. */
static int write_watched_change(struct bundle_file files[2], bool json) {
  struct buffer out;
  struct arena arena = {0};
  struct lynx_error error = {0};
  struct watched_change change;
  if (watched_change_find(files[0].bundle, &files[0].result, files[1].bundle, &files[1].result, &arena, &change, &error) != LYNX_OK) {
    arena_release(&arena);
    return report_error(&error);
  }
  buffer_init(&out, PAGE_MAX);
  bool whole = json ? watched_change_json(&change, &out) : watched_change_text(&change, color_wanted(stdout), &out),
       good = write_buffer(NULL, &out) && whole;
  buffer_release(&out);
  arena_release(&arena);
  return !good ? EXIT_CONDITIONS : change.known ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

static bool are_watches(const char *before, const char *after, bool json, int *ret_code) {
  struct bundle_file files[2];
  if (!bundle_is(before) || !bundle_is(after) || !bundle_file_open(before, &files[0])) return false;
  bool both = files[0].result.observed && bundle_file_open(after, &files[1]);
  if (both && files[1].result.observed) *ret_code = write_watched_change(files, json);
  bool watches = both && files[1].result.observed;
  if (both) bundle_file_close(&files[1]);
  bundle_file_close(&files[0]);
  return watches;
}

bool live_pages_try_change(const char *before, const char *after, bool json, int *ret_code) {
  struct bundle_file files[2];
  struct live *lives = xalloc(2, sizeof *lives);
  const char *const paths[] = {before, after};
  if (are_watches(before, after, json, ret_code)) {
    free(lives);
    return true;
  }
  int n_opened = 0, n_read = 0;
  bool bundles = bundle_is(before) && bundle_is(after), broken = false;
  for (; bundles && n_opened < 2; n_opened++) {
    broken = !bundle_file_open(paths[n_opened], &files[n_opened]);
    if (broken) break;
    n_read += live_read(files[n_opened].bundle, &files[n_opened].result, &lives[n_opened]);
    if (n_read <= n_opened || lives[n_opened].at.n_lanes == 0) { /* nothing to compare */
      n_opened++;
      break;
    }
  }
  bool both = n_read == 2 && lives[0].at.n_lanes > 0 && lives[1].at.n_lanes > 0;
  if (both) *ret_code = write_change(&lives[0], &lives[1], json);
  if (broken) *ret_code = EXIT_WRONG_INPUT;
  for (int i = 0; i < n_read; i++) live_release(&lives[i]);
  for (int i = 0; i < n_opened; i++) bundle_file_close(&files[i]);
  free(lives);
  return both || broken;
}

/* What a ledger that is at hand says of experiments with its findings. */
static bool add_experiments(const char *ledger, const struct bundle_file *file, struct live *live) {
  struct standing standing;
  bool known;
  if (!standing_file_read(ledger, file, &standing, &known)) return false;
  for (size_t i = 0; known && i < standing.n_confirmations; i++)
    for (size_t k = 0; k < live->n_findings; k++) (void)confirmation_apply(&standing.confirmations[i], &live->findings[k]);
  if (known) standing_release(&standing);
  return true;
}

bool live_pages_try(const char *path, bool json, const char *html, const char *record, const struct pen_wanted *wanted, int *ret_code) {
  struct bundle_file file;
  struct live live;
  if (!bundle_is(path)) return false;
  if (!bundle_file_open(path, &file)) {
    *ret_code = EXIT_WRONG_INPUT;
    return true;
  }
  bool read = live_read(file.bundle, &file.result, &live), can = read && live.at.n_lanes > 0;
  if (can) *ret_code = add_experiments(wanted->ledger, &file, &live) ? write_pages(&live, path, json, html) : EXIT_WRONG_INPUT;
  if (can && record != NULL && *ret_code == EXIT_HOLDS) {
    bool own = strcmp(record, path) == 0;
    if (!own) complain("lynxbench attribute: --record: found '%s'; accepted for a run's own account: the same bundle, %s\n", record, path);
    *ret_code = own ? findings_record(wanted, path, NULL, &live) : EXIT_WRONG_INPUT;
  }
  if (read) live_release(&live);
  bundle_file_close(&file);
  return can;
}
