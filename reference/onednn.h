/* reference/onednn.h: one compiled matrix product of oneDNN, C[m,n] = A[m,k] * W[n,k]^T, the same for oneDNN 2 and 3.
 * Shapes   a (m, k), plain; w (n, k), plain, packed once into the layout that the primitive wants; c (m, n), plain
 * Types    f32 x f32 -> f32; bf16 x bf16 -> f32; s8 x s8 -> s32
 * Errors   UNSUPPORTED where this CPU or library has no such primitive
 * Implemented by onednn2.c and onednn3.c; the build takes the one that fits the installed library */
#ifndef REFERENCE_ONEDNN_H
#define REFERENCE_ONEDNN_H

#include "base/status.h"

enum onednn_type { ONEDNN_F32, ONEDNN_BF16, ONEDNN_S8 };

struct onednn;  /* engine and stream */
struct product; /* one compiled shape */
struct packed;  /* weights in a primitive's layout */

enum lynx_status onednn_open(struct onednn **ret, struct lynx_error *error) LYNX_MUST_CHECK;
void onednn_close(struct onednn *onednn);
const char *onednn_version(void);

/* like: a product whose packed weights this one should be able to use; NULL: free choice. */
enum lynx_status product_create(struct onednn *onednn, enum onednn_type type, int m, int n, int k, const struct product *like,
                                struct product **ret, struct lynx_error *error) LYNX_MUST_CHECK;
const char *product_primitive(const struct product *product); /* as the library names it: "brg:avx512_core_amx_bf16" */
bool product_shares_weights(const struct product *a, const struct product *b);
enum lynx_status product_pack(struct product *product, const void *w, struct packed **ret, struct lynx_error *error) LYNX_MUST_CHECK;
void product_run(struct product *product, const void *a, const struct packed *w, void *c);
void product_close(struct product *product);
void packed_release(struct packed *packed);

#endif
