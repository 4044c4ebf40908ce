#include "executor/library_ask.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cage.h"
#include "base/clock.h"

/* --- what each kind of library can say; false where it is another kind, or does not say --- */

static bool ask_onednn(void *library, char *ret, size_t size) {
  /* Releases 2 and 3 number them differently; what both leave out is told as a number. */
  static const struct {
    unsigned isa;
    const char *name;
  } names[] = {{0x1, "sse41"},
               {0x3, "avx"},
               {0x7, "avx2"},
               {0xf, "avx2_vnni"},
               {0x1f, "avx2_vnni_2"},
               {0x27, "avx512_core"},
               {0x67, "avx512_core_vnni"},
               {0xe7, "avx512_core_bf16"},
               {0x1ef, "avx512_core_fp16"},
               {0x3e7, "avx512_core_amx"},
               {0x407, "avx2_vnni"},
               {0xfef, "avx512_core_amx"},
               {0x1fef, "avx512_core_amx_fp16"}};
  unsigned (*effective)(void) = (unsigned (*)(void))dlsym(library, "dnnl_get_effective_cpu_isa");
  if (effective == NULL) return false;
  unsigned isa = effective();
  (void)snprintf(ret, size, "0x%x", isa);
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (names[i].isa == isa) (void)snprintf(ret, size, "%s", names[i].name);
  return true;
}

/* Distributions give OpenBLAS's symbols prefixes and suffixes of their own, so that several can live in one process. */
static bool ask_openblas(void *library, char *ret, size_t size) {
  static const char *const names[] = {"openblas_get_corename", "openblas_get_corename64_", "openblas_get_corename_64",
                                      "scipy_openblas_get_corename64_", "scipy_openblas_get_corename"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    const char *(*core)(void) = (const char *(*)(void))dlsym(library, names[i]);
    if (core == NULL) continue;
    (void)snprintf(ret, size, "%s", core());
    return true;
  }
  return false;
}

static bool ask_blis(void *library, char *ret, size_t size) {
  int (*query)(void) = (int (*)(void))dlsym(library, "bli_arch_query_id");
  const char *(*name)(int) = (const char *(*)(int))dlsym(library, "bli_arch_string");
  if (query == NULL || name == NULL) return false;
  (void)snprintf(ret, size, "%s", name(query()));
  return true;
}

/* Its own library, and those that hold it (PyTorch): the branch of its kernels, by the numbers of conditional reproducibility. */
static bool ask_mkl(void *library, char *ret, size_t size) {
  static const char *const branches[] = {
      [3] = "compatible", [4] = "SSE2",        [6] = "SSSE3",   [7] = "SSE4.1",         [8] = "SSE4.2",    [9] = "AVX",
      [10] = "AVX2",      [11] = "AVX512 MIC", [12] = "AVX512", [13] = "AVX512 MIC E1", [14] = "AVX512 E1"};
  unsigned (*branch)(void) = (unsigned (*)(void))dlsym(library, "MKL_CBWR_Get_Auto_Branch");
  if (branch == NULL) branch = (unsigned (*)(void))dlsym(library, "mkl_serv_cbwr_get_auto_branch");
  if (branch == NULL) return false;
  unsigned found = branch();
  if (found < LYNX_COUNT(branches) && branches[found] != NULL) (void)snprintf(ret, size, "MKL %s", branches[found]);
  else (void)snprintf(ret, size, "MKL branch %u", found);
  return true;
}

/* What it was compiled for. */
static bool ask_ggml(void *library, char *ret, size_t size) {
  static const char *const features[] = {
      "sse3",        "ssse3",    "avx",  "avx_vnni", "avx2",    "f16c",    "fma",         "bmi2", "avx512", "avx512_vbmi", "avx512_vnni",
      "avx512_bf16", "amx_int8", "neon", "arm_fma",  "fp16_va", "dotprod", "matmul_int8", "sve",  "sme",    "vsx",         "llamafile"};
  size_t used = 0;
  ret[0] = 0;
  for (size_t i = 0; i < LYNX_COUNT(features); i++) {
    char name[48];
    (void)snprintf(name, sizeof name, "ggml_cpu_has_%s", features[i]);
    int (*has)(void) = (int (*)(void))dlsym(library, name);
    if (has == NULL || has() == 0 || used + strlen(features[i]) + 2 > size) continue;
    used += (size_t)snprintf(ret + used, size - used, "%s%s", used > 0 ? " " : "", features[i]);
  }
  return used > 0;
}

/* PyTorch's own kernels: at::get_cpu_capability(). It returns a C++ string, which on x86-64 is written where the first argument says. */
static bool ask_torch(void *library, char *ret, size_t size) {
#if defined __x86_64__ && defined __LP64__
  struct {
    const char *text;
    size_t length;
    char room[16];
  } string = {NULL, 0, ""};
  void *(*capability)(void *) = (void *(*)(void *))dlsym(library, "_ZN2at18get_cpu_capabilityB5cxx11Ev");
  if (capability == NULL) return false;
  (void)capability(&string);
  if (string.text == NULL || string.length >= size) return false;
  (void)snprintf(ret, size, "%s", string.text);
  return true;
#else
  (void)library, (void)ret, (void)size;
  return false;
#endif
}

static const struct {
  const char *holds; /* in the library's name */
  bool (*ask)(void *library, char *ret, size_t size);
  const char *key, *call;
} askable[] = {{"libdnnl", ask_onednn, "selects", "dnnl_get_effective_cpu_isa"},
               {"openblas", ask_openblas, "selects", "openblas_get_corename"},
               {"libblis", ask_blis, "selects", "bli_arch_query_id"},
               {"libmkl_rt", ask_mkl, "selects", "MKL_CBWR_Get_Auto_Branch"},
               {"libtorch_cpu", ask_mkl, "selects-mkl", "mkl_serv_cbwr_get_auto_branch"},
               {"libtorch_cpu", ask_torch, "selects", "at::get_cpu_capability"},
               {"libggml-cpu", ask_ggml, "built-for", "ggml_cpu_has_..."}};

bool library_is_askable(const char *file_name) {
  for (size_t i = 0; i < LYNX_COUNT(askable); i++)
    if (strstr(file_name, askable[i].holds) != NULL) return true;
  return false;
}

/* --- the program that asks --- */

void library_ask_main(const char *path) {
  char answer[LIBRARY_ANSWER_MAX];
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  int out = dup(STDOUT_FILENO);
  FILE *to = out >= 0 ? fdopen(out, "w") : NULL;
  if (to == NULL || geteuid() == 0) _exit(1);
  (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* what a library prints is not its answer */
  const struct cage cage = {.memory_bytes = (int64_t)16 << 30, .processor_s = 5, .file_bytes = 65536};
  cage_enter(&cage);
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  const char *why = library == NULL ? dlerror() : "this build of it has no such call";
  for (size_t i = 0; i < LYNX_COUNT(askable) && library != NULL; i++)
    if (strstr(name, askable[i].holds) != NULL && askable[i].ask(library, answer, sizeof answer))
      (void)fprintf(to, "%s\t%s\t%s\n", askable[i].key, answer, askable[i].call);
  (void)fprintf(to, "why\t%.250s\t\n", why); /* where nothing stands before it */
  (void)fclose(to);                          /* nobody to tell of a failure */
  _exit(0);                                  /* its threads and what it does at the end are not waited for */
}

/* --- who has it asked --- */

static _Noreturn void become_asker(const struct library_request *request, int to) {
  char *const arguments[] = {"lynxbench", LIBRARY_ASK_OPTION, (char *)(uintptr_t)request->path, NULL};
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0) _exit(1);
  if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) != 0) _exit(1);
  if (geteuid() == 0 || setsid() < 0) _exit(1); /* no terminal is its own */
  (void)unshare(CLONE_NEWUSER | CLONE_NEWNET);  /* not every kernel lets an ordinary user; sockets are refused it anyway */
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)execve("/proc/self/exe", arguments, request->environment);
  _exit(1);
}

/* What it says until it ends, the deadline, or the room is full. False at the deadline. */
static bool hear(int from, int64_t until_ns, char *text, size_t size) {
  size_t used = 0;
  for (text[0] = 0; used + 1 < size;) {
    int64_t left = until_ns - clock_now(&clock_system);
    int ready = left <= 0 ? 0 : poll(&(struct pollfd){.fd = from, .events = POLLIN}, 1, (int)(left / 1000000 + 1));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t got = read(from, text + used, size - 1 - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    used += (size_t)got;
    text[used] = 0;
  }
  return true;
}

const char *library_ask(const struct library_request *request,
                        void (*told)(void *context, const char *key, const char *answer, const char *call), void *context,
                        char room[LIBRARY_ANSWER_MAX]) {
  int ends[2];
  char text[4096];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe to ask it through";
  pid_t pid = fork();
  if (pid == 0) become_asker(request, ends[1]);
  (void)close(ends[1]);
  bool in_time = pid > 0 && hear(ends[0], clock_now(&clock_system) + request->deadline_ns, text, sizeof text);
  (void)close(ends[0]);
  if (pid < 0) return "no process could be started to ask it";
  (void)kill(pid, SIGKILL); /* it has said what it had to say */
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
    ;
  if (!in_time) return "it took too long to load";
  const char *why = "it did not answer (it may not be loaded by that user, or its start-up failed)";
  size_t n_told = 0;
  for (char *line = text, *next; *line != 0; line = next) {
    next = line + strcspn(line, "\n");
    if (*next == 0) break; /* cut off */
    *next++ = 0;
    char *answer = strchr(line, '\t'), *call = answer != NULL ? strchr(answer + 1, '\t') : NULL;
    if (call == NULL) continue;
    *answer++ = *call++ = 0;
    if (strcmp(line, "why") == 0) why = text_sanitise(room, LIBRARY_ANSWER_MAX, answer, strlen(answer));
    for (size_t i = 0; i < LYNX_COUNT(askable); i++) /* only what could have been asked */
      if (strcmp(line, askable[i].key) == 0 && strcmp(call, askable[i].call) == 0) {
        told(context, askable[i].key, text_sanitise(room, LIBRARY_ANSWER_MAX, answer, strlen(answer)), askable[i].call);
        n_told++;
      }
  }
  return n_told > 0 ? NULL : why;
}
