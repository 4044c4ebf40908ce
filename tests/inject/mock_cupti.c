/* The entry points of CUPTI that inject/cupti.c uses, without a GPU: two launches whose kernels and copy run on a device that is not there.
 * What it must be asked in which order is checked; what is wrong ends the process, which fails the test. MOCK_CUPTI: "taken" (another
 * subscriber), "denied" (nothing can be enabled), "hostile" (records of other kinds, without times, ended before they began, odd names). */
#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASKING = 10 }; /* the number of a call that only asks */

static CUpti_BuffersCallbackRequestFunc give;
static CUpti_BuffersCallbackCompleteFunc take;
static CUpti_TimestampCallbackFunc now;
static CUpti_CallbackFunc on_call;
static int n_enabled, n_subscribers, n_domains;

static void expect(int good, const char *what) {
  if (good) return;
  (void)fprintf(stderr, "mock cupti: %s\n", what);
  _exit(86);
}

static int manner(const char *name) {
  const char *said = getenv("MOCK_CUPTI");
  return said != NULL && strcmp(said, name) == 0;
}

static volatile int launches; /* they are told of */

static void tell(CUpti_ApiCallbackSite site, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUpti_CallbackData data = {.callbackSite = site};
  if (launches) on_call(NULL, domain, id, &data);
}

/* The program: a thread that launches all the time, each for some 0.2 ms by the runtime, which calls the driver's. Whoever subscribes, or
 * ends it, may find it within one. */
static void *launch(void *context) {
  (void)context;
  for (;;) {
    tell(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    tell(CUPTI_API_ENTER, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    usleep(200);
    tell(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    tell(CUPTI_API_EXIT, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    usleep(100);
  }
  return NULL;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *data) {
  (void)data;
  if (manner("taken")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  expect(n_subscribers == 0, "subscribed twice");
  n_subscribers++;
  on_call = callback;
  *subscriber = (CUpti_SubscriberHandle)&n_subscribers;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  (void)subscriber;
  expect(n_subscribers == 1 && n_enabled == 0, "unsubscribed while something is recorded");
  launches = 0;
  n_subscribers--;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain) {
  int launched = launches; /* before: the program's thread may take the last domain for its end at once */
  (void)subscriber, (void)domain;
  expect(n_enabled == 0, "detached before all is disabled");
  n_domains += enable ? 1 : -1;
  if (n_domains < 2 || launched) return CUPTI_SUCCESS; /* the program's next call that returns will do */
  CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER};
  on_call(NULL, CUPTI_CB_DOMAIN_RUNTIME_API, 1, &data);
  expect(n_subscribers == 1, "finalised within a call");
  if (manner("quiet")) return CUPTI_SUCCESS;
  data.callbackSite = CUPTI_API_EXIT;
  on_call(NULL, CUPTI_CB_DOMAIN_RUNTIME_API, 1, &data);
  expect(n_subscribers == 0, "not finalised as a call returned");
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                                         CUpti_CallbackId id) {
  static pthread_t launcher;
  static bool begun;
  (void)subscriber, (void)domain, (void)id;
  expect(enable && n_subscribers == 1, "a callback without a subscriber");
  if (manner("denied")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  launches = 1;
  if (!begun) (void)pthread_create(&launcher, NULL, launch, NULL);
  begun = true;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiFinalize(void) {
  launches = 0;
  n_subscribers = n_domains = 0;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  expect(kind != CUPTI_ACTIVITY_KIND_KERNEL, "that kind puts kernels one after the other");
  expect(give != NULL && now != NULL && n_subscribers == 1, "enabled before it can be recorded");
  if (manner("denied")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  n_enabled++;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  (void)kind;
  if (n_enabled > 0) n_enabled--;
  return CUPTI_SUCCESS;
}

/* As the real one: it takes something back that the kind has enabled, and enables nothing by itself. */
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  expect(!enable && n_enabled > 0 && id > 0, "a call is left out before its kind is enabled");
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  return cuptiActivityEnableRuntimeApi(id, enable);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc done) {
  give = requested;
  take = done;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback) {
  expect(n_enabled == 0, "a clock is set while something is recorded");
  now = callback;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  expect(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, "threads as the kernel numbers them");
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name) {
  static const char *const asks[] = {"cudaGetDevice_v3020", "cuCtxGetCurrent"};
  bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  *name = id == ASKING ? asks[!runtime] : runtime ? "cudaLaunchKernel_v7000" : "cuLaunchKernel";
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped) {
  (void)context, (void)stream;
  *dropped = manner("hostile") ? 7 : 0;
  return CUPTI_SUCCESS;
}

/* Records lie one behind the other, each as long as the longest. */
enum { STEP = 512 };

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
  uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + STEP;
  if (next + STEP > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)next;
  return CUPTI_SUCCESS;
}

static size_t put_call(uint8_t *at, uint32_t correlation, uint64_t start) {
  CUpti_ActivityAPI *call = (CUpti_ActivityAPI *)at;
  call->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call->correlationId = correlation;
  call->start = start;
  call->end = start + 5000;
  call->processId = (uint32_t)getpid();
  call->threadId = (uint32_t)getpid();
  return STEP;
}

static size_t put_kernel(uint8_t *at, uint32_t correlation, uint64_t start, uint64_t end, const char *name) {
  CUpti_ActivityKernel4 *kernel = (CUpti_ActivityKernel4 *)at;
  kernel->kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel->correlationId = correlation;
  kernel->start = start;
  kernel->end = end;
  kernel->streamId = 7;
  kernel->name = name;
  return STEP;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flags) {
  uint8_t *buffer;
  size_t size, most, n = 0;
  (void)flags;
  if (manner("denied")) return CUPTI_SUCCESS;
  give(&buffer, &size, &most);
  expect(size >= 16 * STEP && (uintptr_t)buffer % 8 == 0, "a buffer is too small, or not aligned");
  memset(buffer, 0, 16 * STEP);
  uint64_t t = now();
  n += put_call(buffer + n, 1, t);
  n += put_kernel(buffer + n, 1, t + 6000, t + 26000, "_Z4gemmIfEvPT_");
  n += put_call(buffer + n, 2, t + 30000);
  CUpti_ActivityMemcpy *copy = (CUpti_ActivityMemcpy *)(buffer + n);
  copy->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy->correlationId = 2;
  copy->start = t + 36000;
  copy->end = t + 46001;
  copy->streamId = 7;
  copy->bytes = 4096;
  n += STEP;
  n += put_call(buffer + n, 9, t + 50000);
  ((CUpti_ActivityAPI *)(buffer + n - STEP))->cbid = ASKING;
  if (manner("hostile")) {
    n += put_kernel(buffer + n, 3, 0, 0, "without times");
    n += put_kernel(buffer + n, 4, t + 50000, t + 40000, "ended before it began");
    n += put_kernel(buffer + n, 5, t + 60000, t + 61000, "odd\"\\\n\033[31m\xff");
    n += put_kernel(buffer + n, 6, t + 62000, t + 63000, NULL);
    ((CUpti_Activity *)(buffer + n))->kind = (CUpti_ActivityKind)9999;
    n += STEP;
  }
  take(NULL, 0, buffer, size, n);
  return CUPTI_SUCCESS;
}
