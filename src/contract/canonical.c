/* The contract written out: canonical form, JSON Schema and reference page, all from the table. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "contract/fields_private.h"

static void write_section(struct json_writer *json, const struct field_table *table, const void *section);

static void write_value(struct json_writer *json, const struct field *field, const void *at) {
  switch (field->type) {
    case FIELD_TEXT: json_text(json, *(const char *const *)at); break;
    case FIELD_BOOL: json_bool(json, *(const bool *)at); break;
    case FIELD_INTEGER:
    case FIELD_DURATION: json_int(json, *(const int64_t *)at); break;
    case FIELD_NUMBER: json_double(json, *(const double *)at); break;
    case FIELD_CHOICE: json_text(json, field->choices[*(const int *)at].name); break;
    case FIELD_TEXTS: {
      const struct text_list *list = at;
      json_open_array(json);
      for (size_t i = 0; i < list->n_items; i++) json_text(json, list->items[i]);
      json_close(json);
      break;
    }
    case FIELD_MAP: { /* by key: the order in the file means nothing */
      const struct text_map *map = at;
      json_open_object(json);
      const char *last = NULL;
      for (size_t n = 0; n < map->n_items; n++) {
        size_t next = map->n_items;
        for (size_t i = 0; i < map->n_items; i++)
          if ((last == NULL || strcmp(map->keys[i], last) > 0) && (next == map->n_items || strcmp(map->keys[i], map->keys[next]) < 0))
            next = i;
        if (next == map->n_items) break;
        last = map->keys[next];
        json_put_text(json, last, map->values[next]);
      }
      json_close(json);
      break;
    }
    case FIELD_SECTION: write_section(json, field->table, at); break;
    case FIELD_SECTIONS: {
      const struct item_list *list = at;
      json_open_array(json);
      for (size_t i = 0; i < list->n_items; i++) write_section(json, field->table, (const char *)list->items + i * field->table->size);
      json_close(json);
      break;
    }
  }
}

static void write_section(struct json_writer *json, const struct field_table *table, const void *section) {
  json_open_object(json);
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    bool has_value = field_is_set(section, i) || field->fallback != NULL ||
                     (field->type == FIELD_SECTION && !field->later && !field_table_demands(field->table));
    if (!has_value) continue;
    json_key(json, field->name);
    write_value(json, field, field_of(section, field));
  }
  json_close(json);
}

bool contract_canonical(const struct contract *contract, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  write_section(&json, &contract_table, contract);
  return json_finish(&json);
}

void contract_digest(const struct contract *contract, char ret[DIGEST_HEX]) {
  struct buffer canonical;
  uint8_t digest[DIGEST_BYTES];
  buffer_init(&canonical, 16 << 20);
  lynx_assert(contract_canonical(contract, &canonical)); /* a contract of at most 1 MiB fits */
  digest_of(canonical.data, canonical.length, digest);
  buffer_release(&canonical);
  digest_hex(digest, ret);
}

bool contract_text_has(const char *text, const uint8_t digest[DIGEST_BYTES]) {
  struct arena arena = {0};
  struct contract contract;
  struct problem_list problems;
  char found[DIGEST_HEX] = "", wanted[DIGEST_HEX];
  if (contract_parse(text, strlen(text), &arena, &contract, &problems) == LYNX_OK) contract_digest(&contract, found);
  arena_release(&arena);
  return strcmp(found, digest_hex(digest, wanted)) == 0;
}

/* --- two contracts --- */

/* By the longest row that a path begins with: not who is asked, nor how it is looked at. */
static bool is_compared(const char *path, enum contract_likeness what) {
  static const struct {
    const char *path;
    bool load, goods;
  } rows[] = {{"regime.", true, false},
              {"regime.load", true, true},
              {"regime.search", false, false},
              {"regime.search.arrivals", true, true},
              {"workload.output_", true, true},
              {"workload.profile_file", true, true},
              {"workload.ignore_eos", true, true},
              {"counting.latency_from", true, true},
              {"workload.prompts", true, true},
              {"workload.prompts.tokenizer", false, false},
              {"workload.prompts.withhold", false, false},
              {"slo", false, true},
              {"accuracy", false, true}};
  static const char *const free_of[] = {"name",    "question", "executor",    "optimisation", "cost",
                                        "targets", "owners",   "signatories", "least_grade",  "where.environment"};
  bool ret = what == CONTRACT_LIKE_QUESTION;
  for (size_t i = 0; i < LYNX_COUNT(free_of) && what == CONTRACT_LIKE_QUESTION; i++)
    ret = ret && strncmp(path, free_of[i], strlen(free_of[i])) != 0;
  if (what == CONTRACT_LIKE_QUESTION) return ret;
  for (size_t i = 0, longest = 0; i < LYNX_COUNT(rows); i++) {
    size_t n = strlen(rows[i].path);
    if (n > longest && strncmp(path, rows[i].path, n) == 0) longest = n, ret = what == CONTRACT_LIKE_LOAD ? rows[i].load : rows[i].goods;
  }
  return ret;
}

/* Of a text that names a file: its folder is where it lies here. */
static const char *without_folder(const char *text) {
  const char *slash = strrchr(text, '/');
  return slash != NULL ? slash + 1 : text;
}

static const char *value_text(const struct field *field, const void *section, size_t i, struct arena *arena) {
  if (!field_is_set(section, i) && field->fallback == NULL) return "nothing";
  static const char *const files[] = {"file", "trace", "profile_file"};
  bool is_file = false;
  for (size_t k = 0; k < LYNX_COUNT(files); k++) is_file = is_file || strcmp(field->name, files[k]) == 0;
  if (is_file) return without_folder(*(const char *const *)field_of(section, field));
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 1 << 20);
  json_begin(&json, &text);
  write_value(&json, field, field_of(section, field));
  const char *ret = json_finish(&json) ? arena_copy(arena, text.data) : "";
  buffer_release(&text);
  return ret;
}

/* prefix: "workload."; "" of the contract itself, whose sections are walked where a row may lie in them. */
static const char *difference_of(const char *prefix, const struct field_table *table, const void *a, const void *b,
                                 enum contract_likeness what, struct arena *arena) {
  const char *ret = NULL;
  for (size_t i = 0; i < table->n_fields && ret == NULL; i++) {
    const struct field *field = &table->fields[i];
    const char *path = arena_printf(arena, "%s%s", prefix, field->name);
    if (field->type == FIELD_SECTION) {
      ret = difference_of(arena_printf(arena, "%s.", path), field->table, field_of(a, field), field_of(b, field), what, arena);
      continue;
    }
    if (!is_compared(path, what)) continue;
    const char *x = value_text(field, a, i, arena), *y = value_text(field, b, i, arena);
    if (strcmp(x, y) != 0) ret = arena_printf(arena, "%s: A %s, B %s", path, x, y);
  }
  return ret;
}

/* Which rates a search tries is its own affair. */
static bool is_of_search(const struct contract *a, const struct contract *b) {
  return a->regime.load == LOAD_SATURATION && b->regime.load == LOAD_SATURATION;
}

const char *contract_difference(const struct contract *a, const struct contract *b, enum contract_likeness what, struct arena *arena) {
  return difference_of("", &contract_table, a, b, is_of_search(a, b) ? CONTRACT_LIKE_GOODS : what, arena);
}

/* --- JSON Schema --- */

static void schema_section(struct json_writer *json, const struct field_table *table);

static void schema_type(struct json_writer *json, const struct field *field) {
  double number;
  switch (field->type) {
    case FIELD_TEXT: json_put_text(json, "type", "string"); break;
    case FIELD_BOOL: json_put_text(json, "type", "boolean"); break;
    case FIELD_INTEGER:
    case FIELD_NUMBER:
      json_put_text(json, "type", field->type == FIELD_INTEGER ? "integer" : "number");
      if (field->least != NULL && number_double(field->least, strlen(field->least), &number)) json_put_double(json, "minimum", number);
      if (field->greatest != NULL && number_double(field->greatest, strlen(field->greatest), &number))
        json_put_double(json, "maximum", number);
      break;
    case FIELD_DURATION:
      json_put_text(json, "type", "string");
      json_put_text(json, "pattern", "^[0-9]+(\\.[0-9]+)?(ns|us|ms|s|min|h)$");
      break;
    case FIELD_CHOICE:
      json_key(json, "enum");
      json_open_array(json);
      for (size_t i = 0; i < field->n_choices; i++) json_text(json, field->choices[i].name);
      json_close(json);
      break;
    case FIELD_TEXTS:
      json_put_text(json, "type", "array");
      json_key(json, "items");
      json_open_object(json);
      json_key(json, "type");
      json_open_array(json);
      json_text(json, "string");
      json_text(json, "number");
      json_close(json);
      json_close(json);
      break;
    case FIELD_MAP:
      json_put_text(json, "type", "object");
      json_key(json, "additionalProperties");
      json_open_object(json);
      json_key(json, "type");
      json_open_array(json);
      json_text(json, "string");
      json_text(json, "number");
      json_close(json);
      json_close(json);
      break;
    case FIELD_SECTION: schema_section(json, field->table); break;
    case FIELD_SECTIONS:
      json_put_text(json, "type", "array");
      json_key(json, "items");
      json_open_object(json);
      schema_section(json, field->table);
      json_close(json);
      break;
  }
}

static void schema_section(struct json_writer *json, const struct field_table *table) {
  json_put_text(json, "type", "object");
  json_put_bool(json, "additionalProperties", false);
  json_key(json, "required");
  json_open_array(json);
  for (size_t i = 0; i < table->n_fields; i++)
    if (table->fields[i].required) json_text(json, table->fields[i].name);
  json_close(json);
  json_key(json, "properties");
  json_open_object(json);
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    json_key(json, field->name);
    json_open_object(json);
    json_put_text(json, "description", field->help);
    if (field->fallback != NULL && field->type != FIELD_TEXTS) json_put_text(json, "x-default", field->fallback);
    schema_type(json, field);
    json_close(json);
  }
  json_close(json);
}

bool contract_schema(struct buffer *ret) {
  struct json_writer json;
  json_begin_object(&json, ret);
  json_put_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
  json_put_text(&json, "title", "lynxbench contract, version 1");
  schema_section(&json, &contract_table);
  return json_end_line(&json);
}

/* --- the reference page --- */

static const char *type_text(const struct field *field) {
  static const char *const names[] = {[FIELD_TEXT] = "text",
                                      [FIELD_BOOL] = "true or false",
                                      [FIELD_INTEGER] = "whole number",
                                      [FIELD_NUMBER] = "number",
                                      [FIELD_DURATION] = "duration",
                                      [FIELD_CHOICE] = "choice",
                                      [FIELD_TEXTS] = "list",
                                      [FIELD_MAP] = "key: value",
                                      [FIELD_SECTION] = "section",
                                      [FIELD_SECTIONS] = "list of sections"};
  return names[field->type];
}

static void reference_section(struct buffer *out, const struct field_table *table, const char *path) {
  if (path[0] != 0) (void)buffer_printf(out, "\n### `%s`\n", path);
  (void)buffer_text(out, "\n| field | type | default | accepted | meaning |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    (void)buffer_printf(out, "| `%s` | %s | ", field->name, type_text(field));
    (void)buffer_text(out, field->required ? "required" : field->fallback != NULL && field->fallback[0] != 0 ? field->fallback : "");
    (void)buffer_text(out, " | ");
    for (size_t k = 0; k < field->n_choices; k++)
      (void)buffer_printf(out, "%s`%s`: %s", k > 0 ? "; " : "", field->choices[k].name, field->choices[k].help);
    if (field->least != NULL) (void)buffer_printf(out, "%s to %s", field->least, field->greatest);
    (void)buffer_printf(out, " | %s%s |\n", field->help, field->disclose ? " *(graded)*" : "");
  }
  for (size_t i = 0; i < table->n_fields; i++) {
    const struct field *field = &table->fields[i];
    char below[128];
    (void)snprintf(below, sizeof below, "%s%s%s%s", path, path[0] != 0 ? "." : "", field->name, field->type == FIELD_SECTIONS ? "[]" : "");
    if (field->table != NULL) reference_section(out, field->table, below);
  }
}

bool contract_reference(struct buffer *ret) {
  reference_section(ret, &contract_table, "");
  return !ret->overflowed;
}
