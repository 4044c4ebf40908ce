#include "executor/device_fact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 400 };

static bool is_one_of(const char *value, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(value, words[i]) == 0) return true;
  return false;
}

static bool is_nothing(const char *value) {
  static const char *const words[] = {"N/A",     "[N/A]",         "NA",         "-",           "Not Found",       "None", "Not Supported",
                                      "UNKNOWN", "Unknown Error", "<redacted>", "Unsupported", "[Not Supported]", "ERR!", "N/A W",
                                      "",        "N/A MHz"};
  return is_one_of(value, words, LYNX_COUNT(words)) || strncmp(value, "[Insufficient", 13) == 0 ||
         strncmp(value, "Requested functionality", 23) == 0;
}

static bool as_switch(const char *value, char *text, size_t size) {
  static const char *const on[] = {"Enabled", "On", "ENABLED"}, *const off[] = {"Disabled", "Off"};
  bool is_on = is_one_of(value, on, LYNX_COUNT(on));
  (void)snprintf(text, size, "%d", is_on);
  return is_on || is_one_of(value, off, LYNX_COUNT(off));
}

static bool as_compute_mode(const char *value, char *text, size_t size) {
  static const char *const modes[][2] = {
      {"Default", "Default"}, {"Exclusive_Thread", "E. Thread"}, {"Prohibited", "Prohibited"}, {"Exclusive_Process", "E. Process"}};
  for (size_t i = 0; i < LYNX_COUNT(modes); i++)
    if (is_one_of(value, modes[i], 2)) {
      (void)snprintf(text, size, "%zu", i);
      return true;
    }
  return false;
}

/* By the rate of a lane: 2.5 and 5 GT/s, then twice as much for each. */
static bool as_generation(double rate, char *text, size_t size) {
  static const double rates[] = {2.5, 5, 8, 16, 32, 64};
  for (size_t i = 0; i < LYNX_COUNT(rates); i++)
    if (fabs(rate - rates[i]) < 0.1) {
      (void)snprintf(text, size, "%zu", i + 1);
      return true;
    }
  return false;
}

/* False: it is not understood. */
static bool in_our_form(enum device_form form, const char *value, char *text, size_t size) {
  const char *digits = value + strcspn(value, "0123456789-");
  if (digits[0] == '-') digits += strlen(digits); /* none of these is below 0 */
  double number = strtod(digits, NULL);           /* no locale is ever set */
  if (form == DEVICE_SWITCH) return as_switch(value, text, size);
  if (form == DEVICE_COMPUTE_MODE) return as_compute_mode(value, text, size);
  if (form == DEVICE_GENERATION) return as_generation(number, text, size);
  (void)snprintf(text, size, "%s", value);
  if (form == DEVICE_TEXT) return value[0] != 0;
  if (*digits == 0 || !(number < 1e15)) return false;
  (void)snprintf(text, size, "%.0f",
                 form == DEVICE_MEBIBYTES    ? number * 1048576
                 : form == DEVICE_MILLIWATTS ? round(number * 1000)
                                             : number);
  if (form == DEVICE_MEBIBYTES) return strcasestr(digits, "MiB") != NULL || strcasestr(digits, "MB") != NULL;
  return form != DEVICE_MILLIWATTS || (strcasestr(digits, "W") != NULL && number > 0);
}

void device_fact_add(struct fact_list *list, const struct device_field *field, const char *value, const char *source) {
  char text[TEXT_MAX];
  bool nothing = is_nothing(value), good = !nothing && in_our_form(field->form, value, text, sizeof text);
  fact_add(list, &(struct fact){.layer = field->layer,
                                .kind = field->kind,
                                .status = good      ? FACT_READ
                                          : nothing ? FACT_UNSUPPORTED
                                                    : FACT_ABSENT,
                                .key = field->key,
                                .value = good      ? text
                                         : nothing ? "the tool says that it does not apply"
                                                   : "the tool says nothing that is understood",
                                .unit = good ? field->unit : "",
                                .source = source});
}
