/* drivers/native.h: the routes that servers have besides the OpenAI API's; see dialect.h. */
#ifndef DRIVERS_NATIVE_H
#define DRIVERS_NATIVE_H

#include <string.h>

#include "drivers/route.h"

void llamacpp_read(struct piece *ret, const char *data, size_t length);
void ollama_read(struct piece *ret, const char *data, size_t length);
void tgi_read(struct piece *ret, const char *data, size_t length);

bool llamacpp_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                   struct buffer *ret);
bool ollama_generate_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                          struct buffer *ret);
bool ollama_chat_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input,
                      struct buffer *ret);
bool tgi_body(const struct dialect *dialect, const struct driver_options *options, const struct driver_input *input, struct buffer *ret);

#endif
