/* base/yaml.h: a YAML text as a tree in which every node knows its line.
 * Shapes   scalar: text, length, and whether it was quoted; map: key/value pairs in order; list: items
 * Errors   INPUT with the line: not YAML, a key twice, anchors, aliases, tags or several documents (a contract says everything
 *          in place, so nothing can explode); LIMIT: more bytes, nodes or depth than stated here
 * Memory   the tree lives in the arena.   Source: libyaml's event interface */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/arena.h"

enum { YAML_BYTES_MAX = 1 << 20, YAML_NODES_MAX = 20000, YAML_DEPTH_MAX = 16 };

enum yaml_kind { YAML_SCALAR, YAML_MAP, YAML_LIST };

struct yaml_node {
  enum yaml_kind kind;
  int line;
  bool quoted;
  const char *text; /* scalar */
  size_t length;
  struct yaml_node **keys, **items; /* map: both; list: items */
  size_t n_items;
};

enum lynx_status yaml_parse(const char *text, size_t length, struct arena *arena, struct yaml_node **ret_root,
                            struct lynx_error *error) LYNX_MUST_CHECK;

const char *yaml_kind_text(const struct yaml_node *node);

/* The value of a key, or NULL. */
struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

#endif
