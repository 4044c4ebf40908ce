/* What the kernel's functions say that it does, and the functions of an ELF file: this program's own. */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "telemetry/elf_symbols.h"
#include "telemetry/kernel_work.h"
#include "tests/machine.h"

static void check_functions(void) {
  static const struct {
    const char *name;
    enum kernel_work work;
  } cases[] = {{"__x64_sys_futex", KERNEL_LOCKS},
               {"__arm64_sys_sendto", KERNEL_NETWORK},
               {"__x64_sys_sched_yield", KERNEL_YIELD},
               {"asm_exc_page_fault", KERNEL_MEMORY},
               {"ext4_file_write_iter", KERNEL_FILES},
               {"__x64_sys_write", KERNEL_OTHER},
               {"asm_sysvec_apic_timer_interrupt", KERNEL_INTERRUPTS},
               {"__schedule", KERNEL_SCHEDULER},
               {"memcpy", KERNEL_OTHER},
               {"", KERNEL_OTHER}};
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) CHECK_INT(kernel_work_of_function(cases[i].name), cases[i].work);
}

static void check_chains(void) {
  machine_begin();
  const struct root root = {top};
  CHECK(kernel_symbols_read(&root) == NULL);
  put("/proc/kallsyms", "0000000000000000 T __x64_sys_futex\n"); /* kernel.kptr_restrict */
  CHECK(kernel_symbols_read(&root) == NULL);
  put("/proc/kallsyms", "ffff000000000300 T tcp_sendmsg\t[ipv4]\nffff000000000100 T __x64_sys_write\nffff000000000200 t vfs_write\n"
                        "ffff000000000400 T asm_exc_page_fault\nffff000000000500 D some_data\ngarbage\n\nffff000000000600\n");
  struct kernel_symbols *s = kernel_symbols_read(&root);
  CHECK(s != NULL);
  const uint64_t below = UINT64_C(0xffff000000000000), mark = (uint64_t)-128;
  const uint64_t send[] = {mark, below + 0x3ff, below + 0x210, below + 0x110};                 /* write, to a socket */
  const uint64_t fault[] = {mark, below + 0x410, below + 0x310, below + 0x210, below + 0x110}; /* a fault in it is network's */
  const uint64_t unknown[] = {mark, below + 0x210, 5};
  CHECK_INT(kernel_work_of(s, send, LYNX_COUNT(send)), KERNEL_NETWORK);
  CHECK_INT(kernel_work_of(s, fault, LYNX_COUNT(fault)), KERNEL_NETWORK);
  CHECK_INT(kernel_work_of(s, fault, 2), KERNEL_MEMORY);
  CHECK_INT(kernel_work_of(s, unknown, LYNX_COUNT(unknown)), KERNEL_OTHER);
  CHECK_INT(kernel_work_of(s, &mark, 1), KERNEL_OTHER); /* the mark lies behind the last symbol */
  CHECK_INT(kernel_work_of(s, send, 0), KERNEL_OTHER);
  CHECK_INT(kernel_work_of(NULL, send, 1), KERNEL_OTHER);
  kernel_symbols_free(s);
  machine_end();
}

/* Where this program's code lies in its file. */
static int offset_of_code(struct dl_phdr_info *info, size_t size, void *context) {
  uint64_t *ret = context, address = (uint64_t)(uintptr_t)check_chains - info->dlpi_addr; /* of a function of this file */
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && address >= h->p_vaddr && address < h->p_vaddr + h->p_filesz) *ret = address - h->p_vaddr + h->p_offset;
  }
  return 1; /* the first is the program itself */
}

static void take(void *context, size_t i, const char *name) {
  char *names = context;
  (void)snprintf(names + i * ELF_NAME_MAX, ELF_NAME_MAX, "%s", name);
}

static void check_own_symbols(void) {
  uint64_t offsets[3] = {0, 0, UINT64_MAX}; /* the head of the file; a function; no place of it */
  char names[3][ELF_NAME_MAX] = {{0}};
  (void)dl_iterate_phdr(offset_of_code, &offsets[1]);
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0 && offsets[1] > 0);
  elf_symbols(fd, offsets, 3, INT64_MAX, take, names);
  CHECK_TEXT(names[1], "check_chains");
  CHECK_TEXT(names[0], "");
  CHECK_TEXT(names[2], "");
  elf_symbols(fd, offsets, 0, INT64_MAX, take, names);
  (void)close(fd);
  fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC); /* no such file */
  elf_symbols(fd, offsets, 3, INT64_MAX, take, names);
  (void)close(fd);
}

int main(void) {
  check_functions();
  check_chains();
  check_own_symbols();
  return check_end();
}
