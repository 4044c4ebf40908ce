/* The plan of an experiment: its factors become facts of a start command, and what is wrong in it is named with its line. */
#include "experiment/experiment_plan.h"

#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

struct trial {
  struct arena arena;
  struct experiment_plan plan;
  struct swap_list facts;
  struct lynx_error error;
};

static struct text_list list_of(const char *const *words, size_t n) {
  return (struct text_list){(const char **)words, n};
}

static enum lynx_status read_plan(struct trial *t, const char *text) {
  static const char *const words[] = {"/opt/v1/python", "server.py", "--batch", "8", "--eager", "--port=1"};
  static const char *const variables[] = {"OMP_NUM_THREADS=1", "A_KEY=x"};
  const struct contract_start start = {.command = list_of(words, 6), .environment = list_of(variables, 2)};
  *t = (struct trial){.error = {0}};
  enum lynx_status status = experiment_plan_parse(text, strlen(text), &t->arena, &t->plan, &t->error);
  return status == LYNX_OK ? experiment_plan_facts(&t->plan, &start, &t->arena, &t->facts, &t->error) : status;
}

static const char *joined(struct trial *t, const struct text_list *list) {
  const char *text = "";
  for (size_t i = 0; i < list->n_items; i++) text = arena_printf(&t->arena, "%s%s%s", text, i > 0 ? " " : "", list->items[i]);
  return text;
}

static void check_mix(struct trial *t, uint64_t facts, const char *command, const char *environment) {
  struct text_list words, variables;
  swap_mix(&t->facts, facts, &t->arena, &words, &variables);
  CHECK_TEXT(joined(t, &words), command);
  CHECK_TEXT(joined(t, &variables), environment);
}

static size_t fact_named(const struct trial *t, const char *name) {
  size_t i = 0;
  while (i < t->facts.n && strcmp(t->facts.items[i].name, name) != 0) i++;
  return i;
}

#define HEAD "lynxbench_experiment: 1\ncontract: a.yaml\nfactors:\n"

static void check_factors(void) {
  struct trial t;
  CHECK_INT(read_plan(&t, HEAD "  - {variable: OMP_NUM_THREADS, b: 2}\n"
                               "  - {argument: --batch, b: \"16\"}\n"
                               "  - {argument: --eager, a: set, b: unset}\n"
                               "  - {argument: --port, a: 1, b: 2}\n"
                               "  - {word: /opt/v1/python, b: /opt/v2/python, hard: true}\n"
                               "  - {in_front: affinity, b: taskset -c 0}\n"
                               "  - {package: numpy, a: 1.26.4, b: 2.1.0, layer: framework}\n"
                               "  - {by_hand: driver, a: 570 is loaded, b: 580 is loaded, how: \"modprobe\", layer: system}\n"),
            LYNX_OK);
  CHECK_INT(t.facts.n, 8);
  CHECK_INT(fact_named(&t, "numpy"), 6);
  CHECK_INT(fact_named(&t, "driver"), 7);
  CHECK_TEXT(t.facts.items[6].a, "1.26.4");
  CHECK_TEXT(t.facts.items[7].b, "580 is loaded");
  CHECK(t.facts.items[7].has_layer && t.facts.items[7].layer == LAYER_SYSTEM);
  CHECK_INT(experiment_plan_of_kind(&t.plan, FACTOR_PACKAGE), 1 << 6);
  CHECK_INT(experiment_plan_of_kind(&t.plan, FACTOR_BY_HAND), 1 << 7);
  CHECK_INT(experiment_plan_hard(&t.plan), 1 << 7 | 1 << fact_named(&t, "program"));
  CHECK_INT(fact_named(&t, "affinity"), 5);
  CHECK_TEXT(t.facts.items[5].a, "not set");
  CHECK_TEXT(t.facts.items[5].b, "taskset -c 0");
  check_mix(&t, 0, "/opt/v1/python server.py --batch 8 --eager --port 1", "OMP_NUM_THREADS=1 A_KEY=x");
  check_mix(&t, 0xff, "/opt/v2/python server.py --batch 16 --port 2", "A_KEY=x OMP_NUM_THREADS=2");
  const struct text_list plain = {t.plan.ends[0].command.items, 2};
  struct text_list front = experiment_plan_in_front(&t.plan, 1 << 5, &plain, &t.arena);
  CHECK_TEXT(joined(&t, &front), "taskset -c 0 /opt/v1/python server.py");
  front = experiment_plan_in_front(&t.plan, 1 << 4, &plain, &t.arena);
  CHECK_TEXT(joined(&t, &front), "/opt/v1/python server.py");
  CHECK_TEXT(t.plan.contract, "a.yaml");
  arena_release(&t.arena);
  CHECK_INT(read_plan(&t, HEAD "  - {by_hand: a, a: x, b: y}\n  - {by_hand: b, a: x, b: y, hard: false}\n"), LYNX_OK);
  CHECK_INT(t.facts.n, 2); /* nothing of the start command */
  CHECK_INT(experiment_plan_hard(&t.plan), 1);
  arena_release(&t.arena);
}

/* A variable of ours that servers get is the first level, where the contract says nothing of it. */
static void check_inherited(void) {
  struct trial t;
  CHECK(setenv("KMP_BLOCKTIME", "7", 1) == 0 && setenv("NOT_FOR_SERVERS", "7", 1) == 0);
  CHECK_INT(read_plan(&t, HEAD "  - {variable: KMP_BLOCKTIME, b: 8}\n  - {variable: NOT_FOR_SERVERS, a: unset, b: 8}\n"), LYNX_OK);
  CHECK_TEXT(t.facts.items[fact_named(&t, "KMP_BLOCKTIME")].a, "7");
  CHECK_TEXT(t.facts.items[fact_named(&t, "NOT_FOR_SERVERS")].a, "not set");
  arena_release(&t.arena);
  CHECK_INT(read_plan(&t, HEAD "  - {variable: KMP_BLOCKTIME, b: 7}\n  - {variable: B, b: 8}\n"), LYNX_INPUT);
  CHECK_CONTAINS(t.error.message, "two levels are the same");
  arena_release(&t.arena);
}

static void check_wrong(void) {
  static const struct {
    const char *text, *field, *says;
    int line;
  } cases[] = {
      {"[]", "", "contract", 1},
      {"contract: a\n", "lynxbench_experiment", "found nothing", 0},
      {"lynxbench_experiment: 2\n", "lynxbench_experiment", "found 2; accepted: 1", 1},
      {HEAD "  - {variable: A, b: 1}\n", "factors", "2 to 16", 4},
      {"lynxbench_experiment: 1\nfactor: 1\n", "", "found factor", 2},
      {HEAD "  - {variable: A, b: 1}\n  - {argument: --x}\n", "factors[1].b", "missing", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {argument: x, b: 1}\n", "factors[1].argument", "--max-num-seqs", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, argument: --x, b: 1}\n", "factors[1]", "one of variable", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {package: -r, a: 1, b: 2}\n", "factors[1].package", "pip", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {package: x, a: 1, b: \"2 --index\"}\n", "factors[1].b", "a version", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {package: x, b: 2}\n", "factors[1].a", "missing", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {word: server.py, a: y, b: z}\n", "factors[1].a", "the contract's own", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {argument: --eager, b: unset}\n", "factors[1].a", "required where b is unset", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, b: set}\n", "factors[1].b", "in quotes", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, b: [1, 2]}\n", "factors[1].b", "one text", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: A, b: 2}\n", "factors", "it is there already", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, b: 1, layer: attic}\n", "factors[1].layer", "a layer", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, b: 1, hard: yes}\n", "factors[1].hard", "true or false", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {word: nothing, b: 1}\n", "factors", "no such word", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {argument: --batch, b: 8}\n", "factors", "two levels are the same", 5},
      {HEAD "  - {word: --eager, b: --x}\n  - {argument: --eager, a: set, b: unset}\n", "factors", "more than one fact", 4},
      {HEAD "  - {variable: A, b: 1}\n  - {in_front: x, b: \"\"}\n", "factors", "two levels are the same", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {package: x, a: 1, b: 1}\n", "factors", "two levels are the same", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {by_hand: x, a: y, b: y}\n", "factors", "two levels are the same", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: \"A B\", b: 1}\n", "factors[1].variable", "letters, digits", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {argument: --, b: 1}\n", "factors[1].argument", "an argument's name", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: PATH, a: unset, b: x}\n", "factors", "env -u", 5},
      {HEAD "  - {variable: A, b: 1}\n  - {variable: B, b: 1}\nenvironments: {pyton: x}\n", "environments", "found pyton", 6},
  };
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    struct trial t;
    CHECK_INT(read_plan(&t, cases[i].text), LYNX_INPUT);
    CHECK_TEXT(t.error.field, cases[i].field);
    CHECK_CONTAINS(t.error.message, cases[i].says);
    CHECK_INT(t.error.line, cases[i].line);
    arena_release(&t.arena);
  }
}

int main(void) {
  check_factors();
  check_inherited();
  check_wrong();
  return check_end();
}
