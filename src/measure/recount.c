#include "measure/recount.h"

#include <string.h>

#include "base/digest.h"
#include "load/events.h"
#include "measure/tokenizer_file.h"

bool recount_wanted(const struct run *run, const struct session_plan *plan) {
  const struct contract *c = &run->contract;
  return contract_wants_check(c, "usage") && plan->purpose == PURPOSE_MEASURE && plan->number == 0 && !run->driver->in_process &&
         c->executor.endpoint != NULL && run->driver->answers == ANSWERS_TOKENS && run->request->part.count == 0;
}

void recount_keep(struct recount *r, const struct request_row *row, const char *text, size_t length) {
  struct events_reader reader;
  struct answer_event event;
  size_t n_bytes = 0;
  bool silent = (row->flags & ANSWER_EMPTY_TOKENS) != 0; /* tokens that decode to nothing: no text holds them */
  if (r->n == RECOUNT_ANSWERS || row->output_tokens < 1 || silent) return;
  events_begin(&reader, row->events.data, row->events.length);
  while (events_next(&reader, &event) == 1) n_bytes += event.n_bytes;
  if (n_bytes != length) return; /* reasoning or a tool call is apart: not the whole answer */
  r->answers[r->n++] = (struct recounted){arena_text(&r->arena, text, length), length, row->output_tokens, row->n_text_events};
}

/* The contract's tokenizer.json, or NULL; in both cases the record says what there was. */
static struct tokenizer *tokenizer_of(struct run *run) {
  const char *path = run->contract.workload.prompts.tokenizer;
  struct tokenizer *tokenizer;
  char digest[DIGEST_HEX], why[1200];
  struct lynx_error error = {0};
  if (path == NULL || strcmp(path, "server") == 0) return NULL;
  enum lynx_status status = tokenizer_read(path, &tokenizer, digest, &error);
  lynx_error_text(&error, why, sizeof why);
  const char *text = status == LYNX_OK ? arena_printf(&run->arena, "answers are counted again by %s, SHA-256 %s", path, digest)
                                       : arena_printf(&run->arena, "answers are not counted again by workload.prompts.tokenizer: %s", why);
  run_put_event(run, EVENT_RECOUNT, text);
  if (status != LYNX_OK) run_note(run, text);
  return tokenizer;
}

void recount_ask(struct recount *r, struct run *run, int64_t session) {
  struct tokenizer *tokenizer = r->n > 0 ? tokenizer_of(run) : NULL;
  const char *const series[] = {"answer.tokens_claimed", tokenizer != NULL ? "answer.tokens_counted_by_file" : "answer.tokens_counted",
                                "answer.tokens_evident"};
  struct server_tokenizer server = server_tokenizer_of(&run->contract, run->bearer);
  token_counter *count = tokenizer != NULL ? tokenizer_count : prompt_tokens_by_server;
  void *counter = tokenizer != NULL ? (void *)tokenizer : &server;
  server.timeout_ns = 2000000000;
  int64_t counted;
  for (size_t i = 0; i < r->n; i++) {
    const struct recounted *a = &r->answers[i];
    if (count(counter, a->text, a->length, &counted, NULL) != LYNX_OK) break;
    const int64_t values[] = {a->claimed, counted, a->evident};
    for (size_t k = 0; k < LYNX_COUNT(series); k++) bundle_put_sample(run->bundle, session, (int64_t)i, series[k], (double)values[k]);
  }
  tokenizer_close(tokenizer);
}

void recount_release(struct recount *r) {
  arena_release(&r->arena);
  *r = (struct recount){0};
}
