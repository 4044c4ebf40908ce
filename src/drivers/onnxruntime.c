/* The onnxruntime driver: a model in this process, by ONNX Runtime's C interface, without its header and without being built against it.
 *
 * Its table of functions never loses or moves a slot ("members never move", onnxruntime_c_api.cc); version 10 of it is asked for, which
 * every release from 1.10 on gives. The slots are named below. Each load thread has a session; every request in flight a thread of its own,
 * which calls Run, as a serving process does. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/number.h"
#include "drivers/tensor.h"
#include "drivers/wait.h"
#include "load/driver.h"

enum { ORT_INTERFACE = 10, OUTPUTS_MAX = 64 };

/* --- its interface: opaque things, and the slots that are used --- */

struct ort_status;
struct ort_env;
struct ort_session;
struct ort_session_options;
struct ort_value;
struct ort_memory_info;
struct ort_type_info;
struct ort_tensor_info;
struct ort_allocator;
struct ort_run_options;

struct ort_base {
  const void *const *(*get_api)(uint32_t version);
  const char *(*get_version)(void);
};

enum ort_slot {
  ORT_GET_ERROR_MESSAGE = 2,
  ORT_CREATE_ENV = 3,
  ORT_CREATE_SESSION = 7,
  ORT_RUN = 9,
  ORT_CREATE_SESSION_OPTIONS = 10,
  ORT_SET_EXECUTION_MODE = 13,
  ORT_ENABLE_PROFILING = 14,
  ORT_SET_OPTIMISATION_LEVEL = 23,
  ORT_SET_INTRA_OP_THREADS = 24,
  ORT_SET_INTER_OP_THREADS = 25,
  ORT_INPUT_COUNT = 30,
  ORT_OUTPUT_COUNT = 31,
  ORT_INPUT_TYPE_INFO = 33,
  ORT_INPUT_NAME = 36,
  ORT_OUTPUT_NAME = 37,
  ORT_CREATE_RUN_OPTIONS = 39,
  ORT_SET_TERMINATE = 46,
  ORT_UNSET_TERMINATE = 47,
  ORT_CREATE_TENSOR = 49,
  ORT_CAST_TO_TENSOR_INFO = 55,
  ORT_ELEMENT_TYPE = 60,
  ORT_DIMENSIONS_COUNT = 61,
  ORT_DIMENSIONS = 62,
  ORT_SYMBOLIC_DIMENSIONS = 63,
  ORT_CREATE_CPU_MEMORY_INFO = 69,
  ORT_ALLOCATOR_FREE = 76,
  ORT_DEFAULT_ALLOCATOR = 78,
  ORT_RELEASE_ENV = 92,
  ORT_RELEASE_STATUS = 93,
  ORT_RELEASE_MEMORY_INFO = 94,
  ORT_RELEASE_SESSION = 95,
  ORT_RELEASE_VALUE = 96,
  ORT_RELEASE_RUN_OPTIONS = 97,
  ORT_RELEASE_TYPE_INFO = 98,
  ORT_RELEASE_SESSION_OPTIONS = 100,
  ORT_END_PROFILING = 110,
  ORT_AVAILABLE_PROVIDERS = 125,
  ORT_RELEASE_PROVIDERS = 126,
  ORT_APPEND_CUDA = 152
};

/* A slot as the function that it is. */
#define ORT(api, slot, ...) ((struct ort_status * (*)(__VA_ARGS__))(uintptr_t)(api)[slot])
#define ORT_RELEASE(api, slot, thing) (((void (*)(void *))(uintptr_t)(api)[slot])(thing))

/* Its numbers of element types, by ours; 0: none. */
static const int element_types[TENSOR_TYPE_COUNT] = {
    [TENSOR_BOOL] = 9,  [TENSOR_UINT8] = 2, [TENSOR_UINT16] = 4, [TENSOR_UINT32] = 12, [TENSOR_UINT64] = 13,
    [TENSOR_INT8] = 3,  [TENSOR_INT16] = 5, [TENSOR_INT32] = 6,  [TENSOR_INT64] = 7,   [TENSOR_FP16] = 10,
    [TENSOR_BF16] = 16, [TENSOR_FP32] = 1,  [TENSOR_FP64] = 11};

/* The first members of its CUDA options; the rest are 0, which is what its documents give as defaults. */
struct ort_cuda_options {
  int device_id, cudnn_conv_algo_search;
  size_t gpu_mem_limit;
  int arena_extend_strategy, do_copy_in_default_stream, has_user_compute_stream;
  void *rest[16];
};

/* --- options --- */

enum {
  OPTION_MODEL,
  OPTION_LIBRARY,
  OPTION_PROVIDER,
  OPTION_INTRA_OP,
  OPTION_INTER_OP,
  OPTION_OPTIMISATION,
  OPTION_EXECUTION,
  OPTION_SIZES,
  OPTION_INPUTS,
  OPTION_BELOW,
  OPTION_PROFILE
};

static const struct driver_option ort_options[] = {
    [OPTION_MODEL] = {.name = "model", .kind = OPTION_TEXT, .required = true, .help = "the ONNX file", .example = "model.onnx"},
    [OPTION_LIBRARY] = {.name = "library",
                        .kind = OPTION_TEXT,
                        .help = "libonnxruntime.so of any release from 1.10 on; else $LYNXBENCH_ORT_LIB, else what the loader finds",
                        .example = "venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1"},
    [OPTION_PROVIDER] = {.name = "provider",
                         .kind = OPTION_CHOICE,
                         .fallback = "cpu",
                         .choices = "cpu, cuda",
                         .help = "the execution provider, before the processor (cuda: untested, no such machine was at hand)",
                         .example = "cpu"},
    [OPTION_INTRA_OP] = {.name = "intra_op_threads",
                         .kind = OPTION_INTEGER,
                         .fallback = "0",
                         .least = 0,
                         .greatest = 1024,
                         .help = "threads within an operator; 0: as ONNX Runtime chooses",
                         .example = "1"},
    [OPTION_INTER_OP] = {.name = "inter_op_threads",
                         .kind = OPTION_INTEGER,
                         .fallback = "0",
                         .least = 0,
                         .greatest = 1024,
                         .help = "threads between operators, with execution: parallel; 0: as ONNX Runtime chooses",
                         .example = "1"},
    [OPTION_OPTIMISATION] = {.name = "optimisation",
                             .kind = OPTION_CHOICE,
                             .fallback = "all",
                             .choices = "disabled, basic, extended, all",
                             .help = "of the graph, when it is loaded",
                             .example = "all"},
    [OPTION_EXECUTION] = {.name = "execution",
                          .kind = OPTION_CHOICE,
                          .fallback = "sequential",
                          .choices = "sequential, parallel",
                          .help = "whether operators that do not depend on one another run at once",
                          .example = "sequential"},
    [OPTION_SIZES] = {.name = "sizes",
                      .kind = OPTION_TEXT,
                      .help = "sizes of dimensions that the model leaves open, by its name for them, by INPUT.INDEX, or * for all; else 1",
                      .example = "'batch=8, sequence=128'"},
    [OPTION_INPUTS] =
        {.name = "inputs",
         .kind = OPTION_TEXT,
         .help = "a file with a request a line, {\"inputs\": [{\"name\", \"shape\", \"datatype\", \"data\"}]}; else made from the seed",
         .example = "requests.jsonl"},
    [OPTION_BELOW] = {.name = "integers_below",
                      .kind = OPTION_INTEGER,
                      .fallback = "100",
                      .least = 1,
                      .greatest = INT64_MAX,
                      .help = "made integers (token ids, indexes) are below this",
                      .example = "30000"},
    [OPTION_PROFILE] = {.name = "profile",
                        .kind = OPTION_TEXT,
                        .help =
                            "write ONNX Runtime's own profile to files that begin so, for `lynxbench attribute`; such a run makes no claim",
                        .example = "/tmp/run"},
};

/* --- state --- */

enum worker_state { WORKER_IDLE, WORKER_GIVEN, WORKER_DONE };

struct ort_worker {
  struct ort_driver *driver;
  pthread_t thread;
  bool started;
  sem_t wake;
  struct ort_run_options *run_options; /* by which a Run is told to stop */
  atomic_int state;
  atomic_bool cut_off; /* its request was dropped: the answer is nobody's */
  uint32_t slot;
  size_t input;
  int64_t given_ns, begun_ns, ended_ns;
  char failure[160];
};

struct ort_input {
  struct ort_value **values; /* n_inputs of the model */
};

struct ort_driver {
  struct driver_options options;
  void *library;
  const struct ort_base *base;
  const void *const *api;
  struct ort_env *env;
  struct ort_session *session;
  struct ort_memory_info *memory;
  struct arena arena;
  struct tensor *declared; /* the model's inputs */
  const char **input_names, *output_names[OUTPUTS_MAX];
  size_t n_inputs, n_outputs;
  struct ort_input *requests; /* per input of the contract */
  size_t n_requests;
  struct ort_worker *workers;
  int64_t *worker_of; /* by slot: index + 1; 0: none */
  uint32_t *issued;   /* slots whose request was given since the last reap */
  size_t n_issued;
  struct waiter waiter;
  int event;
  atomic_bool leave;
};

/* Takes the status; its words go into the error. */
static enum lynx_status checked(const struct ort_driver *driver, struct ort_status *status, const char *doing, struct lynx_error *error) {
  if (status == NULL) return LYNX_OK;
  const char *words = ((const char *(*)(const struct ort_status *))(uintptr_t)driver->api[ORT_GET_ERROR_MESSAGE])(status);
  char clean[300];
  text_sanitise(clean, sizeof clean, words, strlen(words));
  ORT_RELEASE(driver->api, ORT_RELEASE_STATUS, status);
  return lynx_fail(error, LYNX_INPUT, "ONNX Runtime, %s: %s", doing, clean);
}

/* --- loading --- */

static enum lynx_status load_library(struct ort_driver *driver, struct lynx_error *error) {
  const char *named = driver->options.values[OPTION_LIBRARY], *variable = getenv("LYNXBENCH_ORT_LIB");
  const char *const tried[] = {named != NULL ? named : variable, "libonnxruntime.so.1", "libonnxruntime.so"};
  size_t n = tried[0] != NULL ? 1 : LYNX_COUNT(tried); /* what is named is meant */
  const char *why = "";
  for (size_t i = tried[0] == NULL ? 1 : 0; i < n && driver->library == NULL; i++) {
    driver->library = dlopen(tried[i], RTLD_NOW | RTLD_LOCAL);
    if (driver->library == NULL) why = dlerror();
  }
  if (driver->library == NULL)
    return lynx_fail(
        error, LYNX_INPUT,
        "ONNX Runtime cannot be loaded (%.200s); `pip install onnxruntime` brings it: name its capi/libonnxruntime.so.VERSION in "
        "workload.options.library or $LYNXBENCH_ORT_LIB",
        why);
  const struct ort_base *(*get_base)(void) = (const struct ort_base *(*)(void))(uintptr_t)dlsym(driver->library, "OrtGetApiBase");
  driver->base = get_base != NULL ? get_base() : NULL;
  driver->api = driver->base != NULL ? driver->base->get_api(ORT_INTERFACE) : NULL;
  if (driver->api == NULL) return lynx_fail(error, LYNX_INPUT, "the library is no ONNX Runtime of release 1.10 or later");
  return LYNX_OK;
}

static int number_of(const struct ort_driver *driver, int option) {
  return atoi(driver->options.values[option]); /* checked: an integer in range */
}

static enum lynx_status set_options(struct ort_driver *driver, struct ort_session_options *o, struct lynx_error *error) {
  const void *const *api = driver->api;
  const char *const *values = driver->options.values;
  const char *level = values[OPTION_OPTIMISATION];
  int optimisation = strcmp(level, "disabled") == 0 ? 0 : strcmp(level, "basic") == 0 ? 1 : strcmp(level, "extended") == 0 ? 2 : 99;
  bool parallel = strcmp(values[OPTION_EXECUTION], "parallel") == 0;
  struct ort_status *failed = ORT(api, ORT_SET_OPTIMISATION_LEVEL, struct ort_session_options *, int)(o, optimisation);
  if (failed == NULL) failed = ORT(api, ORT_SET_EXECUTION_MODE, struct ort_session_options *, int)(o, parallel);
  if (failed == NULL) failed = ORT(api, ORT_SET_INTRA_OP_THREADS, struct ort_session_options *, int)(o, number_of(driver, OPTION_INTRA_OP));
  if (failed == NULL) failed = ORT(api, ORT_SET_INTER_OP_THREADS, struct ort_session_options *, int)(o, number_of(driver, OPTION_INTER_OP));
  if (failed == NULL && values[OPTION_PROFILE] != NULL)
    failed = ORT(api, ORT_ENABLE_PROFILING, struct ort_session_options *, const char *)(o, values[OPTION_PROFILE]);
  if (failed == NULL && strcmp(values[OPTION_PROVIDER], "cuda") == 0) {
    struct ort_cuda_options cuda = {.gpu_mem_limit = SIZE_MAX, .do_copy_in_default_stream = 1};
    failed = ORT(api, ORT_APPEND_CUDA, struct ort_session_options *, const struct ort_cuda_options *)(o, &cuda);
  }
  return checked(driver, failed, "session options", error);
}

static enum lynx_status load_model(struct ort_driver *driver, struct lynx_error *error) {
  const void *const *api = driver->api;
  lynx_assert(api != NULL);
  struct ort_session_options *o = NULL;
  const char *path = driver->options.values[OPTION_MODEL];
  enum lynx_status status = checked(driver, ORT(api, ORT_CREATE_ENV, int, const char *, struct ort_env **)(3, "lynxbench", &driver->env),
                                    "its environment", error);
  if (status == LYNX_OK)
    status = checked(driver, ORT(api, ORT_CREATE_SESSION_OPTIONS, struct ort_session_options **)(&o), "session options", error);
  if (status == LYNX_OK) status = set_options(driver, o, error);
  if (status == LYNX_OK)
    status = checked(driver,
                     ORT(api, ORT_CREATE_SESSION, const struct ort_env *, const char *, const struct ort_session_options *,
                         struct ort_session **)(driver->env, path, o, &driver->session),
                     "loading the model", error);
  if (status == LYNX_OK)
    status = checked(driver, ORT(api, ORT_CREATE_CPU_MEMORY_INFO, int, int, struct ort_memory_info **)(1, 0, &driver->memory), "memory",
                     error);
  if (o != NULL) ORT_RELEASE(api, ORT_RELEASE_SESSION_OPTIONS, o);
  return status;
}

/* --- what the model takes --- */

static enum lynx_status copy_name(struct ort_driver *driver, int slot, size_t index, const char **ret, struct lynx_error *error) {
  struct ort_allocator *allocator = NULL;
  char *name = NULL;
  struct ort_status *failed = ORT(driver->api, ORT_DEFAULT_ALLOCATOR, struct ort_allocator **)(&allocator);
  if (failed == NULL)
    failed = ORT(driver->api, slot, const struct ort_session *, size_t, struct ort_allocator *, char **)(driver->session, index, allocator,
                                                                                                         &name);
  if (failed != NULL) return checked(driver, failed, "a name", error);
  *ret = arena_copy(&driver->arena, name);
  return checked(driver, ORT(driver->api, ORT_ALLOCATOR_FREE, struct ort_allocator *, void *)(allocator, name), "a name", error);
}

static bool type_of(int element, enum tensor_type *ret) {
  for (int i = 0; i < TENSOR_TYPE_COUNT; i++)
    if (element_types[i] == element && element != 0) {
      *ret = (enum tensor_type)i;
      return true;
    }
  return false;
}

static enum lynx_status read_dimensions(struct ort_driver *driver, const struct ort_tensor_info *info, struct tensor *t,
                                        struct lynx_error *error) {
  const struct tensor_sizes sizes = {driver->options.values[OPTION_SIZES]};
  const char *symbols[TENSOR_DIMS] = {NULL};
  int element = 0;
  struct ort_status *failed = ORT(driver->api, ORT_ELEMENT_TYPE, const struct ort_tensor_info *, int *)(info, &element);
  if (failed == NULL) failed = ORT(driver->api, ORT_DIMENSIONS_COUNT, const struct ort_tensor_info *, size_t *)(info, &t->n_dims);
  if (failed == NULL && t->n_dims > TENSOR_DIMS)
    return lynx_fail(error, LYNX_INPUT, "input '%.100s' has %zu dimensions; at most %d are made", t->name, t->n_dims, TENSOR_DIMS);
  if (failed == NULL)
    failed = ORT(driver->api, ORT_DIMENSIONS, const struct ort_tensor_info *, int64_t *, size_t)(info, t->dims, t->n_dims);
  if (failed == NULL)
    failed = ORT(driver->api, ORT_SYMBOLIC_DIMENSIONS, const struct ort_tensor_info *, const char **, size_t)(info, symbols, t->n_dims);
  if (failed != NULL) return checked(driver, failed, "the shape of an input", error);
  if (!type_of(element, &t->type))
    return lynx_fail(error, LYNX_INPUT, "input '%.100s' has elements of ONNX type %d, which are not made (text, complex and packed types)",
                     t->name, element);
  for (size_t i = 0; i < t->n_dims; i++)
    if (t->dims[i] < 0) t->dims[i] = tensor_size_of(&sizes, t->name, i, symbols[i]);
  return LYNX_OK;
}

static enum lynx_status read_input(struct ort_driver *driver, size_t index, struct tensor *ret, struct lynx_error *error) {
  struct ort_type_info *type = NULL;
  const struct ort_tensor_info *info = NULL;
  enum lynx_status status = copy_name(driver, ORT_INPUT_NAME, index, &ret->name, error);
  if (status == LYNX_OK)
    status = checked(
        driver,
        ORT(driver->api, ORT_INPUT_TYPE_INFO, const struct ort_session *, size_t, struct ort_type_info **)(driver->session, index, &type),
        "an input", error);
  if (status == LYNX_OK)
    status = checked(driver,
                     ORT(driver->api, ORT_CAST_TO_TENSOR_INFO, const struct ort_type_info *, const struct ort_tensor_info **)(type, &info),
                     "an input", error);
  if (status == LYNX_OK && info == NULL) status = lynx_fail(error, LYNX_INPUT, "input '%.100s' is no tensor", ret->name);
  if (status == LYNX_OK) status = read_dimensions(driver, info, ret, error);
  if (type != NULL) ORT_RELEASE(driver->api, ORT_RELEASE_TYPE_INFO, type);
  return status;
}

static enum lynx_status read_signature(struct ort_driver *driver, struct lynx_error *error) {
  struct ort_status *failed = ORT(driver->api, ORT_INPUT_COUNT, const struct ort_session *, size_t *)(driver->session, &driver->n_inputs);
  if (failed == NULL)
    failed = ORT(driver->api, ORT_OUTPUT_COUNT, const struct ort_session *, size_t *)(driver->session, &driver->n_outputs);
  if (failed != NULL) return checked(driver, failed, "the model's inputs", error);
  if (driver->n_inputs > TENSORS_MAX || driver->n_outputs == 0 || driver->n_outputs > OUTPUTS_MAX)
    return lynx_fail(error, LYNX_INPUT, "the model has %zu inputs and %zu outputs; at most %d and from 1 to %d are taken", driver->n_inputs,
                     driver->n_outputs, TENSORS_MAX, OUTPUTS_MAX);
  driver->declared = arena_alloc(&driver->arena, driver->n_inputs + 1, sizeof *driver->declared);
  driver->input_names = arena_alloc(&driver->arena, driver->n_inputs + 1, sizeof *driver->input_names);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < driver->n_inputs && status == LYNX_OK; i++) {
    status = read_input(driver, i, &driver->declared[i], error);
    driver->input_names[i] = driver->declared[i].name;
  }
  for (size_t i = 0; i < driver->n_outputs && status == LYNX_OK; i++)
    status = copy_name(driver, ORT_OUTPUT_NAME, i, &driver->output_names[i], error);
  return status;
}

/* --- running --- */

static void run_once(const struct ort_driver *driver, struct ort_worker *w) {
  struct ort_value *outputs[OUTPUTS_MAX] = {NULL};
  w->begun_ns = clock_now(driver->options.clock);
  struct ort_status *failed = ORT(driver->api, ORT_RUN, struct ort_session *, const struct ort_run_options *, const char *const *,
                                  const struct ort_value *const *, size_t, const char *const *, size_t, struct ort_value **)(
      driver->session, w->run_options, driver->input_names, (const struct ort_value *const *)driver->requests[w->input].values,
      driver->n_inputs, driver->output_names, driver->n_outputs, outputs);
  w->ended_ns = clock_now(driver->options.clock);
  w->failure[0] = 0;
  if (failed != NULL) {
    struct lynx_error error = {0};
    (void)checked(driver, failed, "Run", &error);
    (void)snprintf(w->failure, sizeof w->failure, "%.159s", error.message);
  }
  for (size_t i = 0; i < driver->n_outputs; i++)
    if (outputs[i] != NULL) ORT_RELEASE(driver->api, ORT_RELEASE_VALUE, outputs[i]);
}

static void *worker_main(void *context) {
  struct ort_worker *w = context;
  const struct ort_driver *driver = w->driver;
  const uint64_t one = 1;
  for (;;) {
    while (sem_wait(&w->wake) != 0) continue; /* a signal */
    /* Whoever was told to stop was another request. Who tells this one says so first (leave, cut_off): it is seen here, or heard in Run. */
    (void)checked(driver, ORT(driver->api, ORT_UNSET_TERMINATE, struct ort_run_options *)(w->run_options), "run options", NULL);
    if (atomic_load(&driver->leave)) return NULL;
    if (!atomic_load(&w->cut_off)) run_once(driver, w);
    atomic_store_explicit(&w->state, WORKER_DONE, memory_order_release);
    ssize_t told = write(driver->event, &one, sizeof one);
    (void)told; /* cannot fail but when 2^64 answers wait */
  }
}

/* ONNX Runtime looks at it between two operators; one that hangs in an operator is not reached. */
static void stop_run(const struct ort_driver *driver, const struct ort_worker *w) {
  (void)checked(driver, ORT(driver->api, ORT_SET_TERMINATE, struct ort_run_options *)(w->run_options), "run options", NULL);
}

static void ort_close(void *state) {
  struct ort_driver *driver = state;
  if (driver == NULL) return;
  atomic_store(&driver->leave, true);
  for (uint32_t i = 0; driver->workers != NULL && i < driver->options.n_slots; i++)
    if (driver->workers[i].started) stop_run(driver, &driver->workers[i]);
  for (uint32_t i = 0; driver->workers != NULL && i < driver->options.n_slots; i++) {
    struct ort_worker *w = &driver->workers[i];
    if (!w->started) continue;
    (void)sem_post(&w->wake);
    (void)pthread_join(w->thread, NULL); /* after the run that it is in */
    (void)sem_destroy(&w->wake);
  }
  const void *const *api = driver->api;
  for (uint32_t i = 0; driver->workers != NULL && i < driver->options.n_slots; i++)
    if (driver->workers[i].run_options != NULL) ORT_RELEASE(api, ORT_RELEASE_RUN_OPTIONS, driver->workers[i].run_options);
  for (size_t i = 0; i < driver->n_requests; i++)
    for (size_t k = 0; driver->requests[i].values != NULL && k < driver->n_inputs; k++)
      if (driver->requests[i].values[k] != NULL) ORT_RELEASE(api, ORT_RELEASE_VALUE, driver->requests[i].values[k]);
  if (driver->session != NULL && driver->options.values[OPTION_PROFILE] != NULL) {
    struct ort_allocator *allocator = NULL;
    char *path = NULL;
    struct ort_status *failed = ORT(api, ORT_DEFAULT_ALLOCATOR, struct ort_allocator **)(&allocator);
    if (failed == NULL)
      failed = ORT(api, ORT_END_PROFILING, struct ort_session *, struct ort_allocator *, char **)(driver->session, allocator, &path);
    if (failed == NULL) failed = ORT(api, ORT_ALLOCATOR_FREE, struct ort_allocator *, void *)(allocator, path);
    (void)checked(driver, failed, "its profile", NULL); /* the file is then not there, and is seen not to be */
  }
  if (driver->memory != NULL) ORT_RELEASE(api, ORT_RELEASE_MEMORY_INFO, driver->memory);
  if (driver->session != NULL) ORT_RELEASE(api, ORT_RELEASE_SESSION, driver->session);
  if (driver->env != NULL) ORT_RELEASE(api, ORT_RELEASE_ENV, driver->env);
  /* The library stays: its threads may still be on their way out. */
  if (driver->event >= 0) (void)close(driver->event);
  if (driver->waiter.epoll >= 0) (void)close(driver->waiter.epoll);
  arena_release(&driver->arena);
  free(driver->requests);
  free(driver->workers);
  free(driver->worker_of);
  free(driver->issued);
  free(driver);
}

static enum lynx_status start_workers(struct ort_driver *driver, struct lynx_error *error) {
  struct epoll_event event = {.events = EPOLLIN};
  driver->waiter.epoll = epoll_create1(EPOLL_CLOEXEC);
  driver->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (driver->waiter.epoll < 0 || driver->event < 0 || epoll_ctl(driver->waiter.epoll, EPOLL_CTL_ADD, driver->event, &event) != 0)
    return lynx_fail(error, LYNX_IO, "epoll: %s", strerror(errno));
  for (uint32_t i = 0; i < driver->options.n_slots; i++) {
    struct ort_worker *w = &driver->workers[i];
    w->driver = driver;
    enum lynx_status status = checked(driver, ORT(driver->api, ORT_CREATE_RUN_OPTIONS, struct ort_run_options **)(&w->run_options),
                                      "run options", error);
    if (status != LYNX_OK) return status;
    if (sem_init(&w->wake, 0, 0) != 0 || pthread_create(&w->thread, NULL, worker_main, w) != 0)
      return lynx_fail(error, LYNX_MACHINE, "no thread for request %u of regime.concurrency", i + 1);
    w->started = true;
  }
  return LYNX_OK;
}

static enum lynx_status ort_open(const struct driver_options *options, void **ret_state, struct lynx_error *error) {
  struct ort_driver *driver = xalloc(1, sizeof *driver);
  driver->options = *options;
  driver->event = driver->waiter.epoll = -1;
  driver->workers = xalloc(options->n_slots, sizeof *driver->workers);
  driver->worker_of = xalloc(options->n_slots, sizeof *driver->worker_of);
  driver->issued = xalloc(options->n_slots, sizeof *driver->issued);
  const struct tensor_sizes sizes = {options->values[OPTION_SIZES]};
  enum lynx_status status = tensor_sizes_check(&sizes, error);
  if (status == LYNX_OK) status = load_library(driver, error);
  if (status == LYNX_OK) status = load_model(driver, error);
  if (status == LYNX_OK) status = read_signature(driver, error);
  if (status == LYNX_OK) status = start_workers(driver, error);
  if (status != LYNX_OK) {
    ort_close(driver);
    return status;
  }
  *ret_state = driver;
  return LYNX_OK;
}

/* --- inputs --- */

static enum lynx_status make_value(struct ort_driver *driver, const struct tensor *t, struct ort_value **ret, struct lynx_error *error) {
  struct ort_status *failed = ORT(driver->api, ORT_CREATE_TENSOR, const struct ort_memory_info *, void *, size_t, const int64_t *, size_t,
                                  int, struct ort_value **)(driver->memory, (void *)(uintptr_t)t->data.ptr, t->data.length, t->dims,
                                                            t->n_dims, element_types[t->type], ret);
  return checked(driver, failed, t->name, error);
}

static enum lynx_status make_request(struct ort_driver *driver, size_t index, const struct tensor_set *given, struct lynx_error *error) {
  struct ort_input *request = &driver->requests[index];
  /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are what is meant */
  request->values = arena_alloc(&driver->arena, driver->n_inputs + 1, sizeof *request->values);
  int64_t below = atoll(driver->options.values[OPTION_BELOW]);
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < driver->n_inputs && status == LYNX_OK; i++) {
    struct tensor t = driver->declared[i];
    const struct tensor *found = given != NULL ? tensor_find(given, t.name) : NULL;
    if (given != NULL && found == NULL)
      status = lynx_fail(error, LYNX_INPUT, "workload.options.inputs: request %zu lacks the input '%.100s'", index + 1, t.name);
    else if (found != NULL && found->type != t.type)
      status = lynx_fail(error, LYNX_INPUT, "workload.options.inputs: request %zu: '%.100s' is %s, and the model takes %s", index + 1,
                         t.name, tensor_type_text(found->type), tensor_type_text(t.type));
    else if (found != NULL) t = *found;
    else status = tensor_fill(&t, (uint64_t)driver->options.seed * 1000003 + index, below, (struct bytes){"", 0}, &driver->arena, error);
    if (status == LYNX_OK) status = make_value(driver, &t, &request->values[i], error);
  }
  return status;
}

static enum lynx_status ort_prepare(void *state, const struct driver_input *inputs, size_t n_inputs, struct lynx_error *error) {
  struct ort_driver *driver = state;
  (void)inputs;
  struct tensor_set *sets = NULL;
  size_t n_sets = 0;
  enum lynx_status status = LYNX_OK;
  const char *path = driver->options.values[OPTION_INPUTS];
  if (path != NULL) status = tensor_read_file(path, &driver->arena, &sets, &n_sets, error);
  driver->requests = xalloc(n_inputs, sizeof *driver->requests);
  driver->n_requests = n_inputs;
  for (size_t i = 0; i < n_inputs && status == LYNX_OK; i++) status = make_request(driver, i, n_sets > 0 ? &sets[i % n_sets] : NULL, error);
  return status;
}

/* --- facts --- */

static void add_fact(struct fact_list *facts, enum layer layer, const char *key, const char *value, const char *source) {
  fact_add(
      facts,
      &(struct fact){.layer = layer, .kind = FACT_IDENTITY, .status = FACT_READ, .key = key, .value = value, .unit = "", .source = source});
}

static void add_digest(const struct ort_driver *driver, struct fact_list *facts) {
  char block[65536], hex[DIGEST_HEX];
  uint8_t bytes[DIGEST_BYTES];
  struct digest digest = {{0}};
  FILE *file = fopen(driver->options.values[OPTION_MODEL], "rb");
  if (file == NULL) return; /* it was there a moment ago; the path alone is then known */
  digest_init(&digest);
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) digest_update(&digest, block, n);
  bool good = ferror(file) == 0;
  (void)fclose(file);
  digest_final(&digest, bytes);
  if (good) add_fact(facts, LAYER_APPLICATION, "onnx.sha256", digest_hex(bytes, hex), "the model's file");
}

static void add_providers(const struct ort_driver *driver, struct fact_list *facts) {
  char **names = NULL, list[400] = "";
  int n = 0;
  size_t at = 0;
  if (ORT(driver->api, ORT_AVAILABLE_PROVIDERS, char ***, int *)(&names, &n) != NULL) return;
  for (int i = 0; i < n && at < sizeof list; i++) at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 0 ? ", " : "", names[i]);
  add_fact(facts, LAYER_RUNTIME, "onnxruntime.providers", list, "GetAvailableProviders");
  (void)checked(driver, ORT(driver->api, ORT_RELEASE_PROVIDERS, char **, int)(names, n), "providers", NULL);
}

static int64_t ort_describe(void *state, struct fact_list *facts) {
  const struct ort_driver *driver = state;
  const char *const *values = driver->options.values;
  static const int settings[] = {OPTION_PROVIDER, OPTION_INTRA_OP, OPTION_INTER_OP, OPTION_OPTIMISATION, OPTION_EXECUTION};
  char key[64], shape[200];
  add_fact(facts, LAYER_RUNTIME, "onnxruntime.version", driver->base->get_version(), "GetVersionString");
  add_providers(driver, facts);
  for (size_t i = 0; i < LYNX_COUNT(settings); i++) {
    (void)snprintf(key, sizeof key, "onnxruntime.%s", ort_options[settings[i]].name);
    add_fact(facts, LAYER_RUNTIME, key, values[settings[i]], "the contract, as it was set");
  }
  if (values[OPTION_PROFILE] != NULL) add_fact(facts, LAYER_RUNTIME, "onnxruntime.profile", "on", "the contract, as it was set");
  for (size_t i = 0; i < driver->n_inputs; i++) {
    const struct tensor *t = &driver->declared[i];
    size_t n = (size_t)snprintf(shape, sizeof shape, "%s", tensor_type_text(t->type));
    for (size_t k = 0; k < t->n_dims && n < sizeof shape; k++)
      n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%lld", k == 0 ? " " : "x", (long long)t->dims[k]);
    (void)snprintf(key, sizeof key, "onnx.input.%.50s", t->name);
    add_fact(facts, LAYER_APPLICATION, key, shape, "the model, open dimensions as the contract sets them");
  }
  add_digest(driver, facts);
  return getpid();
}

/* --- the driver --- */

static enum driver_answer ort_issue(void *state, uint32_t slot, size_t input) {
  struct ort_driver *driver = state;
  struct ort_worker *w = NULL;
  for (uint32_t i = 0; i < driver->options.n_slots && w == NULL; i++) {
    struct ort_worker *candidate = &driver->workers[(slot + i) % driver->options.n_slots];
    if (atomic_load_explicit(&candidate->state, memory_order_acquire) == WORKER_IDLE) w = candidate;
  }
  if (w == NULL) return DRIVER_BUSY; /* one that was cut off is still at it */
  w->slot = slot;
  w->input = input;
  w->cut_off = false;
  w->given_ns = clock_now(driver->options.clock);
  driver->worker_of[slot] = w - driver->workers + 1;
  driver->issued[driver->n_issued++] = slot;
  atomic_store_explicit(&w->state, WORKER_GIVEN, memory_order_release);
  (void)sem_post(&w->wake);
  return DRIVER_ACCEPTED;
}

static void deliver_written(struct ort_driver *driver, driver_deliver *deliver, void *context) {
  for (size_t i = 0; i < driver->n_issued; i++) {
    uint32_t slot = driver->issued[i];
    if (driver->worker_of[slot] == 0) continue; /* cancelled */
    int64_t at_ns = driver->workers[driver->worker_of[slot] - 1].given_ns;
    deliver(context, &(struct completion){.kind = COMPLETION_WRITTEN, .slot = slot, .at_ns = at_ns, .read_lag_ns = -1});
  }
  driver->n_issued = 0;
}

static void deliver_done(struct ort_driver *driver, struct ort_worker *w, driver_deliver *deliver, void *context) {
  int64_t now_ns = clock_now(driver->options.clock);
  const struct answer_phase phases[] = {{.name = "handover", .from_ns = 0, .took_ns = w->begun_ns - w->given_ns},
                                        {.name = "run", .from_ns = w->begun_ns - w->given_ns, .took_ns = w->ended_ns - w->begun_ns}};
  struct answer_end end = {.outcome = w->failure[0] != 0 ? OUTCOME_EXECUTOR : OUTCOME_OK, .prompt_tokens = -1, .output_tokens = -1};
  memcpy(end.reason, w->failure, sizeof end.reason);
  if (end.outcome == OUTCOME_OK) end.phases = phases, end.n_phases = LYNX_COUNT(phases);
  uint32_t slot = w->slot;
  struct completion completion = {
      .kind = COMPLETION_END, .slot = slot, .at_ns = w->ended_ns, .read_lag_ns = now_ns - w->ended_ns, .end = &end};
  bool wanted = !w->cut_off;
  atomic_store_explicit(&w->state, WORKER_IDLE, memory_order_release);
  if (!wanted) return;
  driver->worker_of[slot] = 0;
  deliver(context, &completion);
}

static void ort_reap(void *state, int64_t deadline_ns, driver_deliver *deliver, void *context) {
  struct ort_driver *driver = state;
  struct epoll_event event;
  uint64_t n_told;
  deliver_written(driver, deliver, context);
  if (wait_until(&driver->waiter, driver->options.clock, deadline_ns, &event, 1) <= 0) return;
  if (read(driver->event, &n_told, sizeof n_told) != sizeof n_told) return;
  for (uint32_t i = 0; i < driver->options.n_slots; i++)
    if (atomic_load_explicit(&driver->workers[i].state, memory_order_acquire) == WORKER_DONE)
      deliver_done(driver, &driver->workers[i], deliver, context);
}

static void ort_cancel(void *state, uint32_t slot) {
  struct ort_driver *driver = state;
  if (driver->worker_of[slot] == 0) return;
  struct ort_worker *w = &driver->workers[driver->worker_of[slot] - 1];
  w->cut_off = true; /* its thread is free once Run has ended */
  stop_run(driver, w);
  driver->worker_of[slot] = 0;
}

const struct driver driver_onnxruntime;
const struct driver driver_onnxruntime = {
    .answers = ANSWERS_TENSORS,
    .worker_per_slot = true,
    .abi = DRIVER_ABI,
    .name = "onnxruntime",
    .summary =
        "an ONNX model in this process, by any release of ONNX Runtime from 1.10 on, found when the run begins. A request that times "
        "out stops between two operators",
    .sees = "handover and run; operators in its own profile (workload.options.profile), in runs that make no claim",
    .in_process = true,
    .options = ort_options,
    .n_options = LYNX_COUNT(ort_options),

    .open = ort_open,
    .describe = ort_describe,
    .prepare = ort_prepare,
    .issue = ort_issue,
    .reap = ort_reap,
    .cancel = ort_cancel,
    .close = ort_close,
};
