#include "report/watched_change_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/text.h"

#define SAME 0.05 /* of the mean before: less is no change that anybody asks about */

static double change_of(const struct watched_figure *f) {
  return f->after_ns - f->before_ns;
}

/* Is it surely another than nothing? */
static bool is_sure(const struct watched_part *p) {
  return p->low > 0 || p->high < 0;
}

static const char *part_text(struct arena *arena, const struct watched_part *p) {
  return arena_printf(arena, "%+.3g ms [%+.3g, %+.3g]", p->estimate / 1e6, p->low / 1e6, p->high / 1e6);
}

/* What most of it is, where the intervals let that be said. */
static const char *words_of(const struct watched_figure *f, const char **ret_next) {
  double change = change_of(f), direction = change < 0 ? -1 : 1;
  bool demand = is_sure(&f->demand) && f->demand.estimate * direction >= fabs(change) / 2,
       system = is_sure(&f->system) && f->system.estimate * direction >= fabs(change) / 2;
  *ret_next = "watch for longer: more windows narrow the intervals";
  if (demand && system) {
    *ret_next = "`lynxbench attribute AFTER` says what the server's threads did; ask the clients what they changed";
    return "Other demand, and served otherwise too";
  }
  bool too = fmin(f->demand.estimate * direction, f->system.estimate * direction) >= fabs(change) / 5;
  if (demand) {
    *ret_next = "ask the clients what they changed; `lynxbench decide fleet` says how many executors this demand needs";
    if (too && is_sure(&f->system)) return "Mostly other demand, and the service itself changed too";
    bool back = is_sure(&f->system) && f->system.estimate * direction < -fabs(change) / 5;
    return back ? "Other demand; at equal demand it went the other way" : "Mostly other demand";
  }
  if (system && too && is_sure(&f->demand)) {
    *ret_next = "`lynxbench diff BEFORE AFTER` lists the facts that changed; ask the clients what they changed";
    return "Mostly at equal demand, and other demand too";
  }
  if (system) {
    *ret_next = "`lynxbench diff BEFORE AFTER` lists the facts that changed, `lynxbench attribute AFTER` what its threads did";
    return "Mostly at equal demand: the service itself changed";
  }
  return "Not decided between other demand and the service itself";
}

static const struct watched_figure *headline(const struct watched_change *c, const char **ret_name) {
  bool whole = fabs(change_of(&c->whole)) * c->first.before_ns > fabs(change_of(&c->first)) * c->whole.before_ns;
  *ret_name = whole ? "end to end" : "TTFT";
  return whole ? &c->whole : &c->first;
}

const char *watched_change_sentence(const struct watched_change *c, struct arena *arena) {
  const char *name, *next;
  const struct watched_figure *f = headline(c, &name);
  if (!c->known) return arena_printf(arena, "Not compared: %s.", c->why);
  if (fabs(change_of(f)) < SAME * f->before_ns)
    return arena_printf(arena, "No change: mean %s %.4g ms before, %.4g ms after.", name, f->before_ns / 1e6, f->after_ns / 1e6);
  return arena_printf(arena, "%s: of mean %s %+.3g ms, %s is demand, %s at equal demand.", words_of(f, &next), name, change_of(f) / 1e6,
                      part_text(arena, &f->demand), part_text(arena, &f->system));
}

static void put_figure(struct buffer *out, struct arena *arena, const char *name, const struct watched_figure *f) {
  (void)buffer_printf(out, "  %-24s %10.4g %10.4g ms  %s demand, %s at equal demand\n", name, f->before_ns / 1e6, f->after_ns / 1e6,
                      part_text(arena, &f->demand), part_text(arena, &f->system));
}

static void put_mean(struct buffer *ret, const char *name, const double mean[2]) {
  (void)buffer_printf(ret, "  %-24s", name);
  for (int side = 0; side < 2; side++)
    (void)(isnan(mean[side]) ? buffer_printf(ret, " %10s", "not known") : buffer_printf(ret, " %10.4g", mean[side]));
  (void)buffer_text(ret, "\n");
}

bool watched_change_text(const struct watched_change *c, bool color, struct buffer *ret) {
  struct arena arena = {0};
  const char *name, *next = "watch for longer: more windows narrow the intervals", *strong = color ? text_colors[TEXT_STRONG] : "",
                    *plain = color ? text_colors[TEXT_PLAIN] : "";
  const struct watched_figure *f = headline(c, &name);
  if (c->known) (void)words_of(f, &next);
  (void)buffer_printf(ret, "%s%s%s\n", strong, watched_change_sentence(c, &arena), plain);
  if (c->known && fabs(change_of(f)) < SAME * f->before_ns) next = "where users see another thing, it lies in front of this host";
  (void)buffer_printf(ret, "next: %s\n\n  %-24s %10s %10s\n", next, "", "before", "after");
  (void)buffer_printf(ret, "  %-24s %10lld %10lld\n", "requests", (long long)c->n[0], (long long)c->n[1]);
  (void)buffer_printf(ret, "  %-24s %10.4g %10.4g\n", "requests/s", c->rate[0], c->rate[1]);
  put_mean(ret, "prompt tokens, mean", c->prompt);
  put_mean(ret, "output tokens, mean", c->output);
  if (c->known) {
    put_figure(ret, &arena, "TTFT, mean", &c->first);
    put_figure(ret, &arena, "end to end, mean", &c->whole);
    (void)buffer_text(ret, "\nDemand is lengths of prompts and answers, by octaves; whose it is: demand, Product. At equal demand: not\n"
                           "attributed yet. Intervals (95 %) are over windows. What was in flight is an effect, and divides nothing.\n");
  }
  for (int side = 0; side < 2; side++)
    if (c->prompt_unknown[side] > 0.05)
      (void)buffer_printf(ret,
                          "! of %.0f %% of the requests %s nobody says how long the prompt is: other prompts count as served otherwise\n",
                          100 * c->prompt_unknown[side], side == 0 ? "before" : "after");
  arena_release(&arena);
  return !ret->overflowed;
}

static void put_part(struct json_writer *json, const char *key, const struct watched_part *p) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "estimate_ns", p->estimate);
  json_put_double(json, "low_ns", p->low);
  json_put_double(json, "high_ns", p->high);
  json_close(json);
}

static void put_figure_json(struct json_writer *json, const char *key, const struct watched_figure *f) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "before_ns", f->before_ns);
  json_put_double(json, "after_ns", f->after_ns);
  put_part(json, "demand", &f->demand);
  put_part(json, "equal_demand", &f->system);
  json_close(json);
}

bool watched_change_json(const struct watched_change *c, struct buffer *ret) {
  static const char *const sides[] = {"before", "after"};
  struct json_writer json;
  struct arena arena = {0};
  json_begin_object(&json, ret);
  json_put_bool(&json, "known", c->known);
  json_put_text(&json, "why", c->why);
  json_put_text(&json, "sentence", watched_change_sentence(c, &arena));
  json_put_double(&json, "unseen_share", c->unseen);
  for (int side = 0; side < 2; side++) {
    json_key(&json, sides[side]);
    json_open_object(&json);
    json_put_int(&json, "requests", c->n[side]);
    json_put_double(&json, "requests_per_s", c->rate[side]);
    json_put_double(&json, "prompt_tokens_mean", c->prompt[side]);
    json_put_double(&json, "output_tokens_mean", c->output[side]);
    json_put_double(&json, "prompt_unknown_share", c->prompt_unknown[side]);
    json_close(&json);
  }
  put_figure_json(&json, "time_to_first_token", &c->first);
  put_figure_json(&json, "end_to_end", &c->whole);
  arena_release(&arena);
  return json_end_line(&json);
}
