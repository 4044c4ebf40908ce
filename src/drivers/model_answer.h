/* drivers/model_answer.h: what an answer of a language model's route means: its text, its tokens, whether it is whole. Written once, for the
 * http driver and for whoever reads the answers that others get.
 * Order    answer_begin; model_answer_piece for every event or line; model_answer_end once the message is whole */
#ifndef DRIVERS_MODEL_ANSWER_H
#define DRIVERS_MODEL_ANSWER_H

#include "drivers/route.h"

struct answer_rules {
  const struct route *route;
  bool embeddings, times_in_head;
  bool running_usage; /* every event may say how many tokens there have been */
};

/* One event or line of an answer with status 200. False: it cannot be what it should; *ret_reason says why. ret_event: kind is
 * COMPLETION_EVENT where something came; its content points into the data. */
bool model_answer_piece(const struct answer_rules *rules, struct answer *answer, struct bytes data, struct completion *ret_event,
                        const char **ret_reason);
/* The answer is whole (body: what did not come in pieces): sets the outcome, and the reason if it is not OK. asked: so many tokens were to
 * come; 0: it was free to end. */
void model_answer_end(const struct answer_rules *rules, struct answer *answer, struct bytes body, int64_t asked,
                      struct completion *ret_event);

#endif
