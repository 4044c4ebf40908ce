#include "measure/recount.h"

#include <string.h>

#include "load/events.h"

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

void recount_ask(struct recount *r, struct run *run, int64_t session) {
  static const char *const series[] = {"answer.tokens_claimed", "answer.tokens_counted", "answer.tokens_evident"};
  struct server_tokenizer server = server_tokenizer_of(&run->contract, run->bearer);
  server.timeout_ns = 2000000000;
  int64_t counted;
  for (size_t i = 0; i < r->n; i++) {
    const struct recounted *a = &r->answers[i];
    if (prompt_tokens_by_server(&server, a->text, a->length, &counted, NULL) != LYNX_OK) return;
    const int64_t values[] = {a->claimed, counted, a->evident};
    for (size_t k = 0; k < LYNX_COUNT(series); k++) bundle_put_sample(run->bundle, session, (int64_t)i, series[k], (double)values[k]);
  }
}

void recount_release(struct recount *r) {
  arena_release(&r->arena);
  *r = (struct recount){0};
}
