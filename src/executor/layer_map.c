#include "executor/layer_map.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/secret.h"

static const struct {
  const char *prefix;
  enum layer layer;
  bool serves_its_caller;
} libraries[] = {
    /* runtime: kernels and the libraries that choose them */
    {"libdnnl", LAYER_RUNTIME, false},
    {"libmkl", LAYER_RUNTIME, false},
    {"libopenblas", LAYER_RUNTIME, false}, /* also "libopenblas64_p-r0" of older wheels */
    {"libscipy_openblas", LAYER_RUNTIME, false},
    {"liblapack", LAYER_RUNTIME, false},
    {"libcblas", LAYER_RUNTIME, false},
    {"libarmpl", LAYER_RUNTIME, false},
    {"libgfortran", LAYER_RUNTIME, true},
    {"libquadmath", LAYER_RUNTIME, true},
    {"libaotriton", LAYER_RUNTIME, false},
    {"libnvJitLink", LAYER_RUNTIME, false},
    {"libtvm", LAYER_RUNTIME, false},
    {"libhipsparse", LAYER_RUNTIME, false},
    {"librocsparse", LAYER_RUNTIME, false},
    {"librocsolver", LAYER_RUNTIME, false},
    {"libascend", LAYER_RUNTIME, false},
    {"libhccl", LAYER_RUNTIME, false},
    {"libblas", LAYER_RUNTIME, false},
    {"libblis", LAYER_RUNTIME, false},
    {"libonnxruntime", LAYER_RUNTIME, false},
    {"libopenvino", LAYER_RUNTIME, false},
    {"libnvinfer", LAYER_RUNTIME, false},
    {"libcudnn", LAYER_RUNTIME, false},
    {"libcublas", LAYER_RUNTIME, false},
    {"libcufft", LAYER_RUNTIME, false},
    {"libcusparse", LAYER_RUNTIME, false},
    {"libcusolver", LAYER_RUNTIME, false},
    {"libcutlass", LAYER_RUNTIME, false},
    {"libnccl", LAYER_RUNTIME, false},
    {"librccl", LAYER_RUNTIME, false},
    {"libMIOpen", LAYER_RUNTIME, false},
    {"librocblas", LAYER_RUNTIME, false},
    {"libhipblas", LAYER_RUNTIME, false},
    {"libggml", LAYER_RUNTIME, false},
    {"libllama", LAYER_RUNTIME, false},
    {"libxnnpack", LAYER_RUNTIME, false},
    {"libgomp", LAYER_RUNTIME, false},
    {"libiomp", LAYER_RUNTIME, false},
    {"libomp", LAYER_RUNTIME, false},
    {"libtbb", LAYER_RUNTIME, false},
    {"libtriton", LAYER_RUNTIME, false},
    {"libcudart", LAYER_RUNTIME, false},
    {"libnvrtc", LAYER_RUNTIME, false},
    {"libucp", LAYER_RUNTIME, false},
    /* framework */
    {"libtorch", LAYER_FRAMEWORK, false},
    {"libc10", LAYER_FRAMEWORK, false},
    {"libtensorflow", LAYER_FRAMEWORK, false},
    {"libjax", LAYER_FRAMEWORK, false},
    {"xla_extension", LAYER_FRAMEWORK, false},
    {"libpython", LAYER_FRAMEWORK, false},
    {"libtokenizers", LAYER_FRAMEWORK, false},
    {"libsentencepiece", LAYER_FRAMEWORK, false},
    /* system: C library, loader, allocators, driver libraries */
    {"ld-linux", LAYER_SYSTEM, true},
    {"libc.so", LAYER_SYSTEM, true},
    {"libc-", LAYER_SYSTEM, true},
    {"libm.so", LAYER_SYSTEM, true},
    {"libm-", LAYER_SYSTEM, true},
    {"libpthread", LAYER_SYSTEM, true},
    {"libdl", LAYER_SYSTEM, true},
    {"librt.", LAYER_SYSTEM, true},
    {"libstdc++", LAYER_SYSTEM, true},
    {"libgcc_s", LAYER_SYSTEM, true},
    {"libjemalloc", LAYER_SYSTEM, false},
    {"libtcmalloc", LAYER_SYSTEM, false},
    {"libmimalloc", LAYER_SYSTEM, false},
    {"libcuda.so", LAYER_SYSTEM, false},
    {"libnvidia", LAYER_SYSTEM, false},
    {"libnuma", LAYER_SYSTEM, false},
    {"libssl", LAYER_SYSTEM, false},
    /* who asks for digests, packing or parsing is whose they are */
    {"libcrypto", LAYER_SYSTEM, true},
    {"libcrypt.", LAYER_SYSTEM, true},
    {"libz.", LAYER_SYSTEM, true},
    {"libz-", LAYER_SYSTEM, true},
    {"libzstd", LAYER_SYSTEM, true},
    {"liblz4", LAYER_SYSTEM, true},
    {"liblzma", LAYER_SYSTEM, true},
    {"libbz2", LAYER_SYSTEM, true},
    {"libsnappy", LAYER_SYSTEM, true},
    {"libbrotli", LAYER_SYSTEM, true},
    {"libexpat", LAYER_SYSTEM, true},
    {"libpcre", LAYER_SYSTEM, true},
    {"libsqlite3", LAYER_SYSTEM, true},
    {"libOpenCL", LAYER_SYSTEM, false},
    {"libhsa", LAYER_SYSTEM, false},
    {"libamdhip", LAYER_SYSTEM, false},
    {"libdrm", LAYER_SYSTEM, false},
    {"libibverbs", LAYER_SYSTEM, false},
    {"libelf", LAYER_SYSTEM, false},
    /* serving */
    {"libtritonserver", LAYER_SERVING, false},
    {"libuv", LAYER_SERVING, false},
    {"libgrpc", LAYER_SERVING, false},
};

static const struct {
  const char *prefix;
  enum layer layer;
  const char *reason;
} variables[] = {
    {"OMP_", LAYER_RUNTIME, "threads of OpenMP kernels"},
    {"GOMP_", LAYER_RUNTIME, "threads of OpenMP kernels"},
    {"KMP_", LAYER_RUNTIME, "threads of OpenMP kernels"},
    {"MKL_", LAYER_RUNTIME, "threads and instruction set of MKL"},
    {"OPENBLAS_", LAYER_RUNTIME, "threads and kernels of OpenBLAS"},
    {"ONEDNN_", LAYER_RUNTIME, "instruction set and caches of oneDNN"},
    {"DNNL_", LAYER_RUNTIME, "instruction set and caches of oneDNN"},
    {"ORT_", LAYER_RUNTIME, "ONNX Runtime"},
    {"CUBLAS_", LAYER_RUNTIME, "cuBLAS workspaces"},
    {"CUDNN_", LAYER_RUNTIME, "cuDNN"},
    {"NCCL_", LAYER_RUNTIME, "collectives"},
    {"RCCL_", LAYER_RUNTIME, "collectives"},
    {"UCX_", LAYER_RUNTIME, "transport of collectives"},
    {"MIOPEN_", LAYER_RUNTIME, "kernels of MIOpen"},
    {"TRITON_", LAYER_RUNTIME, "compiled kernels"},
    {"GGML_", LAYER_RUNTIME, "ggml"},
    {"NVIDIA_TF32_OVERRIDE", LAYER_RUNTIME, "precision of f32 products"},
    {"BLIS_", LAYER_RUNTIME, "threads and kernels of BLIS"},
    {"UV_THREADPOOL_SIZE", LAYER_RUNTIME, "threads of Node's pool"},
    {"GOMAXPROCS", LAYER_RUNTIME, "processors that Go uses"},
    {"GOGC", LAYER_RUNTIME, "how often Go collects garbage"},
    {"GOMEMLIMIT", LAYER_RUNTIME, "how often Go collects garbage"},
    {"TOKIO_", LAYER_RUNTIME, "threads of tokio"},
    {"RAYON_", LAYER_RUNTIME, "threads of rayon"},
    {"NODE_OPTIONS", LAYER_RUNTIME, "Node's heap and flags"},
    {"ATEN_", LAYER_FRAMEWORK, "instruction set of PyTorch's kernels"},
    {"TORCH", LAYER_FRAMEWORK, "PyTorch"},
    {"PYTORCH_", LAYER_FRAMEWORK, "PyTorch's allocator and tuning"},
    {"PYTHON", LAYER_FRAMEWORK, "Python: search path, hashing, optimisation, threads"},
    {"TF_CPP_", LAYER_FRAMEWORK, "TensorFlow"},
    {"TF_NUM_", LAYER_FRAMEWORK, "TensorFlow threads"},
    {"TF_ENABLE_", LAYER_FRAMEWORK, "TensorFlow kernels"},
    {"TF_XLA_", LAYER_FRAMEWORK, "TensorFlow compilation"},
    {"TF_GPU_", LAYER_FRAMEWORK, "TensorFlow devices"},
    {"TF_FORCE_", LAYER_FRAMEWORK, "TensorFlow devices"},
    {"XLA_", LAYER_FRAMEWORK, "XLA"},
    {"JAX_", LAYER_FRAMEWORK, "JAX"},
    {"TOKENIZERS_", LAYER_FRAMEWORK, "tokenizer threads"},
    {"VLLM_", LAYER_SERVING, "vLLM"},
    {"SGLANG_", LAYER_SERVING, "SGLang"},
    {"LLAMA_ARG_", LAYER_SERVING, "llama.cpp"},
    {"OLLAMA_", LAYER_SERVING, "Ollama"},
    {"CUDA_", LAYER_SYSTEM, "devices, launch mode, caches of the CUDA driver"},
    {"NVIDIA_VISIBLE_DEVICES", LAYER_SYSTEM, "devices"},
    {"HIP_", LAYER_SYSTEM, "devices of ROCm"},
    {"HSA_", LAYER_SYSTEM, "ROCm runtime"},
    {"ROCR_", LAYER_SYSTEM, "devices of ROCm"},
    {"GPU_MAX_HW_QUEUES", LAYER_SYSTEM, "queues of ROCm"},
    {"MALLOC_", LAYER_SYSTEM, "allocator"},
    {"GLIBC_TUNABLES", LAYER_SYSTEM, "C library"},
    {"LD_PRELOAD", LAYER_SYSTEM, "libraries put in front"},
    {"LD_LIBRARY_PATH", LAYER_SYSTEM, "which libraries are found"},
};

/* By the folder below site-packages. */
static const struct {
  const char *package;
  enum layer layer;
} packages[] = {
    {"vllm", LAYER_SERVING},
    {"sglang", LAYER_SERVING},
    {"lmdeploy", LAYER_SERVING},
    {"text_generation_server", LAYER_SERVING},
    {"uvicorn", LAYER_SERVING},
    {"uvloop", LAYER_SERVING},
    {"fastapi", LAYER_SERVING},
    {"starlette", LAYER_SERVING},
    {"flask", LAYER_SERVING},
    {"werkzeug", LAYER_SERVING},
    {"aiohttp", LAYER_SERVING},
    {"gunicorn", LAYER_SERVING},
    {"ray", LAYER_SERVING},
    {"mlserver", LAYER_SERVING},
    {"litserve", LAYER_SERVING},
    {"bentoml", LAYER_SERVING},
    {"ts", LAYER_SERVING},
    {"httptools", LAYER_SERVING},
    {"h11", LAYER_SERVING},
    {"anyio", LAYER_SERVING},
    {"tornado", LAYER_SERVING},
    {"hypercorn", LAYER_SERVING},
    {"waitress", LAYER_SERVING},
    {"zmq", LAYER_SERVING},
    {"grpc", LAYER_SERVING},
    {"prometheus_client", LAYER_SERVING},
    {"flash_attn", LAYER_RUNTIME},
    {"flashinfer", LAYER_RUNTIME},
    {"triton", LAYER_RUNTIME},
    {"xformers", LAYER_RUNTIME},
    {"torch", LAYER_FRAMEWORK},
    {"transformers", LAYER_FRAMEWORK},
    {"tokenizers", LAYER_FRAMEWORK},
    {"onnxruntime", LAYER_FRAMEWORK},
    {"tensorflow", LAYER_FRAMEWORK},
    {"jax", LAYER_FRAMEWORK},
    {"numpy", LAYER_FRAMEWORK},
    {"safetensors", LAYER_FRAMEWORK},
    {"accelerate", LAYER_FRAMEWORK},
    {"sentencepiece", LAYER_FRAMEWORK},
    {"tiktoken", LAYER_FRAMEWORK},
    {"torchvision", LAYER_FRAMEWORK},
    {"optimum", LAYER_FRAMEWORK},
    {"diffusers", LAYER_FRAMEWORK},
    {"openvino", LAYER_FRAMEWORK},
    {"tensorrt_llm", LAYER_SERVING},
    {"aphrodite", LAYER_SERVING},
    {"mlc_llm", LAYER_SERVING},
    {"vllm_ascend", LAYER_SERVING},
    {"mindie_llm", LAYER_SERVING},
    {"aiter", LAYER_RUNTIME},
    {"triton_kernels", LAYER_RUNTIME},
    {"sgl_kernel", LAYER_RUNTIME},
    {"deep_gemm", LAYER_RUNTIME},
    {"deep_ep", LAYER_RUNTIME},
    {"flash_mla", LAYER_RUNTIME},
    {"vllm_flash_attn", LAYER_RUNTIME},
    {"cutlass", LAYER_RUNTIME},
    {"tilelang", LAYER_RUNTIME},
    {"bitsandbytes", LAYER_RUNTIME},
    {"tensorrt", LAYER_RUNTIME},
    {"xgrammar", LAYER_RUNTIME},
    {"torch_npu", LAYER_FRAMEWORK},
    {"torch_xla", LAYER_FRAMEWORK},
    {"torchao", LAYER_FRAMEWORK},
    {"torchaudio", LAYER_FRAMEWORK},
    {"deepspeed", LAYER_FRAMEWORK},
    {"megatron", LAYER_FRAMEWORK},
    {"lightning", LAYER_FRAMEWORK},
    {"pytorch_lightning", LAYER_FRAMEWORK},
    {"apex", LAYER_FRAMEWORK},
    {"transformer_engine", LAYER_FRAMEWORK},
    {"peft", LAYER_FRAMEWORK},
    {"datasets", LAYER_FRAMEWORK},
    {"timm", LAYER_FRAMEWORK},
    {"jaxlib", LAYER_FRAMEWORK},
    {"flax", LAYER_FRAMEWORK},
    {"compressed_tensors", LAYER_FRAMEWORK},
    {"huggingface_hub", LAYER_FRAMEWORK},
};

/* Libraries that anybody's code calls: whose the time is, only their caller says. */
static const char libraries_of_all[] =
    " PIL Cython OpenSSL attr attrs certifi cffi charset_normalizer click cloudpickle cryptography cv2 dill django einops filelock "
    "fsspec google gguf httpcore httpx idna jinja2 jsonschema lark loguru markupsafe matplotlib mpmath msgpack msgspec multidict "
    "networkx nltk nvtx opentelemetry orjson outlines packaging pandas prometheus_fastapi_instrumentator protobuf psutil psycopg "
    "psycopg2 pyarrow pydantic pydantic_core pydantic_settings pygments pymongo pynvml redis referencing regex requests rich rpds "
    "scipy sentry_sdk setproctitle simplejson six sklearn soundfile sqlalchemy structlog sympy tqdm typer typing_extensions "
    "typing_inspection ujson urllib3 watchfiles websockets wrapt yaml yarl zstandard ";

/* Where compilers keep the code that they made. */
static const char *const compiled[] = {"/torchinductor_", "/.triton/cache/", "/torch_compile_cache/", "/inductor_cache/", "/.cache/torch/"};

/* Of the standard library, the modules that are seen on a server's stacks: where a profiler writes names as they are imported, nothing
 * else tells them from the project's own files. */
static const char standard_modules[] =
    " _bootstrap _collections_abc _weakrefset abc argparse ast asyncio base64 bisect codecs collections concurrent "
    "contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal email encodings enum fractions functools "
    "gc genericpath glob gzip hashlib heapq hmac html http importlib inspect io ipaddress json linecache locale math "
    "mimetypes multiprocessing numbers operator os pathlib pickle pkgutil platform posixpath pprint queue random re reprlib "
    "runpy sched secrets select selectors shutil signal site socket socketserver sre_compile sre_parse ssl stat statistics "
    "string struct subprocess tempfile textwrap threading time timeit tokenize traceback types typing unittest urllib uuid "
    "warnings weakref wsgiref xml zipfile zoneinfo ";

/* "torch/nn/modules/linear.py", "threading.py": a path below one that Python imports from; the module has n characters. */
static bool is_module(const char *path, const char *module, size_t n) {
  return strncmp(path, module, n) == 0 && (path[n] == '/' || strcmp(path + n, ".py") == 0);
}

static bool is_standard(const char *path) {
  for (const char *word = standard_modules + 1; *word != 0; word += strcspn(word, " ") + 1)
    if (is_module(path, word, strcspn(word, " "))) return true;
  return false;
}

static bool layer_of_package(const char *path, enum layer *ret) {
  for (size_t i = 0; i < LYNX_COUNT(packages); i++) {
    if (!is_module(path, packages[i].package, strlen(packages[i].package))) continue;
    *ret = packages[i].layer;
    return true;
  }
  return false;
}

static bool is_library_of_all(const char *path) {
  for (const char *word = libraries_of_all + 1; *word != 0; word += strcspn(word, " ") + 1)
    if (is_module(path, word, strcspn(word, " "))) return true;
  return false;
}

/* A source tree that was installed to be edited, an image's, or one whose site-packages was cut off: "/sgl-workspace/sglang/python/sglang/srt"
 * is sglang. The folder below its package's own name, or a fork's or workspace's of that name; a user's "/home/me/torch/train.py" is not. */
static bool layer_of_tree(const char *path, enum layer *ret) {
  bool found = false;
  for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    enum layer layer;
    const char *part = slash + 1, *end = strchr(part, '/');
    if (end == NULL || !layer_of_package(part, &layer)) continue;
    size_t n = (size_t)(end - part);
    for (const char *before = path; before < slash; before++) {
      bool begins = before == path || before[-1] == '/';
      if (!begins || strncmp(before, part, n) != 0 || strchr("/-_.", before[n]) == NULL) continue;
      *ret = layer;
      found = true;
      break;
    }
  }
  return found;
}

enum python_file layer_of_python_file(const char *path, enum layer *ret) {
  const char *site = strstr(path, "/site-packages/");
  if (site == NULL) site = strstr(path, "/dist-packages/");
  if (site != NULL) return layer_of_package(site + 15, ret) ? PYTHON_FILE_KNOWN : PYTHON_FILE_UNKNOWN;
  if (strstr(path, "/logging/__init__.py") != NULL || is_module(path, "logging", 7)) { /* what is logged, and how much, the program chose */
    *ret = LAYER_APPLICATION;
    return PYTHON_FILE_KNOWN;
  }
  if (path[0] == '<' || path[0] == 0 || strstr(path, "/lib/python3") != NULL || strstr(path, "/lib64/python3") != NULL)
    return PYTHON_FILE_STANDARD;
  for (size_t i = 0; i < LYNX_COUNT(compiled); i++)
    if (strstr(path, compiled[i]) != NULL) {
      *ret = LAYER_FRAMEWORK;
      return PYTHON_FILE_KNOWN;
    }
  if (path[0] != '/') {
    if (layer_of_package(path, ret)) return PYTHON_FILE_KNOWN;
    if (is_standard(path)) return PYTHON_FILE_STANDARD;
    if (is_library_of_all(path)) return PYTHON_FILE_UNKNOWN;
  }
  if (layer_of_tree(path, ret)) return PYTHON_FILE_KNOWN;
  *ret = LAYER_APPLICATION;
  return PYTHON_FILE_KNOWN;
}

/* Source: the ranges that vLLM 0.32 (vllm/v1/worker), SGLang and PyTorch 2.13 name themselves. */
bool layer_of_range(const char *name, size_t length, enum layer *ret) {
  static const struct {
    const char *begins;
    enum layer layer;
  } ranges[] = {{"execute_context_", LAYER_SERVING},
                {"gpu_model_runner:", LAYER_SERVING},
                {"cpu_model_runner:", LAYER_SERVING},
                {"vllm::", LAYER_SERVING},
                {"step[", LAYER_SERVING},
                {"nccl:", LAYER_RUNTIME},
                {"gloo:", LAYER_RUNTIME},
                {"mpi:", LAYER_RUNTIME},
                {"ucc:", LAYER_RUNTIME},
                {"hccl:", LAYER_RUNTIME},
                {"xccl:", LAYER_RUNTIME},
                {"aten::", LAYER_FRAMEWORK}, /* also as NVTX has it: "aten::add, op_id = 12" */
                {"c10d::", LAYER_FRAMEWORK},
                {"torch.", LAYER_FRAMEWORK},
                {"PjRt", LAYER_FRAMEWORK},
                {"PJRT_", LAYER_FRAMEWORK},
                {"PjitFunction", LAYER_FRAMEWORK},
                {"XlaModule", LAYER_FRAMEWORK},
                {"ThenExecuteCallback", LAYER_FRAMEWORK},
                {"BufferSequencingEvent::", LAYER_FRAMEWORK},
                {"ThreadpoolListener::", LAYER_FRAMEWORK},
                {"jit_", LAYER_FRAMEWORK},
                {"TfrtCpu", LAYER_FRAMEWORK},
                {"session_initialization", LAYER_FRAMEWORK}, /* ONNX Runtime */
                {"model_loading", LAYER_FRAMEWORK},
                {"model_run", LAYER_FRAMEWORK},
                {"SequentialExecutor::", LAYER_FRAMEWORK},
                {"TorchDynamo", LAYER_FRAMEWORK},
                {"CompiledFunction", LAYER_FRAMEWORK},
                {"Torch-Compiled Region", LAYER_FRAMEWORK},
                {"Optimizer.", LAYER_FRAMEWORK},
                {"## Call CompiledFxGraph", LAYER_FRAMEWORK},
                {"autograd::engine", LAYER_FRAMEWORK},
                {"DistributedDataParallel.", LAYER_FRAMEWORK},
                {"FullyShardedDataParallel.", LAYER_FRAMEWORK}};
  for (size_t i = 0; i < LYNX_COUNT(ranges); i++) {
    size_t n = strlen(ranges[i].begins);
    if (length < n || memcmp(name, ranges[i].begins, n) != 0) continue;
    *ret = ranges[i].layer;
    return true;
  }
  return false;
}

static size_t library_of(const char *file_name) {
  size_t i = 0;
  while (i < LYNX_COUNT(libraries) && strncmp(file_name, libraries[i].prefix, strlen(libraries[i].prefix)) != 0) i++;
  return i;
}

bool layer_of_library(const char *file_name, enum layer *ret) {
  size_t i = library_of(file_name);
  if (i < LYNX_COUNT(libraries)) *ret = libraries[i].layer;
  return i < LYNX_COUNT(libraries);
}

bool library_serves_its_caller(const char *file_name) {
  size_t i = library_of(file_name);
  return i < LYNX_COUNT(libraries) && libraries[i].serves_its_caller;
}

/* Of the words between '-', '_', '.' and blanks: "API_KEY" and "hftoken" are secrets, "max-num-batched-tokens" and "tokenizer" are not. */
bool variable_is_secret(const char *name) {
  static const char *const ends[] = {"TOKEN",      "KEY",    "SECRET",     "PASS",        "PASSWD", "PASSWORD",
                                     "PASSPHRASE", "COOKIE", "CREDENTIAL", "CREDENTIALS", "BEARER", "PWD"};
  static const char *const begins[] = {"SECRET", "PASSW", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "APIKEY"};
  static const char separators[] = "-_. =:/";
  for (const char *word = name + strspn(name, separators); *word != 0;) {
    size_t n = strcspn(word, separators);
    for (size_t i = 0; i < LYNX_COUNT(ends); i++)
      if (n >= strlen(ends[i]) && strncasecmp(word + n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0) return true;
    for (size_t i = 0; i < LYNX_COUNT(begins); i++)
      if (n >= strlen(begins[i]) && strncasecmp(word, begins[i], strlen(begins[i])) == 0) return true;
    word += n;
    word += strspn(word, separators);
  }
  return false;
}

/* The word that ends before `end`, without quotes. */
static bool names_secret(const char *value, const char *end) {
  char word[80];
  while (end > value && strchr(" \t\"'", end[-1]) != NULL) end--;
  const char *from = end;
  while (from > value && end - from < 70 && strchr(" ;,&\"'{[(\n\t", from[-1]) == NULL) from--;
  int n = (int)(end - from);
  if (n == 0) return false;
  for (int i = 0; i < n; i++) word[i] = from[i];
  word[n] = 0;
  return variable_is_secret(word);
}

/* "Authorization: Bearer x", "redis://user:password@host", "HF_TOKEN=x", {"api_key": "x"}, "X-Api-Token: x": whatever name it is given
 * under. */
bool value_may_be_secret(const char *value) {
  size_t length;
  if (secret_in(value, &length) != NULL) return true;
  if (strcasestr(value, "bearer ") != NULL || strcasestr(value, "authorization") != NULL || strstr(value, "-----BEGIN") != NULL)
    return true;
  for (const char *p = strstr(value, "://"); p != NULL; p = strstr(p + 3, "://")) {
    size_t n = strcspn(p + 3, "/ \"'");
    const char *at = memchr(p + 3, '@', n);
    if (at != NULL && memchr(p + 3, ':', (size_t)(at - p) - 3) != NULL) return true;
  }
  for (const char *p = strstr(value, "--"); p != NULL; p = strstr(p + 2, "--")) { /* --api-key VALUE */
    size_t n = strcspn(p + 2, " \t=");
    char option[80];
    (void)snprintf(option, sizeof option, "%.*s", (int)(n < sizeof option ? n : sizeof option - 1), p + 2);
    if (p[2 + n] != 0 && variable_is_secret(option)) return true;
  }
  for (const char *p = strpbrk(value, "=:"); p != NULL; p = strpbrk(p + 1, "=:"))
    if (names_secret(value, p)) return true;
  return false;
}

bool layer_of_variable(const char *name, enum layer *ret_layer, const char **ret_reason) {
  if (variable_is_secret(name)) return false;
  for (size_t i = 0; i < LYNX_COUNT(variables); i++) {
    if (strncmp(name, variables[i].prefix, strlen(variables[i].prefix)) != 0) continue;
    *ret_layer = variables[i].layer;
    *ret_reason = variables[i].reason;
    return true;
  }
  return false;
}
