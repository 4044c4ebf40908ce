#include "experiment/experiment_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/yaml.h"
#include "measure/environment.h"

static const char *const kinds[FACTOR_KIND_COUNT] = {"variable", "argument", "word", "in_front", "package", "by_hand"};

#define KINDS_TEXT "variable, argument, word, in_front, package or by_hand"

struct reading {
  struct arena *arena;
  struct lynx_error *error;
};

/* --- reading --- */

static enum lynx_status complain(struct reading *r, const struct yaml_node *node, const char *field, const char *accepted) {
  char found[100] = "nothing";
  if (node != NULL && node->kind != YAML_SCALAR) (void)snprintf(found, sizeof found, "%s", yaml_kind_text(node));
  else if (node != NULL) (void)text_sanitise(found, sizeof found, node->text, node->length);
  enum lynx_status status = lynx_fail(r->error, LYNX_INPUT, "found %s; accepted: %s", found[0] != 0 ? found : "an empty text", accepted);
  lynx_error_at(r->error, NULL, node != NULL ? node->line : 0, field);
  return status;
}

static enum lynx_status fail_factor(const struct factor *f, struct lynx_error *error, const char *why) {
  (void)lynx_fail(error, LYNX_INPUT, "found %s '%.100s': %s", kinds[f->kind], f->name, why);
  lynx_error_at(error, NULL, f->line, "factors");
  return LYNX_INPUT;
}

static bool holds_zero(const struct yaml_node *node) {
  return memchr(node->text, 0, node->length) != NULL;
}

static enum lynx_status read_text(struct reading *r, const struct yaml_node *map, const char *key, const char *field, bool required,
                                  const char **ret) {
  const struct yaml_node *node = yaml_get(map, key);
  if (node == NULL && !required) return LYNX_OK;
  if (node == NULL || node->kind != YAML_SCALAR || node->length == 0 || holds_zero(node)) return complain(r, node, field, "one text");
  *ret = arena_text(r->arena, node->text, node->length);
  return LYNX_OK;
}

/* No key but these. */
static enum lynx_status check_keys(struct reading *r, const struct yaml_node *map, const char *field, const char *const *known, size_t n,
                                   const char *accepted) {
  for (size_t i = 0; i < map->n_items; i++) {
    bool found = false;
    for (size_t k = 0; k < n; k++) found = found || strcmp(map->keys[i]->text, known[k]) == 0;
    if (!found) return complain(r, map->keys[i], field, accepted);
  }
  return LYNX_OK;
}

static bool is_word(const struct yaml_node *node, const char *word) {
  return !node->quoted && strcmp(node->text, word) == 0;
}

static enum lynx_status read_level(struct reading *r, const struct yaml_node *node, const struct factor *factor, const char *field,
                                   struct factor_level *ret) {
  static const char accepted[] = "a text, a list of texts, unset (a variable or an argument that is not given), or set (an argument "
                                 "without a value)";
  bool variable = factor->kind == FACTOR_VARIABLE, argument = factor->kind == FACTOR_ARGUMENT;
  if (node->kind == YAML_MAP) return complain(r, node, field, accepted);
  if (node->kind == YAML_SCALAR && (is_word(node, "unset") || is_word(node, "set"))) {
    ret->state = is_word(node, "set") ? LEVEL_SET : LEVEL_UNSET;
    if (!argument && !(variable && ret->state == LEVEL_UNSET)) return complain(r, node, field, "a text, in quotes where it is this word");
    return LYNX_OK;
  }
  size_t n = node->kind == YAML_LIST ? node->n_items : 1;
  bool many = argument || factor->kind == FACTOR_WORD || factor->kind == FACTOR_IN_FRONT;
  if (n == 0 || (n > 1 && !many)) return complain(r, node, field, many ? accepted : "one text");
  const char **words = arena_alloc(r->arena, n, sizeof *words);
  for (size_t i = 0; i < n; i++) {
    const struct yaml_node *item = node->kind == YAML_LIST ? node->items[i] : node;
    if (item->kind != YAML_SCALAR || holds_zero(item)) return complain(r, item, field, accepted);
    words[i] = arena_text(r->arena, item->text, item->length);
  }
  *ret = (struct factor_level){LEVEL_WORDS, {words, n}};
  return LYNX_OK;
}

/* A name that pip takes for a project, and a version: neither may be an option or an address. */
static bool is_plain(const char *text) {
  return ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= '0' && text[0] <= '9')) &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+!-") == strlen(text) && strlen(text) <= 100;
}

static enum lynx_status check_name(struct reading *r, const struct yaml_node *node, const struct factor *f, const char *field) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (f->kind == FACTOR_VARIABLE && (strspn(f->name, letters) != strlen(f->name) || (f->name[0] >= '0' && f->name[0] <= '9')))
    return complain(r, node, field, "the name of a variable: letters, digits and _");
  bool option = f->name[0] == '-' && strspn(f->name, "-") < strlen(f->name) && strpbrk(f->name, "= \t\n") == NULL;
  if (f->kind == FACTOR_ARGUMENT && !option) return complain(r, node, field, "an argument's name, such as --max-num-seqs");
  if (f->kind == FACTOR_PACKAGE && !is_plain(f->name)) return complain(r, node, field, "the name of a package, as pip knows it");
  return LYNX_OK;
}

/* Of packages, and of what is done by hand, the contract says nothing: both levels are needed. */
static enum lynx_status read_levels(struct reading *r, const struct yaml_node *node, struct factor *f, const char *field) {
  for (int i = 0; i < 2; i++) {
    const struct yaml_node *level = yaml_get(node, i == 0 ? "a" : "b");
    const char *of = arena_printf(r->arena, "%s.%s", field, i == 0 ? "a" : "b");
    bool said = i == 1 || f->kind == FACTOR_PACKAGE || f->kind == FACTOR_BY_HAND;
    if (i == 0 && level != NULL && (f->kind == FACTOR_WORD || f->kind == FACTOR_IN_FRONT))
      return complain(r, level, of, "nothing: the first level is the contract's own");
    if (level == NULL && said) {
      (void)lynx_fail(r->error, LYNX_INPUT, "missing; required: this factor's %s level", i == 0 ? "first" : "second");
      lynx_error_at(r->error, NULL, node->line, of);
      return LYNX_INPUT;
    }
    enum lynx_status status = level == NULL ? LYNX_OK : read_level(r, level, f, of, &f->level[i]);
    if (status != LYNX_OK) return status;
    if (level != NULL && f->kind == FACTOR_PACKAGE && !is_plain(f->level[i].words.items[0]))
      return complain(r, level, of, "a version, such as \"2.13.0\"");
  }
  if (f->kind == FACTOR_ARGUMENT && f->level[1].state == LEVEL_UNSET && f->level[0].state == LEVEL_AS_IT_IS) {
    (void)lynx_fail(r->error, LYNX_INPUT, "missing; required where b is unset: its value as the contract has it, or set");
    lynx_error_at(r->error, NULL, node->line, arena_printf(r->arena, "%s.a", field));
    return LYNX_INPUT;
  }
  return LYNX_OK;
}

static enum lynx_status read_hard(struct reading *r, const struct yaml_node *node, const char *field, struct factor *f) {
  f->hard = f->kind == FACTOR_BY_HAND;
  if (node == NULL) return LYNX_OK;
  if (node->kind != YAML_SCALAR || (!is_word(node, "true") && !is_word(node, "false"))) return complain(r, node, field, "true or false");
  f->hard = is_word(node, "true");
  return LYNX_OK;
}

static enum lynx_status read_layer(struct reading *r, const struct yaml_node *node, const char *field, struct factor *f) {
  if (node == NULL) return LYNX_OK;
  f->has_layer = node->kind == YAML_SCALAR && layer_parse(node->text, &f->layer);
  return f->has_layer ? LYNX_OK : complain(r, node, field, "a layer, such as framework or system");
}

static enum lynx_status read_factor(struct reading *r, const struct yaml_node *node, size_t number, struct factor *ret) {
  static const char *const known[] = {"variable", "argument", "word", "in_front", "package", "by_hand", "a", "b", "hard", "layer", "how"};
  const char *field = arena_printf(r->arena, "factors[%zu]", number);
  size_t n_kinds = 0;
  if (node->kind != YAML_MAP) return complain(r, node, field, "a factor: one of " KINDS_TEXT ", with b");
  enum lynx_status status = check_keys(r, node, field, known, LYNX_COUNT(known), KINDS_TEXT "; a, b, hard, layer, how");
  for (size_t i = 0; i < FACTOR_KIND_COUNT && status == LYNX_OK; i++)
    if (yaml_get(node, kinds[i]) != NULL) {
      ret->kind = (enum factor_kind)i;
      n_kinds++;
    }
  if (status != LYNX_OK) return status;
  *ret = (struct factor){.kind = ret->kind, .line = node->line};
  if (n_kinds != 1) return complain(r, node, field, "one of " KINDS_TEXT);
  const char *kind = kinds[ret->kind];
  status = read_text(r, node, kind, arena_printf(r->arena, "%s.%s", field, kind), true, &ret->name);
  if (status == LYNX_OK) status = check_name(r, yaml_get(node, kind), ret, arena_printf(r->arena, "%s.%s", field, kind));
  if (status == LYNX_OK) status = read_levels(r, node, ret, field);
  if (status == LYNX_OK) status = read_text(r, node, "how", arena_printf(r->arena, "%s.how", field), false, &ret->how);
  if (status == LYNX_OK) status = read_hard(r, yaml_get(node, "hard"), arena_printf(r->arena, "%s.hard", field), ret);
  return status == LYNX_OK ? read_layer(r, yaml_get(node, "layer"), arena_printf(r->arena, "%s.layer", field), ret) : status;
}

static enum lynx_status read_factors(struct reading *r, const struct yaml_node *list, struct experiment_plan *ret) {
  if (list == NULL || list->kind != YAML_LIST || list->n_items < 2 || list->n_items > FACTORIAL_FACTS_MAX)
    return complain(r, list, "factors", "a list of 2 to 16 factors");
  size_t n_packages = 0;
  for (size_t i = 0; i < list->n_items; i++) {
    enum lynx_status status = read_factor(r, list->items[i], i, &ret->factors[i]);
    if (status != LYNX_OK) return status;
    n_packages += ret->factors[i].kind == FACTOR_PACKAGE;
    for (size_t k = 0; k < i; k++)
      if (ret->factors[k].kind == ret->factors[i].kind && strcmp(ret->factors[k].name, ret->factors[i].name) == 0)
        return fail_factor(&ret->factors[i], r->error, "it is there already; accepted: each factor once");
  }
  ret->n = list->n_items;
  return n_packages <= PACKAGES_MAX ? LYNX_OK
                                    : complain(r, list, "factors", "at most 3 packages: every combination of them has an environment");
}

static enum lynx_status read_environments(struct reading *r, const struct yaml_node *map, struct experiment_plan *ret) {
  static const char *const known[] = {"python", "folder", "requirements"};
  if (map == NULL) return LYNX_OK;
  if (map->kind != YAML_MAP) return complain(r, map, "environments", "python, folder, requirements");
  enum lynx_status status = check_keys(r, map, "environments", known, LYNX_COUNT(known), "python, folder, requirements");
  if (status == LYNX_OK) status = read_text(r, map, "python", "environments.python", false, &ret->python);
  if (status == LYNX_OK) status = read_text(r, map, "folder", "environments.folder", false, &ret->folder);
  return status == LYNX_OK ? read_text(r, map, "requirements", "environments.requirements", false, &ret->requirements) : status;
}

enum lynx_status experiment_plan_parse(const char *text, size_t length, struct arena *arena, struct experiment_plan *ret,
                                       struct lynx_error *error) {
  static const char *const known[] = {"lynxbench_experiment", "contract", "factors", "environments"};
  struct reading r = {arena, error};
  struct yaml_node *root;
  *ret = (struct experiment_plan){.n = 0};
  enum lynx_status status = yaml_parse(text, length, arena, &root, error);
  if (status != LYNX_OK) return status;
  if (root->kind != YAML_MAP) return complain(&r, root, "", "lynxbench_experiment: 1, contract, factors");
  status = check_keys(&r, root, "", known, LYNX_COUNT(known), "lynxbench_experiment, contract, factors, environments");
  const struct yaml_node *version = yaml_get(root, "lynxbench_experiment");
  if (status == LYNX_OK && (version == NULL || version->kind != YAML_SCALAR || strcmp(version->text, "1") != 0))
    status = complain(&r, version, "lynxbench_experiment", "1");
  if (status == LYNX_OK) status = read_text(&r, root, "contract", "contract", true, &ret->contract);
  if (status == LYNX_OK) status = read_factors(&r, yaml_get(root, "factors"), ret);
  return status == LYNX_OK ? read_environments(&r, yaml_get(root, "environments"), ret) : status;
}

/* --- a start command with one factor at a level --- */

/* Does it change what the contract's command says? What is put in front of it is apart. */
static bool is_of_start(const struct factor *f) {
  return f->kind == FACTOR_VARIABLE || f->kind == FACTOR_ARGUMENT || f->kind == FACTOR_WORD;
}

struct words {
  struct arena *arena;
  const char **items;
  size_t n;
};

static struct words words_new(struct arena *arena, size_t most) {
  return (struct words){arena, arena_alloc(arena, most + 1, sizeof(char *)), 0};
}

static void add_all(struct words *words, const struct text_list *list) {
  for (size_t i = 0; i < list->n_items; i++) words->items[words->n++] = list->items[i];
}

static void set_variable(struct contract_start *start, const struct factor *f, const struct factor_level *level, struct arena *arena) {
  struct words words = words_new(arena, start->environment.n_items + 1);
  size_t length = strlen(f->name);
  for (size_t i = 0; i < start->environment.n_items; i++) {
    const char *item = start->environment.items[i], *name = item + (item[0] == '-');
    if (strncmp(name, f->name, length) != 0 || (name[length] != '=' && name[length] != 0)) words.items[words.n++] = item;
  }
  if (level->state == LEVEL_WORDS) words.items[words.n++] = arena_printf(arena, "%s=%s", f->name, level->words.items[0]);
  start->environment = (struct text_list){words.items, words.n};
}

static void add_argument(struct words *words, const struct factor *f, const struct factor_level *level) {
  if (level->state == LEVEL_UNSET) return;
  words->items[words->n++] = f->name;
  if (level->state == LEVEL_WORDS) add_all(words, &level->words);
}

/* As many values behind it are its own as the longer of its levels has. */
static size_t own_values(const struct text_list *command, size_t at, const struct factor *f) {
  size_t most = 0, n = 0;
  for (int i = 0; i < 2; i++) most = f->level[i].words.n_items > most ? f->level[i].words.n_items : most;
  while (n < most && at + n < command->n_items && !swap_is_option(command->items[at + n])) n++;
  return n;
}

static void set_argument(struct contract_start *start, const struct factor *f, const struct factor_level *level, struct arena *arena) {
  const struct text_list *command = &start->command;
  struct words words = words_new(arena, command->n_items + level->words.n_items + 1);
  size_t length = strlen(f->name);
  bool found = false, ended = false;
  for (size_t i = 0; i < command->n_items; i++) {
    const char *word = command->items[i];
    bool whole = !ended && strcmp(word, f->name) == 0, joined = !ended && strncmp(word, f->name, length) == 0 && word[length] == '=';
    if (!ended && strcmp(word, "--") == 0) {
      ended = true;
      if (!found) add_argument(&words, f, level);
      found = true;
    }
    if (!whole && !joined) words.items[words.n++] = word;
    else {
      if (!found) add_argument(&words, f, level);
      found = true;
    }
    if (whole) i += own_values(command, i + 1, f);
  }
  if (!found) add_argument(&words, f, level);
  start->command = (struct text_list){words.items, words.n};
}

static bool set_word(struct contract_start *start, const struct factor *f, const struct factor_level *level, struct arena *arena) {
  const struct text_list *command = &start->command;
  struct words words = words_new(arena, command->n_items * (level->words.n_items + 1));
  bool found = false;
  for (size_t i = 0; i < command->n_items; i++)
    if (strcmp(command->items[i], f->name) == 0 && !found) {
      add_all(&words, &level->words);
      found = true;
    } else words.items[words.n++] = command->items[i];
  start->command = (struct text_list){words.items, words.n};
  return found;
}

/* False: the command has no such word. */
static bool set_level(struct contract_start *start, const struct factor *f, int level, struct arena *arena) {
  const struct factor_level *l = &f->level[level];
  if (l->state == LEVEL_AS_IT_IS || !is_of_start(f)) return true;
  if (f->kind == FACTOR_WORD) return set_word(start, f, l, arena);
  if (f->kind == FACTOR_VARIABLE) set_variable(start, f, l, arena);
  else set_argument(start, f, l, arena);
  return true;
}

/* --- facts --- */

/* The name of the one fact that this factor alone makes. */
static enum lynx_status fact_of(const struct experiment_plan *plan, const struct factor *f, struct arena *arena, const char **ret,
                                struct lynx_error *error) {
  struct contract_start with = plan->ends[0];
  struct swap_list alone;
  if (f->kind == FACTOR_VARIABLE && (f->level[0].state == LEVEL_UNSET || f->level[1].state == LEVEL_UNSET) &&
      environment_inherited(f->name) != NULL)
    return fail_factor(f, error, "lynxbench itself has it in its environment, which servers get too; accepted: start it without (env -u)");
  if (!set_level(&with, f, 1, arena)) return fail_factor(f, error, "the contract's start command has no such word");
  enum lynx_status status = swap_list_make(&plan->ends[0], &with, arena, &alone, error);
  if (status != LYNX_OK) return status;
  if (alone.n == 0) return fail_factor(f, error, "its two levels are the same");
  if (alone.n > 1) return fail_factor(f, error, "it changes more than one fact of the start command; accepted: one factor for each");
  *ret = alone.items[0].name;
  return LYNX_OK;
}

static const char *joined(const struct text_list *words, struct arena *arena) {
  char text[101] = "", clean[101];
  for (size_t i = 0; i < words->n_items; i++)
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", words->items[i]);
  return arena_copy(arena, text_sanitise(clean, sizeof clean, text, strlen(text)));
}

const char *factor_level_text(const struct factor *f, int level, struct arena *arena) {
  return f->level[level].state == LEVEL_WORDS ? joined(&f->level[level].words, arena) : "not set";
}

static void add_fact(struct experiment_plan *plan, const struct factor *f, struct arena *arena, struct swap_list *ret) {
  char clean[200];
  struct swap *swap = &ret->items[ret->n];
  plan->of_fact[ret->n++] = f;
  (void)text_sanitise(clean, sizeof clean, f->name, strlen(f->name));
  *swap = (struct swap){.name = arena_copy(arena, clean), .a = factor_level_text(f, 0, arena), .b = factor_level_text(f, 1, arena)};
}

static enum lynx_status name_facts(struct experiment_plan *plan, struct arena *arena, struct swap_list *list, struct lynx_error *error) {
  for (size_t i = 0; i < plan->n; i++) {
    const struct factor *f = &plan->factors[i];
    const char *name = "";
    size_t k = 0;
    if (!is_of_start(f)) continue;
    enum lynx_status status = fact_of(plan, f, arena, &name, error);
    if (status != LYNX_OK) return status;
    while (k < list->n && strcmp(list->items[k].name, name) != 0) k++;
    if (k == list->n || plan->of_fact[k] != NULL)
      return fail_factor(f, error, "together with another factor it is one fact; accepted: one");
    plan->of_fact[k] = f;
  }
  return LYNX_OK;
}

/* Of what no start command says. */
static bool is_the_same(const struct factor *f) {
  const struct text_list *a = &f->level[0].words, *b = &f->level[1].words;
  if (f->kind == FACTOR_IN_FRONT) return b->n_items == 1 && b->items[0][strspn(b->items[0], " ")] == 0;
  return strcmp(a->items[0], b->items[0]) == 0;
}

/* A variable that the contract leaves to ours is as ours is. */
static void take_inherited(struct factor *f, const struct contract_start *start, struct arena *arena) {
  size_t n = strlen(f->name);
  const char *ours = f->kind == FACTOR_VARIABLE && f->level[0].state == LEVEL_AS_IT_IS ? environment_inherited(f->name) : NULL;
  for (size_t i = 0; i < start->environment.n_items && ours != NULL; i++) {
    const char *name = start->environment.items[i] + (start->environment.items[i][0] == '-');
    if (strncmp(name, f->name, n) == 0 && (name[n] == '=' || name[n] == 0)) ours = NULL;
  }
  if (ours == NULL) return;
  const char **words = arena_alloc(arena, 1, sizeof *words);
  words[0] = arena_copy(arena, ours);
  f->level[0] = (struct factor_level){LEVEL_WORDS, {words, 1}};
}

enum lynx_status experiment_plan_facts(struct experiment_plan *plan, const struct contract_start *start, struct arena *arena,
                                       struct swap_list *ret, struct lynx_error *error) {
  plan->ends[0] = plan->ends[1] = *start;
  for (size_t i = 0; i < plan->n; i++) take_inherited(&plan->factors[i], start, arena);
  for (size_t i = 0; i < plan->n; i++)
    if (!set_level(&plan->ends[0], &plan->factors[i], 0, arena))
      return fail_factor(&plan->factors[i], error, "the contract's start command has no such word");
  plan->ends[1] = plan->ends[0];
  for (size_t i = 0; i < plan->n; i++) (void)set_level(&plan->ends[1], &plan->factors[i], 1, arena);
  enum lynx_status status = swap_list_make(&plan->ends[0], &plan->ends[1], arena, ret, error);
  if (status == LYNX_OK) status = name_facts(plan, arena, ret, error);
  if (status != LYNX_OK) return status;
  for (size_t i = 0; i < plan->n; i++) {
    if (is_of_start(&plan->factors[i])) continue;
    if (is_the_same(&plan->factors[i])) return fail_factor(&plan->factors[i], error, "its two levels are the same");
    add_fact(plan, &plan->factors[i], arena, ret);
  }
  for (size_t i = 0; i < ret->n; i++)
    if (plan->of_fact[i] != NULL && plan->of_fact[i]->has_layer) {
      ret->items[i].has_layer = true;
      ret->items[i].layer = plan->of_fact[i]->layer;
    }
  return LYNX_OK;
}

/* One text is cut at its blanks. */
static void add_in_front(struct words *words, const struct text_list *level) {
  if (level->n_items > 1) {
    add_all(words, level);
    return;
  }
  for (const char *at = level->items[0]; *at != 0;) {
    size_t length = strcspn(at, " ");
    if (length > 0) words->items[words->n++] = arena_text(words->arena, at, length);
    at += length + (at[length] == ' ');
  }
}

struct text_list experiment_plan_in_front(const struct experiment_plan *plan, uint64_t facts, const struct text_list *command,
                                          struct arena *arena) {
  uint64_t in_front = facts & experiment_plan_of_kind(plan, FACTOR_IN_FRONT);
  size_t most = command->n_items;
  for (size_t i = 0; i < FACTORIAL_FACTS_MAX; i++)
    if (in_front >> i & 1) most += plan->of_fact[i]->level[1].words.n_items + strlen(plan->of_fact[i]->level[1].words.items[0]);
  struct words words = words_new(arena, most);
  for (size_t i = 0; i < FACTORIAL_FACTS_MAX; i++)
    if (in_front >> i & 1) add_in_front(&words, &plan->of_fact[i]->level[1].words);
  add_all(&words, command);
  return (struct text_list){words.items, words.n};
}

uint64_t experiment_plan_hard(const struct experiment_plan *plan) {
  uint64_t hard = 0;
  for (size_t i = 0; i < FACTORIAL_FACTS_MAX; i++)
    if (plan->of_fact[i] != NULL && plan->of_fact[i]->hard) hard |= (uint64_t)1 << i;
  return hard;
}

uint64_t experiment_plan_of_kind(const struct experiment_plan *plan, enum factor_kind kind) {
  uint64_t facts = 0;
  for (size_t i = 0; i < FACTORIAL_FACTS_MAX; i++)
    if (plan->of_fact[i] != NULL && plan->of_fact[i]->kind == kind) facts |= (uint64_t)1 << i;
  return facts;
}
