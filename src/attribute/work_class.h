/* attribute/work_class.h: what a span's name says that it does, by one table of patterns: kernels, calls of the device's runtime,
 * operators, Python functions and annotations.
 *
 * attribute divides time: it takes a trace's events, accounts for every nanosecond of a window by state, layer and owner, and states what
 * that makes one suspect. It measures nothing and confirms nothing.
 *
 * Result   the first rule that matches; WORK_UNKNOWN where none does, and the share of that is always printed
 * Source   names that the libraries give their kernels: cuBLAS (nvjet, sgemm, s16816), CUTLASS, cuDNN, MIOpen and Tensile (Cijk_),
 * FlashAttention, NCCL and RCCL, PyTorch's native and Inductor's Triton kernels; CUDA's and HIP's API names */
#ifndef ATTRIBUTE_WORK_CLASS_H
#define ATTRIBUTE_WORK_CLASS_H

#include "base/digest.h"
#include "base/layer.h"
#include "trace/trace.h"

enum work_class {
  WORK_UNKNOWN,
  /* computing, on a device or (by operators) on the host */
  WORK_ATTENTION,
  WORK_CONVOLUTION,
  WORK_EXPERTS, /* mixture of experts: routing and grouped products */
  WORK_MATRIX,
  WORK_NORMALISATION,
  WORK_SAMPLING,   /* sorting, top-k, drawing of tokens */
  WORK_CONVERSION, /* of the number type: casts, quantisation */
  WORK_INDEXING,   /* gather, scatter, embedding */
  WORK_LAYOUT,     /* transposes, concatenations, copies by a kernel */
  WORK_REDUCTION,
  WORK_ELEMENTWISE,
  WORK_DELEGATED,   /* by the runtime to another provider, which it waits for */
  WORK_COMPUTE_END, /* classes before it compute */
  WORK_COMMUNICATION = WORK_COMPUTE_END,
  WORK_COPY,
  WORK_SET,
  /* calls of the device's runtime */
  WORK_LAUNCH,
  WORK_SYNCHRONISE,
  WORK_ALLOCATE,
  WORK_COPY_CALL,
  WORK_CAPTURE, /* of graphs, and their instantiation */
  WORK_LOAD_CODE,
  WORK_OTHER_CALL,
  /* of the host */
  WORK_DATA_LOADER,
  WORK_TOKENIZER,
  WORK_COMPILE,
  WORK_STEP, /* ProfilerStep#N */
  WORK_CLASS_COUNT
};

enum { WORK_RULES_VERSION = 1 };

enum work_class work_class_of(enum trace_kind kind, struct bytes name, struct bytes type);
const char *work_class_text(enum work_class work);

/* The table's digest: two accounts can be compared class by class where it is the same. */
char *work_rules_digest(char text[DIGEST_HEX]);

/* Which way does a copy go, by its name? "HtoD", "DtoH", "DtoD", "PtoP", or "". */
const char *copy_direction(struct bytes name);

#endif
