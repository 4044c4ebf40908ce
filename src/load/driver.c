#include "load/driver.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static const char *const flag_names[ANSWER_FLAG_COUNT] = {
    "usage contradicts the stream",
    "no usage: tokens counted from events",
    "invalid UTF-8",
    "no [DONE]",
    "shorter than asked for",
    "sent again: kept connection closed",
    "prompt tokens from a cache",
    "the first text is blank",
    "reasoning",
    "tool call",
    "waited for a free slot",
    "its client went away before the end",
    "prompt tokens by the size of the prompt",
};

const char *driver_answers_text(enum driver_answers answers) {
  return answers == ANSWERS_TENSORS ? "tensors" : "tokens";
}

const char *answer_flag_text(unsigned index) {
  return index < ANSWER_FLAG_COUNT ? flag_names[index] : "unknown";
}

enum lynx_status driver_check(const struct driver *driver, struct lynx_error *error) {
  const char *name = driver->name != NULL ? driver->name : "(unnamed)";
  if (driver->abi != DRIVER_ABI)
    return lynx_fail(error, LYNX_UNSUPPORTED, "driver %s: interface version %d, this build speaks %d", name, driver->abi, DRIVER_ABI);
  const char *missing = driver->name == NULL      ? "name"
                        : driver->summary == NULL ? "summary"
                        : driver->sees == NULL    ? "sees"
                        : driver->open == NULL    ? "open"
                        : driver->prepare == NULL ? "prepare"
                        : driver->issue == NULL   ? "issue"
                        : driver->reap == NULL    ? "reap"
                        : driver->cancel == NULL  ? "cancel"
                        : driver->close == NULL   ? "close"
                                                  : NULL;
  return missing == NULL ? LYNX_OK : lynx_fail(error, LYNX_UNSUPPORTED, "driver %s: the table lacks '%s'", name, missing);
}

static bool is_one_of(const char *list, const char *text) {
  size_t n = strlen(text);
  for (const char *at = list; (at = strstr(at, text)) != NULL; at += n) {
    bool begins = at == list || at[-1] == ' ', ends = at[n] == 0 || at[n] == ',';
    if (begins && ends) return true;
  }
  return false;
}

static enum lynx_status check_value(const struct driver_option *option, const char *text, struct lynx_error *error) {
  int64_t value;
  switch (option->kind) {
    case OPTION_BOOL:
      if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return LYNX_OK;
      return lynx_fail(error, LYNX_INPUT, "'%.60s' where true or false is expected", text);
    case OPTION_INTEGER:
      if (number_int64(text, strlen(text), &value) && value >= option->least && value <= option->greatest) return LYNX_OK;
      return lynx_fail(error, LYNX_INPUT, "'%.60s' where an integer from %lld to %lld is expected", text, (long long)option->least,
                       (long long)option->greatest);
    case OPTION_CHOICE:
      if (text[0] != 0 && is_one_of(option->choices, text)) return LYNX_OK;
      return lynx_fail(error, LYNX_INPUT, "'%.60s' where one of these is expected: %s", text, option->choices);
    case OPTION_TEXT: break;
  }
  return text[0] != 0 ? LYNX_OK : lynx_fail(error, LYNX_INPUT, "an empty text, such as '%s' is expected", option->example);
}

static const struct driver_option *find_option(const struct driver *driver, const char *key, size_t *ret_index) {
  for (size_t i = 0; i < driver->n_options; i++) {
    *ret_index = i;
    if (strcmp(driver->options[i].name, key) == 0) return &driver->options[i];
  }
  return NULL;
}

static void list_options(const struct driver *driver, char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
  for (size_t i = 0; i < driver->n_options && n < size; i++)
    n += (size_t)snprintf(text + n, size - n, "%s%s", i > 0 ? ", " : "", driver->options[i].name);
}

enum lynx_status driver_read_options(const struct driver *driver, const char *const *keys, const char *const *texts, size_t n,
                                     const char **ret_values, const char **ret_key, struct lynx_error *error) {
  for (size_t i = 0; i < driver->n_options; i++) ret_values[i] = driver->options[i].fallback;
  for (size_t i = 0; i < n; i++) {
    size_t at = 0;
    char known[400];
    const struct driver_option *option = find_option(driver, keys[i], &at);
    *ret_key = keys[i];
    list_options(driver, known, sizeof known);
    if (option == NULL)
      return lynx_fail(error, LYNX_INPUT, "the %s driver has no option '%.60s'; it has %s", driver->name, keys[i],
                       known[0] != 0 ? known : "none");
    enum lynx_status status = check_value(option, texts[i], error);
    if (status != LYNX_OK) return status;
    ret_values[at] = texts[i];
  }
  for (size_t i = 0; i < driver->n_options; i++) {
    if (!driver->options[i].required || ret_values[i] != NULL) continue;
    *ret_key = driver->options[i].name;
    return lynx_fail(error, LYNX_INPUT, "nothing, where the %s driver needs it, such as %s", driver->name, driver->options[i].example);
  }
  return LYNX_OK;
}
