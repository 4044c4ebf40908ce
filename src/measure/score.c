#include "measure/score.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "base/root.h"
#include "measure/environment.h"

enum { WORDS_MAX = 256, SCORER_SECONDS = 600, OUTPUT_MAX = 64 << 20 };

struct asking {
  const struct inputs *inputs;
  int64_t session;
  struct buffer lines;
  int64_t *input_of; /* by line */
  size_t n, room;
};

static enum lynx_status keep_line(void *context, int64_t session, int64_t input, const char *text, size_t length) {
  struct asking *a = context;
  struct json_writer json;
  if (session != a->session || input < 0 || (size_t)input >= a->inputs->n_items) return LYNX_OK;
  const struct driver_input *asked = &a->inputs->items[input];
  json_begin_object(&json, &a->lines);
  json_key(&json, "prompt");
  json_bytes(&json, asked->prompt, asked->length);
  json_key(&json, "output");
  json_bytes(&json, text, length);
  json_put_text(&json, "reference", a->inputs->references != NULL ? a->inputs->references[input] : NULL);
  json_close(&json);
  if (!json_finish(&json) || !buffer_text(&a->lines, "\n")) return LYNX_LIMIT;
  a->input_of = xroom(a->input_of, a->n, &a->room, sizeof *a->input_of);
  a->input_of[a->n++] = input;
  return LYNX_OK;
}

static enum lynx_status run_scorer(const struct contract *contract, const char *in, const char *out, const atomic_int *stop,
                                   struct lynx_error *error) {
  const char *words[WORDS_MAX + 1] = {NULL};
  const struct text_list *command = &contract->accuracy.command;
  struct child child = {0};
  if (command->n_items == 0 || command->n_items > WORDS_MAX)
    return lynx_fail(error, LYNX_UNSUPPORTED, "accuracy.command has %zu words; from 1 to %d are accepted", command->n_items, WORDS_MAX);
  for (size_t i = 0; i < command->n_items; i++) words[i] = command->items[i];
  struct arena arena = {0};
  const struct child_request request = {
      .arguments = words, .environment = environment_of_start(NULL, &arena), .users = true, .input_path = in, .output_path = out};
  enum lynx_status started = child_start(&child, &request, error);
  arena_release(&arena);
  if (started != LYNX_OK) return LYNX_UNSUPPORTED;
  if (!child_wait(&child, SCORER_SECONDS * INT64_C(1000000000), stop)) {
    child_stop(&child, 1000000000);
    if (atomic_load(stop) != 0) return lynx_fail(error, LYNX_UNSUPPORTED, "the run was stopped while the scorer was at work");
    return lynx_fail(error, LYNX_UNSUPPORTED, "the scorer took longer than %d s", SCORER_SECONDS);
  }
  if (child.exit_code != 0) return lynx_fail(error, LYNX_UNSUPPORTED, "the scorer ended with exit code %d", child.exit_code);
  return LYNX_OK;
}

static enum lynx_status read_scores(const struct asking *a, const char *out, score_row *row, void *context, struct lynx_error *error) {
  const struct root root = {""};
  struct buffer text;
  char shown[80];
  buffer_init(&text, OUTPUT_MAX);
  enum lynx_status status = root_read(&root, out, &text, NULL) == LYNX_OK ? LYNX_OK
                                                                          : lynx_fail(error, LYNX_UNSUPPORTED, "the scorer wrote nothing");
  double *scores = xalloc(a->n, sizeof *scores); /* all of them, or none: half a score would pass for a whole one */
  size_t at = 0;
  for (size_t i = 0; i < a->n && status == LYNX_OK; i++) {
    size_t n = at < text.length ? strcspn(text.data + at, "\n") : 0;
    double score;
    if (n == 0 || !number_double(text.data + at, n, &score) || score < 0 || score > 1)
      status = lynx_fail(error, LYNX_UNSUPPORTED,
                         "line %zu of the scorer is '%s', which is no number from 0 to 1 (it was asked for %zu lines)", i + 1,
                         text_sanitise(shown, sizeof shown, n > 0 ? text.data + at : "", n), a->n);
    else scores[i] = score;
    at += n + 1;
  }
  for (size_t i = 0; i < a->n && status == LYNX_OK; i++) status = row(context, a->input_of[i], scores[i]);
  free(scores);
  buffer_release(&text);
  return status;
}

enum lynx_status score_answers(const struct contract *contract, struct bundle *bundle, const struct inputs *inputs, int64_t session,
                               const char *out_path, const atomic_int *stop, score_row *row, void *context, struct lynx_error *error) {
  struct asking a = {.inputs = inputs, .session = session};
  char in[700], out[700];
  buffer_init(&a.lines, (size_t)1 << 30);
  (void)snprintf(in, sizeof in, "%s.answers", out_path);
  (void)snprintf(out, sizeof out, "%s.scores", out_path);
  (void)unlink(in), (void)unlink(out); /* of a session before */
  enum lynx_status status = bundle_each_answer(bundle, keep_line, &a, error);
  if (status == LYNX_OK && a.n == 0)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "no answer was sampled in session %lld", (long long)session);
  if (status == LYNX_OK && file_create_private(in, a.lines.data, a.lines.length) != 0)
    status = lynx_fail(error, LYNX_UNSUPPORTED, "%s cannot be written", in);
  if (status == LYNX_OK) status = run_scorer(contract, in, out, stop, error);
  if (status == LYNX_OK) status = read_scores(&a, out, row, context, error);
  (void)unlink(in);
  (void)unlink(out);
  buffer_release(&a.lines);
  free(a.input_of);
  return status;
}
