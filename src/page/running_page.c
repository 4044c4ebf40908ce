/* Runs that go on, as their teams tell: no figure of theirs is one to rest on. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/frame.h"
#include "page/pages.h"
#include "report/text.h"

static void put_number(struct json_writer *json, const char *key, double value) {
  if (isfinite(value)) json_put_double(json, key, value);
}

static void put_run(struct json_writer *json, const struct running_run *r) {
  json_open_object(json);
  json_put_text(json, "intent", r->intent);
  json_put_text(json, "contract", r->contract);
  json_put_text(json, "name", r->name);
  json_put_text(json, "by", r->by);
  json_put_text(json, "host", r->host);
  json_put_text(json, "step", r->step);
  json_put_text(json, "precision", r->precision);
  json_put_text(json, "purpose", r->purpose);
  json_put_int(json, "session", r->session);
  json_put_int(json, "sessions", r->n_sessions);
  put_number(json, "elapsed_s", r->elapsed_s);
  put_number(json, "total_s", r->total_s);
  json_put_int(json, "in_flight", r->in_flight);
  json_put_int(json, "done", r->n_done);
  json_put_int(json, "failed", r->n_failed);
  put_number(json, "requests_per_s", r->requests_per_s);
  put_number(json, "tokens_per_s", r->tokens_per_s);
  put_number(json, "time_to_first_token_ns", r->time_to_first_token_ns);
  put_number(json, "end_to_end_ns", r->end_to_end_ns);
  put_number(json, "steal", r->steal);
  put_number(json, "idle", r->idle);
  put_number(json, "silent_s", r->silent_s);
  json_close(json);
}

bool running_json(const struct running_run *runs, size_t n, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_array(&json);
  for (size_t i = 0; i < n; i++) put_run(&json, &runs[i]);
  json_close(&json);
  return json_finish(&json);
}

static void put_card(struct markup *m, const char *key, const char *words, const char *value) {
  markup_open(m, "div", "class", "card", NULL);
  markup_open(m, "b", "data-field", key, NULL);
  markup_text(m, value);
  markup_close(m);
  markup_whole(m, "span", NULL, words);
  markup_close(m);
}

static const char *rate_text(char *text, size_t size, double rate) {
  (void)snprintf(text, size, isfinite(rate) ? "%.4g" : "–", rate);
  return text;
}

static const char *latency_text(char *text, size_t size, double ns) {
  return isfinite(ns) ? text_latency(text, size, ns) : "–";
}

static const char *share_text(char *text, size_t size, double share) {
  (void)snprintf(text, size, isfinite(share) ? "%.0f %%" : "–", 100 * share);
  return text;
}

static void put_head(struct frame *f, const struct running_run *r) {
  struct markup *m = &f->markup;
  uint8_t digest[DIGEST_BYTES];
  size_t at;
  bool linked = hex_decode(r->contract, digest, DIGEST_BYTES) && board_find_contract(f->pages->board, digest, &at);
  markup_open(m, "h2", NULL);
  if (linked) markup_link(m, NULL, r->name[0] != 0 ? r->name : r->contract, "contract/%s.html", r->contract);
  else markup_text(m, r->name[0] != 0 ? r->name : r->contract);
  markup_close(m);
  markup_open(m, "p", "class", "dim", NULL);
  markup_printf(m, "by %s%s%s", r->by, r->host[0] != 0 ? ", on " : "", r->host);
  markup_close(m);
}

static void put_phase(struct markup *m, const struct running_run *r) {
  char elapsed[40], total[40], of[40] = "";
  (void)snprintf(elapsed, sizeof elapsed, "%.1f", isfinite(r->elapsed_s) ? r->elapsed_s : 0);
  (void)snprintf(total, sizeof total, "%.1f", isfinite(r->total_s) && r->total_s > 0 ? r->total_s : 1);
  if (r->n_sessions > 0) (void)snprintf(of, sizeof of, " of %" PRId64, r->n_sessions);
  markup_open(m, "p", "class", "lead", "data-field", "phase", NULL);
  if (r->session > 0) markup_printf(m, "Session %" PRId64 "%s, %s: %s", r->session, of, r->precision, r->step);
  else markup_text(m, r->step);
  if (r->silent_s > 5) markup_printf(m, "; not heard of for %.0f s", r->silent_s);
  markup_close(m);
  markup_open(m, "p", NULL);
  markup_open(m, "progress", "value", elapsed, "max", total, "data-field", "elapsed_s", "aria-label", "of this session's windows", NULL);
  markup_close(m);
  markup_close(m);
}

static void put_running(struct frame *f, const struct running_run *r) {
  struct markup *m = &f->markup;
  char text[60];
  markup_open(m, "section", "data-run", r->intent, NULL);
  put_head(f, r);
  put_phase(m, r);
  markup_open(m, "div", "class", "cards", NULL);
  put_card(m, "requests_per_s", "requests/s", rate_text(text, sizeof text, r->requests_per_s));
  put_card(m, "tokens_per_s", "tokens/s", rate_text(text, sizeof text, r->tokens_per_s));
  put_card(m, "time_to_first_token_ns", "to the first token, mean", latency_text(text, sizeof text, r->time_to_first_token_ns));
  put_card(m, "end_to_end_ns", "end to end, mean", latency_text(text, sizeof text, r->end_to_end_ns));
  (void)snprintf(text, sizeof text, "%" PRId64, r->in_flight);
  put_card(m, "in_flight", "in flight", text);
  (void)snprintf(text, sizeof text, "%" PRId64, r->n_failed);
  put_card(m, "failed", "failed in this session", text);
  put_card(m, "idle", "of the load host's processors idle", share_text(text, sizeof text, r->idle));
  put_card(m, "steal", "of them taken by the hypervisor", share_text(text, sizeof text, r->steal));
  markup_close(m);
  markup_close(m);
}

void running_page(struct frame *f, const struct running_run *runs, size_t n) {
  struct markup *m = &f->markup;
  char title[80];
  (void)snprintf(title, sizeof title, "%zu run%s in progress", n, LYNX_S(n));
  frame_begin(f, "Runs in progress", "json");
  frame_title(f, f->pages->board->origin, n > 0 ? title : "No run in progress");
  markup_whole(m, "p", "dim",
               "What runs that are recorded in this ledger tell while they go on, over the last second. No claim rests on it: a run's "
               "figures are those of its bundle.");
  markup_open(m, "noscript", NULL);
  markup_open(m, "p", NULL);
  markup_link(m, NULL, "Show it as of now", "running.html");
  markup_close(m);
  markup_close(m);
  markup_open(m, "div", "data-live", "running/events.txt", NULL);
  for (size_t i = 0; i < n; i++) put_running(f, &runs[i]);
  markup_close(m);
  frame_end(f);
}
