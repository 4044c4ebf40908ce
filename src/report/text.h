/* report/text.h: results, claims, captures and differences for a terminal.
 *
 * report turns results into something to read: text and HTML. It computes nothing that a decision rests on. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "executor/capture.h"
#include "executor/difference.h"
#include "result/claim.h"
#include "result/comparison_answer.h"

/* by_session: throughput and latencies of every session, too. */
bool text_result(struct result *result, bool by_session, bool color, struct buffer *ret);
bool text_claim(const struct result *result, const struct claim *claim, bool color, struct buffer *ret);
/* fingerprint: of the whole, where facts are only what is disclosed of it. */
bool text_capture(const struct fact_list *facts, const char *fingerprint, bool color, struct buffer *ret);
/* differences: of the two executors; NULL: not known. */
bool text_comparison(struct result *a, struct result *b, struct comparison_list *list, const struct difference_list *differences,
                     bool color, struct buffer *ret);
/* contract: whose owners are named; NULL: the usual ones. with_state: differences of state and context too. */
bool text_diff(const struct difference_list *differences, const struct contract *contract, bool with_state, bool color, struct buffer *ret);

/* A blank that no line ends at: of a command, which is to be pasted. */
#define TEXT_KEPT_BLANK '\x1f'
/* With its blanks kept. */
const char *text_kept(struct arena *arena, const char *command);
/* Words from that column of a line on, in lines of at most `width` columns; further lines begin at `indent`, and nothing ends the last. */
void text_wrap(struct buffer *out, int column, int indent, int width, const char *text);

/* A latency, or the word for an infinite one. size >= 32. */
char *text_latency(char *text, size_t size, double ns);

#endif
