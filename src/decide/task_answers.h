/* decide/task_answers.h: the answers to each question of an accuracy task, as evaluation harnesses write them.
 *
 * Format   lm-evaluation-harness's samples_TASK_DATE.jsonl (`--log_samples`): an object a line, with doc_id, doc_hash, prompt_hash, filter,
 *          resps, `metrics` (names) and a member for each of them, 0 to 1
 * Metric   more is better: those of which less is (error rates, perplexities, scores of calibration) are refused
 * Shapes   one item for each question and filter; several answers to one question are its mean. In the order of (task, question)
 * Errors   INPUT: file, line, field, what was found and what would be accepted; LIMIT: more than TASK_ANSWERS_MOST items, or a line too long */
#ifndef DECIDE_TASK_ANSWERS_H
#define DECIDE_TASK_ANSWERS_H

#include "base/arena.h"
#include "base/buffer.h"

enum { TASK_ANSWERS_MOST = 2000000, TASK_LINE_MOST = 16 << 20 };

struct task_answer {
  const char *task;         /* with its filter: "gsm8k, strict-match" */
  const char *question;     /* the document's number and digest */
  uint64_t prompt;          /* of the prompt's digest; 0: none is there */
  const char *metric;       /* by which it was judged: more is better */
  double value, characters; /* the metric; the length of what was written (NAN: not kept, or a choice among given answers) */
  size_t n;                 /* answers */
};

struct task_answers {
  struct arena arena;
  struct task_answer *items;
  size_t n, room;
  char asked[64];  /* the metric that was asked for; "": of each file the first that it names */
  char metric[64]; /* of the file that is read */
};

/* task: of the file's name. May be called for several files, then task_answers_finish. */
enum lynx_status task_answers_read(struct task_answers *set, const char *file, const char *task, struct bytes text,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void task_answers_finish(struct task_answers *set); /* sorts, and takes answers to one question together */
void task_answers_release(struct task_answers *set);
/* "samples_gsm8k_2026-11-28T10-00-00.123.jsonl" -> "gsm8k". size >= 2. Returns text. */
char *task_of_file(const char *file, char *text, size_t size);

#endif
