/* board/meeting.h: a contract's state in words: what is agreed, what is contested, what is not known, and who does what next.
 * Result   each statement names its evidence: an entry of the ledger, or a run. What no evidence decides is under "not known"; nobody is
 *          ever named for it without a fact that names its layer
 * Memory   lives in its arena; meeting_release */
#ifndef BOARD_MEETING_H
#define BOARD_MEETING_H

#include "board/contract_answer.h"

enum meeting_kind { MEETING_AGREED, MEETING_CONTESTED, MEETING_UNKNOWN, MEETING_NEXT, MEETING_KINDS };

struct meeting_item {
  enum meeting_kind kind;
  const char *who; /* NEXT: the team that acts; "" */
  const char *text;
  const char *command; /* "" */
  uint64_t entry;      /* its evidence; UINT64_MAX: a run, or nothing */
  size_t run;          /* SIZE_MAX: none */
};

struct meeting {
  struct arena arena;
  const struct contract *contract; /* NULL: its words are not known */
  struct contract_answer answered; /* what the contract asks, and its answer */
  const char *trend;               /* the figure over time: "output throughput fell from ..." */
  const char *lead;
  const struct history_series *headline; /* the figure that is followed; NULL: none */
  const struct history_value *value;     /* of the newest run that was no re-run to verify another */
  bool changed;                          /* that figure did, for sure */
  bool worse;                            /* since the last change of that figure */
  bool unclaimed;                        /* it was run, and no run of it supports a claim */
  bool contested;                        /* a contest is open, or a figure was not reproduced */
  struct meeting_item *items;
  size_t n_items;
};

/* The contract was judged. */
void meeting_make(const struct board *board, const struct board_contract *contract, struct meeting *ret);
void meeting_release(struct meeting *meeting);

#endif
