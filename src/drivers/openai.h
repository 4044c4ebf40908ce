/* drivers/openai.h: the routes of the OpenAI API, as its many servers speak them; see dialect.h. */
#ifndef DRIVERS_OPENAI_H
#define DRIVERS_OPENAI_H

#include "drivers/route.h"

void openai_read(struct piece *ret, const char *data, size_t length); /* completions, chat, embeddings */
void responses_read(struct piece *ret, const char *data, size_t length);
bool openai_completions_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                             struct buffer *ret);
bool openai_chat_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                      struct buffer *ret);
bool openai_responses_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                           struct buffer *ret);
bool openai_embeddings_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                            struct buffer *ret);

#endif
