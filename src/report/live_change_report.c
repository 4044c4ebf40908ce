#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "report/live_report.h"

enum { SHOWN = 12 };

static void put_latency(struct buffer *out, const char *name, double before_ns, double after_ns) {
  char a[40], b[40];
  (void)buffer_printf(out, "  %-28s %14s %14s\n", name, number_duration_text(a, sizeof a, before_ns),
                      number_duration_text(b, sizeof b, after_ns));
}

static void put_line(struct buffer *out, const char *name, double before_s, double after_s, const char *whose) {
  (void)buffer_printf(out, "  %-28.28s %11.3f ms %11.3f ms  %+10.3f ms  %s\n", name, 1e3 * before_s, 1e3 * after_s,
                      1e3 * (after_s - before_s), whose);
}

bool live_change_text(const struct live_change *c, bool color, struct buffer *ret) {
  ret->shown = true;
  struct arena arena = {0};
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  if (c->abstained) {
    (void)buffer_printf(ret, "%sNot compared.%s %s\n", strong, plain, c->why);
    return !ret->overflowed;
  }
  (void)buffer_printf(ret, "%s%s%s\n", strong, c->sentence, plain);
  (void)buffer_printf(ret, "next: lynxbench diff BEFORE AFTER lists the facts that changed; lynxbench compare measures both in turn\n\n");
  (void)buffer_printf(ret, "  %-28s %14s %14s\n", "", "before", "after");
  (void)buffer_printf(ret, "  %-28s %14.4g %14.4g\n", "requests/s", c->rate_before, c->rate_after);
  put_latency(ret, "TTFT p50", c->first_before_ns, c->first_after_ns);
  put_latency(ret, "TPOT p50", c->each_before_ns, c->each_after_ns);
  (void)buffer_text(ret, "\nthreads' time per request\n");
  for (size_t i = 0; i < c->n_states; i++) put_line(ret, c->states[i].state, c->states[i].before_s, c->states[i].after_s, "");
  (void)buffer_text(ret, "\nprocessor time per request, the greatest change first\n");
  for (size_t i = 0; i < c->n_parts && i < SHOWN; i++) {
    const struct live_change_part *p = &c->parts[i];
    const char *whose = p->attributed ? arena_printf(&arena, "%s, %s  %s", layer_text(p->layer),
                                                     contract_owner(&c->after->result->contract, p->layer), p->where)
                                      : "not attributed, nobody yet";
    put_line(ret, p->what, p->before_s, p->after_s, whose);
  }
  arena_release(&arena);
  return !ret->overflowed;
}

bool live_change_json(const struct live_change *c, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_bool(&json, "abstained", c->abstained);
  json_put_text(&json, "why", c->why);
  json_put_text(&json, "sentence", c->sentence);
  json_put_double(&json, "requests_per_s_before", c->rate_before);
  json_put_double(&json, "requests_per_s_after", c->rate_after);
  json_put_double(&json, "ttft_p50_before_ns", c->first_before_ns);
  json_put_double(&json, "ttft_p50_after_ns", c->first_after_ns);
  json_put_double(&json, "tpot_p50_before_ns", c->each_before_ns);
  json_put_double(&json, "tpot_p50_after_ns", c->each_after_ns);
  json_key(&json, "states_s_per_request");
  json_open_array(&json);
  for (size_t i = 0; i < c->n_states; i++) {
    json_open_object(&json);
    json_put_text(&json, "state", c->states[i].state);
    json_put_double(&json, "before", c->states[i].before_s);
    json_put_double(&json, "after", c->states[i].after_s);
    json_close(&json);
  }
  json_close(&json);
  json_key(&json, "parts_s_per_request");
  json_open_array(&json);
  for (size_t i = 0; i < c->n_parts; i++) {
    const struct live_change_part *p = &c->parts[i];
    json_open_object(&json);
    json_put_text(&json, "what", p->what);
    json_put_text(&json, "where", p->where);
    json_put_text(&json, "layer", p->attributed ? layer_text(p->layer) : "not attributed");
    json_put_text(&json, "owner", p->attributed ? contract_owner(&c->after->result->contract, p->layer) : "nobody yet");
    json_put_double(&json, "before", p->before_s);
    json_put_double(&json, "after", p->after_s);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}
