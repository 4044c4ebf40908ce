#include "experiment/gpu_share.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "experiment/gpu_turns.h"

enum { LINE = 200, ANSWER_S = 10 };
#define MS INT64_C(1000000)
#define WATCHED_NS (40 * MS)
#define PERIOD_NS (20 * MS)    /* a turn lasts some 2 ms: many changes of turns would cost more than what is taken */
#define AWAY_NS INT64_C(20000) /* the clock is read each some 0.1 us: such a jump is somebody else's turn */

/* --- the child: the driver's library --- */

/* Generated from kernel/take_gpu.ptx. */
extern const char take_gpu_kernel[];

/* Declared here as they have been since CUDA 4: none of its headers is needed to build. A status of 0 is success. */
static struct {
  int (*init)(unsigned flags);
  int (*by_bus)(int *device, const char *bus);
  int (*name)(char *name, int size, int device);
  int (*create)(void **context, unsigned flags, int device);
  int (*use)(void *context);
  int (*free_memory)(size_t *free, size_t *total);
  int (*load)(void **module, const void *image);
  int (*find)(void **function, void *module, const char *name);
  int (*allocate)(uint64_t *address, size_t size);
  int (*launch)(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                void **parameters, void **extra);
  int (*wait)(void);
  int (*copy_back)(void *to, uint64_t from, size_t size);
} cuda;

enum { BLOCKING_WAIT = 4 }; /* CU_CTX_SCHED_BLOCKING_SYNC: no processor spins while it waits */

static const char *load_driver(void) {
  static const struct {
    const char *name;
    void *to;
  } calls[] = {{"cuInit", &cuda.init},           {"cuDeviceGetByPCIBusId", &cuda.by_bus}, {"cuDeviceGetName", &cuda.name},
               {"cuCtxCreate_v2", &cuda.create}, {"cuCtxSetCurrent", &cuda.use},          {"cuMemGetInfo_v2", &cuda.free_memory},
               {"cuModuleLoadData", &cuda.load}, {"cuModuleGetFunction", &cuda.find},     {"cuMemAlloc_v2", &cuda.allocate},
               {"cuLaunchKernel", &cuda.launch}, {"cuCtxSynchronize", &cuda.wait},        {"cuMemcpyDtoH_v2", &cuda.copy_back}};
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return "NVIDIA's driver library (libcuda.so.1) is not where the system looks for libraries";
  for (size_t i = 0; i < LYNX_COUNT(calls); i++) {
    void *call = dlsym(library, calls[i].name);
    if (call == NULL) return "NVIDIA's driver library lacks a call";
    memcpy(calls[i].to, &call, sizeof call);
  }
  return NULL;
}

struct lane {
  void *context, *function;
  uint64_t left; /* where the kernel leaves what it counted */
};

/* The status of CUDA. */
static int lane_open(struct lane *lane, int device) {
  return cuda.create(&lane->context, BLOCKING_WAIT, device);
}

static bool lane_load(struct lane *lane) {
  void *module;
  return cuda.use(lane->context) == 0 && cuda.load(&module, take_gpu_kernel) == 0 && cuda.find(&lane->function, module, "take") == 0 &&
         cuda.allocate(&lane->left, sizeof(struct gpu_taken)) == 0;
}

/* Begun, in the lane's own context; most_ns: it ends then, whatever it got. */
static bool lane_begin(struct lane *lane, int64_t wanted_ns, int64_t most_ns) {
  uint64_t wanted = (uint64_t)wanted_ns, most = (uint64_t)most_ns, away = (uint64_t)AWAY_NS, room = GPU_GAPS_MAX;
  void *parameters[] = {&lane->left, &wanted, &most, &away, &room};
  return cuda.use(lane->context) == 0 && cuda.launch(lane->function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) == 0;
}

static bool lane_end(struct lane *lane, struct gpu_taken *ret) {
  return cuda.use(lane->context) == 0 && cuda.wait() == 0 && cuda.copy_back(ret, lane->left, sizeof *ret) == 0;
}

/* --- the child: what a change of turns costs --- */

/* -1: its kernels cannot be relied on. */
static double calibrate(struct lane *taker, struct lane *watcher) {
  static struct gpu_turns turns;
  static struct gpu_taken watched, takes[GPU_TAKES];
  for (int round = 0; round < GPU_ROUNDS; round++) {
    size_t n = 0;
    if (!lane_begin(watcher, WATCHED_NS, 10 * WATCHED_NS)) return -1;
    for (int64_t at = clock_now(&clock_system); n < GPU_TAKES; n++) {
      perturber_sleep(at += 5 * MS / 2);
      if (!lane_begin(taker, 3 * MS / 10, 20 * MS) || !lane_end(taker, &takes[n])) return -1;
    }
    if (!lane_end(watcher, &watched) || watched.busy_ns < WATCHED_NS / 2) return -1; /* its clock may go in steps that look like turns */
    gpu_turns_add(&turns, &watched, takes, n);
  }
  return gpu_turns_change_ns(&turns);
}

/* --- the child: what it is asked --- */

static _Noreturn void refuse(const char *why, int status) {
  if (status != 0) (void)printf("no %s (CUDA error %d)\n", why, status);
  else (void)printf("no %s\n", why);
  _exit(fflush(stdout) == 0 ? 0 : 1);
}

/* Every period a turn of such a length that with the changes around it others lose the share. */
static bool hold(struct lane *taker, double share, double change_ns, int64_t for_ns) {
  struct gpu_taken taken;
  double lost_ns = 0;
  int64_t begun = clock_now(&clock_system), wanted = (int64_t)(share * (double)PERIOD_NS - change_ns);
  if (wanted < PERIOD_NS / 100) wanted = PERIOD_NS / 100;
  for (int64_t at = begun; at + PERIOD_NS <= begun + for_ns; at += PERIOD_NS) {
    int64_t now = clock_now(&clock_system);
    if (now > at + PERIOD_NS) continue; /* the last turn was long in coming */
    perturber_sleep(at);
    if (!lane_begin(taker, wanted, 5 * PERIOD_NS) || !lane_end(taker, &taken)) return false;
    lost_ns += (double)taken.busy_ns + (double)(taken.n_gaps + 1) * change_ns;
  }
  perturber_sleep(begun + for_ns);
  return printf("lost %.0f of %lld\n", lost_ns, (long long)(clock_now(&clock_system) - begun)) > 0 && fflush(stdout) == 0;
}

void gpu_share_main(const char *bus) {
  struct lane taker, watcher;
  size_t free_bytes = 0, total = 0;
  int device = 0, status;
  char line[LINE];
  const char *why = load_driver();
  if (why != NULL) refuse(why, 0);
  if ((status = cuda.init(0)) != 0) refuse("the driver cannot be used", status);
  if ((status = cuda.by_bus(&device, bus)) != 0) refuse("the driver has no such GPU", status);
  if ((status = lane_open(&taker, device)) != 0) refuse("no second process may use it (its compute mode), or its memory is full", status);
  if (cuda.free_memory(&free_bytes, &total) != 0 || free_bytes < GPU_FREE_LEAST)
    refuse("less than 2 GiB of its memory is free: what this needs could make the server fail", 0);
  if ((status = lane_open(&watcher, device)) != 0) refuse("it takes no second context of ours", status);
  if (!lane_load(&taker) || !lane_load(&watcher)) refuse("a kernel of our own cannot be loaded", 0);
  double change_ns = calibrate(&taker, &watcher);
  if (change_ns < 0) refuse("how long our own kernel runs cannot be counted", 0);
  if (!(change_ns > 0)) refuse("what a change of turns costs could not be seen", 0);
  (void)printf("ok %.0f\n", change_ns);
  for (double share, ms; fflush(stdout) == 0 && fgets(line, sizeof line, stdin) != NULL;)
    if (sscanf(line, "%lf %lf", &share, &ms) != 2 || !(share > 0 && share < 1) || !(ms > 0 && ms < 1e6) ||
        !hold(&taker, share, change_ns, (int64_t)(ms * 1e6)))
      break;
  _exit(0); /* what the driver does at the end is not waited for */
}

/* --- who has it taken --- */

struct gpu_share {
  pid_t pid;
  int to, from;
  char said[LINE];
};

static _Noreturn void become_taker(const char *bus, int from, int to) {
  char *const arguments[] = {"lynxbench", GPU_SHARE_OPTION, (char *)(uintptr_t)bus, NULL};
  char *const environment[] = {"LC_ALL=C", "CUDA_CACHE_DISABLE=1", NULL}; /* no file of it is left in a home */
  const struct sched_param none = {.sched_priority = 0};
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)sched_setscheduler(0, SCHED_OTHER, &none); /* ours is that of blocks */
  if (dup2(from, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) != 0) _exit(1);
  (void)execve("/proc/self/exe", arguments, environment);
  _exit(1);
}

static void end_taker(struct gpu_share *g) {
  if (g->pid <= 0) return;
  (void)kill(g->pid, SIGKILL);
  while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR) {}
  g->pid = 0;
}

struct gpu_share *gpu_share_open(const struct perturbing *request, const char *bus, char *why, size_t size) {
  int in[2], out[2];
  struct gpu_share *g = xalloc(1, sizeof *g);
  *g = (struct gpu_share){.to = -1, .from = -1};
  if (pipe2(in, O_CLOEXEC) == 0) {
    if (pipe2(out, O_CLOEXEC) == 0) {
      g->pid = fork();
      if (g->pid == 0) become_taker(bus, in[0], out[1]);
      (void)close(out[1]);
      g->from = out[0];
    }
    (void)close(in[0]);
    g->to = in[1];
  }
  bool heard = g->pid > 0 && perturber_hear(request, g->from, clock_now(&clock_system) + ANSWER_S * 1000 * MS, g->said, sizeof g->said);
  if (heard && strncmp(g->said, "ok ", 3) == 0) return g;
  (void)snprintf(why, size, "%s", heard && strncmp(g->said, "no ", 3) == 0 ? g->said + 3 : "the process that would take it did not answer");
  gpu_share_close(g);
  return NULL;
}

double gpu_share_hold(struct gpu_share *g, double share, const struct perturbing *request, int64_t until_ns) {
  char line[64];
  double lost = 0;
  long long span = 0;
  double ms = (double)(until_ns - clock_now(&clock_system)) / 1e6;
  if (ms < 1 || g->pid <= 0) return 0;
  int n = snprintf(line, sizeof line, "%.4f %.1f\n", share, ms);
  bool good = n > 0 && write(g->to, line, (size_t)n) == n && perturber_wait(request, until_ns) &&
              perturber_hear(request, g->from, until_ns + 1000 * MS, g->said, sizeof g->said) &&
              sscanf(g->said, "lost %lf of %lld", &lost, &span) == 2 && span > 0;
  if (!good) end_taker(g); /* what it says later would be of another block */
  return good && lost > 0 && lost < (double)span ? lost / (double)span : 0;
}

void gpu_share_close(struct gpu_share *g) {
  if (g == NULL) return;
  end_taker(g);
  if (g->to >= 0) (void)close(g->to);
  if (g->from >= 0) (void)close(g->from);
  free(g);
}
