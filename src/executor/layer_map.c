#include "executor/layer_map.h"

#include <string.h>
#include <strings.h>

static const struct {
  const char *prefix;
  enum layer layer;
} libraries[] = {
    /* runtime: kernels and the libraries that choose them */
    {"libdnnl", LAYER_RUNTIME},
    {"libmkl", LAYER_RUNTIME},
    {"libopenblas", LAYER_RUNTIME},
    {"libblas", LAYER_RUNTIME},
    {"libblis", LAYER_RUNTIME},
    {"libonnxruntime", LAYER_RUNTIME},
    {"libopenvino", LAYER_RUNTIME},
    {"libnvinfer", LAYER_RUNTIME},
    {"libcudnn", LAYER_RUNTIME},
    {"libcublas", LAYER_RUNTIME},
    {"libcufft", LAYER_RUNTIME},
    {"libcusparse", LAYER_RUNTIME},
    {"libcusolver", LAYER_RUNTIME},
    {"libcutlass", LAYER_RUNTIME},
    {"libnccl", LAYER_RUNTIME},
    {"librccl", LAYER_RUNTIME},
    {"libMIOpen", LAYER_RUNTIME},
    {"librocblas", LAYER_RUNTIME},
    {"libhipblas", LAYER_RUNTIME},
    {"libggml", LAYER_RUNTIME},
    {"libllama", LAYER_RUNTIME},
    {"libxnnpack", LAYER_RUNTIME},
    {"libgomp", LAYER_RUNTIME},
    {"libiomp", LAYER_RUNTIME},
    {"libomp", LAYER_RUNTIME},
    {"libtbb", LAYER_RUNTIME},
    {"libtriton", LAYER_RUNTIME},
    {"libcudart", LAYER_RUNTIME},
    {"libnvrtc", LAYER_RUNTIME},
    {"libucp", LAYER_RUNTIME},
    /* framework */
    {"libtorch", LAYER_FRAMEWORK},
    {"libc10", LAYER_FRAMEWORK},
    {"libtensorflow", LAYER_FRAMEWORK},
    {"libjax", LAYER_FRAMEWORK},
    {"xla_extension", LAYER_FRAMEWORK},
    {"libpython", LAYER_FRAMEWORK},
    {"libtokenizers", LAYER_FRAMEWORK},
    {"libsentencepiece", LAYER_FRAMEWORK},
    /* system: C library, loader, allocators, driver libraries */
    {"ld-linux", LAYER_SYSTEM},
    {"libc.so", LAYER_SYSTEM},
    {"libc-", LAYER_SYSTEM},
    {"libm.so", LAYER_SYSTEM},
    {"libm-", LAYER_SYSTEM},
    {"libpthread", LAYER_SYSTEM},
    {"libdl", LAYER_SYSTEM},
    {"librt.", LAYER_SYSTEM},
    {"libstdc++", LAYER_SYSTEM},
    {"libgcc_s", LAYER_SYSTEM},
    {"libjemalloc", LAYER_SYSTEM},
    {"libtcmalloc", LAYER_SYSTEM},
    {"libmimalloc", LAYER_SYSTEM},
    {"libcuda.so", LAYER_SYSTEM},
    {"libnvidia", LAYER_SYSTEM},
    {"libnuma", LAYER_SYSTEM},
    {"libssl", LAYER_SYSTEM},
    {"libcrypto", LAYER_SYSTEM},
    {"libz.", LAYER_SYSTEM},
    {"libOpenCL", LAYER_SYSTEM},
    {"libhsa", LAYER_SYSTEM},
    {"libamdhip", LAYER_SYSTEM},
    {"libdrm", LAYER_SYSTEM},
    {"libibverbs", LAYER_SYSTEM},
    {"libelf", LAYER_SYSTEM},
    /* serving */
    {"libtritonserver", LAYER_SERVING},
    {"libuv", LAYER_SERVING},
    {"libgrpc", LAYER_SERVING},
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
    {"TORCH", LAYER_FRAMEWORK, "PyTorch"},
    {"PYTORCH_", LAYER_FRAMEWORK, "PyTorch's allocator and tuning"},
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

enum layer layer_of_library(const char *file_name) {
  for (size_t i = 0; i < LYNX_COUNT(libraries); i++)
    if (strncmp(file_name, libraries[i].prefix, strlen(libraries[i].prefix)) == 0) return libraries[i].layer;
  return LAYER_FRAMEWORK;
}

bool variable_is_secret(const char *name) {
  static const char *const words[] = {"TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE"};
  if (strncmp(name, "TOKENIZERS_", 11) == 0) return false;
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasestr(name, words[i]) != NULL) return true;
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
