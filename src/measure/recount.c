#include "measure/recount.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/random.h"
#include "load/events.h"
#include "measure/tokenizer_file.h"

enum { BUDGET_S = 10 }; /* for all answers of a session */

bool recount_wanted(const struct run *run, const struct session_plan *plan) {
  const struct contract *c = &run->contract;
  return contract_wants_check(c, "usage") && plan->purpose == PURPOSE_MEASURE && !run->driver->in_process && c->executor.endpoint != NULL &&
         run->driver->answers == ANSWERS_TOKENS && run->request->part.count == 0;
}

/* Which of a session's requests are kept: all at first; where there are too many, every second of them, by a draw that nobody outside
 * knows, and so on. So they lie all over the session, however long it is. */
static bool is_drawn(const struct recount *r, uint64_t id) {
  struct random_stream draw;
  random_init(&draw, r->secret ^ id, "recount");
  return (random_next(&draw) & r->mask) == 0;
}

static void halve(struct recount *r) {
  size_t n = 0;
  r->mask = 2 * r->mask + 1;
  for (size_t i = 0; i < r->n; i++) {
    if (is_drawn(r, r->answers[i].id)) r->answers[n++] = r->answers[i];
    else free(r->answers[i].text);
  }
  r->n = n;
}

void recount_keep(struct recount *r, const struct request_row *row, const char *text, size_t length) {
  struct events_reader reader;
  struct answer_event event;
  size_t n_bytes = 0;
  if (r->secret == 0 && !random_salt((uint8_t *)&r->secret, sizeof r->secret)) return;
  if (row->output_tokens < 1 || length > RECOUNT_TEXT_MAX || !is_drawn(r, row->id)) return;
  events_begin(&reader, row->events.data, row->events.length);
  while (events_next(&reader, &event) == 1) n_bytes += event.n_bytes;
  if (n_bytes != length) return; /* reasoning or a tool call is apart: not the whole answer */
  while (r->n == RECOUNT_ANSWERS) halve(r);
  if (!is_drawn(r, row->id)) return;
  char *copy = xalloc(length + 1, 1);
  memcpy(copy, text, length);
  r->answers[r->n++] = (struct recounted){copy, length, row->id, row->output_tokens, row->n_text_events, row->n_empty_events};
}

/* The contract's tokenizer.json, or NULL; read once in a run, whose record says what there was. */
static struct tokenizer *tokenizer_of(struct run *run) {
  const char *path = run->contract.workload.prompts.tokenizer;
  char digest[DIGEST_HEX], why[1200];
  struct lynx_error error = {0};
  if (path == NULL || strcmp(path, "server") == 0 || run->tokenizer_looked_for) return run->tokenizer;
  run->tokenizer_looked_for = true;
  enum lynx_status status = tokenizer_read(path, &run->tokenizer, digest, &error);
  lynx_error_text(&error, why, sizeof why);
  const char *text = status == LYNX_OK ? arena_printf(&run->arena, "answers are counted again by %s, SHA-256 %s", path, digest)
                                       : arena_printf(&run->arena, "answers are not counted again by workload.prompts.tokenizer: %s", why);
  run_put_event(run, EVENT_RECOUNT, text);
  if (status != LYNX_OK) run_note(run, text);
  return run->tokenizer;
}

void recount_ask(struct recount *r, struct run *run, int64_t session) {
  struct tokenizer *tokenizer = r->n > 0 ? tokenizer_of(run) : NULL;
  const char *const series[] = {"answer.tokens_claimed", tokenizer != NULL ? "answer.tokens_counted_by_file" : "answer.tokens_counted",
                                "answer.tokens_evident", "answer.tokens_empty"};
  struct server_tokenizer server = server_tokenizer_of(&run->contract, run->bearer);
  token_counter *count = tokenizer != NULL ? tokenizer_count : prompt_tokens_by_server;
  void *counter = tokenizer != NULL ? (void *)tokenizer : &server;
  server.timeout_ns = 2000000000;
  int64_t counted, until_ns = clock_now(run->request->clock) + BUDGET_S * INT64_C(1000000000);
  for (size_t i = 0; i < r->n && !run_is_over(run) && clock_now(run->request->clock) < until_ns; i++) {
    const struct recounted *a = &r->answers[i];
    if (count(counter, a->text, a->length, &counted, NULL) != LYNX_OK) break;
    const int64_t values[] = {a->claimed, counted, a->evident, a->empty};
    for (size_t k = 0; k < LYNX_COUNT(series); k++) bundle_put_sample(run->bundle, session, (int64_t)i, series[k], (double)values[k]);
  }
}

void recount_release(struct recount *r) {
  for (size_t i = 0; i < r->n; i++) free(r->answers[i].text);
  *r = (struct recount){0};
}
