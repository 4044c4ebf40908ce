#include "attribute/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 1 << 18, DEPTH_MAX = 512 };

/* The ranges that are open on one thread. */
struct stack {
  struct {
    int64_t end_ns;
    uint32_t node;
  } * open;
  size_t n, room;
};

struct building {
  struct call_tree *tree;
  uint32_t *slots; /* index of a node + 1 by (parent, name) */
  size_t n_slots;
};

static uint32_t child_of(struct building *b, uint32_t parent, uint32_t name) {
  struct call_tree *tree = b->tree;
  uint64_t hash = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15u;
  size_t k = (hash ^ hash >> 32) & (b->n_slots - 1);
  for (; b->slots[k] != 0; k = (k + 1) & (b->n_slots - 1)) {
    const struct call_node *n = &tree->nodes[b->slots[k] - 1];
    if (n->parent == parent && n->name == name) return b->slots[k] - 1;
  }
  if (tree->n_nodes == NODES_MAX) return parent;
  tree->nodes = xroom(tree->nodes, tree->n_nodes, &tree->room, sizeof *tree->nodes);
  tree->nodes[tree->n_nodes] = (struct call_node){.parent = parent, .name = name};
  b->slots[k] = (uint32_t)++tree->n_nodes;
  return (uint32_t)tree->n_nodes - 1;
}

static void push(struct stack *stack, int64_t end_ns, uint32_t node) {
  if (stack->n == DEPTH_MAX) return;
  stack->open = xroom(stack->open, stack->n, &stack->room, sizeof *stack->open);
  stack->open[stack->n].end_ns = end_ns;
  stack->open[stack->n++].node = node;
}

void call_tree_build(const struct timeline *t, int64_t from_ns, struct call_tree *ret) {
  struct building b = {.tree = ret, .n_slots = 64};
  struct stack *stacks = xalloc(t->n_tracks + 1, sizeof *stacks);
  uint32_t *node_of_link = xalloc(t->n_links + 1, sizeof *node_of_link);
  *ret = (struct call_tree){.room = 1024, .n_nodes = 1};
  ret->nodes = xalloc(ret->room, sizeof *ret->nodes);
  while (b.n_slots < 2 * t->n_spans && b.n_slots < 2 * NODES_MAX) b.n_slots *= 2;
  b.slots = xalloc(b.n_slots, sizeof *b.slots);
  for (size_t i = 0; i < t->n_spans; i++) {
    const struct span *s = &t->spans[i];
    if (kind_on_device((enum trace_kind)s->kind)) {
      if (s->flags & SPAN_ORPHAN) continue;
      uint32_t node = child_of(&b, s->link != 0 ? node_of_link[s->link - 1] : 0, s->name);
      if (s->start_ns < from_ns) continue;
      ret->nodes[node].device_ns = sum_ns(ret->nodes[node].device_ns, s->duration_ns);
      ret->nodes[node].n++;
      continue;
    }
    const struct track *track = &t->tracks[s->track];
    if (track->on_device || (t->has_calls && !track->launches)) continue;
    struct stack *stack = &stacks[s->track];
    while (stack->n > 0 && stack->open[stack->n - 1].end_ns <= s->start_ns) stack->n--;
    uint32_t here = stack->n > 0 ? stack->open[stack->n - 1].node : 0;
    if (s->kind == TRACE_RUNTIME) {
      if (s->link != 0) node_of_link[s->link - 1] = here;
      continue;
    }
    if (s->kind == TRACE_OVERHEAD) continue;
    uint32_t node = child_of(&b, here, s->name);
    if (s->start_ns >= from_ns) {
      ret->nodes[node].host_ns = sum_ns(ret->nodes[node].host_ns, s->duration_ns);
      ret->nodes[node].n++;
    }
    push(stack, s->start_ns + s->duration_ns, node);
  }
  for (size_t i = 0; i < t->n_tracks; i++) free(stacks[i].open);
  free(stacks);
  free(node_of_link);
  free(b.slots);
}

void call_tree_release(struct call_tree *tree) {
  free(tree->nodes);
  *tree = (struct call_tree){.n_nodes = 0};
}

/* A frame: no ';', which separates frames, and nothing that is not text. */
static bool put_frame(struct buffer *out, const struct span_name *name) {
  char text[256];
  (void)text_sanitise(text, sizeof text, name->text, name->length);
  for (char *c = text; *c != 0; c++)
    if (*c == ';') *c = ':';
  return buffer_text(out, text);
}

/* Where nothing ran on a device: a node's own time on the host, without that of those it called. */
static int64_t *own_host_ns(const struct call_tree *tree) {
  int64_t *own = xalloc(tree->n_nodes, sizeof *own);
  for (size_t i = 1; i < tree->n_nodes; i++) own[i] += tree->nodes[i].host_ns;
  for (size_t i = 1; i < tree->n_nodes; i++) own[tree->nodes[i].parent] -= tree->nodes[i].host_ns;
  return own;
}

bool call_tree_folded(const struct call_tree *tree, const struct timeline *timeline, struct buffer *out) {
  bool good = true, device = false;
  for (size_t i = 1; i < tree->n_nodes; i++) device = device || tree->nodes[i].device_ns > 0;
  int64_t *own = own_host_ns(tree);
  for (size_t i = 1; i < tree->n_nodes && good; i++) {
    const struct call_node *node = &tree->nodes[i];
    uint32_t path[DEPTH_MAX + 2];
    size_t n = 0;
    int64_t ns = device ? node->device_ns : own[i];
    if (ns <= 0) continue;
    for (uint32_t at = (uint32_t)i; at != 0 && n < LYNX_COUNT(path); at = tree->nodes[at].parent) path[n++] = at;
    for (; n > 0; n--) good = put_frame(out, &timeline->names[tree->nodes[path[n - 1]].name]) && good && (n == 1 || buffer_text(out, ";"));
    good = buffer_printf(out, " %lld\n", (long long)ns) && good;
  }
  free(own);
  return good;
}
