/* cli/screen.h: what a run looks like while it goes on: one line on a terminal, a line now and then elsewhere; Ctrl-C. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdatomic.h>
#include <time.h>

#include "cli/telling.h"
#include "measure/run.h"

struct screen {
  bool terminal, quiet, counted; /* counted: a step that counts was shown */
  struct telling *telling;       /* where progress is reported beside the terminal; NULL */
  const char *label;             /* of the run, where several go on in turn; NULL */
  char last_step[64];
  int64_t last_session;
  time_t last_line;
  long long last_tokens, last_done;
  double last_elapsed;
};

void screen_init(struct screen *screen, bool quiet);
void screen_show(void *screen, const struct run_progress *progress);
void screen_note(void *screen, const char *text);

/* Ctrl-C once: finish what is in flight; twice: abort. */
const atomic_int *screen_catch_interrupts(void);

/* "name-20261121T101500Z.lynx" */
char *screen_bundle_name(const struct contract *contract, const char *suffix, char *text, size_t size);

#endif
