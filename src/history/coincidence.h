/* history/coincidence.h: what changed where a level did: the executor's facts, by layer and owner, and what surrounded the runs.
 * Result   that both changed at the same place: the lowest rung, no cause. NOTHING: the executor was captured, and nothing of it changed
 * Limits   what no probe reads, and hosts that were not captured, are not seen */
#ifndef HISTORY_COINCIDENCE_H
#define HISTORY_COINCIDENCE_H

#include "executor/difference.h"
#include "history/history.h"

enum coincidence_kind {
  COINCIDENCE_FACTS,   /* facts changed between the last run of the old level and the first of the new one */
  COINCIDENCE_NOTHING, /* nothing that was captured did */
  COINCIDENCE_UNREAD,  /* the executor's fingerprint did, and its facts cannot be read here */
  COINCIDENCE_UNKNOWN  /* on one side at least nothing was captured */
};

/* A run's facts and its contract, opened for this. */
struct history_facts {
  struct fact_list list;
  const struct contract *contract; /* NULL: not known */
};

struct history_opener {
  /* False: it cannot be opened, which was reported. */
  bool (*open)(void *context, const struct history_run *run, struct history_facts *ret);
  void (*close)(void *context, struct history_facts *facts);
  void *context;
  const struct contract *contract; /* of every run, where it is known without opening one; NULL */
};

struct coincidence {
  enum coincidence_kind kind;
  struct difference_list facts;                          /* from the old level's last run (A) to the new one's first (B) */
  size_t n_steps;                                        /* places between both where the executor changed */
  const char *layers[LAYER_COUNT], *owners[LAYER_COUNT]; /* of facts of identity that changed */
  size_t n_layers;
  const char *conditions; /* how those of the two levels' runs differ beyond the contract's bound; NULL: they do not, or it is not known */
  struct arena arena;
};

void coincidence_find(const struct history *history, const struct history_event *event, const struct history_opener *opener,
                      struct coincidence *ret);
/* The same from a run to a fresh one, whose facts are at hand. */
void coincidence_since(const struct history_run *before, const struct summary_precision *fresh, const struct history_facts *facts,
                       const struct history_opener *opener, struct coincidence *ret);
/* How the two executors differ, found out elsewhere; the list is taken over. contract: whose owners are named; NULL: the usual ones. */
void coincidence_learn(struct coincidence *coincidence, struct difference_list *facts, const struct contract *contract);
/* Of a layer of which a fact of identity changed; "" */
const char *coincidence_owner(const struct coincidence *coincidence, enum layer layer);
void coincidence_release(struct coincidence *coincidence);

#endif
