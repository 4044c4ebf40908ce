/* board/work.h: the work that findings are: who does what about each, and what it brought.
 *
 * A finding that was recorded of several runs of a contract (the same rule, naming the same, on the same layer) is one item. Its state
 * follows from the entries alone, the newest of them counts:
 *   open        nobody said that it is worked on
 *   started     a team did
 *   done        the change is made; no run has measured it
 *   closed      a run that was recorded after the change was started measured it: improved (result/effect.h)
 *   open again  a run measured it and it did not improve; or it was found in that run or in a later one; or recorded again since
 * What a measurement says is computed here, from the signed summaries of two runs of the finding's contract, or of one that differs from
 * it in nothing but what was changed: load, answers and objectives are the same. Of others nothing follows.
 * Order    by contract as the board has them; then state, open first; then the newest first
 * Memory   borrows the board until it is updated; work_list_release */
#ifndef BOARD_WORK_H
#define BOARD_WORK_H

#include "board/board.h"
#include "result/effect.h"

enum work_state { WORK_AGAIN, WORK_OPEN, WORK_STARTED, WORK_DONE, WORK_CLOSED, WORK_STATES };
const char *work_state_text(enum work_state state);

struct work_item {
  const struct board_contract *contract;
  const struct board_finding *finding;              /* the newest */
  const struct board_run *run;                      /* that it was found in last, in the order of the ledger */
  const char *layer;                                /* where it shows, or that it was handed on to; "" */
  const struct board_response *response;            /* the newest of any of them; NULL: nobody answered */
  const struct board_response *handed_on;           /* the newest that did; NULL */
  const char *owner;                                /* of that layer, by the contract, where its words are known; "" */
  const struct standing_confirmation *confirmation; /* the newest of any of them; NULL */
  size_t n_seen;                                    /* runs that it was found in */
  enum work_state state;
  const char *why;                        /* AGAIN, and what the last measurement said before STARTED and DONE: in words; "" */
  const struct board_change *change;      /* the newest; NULL */
  const struct board_iteration *measured; /* the newest; NULL */
  struct effect_measured effect;          /* of it */
  uint64_t newest;                        /* the newest entry that speaks of it */
};

struct work_list {
  struct work_item *items;
  size_t n_items, n[WORK_STATES];
};

/* only: of that contract; NULL: of all. */
void work_list_make(const struct board *board, const struct board_contract *only, struct work_list *ret);
void work_list_release(struct work_list *list);

/* The effect of a change on the runs that its entry names. */
void work_effect(const struct board *board, const struct board_iteration *iteration, struct effect_measured *ret);
/* Are they of one contract, or of two that differ in what was changed (how the executor is started, its name) and in nothing that the
 * figures depend on? */
bool work_same_question(const struct board *board, const struct board_run *one, const struct board_run *other);
/* The item that a finding's entry belongs to; NULL: it is of a run that is not in the ledger. */
const struct work_item *work_list_find(const struct work_list *list, const struct board *board, const uint8_t leaf[DIGEST_BYTES]);

/* How sure it is: "suspected", of a run's account; "stated", by a team; "measured", by a gate. */
const char *work_found(const struct board_finding *finding);
/* "serving, ML platform"; "not attributed" */
const char *work_whose(const struct board_contract *contract, const struct board_finding *finding, struct arena *arena);

/* "accepted by sre on 2026-11-30", "handed on by sre to system on 2026-11-30: the driver is old"; "": nobody answered. */
const char *work_response_words(const struct work_item *item, struct arena *arena);
/* Whose it is now: "system, Infrastructure"; "not attributed" */
const char *work_whose_now(const struct work_item *item, struct arena *arena);

/* What to do next about it, for whom and with which command; false: nothing, it is closed. text and command are the arena's. */
bool work_next(const struct board *board, const struct work_item *item, struct arena *arena, const char **ret_text,
               const char **ret_command);

/* From the run before the first measured change of a contract to the run after the last one, as time goes: one ratio of two runs, not a sum
 * of the changes' own effects, which need not add up; with whatever else changed between. */
struct work_total {
  const struct board_run *first, *last;
  const char *change;           /* the last that was measured */
  size_t n_changes, n_improved; /* pairs of runs of this contract that were measured; those between which it improved */
  struct effect_measured effect;
};
/* False: no change of it was measured between runs that have a figure. */
bool work_total(const struct board *board, const struct board_contract *contract, struct work_total *ret);

#endif
