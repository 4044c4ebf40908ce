#include "telemetry/unwound.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cage.h"
#include "base/clock.h"
#include "base/number.h"

#if defined __x86_64__ || defined __aarch64__
#include <asm/perf_regs.h>
#endif

enum { MAPS_MAX = 16 << 20, MODULES_MAX = 900, PATH_SIZE = 4200, TRIES_MAX = 4 };

/* What the kernel gives, and where DWARF has it: by the ABIs of System V for x86-64 and AArch64. */
#if defined __x86_64__
enum { N_REGISTERS = 17, STACK_REGISTER = 7, ADDRESS_REGISTER = 8, FRAME_REGISTER = 6 };
static const unsigned char in_dwarf[N_REGISTERS] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15};
uint64_t unwound_register_mask(void) {
  return UINT64_C(0x1ff) | UINT64_C(0xff) << PERF_REG_X86_R8; /* AX to IP, R8 to R15 */
}
#elif defined __aarch64__
enum { N_REGISTERS = 33, STACK_REGISTER = 31, ADDRESS_REGISTER = 32, FRAME_REGISTER = 29 };
static const unsigned char in_dwarf[N_REGISTERS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                                    17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
uint64_t unwound_register_mask(void) {
  return (UINT64_C(1) << PERF_REG_ARM64_MAX) - 1;
}
#else
enum { N_REGISTERS = 1, STACK_REGISTER = 0, ADDRESS_REGISTER = 0, FRAME_REGISTER = 0 };
static const unsigned char in_dwarf[N_REGISTERS] = {0};
uint64_t unwound_register_mask(void) {
  return 0;
}
#endif

void unwound_set_registers(struct stack_copy *copy, uint64_t stack, uint64_t address, uint64_t frame) {
  memset(copy->registers, 0, sizeof copy->registers);
  copy->registers[FRAME_REGISTER] = frame;
  copy->registers[STACK_REGISTER] = stack;
  copy->registers[ADDRESS_REGISTER] = address;
}

/* Page by page: what lies behind the last one of a stack may not be there. */
bool stack_copy_read(struct stack_copy *copy, int64_t process, uint64_t stack) {
  enum { PAGE = 4096 };
  struct iovec here = {copy->bytes, sizeof copy->bytes}, there[UNWOUND_STACK_MAX / PAGE + 2];
  size_t n = 0;
  for (size_t at = 0; at < sizeof copy->bytes && n < LYNX_COUNT(there); n++) {
    size_t room = PAGE - (size_t)((stack + at) % PAGE), left = sizeof copy->bytes - at, length = room < left ? room : left;
    there[n] = (struct iovec){(void *)(uintptr_t)(stack + at), length}; // NOLINT(performance-no-int-to-ptr)
    at += length;
  }
  ssize_t got = process_vm_readv((pid_t)process, &here, 1, there, n, 0);
  copy->n_bytes = got > 0 ? (uint32_t)got : 0;
  return copy->n_bytes >= 2 * sizeof(uint64_t);
}

/* What the program answers for one stack. */
struct answer {
  uint32_t i, n;
  uint64_t addresses[UNWOUND_FRAMES_MAX];
};

/* --- the program that unwinds --- */

struct unwinding {
  Dwfl *dwfl;
  const struct stack_copy *copy;
  struct answer answer;
};

static pid_t next_thread(Dwfl *dwfl, void *context, void **ret_thread) {
  const struct unwinding *u = context;
  (void)dwfl;
  if (*ret_thread != NULL) return 0;
  *ret_thread = context;
  return (pid_t)u->copy->thread;
}

static bool get_thread(Dwfl *dwfl, pid_t thread, void *context, void **ret_thread) {
  (void)dwfl, (void)thread;
  *ret_thread = context;
  return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *context) {
  const struct stack_copy *copy = ((const struct unwinding *)context)->copy;
  uint64_t from = copy->registers[STACK_REGISTER];
  (void)dwfl;
  if (address < from || address - from > copy->n_bytes || copy->n_bytes - (address - from) < sizeof *ret) return false;
  memcpy(ret, copy->bytes + (address - from), sizeof *ret);
  return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context) {
  const struct stack_copy *copy = ((const struct unwinding *)context)->copy;
  Dwarf_Word words[UNWOUND_REGISTERS_MAX] = {0};
  for (int i = 0; i < N_REGISTERS; i++) words[in_dwarf[i]] = copy->registers[i];
  dwfl_thread_state_register_pc(thread, copy->registers[ADDRESS_REGISTER]);
  return dwfl_thread_state_registers(thread, 0, N_REGISTERS < 32 ? N_REGISTERS : 32, words); /* AArch64: the 33rd is no register */
}

static int take_frame(Dwfl_Frame *frame, void *context) {
  struct answer *answer = &((struct unwinding *)context)->answer;
  Dwarf_Addr address;
  bool exact;
  if (!dwfl_frame_pc(frame, &address, &exact) || address == 0) return DWARF_CB_ABORT;
  answer->addresses[answer->n] = address - (answer->n > 0 && !exact); /* where it returns to is behind the call */
  answer->n++;
  return answer->n < UNWOUND_FRAMES_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **path, Elf **elf) {
  (void)module, (void)user, (void)name, (void)base, (void)path, (void)elf;
  return -1;
}

static int no_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file, const char *link,
                         GElf_Word sum, char **path) {
  (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)sum, (void)path;
  return -1;
}

/* A file that the process executes something of, at the first of its mappings. */
struct file_of_process {
  int fd;
  uint64_t from;
};

/* Opened before the cage, which lets nobody change users; read in it. */
static size_t open_files(const struct root *root, const char *process, struct file_of_process files[MODULES_MAX]) {
  struct buffer text;
  char path[PATH_SIZE], last[PATH_SIZE] = "";
  unsigned long long from, first = 0;
  size_t n = 0;
  (void)snprintf(path, sizeof path, "/proc/%s/maps", process);
  buffer_init(&text, MAPS_MAX);
  bool opened = false, read = root_read(root, path, &text, NULL) == LYNX_OK && text.length > 0;
  char *rest = read ? text.data : NULL;
  for (char *line = read ? strtok_r(rest, "\n", &rest) : NULL; line != NULL && n < MODULES_MAX; line = strtok_r(NULL, "\n", &rest)) {
    char rights[8];
    int at = 0;
    if (sscanf(line, "%llx-%*x %7s %*x %*s %*s %n", &from, rights, &at) < 2 || at == 0 || line[at] != '/') continue;
    if (strlen(line + at) >= sizeof last - 64) continue;
    if (strcmp(line + at, last) != 0) {
      first = from;
      opened = false;
      (void)snprintf(last, sizeof last, "%s", line + at);
    }
    if (strchr(rights, 'x') == NULL || opened) continue;
    (void)snprintf(path, sizeof path, "/proc/%s/root%.4100s", process, last);
    int fd = root_open(root, path);
    if (fd < 0) continue;
    files[n++] = (struct file_of_process){fd, first};
    opened = true;
  }
  buffer_release(&text);
  return n;
}

static void report_files(Dwfl *dwfl, const struct file_of_process *files, size_t n) {
  char name[24];
  for (size_t i = 0; i < n; i++) {
    (void)snprintf(name, sizeof name, "%zu", i);
    if (dwfl_report_elf(dwfl, name, name, files[i].fd, files[i].from, false) == NULL) (void)close(files[i].fd);
  }
}

static bool put_all(int to, const void *data, size_t size) {
  for (const char *at = data; size > 0;) {
    ssize_t n = write(to, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

void unwound_main(const char *process) {
  static const Dwfl_Callbacks callbacks = {.find_elf = no_file, .find_debuginfo = no_debug_file};
  static const Dwfl_Thread_Callbacks threads = {
      .next_thread = next_thread, .get_thread = get_thread, .memory_read = read_memory, .set_initial_registers = set_registers};
  static struct unwinding u;
  static struct stack_copy copy;
  static struct file_of_process files[MODULES_MAX];
  const struct root root = {""};
  const struct cage cage = {.memory_bytes = (int64_t)16 << 30, .processor_s = 20, .file_bytes = 1};
  int64_t pid;
  if (!number_int64(process, strlen(process), &pid) || pid <= 0 || pid > INT32_MAX) _exit(1);
  size_t n_files = open_files(&root, process, files);
  cage_enter(&cage);
  u.dwfl = dwfl_begin(&callbacks);
  if (u.dwfl == NULL) _exit(1);
  report_files(u.dwfl, files, n_files);
  if (dwfl_report_end(u.dwfl, NULL, NULL) != 0) _exit(1);
  u.copy = &copy;
  if (!dwfl_attach_state(u.dwfl, NULL, (pid_t)pid, &threads, &u)) _exit(1);
  for (uint32_t i = 0; fread(&copy, sizeof copy, 1, stdin) == 1; i++) {
    u.answer.i = i;
    u.answer.n = 0;
    if (copy.n_bytes > sizeof copy.bytes) _exit(1);
    (void)dwfl_getthread_frames(u.dwfl, (pid_t)copy.thread, take_frame, &u);
    if (!put_all(STDOUT_FILENO, &u.answer, offsetof(struct answer, addresses) + u.answer.n * sizeof u.answer.addresses[0])) _exit(1);
  }
  _exit(0);
}

/* --- who has it unwound --- */

static _Noreturn void become_unwinder(uint32_t process, int from, int to) {
  char number[16];
  char *const arguments[] = {"lynxbench", UNWIND_OPTION, number, NULL}, *const environment[] = {NULL};
  (void)snprintf(number, sizeof number, "%u", process);
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(from, STDIN_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0) _exit(1);
  if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) != 0) _exit(1);
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)execve("/proc/self/exe", arguments, environment);
  _exit(1);
}

/* A whole answer or nothing. */
static bool hear(int from, int64_t deadline_ns, void *to, size_t size) {
  for (char *at = to; size > 0;) {
    int64_t left = deadline_ns - clock_now(&clock_system);
    int ready = left <= 0 ? 0 : poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, (int)(left / 1000000 + 1));
    if (ready < 0 && errno == EINTR) continue;
    ssize_t n = ready > 0 ? read(from, at, size) : 0;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    size -= (size_t)n;
  }
  return true;
}

/* Of one program: from that stack on, until all are answered or it ends; ret: the first one that it did not answer. */
static size_t hear_from(uint32_t process, int in, size_t first, size_t n, int64_t deadline_ns,
                        void (*unwound)(void *context, size_t i, const uint64_t *addresses, size_t n), void *context) {
  int ends[2];
  size_t at = first;
  if (lseek(in, (off_t)(first * sizeof(struct stack_copy)), SEEK_SET) < 0 || pipe2(ends, O_CLOEXEC) != 0) return first;
  pid_t pid = fork();
  if (pid == 0) become_unwinder(process, in, ends[1]);
  (void)close(ends[1]);
  for (; pid > 0 && at < n; at++) {
    struct answer answer;
    if (!hear(ends[0], deadline_ns, &answer, offsetof(struct answer, addresses)) || answer.i != at - first ||
        answer.n > UNWOUND_FRAMES_MAX || !hear(ends[0], deadline_ns, answer.addresses, answer.n * sizeof answer.addresses[0]))
      break;
    if (answer.n > 0) unwound(context, at, answer.addresses, answer.n);
  }
  (void)close(ends[0]);
  if (pid > 0) (void)kill(pid, SIGKILL);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  return at;
}

bool unwound_stacks(const struct root *root, uint32_t process, const struct stack_copy *const *copies, size_t n, int64_t deadline_ns,
                    void (*unwound)(void *context, size_t i, const uint64_t *addresses, size_t n), void *context) {
  int in = root->path[0] == 0 ? memfd_create("stacks", MFD_CLOEXEC) : -1; /* a recorded machine has no processes */
  bool all = in >= 0;
  for (size_t i = 0; i < n && all; i++) all = put_all(in, copies[i], sizeof *copies[i]);
  size_t at = all ? 0 : n;
  for (int tries = 0; at < n && tries < TRIES_MAX && clock_now(&clock_system) < deadline_ns; tries++) {
    at = hear_from(process, in, at, n, deadline_ns, unwound, context);
    all = all && at == n;
    at++; /* the program ended over that one */
  }
  if (in >= 0) (void)close(in);
  return all && at >= n;
}
