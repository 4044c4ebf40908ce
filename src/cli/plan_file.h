/* cli/plan_file.h: the plan of an experiment as a file: reading it, building the environments that it asks for, and asking the operator for
 * what is changed by hand. */
#ifndef CLI_PLAN_FILE_H
#define CLI_PLAN_FILE_H

#include <stdatomic.h>

#include "base/digest.h"
#include "experiment/built_environments.h"
#include "experiment/experiment_plan.h"

struct plan_file {
  const char *path;
  struct arena arena;
  struct experiment_plan plan;
  struct built_environments built;
  const char *contract; /* its path, from here */
  char digest[DIGEST_HEX];
  const struct swap_list *facts;
  uint64_t by_hand, at_hand; /* facts; and those of them that are at their second level now */
  bool asked;                /* at_hand is known */
  int64_t round;             /* of the last question */
};

/* False: it cannot be used, which was reported. plan_file_release follows in every case. */
bool plan_file_read(const char *path, struct plan_file *ret);
void plan_file_release(struct plan_file *file);

/* The facts, for its contract's start command; they are kept by the caller. Exit code; what is wrong was reported. */
int plan_file_facts(struct plan_file *file, const struct contract_start *start, struct swap_list *ret);

/* Builds what is not built yet. Exit code; why it cannot be was reported. */
int plan_file_prepare(struct plan_file *file, const atomic_int *stop);

/* Asks the operator to bring about the levels of a new plot, also those that are as before: what is set once for two plots would share its
 * luck, and the intervals know nothing of that. *ret_said: what was asked for, where something was. False: the operator ended it. */
bool plan_file_ask(struct plan_file *file, uint64_t facts, int64_t round, const char **ret_said);

#endif
