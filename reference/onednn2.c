/* oneDNN 2 (Debian 12): memory descriptors by value, operation descriptors. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "reference/onednn.h"

struct onednn {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
};

struct product {
  struct onednn *onednn;
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t a, w, c, w_plain;
  dnnl_memory_t a_memory, c_memory;
  char name[96];
};

struct packed {
  dnnl_memory_t memory;
};

static enum lynx_status failed(struct lynx_error *error, dnnl_status_t code, const char *doing) {
  return lynx_fail(error, code == dnnl_unimplemented ? LYNX_UNSUPPORTED : LYNX_IO, "oneDNN: %s: %s", doing,
                   code == dnnl_unimplemented   ? "not implemented on this CPU"
                   : code == dnnl_out_of_memory ? "out of memory"
                                                : "failed");
}

enum lynx_status onednn_open(struct onednn **ret, struct lynx_error *error) {
  struct onednn *o = xalloc(1, sizeof *o);
  dnnl_status_t code = dnnl_engine_create(&o->engine, dnnl_cpu, 0);
  if (code == dnnl_success) code = dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags);
  if (code != dnnl_success) {
    onednn_close(o);
    return failed(error, code, "engine");
  }
  *ret = o;
  return LYNX_OK;
}

void onednn_close(struct onednn *o) {
  if (o == NULL) return;
  if (o->stream != NULL) (void)dnnl_stream_destroy(o->stream); /* nothing to do about a failed destruction, here and below */
  if (o->engine != NULL) (void)dnnl_engine_destroy(o->engine);
  free(o);
}

const char *onednn_version(void) {
  static char text[32];
  const dnnl_version_t *v = dnnl_version();
  (void)snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

enum lynx_status product_create(struct onednn *o, enum onednn_type type, int m, int n, int k, const struct product *like,
                                struct product **ret, struct lynx_error *error) {
  static const dnnl_data_type_t in[] = {dnnl_f32, dnnl_bf16, dnnl_s8}, out[] = {dnnl_f32, dnnl_f32, dnnl_s32};
  struct product *p = xalloc(1, sizeof *p);
  p->onednn = o;
  const dnnl_dims_t a = {m, k}, w = {k, n}, c = {m, n};
  dnnl_memory_desc_t free_choice;
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t desc = NULL;
  dnnl_status_t code = dnnl_memory_desc_init_by_tag(&p->a, 2, a, in[type], dnnl_ab);
  if (code == dnnl_success) code = dnnl_memory_desc_init_by_tag(&p->w_plain, 2, w, in[type], dnnl_ba);
  if (code == dnnl_success) code = dnnl_memory_desc_init_by_tag(&p->c, 2, c, out[type], dnnl_ab);
  if (code == dnnl_success) code = dnnl_memory_desc_init_by_tag(&free_choice, 2, w, in[type], dnnl_format_tag_any);
  if (code == dnnl_success) code = dnnl_matmul_desc_init(&matmul, &p->a, like != NULL ? &like->w : &free_choice, NULL, &p->c);
  if (code == dnnl_success) code = dnnl_primitive_desc_create(&desc, &matmul, NULL, o->engine, NULL);
  const char *name = "";
  if (code == dnnl_success) {
    p->w = *dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) == dnnl_success)
      (void)snprintf(p->name, sizeof p->name, "%s", name);
    code = dnnl_primitive_create(&p->primitive, desc);
    (void)dnnl_primitive_desc_destroy(desc);
  }
  if (code == dnnl_success) code = dnnl_memory_create(&p->a_memory, &p->a, o->engine, DNNL_MEMORY_NONE);
  if (code == dnnl_success) code = dnnl_memory_create(&p->c_memory, &p->c, o->engine, DNNL_MEMORY_NONE);
  if (code != dnnl_success) {
    product_close(p);
    return failed(error, code, "matrix product");
  }
  *ret = p;
  return LYNX_OK;
}

const char *product_primitive(const struct product *product) {
  return product->name;
}

bool product_shares_weights(const struct product *a, const struct product *b) {
  return dnnl_memory_desc_equal(&a->w, &b->w) != 0;
}

enum lynx_status product_pack(struct product *p, const void *w, struct packed **ret, struct lynx_error *error) {
  struct packed *packed = xalloc(1, sizeof *packed);
  dnnl_memory_t plain = NULL;
  dnnl_primitive_desc_t desc = NULL;
  dnnl_primitive_t reorder = NULL;
  dnnl_status_t code = dnnl_memory_create(&plain, &p->w_plain, p->onednn->engine, (void *)(uintptr_t)w);
  if (code == dnnl_success) code = dnnl_memory_create(&packed->memory, &p->w, p->onednn->engine, DNNL_MEMORY_ALLOCATE);
  if (code == dnnl_success)
    code = dnnl_reorder_primitive_desc_create(&desc, &p->w_plain, p->onednn->engine, &p->w, p->onednn->engine, NULL);
  if (code == dnnl_success) code = dnnl_primitive_create(&reorder, desc);
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, packed->memory}};
  if (code == dnnl_success) code = dnnl_primitive_execute(reorder, p->onednn->stream, 2, args);
  if (code == dnnl_success) code = dnnl_stream_wait(p->onednn->stream);
  if (reorder != NULL) (void)dnnl_primitive_destroy(reorder);
  if (desc != NULL) (void)dnnl_primitive_desc_destroy(desc);
  if (plain != NULL) (void)dnnl_memory_destroy(plain);
  if (code != dnnl_success) {
    packed_release(packed);
    return failed(error, code, "packing of weights");
  }
  *ret = packed;
  return LYNX_OK;
}

void product_run(struct product *p, const void *a, const struct packed *w, void *c) {
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->a_memory}, {DNNL_ARG_WEIGHTS, w->memory}, {DNNL_ARG_DST, p->c_memory}};
  bool good = dnnl_memory_set_data_handle(p->a_memory, (void *)(uintptr_t)a) == dnnl_success &&
              dnnl_memory_set_data_handle(p->c_memory, c) == dnnl_success &&
              dnnl_primitive_execute(p->primitive, p->onednn->stream, 3, args) == dnnl_success &&
              dnnl_stream_wait(p->onednn->stream) == dnnl_success;
  lynx_assert(good); /* what was compiled and packed runs */
}

void product_close(struct product *p) {
  if (p == NULL) return;
  if (p->primitive != NULL) (void)dnnl_primitive_destroy(p->primitive);
  if (p->a_memory != NULL) (void)dnnl_memory_destroy(p->a_memory);
  if (p->c_memory != NULL) (void)dnnl_memory_destroy(p->c_memory);
  free(p);
}

void packed_release(struct packed *packed) {
  if (packed == NULL) return;
  if (packed->memory != NULL) (void)dnnl_memory_destroy(packed->memory);
  free(packed);
}
