/* cli/perturbation.h: a run whose resources are slowed in blocks, as `perturb` and `confirm` make one: from a contract, or from a run with
 * its contract. */
#ifndef CLI_PERTURBATION_H
#define CLI_PERTURBATION_H

#include "cli/bundle_file.h"
#include "cli/contract_file.h"
#include "cli/output.h"
#include "experiment/blocks.h"
#include "experiment/sensitivity.h"

struct perturbation {
  /* Given. */
  const char *tool, *path; /* path: a bundle or a contract */
  const char *contract_path, *agreed, *endpoint, *duration, *out;
  const char *key_variable; /* the user's own, for a contract that came in a bundle */
  const char *const *perturbers;
  int64_t n_looks; /* 1 or more: the time is divided among so many sessions, with a look after each */
  bool (*enough)(void *context, const struct sensitivities *so_far);
  void *context;
  /* Between sessions: more blocks for what has a wide interval so far, none for what is impossible. Without a duration, more sessions. */
  bool weighs;
  bool quiet, contracts_only; /* contracts_only: no bundle of a run says at which load */
  const char *setting;        /* the variable that is taken out of its environment, in every second session or so; NULL: none */
  const char *knob;           /* what is set in every second session or so; NULL: none */
  const char *functions[FUNCTIONS_MAX], *library; /* that are slowed, of an executor that the contract starts; NULL: none */
  /* Found. */
  struct bundle_file run;
  struct contract_file file;
  bool has_run, has_file, foreign;
  const char *text;
  const struct contract *contract;
  int64_t concurrency; /* of a closed loop; 0: the contract's own load */
  struct blocks_plan plan;
  int64_t warm_up_ns, counted_ns, n_sessions, n_more; /* more: sessions, where intervals are wide after n_looks of them */
  char out_name[300], no_wire[300];
};

/* Reads what is there, asks where a contract came with a bundle, and plans. Exit code; what is wrong was reported. */
int perturbation_open(struct perturbation *p);
/* Says what will be done, then does it. The bundle is p->out. */
int perturbation_run(struct perturbation *p);
/* Of intervals, where each of several looks is paid for. */
double perturbation_confidence(const struct perturbation *p);
void perturbation_close(struct perturbation *p);

/* What could not be perturbed, from the bundle's events: texts in the arena. */
size_t perturbation_unprobed(struct bundle *bundle, struct arena *arena, const char ***ret);

#endif
