/* reference/matmul.h: y = x W^T at one precision, for any number of rows up to the largest compiled shape.
 * Shapes   x (rows, n_in) f32; w (n_out, n_in) f32; y (rows, n_out) f32
 * Method   f32: as it is. bf16: x and w rounded to nearest even. int8: w per output channel, symmetric, at load; x per row,
 *          symmetric, each time; products summed in 32-bit integers and scaled back. Where the library's sums of 8-bit products are
 *          cut on this CPU (tried at creation), w has 7 bits: matmul_weight_bits
 * Errors   UNSUPPORTED where this CPU or library has no such product, or sums it wrongly with 7 bits too
 * Memory   keeps a packed copy of w.   Threads: one at a time */
#ifndef REFERENCE_MATMUL_H
#define REFERENCE_MATMUL_H

#include "reference/onednn.h"

enum precision { PRECISION_F32, PRECISION_BF16, PRECISION_INT8 };
bool precision_parse(const char *text, enum precision *ret);
const char *precision_text(enum precision precision);

/* Rows are padded to the next of these: compiled before the server says that it is ready. */
enum { MATMUL_SHAPES = 4, MATMUL_ROWS_MAX = 64 };
extern const int matmul_shapes[MATMUL_SHAPES];

struct matmul;

enum lynx_status matmul_create(struct onednn *onednn, enum precision precision, const float *w, int n_out, int n_in, struct matmul **ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;
void matmul_run(struct matmul *matmul, const float *x, int rows, float *y);
const char *matmul_primitive(const struct matmul *matmul); /* of the largest shape */
int matmul_weight_bits(const struct matmul *matmul);       /* 32, 16, 8, or 7 */
void matmul_close(struct matmul *matmul);

/* Does this primitive use the CPU's own instructions for the precision, or imitate them? From the library's name of what it
 * executes. "native" or "emulated". */
const char *primitive_status(enum precision precision, const char *primitive);

#endif
