#include "reference/transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/random.h"

static const float rms_epsilon = 1e-5f;
static const double rope_theta = 10000;

struct layer_weights {
  const float *attention_norm, *mlp_norm; /* (dim) */
  struct matmul *q, *k, *v, *o, *gate, *up, *down;
};

struct transformer {
  struct transformer_shape shape;
  struct onednn *onednn;
  struct arena arena;
  const float *embedding, *final_norm; /* (vocab, dim), (dim) */
  struct layer_weights *layers;
  struct matmul *output;                                                     /* (vocab, dim): the embedding again */
  float *cosines, *sines;                                                    /* (context, head_dim / 2) */
  float *keys, *values;                                                      /* (sequence, layer, context, kv_dim) */
  float *x, *normed, *q, *k, *v, *attended, *projected, *gate, *up, *wanted; /* (MATMUL_ROWS_MAX, ...) */
  float *scores;                                                             /* (context) */
};

bool transformer_named_shape(const char *name, struct transformer_shape *ret) {
  if (strcmp(name, "tiny") == 0)
    *ret = (struct transformer_shape){.vocab = 256, .dim = 256, .layers = 4, .heads = 8, .kv_heads = 4, .hidden = 704, .context = 1024};
  else if (strcmp(name, "small") == 0)
    *ret = (struct transformer_shape){.vocab = 256, .dim = 768, .layers = 12, .heads = 12, .kv_heads = 4, .hidden = 2048, .context = 1024};
  else return false;
  return true;
}

enum lynx_status transformer_file_shape(const struct tensor_file *file, struct transformer_shape *ret, struct lynx_error *error) {
  struct transformer_shape s = {.vocab = (int)tensor_file_meta(file, "vocab", 0),
                                .dim = (int)tensor_file_meta(file, "dim", 0),
                                .layers = (int)tensor_file_meta(file, "layers", 0),
                                .heads = (int)tensor_file_meta(file, "heads", 0),
                                .kv_heads = (int)tensor_file_meta(file, "kv_heads", 0),
                                .hidden = (int)tensor_file_meta(file, "hidden", 0),
                                .context = (int)tensor_file_meta(file, "context", 0)};
  bool good = s.vocab == 256 && s.dim >= 1 && s.dim <= 8192 && s.layers >= 1 && s.layers <= 128 && s.heads >= 1 && s.heads <= s.dim &&
              s.kv_heads >= 1 && s.kv_heads <= s.heads && s.dim % s.heads == 0 && s.heads % s.kv_heads == 0 && s.dim / s.heads % 2 == 0 &&
              s.hidden >= 1 && s.hidden <= 65536 && s.context >= 8 && s.context <= 65536;
  if (!good)
    return lynx_fail(error, LYNX_INPUT,
                     "the file's metadata do not describe a byte-level model (vocab 256, dim, layers, heads, kv_heads, hidden, context)");
  *ret = s;
  return LYNX_OK;
}

/* --- weights --- */

struct source {
  const struct tensor_file *file;
  struct random_stream random;
  struct transformer *t;
  struct lynx_error *error;
  enum lynx_status status;
};

static const float *weights_of(struct source *source, const char *name, int rows, int columns, bool norm) {
  size_t n = (size_t)rows * (size_t)columns;
  if (source->file != NULL) {
    const struct tensor *tensor = tensor_file_find(source->file, name);
    if (tensor != NULL && tensor->n_values == n) return tensor->values;
    source->status = lynx_fail(source->error, LYNX_INPUT, "the weights lack %s with %zu values", name, n);
    return NULL;
  }
  float *values = arena_alloc(&source->t->arena, n, sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = norm ? 1.0f : ((float)(random_next(&source->random) >> 40) / 8388608.0f - 1.0f) * 0.05f;
  return values;
}

static struct matmul *matrix_of(struct source *source, enum precision precision, const char *name, int rows, int columns) {
  struct matmul *matmul = NULL;
  const float *w = source->status == LYNX_OK ? weights_of(source, name, rows, columns, false) : NULL;
  if (w != NULL) source->status = matmul_create(source->t->onednn, precision, w, rows, columns, &matmul, source->error);
  return matmul;
}

static void load_layer(struct source *source, enum precision precision, int index) {
  const struct transformer_shape *s = &source->t->shape;
  struct layer_weights *layer = &source->t->layers[index];
  int kv_dim = s->dim / s->heads * s->kv_heads;
  char name[96];
#define NAMED(part) ((void)snprintf(name, sizeof name, "model.layers.%d.%s.weight", index, part), name)
  layer->attention_norm = weights_of(source, NAMED("input_layernorm"), s->dim, 1, true);
  layer->mlp_norm = weights_of(source, NAMED("post_attention_layernorm"), s->dim, 1, true);
  layer->q = matrix_of(source, precision, NAMED("self_attn.q_proj"), s->dim, s->dim);
  layer->k = matrix_of(source, precision, NAMED("self_attn.k_proj"), kv_dim, s->dim);
  layer->v = matrix_of(source, precision, NAMED("self_attn.v_proj"), kv_dim, s->dim);
  layer->o = matrix_of(source, precision, NAMED("self_attn.o_proj"), s->dim, s->dim);
  layer->gate = matrix_of(source, precision, NAMED("mlp.gate_proj"), s->hidden, s->dim);
  layer->up = matrix_of(source, precision, NAMED("mlp.up_proj"), s->hidden, s->dim);
  layer->down = matrix_of(source, precision, NAMED("mlp.down_proj"), s->dim, s->hidden);
#undef NAMED
}

static void make_rope(struct transformer *t) {
  int half = t->shape.dim / t->shape.heads / 2;
  for (int position = 0; position < t->shape.context; position++)
    for (int i = 0; i < half; i++) {
      double angle = position * pow(rope_theta, -(double)i / half);
      t->cosines[position * half + i] = (float)cos(angle);
      t->sines[position * half + i] = (float)sin(angle);
    }
}

enum lynx_status transformer_create(const struct transformer_shape *shape, const struct tensor_file *weights, uint64_t seed,
                                    enum precision precision, int n_sequences, struct transformer **ret, struct lynx_error *error) {
  struct transformer *t = xalloc(1, sizeof *t);
  t->shape = *shape;
  struct source source = {.file = weights, .t = t, .error = error};
  random_init(&source.random, seed, "weights");
  source.status = onednn_open(&t->onednn, error);
  const size_t dim = (size_t)shape->dim, kv_dim = dim / (size_t)shape->heads * (size_t)shape->kv_heads, hidden = (size_t)shape->hidden,
               rows = MATMUL_ROWS_MAX, context = (size_t)shape->context;
  t->layers = xalloc((size_t)shape->layers, sizeof *t->layers);
  if (source.status == LYNX_OK) t->embedding = weights_of(&source, "model.embed_tokens.weight", shape->vocab, shape->dim, false);
  if (source.status == LYNX_OK) t->final_norm = weights_of(&source, "model.norm.weight", shape->dim, 1, true);
  for (int i = 0; i < shape->layers && source.status == LYNX_OK; i++) load_layer(&source, precision, i);
  if (source.status == LYNX_OK)
    source.status = matmul_create(t->onednn, precision, t->embedding, shape->vocab, shape->dim, &t->output, error);
  if (source.status != LYNX_OK) {
    transformer_close(t);
    return source.status;
  }
  struct {
    float **at;
    size_t n;
  } parts[] = {{&t->x, rows * dim},
               {&t->normed, rows * dim},
               {&t->q, rows * dim},
               {&t->k, rows * kv_dim},
               {&t->v, rows * kv_dim},
               {&t->attended, rows * dim},
               {&t->projected, rows * dim},
               {&t->gate, rows * hidden},
               {&t->up, rows * hidden},
               {&t->wanted, rows * dim},
               {&t->scores, context},
               {&t->cosines, context * dim / (size_t)shape->heads / 2},
               {&t->sines, context * dim / (size_t)shape->heads / 2},
               {&t->keys, (size_t)n_sequences * (size_t)shape->layers * context * kv_dim},
               {&t->values, (size_t)n_sequences * (size_t)shape->layers * context * kv_dim}};
  for (size_t i = 0; i < LYNX_COUNT(parts); i++) *parts[i].at = arena_alloc(&t->arena, parts[i].n, sizeof(float));
  make_rope(t);
  *ret = t;
  return LYNX_OK;
}

/* --- one step --- */

static void rms_norm(const float *x, const float *gain, int n, float *ret) {
  float sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  float scale = 1 / sqrtf(sum / (float)n + rms_epsilon);
  for (int i = 0; i < n; i++) ret[i] = x[i] * scale * gain[i];
}

/* Rotates pairs (i, i + half) of every head. */
static void rotate(const struct transformer *t, float *heads, int n_heads, int position) {
  int head_dim = t->shape.dim / t->shape.heads, half = head_dim / 2;
  const float *c = t->cosines + position * half, *s = t->sines + position * half;
  for (int h = 0; h < n_heads; h++) {
    float *head = heads + h * head_dim;
    for (int i = 0; i < half; i++) {
      float a = head[i], b = head[i + half];
      head[i] = a * c[i] - b * s[i];
      head[i + half] = b * c[i] + a * s[i];
    }
  }
}

static float *cache_at(const struct transformer *t, float *cache, int sequence, int layer, int position) {
  size_t kv_dim = (size_t)t->shape.dim / (size_t)t->shape.heads * (size_t)t->shape.kv_heads;
  return cache + (((size_t)sequence * (size_t)t->shape.layers + (size_t)layer) * (size_t)t->shape.context + (size_t)position) * kv_dim;
}

static void soften(float *scores, int n) {
  float largest = scores[0], sum = 0;
  for (int i = 1; i < n; i++) largest = scores[i] > largest ? scores[i] : largest;
  for (int i = 0; i < n; i++) sum += scores[i] = expf(scores[i] - largest);
  for (int i = 0; i < n; i++) scores[i] /= sum;
}

static void attend(const struct transformer *t, const struct transformer_row *row, int layer, const float *q, float *ret) {
  int head_dim = t->shape.dim / t->shape.heads, kv_dim = head_dim * t->shape.kv_heads, n = row->position + 1;
  const float *keys = cache_at(t, t->keys, row->sequence, layer, 0), *values = cache_at(t, t->values, row->sequence, layer, 0);
  float scale = 1 / sqrtf((float)head_dim);
  for (int h = 0; h < t->shape.heads; h++) {
    int shared = h / (t->shape.heads / t->shape.kv_heads) * head_dim;
    const float *query = q + h * head_dim;
    float *out = ret + h * head_dim;
    for (int p = 0; p < n; p++) {
      const float *key = keys + (size_t)p * (size_t)kv_dim + shared;
      float dot = 0;
      for (int i = 0; i < head_dim; i++) dot += query[i] * key[i];
      t->scores[p] = dot * scale;
    }
    soften(t->scores, n);
    memset(out, 0, (size_t)head_dim * sizeof *out);
    for (int p = 0; p < n; p++) {
      const float *value = values + (size_t)p * (size_t)kv_dim + shared;
      for (int i = 0; i < head_dim; i++) out[i] += t->scores[p] * value[i];
    }
  }
}

static void run_attention(struct transformer *t, int layer, const struct transformer_row *rows, int n_rows) {
  const struct layer_weights *w = &t->layers[layer];
  int dim = t->shape.dim, kv_dim = dim / t->shape.heads * t->shape.kv_heads;
  for (int r = 0; r < n_rows; r++) rms_norm(t->x + r * dim, w->attention_norm, dim, t->normed + r * dim);
  matmul_run(w->q, t->normed, n_rows, t->q);
  matmul_run(w->k, t->normed, n_rows, t->k);
  matmul_run(w->v, t->normed, n_rows, t->v);
  for (int r = 0; r < n_rows; r++) { /* every row's key and value first: rows of one prompt see those before them */
    rotate(t, t->q + r * dim, t->shape.heads, rows[r].position);
    rotate(t, t->k + r * kv_dim, t->shape.kv_heads, rows[r].position);
    memcpy(cache_at(t, t->keys, rows[r].sequence, layer, rows[r].position), t->k + r * kv_dim, (size_t)kv_dim * sizeof(float));
    memcpy(cache_at(t, t->values, rows[r].sequence, layer, rows[r].position), t->v + r * kv_dim, (size_t)kv_dim * sizeof(float));
  }
  for (int r = 0; r < n_rows; r++) attend(t, &rows[r], layer, t->q + r * dim, t->attended + r * dim);
  matmul_run(w->o, t->attended, n_rows, t->projected);
  for (int i = 0; i < n_rows * dim; i++) t->x[i] += t->projected[i];
}

static void run_mlp(struct transformer *t, int layer, int n_rows) {
  const struct layer_weights *w = &t->layers[layer];
  int dim = t->shape.dim;
  for (int r = 0; r < n_rows; r++) rms_norm(t->x + r * dim, w->mlp_norm, dim, t->normed + r * dim);
  matmul_run(w->gate, t->normed, n_rows, t->gate);
  matmul_run(w->up, t->normed, n_rows, t->up);
  for (int i = 0; i < n_rows * t->shape.hidden; i++) t->gate[i] = t->gate[i] / (1 + expf(-t->gate[i])) * t->up[i];
  matmul_run(w->down, t->gate, n_rows, t->projected);
  for (int i = 0; i < n_rows * dim; i++) t->x[i] += t->projected[i];
}

void transformer_step(struct transformer *t, const struct transformer_row *rows, int n_rows, float *ret_logits) {
  lynx_assert(n_rows >= 1 && n_rows <= MATMUL_ROWS_MAX);
  int dim = t->shape.dim, n_wanted = 0;
  for (int r = 0; r < n_rows; r++) {
    lynx_assert(rows[r].position < t->shape.context && rows[r].token >= 0 && rows[r].token < t->shape.vocab);
    memcpy(t->x + r * dim, t->embedding + rows[r].token * dim, (size_t)dim * sizeof(float));
  }
  for (int layer = 0; layer < t->shape.layers; layer++) {
    run_attention(t, layer, rows, n_rows);
    run_mlp(t, layer, n_rows);
  }
  for (int r = 0; r < n_rows; r++)
    if (rows[r].wants_logits) rms_norm(t->x + r * dim, t->final_norm, dim, t->wanted + n_wanted++ * dim);
  if (n_wanted > 0) matmul_run(t->output, t->wanted, n_wanted, ret_logits);
}

void transformer_warm_up(struct transformer *t) {
  struct transformer_row rows[MATMUL_ROWS_MAX];
  float *logits = xalloc((size_t)MATMUL_ROWS_MAX * (size_t)t->shape.vocab, sizeof *logits);
  for (int shape = 0; shape < MATMUL_SHAPES; shape++) {
    int n = matmul_shapes[shape] < t->shape.context ? matmul_shapes[shape] : t->shape.context;
    for (int i = 0; i < n; i++) rows[i] = (struct transformer_row){.sequence = 0, .position = i, .token = i % 256, .wants_logits = true};
    transformer_step(t, rows, n, logits);
  }
  free(logits);
}

const char *transformer_primitive(const struct transformer *t) {
  return matmul_primitive(t->layers[0].gate);
}

int transformer_weight_bits(const struct transformer *t) {
  return matmul_weight_bits(t->layers[0].gate);
}

void transformer_close(struct transformer *t) {
  if (t == NULL) return;
  for (int i = 0; t->layers != NULL && i < t->shape.layers; i++) {
    struct layer_weights *w = &t->layers[i];
    struct matmul *all[] = {w->q, w->k, w->v, w->o, w->gate, w->up, w->down};
    for (size_t k = 0; k < LYNX_COUNT(all); k++) matmul_close(all[k]);
  }
  matmul_close(t->output);
  onednn_close(t->onednn);
  free(t->layers);
  arena_release(&t->arena);
  free(t);
}
