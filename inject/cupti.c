/* inject/cupti.c: what a process asks of NVIDIA's GPUs, and what they do, for as long as lynxbench asks: an injection library for CUPTI.
 *
 * Use       CUDA_INJECTION64_PATH=/path/to/liblynxbench_cupti.so LYNXBENCH_CUPTI_FOLDER=/path/of/a/folder in the server's environment. The
 *           CUDA driver loads it when it is initialised, and calls InitializeInjection
 * Order     nothing is recorded until somebody connects to the abstract socket "lynxbench-cupti-PID" and writes "trace MS\n". Then calls,
 *           kernels, copies, sets and synchronisations are recorded for so long; the answer is "ok FILE\n" or "no REASON\n". The file is a
 *           trace as PyTorch's profiler writes them (nanoseconds of the steady clock).
 *           Or "slow\n": from "ok\n" on, until the connection ends, the calls that launch kernels and graphs are timed, and each line
 *           "THOUSANDTHS MS\n" lengthens each of them to that many thousandths of its own time, for so long; then "CALLS OWN_NS ADDED_NS\n"
 * Trust     only root and the process's own user are answered; the file is made new, in the folder, readable by its owner
 * Cost      none until asked but one thread that sleeps; afterwards CUPTI is finalised, so that it costs nothing again
 * Limits    EVENTS_MAX records of a trace; what was dropped is counted in the file. Where another profiler is subscribed it steps aside.
 *           A call's own time holds what CUPTI takes to report it, which it takes while they are timed, lengthened or not
 * Errors    whatever fails, the process goes on as if this library were not there
 * Source    CUPTI's documentation («Activity API», «Dynamic Attach and Detach», CUDA 12.9) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
  BUFFER_BYTES = 2 << 20,
  EVENTS_MAX = 2000000,
  TRACE_MS_MOST = 60000,
  DETACH_MS = 2000,
  THOUSANDTHS_MOST = 20000,
  SILENT_S = 3600,
  KERNEL_NAME = 2048,
  KERNELS_KNOWN = 256
};
#define PROLONG_NS_MOST UINT64_C(100000000) /* of one call */

/* By name, so that one file fits the versions of CUPTI that a machine may have. */
static struct {
  __typeof__(&cuptiSubscribe) subscribe;
  __typeof__(&cuptiUnsubscribe) unsubscribe;
  __typeof__(&cuptiEnableDomain) enable_domain;
  __typeof__(&cuptiEnableCallback) enable_callback;
  __typeof__(&cuptiActivityEnable) enable;
  __typeof__(&cuptiActivityDisable) disable;
  __typeof__(&cuptiActivityFlushAll) flush;
  __typeof__(&cuptiActivityGetNextRecord) next;
  __typeof__(&cuptiActivityGetNumDroppedRecords) dropped;
  __typeof__(&cuptiActivityRegisterCallbacks) callbacks;
  __typeof__(&cuptiActivityRegisterTimestampCallback) timestamps;
  __typeof__(&cuptiSetThreadIdType) thread_ids;
  __typeof__(&cuptiGetCallbackName) name;
  __typeof__(&cuptiFinalize) finalize;
  /* NULL in older versions */
  CUptiResult (*enable_runtime)(CUpti_CallbackId, uint8_t), (*enable_driver)(CUpti_CallbackId, uint8_t);
} cupti;

/* Of the C++ library that most who compute have loaded; NULL: names stay as they are. */
static char *(*demangle)(const char *name, char *buffer, size_t *size, int *status);

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

/* One trace. Written by CUPTI's own thread, and by ours once that has flushed. */
static struct {
  pthread_mutex_t lock;
  FILE *file; /* NULL: none is being made */
  int64_t n_events, n_dropped, n_bad;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_int detach; /* 1: the next call that returns finalises CUPTI; 2: it does; 3: it did */
static _Alignas(8) uint8_t discarded[4096];

static bool load(void) {
  static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
  static const struct {
    const char *name;
    void **to;
  } symbols[] = {{"cuptiSubscribe", (void **)&cupti.subscribe},
                 {"cuptiUnsubscribe", (void **)&cupti.unsubscribe},
                 {"cuptiEnableDomain", (void **)&cupti.enable_domain},
                 {"cuptiEnableCallback", (void **)&cupti.enable_callback},
                 {"cuptiActivityEnable", (void **)&cupti.enable},
                 {"cuptiActivityDisable", (void **)&cupti.disable},
                 {"cuptiActivityFlushAll", (void **)&cupti.flush},
                 {"cuptiActivityGetNextRecord", (void **)&cupti.next},
                 {"cuptiActivityGetNumDroppedRecords", (void **)&cupti.dropped},
                 {"cuptiActivityRegisterCallbacks", (void **)&cupti.callbacks},
                 {"cuptiActivityRegisterTimestampCallback", (void **)&cupti.timestamps},
                 {"cuptiSetThreadIdType", (void **)&cupti.thread_ids},
                 {"cuptiGetCallbackName", (void **)&cupti.name},
                 {"cuptiFinalize", (void **)&cupti.finalize}};
  void *library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols && library != NULL; i++)
    if ((*symbols[i].to = dlsym(library, symbols[i].name)) == NULL) return false;
  if (library == NULL) return false;
  *(void **)&cupti.enable_runtime = dlsym(library, "cuptiActivityEnableRuntimeApi");
  *(void **)&cupti.enable_driver = dlsym(library, "cuptiActivityEnableDriverApi");
  void *names_of = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (names_of != NULL) *(void **)&demangle = dlsym(names_of, "__cxa_demangle");
  return true;
}

/* --- records --- */

static void put_text(FILE *file, const char *text) {
  (void)fputc('"', file);
  for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++)
    if (*c == '"' || *c == '\\') (void)fprintf(file, "\\%c", *c);
    else (void)fputc(*c < 0x20 || *c >= 0x7f ? '?' : *c, file);
  (void)fputc('"', file);
}

/* Microseconds with three digits behind the point: whole nanoseconds. pid, tid: of the host's events; of the device's, device and stream. */
static void put_event(const char *category, const char *name, int64_t process, int64_t thread, uint64_t start, uint64_t end,
                      const char *arguments) {
  if (start == 0 || end < start) {
    trace.n_bad++;
    return;
  }
  if (trace.n_events >= EVENTS_MAX) {
    trace.n_dropped++;
    return;
  }
  (void)fprintf(trace.file, "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", trace.n_events++ > 0 ? "," : "", category);
  put_text(trace.file, name);
  (void)fprintf(trace.file, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64 ".%03u,\"args\":{%s}}",
                process, thread, start / 1000, (unsigned)(start % 1000), (end - start) / 1000, (unsigned)((end - start) % 1000), arguments);
}

static const char *device_arguments(char text[160], uint32_t device, uint32_t stream, uint32_t correlation, int64_t bytes) {
  int n = snprintf(text, 160, "\"device\":%u,\"stream\":%u,\"correlation\":%u", device, stream, correlation);
  if (bytes >= 0 && n > 0) (void)snprintf(text + n, 160 - (size_t)n, ",\"bytes\":%" PRId64, bytes);
  return text;
}

static const char *copy_name(uint8_t kind) {
  static const char *const names[] = {[CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = "Memcpy HtoD",
                                      [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = "Memcpy DtoH",
                                      [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = "Memcpy DtoD",
                                      [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = "Memcpy PtoP"};
  return kind < sizeof names / sizeof *names && names[kind] != NULL ? names[kind] : "Memcpy";
}

/* "cudaLaunchKernel_v7000" -> "cudaLaunchKernel": as PyTorch's profiler and Nsight call it. */
static const char *plain_name(const char *name, char text[128]) {
  (void)snprintf(text, 128, "%s", name);
  char *version = strrchr(text, '_');
  if (version != NULL && version[1] == 'v' && version[2] != 0 && strspn(version + 2, "0123456789") == strlen(version + 2)) *version = 0;
  return text;
}

static const char *call_name(bool runtime, CUpti_CallbackId id) {
  const char *name = NULL;
  CUptiResult status = cupti.name(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, id, &name);
  return status == CUPTI_SUCCESS ? name : NULL;
}

/* Calls that only ask, or set, something: PyTorch makes ten of them for each kernel. */
static bool only_asks(const char *name) {
  static const char *const words[] = {"Get",      "Is",          "Peek",         "Set",     "Occupancy",
                                      "Exchange", "EventCreate", "EventDestroy", "CtxPush", "CtxPop"};
  static const char *const slow_ones[] = {"MemGetInfo", "Properties", "ModuleGetFunction", "LibraryGetKernel"}; /* some load code */
  bool asks = false, takes_long = false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) asks = asks || strstr(name, words[i]) != NULL;
  for (size_t i = 0; i < sizeof slow_ones / sizeof *slow_ones; i++) takes_long = takes_long || strstr(name, slow_ones[i]) != NULL;
  return asks && !takes_long;
}

static void put_call(const CUpti_ActivityAPI *call, bool runtime) {
  char text[80], plain[128];
  const char *name = call_name(runtime, call->cbid);
  if (name == NULL) name = "call";
  if (only_asks(name)) return;
  (void)snprintf(text, sizeof text, "\"correlation\":%u", call->correlationId);
  put_event(runtime ? "cuda_runtime" : "cuda_driver", plain_name(name, plain), getpid(), call->threadId, call->start, call->end, text);
}

static struct {
  const char *name; /* CUPTI's own: it stays as long as its module */
  char plain[KERNEL_NAME];
} known[KERNELS_KNOWN];

/* "_ZN2at6native13reduce_kernelI..." -> "void at::native::reduce_kernel<...>": as other profilers call it. Names come again and again. */
static void put_kernel(const CUpti_ActivityKernel4 *k) {
  char text[160];
  const char *name = k->name != NULL ? k->name : "kernel";
  if (demangle != NULL && strncmp(name, "_Z", 2) == 0) {
    __typeof__(&known[0]) at = &known[((uintptr_t)name >> 4) % KERNELS_KNOWN];
    if (at->name != name) {
      int status = -1;
      char *plain = demangle(name, NULL, NULL, &status);
      (void)snprintf(at->plain, sizeof at->plain, "%s", status == 0 && plain != NULL ? plain : name);
      at->name = name;
      free(plain);
    }
    name = at->plain;
  }
  put_event("kernel", name, k->deviceId, k->streamId, k->start, k->end,
            device_arguments(text, k->deviceId, k->streamId, k->correlationId, -1));
}

/* Of what the versions of a record have in common, which is their beginning. */
static void put_record(const CUpti_Activity *record) {
  char text[160];
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: put_kernel((const CUpti_ActivityKernel4 *)record); return;
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const CUpti_ActivityMemcpy *c = (const CUpti_ActivityMemcpy *)record;
      put_event("gpu_memcpy", copy_name(c->copyKind), c->deviceId, c->streamId, c->start, c->end,
                device_arguments(text, c->deviceId, c->streamId, c->correlationId, (int64_t)c->bytes));
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const CUpti_ActivityMemset *s = (const CUpti_ActivityMemset *)record;
      put_event("gpu_memset", "Memset", s->deviceId, s->streamId, s->start, s->end,
                device_arguments(text, s->deviceId, s->streamId, s->correlationId, (int64_t)s->bytes));
      return;
    }
    case CUPTI_ACTIVITY_KIND_RUNTIME: put_call((const CUpti_ActivityAPI *)record, true); return;
    case CUPTI_ACTIVITY_KIND_DRIVER: put_call((const CUpti_ActivityAPI *)record, false); return;
    default: return; /* synchronisations are told by their calls; the others were not asked for */
  }
}

/* NULL is a crash in older versions: where there is no memory, one buffer takes all, and is thrown away. */
static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most) {
  *buffer = aligned_alloc(8, BUFFER_BYTES);
  *size = *buffer != NULL ? BUFFER_BYTES : sizeof discarded;
  if (*buffer == NULL) *buffer = discarded;
  *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid) {
  CUpti_Activity *record = NULL;
  size_t dropped = 0;
  (void)size;
  (void)cupti.dropped(context, stream, &dropped); /* outside of our lock: CUPTI takes its own in it */
  (void)pthread_mutex_lock(&trace.lock);
  trace.n_dropped += (int64_t)dropped;
  while (trace.file != NULL && cupti.next(buffer, valid, &record) == CUPTI_SUCCESS) put_record(record);
  (void)pthread_mutex_unlock(&trace.lock);
  if (buffer != discarded) free(buffer);
}

static uint64_t CUPTIAPI steady_ns(void) {
  struct timespec t;
  return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec : 0;
}

/* --- launches that take longer --- */

static const struct {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
} launches[] = {{CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000},
                {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch},
                {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz}};

static atomic_bool slowing;
static struct {
  atomic_int thousandths; /* of a call's own time that are added */
  atomic_llong n_calls, own_ns, added_ns;
} slow;
static atomic_int sessions; /* that were begun: what a thread remembers of an earlier one is over */
static _Thread_local struct {
  int session, depth; /* of launches: the runtime's launch by the driver's */
  uint64_t entered_ns;
} own_launch;

/* Until then, or until nobody wants it any more. */
static void prolong(uint64_t until) {
  while (steady_ns() < until && atomic_load(&slow.thousandths) > 0) {}
}

static void on_launch(bool enters) {
  int session = atomic_load(&sessions);
  if (own_launch.session != session) {
    own_launch.session = session;
    own_launch.depth = 0;
  }
  if (enters) {
    if (own_launch.depth++ == 0) own_launch.entered_ns = steady_ns();
    return;
  }
  if (own_launch.depth == 0 || --own_launch.depth > 0) return; /* it was entered before we listened */
  uint64_t now = steady_ns(), own = now - own_launch.entered_ns, more = own * (uint64_t)atomic_load(&slow.thousandths) / 1000;
  prolong(now + (more < PROLONG_NS_MOST ? more : PROLONG_NS_MOST));
  (void)atomic_fetch_add(&slow.n_calls, 1);
  (void)atomic_fetch_add(&slow.own_ns, (long long)own);
  (void)atomic_fetch_add(&slow.added_ns, (long long)(steady_ns() - now));
}

/* --- one trace --- */

/* CUPTI may be finalised only where no call of it is under way: as a call of the program returns. */
static void CUPTIAPI on_call(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *about) {
  const CUpti_CallbackData *call = about;
  int wanted = 1;
  (void)context, (void)domain, (void)id;
  if (atomic_load(&slowing)) on_launch(call->callbackSite == CUPTI_API_ENTER);
  else if (call->callbackSite == CUPTI_API_EXIT && atomic_compare_exchange_strong(&detach, &wanted, 2)) {
    (void)cupti.finalize();
    atomic_store(&detach, 3);
  }
}

static void pause_ms(int64_t ms) {
  struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {}
}

static void finish(CUpti_SubscriberHandle subscriber) {
  atomic_store(&slowing, false);
  atomic_store(&detach, 1);
  bool asked = cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS &&
               cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) == CUPTI_SUCCESS;
  for (int waited = 0; asked && atomic_load(&detach) == 1 && waited < DETACH_MS; waited += 10) pause_ms(10);
  for (int waited = 0; atomic_load(&detach) == 2 && waited < DETACH_MS; waited += 10) pause_ms(10);
  int wanted = 1;
  if (atomic_compare_exchange_strong(&detach, &wanted, 0)) (void)cupti.unsubscribe(subscriber); /* the program makes no calls */
}

/* Calls that only ask are left out where this version can: recording them costs the host more than they do. */
static bool enable_kind(CUpti_ActivityKind kind) {
  bool runtime = kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  CUptiResult (*set)(CUpti_CallbackId, uint8_t) = runtime                              ? cupti.enable_runtime
                                                  : kind == CUPTI_ACTIVITY_KIND_DRIVER ? cupti.enable_driver
                                                                                       : NULL;
  CUpti_CallbackId end = runtime ? (CUpti_CallbackId)CUPTI_RUNTIME_TRACE_CBID_SIZE : (CUpti_CallbackId)CUPTI_DRIVER_TRACE_CBID_SIZE;
  if (cupti.enable(kind) != CUPTI_SUCCESS) return false;
  for (CUpti_CallbackId id = 1; set != NULL && id < end; id++) {
    const char *name = call_name(runtime, id);
    if (name != NULL && only_asks(name)) (void)set(id, 0);
  }
  return true;
}

static const char *subscribe(CUpti_SubscriberHandle *ret) {
  CUptiResult status = cupti.subscribe(ret, on_call, NULL);
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return "another profiler is subscribed";
  return status == CUPTI_SUCCESS ? NULL : "CUPTI takes no subscriber here";
}

static const char *record_for(int64_t ms) {
  CUpti_SubscriberHandle subscriber;
  const char *why = subscribe(&subscriber);
  if (why != NULL) return why;
  size_t n = 0;
  (void)cupti.thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  (void)cupti.timestamps(steady_ns); /* before anything is enabled; where it is not known, the clock is another */
  (void)cupti.callbacks(give_buffer, take_buffer);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) n += enable_kind(kinds[i]);
  if (n > 0) pause_ms(ms);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) (void)cupti.disable(kinds[i]);
  (void)cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  finish(subscriber);
  return n > 0 ? NULL : "CUPTI records nothing here: no device, or no right to";
}

/* NULL: made; else why not. */
static const char *make_trace(const char *folder, int64_t ms, char *path, size_t size) {
  static int number;
  int fd = -1;
  for (int tries = 0; fd < 0 && (tries == 0 || errno == EEXIST) && tries < 10000; tries++) { /* of a process that had this number before */
    (void)snprintf(path, size, "%s/lynxbench-cupti.%d.%d.json", folder, (int)getpid(), number++);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (file == NULL) {
    if (fd >= 0) (void)close(fd);
    return "the folder cannot be written";
  }
  (void)fputs("{\"schemaVersion\":1,\"deviceProperties\":[],\"traceEvents\":[", file);
  (void)pthread_mutex_lock(&trace.lock);
  trace.n_events = trace.n_dropped = trace.n_bad = 0;
  for (size_t i = 0; i < KERNELS_KNOWN; i++) known[i].name = NULL;
  trace.file = file;
  (void)pthread_mutex_unlock(&trace.lock);
  const char *why = record_for(ms);
  (void)pthread_mutex_lock(&trace.lock);
  trace.file = NULL;
  (void)pthread_mutex_unlock(&trace.lock);
  (void)fprintf(file, "],\n\"lynxbench_dropped\":%" PRId64 ",\"lynxbench_without_times\":%" PRId64 "}\n", trace.n_dropped, trace.n_bad);
  bool good = fflush(file) == 0 && ferror(file) == 0;
  good = fclose(file) == 0 && good;
  if (why == NULL && good) return NULL;
  (void)unlink(path);
  return why != NULL ? why : "the file could not be written";
}

/* A line, or nothing once who asked has gone or says nothing more. */
static bool read_line(int fd, char *line, size_t size) {
  size_t n = 0;
  while (n + 1 < size && read(fd, line + n, 1) == 1 && line[n] != '\n') n++;
  bool whole = n + 1 < size && line[n] == '\n';
  line[n] = 0;
  return whole;
}

static bool say(int fd, const char *text) {
  return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

/* It ends at once where who asked has gone: nothing stays slow behind them. */
static bool slow_for(int fd, long thousandths, long ms) {
  char text[100];
  long long calls = atomic_load(&slow.n_calls), own = atomic_load(&slow.own_ns), added = atomic_load(&slow.added_ns);
  struct pollfd gone = {.fd = fd, .events = POLLRDHUP};
  uint64_t until = steady_ns() + (uint64_t)ms * 1000000;
  atomic_store(&slow.thousandths, (int)(thousandths - 1000));
  for (uint64_t now; (now = steady_ns()) < until;)
    if (poll(&gone, 1, (int)((until - now) / 1000000 + 1)) > 0) break; /* or a signal came */
  atomic_store(&slow.thousandths, 0);
  (void)snprintf(text, sizeof text, "%lld %lld %lld\n", atomic_load(&slow.n_calls) - calls, atomic_load(&slow.own_ns) - own,
                 atomic_load(&slow.added_ns) - added);
  return gone.revents == 0 && say(fd, text);
}

static void slow_launches(int fd) {
  CUpti_SubscriberHandle subscriber;
  char line[64], *end;
  const struct timeval long_enough = {.tv_sec = SILENT_S};
  const char *why = subscribe(&subscriber);
  size_t n = 0;
  if (why != NULL) {
    (void)snprintf(line, sizeof line, "no %s\n", why);
    (void)say(fd, line);
    return;
  }
  atomic_store(&slow.thousandths, 0);
  (void)atomic_fetch_add(&sessions, 1);
  atomic_store(&slowing, true);
  for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
    n += cupti.enable_callback(1, subscriber, launches[i].domain, launches[i].id) == CUPTI_SUCCESS;
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &long_enough, sizeof long_enough);
  bool goes_on = say(fd, n > 0 ? "ok\n" : "no CUPTI reports no launch here\n") && n > 0;
  while (goes_on && read_line(fd, line, sizeof line)) {
    long thousandths = strtol(line, &end, 10), ms = *end == ' ' ? strtol(end + 1, &end, 10) : 0;
    goes_on = *end == 0 && thousandths >= 1000 && thousandths <= THOUSANDTHS_MOST && ms >= 1 && ms <= TRACE_MS_MOST &&
              slow_for(fd, thousandths, ms);
  }
  finish(subscriber);
}

/* --- who asks --- */

static bool may_ask(int fd) {
  struct ucred who;
  socklen_t size = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == 0 || who.uid == geteuid());
}

static void answer(int fd, const char *folder) {
  char line[32], path[4096], text[4200];
  const struct timeval soon = {.tv_sec = 1};
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
  if (!may_ask(fd) || !read_line(fd, line, sizeof line)) return;
  if (strcmp(line, "slow") == 0) slow_launches(fd);
  long ms = strncmp(line, "trace ", 6) == 0 ? strtol(line + 6, NULL, 10) : 0;
  struct pollfd gone = {.fd = fd, .events = POLLRDHUP};
  if (ms < 1 || ms > TRACE_MS_MOST || poll(&gone, 1, 0) != 0) return;
  const char *why = make_trace(folder, ms, path, sizeof path);
  (void)snprintf(text, sizeof text, "%s %s\n", why == NULL ? "ok" : "no", why == NULL ? path : why);
  (void)say(fd, text); /* or who asked has gone */
}

static void *serve(void *context) {
  const char *folder = context;
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "lynxbench-cupti-%d", (int)getpid());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) != 0 ||
      listen(fd, 1) != 0)
    return NULL;
  for (;;) {
    int from = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    if (from < 0 && (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)) return NULL; /* the program closed it */
    if (from < 0) {
      pause_ms(100); /* no descriptor is left just now */
      continue;
    }
    answer(from, folder);
    (void)close(from);
  }
}

/* Called by the CUDA driver, once. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void) {
  static atomic_flag begun = ATOMIC_FLAG_INIT;
  const char *folder = getenv("LYNXBENCH_CUPTI_FOLDER");
  pthread_t thread;
  if (folder == NULL || folder[0] != '/' || atomic_flag_test_and_set(&begun) || !load()) return 1;
  char *own = strdup(folder);
  sigset_t all, before;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
  if (own != NULL && pthread_create(&thread, NULL, serve, own) == 0) (void)pthread_detach(thread);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return 1;
}
