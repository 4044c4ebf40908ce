#include "cli/option_value.h"

#include <string.h>

#include "base/number.h"

bool option_value_check(const struct command *command, const struct option_spec *option, const char *text) {
  if (typed_value_good(option->type, option->least, option->most, option->accepted, text)) return true;
  complain("lynxbench %s: --%s: found '%s'; accepted: %s\n", command->name, option->name, text, option->accepted);
  return false;
}

int64_t option_count(const struct arguments *arguments, size_t option, int64_t fallback) {
  const char *text = arguments->option[option];
  if (text != NULL) (void)number_int64(text, strlen(text), &fallback);
  return fallback;
}

double option_number(const struct arguments *arguments, size_t option, double fallback) {
  const char *text = arguments->option[option];
  if (text != NULL) (void)number_share(text, strlen(text), &fallback); /* any number; "5%" is one of a share alone, which was checked */
  return fallback;
}

int64_t option_duration_ns(const struct arguments *arguments, size_t option, int64_t fallback_ns) {
  const char *text = arguments->option[option];
  if (text != NULL) (void)number_duration(text, strlen(text), &fallback_ns);
  return fallback_ns;
}

int option_choice(const struct arguments *arguments, const struct option_spec *options, size_t option, int fallback) {
  const char *text = arguments->option[option];
  return text != NULL ? typed_value_place(options[option].accepted, text) : fallback;
}
