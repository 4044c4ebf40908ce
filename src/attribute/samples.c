#include "attribute/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribute/live_module.h"
#include "executor/layer_map.h"

enum { STACK_TEXT_MAX = 1 << 18, DISTINCT_MAX = 1 << 22 };

static uint64_t hash_text(const char *text) {
  uint64_t hash = 1469598103934665603u;
  for (; *text != 0; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  return hash ^ hash >> 31;
}

static bool weigh(struct samples *s, struct weigher *w, const char *text, int64_t weight) {
  if (2 * w->used >= w->n) {
    struct weigher larger = {.n = w->n == 0 ? 256 : 2 * w->n, .used = w->used};
    if (larger.used > DISTINCT_MAX) return false;
    larger.items = xalloc(larger.n, sizeof *larger.items);
    for (size_t i = 0; i < w->n; i++) {
      if (w->items[i].text == NULL) continue;
      size_t k = w->items[i].hash & (larger.n - 1);
      while (larger.items[k].text != NULL) k = (k + 1) & (larger.n - 1);
      larger.items[k] = w->items[i];
    }
    free(w->items);
    *w = larger;
  }
  uint64_t hash = hash_text(text);
  size_t k = hash & (w->n - 1);
  while (w->items[k].text != NULL && (w->items[k].hash != hash || strcmp(w->items[k].text, text) != 0)) k = (k + 1) & (w->n - 1);
  if (w->items[k].text == NULL) {
    w->items[k] = (struct weighed){.text = arena_copy(&s->arena, text), .hash = hash};
    w->used++;
  }
  w->items[k].weight += weight;
  w->items[k].n++;
  return true;
}

/* --- frames, tidied --- */

static bool is_kernel(struct bytes module) {
  static const char vmlinux[] = "vmlinux";
  if (memmem(module.ptr, module.length, "unknown", 7) != NULL) return false;
  if (module.length > 0 && module.ptr[0] == '[') return true;
  return module.length >= sizeof vmlinux - 1 && memcmp(module.ptr + module.length - (sizeof vmlinux - 1), vmlinux, sizeof vmlinux - 1) == 0;
}

/* "/tmp/perf-19982.map": what a just-in-time compiler wrote down. */
static bool is_jit(struct bytes module) {
  const char *at = memmem(module.ptr, module.length, "/tmp/perf-", 10);
  if (at == NULL) return false;
  const char *p = at + 10, *end = module.ptr + module.length, *digits = p;
  while (p < end && *p >= '0' && *p <= '9') p++;
  return p > digits && end - p >= 4 && memcmp(p, ".map", 4) == 0;
}

static bool is_go_method(const char *name) {
  const char *at = strstr(name, ".(");
  return at != NULL && strstr(at, ").") != NULL;
}

/* One frame's text; inlined frames stand in one symbol, with arrows between, the outermost first. */
static void put_frame(struct buffer *out, struct bytes symbol, struct bytes module, bool inlined, bool java) {
  char name[2048], *to;
  if (bytes_equal(symbol, "[unknown]")) {
    if (bytes_equal(module, "[unknown]")) (void)buffer_text(out, "[unknown]");
    else {
      const char *slash = memrchr(module.ptr, '/', module.length);
      size_t skip = slash != NULL ? (size_t)(slash - module.ptr) + 1 : 0;
      to = name;
      *to++ = '[';
      for (size_t i = skip; i < module.length && to < name + sizeof name - 3; i++)
        if (module.ptr[i] != '"' && module.ptr[i] != '\'') *to++ = module.ptr[i] == ';' ? ':' : module.ptr[i];
      *to++ = ']';
      *to = 0;
      char *bracket = strstr(name, "(");
      if (bracket != NULL) *bracket = 0;
      (void)buffer_text(out, name);
    }
  } else {
    size_t n = symbol.length < sizeof name - 1 ? symbol.length : sizeof name - 1;
    memcpy(name, symbol.ptr, n);
    name[n] = 0;
    for (char *c = name; *c != 0; c++)
      if (*c == ';') *c = ':';
    if (!is_go_method(name))
      for (char *c = strchr(name, '('); c != NULL; c = strchr(c + 1, '('))
        if (strncmp(c, "(anonymous namespace)", 21) != 0) {
          *c = 0;
          break;
        }
    to = name;
    for (const char *c = name; *c != 0; c++)
      if (*c != '"' && *c != '\'') *to++ = *c;
    *to = 0;
    const char *from = java && strchr(name, '/') != NULL && name[0] == 'L' ? name + 1 : name;
    (void)buffer_text(out, from);
  }
  if (inlined) (void)buffer_text(out, "_[i]");
  else if (is_kernel(module)) (void)buffer_text(out, "_[k]");
  else if (is_jit(module)) (void)buffer_text(out, "_[j]");
}

static void put_symbol(struct buffer *out, const struct trace_frame *frame, bool java) {
  struct bytes left = frame->symbol;
  for (bool inlined = false;; inlined = true) {
    const char *arrow = memmem(left.ptr, left.length, "->", 2);
    struct bytes one = {left.ptr, arrow != NULL ? (size_t)(arrow - left.ptr) : left.length};
    (void)buffer_text(out, ";");
    put_frame(out, one, frame->module, inlined, java);
    if (arrow == NULL) return;
    left = (struct bytes){arrow + 2, left.length - one.length - 2};
  }
}

/* "cycles:u", "cpu_core/cycles/P": they go on as time does. Of instructions or cache misses a program has as many as it has. */
bool samples_are_time(const char *event) {
  static const char *const names[] = {"cycles", "cpu-clock", "task-clock", "cpu_clk_unhalted"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    const char *at = strstr(event, names[i]);
    if (at != NULL && (at == event || at[-1] == '/' || strncmp(event, "cpu-cycles", 10) == 0)) return true;
  }
  return event[0] == 0; /* it is not said, and time is what is usual */
}

/* Of several events, the one that is time. */
static void start_over(struct samples *s, const char *event) {
  if (s->n_other == 0) (void)memcpy(s->other, s->event, sizeof s->other);
  s->n_other += s->n + s->n_idle;
  s->n = s->n_idle = s->weight = 0;
  for (size_t i = 0; i < LYNX_COUNT(s->all); i++) {
    free(s->all[i].items);
    s->all[i] = (struct weigher){.items = NULL};
  }
  (void)snprintf(s->event, sizeof s->event, "%s", event);
}

/* The C library, and what else anybody calls: it works for its caller. */
static bool serves_its_caller(struct bytes module) {
  static const char *const maths[] = {"libm.so", "libm-2.", "libmvec"};
  char name[200];
  text_sanitise(name, sizeof name, module.ptr != NULL ? module.ptr : "", module.length);
  const char *file = live_module_file(name);
  bool serves = live_is_c_library(file) || library_serves_its_caller(file);
  for (size_t i = 0; i < LYNX_COUNT(maths); i++) serves = serves || strncmp(file, maths[i], strlen(maths[i])) == 0;
  return serves;
}

/* Whose work a sample is: the innermost frame's module, or else the nearest caller's that such a library works for. */
static struct bytes working_module(struct samples *s, const struct trace_sample *sample) {
  struct bytes innermost = sample->n_frames > 0 ? sample->frames[0].module : bytes_of("[unknown]");
  if (!serves_its_caller(innermost)) return innermost;
  for (size_t i = 1; i < sample->n_frames; i++) {
    struct bytes module = sample->frames[i].module;
    if (module.length == 0 || module.ptr[0] == '[' || serves_its_caller(module)) continue;
    s->served += sample->weight;
    return module;
  }
  return innermost;
}

void samples_add(struct samples *s, const struct trace_sample *sample) {
  char event[64], module[300];
  (void)text_sanitise(event, sizeof event, sample->event.ptr != NULL ? sample->event.ptr : "", sample->event.length);
  if (s->wanted != NULL) (void)snprintf(s->event, sizeof s->event, "%s", s->wanted);
  else if (s->n == 0 && s->n_other == 0 && s->n_idle == 0) (void)memcpy(s->event, event, sizeof event);
  if (strcmp(event, s->event) != 0) {
    if (s->wanted != NULL || samples_are_time(s->event) || !samples_are_time(event)) {
      if (s->n_other++ == 0) (void)memcpy(s->other, event, sizeof event);
      return;
    }
    start_over(s, event);
  }
  struct buffer stack;
  char process[200], key[600];
  int64_t pid = sample->process; /* -1: one number stands there, and that is the thread's */
  (void)text_sanitise(module, sizeof module, sample->command.ptr != NULL ? sample->command.ptr : "", sample->command.length);
  (void)snprintf(process, sizeof process, pid >= 0 ? "%.120s (%lld)" : "%.120s", module, (long long)pid);
  buffer_init(&stack, STACK_TEXT_MAX);
  for (size_t i = 0; sample->command.ptr != NULL && i < sample->command.length; i++)
    (void)buffer_append(&stack, sample->command.ptr[i] == ' ' ? "_" : sample->command.ptr + i, 1);
  for (size_t i = 0; i < stack.length; i++)
    if ((unsigned char)stack.data[i] < 0x20 || stack.data[i] == 0x7f) stack.data[i] = '?';
  bool java = stack.length >= 4 && memcmp(stack.data, "java", 4) == 0;
  for (size_t i = sample->n_frames; i-- > 0;)
    if (sample->frames[i].symbol.length == 0 || sample->frames[i].symbol.ptr[0] != '(') put_symbol(&stack, &sample->frames[i], java);
  if (sample->thread == 0 && sample->process <= 0) { /* a processor that does nothing runs the kernel's process 0: a stack, and no work */
    s->full = !weigh(s, &s->stacks, stack.data != NULL ? stack.data : "", sample->weight) || s->full;
    s->n_idle++;
    buffer_release(&stack);
    return;
  }
  struct bytes working = working_module(s, sample);
  s->full = !weigh(s, &s->stacks, stack.data != NULL ? stack.data : "", sample->weight) || s->full;
  (void)snprintf(key, sizeof key, "%s\t%s", text_sanitise(module, sizeof module, working.ptr, working.length), process);
  s->full = !weigh(s, &s->modules, key, sample->weight) || s->full;
  s->full = !weigh(s, &s->processes, process, sample->weight) || s->full;
  const char *function = stack.data != NULL ? strrchr(stack.data, ';') : NULL;
  if (function != NULL && function[1] != '[') {
    s->full = !weigh(s, &s->functions, function + 1, sample->weight) || s->full;
    s->named += sample->weight;
  }
  if (s->n == 0 || sample->at_ns < s->first_ns) s->first_ns = sample->at_ns;
  if (sample->at_ns > s->last_ns) s->last_ns = sample->at_ns;
  s->n++;
  s->weight += sample->weight;
  buffer_release(&stack);
}

static int by_weight(const void *a, const void *b) {
  const struct weighed *x = a, *y = b;
  if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
  return strcmp(x->text, y->text);
}

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct weighed *)a)->text, ((const struct weighed *)b)->text);
}

static void close_up(struct weigher *w, int (*order)(const void *, const void *)) {
  size_t n = 0;
  for (size_t i = 0; i < w->n; i++)
    if (w->items[i].text != NULL) w->items[n++] = w->items[i];
  w->n = w->used = n;
  if (n > 0) qsort(w->items, n, sizeof *w->items, order);
}

void samples_finish(struct samples *s) {
  close_up(&s->processes, by_weight);
  close_up(&s->modules, by_weight);
  close_up(&s->functions, by_weight);
  close_up(&s->stacks, by_text);
}

void samples_release(struct samples *s) {
  for (size_t i = 0; i < LYNX_COUNT(s->all); i++) free(s->all[i].items);
  arena_release(&s->arena);
  *s = (struct samples){.n = 0};
}

struct sampled_module samples_module(const char *key) {
  struct sampled_module result = {.process = ""};
  const char *tab = strchr(key, '\t');
  size_t n = tab != NULL ? (size_t)(tab - key) : strlen(key);
  if (n > sizeof result.module - 1) n = sizeof result.module - 1;
  memcpy(result.module, key, n);
  if (tab != NULL) result.process = tab + 1;
  return result;
}

double samples_unattributed(const struct samples *s) {
  int64_t sum = 0;
  enum layer layer;
  for (size_t i = 0; i < s->modules.n; i++) {
    struct sampled_module m = samples_module(s->modules.items[i].text);
    if (!samples_layer(m.module, &layer)) sum += s->modules.items[i].weight;
  }
  return s->weight > 0 ? (double)sum / (double)s->weight : 0;
}

bool samples_layer(const char *module, enum layer *ret) {
  const char *slash = strrchr(module, '/'), *file = slash != NULL ? slash + 1 : module;
  if (strstr(module, "unknown") != NULL || module[0] == 0) return false;
  if (serves_its_caller(bytes_of(module))) return false; /* and who called is not known */
  if (!is_kernel(bytes_of(module))) return strstr(file, ".so") != NULL && layer_of_library(file, ret);
  *ret = LAYER_SYSTEM;
  return true;
}

bool samples_folded(const struct samples *s, struct buffer *out) {
  bool good = true;
  for (size_t i = 0; i < s->stacks.n && good; i++)
    good = buffer_printf(out, "%s %lld\n", s->stacks.items[i].text, (long long)s->stacks.items[i].weight);
  return good;
}
