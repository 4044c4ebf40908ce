#include "decide/task_answers.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"

#define PREFIX "samples_"

char *task_of_file(const char *file, char *text, size_t size) {
  const char *base = strrchr(file, '/');
  base = base != NULL ? base + 1 : file;
  if (strncmp(base, PREFIX, strlen(PREFIX)) == 0) base += strlen(PREFIX);
  size_t n = strcspn(base, "."), date = 0;
  for (size_t i = 0; i + 11 < strlen(base); i++) /* "_2026-" begins the date */
    if (base[i] == '_' && isdigit((unsigned char)base[i + 1]) && strspn(base + i + 1, "0123456789") == 4 && base[i + 5] == '-') date = i;
  (void)snprintf(text, size, "%.*s", (int)(date > 0 ? date : n), base);
  return text;
}

static uint64_t number_of(const char *text) {
  struct digest digest = {{0}};
  uint8_t bytes[DIGEST_BYTES];
  uint64_t ret = 0;
  digest_init(&digest);
  digest_update(&digest, text, strlen(text));
  digest_final(&digest, bytes);
  for (int i = 0; i < 8; i++) ret = ret << 8 | bytes[i];
  return ret != 0 ? ret : 1;
}

static bool less_is_better(const char *metric) {
  static const char *const names[] = {"wer", "cer", "ter", "mer", "mse", "mae", "ece", "brier_score", "bits_per_byte", "loss"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcasecmp(metric, names[i]) == 0) return true;
  return strstr(metric, "perplexity") != NULL || strstr(metric, "error") != NULL;
}

/* The metric that is read: by name, the first of `metrics`, or of older files the first member that is one. */
static const char *find_metric(struct task_answers *set, const json_t *line) {
  static const char *const usual[] = {"exact_match", "acc", "pass@1", "acc_norm", "em", "f1", "mc2", "mc1"};
  const char *named = json_string_value(json_array_get(json_object_get(line, "metrics"), 0));
  if (set->metric[0] != 0) return set->metric;
  for (size_t i = 0; i < LYNX_COUNT(usual) && named == NULL; i++)
    if (json_object_get(line, usual[i]) != NULL) named = usual[i];
  if (set->asked[0] != 0) named = set->asked;
  if (named == NULL || strlen(named) >= sizeof set->metric) return NULL;
  (void)snprintf(set->metric, sizeof set->metric, "%s", named);
  return set->metric;
}

/* Of the first text in nested arrays: what the model wrote. Of a choice among given answers there are numbers with it. */
static double characters_of(const json_t *resps) {
  size_t n = 0;
  for (int depth = 0; depth < 4 && json_is_array(resps); depth++) {
    n = json_array_size(resps);
    resps = json_array_get(resps, 0);
  }
  return json_is_string(resps) && n == 1 ? (double)json_string_length(resps) : NAN;
}

static bool take_value(const json_t *value, double *ret) {
  if (json_is_boolean(value)) *ret = json_is_true(value);
  else if (json_is_number(value)) *ret = json_number_value(value);
  else return false;
  return *ret >= 0 && *ret <= 1;
}

static enum lynx_status take_line(struct task_answers *set, const char *task, const char *own, const json_t *line,
                                  struct lynx_error *error) {
  const json_t *number = json_object_get(line, "doc_id");
  const char *filter = json_get_text(line, "filter", "none"), *prompt = json_get_text(line, "prompt_hash", NULL);
  const char *metric = find_metric(set, line), *hash = json_get_text(line, "doc_hash", "");
  double value;
  if (!json_is_integer(number))
    return lynx_fail(error, LYNX_INPUT, "found no number; accepted: the document's, as `--log_samples` writes it");
  if (metric != NULL && less_is_better(metric))
    return lynx_fail(error, LYNX_INPUT, "%s: less of it is better; accepted: a metric of which more is better, by --metric", metric);
  if (metric == NULL || !take_value(json_object_get(line, metric), &value))
    return lynx_fail(error, LYNX_INPUT, "%s: found %s; accepted: a number from 0 to 1 for each answer, or another --metric",
                     metric != NULL ? metric : "metrics",
                     metric != NULL && json_object_get(line, metric) != NULL ? "another value" : "nothing");
  if (set->n == TASK_ANSWERS_MOST) return lynx_fail(error, LYNX_LIMIT, "more than %d answers", TASK_ANSWERS_MOST);
  set->items = xroom(set->items, set->n, &set->room, sizeof *set->items);
  set->items[set->n++] = (struct task_answer){
      .task = strcmp(filter, "none") == 0 ? arena_copy(&set->arena, task) : arena_printf(&set->arena, "%s, %.60s", task, filter),
      /* Without a digest a number alone says which question it is: of this file's task. */
      .question = arena_printf(&set->arena, "%lld %.100s", (long long)json_integer_value(number), hash[0] != 0 ? hash : own),
      .metric = arena_copy(&set->arena, metric),
      .prompt = prompt != NULL ? number_of(prompt) : 0,
      .value = value,
      .characters = characters_of(json_object_get(line, "resps")),
      .n = 1};
  return LYNX_OK;
}

enum lynx_status task_answers_read(struct task_answers *set, const char *file, const char *task, struct bytes text,
                                   struct lynx_error *error) {
  int number = 0;
  char own[128];
  (void)task_of_file(file, own, sizeof own);
  set->metric[0] = 0;
  enum lynx_status status = LYNX_OK;
  size_t before = set->n;
  for (const char *at = text.ptr, *end = text.ptr + text.length; at < end && status == LYNX_OK;) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((newline != NULL ? newline : end) - at);
    number++;
    if (length > TASK_LINE_MOST) status = lynx_fail(error, LYNX_LIMIT, "a line of more than %d bytes", TASK_LINE_MOST);
    else if (length > strspn(at, " \t\r") || (length > 0 && newline == NULL)) {
      json_t *line = json_parse_python(at, length, TASK_LINE_MOST, error);
      status = line == NULL ? LYNX_INPUT
               : !json_is_object(line)
                   ? lynx_fail(error, LYNX_INPUT, "found no object; accepted: one answer a line, as `--log_samples` writes it")
                   : take_line(set, task, own, line, error);
      json_decref(line);
    }
    if (status != LYNX_OK) {
      error->line = 0; /* of the line alone, in jansson's words */
      lynx_error_at(error, file, number, NULL);
    }
    at += length + 1;
  }
  if (status == LYNX_OK && set->n == before) {
    status = lynx_fail(error, LYNX_INPUT, "found no answer; accepted: samples_TASK_DATE.jsonl of lm-evaluation-harness (--log_samples)");
    lynx_error_at(error, file, 0, NULL);
  }
  return status;
}

static int by_question(const void *a, const void *b) {
  const struct task_answer *x = a, *y = b;
  int order = strcmp(x->task, y->task);
  return order != 0 ? order : strcmp(x->question, y->question);
}

void task_answers_finish(struct task_answers *set) {
  size_t n = 0;
  if (set->n > 0) qsort(set->items, set->n, sizeof *set->items, by_question);
  for (size_t i = 0; i < set->n; i++) {
    struct task_answer *item = &set->items[i], *last = n > 0 ? &set->items[n - 1] : NULL;
    if (last != NULL && by_question(last, item) == 0) {
      last->value += item->value;
      last->characters += item->characters;
      last->n++;
    } else set->items[n++] = *item;
  }
  set->n = n;
  for (size_t i = 0; i < n; i++) {
    set->items[i].value /= (double)set->items[i].n;
    set->items[i].characters /= (double)set->items[i].n;
  }
}

void task_answers_release(struct task_answers *set) {
  free(set->items);
  arena_release(&set->arena);
  *set = (struct task_answers){.n = 0};
}
