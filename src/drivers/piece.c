#include "drivers/piece.h"

#include <string.h>

#include "base/number.h"
#include "base/json_scan.h"

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

/* What takes no ink: blanks, controls, joiners, marks of direction, fillers, selectors of variants (Unicode 16, White_Space and
 * Default_Ignorable_Code_Point). */
static bool is_invisible(uint32_t c) {
  static const struct {
    uint32_t first, last;
  } ranges[] = {{0, 0x20},        {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},   {0x115f, 0x1160},
                {0x1680, 0x1680}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},  {0x2028, 0x202f}, {0x205f, 0x206f},
                {0x2800, 0x2800}, {0x3000, 0x3000},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},  {0xfeff, 0xfeff}, {0xffa0, 0xffa0},
                {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  for (size_t i = 0; i < LYNX_COUNT(ranges); i++)
    if (c >= ranges[i].first && c <= ranges[i].last) return true;
  return false;
}

static uint32_t four_digits(const char *text) {
  uint32_t c = 0;
  for (int i = 0; i < 4; i++) {
    char d = text[i];
    uint32_t digit = d >= '0' && d <= '9' ? (uint32_t)(d - '0') : (uint32_t)((d | 0x20) - 'a') + 10;
    c = c * 16 + (digit & 15);
  }
  return c;
}

/* The character that begins at *at of a raw JSON string, whose escapes were checked; *at moves behind it. */
static uint32_t next_character(struct bytes raw, size_t *at) {
  const unsigned char *p = (const unsigned char *)raw.ptr + *at;
  size_t left = raw.length - *at;
  if (p[0] == '\\' && left >= 6 && p[1] == 'u') {
    *at += 6;
    uint32_t c = four_digits((const char *)p + 2);
    if (c < 0xd800 || c > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u') return c;
    *at += 6;
    return 0x10000 + ((c - 0xd800) << 10) + ((four_digits((const char *)p + 8) - 0xdc00) & 0x3ff);
  }
  if (p[0] == '\\' && left >= 2) {
    *at += 2;
    return strchr("nrtbf", p[1]) != NULL ? ' ' : p[1];
  }
  size_t n = utf8_length(p, left);
  *at += n > 0 ? n : 1;
  if (n < 2) return p[0] < 0x80 ? p[0] : 0xfffd;
  uint32_t c = p[0] & (0xffU >> (n + 1));
  for (size_t i = 1; i < n; i++) c = c << 6 | (p[i] & 0x3fU);
  return c;
}

static bool all_blank(struct bytes raw) {
  for (size_t at = 0; at < raw.length;)
    if (!is_invisible(next_character(raw, &at))) return false;
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
  int64_t value;
  if (!number_int64(raw.ptr, raw.length, &value) || value < 0) return -1;
  return value < PIECE_TOKENS_MAX ? value : PIECE_TOKENS_MAX;
}

int64_t piece_nanoseconds(struct bytes raw) {
  return number_up_to(raw, PIECE_NS_MAX);
}

int64_t piece_milliseconds(struct bytes raw) {
  double value;
  return number_double(raw.ptr, raw.length, &value) && value >= 0 && value < 1e9 ? (int64_t)(value * 1e6 + 0.5) : -1;
}
