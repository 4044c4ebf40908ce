/* cli/option_value.h: what an option's value is, by its row (cli/command.h).
 * Order    the parser asks option_value_check for each value; after that the readers below cannot fail
 * Result   fallback where the option was not given */
#ifndef CLI_OPTION_VALUE_H
#define CLI_OPTION_VALUE_H

#include "cli/command.h"

/* Is it what the row says? False: it was reported. */
bool option_value_check(const struct command *command, const struct option_spec *option, const char *text);

int64_t option_count(const struct arguments *arguments, size_t option, int64_t fallback);
double option_number(const struct arguments *arguments, size_t option, double fallback);
int64_t option_duration_ns(const struct arguments *arguments, size_t option, int64_t fallback_ns);
/* Which of the row's words it is, from 0. */
int option_choice(const struct arguments *arguments, const struct option_spec *options, size_t option, int fallback);

#endif
