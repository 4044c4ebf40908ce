#include "watch/watch_record.h"

#include <string.h>

#include "load/events.h"

#define TIME_MAX_NS (INT64_MAX / 4)

static bool in_order(int64_t from, int64_t to) {
  return to < 0 ? to == -1 : to >= from && to < TIME_MAX_NS;
}

static bool is_count(int64_t n) {
  return n >= -1 && n <= WATCHED_COUNT_MAX;
}

bool watch_record_request(const char *data, size_t length, struct watched_request *ret) {
  if (length < sizeof *ret) return false;
  memcpy(ret, data, sizeof *ret);
  ret->events = data + sizeof *ret;
  if (ret->events_length != length - sizeof *ret || (unsigned)ret->outcome >= OUTCOME_COUNT) return false;
  if (ret->http_status < 0 || ret->http_status > 999 || ret->asked_ns < 0 || ret->asked_ns >= TIME_MAX_NS || ret->end_ns < 0) return false;
  const int64_t after[] = {ret->first_byte_ns,      ret->first_token_ns, ret->first_answer_ns,
                           ret->first_tool_call_ns, ret->last_token_ns,  ret->end_ns};
  for (size_t i = 0; i < LYNX_COUNT(after); i++)
    if (!in_order(ret->asked_ns, after[i]) || after[i] > ret->end_ns) return false;
  const int64_t counts[] = {ret->prompt_tokens, ret->output_tokens, ret->asked_tokens,
                            ret->prompt_bytes,  ret->n_text_events, ret->n_shared};
  for (size_t i = 0; i < LYNX_COUNT(counts); i++)
    if (!is_count(counts[i])) return false;
  struct events_reader reader;
  struct answer_event event;
  int more;
  events_begin(&reader, ret->events, ret->events_length);
  while ((more = events_next(&reader, &event)) > 0)
    if (event.n_bytes != 0) return false; /* nothing that lengths of words could be read from */
  return more == 0;
}

bool watch_record_state(const char *data, size_t length, struct watch_state *ret) {
  if (length != sizeof *ret) return false;
  memcpy(ret, data, sizeof *ret);
  const struct watch_counts *c = &ret->counts;
  return ret->at_ns >= 0 && ret->at_ns < TIME_MAX_NS && ret->n_packets >= 0 && ret->n_dropped >= 0 && ret->cpu_ns >= 0 &&
         c->n_requests >= 0 && c->n_in_flight >= 0 && c->n_in_flight <= WATCHED_COUNT_MAX;
}
