#include "telemetry/kept_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "telemetry/code_names.h"
#include "telemetry/elf_symbols.h"

struct kept_stack {
  uint32_t process;
  const char *doing; /* of the kernel; NULL */
  struct stack_copy *copy;
  size_t n; /* frames, once unwound; the kernel's is none of them */
  uint64_t *addresses;
  char *text;
};

struct kept_stacks {
  const char *source, *purpose;
  struct kept_stack items[KEPT_STACKS_MAX];
  size_t n;
  uint64_t n_seen;
  struct random_stream random;
};

struct kept_stacks *kept_stacks_new(const char *source, const char *purpose) {
  struct kept_stacks *kept = xalloc(1, sizeof *kept);
  kept->source = source;
  kept->purpose = purpose;
  random_init(&kept->random, 1, "kept stacks");
  return kept;
}

/* Each that was seen has the same chance to stay (Vitter's algorithm R). */
struct stack_copy *kept_stacks_next(struct kept_stacks *kept, uint32_t process, const char *doing) {
  uint64_t place = kept->n_seen++;
  if (place >= KEPT_STACKS_MAX) place = random_below(&kept->random, kept->n_seen);
  if (place >= KEPT_STACKS_MAX) return NULL;
  struct kept_stack *stack = &kept->items[place];
  if (stack->copy == NULL) stack->copy = xalloc(1, sizeof *stack->copy);
  if (place == kept->n) kept->n++;
  *stack = (struct kept_stack){.process = process, .doing = doing, .copy = stack->copy};
  return stack->copy;
}

static int by_process(const void *a, const void *b) {
  const struct kept_stack *x = a, *y = b;
  return x->process < y->process ? -1 : x->process > y->process;
}

static int by_address(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Of one thread, the same ones beside one another. */
static int by_text(const void *a, const void *b) {
  const struct kept_stack *x = a, *y = b;
  if (x->copy->thread != y->copy->thread) return x->copy->thread < y->copy->thread ? -1 : 1;
  return strcmp(x->text, y->text);
}

static void take_chain(void *context, size_t i, const uint64_t *addresses, size_t n) {
  struct kept_stack *stack = (struct kept_stack *)context + i;
  stack->addresses = xalloc(n, sizeof *addresses);
  memcpy(stack->addresses, addresses, n * sizeof *addresses);
  stack->n = n;
}

/* --- as text --- */

/* Every address of one process's stacks, with its name. */
struct named {
  struct arena arena;
  uint64_t *addresses; /* sorted, each once */
  struct code_name *names;
  size_t n;
};

static void name_all(const struct root *root, const struct kept_stack *stacks, size_t n, struct named *ret) {
  size_t n_all = 0;
  *ret = (struct named){.n = 0};
  for (size_t i = 0; i < n; i++) n_all += stacks[i].n;
  ret->addresses = xalloc(n_all + 1, sizeof *ret->addresses);
  ret->names = xalloc(n_all + 1, sizeof *ret->names);
  n_all = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < stacks[i].n; k++) ret->addresses[n_all++] = stacks[i].addresses[k];
  if (n_all > 0) qsort(ret->addresses, n_all, sizeof *ret->addresses, by_address);
  for (size_t i = 0; i < n_all; i++)
    if (ret->n == 0 || ret->addresses[ret->n - 1] != ret->addresses[i]) ret->addresses[ret->n++] = ret->addresses[i];
  code_names(root, stacks[0].process, ret->addresses, ret->n, &ret->arena, ret->names);
}

/* Sanitised, without the ';' that divides frames and the brackets that hold the file. */
static void put_words(char *to, size_t size, const char *text) {
  (void)text_sanitise(to, size, text, strlen(text));
  for (char *c = to; *c != 0; c++)
    if (*c == ';' || *c == '(' || *c == ')') *c = ':';
}

/* Frame by frame outward, written from the end of the text toward its beginning, as many as there is room for. */
static char *chain_text(const struct kept_stack *stack, const struct named *named) {
  char text[STACK_TEXT_MAX], function[ELF_NAME_MAX], module[4096], frame[sizeof function + sizeof module + 8];
  size_t at = sizeof text - 1, kernel = stack->doing != NULL;
  text[at] = 0;
  for (size_t k = 0; k < stack->n + kernel; k++) {
    if (kernel && k == 0) (void)snprintf(frame, sizeof frame, "%s ([kernel])", stack->doing);
    else {
      const uint64_t *place = bsearch(&stack->addresses[k - kernel], named->addresses, named->n, sizeof *named->addresses, by_address);
      const struct code_name *name = &named->names[place - named->addresses];
      put_words(function, sizeof function, name->function != NULL ? name->function : "?");
      put_words(module, sizeof module, name->module);
      (void)snprintf(frame, sizeof frame, "%s (%s)", function, module);
    }
    size_t length = strlen(frame), divide = k > 0;
    if (length + divide > at) break;
    if (divide) text[--at] = ';';
    at -= length;
    memcpy(text + at, frame, length);
  }
  return xcopy(text + at);
}

static void deliver(const char *source, struct kept_stack *stacks, size_t n, const struct root *root, const struct profiler_sink *sink) {
  struct named named;
  size_t n_chains = 0;
  for (size_t i = 0; i < n; i++) /* what could not be unwound says nothing of who called */
    if (stacks[i].n > 0) {
      struct kept_stack chain = stacks[i];
      stacks[i] = stacks[n_chains];
      stacks[n_chains++] = chain;
    }
  if (n_chains == 0) return;
  name_all(root, stacks, n_chains, &named);
  for (size_t i = 0; i < n_chains; i++) stacks[i].text = chain_text(&stacks[i], &named);
  qsort(stacks, n_chains, sizeof *stacks, by_text);
  for (size_t i = 0, next; i < n_chains; i = next) {
    for (next = i + 1; next < n_chains && by_text(&stacks[i], &stacks[next]) == 0;) next++;
    sink->stack(sink->context, source, stacks[i].process, stacks[i].copy->thread, stacks[i].text, (int64_t)(next - i));
  }
  free(named.addresses);
  free(named.names);
  arena_release(&named.arena);
}

void kept_stacks_finish(struct kept_stacks *kept, const struct root *root, const struct profiler_sink *sink) {
  const struct stack_copy **copies = xalloc(KEPT_STACKS_MAX, sizeof(const struct stack_copy *));
  int64_t deadline_ns = clock_now(&clock_system) + (int64_t)UNWOUND_MOST_S * 1000000000;
  bool all = true;
  if (kept->n > 0) qsort(kept->items, kept->n, sizeof kept->items[0], by_process);
  for (size_t i = 0, next; i < kept->n; i = next) {
    for (next = i; next < kept->n && kept->items[next].process == kept->items[i].process; next++) copies[next] = kept->items[next].copy;
    all = unwound_stacks(root, kept->items[i].process, copies + i, next - i, deadline_ns, take_chain, &kept->items[i]) && all;
    deliver(kept->source, &kept->items[i], next - i, root, sink);
  }
  char note[200];
  (void)snprintf(note, sizeof note, "%s: not every stack could be unwound", kept->purpose);
  if (!all) sink->note(sink->context, note);
  for (size_t i = 0; i < kept->n; i++) {
    free(kept->items[i].copy);
    free(kept->items[i].addresses);
    free(kept->items[i].text);
  }
  free(copies);
  free(kept);
}
