#include "measure/byte_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { KEY_MAX = 1024 };

/* --- reading --- */

static const char *pair_key(struct bytes left, struct bytes right, char key[KEY_MAX], size_t *ret_length) {
  size_t n = left.length + 1 + right.length;
  if (n > KEY_MAX) return NULL;
  memcpy(key, left.ptr, left.length);
  key[left.length] = '\1';
  if (right.length > 0) memcpy(key + left.length + 1, right.ptr, right.length);
  *ret_length = n;
  return key;
}

static struct bytes text_in(const json_t *text) {
  return (struct bytes){json_string_value(text), json_string_length(text)};
}

/* Two forms: "left right", and ["left", "right"] (since tokens may hold blanks). */
static bool merge_of(const json_t *merge, struct bytes *left, struct bytes *right) {
  if (json_is_array(merge)) {
    *left = text_in(json_array_get(merge, 0)), *right = text_in(json_array_get(merge, 1));
    return json_array_size(merge) == 2 && left->ptr != NULL && right->ptr != NULL;
  }
  struct bytes both = text_in(merge);
  const char *blank = both.ptr != NULL ? memchr(both.ptr, ' ', both.length) : NULL;
  if (blank == NULL) return false;
  *left = (struct bytes){both.ptr, (size_t)(blank - both.ptr)};
  *right = (struct bytes){blank + 1, both.length - left->length - 1};
  return true;
}

static enum lynx_status read_merges(const json_t *merges, struct byte_pairs *ret, struct lynx_error *error) {
  char key[KEY_MAX];
  size_t length, i;
  json_t *merge;
  struct bytes left, right;
  json_array_foreach((json_t *)(uintptr_t)merges, i, merge) {
    if (!merge_of(merge, &left, &right) || left.length == 0 || right.length == 0 || pair_key(left, right, key, &length) == NULL)
      return lynx_fail(error, LYNX_INPUT, "model.merges[%zu] is no pair of tokens; accepted: \"a b\" or [\"a\", \"b\"]", i);
    if (json_object_getn(ret->ranks, key, length) == NULL &&
        json_object_setn_new(ret->ranks, key, length, json_integer((json_int_t)i)) != 0)
      return lynx_fail(error, LYNX_LIMIT, "there is no memory for %zu merges", json_array_size(merges));
  }
  return LYNX_OK;
}

enum lynx_status byte_pairs_read(const json_t *model, struct byte_pairs *ret, struct lynx_error *error) {
  const char *type = json_get_text(model, "type", "");
  const json_t *merges = json_object_get(model, "merges");
  *ret = (struct byte_pairs){.vocabulary = json_object_get(model, "vocab")};
  if (!json_is_object(ret->vocabulary) || json_object_size(ret->vocabulary) == 0)
    return lynx_fail(error, LYNX_INPUT, "it has no model.vocab, or an empty one; accepted: a tokenizer.json");
  if (type[0] != 0 && strcmp(type, "BPE") != 0) return lynx_fail(error, LYNX_UNSUPPORTED, "model.type is '%.40s'; accepted: BPE", type);
  if (!json_is_array(merges)) return lynx_fail(error, LYNX_INPUT, "model.merges is no list; accepted: a list of pairs of tokens");
  static const char *const marks[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  for (size_t i = 0; i < LYNX_COUNT(marks); i++)
    if (json_get_text(model, marks[i], "")[0] != 0)
      return lynx_fail(error, LYNX_UNSUPPORTED, "model.%s is '%.40s'; accepted: none", marks[i], json_get_text(model, marks[i], ""));
  ret->byte_fallback = json_get_bool(model, "byte_fallback", false);
  ret->whole_first = json_get_bool(model, "ignore_merges", false);
  ret->ranks = json_object();
  return ret->ranks != NULL ? read_merges(merges, ret, error) : lynx_fail(error, LYNX_LIMIT, "there is no memory for its merges");
}

void byte_pairs_release(struct byte_pairs *pairs) {
  json_decref(pairs->ranks);
  *pairs = (struct byte_pairs){0};
}

/* --- joining --- */

/* Symbols are spans of the piece, in a list by number. A span that was joined to the one before it has length 0. */
struct symbol {
  size_t at, length;
  int64_t before, after; /* -1: none */
};

/* A pair that may be joined, if its two symbols still have these lengths. */
struct candidate {
  int64_t rank, left;
  size_t left_length, right_length;
};

struct joining {
  const struct byte_pairs *pairs;
  const char *piece;
  struct symbol *symbols;
  struct candidate *heap;
  size_t n_heap, room;
};

static bool sooner(const struct candidate *a, const struct candidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->left < b->left;
}

static void push(struct joining *j, struct candidate c) {
  j->heap = xroom(j->heap, j->n_heap, &j->room, sizeof *j->heap);
  size_t i = j->n_heap++;
  for (; i > 0 && sooner(&c, &j->heap[(i - 1) / 2]); i = (i - 1) / 2) j->heap[i] = j->heap[(i - 1) / 2];
  j->heap[i] = c;
}

static struct candidate pop(struct joining *j) {
  struct candidate top = j->heap[0], last = j->heap[--j->n_heap];
  size_t i = 0;
  for (;;) {
    size_t child = 2 * i + 1;
    if (child + 1 < j->n_heap && sooner(&j->heap[child + 1], &j->heap[child])) child++;
    if (child >= j->n_heap || !sooner(&j->heap[child], &last)) break;
    j->heap[i] = j->heap[child];
    i = child;
  }
  j->heap[i] = last;
  return top;
}

static void consider(struct joining *j, int64_t left) {
  char key[KEY_MAX];
  size_t length;
  int64_t right = left >= 0 ? j->symbols[left].after : -1;
  if (right < 0) return;
  const struct symbol *a = &j->symbols[left], *b = &j->symbols[right];
  struct bytes first = {j->piece + a->at, a->length}, second = {j->piece + b->at, b->length};
  const json_t *rank = pair_key(first, second, key, &length) != NULL ? json_object_getn(j->pairs->ranks, key, length) : NULL;
  if (rank != NULL) push(j, (struct candidate){(int64_t)json_integer_value(rank), left, a->length, b->length});
}

static void join(struct joining *j, const struct candidate *c) {
  struct symbol *a = &j->symbols[c->left];
  if (a->length != c->left_length || a->after < 0 || j->symbols[a->after].length != c->right_length) return; /* joined otherwise since */
  struct symbol *b = &j->symbols[a->after];
  a->length += b->length;
  b->length = 0;
  a->after = b->after;
  if (a->after >= 0) j->symbols[a->after].before = c->left;
  consider(j, a->before);
  consider(j, c->left);
}

static bool is_token(const struct byte_pairs *pairs, const char *text, size_t length) {
  return json_object_getn(pairs->vocabulary, text, length) != NULL;
}

int64_t byte_pairs_count(const struct byte_pairs *pairs, const char *piece, size_t length) {
  struct joining j = {pairs, piece, NULL, NULL, 0, 0};
  int64_t n = 0, count = 0;
  if (length == 0) return 0;
  if (pairs->whole_first && is_token(pairs, piece, length)) return 1;
  j.symbols = try_alloc(length, sizeof *j.symbols);
  if (j.symbols == NULL) return -1;
  for (size_t at = 0; at < length; n++) {
    size_t width = utf8_length((const unsigned char *)piece + at, length - at);
    if (width == 0) width = 1;
    j.symbols[n] = (struct symbol){at, width, n - 1, at + width < length ? n + 1 : -1};
    at += width;
  }
  for (int64_t i = 0; i < n; i++) consider(&j, i);
  while (j.n_heap > 0) {
    struct candidate c = pop(&j);
    join(&j, &c);
  }
  for (int64_t i = 0; i < n; i++) {
    const struct symbol *s = &j.symbols[i];
    if (s->length == 0) continue;
    count += pairs->byte_fallback && !is_token(pairs, piece + s->at, s->length) ? (int64_t)s->length : 1;
  }
  free(j.symbols);
  free(j.heap);
  return count;
}
