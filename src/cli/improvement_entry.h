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
 * where it is new. Gives an exit code: what is wrong was told. */
int findings_record(const struct pen_wanted *wanted, const char *bundle, const struct attribution *attribution, const struct live *live);

struct iteration {
  const char *path[2]; /* bundles: before, after */
  struct result *result[2];
  const struct comparison_list *list;
  const char *change, *finding; /* in words; the entry that it answers, or NULL */
};

/* --change TEXT, perhaps --finding ENTRY: both bundles, and an entry whose effect is what was compared: every figure with its ratio,
 * interval and verdict. */
int iteration_record(const struct pen_wanted *wanted, const struct iteration *iteration);

#endif
