#include "executor/identity_facts.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/json.h"
#include "executor/capture.h"

static bool write_json(const struct fact_list *facts, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_array(&json);
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *f = &facts->items[i];
    if (f->kind != FACT_IDENTITY) continue;
    json_open_array(&json);
    json_text(&json, layer_text(f->layer));
    json_text(&json, f->key);
    json_text(&json, fact_status_text(f->status));
    json_text(&json, f->value);
    json_text(&json, f->unit);
    json_close(&json);
  }
  json_close(&json);
  return json_finish(&json);
}

bool identity_facts_write(const struct fact_list *facts, struct buffer *ret) {
  struct buffer text;
  buffer_init(&text, IDENTITY_BYTES_MAX);
  bool good = write_json(facts, &text);
  uLongf length = compressBound(text.length);
  Bytef *bytes = good ? try_alloc(length, 1) : NULL;
  good = bytes != NULL && compress2(bytes, &length, (const Bytef *)text.data, text.length, Z_BEST_COMPRESSION) == Z_OK &&
         base64_encode(ret, bytes, length);
  free(bytes);
  buffer_release(&text);
  return good;
}

static bool read_fact(const json_t *from, struct fact *ret) {
  const char *texts[5];
  if (json_array_size(from) != LYNX_COUNT(texts)) return false;
  for (size_t i = 0; i < LYNX_COUNT(texts); i++) {
    texts[i] = json_string_value(json_array_get(from, i));
    if (texts[i] == NULL) return false;
  }
  *ret = (struct fact){.kind = FACT_IDENTITY, .key = texts[1], .value = texts[3], .unit = texts[4], .source = ""};
  return layer_parse(texts[0], &ret->layer) && fact_status_parse(texts[2], &ret->status);
}

/* Within IDENTITY_BYTES_MAX, however small it came. */
static json_t *parse(const char *text) {
  struct buffer small;
  uLongf length = IDENTITY_BYTES_MAX;
  json_t *array = NULL;
  buffer_init(&small, IDENTITY_BYTES_MAX);
  Bytef *bytes = try_alloc(length, 1);
  if (bytes != NULL && base64_decode(&small, text, strlen(text)) && small.length > 0 &&
      uncompress(bytes, &length, (const Bytef *)small.data, small.length) == Z_OK)
    array = json_parse((const char *)bytes, length, IDENTITY_BYTES_MAX, NULL);
  free(bytes);
  buffer_release(&small);
  return array;
}

bool identity_facts_read(const char *text, const char *fingerprint, struct fact_list *ret) {
  char found[DIGEST_HEX];
  struct fact fact;
  json_t *array = parse(text);
  size_t n = json_array_size(array);
  *ret = (struct fact_list){.n_items = 0};
  bool good = n > 0 && n <= IDENTITY_FACTS_MAX;
  for (size_t i = 0; i < n && good; i++) {
    good = read_fact(json_array_get(array, i), &fact);
    if (good) fact_add(ret, &fact);
  }
  json_decref(array);
  fact_sort(ret);
  capture_fingerprint(ret, found);
  if (good && strcmp(found, fingerprint) == 0) return true;
  fact_list_release(ret);
  *ret = (struct fact_list){.n_items = 0};
  return false;
}
