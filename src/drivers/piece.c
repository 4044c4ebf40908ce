#include "drivers/piece.h"

#include <string.h>

#include "base/number.h"
#include "drivers/json_scan.h"

void piece_init(struct piece *piece) {
  *piece = (struct piece){.prompt_tokens = -1,
                          .output_tokens = -1,
                          .total_tokens = -1,
                          .cached_tokens = -1,
                          .load_ns = -1,
                          .queue_ns = -1,
                          .prefill_ns = -1,
                          .decode_ns = -1};
}

/* Blanks, also as they are written in JSON. */
static bool all_blank(struct bytes raw) {
  for (size_t i = 0; i < raw.length; i++) {
    bool escaped = raw.ptr[i] == '\\' && i + 1 < raw.length;
    if (escaped) i++;
    if (strchr(escaped ? "nrt" : " ", raw.ptr[i]) == NULL || raw.ptr[i] == 0) return false;
  }
  return true;
}

void piece_add_text(struct piece *piece, struct bytes raw) {
  if (raw.length == 0) return;
  piece->is_blank = (piece->is_blank || !piece->carries_text) && all_blank(raw);
  piece->carries_text = true;
  int64_t n = json_scan_text_bytes(raw);
  if (n < 0) piece->invalid_utf8 = true;
  piece->n_bytes += (uint32_t)(n < 0 ? (int64_t)raw.length : n);
}

static int64_t number_up_to(struct bytes raw, int64_t greatest) {
  int64_t value;
  return number_int64(raw.ptr, raw.length, &value) && value >= 0 && value <= greatest ? value : -1;
}

int64_t piece_count(struct bytes raw) {
  return number_up_to(raw, PIECE_TOKENS_MAX);
}

int64_t piece_nanoseconds(struct bytes raw) {
  return number_up_to(raw, PIECE_NS_MAX);
}

int64_t piece_milliseconds(struct bytes raw) {
  double value;
  return number_double(raw.ptr, raw.length, &value) && value >= 0 && value < 1e9 ? (int64_t)(value * 1e6 + 0.5) : -1;
}
