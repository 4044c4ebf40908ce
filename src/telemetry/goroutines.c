#include "telemetry/goroutines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "telemetry/elf_symbols.h"

enum { PROGRAMS_MAX = 16, GOROUTINES_MAX = 1 << 20, SCHED_AT = 56, EMPTY_STACK = 64 /* of one that ended, kept to be used again */ };
#define NAMING_NS INT64_C(2000000000)

struct goroutines {
  struct go_program {
    int64_t process;
    uint64_t list, processors; /* where runtime.allgs and runtime.gomaxprocs lie; 0: it is none of Go's */
    size_t next;
  } programs[PROGRAMS_MAX];
  size_t n;
};

struct goroutines *goroutines_new(void) {
  return xalloc(1, sizeof(struct goroutines));
}

void goroutines_free(struct goroutines *g) {
  free(g);
}

/* Where the program's file begins in the process: what is added to the addresses of one that may lie anywhere. */
static uint64_t begin_of(const struct root *root, int64_t process, const char *exe) {
  char path[64];
  struct buffer text;
  unsigned long long from = 0;
  (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)process);
  buffer_init(&text, 16 << 20);
  const char *found = root_read(root, path, &text, NULL) == LYNX_OK && text.length > 0 ? strstr(text.data, exe) : NULL;
  while (found != NULL && found > text.data && found[-1] != '\n') found--;
  if (found == NULL || sscanf(found, "%llx", &from) != 1) from = 0;
  buffer_release(&text);
  return from;
}

static bool may_lie_anywhere(int fd) {
  unsigned char head[18];
  return pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head && head[16] == 3; /* ET_DYN */
}

void goroutines_find(struct goroutines *g, const struct root *root, int64_t process) {
  char path[64], exe[4096];
  for (size_t i = 0; i < g->n; i++)
    if (g->programs[i].process == process) return;
  if (g->n == PROGRAMS_MAX || root->path[0] != 0) return;
  struct go_program *program = &g->programs[g->n++];
  *program = (struct go_program){.process = process};
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)process);
  bool named = root_read_link(root, path, exe, sizeof exe);
  int fd = named ? root_open(root, path) : -1;
  if (fd < 0) return;
  int64_t deadline_ns = clock_now(&clock_system) + NAMING_NS;
  uint64_t list = elf_object(fd, "runtime.allgs", deadline_ns),
           processors = list != 0 ? elf_object(fd, "runtime.gomaxprocs", deadline_ns) : 0;
  uint64_t begin = list != 0 && may_lie_anywhere(fd) ? begin_of(root, process, exe) : 0;
  bool placed = list != 0 && (begin != 0 || !may_lie_anywhere(fd));
  program->list = placed ? list + begin : 0;
  program->processors = placed && processors != 0 ? processors + begin : 0;
  (void)close(fd);
}

static bool read_words(int64_t process, uint64_t from, uint64_t *ret, size_t n) {
  struct iovec here = {ret, n * sizeof *ret}, there = {(void *)(uintptr_t)from, n * sizeof *ret}; // NOLINT(performance-no-int-to-ptr)
  return process_vm_readv((pid_t)process, &here, 1, &there, 1, 0) == (ssize_t)(n * sizeof *ret);
}

int64_t goroutines_processors(const struct goroutines *g) {
  for (size_t i = 0; i < g->n; i++) {
    uint64_t word;
    if (g->programs[i].processors == 0 || !read_words(g->programs[i].process, g->programs[i].processors, &word, 1)) continue;
    int32_t n = (int32_t)(word & UINT32_MAX);
    if (n > 0) return n;
  }
  return 0;
}

static void look_at(int64_t process, uint64_t goroutine, struct kept_stacks *kept) {
  static _Thread_local struct stack_copy copy;
  uint64_t bounds[2], sched[2]; /* the stack's ends; its pointer and the instruction, as they were when it was parked */
  if (!read_words(process, goroutine, bounds, 2) || !read_words(process, goroutine + SCHED_AT, sched, 2)) return;
  if (sched[0] < bounds[0] || sched[0] >= bounds[1] || bounds[1] - sched[0] <= EMPTY_STACK || sched[1] == 0 ||
      !stack_copy_read(&copy, process, sched[0]))
    return;
  if (copy.n_bytes > bounds[1] - sched[0]) copy.n_bytes = (uint32_t)(bounds[1] - sched[0]);
  copy.thread = (uint32_t)process;
  unwound_set_registers(&copy, sched[0], sched[1], 0);
  struct stack_copy *to = kept_stacks_next(kept, (uint32_t)process, "goroutine");
  if (to != NULL) *to = copy;
}

void goroutines_look(struct goroutines *g, struct kept_stacks *kept) {
  for (size_t i = 0; i < g->n; i++) {
    struct go_program *p = &g->programs[i];
    uint64_t slice[2], one; /* where its items are; how many */
    if (p->list == 0 || !read_words(p->process, p->list, slice, 2) || slice[1] == 0 || slice[1] > GOROUTINES_MAX) continue;
    for (size_t k = 0; k < GOROUTINES_LOOK && k < slice[1]; k++, p->next++)
      if (read_words(p->process, slice[0] + 8 * (p->next % slice[1]), &one, 1)) look_at(p->process, one, kept);
  }
}
