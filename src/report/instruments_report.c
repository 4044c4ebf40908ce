#include "report/instruments_report.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "report/text.h"

#define BETWEEN_SEEN 0.02 /* of the client's value: less is rounding */

enum { WIDTH = 100, WHAT_COLUMN = 31, SIDE_COLUMN = 6, FEW = 10 };

static bool is_time(const struct instrument_figure *f) {
  return f->statistic[0] != 0;
}

static const char *name_of(const struct instrument_figure *f, char text[80]) {
  (void)snprintf(text, 80, "%s%s%s", f->title, f->statistic[0] != 0 ? ", " : "", f->statistic);
  return text;
}

static const char *value_text(const struct instrument_figure *f, double value, char text[48]) {
  if (is_time(f)) return number_duration_text(text, 48, 1e9 * value);
  if (f->kind == KIND_COUNTS) (void)snprintf(text, 48, "%.0f", value);
  else (void)number_text(text, 40, number_round(value, 5));
  if (f->kind != KIND_COUNTS) (void)strcat(text, " /s");
  return text;
}

/* "1.98 by answers of 256 and 507 tokens, ..." */
static void put_factors(struct buffer *out, const struct instrument_figure *f) {
  for (size_t i = 0; i < f->n_factors; i++)
    (void)buffer_printf(out, "%s%.3g by %s",
                        i == 0                  ? ""
                        : i + 1 == f->n_factors ? " and "
                                                : ", ",
                        f->factors[i].factor, f->factors[i].what);
}

/* Tails are of few requests, and of one run: they decide nothing, and are said. */
static void put_agreement(const struct instruments *r, struct buffer *out) {
  char name[80];
  size_t n = 0;
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct instrument_figure *f = &r->figures[i];
    if (f->judged || f->status == INSTRUMENT_AGREES) continue;
    if (n++ == 0) (void)buffer_printf(out, "They agree within %.3g %% in each figure's first line, and not in its tail: ", 100 * r->margin);
    else (void)buffer_text(out, ", ");
    (void)buffer_printf(out, "%s (%.3g times)", name_of(f, name), f->ratio);
  }
  if (n == 0) (void)buffer_printf(out, "They agree: every figure that both state is the same within %.3g %%", 100 * r->margin);
  (void)buffer_text(out, ".\n");
}

static void put_first(const struct instruments *r, struct buffer *out) {
  const struct instrument_figure *f = r->named;
  char name[80];
  if (f == NULL) {
    (void)buffer_text(out, "Nothing to compare: the two have no figure in common.\n");
    return;
  }
  if (r->verdict == INSTRUMENTS_AGREE) {
    put_agreement(r, out);
    return;
  }
  bool explained = r->verdict == INSTRUMENTS_EXPLAINED;
  (void)buffer_printf(out, "They differ%s: %s is %.3g times as much by B", explained ? ", and how they measured explains it" : "",
                      name_of(f, name), f->ratio);
  if (explained && f->n_factors > 0) {
    (void)buffer_text(out, "; ");
    put_factors(out, f);
  } else if (f->n_factors > 0) {
    (void)buffer_text(out, "; ");
    put_factors(out, f);
    (void)buffer_printf(out, ", and %.3g is not explained", f->left);
  } else (void)buffer_text(out, ", and nothing that these files say explains it by a number");
  (void)buffer_text(out, ".\n");
}

/* What was done unlike, may have changed this figure, and gives no number. */
static void put_candidates(const struct instruments *r, struct buffer *out) {
  size_t n = 0;
  for (size_t i = 0; r->verdict == INSTRUMENTS_OPEN && i < r->n_traits; i++) {
    const struct instrument_trait *t = &r->traits[i];
    if ((t->bears_on & (1U << r->named->kind)) == 0) continue;
    (void)buffer_printf(out, "%s%s", n++ == 0 ? "it may be: " : "; ", t->what);
  }
  if (n > 0) (void)buffer_text(out, " (below)\n");
}

static bool lacks_requests(const struct instrument *i) {
  return i->m.n_requests == 0 && !i->of_server;
}

static void put_next(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *out) {
  bool alike = true;
  for (size_t i = 0; i < r->n_traits; i++)
    if (strcmp(r->traits[i].what, "load") == 0 || strstr(r->traits[i].what, "tokens of") != NULL) alike = alike && !r->traits[i].differs;
  if (r->named == NULL) (void)buffer_text(out, "next: give files that state a rate or a latency (`lynxbench import --formats`)\n");
  else if (r->verdict == INSTRUMENTS_AGREE) (void)buffer_text(out, "next: nothing; either instrument may be used for this load\n");
  else if (r->verdict == INSTRUMENTS_EXPLAINED)
    (void)buffer_text(out, "next: agree on one formula and one workload (a contract does: `lynxbench init --help`); then measure again\n");
  else if ((a->of_server || b->of_server) && r->named->kind == KIND_COUNTS)
    (void)buffer_text(out, "next: see who else asks this server (its log of requests), or read the pages when nobody else does\n");
  else if (a->of_server || b->of_server)
    (void)buffer_text(out,
                      "next: what lies between client and server is connections, proxies, queues in front of it, and the client itself;\n"
                      "      measure on the server's own machine, against its port, and read both pages again\n");
  else if (!alike)
    (void)buffer_text(out,
                      "next: run both with the same load, prompts and answer lengths, one behind the other, and compare these files\n");
  else if ((lacks_requests(a) || lacks_requests(b)) && strcmp(r->named->formula_a, r->named->formula_b) != 0)
    (void)buffer_printf(out, "next: give %s with its requests (vllm: --save-detailed; a bundle of lynxbench has them)\n",
                        lacks_requests(a) ? "A" : "B");
  else
    (void)buffer_text(out, "next: run each twice, in turn, against a server that nobody else uses; if they still differ, look at what the\n"
                           "      clients themselves took (`lynxbench calibrate` gives this one's)\n");
}

static void put_figures(const struct instruments *r, struct buffer *out) {
  char name[80], a[48], b[48];
  if (r->n_figures > 0) (void)buffer_printf(out, "\n  %-30s %11s %11s %7s   %s\n", "as each states it", "A", "B", "B / A", "explained");
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct instrument_figure *f = &r->figures[i];
    (void)buffer_printf(out, "%c %-30s %11s %11s %7.3f   ", f == r->named ? '>' : ' ', name_of(f, name), value_text(f, f->a, a),
                        value_text(f, f->b, b), f->ratio);
    if (f->n_factors > 0) (void)buffer_printf(out, "%.3f, left %.3f\n", f->ratio / f->left, f->left);
    else (void)buffer_printf(out, "%s\n", f->status == INSTRUMENT_AGREES ? "agrees" : "no");
  }
}

static void put_explanations(const struct instruments *r, struct buffer *out) {
  bool any = false;
  char name[80];
  for (size_t i = 0; i < r->n_figures; i++) {
    const struct instrument_figure *f = &r->figures[i];
    if (!f->judged || f->n_factors == 0) continue;
    if (!any) (void)buffer_text(out, "\nwhat explains how much (a factor each):\n");
    any = true;
    (void)buffer_printf(out, "  %s: ", name_of(f, name));
    struct buffer line;
    buffer_init(&line, 4096);
    put_factors(&line, f);
    text_wrap(out, (int)strlen(name) + 4, 6, WIDTH, line.data);
    (void)buffer_text(out, "\n");
    buffer_release(&line);
  }
}

/* Of both clocks, what lies outside of the server's, with what is explained taken out. */
static void put_between(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *out) {
  char name[80], text[48];
  for (size_t i = 0; a->of_server != b->of_server && i < r->n_figures; i++) {
    const struct instrument_figure *f = &r->figures[i];
    double client = a->of_server ? f->b : f->a, more = a->of_server ? f->b * (1 - 1 / f->left) : f->a * (1 - f->left);
    if (!is_time(f) || !f->judged || fabs(more) < BETWEEN_SEEN * client) continue;
    if (more > 0)
      (void)buffer_printf(out, "\n%s: %s lie before the server's clock and behind it.\n", name_of(f, name),
                          number_duration_text(text, sizeof text, 1e9 * more));
    else (void)buffer_printf(out, "\n%s: by the server it is longer; whose requests it counts is below.\n", name_of(f, name));
  }
}

static void put_side(const char *letter, const char *text, struct buffer *out) {
  (void)buffer_printf(out, "    %s ", letter);
  text_wrap(out, SIDE_COLUMN, SIDE_COLUMN, WIDTH, text);
  (void)buffer_text(out, "\n");
}

static void put_traits(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *out) {
  size_t n_same = 0;
  size_t n_unlike = 0;
  for (size_t i = 0; i < r->n_traits; i++) n_unlike += r->traits[i].differs;
  (void)buffer_printf(out, "\nA: %s, %s\nB: %s, %s\n", a->name, a->m.files[0].name, b->name, b->m.files[0].name);
  if (n_unlike > 0) (void)buffer_text(out, "what they did unlike:\n");
  for (size_t i = 0; i < r->n_traits; i++) {
    const struct instrument_trait *t = &r->traits[i];
    n_same += !t->differs;
    if (!t->differs) continue;
    (void)buffer_printf(out, "  %s\n", t->what);
    put_side("A", t->a, out);
    put_side("B", t->b, out);
  }
  if (n_same > 0) (void)buffer_text(out, "and alike:\n");
  for (size_t i = 0; i < r->n_traits; i++)
    if (!r->traits[i].differs) (void)buffer_printf(out, "  %s: %s\n", r->traits[i].what, r->traits[i].a);
}

static void put_against(const struct instrument *i, const char *letter, struct buffer *out) {
  for (size_t k = 0; k < i->m.n_against; k++) put_side(letter, i->m.against[k], out);
}

static void put_few(const struct instrument *i, const char *letter, struct buffer *out) {
  double n = import_figure_stated(&i->m, "requests that went well");
  if (n < FEW) (void)buffer_printf(out, "%s holds %.0f request%s: its figures say little.\n", letter, n, n > 1 ? "s" : "");
}

bool instruments_text(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *ret) {
  ret->shown = true;
  put_first(r, ret);
  put_candidates(r, ret);
  put_few(a, "A", ret);
  put_few(b, "B", ret);
  if (r->counts_unlike)
    (void)buffer_text(ret, "One side's answers have more tokens, and take no longer: the two probably count tokens unlike.\n");
  put_next(r, a, b, ret);
  put_figures(r, ret);
  put_explanations(r, ret);
  put_between(r, a, b, ret);
  put_traits(r, a, b, ret);
  if (a->m.n_against + b->m.n_against > 0) (void)buffer_text(ret, "\nwhat speaks against the files themselves:\n");
  put_against(a, "A", ret);
  put_against(b, "B", ret);
  (void)buffer_printf(ret,
                      "\nwithin %.3g %% two figures agree. Each side is one run: how runs vary is in neither, nor whether the server\n"
                      "was the same.\n",
                      100 * r->margin);
  return !ret->overflowed;
}

static void json_side(struct json_writer *json, const char *key, const struct instrument *i) {
  json_key(json, key);
  json_open_object(json);
  json_put_text(json, "file", i->m.files[0].name);
  json_put_text(json, "tool", i->name);
  json_put_int(json, "requests", (int64_t)i->m.n_requests);
  json_put_texts(json, "against", i->m.against, i->m.n_against);
  json_close(json);
}

static void json_figure(struct json_writer *json, const struct instrument_figure *f) {
  json_open_object(json);
  json_put_text(json, "figure", f->title);
  json_put_text(json, "statistic", f->statistic);
  json_put_text(json, "unit", is_time(f) ? "s" : f->kind == KIND_COUNTS ? "1" : "1/s");
  json_put_text(json, "formula_a", f->formula_a);
  json_put_text(json, "formula_b", f->formula_b);
  json_put_double(json, "a", f->a);
  json_put_double(json, "b", f->b);
  json_put_double(json, "ratio", f->ratio);
  json_put_double(json, "left", f->left);
  json_put_bool(json, "judged", f->judged);
  json_put_text(json, "status", instrument_status_text(f->status));
  json_key(json, "factors");
  json_open_array(json);
  for (size_t i = 0; i < f->n_factors; i++) {
    json_open_object(json);
    json_put_double(json, "factor", f->factors[i].factor);
    json_put_text(json, "by", f->factors[i].what);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

bool instruments_json(const struct instruments *r, const struct instrument *a, const struct instrument *b, struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "verdict", instruments_verdict_text(r->verdict));
  if (r->named != NULL) json_put_text(&json, "figure", r->named->title);
  json_put_double(&json, "margin", r->margin);
  json_put_bool(&json, "tokens_counted_unlike", r->counts_unlike);
  json_side(&json, "a", a);
  json_side(&json, "b", b);
  json_key(&json, "figures");
  json_open_array(&json);
  for (size_t i = 0; i < r->n_figures; i++) json_figure(&json, &r->figures[i]);
  json_close(&json);
  json_key(&json, "traits");
  json_open_array(&json);
  for (size_t i = 0; i < r->n_traits; i++) {
    json_open_object(&json);
    json_put_text(&json, "what", r->traits[i].what);
    json_put_text(&json, "a", r->traits[i].a);
    json_put_text(&json, "b", r->traits[i].b);
    json_put_bool(&json, "differs", r->traits[i].differs);
    json_put_bool(&json, "may_explain", r->named != NULL && (r->traits[i].bears_on & (1U << r->named->kind)) != 0);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}
