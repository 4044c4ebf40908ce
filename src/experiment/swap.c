#include "experiment/swap.h"

#include <stdio.h>
#include <string.h>

#include "executor/argument_map.h"
#include "executor/layer_map.h"

enum { UNITS_MAX = 1024, SHOWN_MAX = 100 };

enum unit_kind { UNIT_WORD, UNIT_ARGUMENT, UNIT_VARIABLE };

/* What is there or not as a whole. fact: its number, where A and B differ in it; -1: both have it alike. */
struct swap_unit {
  enum unit_kind kind;
  const char *name;
  struct text_list a, b; /* its words on either side; none where it is not there */
  int fact;
};

struct making {
  struct arena *arena;
  struct swap_unit *units;
  size_t n, at; /* at: behind the unit of B that was last found or made, where what only B has goes */
  bool too_many;
};

/* --- units --- */

static void add_words(struct making *m, struct swap_unit *unit, bool is_b, const char *const *words, size_t n) {
  struct text_list *list = is_b ? &unit->b : &unit->a;
  const char **items = arena_alloc(m->arena, list->n_items + n, sizeof *items);
  for (size_t i = 0; i < list->n_items; i++) items[i] = list->items[i];
  for (size_t i = 0; i < n; i++) items[list->n_items + i] = words[i];
  *list = (struct text_list){items, list->n_items + n};
}

static struct swap_unit *unit_of(struct making *m, enum unit_kind kind, const char *name) {
  for (size_t i = 0; i < m->n; i++)
    if (m->units[i].kind == kind && strcmp(m->units[i].name, name) == 0) return &m->units[i];
  if (m->n == UNITS_MAX) {
    m->too_many = true;
    return &m->units[UNITS_MAX - 1];
  }
  for (size_t i = m->n; i > m->at; i--) m->units[i] = m->units[i - 1];
  m->units[m->at] = (struct swap_unit){.kind = kind, .name = name, .fact = -1};
  m->n++;
  return &m->units[m->at];
}

static void put_words(struct making *m, enum unit_kind kind, const char *name, bool is_b, const char *const *words, size_t n) {
  struct swap_unit *unit = unit_of(m, kind, name);
  m->at = (size_t)(unit - m->units) + 1;
  if (!is_b) m->at = m->n;
  add_words(m, unit, is_b, words, n);
}

bool swap_is_option(const char *word) {
  return word[0] == '-' && word[1] != 0 && word[1] != '.' && !(word[1] >= '0' && word[1] <= '9'); /* -1 and -.5 are values */
}

/* How many words stand before the program that the other command starts with, as in "taskset -c 0 python3": 0 where it has none. */
static size_t words_in_front(const struct text_list *command, const struct text_list *other) {
  if (other->n_items == 0) return 0;
  for (size_t i = 0; i < command->n_items; i++)
    if (strcmp(command->items[i], other->items[0]) == 0) return i;
  return 0;
}

static size_t words_before_options(const struct text_list *command) {
  size_t n = 0;
  while (n < command->n_items && !swap_is_option(command->items[n])) n++;
  return n;
}

static void take_command(struct making *m, const struct text_list *command, bool is_b, bool words_alike) {
  size_t n = words_before_options(command);
  for (size_t i = 0; i < n; i++) {
    const char *name = i == 0 || !words_alike ? "program" : arena_printf(m->arena, "word %zu", i + 1);
    put_words(m, UNIT_WORD, name, is_b, &command->items[i], 1);
  }
  for (size_t i = n, next; i < command->n_items; i = next) {
    const char *word = command->items[i];
    bool ends = strcmp(word, "--") == 0; /* what follows is another program's, as a whole */
    for (next = i + 1; next < command->n_items && (ends || !swap_is_option(command->items[next]));) next++;
    const char *name = arena_printf(m->arena, "%.*s", (int)strcspn(word, "="), word);
    put_words(m, UNIT_ARGUMENT, name, is_b, &command->items[i], next - i);
  }
}

/* The last of a name counts, as it does in the process. */
static void take_environment(struct making *m, const struct text_list *environment, bool is_b) {
  for (size_t i = 0; i < environment->n_items; i++) {
    const char *item = environment->items[i];
    m->at = m->n;
    struct swap_unit *unit = unit_of(m, UNIT_VARIABLE, arena_printf(m->arena, "%.*s", (int)strcspn(item, "="), item));
    *(is_b ? &unit->b : &unit->a) = (struct text_list){.n_items = 0};
    add_words(m, unit, is_b, &environment->items[i], 1);
  }
}

/* --- as it is shown --- */

static bool may_be_secret(const struct swap_unit *unit, const char *value) {
  const char *name = unit->name + strspn(unit->name, "-");
  return (unit->kind != UNIT_WORD && variable_is_secret(name)) || value_may_be_secret(value);
}

static const char *shown(struct making *m, const struct swap_unit *unit, const struct text_list *words) {
  char text[SHOWN_MAX + 1] = "", clean[SHOWN_MAX + 1];
  if (words->n_items == 0) return "not set";
  for (size_t i = 0; i < words->n_items; i++) {
    const char *word = words->items[i], *equals = strchr(word, '=');
    if (unit->kind != UNIT_WORD && i == 0 && equals == NULL) continue; /* its name alone */
    const char *value = unit->kind != UNIT_WORD && i == 0 ? equals + 1 : word;
    if (may_be_secret(unit, value)) return "(hidden)";
    size_t length = strlen(text);
    (void)snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? " " : "", value);
  }
  (void)text_sanitise(clean, sizeof clean, text, strlen(text));
  return clean[0] != 0 ? arena_copy(m->arena, clean) : unit->kind == UNIT_VARIABLE ? "as it is in lynxbench's" : "given";
}

/* "--x=1" and "--x 1" say the same. */
static const char *value_at(const struct swap_unit *unit, const struct text_list *words, size_t *at) {
  if (*at == 0 && unit->kind != UNIT_WORD && words->n_items > 0) {
    const char *equals = strchr(words->items[0], '=');
    ++*at;
    if (equals != NULL) return equals + 1;
  }
  return *at < words->n_items ? words->items[(*at)++] : NULL;
}

static bool is_alike(const struct swap_unit *unit) {
  size_t at_a = 0, at_b = 0;
  if ((unit->a.n_items == 0) != (unit->b.n_items == 0)) return false;
  for (;;) {
    const char *a = value_at(unit, &unit->a, &at_a), *b = value_at(unit, &unit->b, &at_b);
    if (a == NULL || b == NULL) return a == b;
    if (strcmp(a, b) != 0) return false;
  }
}

static bool layer_of(const struct swap_unit *unit, enum layer *ret) {
  const char *reason;
  if (unit->kind == UNIT_VARIABLE) return layer_of_variable(unit->name, ret, &reason);
  const struct argument *argument = unit->kind == UNIT_ARGUMENT ? argument_find(unit->name) : NULL;
  if (argument != NULL) *ret = argument->layer;
  return argument != NULL;
}

enum lynx_status swap_list_make(const struct contract_start *a, const struct contract_start *b, struct arena *arena, struct swap_list *ret,
                                struct lynx_error *error) {
  struct making m = {.arena = arena, .units = arena_alloc(arena, UNITS_MAX, sizeof *m.units)};
  size_t in_front[2] = {words_in_front(&a->command, &b->command), words_in_front(&b->command, &a->command)};
  const struct text_list commands[2] = {{a->command.items + in_front[0], a->command.n_items - in_front[0]},
                                        {b->command.items + in_front[1], b->command.n_items - in_front[1]}};
  bool alike = words_before_options(&commands[0]) == words_before_options(&commands[1]);
  for (int i = 0; i < 2; i++)
    if (in_front[i] > 0) put_words(&m, UNIT_WORD, "in front", i == 1, (i == 0 ? a : b)->command.items, in_front[i]);
  take_command(&m, &commands[0], false, alike);
  m.at = in_front[0] > 0 || in_front[1] > 0 ? 1 : 0;
  take_command(&m, &commands[1], true, alike);
  m.at = m.n;
  take_environment(&m, &a->environment, false);
  take_environment(&m, &b->environment, true);
  *ret = (struct swap_list){.units = m.units, .n_units = m.n, .ends = {a, b}};
  size_t n = 0;
  char clean_name[200];
  for (size_t i = 0; i < m.n; i++) {
    struct swap_unit *unit = &m.units[i];
    if (is_alike(unit)) continue;
    if (n < SWAPS_MAX) {
      struct swap *swap = &ret->items[n];
      (void)text_sanitise(clean_name, sizeof clean_name, unit->name, strlen(unit->name));
      *swap = (struct swap){.name = arena_copy(arena, clean_name), .a = shown(&m, unit, &unit->a), .b = shown(&m, unit, &unit->b)};
      swap->has_layer = layer_of(unit, &swap->layer);
      unit->fact = (int)n;
    }
    n++;
  }
  ret->n = n;
  if (m.too_many || n > SWAPS_MAX)
    return lynx_fail(error, LYNX_INPUT, "executor.start: they differ in more than %d arguments and variables", SWAPS_MAX);
  return LYNX_OK;
}

/* --- put together --- */

static int turn_of(const struct swap_unit *unit) {
  return unit->kind == UNIT_WORD ? 0 : unit->kind == UNIT_ARGUMENT && strcmp(unit->name, "--") == 0 ? 2 : 1;
}

void swap_mix(const struct swap_list *list, uint64_t facts, struct arena *arena, struct text_list *ret_command,
              struct text_list *ret_environment) {
  uint64_t all = ((uint64_t)1 << list->n) - 1;
  if (facts == 0 || facts == all) { /* as they are written, whatever the order of their words means */
    *ret_command = list->ends[facts != 0]->command;
    *ret_environment = list->ends[facts != 0]->environment;
    return;
  }
  size_t n = 0;
  for (size_t i = 0; i < list->n_units; i++) n += list->units[i].a.n_items + list->units[i].b.n_items;
  struct text_list command = {arena_alloc(arena, n + 1, sizeof(char *)), 0}, environment = {arena_alloc(arena, n + 1, sizeof(char *)), 0};
  for (int turn = 0; turn < 3; turn++) /* a word that only B has stands before the arguments too, and what is behind "--" last */
    for (size_t i = 0; i < list->n_units; i++) {
      const struct swap_unit *unit = &list->units[i];
      const struct text_list *from = unit->fact >= 0 && (facts >> unit->fact & 1) != 0 ? &unit->b : &unit->a;
      struct text_list *to = unit->kind == UNIT_VARIABLE ? &environment : &command;
      if (turn_of(unit) != turn) continue;
      for (size_t k = 0; k < from->n_items; k++) to->items[to->n_items++] = from->items[k];
    }
  *ret_command = command;
  *ret_environment = environment;
}

/* --- in words, and kept --- */

const char *swap_names(const struct swap_list *list, uint64_t facts, const char *between, char *text, size_t size) {
  size_t length = 0;
  text[0] = 0;
  for (size_t i = 0; i < list->n && length < size; i++)
    if (facts >> i & 1) length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? between : "", list->items[i].name);
  return text;
}

const char *swap_mixture(const struct swap_list *list, uint64_t facts, char *text, size_t size) {
  char names[200];
  if (facts == 0) return "A";
  if (facts == ((uint64_t)1 << list->n) - 1) return "B";
  (void)snprintf(text, size, "A with %s of B", swap_names(list, facts, " and ", names, sizeof names));
  return text;
}

void swap_text(const struct swap *s, const struct contract *contract, struct buffer *ret) {
  (void)buffer_printf(ret, "%s: %s to %s   %s, %s\n", s->name, s->a, s->b, s->has_layer ? layer_text(s->layer) : "not attributed",
                      s->has_layer ? contract_owner(contract, s->layer) : "nobody yet");
}

void swap_json(const struct swap *s, const struct contract *contract, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "name", s->name);
  json_put_text(json, "a", s->a);
  json_put_text(json, "b", s->b);
  json_put_text(json, "layer", s->has_layer ? layer_text(s->layer) : NULL);
  if (contract != NULL) json_put_text(json, "owner", s->has_layer ? contract_owner(contract, s->layer) : NULL);
  json_close(json);
}

void swap_list_json(const struct swap_list *list, struct json_writer *json) {
  json_open_array(json);
  for (size_t i = 0; i < list->n; i++) swap_json(&list->items[i], NULL, json);
  json_close(json);
}

static const char *clean(struct arena *arena, const json_t *object, const char *key) {
  char text[400];
  const char *found = json_get_text(object, key, "");
  (void)text_sanitise(text, sizeof text, found, strlen(found));
  return arena_copy(arena, text);
}

bool swap_list_read(const json_t *array, struct arena *arena, struct swap_list *ret) {
  *ret = (struct swap_list){.n = json_array_size(array)};
  if (ret->n < 1 || ret->n > SWAPS_MAX) return false;
  for (size_t i = 0; i < ret->n; i++) {
    const json_t *fact = json_array_get(array, i);
    struct swap *swap = &ret->items[i];
    *swap = (struct swap){.name = clean(arena, fact, "name"), .a = clean(arena, fact, "a"), .b = clean(arena, fact, "b")};
    swap->has_layer = layer_parse(json_get_text(fact, "layer", ""), &swap->layer);
  }
  return true;
}
