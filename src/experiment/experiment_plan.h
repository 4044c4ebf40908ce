/* experiment/experiment_plan.h: the factors of an experiment as its author wrote them down: which facts of an executor have two levels, and
 * how each level is brought about.
 *
 * Kinds    variable, argument, word: of the start command, as experiment/swap.h mixes them; in_front: what is put before the command;
 *          package: a version, in environments that are built for it (experiment/built_environments.h); by_hand: the operator is asked
 * Levels   a: as the contract has it, where nothing is said; b: always said. «unset» takes a variable or an argument away, «set» is an
 *          argument without a value. Of a word and of what is in front, a is always the contract's own
 * Hard     what is hard to change is changed once in a whole plot (stats/factorial.h); what is done by hand always is
 * Errors   INPUT, with the line and the field: what was found and what is accepted
 */
#ifndef EXPERIMENT_EXPERIMENT_PLAN_H
#define EXPERIMENT_EXPERIMENT_PLAN_H

#include "experiment/swap.h"
#include "stats/factorial.h"

enum { PACKAGES_MAX = 3 };

enum factor_kind { FACTOR_VARIABLE, FACTOR_ARGUMENT, FACTOR_WORD, FACTOR_IN_FRONT, FACTOR_PACKAGE, FACTOR_BY_HAND, FACTOR_KIND_COUNT };

enum factor_state { LEVEL_AS_IT_IS, LEVEL_UNSET, LEVEL_SET, LEVEL_WORDS };

struct factor_level {
  enum factor_state state;
  struct text_list words; /* LEVEL_WORDS: one or more */
};

struct factor {
  enum factor_kind kind;
  int line;
  const char *name;
  struct factor_level level[2];
  const char *how; /* by hand: what to do; NULL */
  bool hard, has_layer;
  enum layer layer;
};

struct experiment_plan {
  const char *contract; /* paths as they are written: from the plan's folder */
  struct factor factors[FACTORIAL_FACTS_MAX];
  size_t n;
  const char *python, *folder, *requirements; /* of environments; NULL: not said */
  struct contract_start ends[2];              /* A and B, as far as start commands say it */
  const struct factor *of_fact[FACTORIAL_FACTS_MAX];
};

/* Texts live in the arena. */
enum lynx_status experiment_plan_parse(const char *text, size_t length, struct arena *arena, struct experiment_plan *ret,
                                       struct lynx_error *error) LYNX_MUST_CHECK;

/* The facts of this start command's executor: those of the start command first. */
enum lynx_status experiment_plan_facts(struct experiment_plan *plan, const struct contract_start *start, struct arena *arena,
                                       struct swap_list *ret, struct lynx_error *error) LYNX_MUST_CHECK;

/* The command of a mixture with what is put in front of it. */
struct text_list experiment_plan_in_front(const struct experiment_plan *plan, uint64_t facts, const struct text_list *command,
                                          struct arena *arena);

/* Which facts are hard to change; which are of that kind. */
uint64_t experiment_plan_hard(const struct experiment_plan *plan);
uint64_t experiment_plan_of_kind(const struct experiment_plan *plan, enum factor_kind kind);

/* A level in words, to be shown. */
const char *factor_level_text(const struct factor *factor, int level, struct arena *arena);

#endif
