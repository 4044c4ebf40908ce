/* board/contract_answer.h: the answer to a contract's question (result/question_answer.h), by what a ledger has of it: its newest run, the run before
 * a change, the finding that was made, and what other teams say.
 * Memory   texts live in the arena, or as long as the board is not updated */
#ifndef BOARD_CONTRACT_ANSWER_H
#define BOARD_CONTRACT_ANSWER_H

#include "board/board.h"
#include "result/question_answer.h"

/* How far a finding has come: found, confirmed, changed, measured. An entry that is not there is UINT64_MAX. */
struct finding_walk {
  const char *title, *whose, *found, *verdict, *change, *effect; /* found: "suspected"; verdict, change, effect: "" */
  uint64_t found_entry, confirmed_entry, changed_entry, measured_entry;
  bool closed;
};

struct contract_answer {
  struct answer answer;
  const struct board_run *run;          /* whose figures answer it; NULL: none */
  const struct board_run *before;       /* of a change; NULL */
  const char *change;                   /* that was measured from `before` to `run`; "" */
  const struct answer_finding *finding; /* the one that counts most, of those that are not closed; NULL */
  const struct finding_walk *walk;      /* of that one; else of the one that was closed last; NULL */
};

/* newest: that gave the contract's headline figure; NULL: no run did. The contract was judged. */
void contract_answer_make(const struct board *board, const struct board_contract *contract, const struct board_run *newest,
                          struct arena *arena, struct contract_answer *ret);

#endif
