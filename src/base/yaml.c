#include "base/yaml.h"

#include <string.h>
#include <yaml.h>

#include "base/buffer.h"

struct yaml_reader {
  yaml_parser_t parser;
  struct arena *arena;
  struct lynx_error *error;
  size_t n_nodes;
};

static enum lynx_status fail_at(struct yaml_reader *reader, enum lynx_status status, size_t line, const char *message) {
  lynx_error_at(reader->error, NULL, (int)line + 1, NULL);
  return lynx_fail(reader->error, status, "%s", message);
}

static enum lynx_status next_event(struct yaml_reader *reader, yaml_event_t *event) {
  if (yaml_parser_parse(&reader->parser, event)) return LYNX_OK;
  const char *problem = reader->parser.problem != NULL ? reader->parser.problem : "unreadable";
  lynx_error_at(reader->error, NULL, (int)reader->parser.problem_mark.line + 1, NULL);
  return lynx_fail(reader->error, LYNX_INPUT, "not YAML: %s (column %zu)", problem, reader->parser.problem_mark.column + 1);
}

static enum lynx_status refuse_decoration(struct yaml_reader *reader, const yaml_event_t *event, const yaml_char_t *anchor,
                                          const yaml_char_t *tag) {
  if (anchor != NULL)
    return fail_at(reader, LYNX_INPUT, event->start_mark.line,
                   "an anchor (&) was found; anchors and aliases are not accepted: write the value in place");
  if (tag != NULL)
    return fail_at(reader, LYNX_INPUT, event->start_mark.line, "a tag (!) was found; tags are not accepted: write the plain value");
  return LYNX_OK;
}

static enum lynx_status read_node(struct yaml_reader *reader, yaml_event_t *event, int depth, struct yaml_node **ret);

static void add_item(struct yaml_reader *reader, struct yaml_node *node, struct yaml_node *key, struct yaml_node *value) {
  size_t n = node->n_items;
  if ((n & (n - 1)) == 0) { /* room doubles at every power of two */
    size_t room = n == 0 ? 1 : 2 * n;
    struct yaml_node **items = arena_alloc(reader->arena, room, sizeof(struct yaml_node *));
    struct yaml_node **keys = arena_alloc(reader->arena, room, sizeof(struct yaml_node *));
    if (n > 0) {
      memcpy(items, node->items, n * sizeof(struct yaml_node *));
      memcpy(keys, node->keys, n * sizeof(struct yaml_node *));
    }
    node->items = items;
    node->keys = keys;
  }
  node->items[n] = value;
  node->keys[n] = key;
  node->n_items++;
}

static enum lynx_status read_collection(struct yaml_reader *reader, struct yaml_node *node, yaml_event_type_t end, int depth) {
  for (;;) {
    yaml_event_t event;
    enum lynx_status status = next_event(reader, &event);
    if (status != LYNX_OK) return status;
    if (event.type == end) {
      yaml_event_delete(&event);
      return LYNX_OK;
    }
    struct yaml_node *key = NULL, *value = NULL;
    status = read_node(reader, &event, depth, node->kind == YAML_MAP ? &key : &value);
    if (status != LYNX_OK) return status;
    if (node->kind == YAML_MAP) {
      if (key->kind != YAML_SCALAR) return fail_at(reader, LYNX_INPUT, (size_t)key->line - 1, "a key must be a plain word");
      if (yaml_get(node, key->text) != NULL) {
        lynx_error_at(reader->error, NULL, key->line, NULL);
        char shown[80];
        return lynx_fail(reader->error, LYNX_INPUT, "the key '%s' is there twice; keep one of them",
                         text_sanitise(shown, sizeof shown, key->text, key->length));
      }
      status = next_event(reader, &event);
      if (status == LYNX_OK) status = read_node(reader, &event, depth, &value);
      if (status != LYNX_OK) return status;
    }
    add_item(reader, node, key, value);
  }
}

/* Takes the event. */
static enum lynx_status read_node(struct yaml_reader *reader, yaml_event_t *event, int depth, struct yaml_node **ret) {
  enum lynx_status status = LYNX_OK;
  struct yaml_node *node = arena_alloc(reader->arena, 1, sizeof *node);
  node->line = (int)event->start_mark.line + 1;
  yaml_event_type_t end = YAML_NO_EVENT;
  if (++reader->n_nodes > YAML_NODES_MAX)
    status = fail_at(reader, LYNX_LIMIT, event->start_mark.line, "more than 20000 values; a contract is smaller than that");
  else if (depth > YAML_DEPTH_MAX) status = fail_at(reader, LYNX_LIMIT, event->start_mark.line, "nested deeper than 16 levels");
  else switch (event->type) {
      case YAML_SCALAR_EVENT:
        status = refuse_decoration(reader, event, event->data.scalar.anchor, event->data.scalar.tag);
        if (status == LYNX_OK && memchr(event->data.scalar.value, 0, event->data.scalar.length) != NULL)
          status = fail_at(reader, LYNX_INPUT, event->start_mark.line, "a zero byte was found inside a value");
        node->kind = YAML_SCALAR;
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->length = event->data.scalar.length;
        node->text = arena_text(reader->arena, (const char *)event->data.scalar.value, node->length);
        break;
      case YAML_MAPPING_START_EVENT:
        status = refuse_decoration(reader, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
        node->kind = YAML_MAP;
        end = YAML_MAPPING_END_EVENT;
        break;
      case YAML_SEQUENCE_START_EVENT:
        status = refuse_decoration(reader, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
        node->kind = YAML_LIST;
        end = YAML_SEQUENCE_END_EVENT;
        break;
      case YAML_ALIAS_EVENT:
        status = fail_at(reader, LYNX_INPUT, event->start_mark.line,
                         "an alias (*) was found; anchors and aliases are not accepted: write the value in place");
        break;
      default: status = fail_at(reader, LYNX_INPUT, event->start_mark.line, "a value was expected here");
    }
  yaml_event_delete(event);
  if (status == LYNX_OK && end != YAML_NO_EVENT) status = read_collection(reader, node, end, depth + 1);
  if (status == LYNX_OK) *ret = node;
  return status;
}

static enum lynx_status read_document(struct yaml_reader *reader, struct yaml_node **ret) {
  bool seen = false;
  for (;;) {
    yaml_event_t event;
    enum lynx_status status = next_event(reader, &event);
    if (status != LYNX_OK) return status;
    yaml_event_type_t type = event.type;
    size_t line = event.start_mark.line;
    if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT || type == YAML_STREAM_END_EVENT ||
        (type == YAML_DOCUMENT_START_EVENT && !seen)) {
      yaml_event_delete(&event);
      if (type == YAML_STREAM_END_EVENT) break;
      continue;
    }
    if (type == YAML_DOCUMENT_START_EVENT) {
      yaml_event_delete(&event);
      return fail_at(reader, LYNX_INPUT, line, "a second YAML document begins here; one file holds one contract");
    }
    seen = true;
    status = read_node(reader, &event, 1, ret);
    if (status != LYNX_OK) return status;
  }
  return seen ? LYNX_OK : fail_at(reader, LYNX_INPUT, 0, "the file is empty");
}

enum lynx_status yaml_parse(const char *text, size_t length, struct arena *arena, struct yaml_node **ret_root, struct lynx_error *error) {
  if (length > YAML_BYTES_MAX) return lynx_fail(error, LYNX_LIMIT, "%zu bytes; at most %d are accepted", length, YAML_BYTES_MAX);
  struct yaml_reader reader = {.arena = arena, .error = error};
  if (!yaml_parser_initialize(&reader.parser)) return lynx_fail(error, LYNX_LIMIT, "no memory for the YAML reader");
  yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
  yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
  struct yaml_node *root = NULL;
  enum lynx_status status = read_document(&reader, &root);
  yaml_parser_delete(&reader.parser);
  if (status == LYNX_OK) *ret_root = root;
  return status;
}

const char *yaml_kind_text(const struct yaml_node *node) {
  static const char *const names[] = {[YAML_SCALAR] = "a value", [YAML_MAP] = "a group of fields", [YAML_LIST] = "a list"};
  return names[node->kind];
}

struct yaml_node *yaml_get(const struct yaml_node *map, const char *key) {
  if (map == NULL || map->kind != YAML_MAP) return NULL;
  for (size_t i = 0; i < map->n_items; i++)
    if (strcmp(map->keys[i]->text, key) == 0) return map->items[i];
  return NULL;
}
