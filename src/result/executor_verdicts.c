#include "result/executor_verdicts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text_set.h"
#include "executor/capture.h"
#include "executor/difference.h"

/* What is said of several precisions is said once. */
struct said {
  struct text_set texts;
  const char ***list;
  size_t *n;
};

struct judging {
  struct result *result;
  struct said departures, not_compared, changed, holes;
};

static void add_once(struct judging *j, struct said *said, const char *text) {
  size_t before = said->texts.n;
  const char *kept = text_set_keep(&said->texts, &j->result->arena, text);
  if (said->texts.n > before) result_add_text(&j->result->arena, said->list, said->n, kept);
}

/* Facts by their names without a role, in the list's order where names are the same: a stranger's list has any length. */
struct named_fact {
  const char *name;
  const struct fact *fact;
};

struct by_name {
  struct named_fact *items;
  size_t n;
};

static int name_order(const void *a, const void *b) {
  const struct named_fact *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order != 0 ? order : (x->fact > y->fact) - (x->fact < y->fact);
}

static struct by_name facts_by_name(const struct fact_list *facts) {
  struct by_name ret = {xalloc(facts->n_items + 1, sizeof *ret.items), facts->n_items};
  for (size_t i = 0; i < facts->n_items; i++) ret.items[i] = (struct named_fact){fact_without_role(facts->items[i].key), &facts->items[i]};
  qsort(ret.items, ret.n, sizeof *ret.items, name_order);
  return ret;
}

/* Joined captures have a fact of each host: the one of the layer that is asked for, else the first. */
static const struct fact *find_of_any_host(const struct fact_list *facts, const struct by_name *names, const char *name, enum layer layer) {
  const struct fact *found = fact_find(facts, name);
  size_t low = 0, high = names->n;
  while (found == NULL && low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(names->items[middle].name, name) < 0) low = middle + 1;
    else high = middle;
  }
  for (size_t i = low; i < names->n && found == NULL && strcmp(names->items[i].name, name) == 0; i++)
    if (names->items[i].fact->layer == layer) found = names->items[i].fact;
  return found;
}

static void judge_expectations(struct judging *j, const struct fact_list *facts, const struct by_name *names) {
  struct result *result = j->result;
  struct arena *arena = &result->arena;
  const struct text_map *expect = &result->contract.executor.expect;
  for (size_t i = 0; i < expect->n_items; i++) {
    enum layer layer;
    const char *name;
    if (!contract_split_key(expect->keys[i], &layer, &name)) continue; /* the contract was refused for it */
    const struct fact *fact = find_of_any_host(facts, names, name, layer);
    if (fact != NULL && fact->status == FACT_READ && strcmp(fact->value, expect->values[i]) == 0) continue;
    const char *owner = fact != NULL ? contract_owner(&result->contract, fact->layer) : "unknown layer";
    const char *found = fact == NULL ? "no such fact"
                                     : arena_printf(arena, "'%s'%s", fact->value, fact->status == FACT_READ ? "" : " (not read)");
    add_once(j, &j->departures, arena_printf(arena, "%s (%s): expected '%s', found %s", expect->keys[i], owner, expect->values[i], found));
  }
}

/* What was declared and can be read is held against what was found: ordered is not delivered. */
static void judge_declarations(struct judging *j, const struct fact_list *facts, const struct by_name *names) {
  struct result *result = j->result;
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *declared = &facts->items[i];
    if (strncmp(declared->key, "declared.", 9) != 0 || declared->status != FACT_DECLARED) continue;
    const struct fact *found = find_of_any_host(facts, names, declared->key + 9, declared->layer);
    if (found == NULL || found->status != FACT_READ) {
      add_once(j, &j->not_compared, arena_printf(&result->arena, "%s.%s", layer_text(declared->layer), declared->key + 9));
      continue;
    }
    const char *value = found->unit[0] != 0 ? arena_printf(&result->arena, "%s %s", found->value, found->unit) : found->value;
    if (strcmp(found->value, declared->value) == 0 || strcmp(value, declared->value) == 0) continue;
    add_once(j, &j->departures,
             arena_printf(&result->arena, "%s (%s): declared '%s', found '%s'", found->key,
                          contract_owner(&result->contract, declared->layer), declared->value, value));
  }
}

static bool is_fact(const struct fact *fact, const char *name) {
  return strcmp(fact_without_role(fact->key), name) == 0 && fact_is_known(fact);
}

/* A comma-separated list of devices; "" and "-1" stand for none. */
static double count_visible(const char *list) {
  if (list[0] == 0 || strcmp(list, "-1") == 0) return 0;
  if (strstr(list, " by UUID") != NULL) return (double)strtol(list, NULL, 10);
  double n = 1;
  for (const char *p = list; *p != 0; p++) n += *p == ',';
  return n;
}

/* GPUs of all hosts, else what else computes on the bus, else processors. */
static void count_accelerators(struct result *result, const struct fact_list *facts) {
  static const char *const counts[] = {"gpu.count", "amd-gpu.count", "accelerator.count", "topology.packages"};
  static const char *const names[] = {"gpu.0.name", "amd-gpu.0.name", "accelerator.0.device", "cpu.model"};
  result->accelerator = "";
  for (size_t k = 0; k < LYNX_COUNT(counts) && result->n_accelerators == 0; k++) {
    for (size_t i = 0; i < facts->n_items; i++) {
      if (is_fact(&facts->items[i], counts[k])) result->n_accelerators += (double)strtol(facts->items[i].value, NULL, 10);
      if (is_fact(&facts->items[i], names[k])) result->accelerator = arena_copy(&result->arena, facts->items[i].value);
    }
    const struct fact *visible = fact_find(facts, "environment.CUDA_VISIBLE_DEVICES");
    if (k == 0 && result->n_accelerators > 0 && visible != NULL && count_visible(visible->value) < result->n_accelerators)
      result->n_accelerators = count_visible(visible->value);
    if (!(result->n_accelerators > 0)) result->accelerator = "";
    result->on_processor = result->n_accelerators > 0 && k + 1 == LYNX_COUNT(counts);
  }
}

/* Facts that are no part of what an executor is, and are the same at the end of a run all the same: of a server that lynxbench did not
 * start. What a change of one means. */
static const struct {
  const char *name, *meaning;
} lasting[] = {{"process.id", ": the server was restarted"}, {"process.started", ": the server was restarted"}};

/* What a change of that fact means; NULL: nothing for the run. */
static const char *meaning_of(const struct judging *j, const struct difference *d, bool started) {
  if (d->of == FACT_IDENTITY) return result_may_change(&j->result->contract, d->layer, d->key) ? NULL : "";
  for (size_t i = 0; i < LYNX_COUNT(lasting) && !started; i++)
    if (strcmp(fact_without_role(d->key), lasting[i].name) == 0) return lasting[i].meaning;
  return NULL;
}

static void judge_changes(struct judging *j, struct result_precision *precision, const struct fact_list *start,
                          const struct fact_list *end) {
  struct result *result = j->result;
  bool started = precision->n_sessions > 0 && precision->sessions[0].executor == EXECUTOR_STARTED;
  precision->watched = !started;
  for (size_t i = 0; i < LYNX_COUNT(lasting) && precision->watched; i++) {
    const struct fact *before = fact_find(start, lasting[i].name), *after = fact_find(end, lasting[i].name);
    precision->watched = before != NULL && after != NULL && fact_is_known(before) && fact_is_known(after);
  }
  struct difference_list differences;
  capture_diff(start, end, &differences);
  for (size_t i = 0; i < differences.n_items; i++) {
    const struct difference *d = &differences.items[i];
    const char *meaning = meaning_of(j, d, started);
    if (meaning == NULL) continue;
    add_once(j, &j->changed,
             arena_printf(&result->arena, "%s (%s, %s): '%s' at the start, '%s' at the end%s", d->key, layer_text(d->layer),
                          contract_owner(&result->contract, d->layer), d->a != NULL ? d->a : "absent", d->b != NULL ? d->b : "absent",
                          meaning));
  }
  difference_list_release(&differences);
}

static void judge_precision(struct judging *j, struct result_precision *precision, const struct fact_list *start,
                            const struct fact_list *end) {
  struct result *result = j->result;
  if (start->n_items > 0) {
    struct by_name names = facts_by_name(start);
    capture_fingerprint(start, precision->fingerprint);
    judge_expectations(j, start, &names);
    judge_declarations(j, start, &names);
    if (result->n_accelerators == 0) count_accelerators(result, start);
    if (end->n_items > 0) judge_changes(j, precision, start, end);
    free(names.items);
  }
  for (size_t i = 0; i < start->n_items; i++)
    if (strncmp(fact_without_role(start->items[i].key), "hole.", 5) == 0) add_once(j, &j->holes, start->items[i].value);
}

/* Each precision was captured by itself: its process has other arguments. */
enum lynx_status executor_verdicts_judge(struct bundle *bundle, struct result *result, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  struct judging j = {.result = result,
                      .departures = {.list = &result->departures, .n = &result->n_departures},
                      .not_compared = {.list = &result->not_compared, .n = &result->n_not_compared},
                      .changed = {.list = &result->changed, .n = &result->n_changed},
                      .holes = {.list = &result->holes, .n = &result->n_holes}};
  result->accelerator = "";
  for (size_t p = 0; p < result->n_precisions && status == LYNX_OK; p++) {
    struct fact_list start = {0}, end = {0};
    status = bundle_start_facts(bundle, result->precisions[p].name, &start, error);
    if (status == LYNX_OK) status = bundle_facts(bundle, arena_printf(&result->arena, "end:%s", result->precisions[p].name), &end, error);
    judge_precision(&j, &result->precisions[p], &start, &end);
    fact_list_release(&start);
    fact_list_release(&end);
  }
  struct said *all[] = {&j.departures, &j.not_compared, &j.changed, &j.holes};
  for (size_t i = 0; i < LYNX_COUNT(all); i++) text_set_release(&all[i]->texts);
  return status;
}
