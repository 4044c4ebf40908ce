/* measure/recount.h: were as many tokens sent as the server's usage claims? Some answers of a session are kept and counted again after it,
 * by the contract's tokenizer.json; where there is none, by the server's own route, /tokenize.
 * Shapes   answers of counted requests that say their usage and whose whole text was kept, drawn from all over the session; at most
 *          RECOUNT_ANSWERS of a session
 * Result   samples of the session, one of each per answer: answer.tokens_claimed, answer.tokens_counted (by the route) or
 *          answer.tokens_counted_by_file, answer.tokens_evident (events with text), answer.tokens_empty (events with a place for text and
 *          none in it). The texts themselves go nowhere
 * Errors   none: a server that has no such route leaves no samples; a file that cannot be used is an event, `recount`, that says why
 * Source   docs/method.md#checks */
#ifndef MEASURE_RECOUNT_H
#define MEASURE_RECOUNT_H

#include "load/engine.h"
#include "measure/run_record.h"

enum { RECOUNT_ANSWERS = 16, RECOUNT_TEXT_MAX = 1 << 18 };

struct recount {
  uint64_t secret, mask; /* of the draw */
  struct recounted {
    char *text;
    size_t length;
    uint64_t id;
    int64_t claimed, evident, empty;
  } answers[RECOUNT_ANSWERS];
  size_t n;
};

/* Does this session keep answers for it? Those that are measured do, where `usage` is among the checks. */
bool recount_wanted(const struct run *run, const struct session_plan *plan);
/* text: the row's content, unescaped. */
void recount_keep(struct recount *recount, const struct request_row *row, const char *text, size_t length);
/* After the session's last answer. */
void recount_ask(struct recount *recount, struct run *run, int64_t session);
void recount_release(struct recount *recount);

#endif
