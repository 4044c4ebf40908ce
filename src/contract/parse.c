#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/words.h"
#include "base/yaml.h"
#include "contract/fields_private.h"

struct reading {
  struct arena *arena;
  struct problem_list *problems;
};

static const char *shown(struct reading *r, const struct yaml_node *node) {
  if (node->kind != YAML_SCALAR) return yaml_kind_text(node);
  char clean[100];
  text_sanitise(clean, sizeof clean, node->text, node->length);
  return arena_printf(r->arena, node->quoted ? "the text \"%s\"%s" : "%s%s", clean, node->length >= sizeof clean ? "..." : "");
}

static void complain(struct reading *r, const struct yaml_node *node, const char *path, const char *accepted) {
  problem_add(r->problems, PROBLEM_ERROR, node->line, path, shown(r, node), accepted);
}

/* --- plain words that YAML 1.1 and 1.2 read differently --- */

static bool one_of(const char *text, const char *const *words, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(text, words[i]) == 0) return true;
  return false;
}

static bool is_truth_word(const char *text) {
  static const char *const words[] = {"yes", "no", "on", "off", "y", "n", "true", "false"};
  return one_of(text, words, LYNX_COUNT(words));
}

static bool is_nothing_word(const char *text) {
  static const char *const words[] = {"", "~", "null"};
  return one_of(text, words, LYNX_COUNT(words));
}

/* 012, 0x1f, 1_000, 1e3, 1:30, .5, +1: not the same number to every reader. */
static bool is_doubtful_number(const char *text) {
  const char *digits = text + (text[0] == '-' || text[0] == '+');
  if (digits[0] == 0 || strspn(text, "0123456789abcdefxoABCDEFXO_+-.:eE") != strlen(text)) return false;
  if ((digits[0] < '0' || digits[0] > '9') && !(digits[0] == '.' && digits[1] >= '0' && digits[1] <= '9')) return false;
  if (text[0] == '+' || digits[0] == '.') return true;
  if (digits[0] == '0' && digits[1] != 0 && digits[1] != '.') return true;
  size_t plain = strspn(digits, "0123456789.");
  if (digits[plain] == 0) return false;
  if (digits[plain] == '_' || digits[plain] == ':') return strspn(digits, "0123456789_:.") == strlen(digits);
  return (digits[plain] == 'e' || digits[plain] == 'E') && strspn(digits + plain + 1, "+-0123456789") == strlen(digits + plain + 1) &&
         digits[plain + 1] != 0;
}

static const char *plain_number(struct reading *r, const char *text, double value) {
  char number[48];
  (void)text;
  number_text(number, sizeof number, value);
  return arena_printf(r->arena, "a plain decimal: YAML 1.1 and 1.2 read this differently; write %s",
                      strchr(number, 'e') == NULL ? number : "it out in digits");
}

/* --- one value of each type --- */

static bool read_text(struct reading *r, const struct yaml_node *node, const char *path, const char **ret) {
  if (node->kind != YAML_SCALAR) {
    complain(r, node, path, "one text");
    return false;
  }
  if (!node->quoted && is_nothing_word(node->text)) {
    complain(r, node, path, "a text; leave the field out if there is nothing to say");
    return false;
  }
  if (!node->quoted && (is_truth_word(node->text) || is_doubtful_number(node->text))) {
    complain(r, node, path,
             arena_printf(r->arena, "a text in quotes: YAML 1.1 and 1.2 read the bare word differently; write \"%s\"", node->text));
    return false;
  }
  for (size_t i = 0; i < node->length;) {
    size_t n = utf8_length((const unsigned char *)node->text + i, node->length - i);
    if (n == 0 || ((unsigned char)node->text[i] < 0x20 && node->text[i] != '\n' && node->text[i] != '\t')) {
      complain(r, node, path, "text in UTF-8 without control characters");
      return false;
    }
    i += n;
  }
  *ret = node->text;
  return true;
}

static bool read_number(struct reading *r, const struct yaml_node *node, const char *path, bool integer, double *ret) {
  double value;
  const char *accepted = integer ? "a whole number" : "a number";
  bool scalar = node->kind == YAML_SCALAR && !node->quoted;
  if (scalar && is_doubtful_number(node->text)) {
    const char *digits = node->text;
    char without[64];
    size_t n = 0;
    for (; *digits != 0 && n + 1 < sizeof without; digits++)
      if (*digits != '_') without[n++] = *digits;
    without[n] = 0;
    bool known = number_double(without, n, &value);
    complain(r, node, path, known ? plain_number(r, node->text, value) : accepted);
    return false;
  }
  if (!scalar || !number_double(node->text, node->length, &value) || (integer && strspn(node->text, "-0123456789") != node->length)) {
    complain(r, node, path, node->kind == YAML_SCALAR && node->quoted ? arena_printf(r->arena, "%s, without quotes", accepted) : accepted);
    return false;
  }
  *ret = value;
  return true;
}

static bool in_range(struct reading *r, const struct yaml_node *node, const char *path, const struct field *field, double value,
                     double least, double greatest) {
  if ((field->least == NULL || value >= least) && (field->greatest == NULL || value <= greatest)) return true;
  bool one = field->least != NULL && field->greatest != NULL && strcmp(field->least, field->greatest) == 0;
  complain(r, node, path,
           one                                               ? field->least
           : field->least != NULL && field->greatest != NULL ? arena_printf(r->arena, "from %s to %s", field->least, field->greatest)
           : field->least != NULL                            ? arena_printf(r->arena, "at least %s", field->least)
                                                             : arena_printf(r->arena, "at most %s", field->greatest));
  return false;
}

static double bound(const char *text, bool duration) {
  double number = 0;
  int64_t ns = 0;
  if (text == NULL) return 0;
  if (duration) lynx_assert(number_duration(text, strlen(text), &ns));
  else lynx_assert(number_double(text, strlen(text), &number));
  return duration ? (double)ns : number;
}

static bool read_duration(struct reading *r, const struct yaml_node *node, const char *path, int64_t *ret) {
  if (node->kind == YAML_SCALAR && !node->quoted && number_duration(node->text, node->length, ret)) return true;
  complain(r, node, path, "a duration with its unit: 250us, 200ms, 1.5s, 2min or 1h");
  return false;
}

static bool read_choice(struct reading *r, const struct yaml_node *node, const char *path, const struct field *field, int *ret) {
  for (size_t i = 0; i < field->n_choices && node->kind == YAML_SCALAR; i++) {
    if (strcmp(field->choices[i].name, node->text) != 0) continue;
    *ret = (int)i;
    return true;
  }
  const char *list = "one of:";
  for (size_t i = 0; i < field->n_choices; i++) list = arena_printf(r->arena, "%s%s %s", list, i > 0 ? "," : "", field->choices[i].name);
  complain(r, node, path, list);
  return false;
}

static bool read_texts(struct reading *r, const struct yaml_node *node, const char *path, struct text_list *ret) {
  if (node->kind != YAML_LIST) {
    complain(r, node, path, "a list: [a, b]");
    return false;
  }
  *ret = (struct text_list){.items = arena_alloc(r->arena, node->n_items, sizeof *ret->items)};
  for (size_t i = 0; i < node->n_items; i++)
    if (read_text(r, node->items[i], arena_printf(r->arena, "%s[%zu]", path, i), &ret->items[ret->n_items])) ret->n_items++;
  return true;
}

static bool read_map(struct reading *r, const struct yaml_node *node, const char *path, struct text_map *ret) {
  if (node->kind != YAML_MAP) {
    complain(r, node, path, "a group of key: value");
    return false;
  }
  *ret = (struct text_map){.keys = arena_alloc(r->arena, node->n_items, sizeof *ret->keys),
                           .values = arena_alloc(r->arena, node->n_items, sizeof *ret->values)};
  for (size_t i = 0; i < node->n_items; i++) {
    ret->keys[ret->n_items] = node->keys[i]->text;
    if (read_text(r, node->items[i], arena_printf(r->arena, "%s.%s", path, node->keys[i]->text), &ret->values[ret->n_items]))
      ret->n_items++;
  }
  return true;
}

static void read_section(struct reading *r, const struct yaml_node *node, const char *path, const struct field_table *table, void *section);

static bool read_sections(struct reading *r, const struct yaml_node *node, const char *path, const struct field_table *table,
                          struct item_list *ret) {
  if (node->kind != YAML_LIST) {
    complain(r, node, path, "a list, each item beginning with '-'");
    return false;
  }
  *ret = (struct item_list){.items = arena_alloc(r->arena, node->n_items, table->size), .n_items = node->n_items};
  for (size_t i = 0; i < node->n_items; i++)
    read_section(r, node->items[i], arena_printf(r->arena, "%s[%zu]", path, i), table, (char *)ret->items + i * table->size);
  return true;
}

static bool read_value(struct reading *r, const struct yaml_node *node, const char *path, const struct field *field, void *at) {
  double number;
  switch (field->type) {
    case FIELD_TEXT: return read_text(r, node, path, at);
    case FIELD_BOOL: {
      bool truth = node->kind == YAML_SCALAR && !node->quoted && strcmp(node->text, "true") == 0;
      if (!truth && (node->kind != YAML_SCALAR || node->quoted || strcmp(node->text, "false") != 0)) {
        complain(r, node, path,
                 node->kind == YAML_SCALAR && is_truth_word(node->text)
                     ? "true or false (yes, no, on and off mean different things to different YAML readers)"
                     : "true or false");
        return false;
      }
      *(bool *)at = truth;
      return true;
    }
    case FIELD_INTEGER:
    case FIELD_NUMBER: {
      bool integer = field->type == FIELD_INTEGER;
      if (!read_number(r, node, path, integer, &number) ||
          !in_range(r, node, path, field, number, bound(field->least, false), bound(field->greatest, false)))
        return false;
      if (integer) return number_int64(node->text, node->length, at);
      *(double *)at = number;
      return true;
    }
    case FIELD_DURATION: {
      int64_t ns;
      if (!read_duration(r, node, path, &ns) ||
          !in_range(r, node, path, field, (double)ns, bound(field->least, true), bound(field->greatest, true)))
        return false;
      *(int64_t *)at = ns;
      return true;
    }
    case FIELD_CHOICE: return read_choice(r, node, path, field, at);
    case FIELD_TEXTS: return read_texts(r, node, path, at);
    case FIELD_MAP: return read_map(r, node, path, at);
    case FIELD_SECTION: read_section(r, node, path, field->table, at); return true;
    case FIELD_SECTIONS: return read_sections(r, node, path, field->table, at);
  }
  return false;
}

/* --- a section: defaults, then what the file says, then what it leaves out --- */

static void fill_defaults(struct reading *r, const struct field_table *table, void *section) {
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    if (field->type == FIELD_SECTION) fill_defaults(r, field->table, field_at(section, field));
    if (field->fallback == NULL) continue;
    struct yaml_node *node = NULL;
    struct yaml_node empty = {.kind = YAML_SCALAR, .quoted = true, .text = ""};
    if (field->fallback[0] == 0) node = &empty;
    else lynx_assert(yaml_parse(field->fallback, strlen(field->fallback), r->arena, &node, NULL) == LYNX_OK);
    lynx_assert(read_value(r, node, field->name, field, field_at(section, field)));
  }
}

static void complain_unknown(struct reading *r, const struct yaml_node *key, const char *path, const struct field_table *table) {
  const char *nearest = NULL, *all = "";
  size_t best = 4;
  for (size_t i = 0; i < table->n_fields; i++) {
    size_t d = words_distance(key->text, table->fields[i].name);
    if (d < best) best = d, nearest = table->fields[i].name;
    all = arena_printf(r->arena, "%s%s%s", all, i > 0 ? ", " : "", table->fields[i].name);
  }
  char clean[100];
  text_sanitise(clean, sizeof clean, key->text, key->length);
  const char *accepted = nearest != NULL ? arena_printf(r->arena, "did you mean '%s'?", nearest)
                                         : arena_printf(r->arena, "the fields here are %s", all);
  const char *field = path[0] == 0 ? arena_copy(r->arena, clean) : arena_printf(r->arena, "%s.%s", path, clean);
  problem_add(r->problems, PROBLEM_ERROR, key->line, field, "an unknown field", accepted);
}

static const char *path_of(struct reading *r, const char *path, const char *name) {
  return path[0] == 0 ? name : arena_printf(r->arena, "%s.%s", path, name);
}

static void note_left_out(struct reading *r, int line, const char *path, const struct field_table *table, const void *section) {
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    if (field_is_set(section, i)) continue;
    const char *name = path_of(r, path, field->name);
    if (field->required)
      problem_add(r->problems, PROBLEM_ERROR, line, name, "nothing", arena_printf(r->arena, "this field is required: %s", field->help));
    else if (field->disclose)
      problem_add(r->problems, PROBLEM_UNSTATED, 0, name,
                  field->fallback != NULL && field->fallback[0] != 0 ? arena_printf(r->arena, "not stated (%s is assumed)", field->fallback)
                                                                     : "not stated",
                  field->help);
    else if (field->type == FIELD_SECTION && !field_table_demands(field->table))
      note_left_out(r, line, name, field->table, field_of(section, field));
  }
}

static void read_section(struct reading *r, const struct yaml_node *node, const char *path, const struct field_table *table,
                         void *section) {
  if (node->kind != YAML_MAP) {
    complain(r, node, path[0] == 0 ? "contract" : path, "a group of fields");
    return;
  }
  fill_defaults(r, table, section);
  for (size_t k = 0; k < node->n_items; k++) {
    const struct yaml_node *key = node->keys[k];
    size_t i = 0;
    while (i < table->n_fields && strcmp(table->fields[i].name, key->text) != 0) i++;
    if (i == table->n_fields) {
      complain_unknown(r, key, path, table);
      continue;
    }
    const struct field *field = &table->fields[i];
    *(uint64_t *)section |= (uint64_t)1 << i; /* also when its value is wrong: it was not left out */
    (void)read_value(r, node->items[k], path_of(r, path, field->name), field, field_at(section, field)); /* a problem is in the list */
  }
  note_left_out(r, node->line, path, table, section);
}

/* The line of the longest part of "a.b[2].c" that stands in the file. */
static int line_of(const struct yaml_node *node, const char *path) {
  int line = 0;
  while (node != NULL && *path != 0) {
    size_t n = strcspn(path, ".[");
    const struct yaml_node *next = NULL;
    if (n > 0 && node->kind == YAML_MAP)
      for (size_t i = 0; i < node->n_items; i++)
        if (node->keys[i]->length == n && memcmp(node->keys[i]->text, path, n) == 0) next = node->items[i], line = node->keys[i]->line;
    path += n;
    while (next != NULL && *path == '[') {
      int64_t index;
      size_t digits = strcspn(++path, "]");
      bool known = next->kind == YAML_LIST && number_int64(path, digits, &index) && index >= 0 && (size_t)index < next->n_items;
      next = known ? next->items[index] : NULL;
      if (next != NULL) line = next->line;
      path += digits + (path[digits] == ']');
    }
    path += *path == '.';
    node = next;
  }
  return line;
}

/* In the order of the file, what has no line last; stable. */
static void sort_by_line(struct problem_list *problems) {
  for (size_t i = 1; i < problems->n_items; i++) {
    struct problem moved = problems->items[i];
    int line = moved.line > 0 ? moved.line : INT_MAX;
    size_t k = i;
    for (; k > 0 && (problems->items[k - 1].line > 0 ? problems->items[k - 1].line : INT_MAX) > line; k--)
      problems->items[k] = problems->items[k - 1];
    problems->items[k] = moved;
  }
}

enum lynx_status contract_parse(const char *text, size_t length, struct arena *arena, struct contract *ret,
                                struct problem_list *ret_problems) {
  struct lynx_error error = {0};
  struct yaml_node *root = NULL;
  *ret = (struct contract){0};
  *ret_problems = (struct problem_list){.arena = arena};
  struct reading r = {.arena = arena, .problems = ret_problems};
  enum lynx_status status = length > CONTRACT_FILE_MAX
                                ? lynx_fail(&error, LYNX_LIMIT, "%zu bytes; a contract has at most %d", length, CONTRACT_FILE_MAX)
                                : yaml_parse(text, length, arena, &root, &error);
  if (status != LYNX_OK) {
    problem_add(ret_problems, PROBLEM_ERROR, error.line, "contract", arena_copy(arena, error.message), "");
    return status;
  }
  lynx_assert(root != NULL); /* a text that was read has a root */
  read_section(&r, root, "", &contract_table, ret);
  if (root->kind == YAML_MAP) contract_check(ret, ret_problems);
  for (size_t i = 0; i < ret_problems->n_items; i++)
    if (ret_problems->items[i].line == 0) ret_problems->items[i].line = line_of(root, ret_problems->items[i].field);
  sort_by_line(ret_problems);
  return ret_problems->n_errors == 0 ? LYNX_OK : LYNX_INPUT;
}
