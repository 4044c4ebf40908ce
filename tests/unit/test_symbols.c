/* What the kernel's functions say that it does, and the functions of an ELF file: this program's own. */
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/* A stripped program of Go 1.20: code at 0x401000, which lies at 0x1000 of the file; three functions of 0x40, 0x20 and 0x20 bytes, the first
 * at the entry point. code: as the table says; 0, where a program may lie anywhere. */
enum { CODE_AT = 0x1000, TABLE_AT = 0x200, N_FUNCTIONS = 3 };
#define CODE UINT64_C(0x401000)

struct go_file {
  Elf64_Ehdr head;
  Elf64_Phdr load;
  Elf64_Shdr sections[3];
  char section_names[40];
  _Alignas(8) unsigned char gap[TABLE_AT - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr) - 3 * sizeof(Elf64_Shdr) - 40];
  struct {
    uint32_t mark;
    uint8_t zero[2], quantum, pointer;
    uint64_t n, n_files, code, names, units, files, programs, entries;
    char text[64];
    uint32_t functions[2 * N_FUNCTIONS + 2]; /* where each begins and its record lies; the code's end */
    uint32_t records[2 * N_FUNCTIONS];       /* where it begins, its name */
  } table;
};

static void put_go_file(struct go_file *f, uint64_t code) {
  static const char names[] = "_rt0_amd64_linux\0main.tokenize\0\0runtime.main";
  static const uint32_t begins[] = {0, 0x40, 0x60, 0x80}, at[] = {0, 17, 31};
  const size_t functions = offsetof(struct go_file, table.functions) - TABLE_AT,
               records = offsetof(struct go_file, table.records) - TABLE_AT;
  memset(f, 0, sizeof *f);
  memcpy(f->head.e_ident, ELFMAG "\2\1\1", 7);
  f->head = (Elf64_Ehdr){.e_type = ET_EXEC,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_entry = CODE,
                         .e_phoff = offsetof(struct go_file, load),
                         .e_shoff = offsetof(struct go_file, sections),
                         .e_ehsize = sizeof f->head,
                         .e_phentsize = sizeof f->load,
                         .e_phnum = 1,
                         .e_shentsize = sizeof f->sections[0],
                         .e_shnum = 3,
                         .e_shstrndx = 2};
  memcpy(f->head.e_ident, ELFMAG "\2\1\1", 7);
  f->load = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = CODE_AT, .p_vaddr = CODE, .p_filesz = 0x100, .p_memsz = 0x100};
  memcpy(f->section_names, "\0.gopclntab\0.shstrtab", 22);
  f->sections[1] = (Elf64_Shdr){
      .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = TABLE_AT, .sh_size = sizeof f->table, .sh_addralign = 8};
  f->sections[2] = (Elf64_Shdr){.sh_name = 12,
                                .sh_type = SHT_STRTAB,
                                .sh_offset = offsetof(struct go_file, section_names),
                                .sh_size = sizeof f->section_names,
                                .sh_addralign = 1};
  f->table.mark = 0xfffffff1;
  f->table.quantum = 1;
  f->table.pointer = 8;
  f->table.n = N_FUNCTIONS;
  f->table.code = code;
  f->table.names = offsetof(struct go_file, table.text) - TABLE_AT;
  f->table.entries = functions;
  memcpy(f->table.text, names, sizeof names);
  for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
    f->table.functions[2 * i] = f->table.records[2 * i] = begins[i];
    f->table.functions[2 * i + 1] = (uint32_t)(records - functions) + i * 2 * (uint32_t)sizeof(uint32_t);
    f->table.records[2 * i + 1] = at[i];
  }
  f->table.functions[2 * (size_t)N_FUNCTIONS] = begins[N_FUNCTIONS];
}

static void names_of(const struct go_file *file, char names[5][ELF_NAME_MAX]) {
  static const uint64_t offsets[5] = {CODE_AT + 0x3f, CODE_AT + 0x40, CODE_AT + 0x5f, CODE_AT + 0x60, CODE_AT + 0x80};
  int fd = memfd_create("go", MFD_CLOEXEC);
  memset(names, 0, 5 * sizeof names[0]);
  CHECK(fd >= 0 && write(fd, file, sizeof *file) == (ssize_t)sizeof *file && ftruncate(fd, 0x2000) == 0);
  elf_symbols(fd, offsets, 5, INT64_MAX, take, names);
  (void)close(fd);
}

static void check_stripped_go(void) {
  static struct go_file file;
  char names[5][ELF_NAME_MAX];
  for (int known = 0; known < 2; known++) {
    put_go_file(&file, known ? CODE : 0);
    names_of(&file, names);
    CHECK_TEXT(names[0], "_rt0_amd64_linux");
    CHECK_TEXT(names[1], "main.tokenize");
    CHECK_TEXT(names[2], "main.tokenize");
    CHECK_TEXT(names[3], ""); /* it has no name */
    CHECK_TEXT(names[4], ""); /* behind the last */
  }
  file.head.e_entry = 0; /* another linker's entry point: where the code begins is not known */
  put_go_file(&file, 0);
  memcpy(file.table.text, "_start", 7);
  names_of(&file, names);
  CHECK_TEXT(names[1], "");
  put_go_file(&file, CODE);
  file.table.mark = 0xfffffffb; /* Go 1.2 to 1.15 */
  names_of(&file, names);
  CHECK_TEXT(names[1], "");
  const uint64_t bad[] = {4, UINT64_MAX, UINT64_C(1) << 61, sizeof file.table};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) { /* whatever a table says of itself, nothing behind it is read */
    put_go_file(&file, CODE);
    file.table.n = bad[i] > 4 ? bad[i] : 9;
    names_of(&file, names);
    put_go_file(&file, CODE);
    file.table.names = bad[i] > 4 ? bad[i] : sizeof file.table - 3;
    names_of(&file, names);
    CHECK_TEXT(names[1], "");
    put_go_file(&file, CODE);
    file.table.entries = bad[i] > 4 ? bad[i] : sizeof file.table - 5;
    names_of(&file, names);
    CHECK_TEXT(names[1], "");
  }
}

int main(void) {
  check_functions();
  check_stripped_go();
  check_chains();
  check_own_symbols();
  return check_end();
}
