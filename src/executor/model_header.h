/* executor/model_header.h: what a model's files say of themselves: safetensors, GGUF, ONNX. Only headers are looked at; the bytes are
 * hostile and every length in them is held against what is there.
 * Order    zero the struct; read each file of the model; the counts add up
 * Result   false if the bytes are none of the three formats or are damaged
 * Source   safetensors: an 8-byte length and JSON; GGUF: its specification, version 2 and 3; ONNX: onnx.proto, fields by number */
#ifndef EXECUTOR_MODEL_HEADER_H
#define EXECUTOR_MODEL_HEADER_H

#include "base/status.h"

enum { MODEL_TYPES_MAX = 48 };

struct model_header {
  char format[16], architecture[80], name[120], producer[120], opset[48], file_type[24], context[24], tokenizer[48], chat_template[80];
  uint64_t n_tensors, n_parameters, n_files;
  struct model_type {
    char name[24];
    uint64_t n_parameters;
  } types[MODEL_TYPES_MAX];
  size_t n_types;
};

bool model_header_read(const uint8_t *data, size_t n, struct model_header *ret);

/* "BF16 98.4 %, F32 1.6 % of 8.03 G parameters" */
char *model_types_text(const struct model_header *header, char *text, size_t size);

#endif
