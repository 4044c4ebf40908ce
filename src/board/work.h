/* board/work.h: the work that findings are: who does what about each, and what it brought.
 *
 * A finding that was recorded of several runs of a contract (the same rule, naming the same) is one item: the first of them. Its state
 * follows from the entries alone, the newest of them counts:
 *   open        nobody said that it is worked on
 *   started     a team did
 *   done        the change is made; no run has measured it
 *   closed      a run measured it: improved (result/effect.h)
 *   open again  a run measured it and it did not improve; or it was found again, in a run that was recorded after the one that closed it
 * Order    by contract as the board has them; then state, open first; then the newest first
 * Memory   borrows the board until it is updated; work_list_release */
#ifndef BOARD_WORK_H
#define BOARD_WORK_H

#include "board/board.h"

enum work_state { WORK_AGAIN, WORK_OPEN, WORK_STARTED, WORK_DONE, WORK_CLOSED, WORK_STATES };
const char *work_state_text(enum work_state state);

struct work_item {
  const struct board_contract *contract;
  const struct board_finding *finding;              /* the first */
  const struct board_run *run;                      /* that it was found in last */
  const struct standing_confirmation *confirmation; /* the newest of any of them; NULL */
  size_t n_seen;                                    /* runs that it was found in */
  enum work_state state;
  const char *why;                        /* AGAIN: in words; "" */
  const struct board_change *change;      /* the newest; NULL */
  const struct board_iteration *measured; /* the newest; NULL */
  uint64_t newest;                        /* the newest entry that speaks of it */
};

struct work_list {
  struct work_item *items;
  size_t n_items, n[WORK_STATES];
};

/* only: of that contract; NULL: of all. */
void work_list_make(const struct board *board, const struct board_contract *only, struct work_list *ret);
void work_list_release(struct work_list *list);

/* By whom it was found, and how sure that is: "suspected by ml", of a run's account; "stated by ml"; "measured by ml", of a gate. */
const char *work_found(const struct board_finding *finding);
/* "serving, ML platform"; "not attributed" */
const char *work_whose(const struct board_finding *finding, struct arena *arena);

/* What to do next about it, for whom and with which command; false: nothing, it is closed. text and command are the arena's. */
bool work_next(const struct board *board, const struct work_item *item, struct arena *arena, const char **ret_text,
               const char **ret_command);

/* From the run before the first change of a contract to the run after the last one: not a sum of the changes' own effects, which need
 * not add up, but one ratio of two runs, with whatever else changed between them. Its interval is that of both runs' own, taken as
 * independent: the widths of the logarithms add as squares. */
struct work_total {
  const struct board_run *first, *last;
  const char *figure, *precision;
  size_t n_changes, n_improved;
  double ratio, low, high; /* after to before; NaN: a run gives no interval */
};
/* False: no change of it was measured between runs that have the figure. */
bool work_total(const struct board *board, const struct board_contract *contract, struct work_total *ret);

#endif
