#include "board/board_gauges.h"

#include <string.h>

#include "board/work.h"
#include "report/history_gauges.h"

enum { LABEL_CONTRACT, LABEL_DIGEST, LABEL_MORE, LABEL_STATE, LABELS };

static void add_trust(const struct board *b, const struct board_contract *c, struct gauge_label *labels, struct gauges *g) {
  size_t n_wanted, n_signed = board_signed(c, &n_wanted), reproduced = 0, not_reproduced = 0, inconclusive = 0, n_open = 0;
  for (size_t i = 0; i < c->n_runs; i++) {
    const struct board_run *run = &b->runs[c->runs[i]];
    reproduced += run->n_reproduced, not_reproduced += run->n_not_reproduced, inconclusive += run->n_inconclusive, n_open += run->n_open;
  }
  const struct {
    const char *verdict;
    size_t n;
  } verdicts[] = {{"reproduced", reproduced}, {"not reproduced", not_reproduced}, {"inconclusive", inconclusive}};
  for (size_t i = 0; i < LYNX_COUNT(verdicts); i++) {
    labels[LABEL_MORE] = (struct gauge_label){"verdict", verdicts[i].verdict};
    gauges_add(g, "lynxbench_verifications", "Re-runs that verify its runs, by their verdict.", "1", labels, LABEL_STATE,
               (double)verdicts[i].n);
  }
  gauges_add(g, "lynxbench_contract_runs", "Bundles of it in the ledger.", "1", labels, LABEL_MORE, (double)c->n_runs);
  gauges_add(g, "lynxbench_contests_open", "Contests of its runs that nobody withdrew or answered.", "1", labels, LABEL_MORE,
             (double)n_open);
  gauges_add(g, "lynxbench_contract_signatories", "Teams that the contract names.", "1", labels, LABEL_MORE, (double)n_wanted);
  gauges_add(g, "lynxbench_contract_signed", "Teams that the contract names and that signed it.", "1", labels, LABEL_MORE,
             (double)n_signed);
  gauges_add(g, "lynxbench_runs_unanswered", "Runs that were announced and have no bundle.", "1", labels, LABEL_MORE,
             (double)(c->n_intents - c->n_sealed));
}

/* By owner and state: so many items. A finding without an owner is nobody's yet. */
static void add_findings(const struct board *b, const struct board_contract *c, struct gauge_label *labels, struct gauges *g) {
  struct work_list work;
  work_list_make(b, c, &work);
  for (size_t i = 0; i < work.n_items; i++) {
    const struct work_item *item = &work.items[i];
    size_t n = 0;
    for (size_t k = 0; k < work.n_items; k++) n += work.items[k].state == item->state && strcmp(work.items[k].owner, item->owner) == 0;
    labels[LABEL_MORE] = (struct gauge_label){"owner", item->owner};
    labels[LABEL_STATE] = (struct gauge_label){"state", work_state_text(item->state)};
    gauges_add(g, "lynxbench_findings", "Findings, by owner (empty: not attributed) and state.", "1", labels, LABELS, (double)n);
  }
  work_list_release(&work);
}

void board_gauges(struct board *board, struct gauges *ret) {
  const struct gauge_label ledger = {"ledger", board->origin};
  gauges_add(ret, "lynxbench_ledger_entries", "Entries of the ledger.", "1", &ledger, 1, (double)board->n_entries);
  for (size_t i = 0; i < board->n_contracts; i++) {
    struct board_contract *c = &board->contracts[i];
    struct gauge_label labels[LABELS] = {[LABEL_CONTRACT] = {"contract", c->name}, [LABEL_DIGEST] = {"digest", c->hex}};
    board_judge(board, c);
    const struct history_report report = board_report(c);
    history_gauges(&report, ret);
    add_trust(board, c, labels, ret);
    add_findings(board, c, labels, ret);
  }
}
