/* reference/transformer.h: a decoder-only transformer: RMSNorm, rotary positions (half-split), grouped-query attention, SwiGLU,
 * KV cache, embeddings tied to the output.
 * Shapes   tokens are bytes (vocab 256); byte 0 begins a sequence; logits (n_wanted, vocab)
 * Threads  one step at a time; the matrix products may use several
 * Source   the layer order and tensor names of Llama-style models; reference/model/train.py is the same network in PyTorch */
#ifndef REFERENCE_TRANSFORMER_H
#define REFERENCE_TRANSFORMER_H

#include "reference/matmul.h"
#include "reference/safetensors.h"

struct transformer_shape {
  int vocab, dim, layers, heads, kv_heads, hidden, context;
};

/* One input token of one sequence. */
struct transformer_row {
  int sequence; /* a slot of the KV cache */
  int position;
  int token;
  bool wants_logits;
};

struct transformer;

/* "tiny" and "small"; false for others. */
bool transformer_named_shape(const char *name, struct transformer_shape *ret);
/* From the metadata of a weights file. INPUT if it is missing or does not fit together. */
enum lynx_status transformer_file_shape(const struct tensor_file *file, struct transformer_shape *ret,
                                        struct lynx_error *error) LYNX_MUST_CHECK;

/* weights NULL: drawn from the seed. */
enum lynx_status transformer_create(const struct transformer_shape *shape, const struct tensor_file *weights, uint64_t seed,
                                    enum precision precision, int n_sequences, struct transformer **ret,
                                    struct lynx_error *error) LYNX_MUST_CHECK;
/* At most MATMUL_ROWS_MAX rows; rows of one sequence in order of position. Logits of the rows that want them, in row order. */
void transformer_step(struct transformer *t, const struct transformer_row *rows, int n_rows, float *ret_logits);
/* Runs every compiled shape once, so that the first request does not pay for it. */
void transformer_warm_up(struct transformer *t);
const char *transformer_primitive(const struct transformer *t);
int transformer_weight_bits(const struct transformer *transformer); /* as matmul_weight_bits, of the same product */
void transformer_close(struct transformer *t);

#endif
