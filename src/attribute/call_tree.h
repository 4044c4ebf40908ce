/* attribute/call_tree.h: device time by the host's call path: which ranges, Python functions and operators were open when it was launched.
 * Shapes   nodes[0] is the root; a node's parent stands before it
 * Limits   262,144 nodes and a depth of 512: what is beyond counts with the deepest node that is kept */
#ifndef ATTRIBUTE_CALL_TREE_H
#define ATTRIBUTE_CALL_TREE_H

#include "attribute/timeline.h"

struct call_node {
  uint32_t parent, name;         /* name: of the timeline; the root's means nothing */
  int64_t device_ns, host_ns, n; /* device time launched from this very node; its own spans' time and number */
};

struct call_tree {
  struct call_node *nodes;
  size_t n_nodes, room;
};

/* from_ns: what began before it is on the way, and counts nothing itself; INT64_MIN: all counts. */
void call_tree_build(const struct timeline *timeline, int64_t from_ns, struct call_tree *ret);
void call_tree_release(struct call_tree *tree);

/* "function;function;operator;kernel TIME" for each path with device time, in nanoseconds: what flame graph tools read. */
bool call_tree_folded(const struct call_tree *tree, const struct timeline *timeline, struct buffer *out);

#endif
