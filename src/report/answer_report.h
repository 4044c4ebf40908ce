/* report/answer_report.h: the answer to a contract's question (result/question_answer.h) as text and as HTML. */
#ifndef REPORT_ANSWER_REPORT_H
#define REPORT_ANSWER_REPORT_H

#include "result/question_answer.h"

/* The sentence, then what was asked, what would answer it, and what was promised beside what was measured. */
void answer_text(const struct answer *answer, bool color, struct buffer *ret);
/* The question, the sentence as the page's h1, and its state. */
void answer_html(const struct answer *answer, struct buffer *ret);
/* The five tiles. */
void answer_tiles_html(const struct answer *answer, struct buffer *ret);

#endif
