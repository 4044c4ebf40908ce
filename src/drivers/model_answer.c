#include "drivers/model_answer.h"

#include <stdio.h>
#include <string.h>

static void take_piece(const struct answer_rules *rules, struct answer *answer, const struct piece *piece, struct completion *ret) {
  struct answer_end *end = &answer->end;
  if (piece->has_error) {
    answer->failed = true;
    memcpy(end->reason, piece->error, sizeof end->reason);
    return;
  }
  if (piece->prompt_tokens >= 0) end->prompt_tokens = piece->prompt_tokens;
  if (piece->cached_tokens > 0) end->flags |= ANSWER_CACHED_PROMPT;
  if (piece->invalid_utf8) end->flags |= ANSWER_INVALID_UTF8;
  if (piece->has_reasoning) end->flags |= ANSWER_REASONING;
  if (piece->has_tool_call) end->flags |= ANSWER_TOOL_CALL;
  if (piece->finished || piece->has_embedding) answer->finished = true;
  uint32_t n_tokens = piece->carries_text || piece->is_one_token; /* until usage tells better; docs/method.md#tokens */
  if (piece->is_one_token) end->flags |= ANSWER_TOKENS_TOLD;
  if (piece->output_tokens >= 0) {
    end->output_tokens = piece->output_tokens;
    if (piece->total_tokens >= 0 && piece->prompt_tokens >= 0 && piece->total_tokens != piece->prompt_tokens + piece->output_tokens)
      end->flags |= ANSWER_USAGE_CONTRADICTS;
    if (rules->running_usage) {
      /* Asked for is not given: usage that comes only at the end is spread over the events, like any. */
      bool a_token = piece->carries_text || (piece->has_empty_text && !piece->finished);
      bool running = a_token || (end->flags & ANSWER_TOKENS_TOLD) != 0;
      int64_t more = piece->output_tokens - answer->tokens_before;
      if (running && more < 0) end->flags |= ANSWER_USAGE_CONTRADICTS;
      if (running) end->flags |= ANSWER_TOKENS_TOLD;
      n_tokens = running && more > 0 ? (uint32_t)more : 0;
      answer->tokens_before = piece->output_tokens;
    }
  }
  if (piece->carries_text && answer->n_text_events++ == 0 && piece->is_blank) end->flags |= ANSWER_BLANK_FIRST;
  answer->n_empty_events += piece->has_empty_text && !piece->carries_text;
  answer->text_bytes += piece->n_bytes;
  answer_add_phase(answer, "load", -1, piece->load_ns);
  answer_add_phase(answer, "queue", -1, piece->queue_ns);
  answer_add_phase(answer, "prefill", -1, piece->prefill_ns);
  answer_add_phase(answer, "decode", -1, piece->decode_ns);
  if (piece->carries_text || n_tokens > 0)
    *ret = (struct completion){.kind = COMPLETION_EVENT,
                               .n_tokens = n_tokens,
                               .n_bytes = piece->n_bytes,
                               .carries_text = piece->carries_text,
                               .carries_answer = piece->has_answer,
                               .carries_tool_call = piece->has_tool_call,
                               .content = piece->content};
}

bool model_answer_piece(const struct answer_rules *rules, struct answer *answer, struct bytes data, struct completion *ret_event,
                        const char **ret_reason) {
  struct piece piece;
  ret_event->kind = COMPLETION_END; /* none, so far */
  rules->route->read(&piece, data.ptr, data.length);
  if (piece.is_done && !piece.is_json) {
    answer->done = true;
    return true;
  }
  *ret_reason = rules->route->framing == FRAMING_LINES ? "a line that is not JSON" : "an event that is not JSON";
  if (!piece.is_json) return false;
  take_piece(rules, answer, &piece, ret_event);
  if (piece.is_done) answer->done = true;
  return true;
}

static void refuse(struct answer_end *end, enum outcome outcome, const char *what, struct bytes body) {
  char found[60];
  end->outcome = outcome;
  (void)snprintf(end->reason, sizeof end->reason, "%s; it begins '%s'", what, text_sanitise(found, sizeof found, body.ptr, body.length));
}

static void judge_whole(const struct answer_rules *rules, struct answer *answer, struct bytes body, struct completion *ret_event) {
  struct piece piece;
  bool wanted_pieces = rules->route->framing != FRAMING_WHOLE;
  rules->route->read(&piece, body.ptr, body.length);
  if (piece.has_error) {
    answer->end.outcome = OUTCOME_ERROR_IN_STREAM;
    memcpy(answer->end.reason, piece.error, sizeof answer->end.reason);
  } else if (wanted_pieces) refuse(&answer->end, OUTCOME_PROTOCOL, "200, but not an event stream", body);
  else if (!piece.is_json) refuse(&answer->end, OUTCOME_PROTOCOL, "200, but not JSON", body);
  else if (rules->embeddings && !piece.has_embedding) refuse(&answer->end, OUTCOME_PROTOCOL, "200, but without an embedding", body);
  else take_piece(rules, answer, &piece, ret_event);
}

static void judge_status(const struct answer_rules *rules, struct answer *answer, struct bytes body) {
  struct piece piece;
  rules->route->read(&piece, body.ptr, body.length);
  answer->end.outcome = OUTCOME_HTTP_STATUS;
  if (piece.has_error && piece.error[0] != 0) memcpy(answer->end.reason, piece.error, sizeof answer->end.reason);
  else text_sanitise(answer->end.reason, sizeof answer->end.reason, body.ptr, body.length);
}

void model_answer_end(const struct answer_rules *rules, struct answer *answer, struct bytes body, int64_t asked,
                      struct completion *ret_event) {
  struct answer_end *end = &answer->end;
  ret_event->kind = COMPLETION_END; /* none, so far */
  if (answer->http->status != 200) {
    judge_status(rules, answer, body);
    return;
  }
  if (rules->times_in_head) {
    answer_add_phase(answer, "queue", -1, answer->http->queue_ns);
    answer_add_phase(answer, "inference", -1, answer->http->inference_ns);
  }
  if (!answer->in_pieces) {
    judge_whole(rules, answer, body, ret_event);
    if (end->outcome != OUTCOME_OK) return;
  } else if (answer->failed) {
    end->outcome = OUTCOME_ERROR_IN_STREAM;
    return;
  } else if (!answer->done && !answer->finished) {
    end->outcome = OUTCOME_NOT_FINISHED;
    (void)snprintf(end->reason, sizeof end->reason, "the stream ended without [DONE] or a finish reason");
    return;
  }
  /* [DONE] alone ends a stream, and says nothing of the answer: half of one ends so, too. */
  if (!answer->finished && end->output_tokens < 0) {
    bool empty = answer->n_text_events == 0;
    end->outcome = empty ? OUTCOME_PROTOCOL : OUTCOME_NOT_FINISHED;
    (void)snprintf(end->reason, sizeof end->reason, "200, but neither %susage, nor a reason to finish", empty ? "text, nor " : "");
    return;
  }
  if (answer->in_pieces && !answer->done && rules->route->has_done) end->flags |= ANSWER_NO_DONE;
  if (answer->in_pieces && end->output_tokens > answer->text_bytes && end->output_tokens <= answer->text_bytes + answer->n_empty_events)
    end->flags |= ANSWER_EMPTY_TOKENS;
  end->n_empty_events = answer->n_empty_events;
  if (rules->embeddings) return;
  if (end->output_tokens < 0) end->flags |= ANSWER_NO_USAGE;
  if (end->output_tokens >= 0 && end->output_tokens < answer->n_text_events) end->flags |= ANSWER_USAGE_CONTRADICTS;
  if (end->output_tokens >= 0 && end->output_tokens < asked) end->flags |= ANSWER_SHORT;
}
