#include "report/sensitivity_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "stats/special.h"

enum { NAME_WIDTH = 34 };

static double as_ratio(double ln) {
  return fabs(ln) < 600 ? special_exp(ln) : NAN;
}

char *sensitivity_slope_text(char *text, size_t size, const struct slope *s, bool is_ratio) {
  if (!isfinite(s->estimate)) (void)snprintf(text, size, "-");
  else if (is_ratio && s->bounded)
    (void)snprintf(text, size, "x %.3g [%.3g, %.3g]", as_ratio(s->estimate), as_ratio(s->low), as_ratio(s->high));
  else if (is_ratio) (void)snprintf(text, size, "x %.3g", as_ratio(s->estimate));
  else if (s->bounded) (void)snprintf(text, size, "%.2f [%.2f, %.2f]", s->estimate, s->low, s->high);
  else (void)snprintf(text, size, "%.2f", s->estimate);
  return text;
}

static bool is_slowed(const struct sensitivity *s) {
  return !sensitivity_takes_away(s);
}

/* No processor's time as a whole, which holds the others. */
static bool is_single(const struct sensitivity *s) {
  return is_slowed(s) && !sensitivity_is_of_processors(s);
}

/* The resource of a kind that costs most, or the cause whose absence gains most, for certain; NULL: there is no interval. */
static const struct sensitivity *foremost(const struct sensitivities *all, bool (*is)(const struct sensitivity *s), enum response by) {
  const struct sensitivity *best = NULL;
  for (size_t i = 0; i < all->n; i++) {
    const struct sensitivity *s = &all->items[i];
    if (!is(s) || sensitivity_is_of_all(s) || sensitivity_is_of_load(s) || !s->of[by].bounded || sensitivity_is_impossible(s)) continue;
    if (best == NULL || s->of[by].low > best->of[by].low) best = s;
  }
  return best;
}

/* Where what costs most holds many causes, or nothing is certain. A median does not see the few answers that stall for long. */
static void put_cause(const struct sensitivities *all, const struct sensitivity *most, const char *what, struct buffer *out) {
  char text[64];
  const enum response by = sensitivities_response(all);
  const struct sensitivity *cause = foremost(all, is_single, by), *of_latency = foremost(all, is_single, RESPONSE_END_TO_END);
  bool known = cause != NULL && cause->of[by].low > 0;
  if (known && cause == most) return;
  if (known)
    (void)buffer_printf(out, "Of single causes, %s costs most for certain: %s %% of the %s.\n", cause->target,
                        sensitivity_slope_text(text, sizeof text, &cause->of[by], false), what);
  else if (of_latency != NULL && of_latency->of[RESPONSE_END_TO_END].low > 0)
    (void)buffer_printf(out, "%sOf the median end-to-end latency %s costs most for certain: %s %%.\n",
                        most->of[by].low > 0 ? "No single cause costs throughput for certain. " : "", of_latency->target,
                        sensitivity_slope_text(text, sizeof text, &of_latency->of[RESPONSE_END_TO_END], false));
}

static void put_nothing(const struct sensitivities *all, struct buffer *out) {
  if (all->n_blocks == 0) (void)buffer_text(out, "Nothing was perturbed: see what is unprobed.\n\n");
  else if (all->too_few)
    (void)buffer_printf(
        out,
        "An undisturbed block of %.2g s holds %.2g answers, which is too few.\nnext: lynxbench run the contract, then perturb "
        "its bundle: blocks are then as long as its answers need\n\n",
        all->block_s, all->answers);
  else if (sensitivity_all_impossible(all))
    (void)buffer_text(out,
                      "What was slowed likely waits in a loop for who waits for it: its time is no cost.\nnext: look at what it waits for: "
                      "lynxbench perturb without --only, or with another --function\n\n");
  else (void)buffer_text(out, "Too few cycles of blocks were measured.\nnext: the same with --for 5min\n\n");
}

/* NULL: it was not changed, or has no interval. */
static const struct slope *demand_of(const struct sensitivities *all) {
  for (size_t i = 0; i < all->n; i++)
    if (sensitivity_is_of_load(&all->items[i]) && all->items[i].of[RESPONSE_THROUGHPUT].bounded)
      return &all->items[i].of[RESPONSE_THROUGHPUT];
  return NULL;
}

/* Had the server room left? Homogeneity of throughput in the rates and in what is in flight: docs/method.md#perturbation. */
static void put_demand(const struct slope *e, const char *strong, const char *plain, struct buffer *out) {
  char text[64];
  (void)buffer_printf(out, "%s1 %% fewer requests in flight cost %s %% of the throughput%s.%s\n", strong,
                      sensitivity_slope_text(text, sizeof text, e, false),
                      e->high < 0.25  ? ": the server is full, and more of them only wait"
                      : e->low > 0.75 ? ": the server has room, and the load does not fill it"
                                      : "",
                      plain);
}

static void put_verdict(const struct sensitivities *all, bool color, struct buffer *out) {
  const char *strong = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "",
             *what = all->open_load ? "end-to-end latency" : "throughput";
  const struct sensitivity *slowed = foremost(all, is_slowed, sensitivities_response(all)),
                           *away = foremost(all, sensitivity_takes_away, sensitivities_response(all));
  char text[64];
  const struct slope *demand = demand_of(all);
  if (slowed == NULL && away == NULL && demand == NULL) {
    (void)buffer_printf(out, "%sNothing was established.%s ", strong, plain);
    put_nothing(all, out);
    return;
  }
  if (away != NULL)
    (void)buffer_printf(out, "%sTaken away, %s: %s %s.%s\n", strong, away->target, what,
                        sensitivity_slope_text(text, sizeof text, &away->of[sensitivities_response(all)], true), plain);
  if (slowed != NULL && slowed->of[sensitivities_response(all)].low > 0)
    (void)buffer_printf(out, "%s%s: 1 %% slower costs %s %% of the %s.%s\n", strong, slowed->target,
                        sensitivity_slope_text(text, sizeof text, &slowed->of[sensitivities_response(all)], false), what, plain);
  else if (slowed != NULL)
    (void)buffer_printf(out, "%sNo resource that was slowed costs %s for certain%s (most: %s, %s).\n", strong, what, plain, slowed->target,
                        sensitivity_slope_text(text, sizeof text, &slowed->of[sensitivities_response(all)], false));
  if (slowed != NULL) put_cause(all, slowed, what, out);
  bool alone = slowed == NULL && away == NULL;
  if (demand != NULL) put_demand(demand, alone ? strong : "", alone ? plain : "", out);
  if (all->open_load)
    (void)buffer_text(out, "The load is open: as much is sent as before, so that latencies answer, and throughput does not.\n");
  (void)buffer_text(out, "A sensitivity at this load, not a share: what was slowed less than all shows only its own cost.\n\n");
}

/* "function: encode (/srv/app/server.py:188)" is encode (server.py:188) in a table; whose it is has all of it. */
static void put_name(const struct sensitivity *s, struct buffer *out) {
  static const char function[] = "function: ";
  char text[TARGET_NAME];
  bool is_function = strncmp(s->target, function, sizeof function - 1) == 0;
  const char *name = is_function ? s->target + sizeof function - 1 : s->target, *open = strstr(name, " ("), *base = strrchr(name, '/');
  if (is_function && open != NULL && base != NULL && base > open)
    (void)snprintf(text, sizeof text, "%.*s (%s", (int)(open - name), name, base + 1);
  else (void)snprintf(text, sizeof text, "%s", name);
  (void)buffer_printf(out, "  %-*.*s", NAME_WIDTH, NAME_WIDTH, text);
}

static void put_row(const struct sensitivity *s, struct buffer *out) {
  char text[64];
  put_name(s, out);
  for (int k = 0; k < RESPONSE_COUNT; k++)
    (void)buffer_printf(out, "  %-20s", sensitivity_slope_text(text, sizeof text, &s->of[k], sensitivity_takes_away(s)));
  (void)buffer_printf(out, "  %zu\n", s->n_blocks);
}

/* What has an interval comes first, then what has an estimate alone; last what says nothing. */
static int standing_of(const struct sensitivities *all, size_t i) {
  const struct slope *e = &all->items[i].of[sensitivities_response(all)];
  return sensitivity_is_impossible(&all->items[i]) ? 0 : e->bounded ? 3 : isfinite(e->estimate) ? 2 : 1;
}

/* For certain, by the lower end: by the estimate a few odd blocks would stand above it. */
static bool costs_more(const struct sensitivities *all, size_t i, size_t than) {
  const struct slope *a = &all->items[i].of[sensitivities_response(all)], *b = &all->items[than].of[sensitivities_response(all)];
  int standing = standing_of(all, i), other = standing_of(all, than);
  if (standing != other) return standing > other;
  return a->bounded && b->bounded ? a->low > b->low : a->estimate > b->estimate;
}

static void rank(const struct sensitivities *all, size_t *ret) { /* ret[all->n] */
  for (size_t i = 0; i < all->n; i++) {
    size_t k = i;
    for (; k > 0 && costs_more(all, i, ret[k - 1]); k--) ret[k] = ret[k - 1];
    ret[k] = i;
  }
}

static void put_table(const struct sensitivities *all, bool away, struct buffer *out) {
  size_t order[SENSITIVITIES_MAX];
  bool any = false;
  rank(all, order);
  for (size_t i = 0; i < all->n; i++) {
    const struct sensitivity *s = &all->items[order[i]];
    if (sensitivity_takes_away(s) != away) continue;
    if (!any) {
      (void)buffer_printf(out, "  %-*s", NAME_WIDTH, away ? "taken away, times what it was" : "slowed, % for each %");
      for (int k = 0; k < RESPONSE_COUNT; k++) (void)buffer_printf(out, "  %-20s", response_text((enum response)k));
      (void)buffer_text(out, "  blocks\n");
    }
    any = true;
    put_row(s, out);
  }
  if (any) (void)buffer_text(out, "\n");
}

static void put_levels(const struct sensitivities *all, struct buffer *out) {
  char text[64];
  for (size_t i = 0; i < all->n; i++) {
    const struct sensitivity *s = &all->items[i];
    if (s->n_levels < 2) continue;
    put_name(s, out);
    for (size_t l = 0; l < s->n_levels; l++)
      (void)buffer_printf(out, "%s %s x %.3g: throughput %s", l > 0 ? ";" : " ", sensitivity_is_of_load(s) ? "fewer" : "slower",
                          s->levels[l].given, sensitivity_slope_text(text, sizeof text, &s->levels[l].effect, true));
    if (s->stalls) (void)buffer_text(out, "; nothing was answered while it was slowed");
    else if (sensitivity_is_impossible(s))
      (void)buffer_text(out, "; far more than all of the time: likely a loop that waits for who waits for it");
    else if (s->curvature.bounded && s->curvature.low > 0) (void)buffer_text(out, "; it costs more the slower it is");
    else if (s->curvature.bounded && s->curvature.high < 0) (void)buffer_text(out, "; it costs less the slower it is");
    (void)buffer_text(out, "\n");
  }
}

static void put_owners(const struct sensitivities *all, const struct contract *contract, struct buffer *out) {
  const char *lead = "whose:";
  for (size_t i = 0; i < all->n; i++) {
    enum layer layer;
    if (!sensitivity_layer(&all->items[i], &layer)) continue;
    (void)buffer_printf(out, "  %-6s %s: %s, %s\n", lead, all->items[i].target, layer_text(layer), contract_owner(contract, layer));
    lead = "";
  }
}

static void put_sum(const struct sensitivities *all, struct buffer *out) {
  char text[64];
  if (all->sum.n_groups == 0) return;
  (void)buffer_printf(out, "  sum of the processes: %s. ", sensitivity_slope_text(text, sizeof text, &all->sum, false));
  if (!all->sum.bounded) (void)buffer_text(out, "Too few cycles for more\n");
  else if (all->sum.high < 1) (void)buffer_text(out, "Below 1: timers, or resources that were not slowed, hold the rest\n");
  else if (all->sum.low > 1) (void)buffer_text(out, "Above 1: they wait for one another, or for the same processors\n");
  else (void)buffer_text(out, "1 is where nothing else matters and none waits for another\n");
}

void sensitivity_blocks_text(const struct sensitivities *all, struct buffer *out) {
  if (all->n_blocks == 0) return;
  (void)buffer_printf(out, "  %zu blocks of %.2g s in %zu cycles; undisturbed: %.4g %s", all->n_blocks, all->block_s, all->n_cycles,
                      all->throughput, all->tokens ? "tokens/s" : "answers/s");
  if (isfinite(all->spread)) (void)buffer_printf(out, ", which differs by %.1f %% from block to block", 100 * all->spread);
  (void)buffer_text(out, "\n");
  if (all->n_empty > 0) (void)buffer_printf(out, "  in %zu of them nothing was answered\n", all->n_empty);
}

bool sensitivity_text(const struct sensitivities *all, const struct contract *contract, const char *const *unprobed, size_t n, bool color,
                      struct buffer *out) {
  out->shown = true;
  put_verdict(all, color, out);
  put_table(all, false, out);
  put_table(all, true, out);
  put_levels(all, out);
  put_owners(all, contract, out);
  put_sum(all, out);
  sensitivity_blocks_text(all, out);
  for (size_t i = 0; i < n; i++) (void)buffer_printf(out, "  %s %s\n", i == 0 ? "unprobed:" : "         ", unprobed[i]);
  return !out->overflowed;
}

static void json_slope(struct json_writer *json, const char *key, const struct slope *s) {
  json_key(json, key);
  json_open_object(json);
  json_put_double(json, "estimate", s->estimate);
  json_put_double(json, "low", s->bounded ? s->low : NAN);
  json_put_double(json, "high", s->bounded ? s->high : NAN);
  json_put_int(json, "cycles", (int64_t)s->n_groups);
  json_close(json);
}

static void json_one(struct json_writer *json, const struct contract *contract, const struct sensitivity *s) {
  static const char *const names[] = {"throughput", "ttft_p50", "itl_mean", "e2e_p50"};
  json_open_object(json);
  json_put_text(json, "target", s->target);
  json_put_text(json, "perturber", s->perturber != NULL ? s->perturber->name : NULL);
  enum layer layer;
  bool known = sensitivity_layer(s, &layer);
  json_put_text(json, "layer", known ? layer_text(layer) : NULL);
  json_put_text(json, "owner", known ? contract_owner(contract, layer) : NULL);
  json_put_text(json, "form", sensitivity_takes_away(s) ? "ln of the ratio to the undisturbed" : "elasticity");
  json_put_bool(json, "more_than_all_of_the_time", sensitivity_is_impossible(s));
  json_put_int(json, "blocks", (int64_t)s->n_blocks);
  for (int k = 0; k < RESPONSE_COUNT; k++) json_slope(json, names[k], &s->of[k]);
  if (s->curvature.bounded) json_slope(json, "curvature", &s->curvature);
  json_key(json, "levels");
  json_open_array(json);
  for (size_t l = 0; l < s->n_levels; l++) {
    json_open_object(json);
    json_put_double(json, "asked", s->levels[l].asked);
    json_put_double(json, "given", s->levels[l].given);
    json_slope(json, "ln_throughput", &s->levels[l].effect);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

void sensitivity_json(const struct sensitivities *all, const struct contract *contract, const char *const *unprobed, size_t n,
                      struct json_writer *json) {
  json_put_int(json, "blocks", (int64_t)all->n_blocks);
  json_put_int(json, "cycles", (int64_t)all->n_cycles);
  json_put_double(json, "block_s", all->block_s);
  json_put_double(json, "undisturbed_per_s", all->throughput);
  json_put_double(json, "spread", all->spread);
  json_put_bool(json, "open_load", all->open_load);
  json_put_double(json, "answers_per_block", all->answers);
  json_put_bool(json, "too_few_answers", all->too_few);
  json_key(json, "sensitivities");
  json_open_array(json);
  for (size_t i = 0; i < all->n; i++) json_one(json, contract, &all->items[i]);
  json_close(json);
  if (all->sum.n_groups > 0) json_slope(json, "sum_of_processes", &all->sum);
  json_put_texts(json, "unprobed", unprobed, n);
}
