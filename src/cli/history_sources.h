/* cli/history_sources.h: the runs of folders, bundles, ledgers and tables, read for a history, and opened again where their facts
 * are wanted.
 * Order    history_sources_read; history_search; then the opener; history_sources_release
 * Errors   a bundle that cannot be read is reported and counted, and the others are read
 */
#ifndef CLI_HISTORY_SOURCES_H
#define CLI_HISTORY_SOURCES_H

#include "board/digest_map.h"
#include "cli/bundle_file.h"
#include "cli/confine.h"
#include "cli/ledger_file.h"
#include "history/coincidence.h"
#include "history/timetable_file.h"

enum { HISTORY_FILES_MAX = 200000 };

/* What of the runs is wanted; NULL each: all. */
struct history_filter {
  const char *contract; /* its name, or how its digest begins */
  const char *precision;
  const char *figure; /* a part of its name */
  bool (*keep)(const void *context, const char *root, const struct summary *summary);
  const void *context;
};

/* Where a run can be opened again. */
struct history_source {
  const char *path;             /* of a file; "": it is in the ledger */
  const char *ledger;           /* the ledger's address; NULL */
  uint8_t digest[DIGEST_BYTES]; /* of its file there */
};

struct history_sources {
  struct history_filter filter;
  struct history *history;
  struct history_source *items;
  size_t n, room;
  struct timetable_log *schedules; /* whose logs of times lie in the folders */
  size_t n_schedules, schedules_room;
  size_t n_read, n_unreadable, n_other; /* n_other: of those that were read, they are of another contract than is wanted */
  bool quiet, from_ledger, told;        /* told: progress */
  int64_t looked_ns;
  char folder[4200];       /* that was made for a ledger's bundles; "" */
  struct digest_map texts; /* that were read */
  struct arena arena;
  struct ledger_file opened; /* the ledger that was opened last */
  bool is_open;
  struct bundle_file a, b; /* those that the opener gave out */
  bool a_taken;
};

/* Those that stand in the arguments from `first` on ("-": a table from standard input), or, where there is no argument, the usual
 * ledger, if there is one. An exit code; WRONG_INPUT was told. */
int history_sources_read(struct history_sources *sources, const struct arguments *arguments, int first);
struct history_opener history_sources_opener(struct history_sources *sources);
/* What a cage must allow for the same. */
void history_sources_confine(const struct arguments *arguments, int first, struct confinement *ret);
/* Closes the ledger until a run of it is opened again: before this process, or one that it starts, writes to it. SQLite keeps one index of a
 * log per process, and a reader's takes no change. */
void history_sources_let_go(struct history_sources *sources);
void history_sources_release(struct history_sources *sources);

#endif
