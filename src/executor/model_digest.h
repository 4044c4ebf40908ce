/* executor/model_digest.h: by what a model is known: an RFC 6962 tree over its weight files in the order of their names; a leaf is the
 * name, a zero byte and the file's SHA-256 in hexadecimal.
 * Errors   NOT_FOUND, IO, INPUT (no weight files there), LIMIT (more than MODEL_FILES_MAX) */
#ifndef EXECUTOR_MODEL_DIGEST_H
#define EXECUTOR_MODEL_DIGEST_H

#include "base/status.h"
#include "executor/file_digest.h"

enum { MODEL_FILES_MAX = 2000 };

/* By its name: safetensors, GGUF, ONNX, PyTorch, engines. */
bool model_is_weights(const char *file_name);

void model_leaf(const char *file_name, const char hex[DIGEST_HEX], struct digest_leaf *ret);

/* Of a file or a folder of this machine, every byte read now, whatever was remembered. *ret_n: how many files. */
enum lynx_status model_digest_anew(const char *path, char ret[DIGEST_HEX], size_t *ret_n, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
