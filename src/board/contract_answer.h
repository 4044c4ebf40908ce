/* board/contract_answer.h: the answer to a contract's question (result/question_answer.h), by what a ledger has of it: its newest run, the run before
 * a change, the finding that was made, and what other teams say.
 * Memory   texts live in the arena, or as long as the board is not updated */
#ifndef BOARD_CONTRACT_ANSWER_H
#define BOARD_CONTRACT_ANSWER_H

#include "board/board.h"
#include "result/question_answer.h"

struct contract_answer {
  struct answer answer;
  const struct board_run *run;          /* whose figures answer it; NULL: none */
  const struct board_run *before;       /* of a change; NULL */
  const char *change;                   /* that was measured from `before` to `run`; "" */
  const struct answer_finding *finding; /* the one that counts most, of those that are not closed; NULL */
  uint64_t finding_entry;
};

/* newest: that gave the contract's headline figure; NULL: no run did. The contract was judged. */
void contract_answer_make(const struct board *board, const struct board_contract *contract, const struct board_run *newest,
                          struct arena *arena, struct contract_answer *ret);

#endif
