/* Questions that a contract answers by itself, and the list of what is wrong with it. */
#include <string.h>

#include "contract/fields_private.h"

void problem_add(struct problem_list *problems, enum problem_kind kind, int line, const char *field, const char *found,
                 const char *accepted) {
  problems->items = arena_room(problems->arena, problems->items, problems->n_items, sizeof *problems->items);
  problems->items[problems->n_items++] = (struct problem){kind, line, field, found, accepted};
  if (kind == PROBLEM_ERROR) problems->n_errors++;
}

bool contract_states(const struct contract *contract, const char *path) {
  const struct field_table *table = &contract_table;
  const void *section = contract;
  for (;;) {
    size_t n = strcspn(path, ".");
    size_t i = 0;
    while (i < table->n_fields && (strlen(table->fields[i].name) != n || memcmp(table->fields[i].name, path, n) != 0)) i++;
    lynx_assert(i < table->n_fields);
    if (!field_is_set(section, i)) return false;
    if (path[n] == 0) return true;
    section = field_of(section, &table->fields[i]);
    table = table->fields[i].table;
    lynx_assert(table != NULL);
    path += n + 1;
  }
}

enum grade contract_grade(const struct problem_list *problems) {
  size_t n = 0;
  for (size_t i = 0; i < problems->n_items; i++) n += problems->items[i].kind == PROBLEM_UNSTATED;
  return n == 0 ? GRADE_A : n <= 2 ? GRADE_B : n <= 5 ? GRADE_C : GRADE_D;
}

const char *contract_owner(const struct contract *contract, enum layer layer) {
  for (size_t i = 0; i < contract->owners.n_items; i++)
    if (strcmp(contract->owners.keys[i], layer_text(layer)) == 0) return contract->owners.values[i];
  return layer_default_owner(layer);
}

size_t contract_looks(const struct contract *c) {
  const struct contract_method *m = &c->method;
  if (!contract_states(c, "method.precision_target") || m->sessions_at_most <= m->sessions) return 1;
  return 1 + (size_t)((m->sessions_at_most - m->sessions + m->look_every - 1) / m->look_every);
}

int64_t contract_in_flight(const struct contract *c) {
  if (c->regime.load == LOAD_SINGLE_STREAM) return 1;
  if (c->regime.load == LOAD_MULTI_STREAM) return c->regime.batch;
  return contract_states(c, "regime.concurrency") ? c->regime.concurrency : 0;
}
