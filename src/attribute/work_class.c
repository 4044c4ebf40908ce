#include "attribute/work_class.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
  K = 1 << TRACE_KERNEL,
  C = 1 << TRACE_COPY,
  S = 1 << TRACE_SET,
  R = 1 << TRACE_RUNTIME,
  O = 1 << TRACE_OPERATOR,
  P = 1 << TRACE_PYTHON,
  A = 1 << TRACE_ANNOTATION,
  X = 1 << TRACE_OTHER
};

/* A pattern is found anywhere in the name, whatever its case; '^' before it: at the beginning only; '$' behind it too: and nothing more. */
static const struct rule {
  int kinds;
  const char *pattern;
  enum work_class work;
} rules[] = {
    {C, "", WORK_COPY},
    {S, "", WORK_SET},

    {K, "nccl", WORK_COMMUNICATION},
    {K, "rccl", WORK_COMMUNICATION},
    {K, "cross_device_reduce", WORK_COMMUNICATION},
    {K, "nvshmem", WORK_COMMUNICATION},
    {K, "rocshmem", WORK_COMMUNICATION},
    {K, "mscclpp", WORK_COMMUNICATION},
    {K, "hccl", WORK_COMMUNICATION},
    {K, "hcom_", WORK_COMMUNICATION},
    {K, "all-reduce", WORK_COMMUNICATION}, /* as XLA names its operations */
    {K, "all-gather", WORK_COMMUNICATION},
    {K, "reduce-scatter", WORK_COMMUNICATION},
    {K, "all-to-all", WORK_COMMUNICATION},
    {K, "collective-permute", WORK_COMMUNICATION},
    {K, "^send.", WORK_COMMUNICATION},
    {K, "^recv.", WORK_COMMUNICATION},
    {K, "^infeed", WORK_COPY},
    {K, "^outfeed", WORK_COPY},
    {K, "oneccl", WORK_COMMUNICATION},
    {K, "^Rt64_", WORK_COMMUNICATION}, /* oneCCL's protocols */
    {K, "remote_ranks", WORK_COMMUNICATION},
    {K, "gather_from_remote", WORK_COMMUNICATION},
    {K, "allgather", WORK_COMMUNICATION},
    {K, "all_gather", WORK_COMMUNICATION},
    {K, "reducescatter", WORK_COMMUNICATION},
    {K, "reduce_scatter", WORK_COMMUNICATION},
    {K, "alltoall", WORK_COMMUNICATION},
    {K, "all_to_all", WORK_COMMUNICATION},
    {K, "allreduce", WORK_COMMUNICATION},
    {K, "all_reduce", WORK_COMMUNICATION},
    {K, "rocclr_copyBuffer", WORK_COPY},
    {K, "rocclr_fillBuffer", WORK_SET},
    {K, "^Memcpy", WORK_COPY},
    {K, "^Memset", WORK_SET},

    {K, "flashinfer::norm", WORK_NORMALISATION},
    {K, "flashinfer::sampling", WORK_SAMPLING},
    {K, "flashinfer::activation", WORK_ELEMENTWISE},
    {K, "flash", WORK_ATTENTION},
    {K, "fmha", WORK_ATTENTION},
    {K, "attention", WORK_ATTENTION},
    {K, "attn", WORK_ATTENTION},
    {K, "mla_", WORK_ATTENTION},
    {K, "reshape_and_cache", WORK_ATTENTION},
    {K, "moe", WORK_EXPERTS},
    {K, "topk_gating", WORK_EXPERTS},
    {K, "grouped_topk", WORK_EXPERTS},
    {K, "batch_norm", WORK_NORMALISATION},
    {K, "batchnorm", WORK_NORMALISATION},
    {K, "bn_fw", WORK_NORMALISATION},
    {K, "bn_bw", WORK_NORMALISATION},
    {K, "layernorm", WORK_NORMALISATION},
    {K, "layer_norm", WORK_NORMALISATION},
    {K, "rmsnorm", WORK_NORMALISATION},
    {K, "rms_norm", WORK_NORMALISATION},
    {K, "groupnorm", WORK_NORMALISATION},
    {K, "group_norm", WORK_NORMALISATION},
    {K, "RowwiseMoments", WORK_NORMALISATION},
    {K, "convert", WORK_CONVERSION},
    {K, "conv", WORK_CONVOLUTION},
    {K, "scudnn", WORK_CONVOLUTION},
    {K, "wgrad", WORK_CONVOLUTION},
    {K, "dgrad", WORK_CONVOLUTION},
    {K, "winograd", WORK_CONVOLUTION},
    {K, "igemm_fwd", WORK_CONVOLUTION},
    {K, "igemm_bwd", WORK_CONVOLUTION},
    {K, "cask_cudnn", WORK_CONVOLUTION},
    {K, "cudnn", WORK_CONVOLUTION},
    {K, "rotary", WORK_ELEMENTWISE},
    {K, "embedding", WORK_INDEXING},
    {K, "fbgemm_gpu::permute", WORK_LAYOUT},
    {K, "fbgemm_gpu::jagged", WORK_LAYOUT},
    {K, "gemm", WORK_MATRIX},
    {K, "matmul", WORK_MATRIX},
    {K, "bmm", WORK_MATRIX},
    {K, "gemv", WORK_MATRIX},
    {K, "nvjet", WORK_MATRIX},
    {K, "cutlass", WORK_MATRIX},
    {K, "cublas", WORK_MATRIX},
    {K, "xmma", WORK_MATRIX},
    {K, "^Cijk_", WORK_MATRIX},
    {K, "wvSplitK", WORK_MATRIX},
    {K, "splitKreduce", WORK_MATRIX},
    {K, "ReduceSplitK", WORK_MATRIX},
    {K, "^fc-dtype", WORK_MATRIX}, /* MTIA's names */
    {K, "triton_mm", WORK_MATRIX},
    {K, "_mm_kernel", WORK_MATRIX},
    {K, "dot_kernel", WORK_MATRIX},
    {K, "norm", WORK_NORMALISATION},
    {K, "radix", WORK_SAMPLING},
    {K, "sort", WORK_SAMPLING},
    {K, "topk", WORK_SAMPLING},
    {K, "top_k", WORK_SAMPLING},
    {K, "top_p", WORK_SAMPLING},
    {K, "sampling", WORK_SAMPLING},
    {K, "multinomial", WORK_SAMPLING},
    {K, "argmax", WORK_SAMPLING},
    {K, "ArgMaxOps", WORK_SAMPLING},
    {K, "distribution_", WORK_SAMPLING},
    {K, "penalt", WORK_SAMPLING},
    {K, "quant", WORK_CONVERSION},
    {K, "_cast", WORK_CONVERSION},
    {K, "bfloat16_copy", WORK_CONVERSION},
    {K, "float16_copy", WORK_CONVERSION},
    {K, "LoadWithCast", WORK_CONVERSION},
    {K, "index", WORK_INDEXING},
    {K, "gather", WORK_INDEXING},
    {K, "scatter", WORK_INDEXING},
    {K, "masked_fill", WORK_ELEMENTWISE},
    {K, "CatArray", WORK_LAYOUT},
    {K, "transpose", WORK_LAYOUT},
    {K, "permute", WORK_LAYOUT},
    {K, "nchwToNhwc", WORK_LAYOUT},
    {K, "nhwcToNchw", WORK_LAYOUT},
    {K, "tensorTransform", WORK_LAYOUT},
    {K, "SubTensorOp", WORK_LAYOUT},
    {K, "direct_copy", WORK_LAYOUT},
    {K, "copy_kernel", WORK_LAYOUT},
    {K, "copy_device_to_device", WORK_LAYOUT},
    {K, "triu_tril", WORK_LAYOUT},
    {K, "tril", WORK_LAYOUT},
    {K, "pad", WORK_LAYOUT},
    {K, "rope", WORK_ELEMENTWISE},
    {K, "softmax", WORK_REDUCTION},
    {K, "pool", WORK_REDUCTION},
    {K, "reduce", WORK_REDUCTION},
    {K, "triton_red", WORK_REDUCTION},
    {K, "triton_per", WORK_REDUCTION},
    {K, "cumsum", WORK_REDUCTION},
    {K, "Scan", WORK_REDUCTION},
    {K, "elementwise", WORK_ELEMENTWISE},
    {K, "triton_poi", WORK_ELEMENTWISE},
    {K, "activation", WORK_ELEMENTWISE},
    {K, "act_and_mul", WORK_ELEMENTWISE},
    {K, "gelu", WORK_ELEMENTWISE},
    {K, "silu", WORK_ELEMENTWISE},
    {K, "relu", WORK_ELEMENTWISE},
    {K, "multi_tensor_apply", WORK_ELEMENTWISE},
    {K, "upsample", WORK_ELEMENTWISE},
    {K, "dropout", WORK_ELEMENTWISE},
    {K, "arange", WORK_ELEMENTWISE},
    {K, "fill", WORK_ELEMENTWISE},
    {K, "where", WORK_ELEMENTWISE},
    {K, "sigmoid", WORK_ELEMENTWISE},
    {K, "sqrt", WORK_ELEMENTWISE},
    {K, "^add-dtype", WORK_ELEMENTWISE},
    {K, "^divide-dtype", WORK_ELEMENTWISE},
    {K, "aten::mul", WORK_ELEMENTWISE},
    {K, "aten::cat", WORK_LAYOUT},

    {R, "GraphLaunch", WORK_LAUNCH},
    {R, "Launch", WORK_LAUNCH},
    {R, "^runFunction", WORK_LAUNCH}, /* MTIA */
    {R, "ExecuteCommandLists", WORK_LAUNCH}, /* Level Zero */
    {R, "enqueueWithExternalEvents", WORK_LAUNCH}, /* Gaudi */
    {R, "WaitEvent", WORK_OTHER_CALL}, /* the stream waits, not the host */
    {R, "Synchronize", WORK_SYNCHRONISE},
    {R, "urQueueFinish", WORK_SYNCHRONISE},
    {R, "urEventWait", WORK_SYNCHRONISE},
    {R, "EventQuery", WORK_OTHER_CALL},
    {R, "Memcpy", WORK_COPY_CALL},
    {R, "Memset", WORK_COPY_CALL},
    {R, "MemBufferRead", WORK_COPY_CALL},
    {R, "MemBufferWrite", WORK_COPY_CALL},
    {R, "USMFill", WORK_COPY_CALL},
    {R, "AppendMemory", WORK_COPY_CALL},
    {R, "MemCopy", WORK_COPY_CALL},
    {R, "Graph", WORK_CAPTURE},
    {R, "Capture", WORK_CAPTURE},
    {R, "Malloc", WORK_ALLOCATE},
    {R, "MemAlloc", WORK_ALLOCATE},
    {R, "Free", WORK_ALLOCATE},
    {R, "HostAlloc", WORK_ALLOCATE},
    {R, "HostRegister", WORK_ALLOCATE},
    {R, "MemPool", WORK_ALLOCATE},
    {R, "MemCreate", WORK_ALLOCATE},
    {R, "MemMap", WORK_ALLOCATE},
    {R, "Module", WORK_LOAD_CODE},
    {R, "Library", WORK_LOAD_CODE},
    {R, "KernelGetFunction", WORK_LOAD_CODE},
    {R, "", WORK_OTHER_CALL},

    {O | A, "^ProfilerStep#", WORK_STEP},
    {A, "^model_run$", WORK_STEP}, /* ONNX Runtime's */
    {O | A, "^enumerate(DataLoader)", WORK_DATA_LOADER},
    {O | A, "^enumerate(DataPipe)", WORK_DATA_LOADER},
    {A | X, "dataloader", WORK_DATA_LOADER},
    {A | X, "data_loading", WORK_DATA_LOADER},
    {P, "torch/utils/data/dataloader.py", WORK_DATA_LOADER},
    {O | A | P | X, "tokeniz", WORK_TOKENIZER},
    {P, "_inductor/compile_fx", WORK_COMPILE},
    {P, "_inductor/codecache", WORK_COMPILE},
    {P, "_inductor/async_compile", WORK_COMPILE},
    {P, "_dynamo/symbolic_convert", WORK_COMPILE},
    {P, "_dynamo/convert_frame", WORK_COMPILE},
    {P, "triton/compiler", WORK_COMPILE},
    {P, "triton/runtime/autotuner", WORK_COMPILE},
    {A | O, "TorchDynamo compil", WORK_COMPILE},
    {A | O, "CachingAutotuner.", WORK_COMPILE},
    {A | O, "async_compile", WORK_COMPILE},
    {A | O, "compile_fx", WORK_COMPILE},
    {A | O, "TensorRT:build", WORK_COMPILE},
    {A, "session_initialization", WORK_COMPILE},
    {A, "model_loading", WORK_COMPILE},

    {O, "attention", WORK_ATTENTION},
    {O, "flash", WORK_ATTENTION},
    {O | A | X, "^nccl:", WORK_COMMUNICATION}, /* in whatever category it was written */
    {O | A | X, "^gloo:", WORK_COMMUNICATION},
    {O | A | X, "^mpi:", WORK_COMMUNICATION},
    {O | A | X, "^ucc:", WORK_COMMUNICATION},
    {O | A | X, "^hccl:", WORK_COMMUNICATION},
    {O | A | X, "^xccl:", WORK_COMMUNICATION},
    {O, "c10d::", WORK_COMMUNICATION},
    {O, "convert", WORK_CONVERSION},
    {O, "conv", WORK_CONVOLUTION},
    {O, "moe", WORK_EXPERTS},
    {O, "gemm", WORK_MATRIX},
    {O, "matmul", WORK_MATRIX},
    {O, "MatMul", WORK_MATRIX},
    {O, "aten::mm", WORK_MATRIX},
    {O, "aten::addmm", WORK_MATRIX},
    {O, "aten::bmm", WORK_MATRIX},
    {O, "aten::baddbmm", WORK_MATRIX},
    {O, "aten::linear", WORK_MATRIX},
    {O, "aten::mv", WORK_MATRIX},
    {O, "aten::dot", WORK_MATRIX},
    {O, "einsum", WORK_MATRIX},
    {O, "lstm", WORK_MATRIX},
    {O, "gru", WORK_MATRIX},
    {O, "aten::normal", WORK_SAMPLING},
    {O, "norm", WORK_NORMALISATION},
    {O, "quant", WORK_CONVERSION},
    {O, "^aten::to$", WORK_CONVERSION},
    {O, "aten::_to_copy", WORK_CONVERSION},
    {O, "^Cast", WORK_CONVERSION},
    {O, "topk", WORK_SAMPLING},
    {O, "sort", WORK_SAMPLING},
    {O, "multinomial", WORK_SAMPLING},
    {O, "argmax", WORK_SAMPLING},
    {O, "embedding", WORK_INDEXING},
    {O, "index", WORK_INDEXING},
    {O, "gather", WORK_INDEXING},
    {O, "scatter", WORK_INDEXING},
    {O, "softmax", WORK_REDUCTION},
    {O, "pool", WORK_REDUCTION},
    {O, "aten::sum", WORK_REDUCTION},
    {O, "aten::mean", WORK_REDUCTION},
    {O, "Reduce", WORK_REDUCTION},
    {O, "cumsum", WORK_REDUCTION},
    {O, "aten::cat", WORK_LAYOUT},
    {O, "aten::copy_", WORK_LAYOUT},
    {O, "aten::expand", WORK_LAYOUT},
    {O, "aten::contiguous", WORK_LAYOUT},
    {O, "aten::clone", WORK_LAYOUT},
    {O, "Transpose", WORK_LAYOUT},
    {O, "Reshape", WORK_LAYOUT},
    {O, "Concat", WORK_LAYOUT},
    {O, "Slice", WORK_LAYOUT},
    {O, "aten::add", WORK_ELEMENTWISE},
    {O, "aten::sub", WORK_ELEMENTWISE},
    {O, "aten::mul", WORK_ELEMENTWISE},
    {O, "aten::div", WORK_ELEMENTWISE},
    {O, "aten::pow", WORK_ELEMENTWISE},
    {O, "^aten::exp$", WORK_ELEMENTWISE},
    {O, "aten::rsqrt", WORK_ELEMENTWISE},
    {O, "aten::tanh", WORK_ELEMENTWISE},
    {O, "aten::fill_", WORK_ELEMENTWISE},
    {O, "aten::where", WORK_ELEMENTWISE},
    {O, "sigmoid", WORK_ELEMENTWISE},
    {O, "relu", WORK_ELEMENTWISE},
    {O, "gelu", WORK_ELEMENTWISE},
    {O, "silu", WORK_ELEMENTWISE},
    {O, "^Add", WORK_ELEMENTWISE},
    {O, "^Mul", WORK_ELEMENTWISE},
    {O, "^Sub", WORK_ELEMENTWISE},
    {O, "^Div", WORK_ELEMENTWISE},
    {O, "^Erf", WORK_ELEMENTWISE},
    {O, "^Tanh", WORK_ELEMENTWISE},
    {O, "^Sqrt", WORK_ELEMENTWISE},
    {O, "^Pow", WORK_ELEMENTWISE},
};

static bool contains(struct bytes name, const char *pattern) {
  size_t n = strlen(pattern);
  if (n == 0) return true;
  if (pattern[0] == '^' && pattern[n - 1] == '$') return name.length == n - 2 && strncasecmp(name.ptr, pattern + 1, n - 2) == 0;
  if (pattern[0] == '^') return name.length >= n - 1 && strncasecmp(name.ptr, pattern + 1, n - 1) == 0;
  for (size_t i = 0; i + n <= name.length; i++)
    if ((name.ptr[i] | 0x20) == (pattern[0] | 0x20) && strncasecmp(name.ptr + i, pattern, n) == 0) return true;
  return false;
}

enum work_class work_class_of(enum trace_kind kind, struct bytes name, struct bytes type) {
  struct bytes looked = type.length > 0 ? type : name;
  for (size_t i = 0; i < LYNX_COUNT(rules); i++)
    if ((rules[i].kinds & 1 << kind) != 0 && contains(looked, rules[i].pattern)) return rules[i].work;
  return WORK_UNKNOWN;
}

const char *work_class_text(enum work_class work) {
  static const char *const names[] = {[WORK_UNKNOWN] = "unclassified",
                                      [WORK_ATTENTION] = "attention",
                                      [WORK_CONVOLUTION] = "convolution",
                                      [WORK_EXPERTS] = "mixture of experts",
                                      [WORK_MATRIX] = "matrix product",
                                      [WORK_NORMALISATION] = "normalisation",
                                      [WORK_SAMPLING] = "sort and sampling",
                                      [WORK_CONVERSION] = "number conversion",
                                      [WORK_INDEXING] = "indexing",
                                      [WORK_LAYOUT] = "layout",
                                      [WORK_REDUCTION] = "reduction",
                                      [WORK_ELEMENTWISE] = "elementwise",
                                      [WORK_COMMUNICATION] = "communication",
                                      [WORK_COPY] = "copy",
                                      [WORK_SET] = "memory set",
                                      [WORK_LAUNCH] = "launch call",
                                      [WORK_SYNCHRONISE] = "synchronising call",
                                      [WORK_ALLOCATE] = "allocation call",
                                      [WORK_COPY_CALL] = "copy call",
                                      [WORK_CAPTURE] = "graph capture",
                                      [WORK_LOAD_CODE] = "code loading",
                                      [WORK_OTHER_CALL] = "other call",
                                      [WORK_DATA_LOADER] = "data loader",
                                      [WORK_TOKENIZER] = "tokenizer",
                                      [WORK_COMPILE] = "compilation",
                                      [WORK_STEP] = "step"};
  return names[work];
}

char *work_rules_digest(char text[DIGEST_HEX]) {
  struct digest digest = {.state = {0}};
  uint8_t bytes[DIGEST_BYTES];
  digest_init(&digest);
  for (size_t i = 0; i < LYNX_COUNT(rules); i++) {
    char line[160];
    int n = snprintf(line, sizeof line, "%d %s %s\n", rules[i].kinds, rules[i].pattern, work_class_text(rules[i].work));
    digest_update(&digest, line, (size_t)n);
  }
  digest_final(&digest, bytes);
  return digest_hex(bytes, text);
}

const char *copy_direction(struct bytes name) {
  static const char *const ways[][2] = {{"HtoD", "HtoD"}, {"HostToDevice", "HtoD"},   {"DtoH", "DtoH"}, {"DeviceToHost", "DtoH"},
                                        {"DtoD", "DtoD"}, {"DeviceToDevice", "DtoD"}, {"PtoP", "PtoP"}, {"PeerToPeer", "PtoP"},
                                        {"HOST_TO_DEVICE", "HtoD"}, {"DEVICE_TO_HOST", "DtoH"}, /* MTIA */
                                        /* SYCL: M is memory that the program allocated on the host */
                                        {"M2D", "HtoD"}, {"H2D", "HtoD"}, {"D2M", "DtoH"}, {"D2H", "DtoH"}, {"D2D", "DtoD"}};
  for (size_t i = 0; i < LYNX_COUNT(ways); i++)
    if (contains(name, ways[i][0])) return ways[i][1];
  return "";
}
