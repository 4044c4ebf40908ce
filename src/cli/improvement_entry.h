/* cli/improvement_entry.h: what improving leaves in the ledger: a run's findings, and an iteration: finding, change, re-measurement,
 * measured effect. */
#ifndef CLI_IMPROVEMENT_ENTRY_H
#define CLI_IMPROVEMENT_ENTRY_H

#include "attribute/attribution.h"
#include "attribute/live_shape.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "cli/pen.h"
#include "result/comparison.h"

/* --record BUNDLE: one entry for each finding of each trace, and of the run's own account, of the run that the bundle is of: with the
 * layers and their owners by its contract, and the trace's digest. attribution, live: NULL where there is none. The bundle goes in first,
 * where it is new. Gives an exit code: what is wrong was reported. */
int findings_record(const struct pen_wanted *wanted, const char *bundle, const struct attribution *attribution, const struct live *live);

/* --layer. False: what is accepted was told. command: who says it. */
bool layer_read(const char *command, const char *text, enum layer *ret);

/* A finding that no trace gave: a team's own, or a gate's. */
struct stated_finding {
  const char *rule, *named;                         /* what makes it the same as another; NULL: its title */
  const char *title, *rung, *evidence, *to_confirm; /* to_confirm NULL: nothing */
  const char *const *layers, *const *owners;        /* where it shows first; the others contribute */
  size_t n_layers;                                  /* 0: nobody's yet */
};
/* The bundle goes in first, where it is new. False: reported. */
bool finding_add(struct pen *pen, const char *path, const struct result *result, const struct stated_finding *finding, uint64_t *ret_index);

/* A finding's entry, by its number or its digest of 64 digits. False: reported. */
struct finding_entry {
  struct arena arena;
  struct ledger_entry entry;
  uint64_t index;
};
bool finding_read(struct ledger_file *file, const char *text, struct finding_entry *ret);
void finding_release(struct finding_entry *finding);

struct iteration {
  const char *path[2]; /* bundles: before, after */
  struct result *result[2];
  struct comparison_list *list;
  const char *change;                  /* in words */
  const struct finding_entry *finding; /* that it answers; NULL */
};

/* Both bundles, where they are new, and an entry whose effect is what was compared: every figure with its ratio, interval and verdict.
 * False: reported. */
bool iteration_add(struct pen *pen, const struct iteration *iteration, uint64_t *ret_index);

#endif
