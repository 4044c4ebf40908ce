/* decide/precision_judgement.h: may the precision be lowered? The same questions, answered under both.
 *
 * Pairs      by task, filter, document number and digest. A question whose prompt's digest differs was another question: not paired
 * Go         of every task the interval of the difference lies above -margin, which was fixed before. All must, so that no correction for
 *            several tasks is due (intersection-union)
 * No-go      of some task it lies below -margin, at a confidence that is corrected for their number (Bonferroni; Holm's first step)
 * Whole      a task that one side lacks, or more than a hundredth of the questions, keeps it from go
 * Else       not decided, and how many more questions would decide the task that is farthest from it
 * Alarms     what no margin sees: answers that became shorter or longer by a tenth, questions of which many changed sides */
#ifndef DECIDE_PRECISION_JUDGEMENT_H
#define DECIDE_PRECISION_JUDGEMENT_H

#include "decide/task_answers.h"
#include "stats/paired.h"

enum precision_decision { PRECISION_GO, PRECISION_NO_GO, PRECISION_NOT_DECIDED };
enum { PRECISION_TASKS_MAX = 256 };

struct precision_task {
  const char *name;            /* of the set's arena */
  struct paired_counts counts; /* of what is right or wrong */
  bool binary;
  const char *metric;
  double before, after;                           /* means */
  struct paired_difference difference, corrected; /* corrected: for the number of tasks */
  double exact;                                   /* McNemar's; NAN where values are not 0 and 1 */
  double length_ratio;                            /* characters after / before, of all; NAN: not kept */
  size_t needed; /* questions in all that would decide it, were they like these; 0: none would, or it is decided */
};

struct precision_judgement {
  enum precision_decision decision;
  double margin;
  struct precision_task tasks[PRECISION_TASKS_MAX];
  size_t n_tasks, worst; /* worst: that decides, or is farthest from it */
  size_t n_lone_tasks;   /* of one side only */
  bool incomplete;       /* a task, or more than a hundredth of the questions, is on one side only: no go is given */
  size_t n_paired, n_only_before, n_only_after, n_other_prompt;
};

/* Both sets finished. Errors: INPUT where fewer than half of the questions are in both, or more than PRECISION_TASKS_MAX tasks. */
enum lynx_status precision_judge(const struct task_answers *before, const struct task_answers *after, double margin, double confidence,
                                 struct precision_judgement *ret, struct lynx_error *error) LYNX_MUST_CHECK;
const char *precision_decision_text(enum precision_decision decision);

#endif
