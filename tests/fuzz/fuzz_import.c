/* Files of other tools: no crash, times that can be written, words that are JSON again. The first byte says which reader, whatever it would
 * recognise; a second file begins after a byte 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "result/instruments.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct imported *m) {
  struct buffer out;
  struct json_writer json;
  buffer_init(&out, 64 << 20);
  json_begin(&json, &out);
  import_json(m, &json);
  HOLDS(json_finish(&json));
  json_t *again = json_parse(out.data, out.length, 64 << 20, NULL);
  HOLDS(json_is_object(again));
  json_decref(again);
  buffer_release(&out);
  for (size_t i = 0; i < m->n_requests; i++) HOLDS(m->requests[i].end_s >= m->requests[i].start_s && m->requests[i].reason != NULL);
  for (size_t i = 0; i < m->n_figures; i++) HOLDS(isfinite(m->figures[i].stated));
}

/* Whatever it says, it agrees with itself. */
static void check_against_itself(const struct imported *m) {
  struct instrument side;
  static struct instruments judged;
  instrument_of_import(m, &side); /* nothing of it is its own */
  instruments_judge(&side, &side, 0.05, &judged);
  HOLDS(judged.verdict == INSTRUMENTS_AGREE || judged.verdict == INSTRUMENTS_APART);
  for (size_t i = 0; i < judged.n_figures; i++) HOLDS(judged.figures[i].ratio > 0 && judged.figures[i].left > 0);
  instruments_release(&judged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t n_importers = 0;
  struct imported imported;
  struct lynx_error error = {0};
  while (importers[n_importers] != NULL) n_importers++;
  if (size == 0) return 0;
  char *text = malloc(size);
  if (text == NULL) return 0;
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  struct import_file files[2] = {{.path = "a", .text = text, .length = strlen(text)}, {.path = "b", .text = ""}};
  char *second = strchr(text, 1);
  if (second != NULL) {
    *second = 0;
    files[0].length = strlen(text);
    files[1].text = second + 1;
    files[1].length = strlen(second + 1);
  }
  const struct importer *importer = importers[data[0] % n_importers];
  if (import_read(files, second != NULL ? 2 : 1, importer->name, 1, &imported, &error) == LYNX_OK) {
    check(&imported);
    check_against_itself(&imported);
    import_release(&imported);
  }
  free(text);
  return 0;
}
