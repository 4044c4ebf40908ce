#include "base/scan.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

static inline uint32_t equals(const char *p, char c) {
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8(c)));
}

static inline uint32_t string_marks(const char *p) {
  return equals(p, '"') | equals(p, '\\');
}

/* '[' and '{', ']' and '}' differ by one bit. */
static inline uint32_t brackets(const char *p, char which) {
  __m128i folded = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8(0x20));
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(folded, _mm_set1_epi8(which)));
}
#else
static inline uint32_t string_marks(const char *p) {
  uint32_t mask = 0;
  for (int i = 0; i < 16; i++) mask |= (uint32_t)(p[i] == '"' || p[i] == '\\') << i;
  return mask;
}

static inline uint32_t equals(const char *p, char c) {
  uint32_t mask = 0;
  for (int i = 0; i < 16; i++) mask |= (uint32_t)(p[i] == c) << i;
  return mask;
}

static inline uint32_t brackets(const char *p, char which) {
  uint32_t mask = 0;
  for (int i = 0; i < 16; i++) mask |= (uint32_t)((p[i] | 0x20) == which) << i;
  return mask;
}
#endif

const char *scan_string(const char *p, const char *end, bool *ret_escaped) {
  *ret_escaped = false;
  while (p < end) {
    uint32_t mask = string_marks(p);
    if (mask == 0) {
      p += 16;
      continue;
    }
    p += __builtin_ctz(mask);
    if (p >= end) return NULL;
    if (*p == '"') return p;
    *ret_escaped = true;
    p += 2;
  }
  return NULL;
}

/* The bits between the odd and the even ones of quotes: 1 from an opening quote up to the closing one. */
static inline uint64_t between(uint64_t quotes) {
  for (int shift = 1; shift < 64; shift *= 2) quotes ^= quotes << shift;
  return quotes;
}

/* Bits that are set. Without an instruction for it that every machine has, the compiler would call a function. */
static inline int count(uint64_t bits) {
  int n = 0;
  for (; bits != 0; bits &= bits - 1) n++;
  return n;
}

const char *scan_composite(const char *p, const char *end) {
  int64_t depth = 0;
  uint64_t in_string = 0; /* all ones where a block begins inside a string */
  bool escaped = false;   /* the block's first byte is escaped */
  for (; p < end; p += 64) {
    uint64_t quotes = 0, backslashes = 0, open = 0, close = 0;
    for (int i = 0; i < 4; i++) {
      quotes |= (uint64_t)equals(p + 16 * i, '"') << (16 * i);
      backslashes |= (uint64_t)equals(p + 16 * i, '\\') << (16 * i);
      open |= (uint64_t)brackets(p + 16 * i, '{') << (16 * i);
      close |= (uint64_t)brackets(p + 16 * i, '}') << (16 * i);
    }
    if (backslashes != 0 || escaped) { /* rare: one by one */
      for (int i = 0; i < 64; i++) {
        uint64_t bit = (uint64_t)1 << i;
        if (escaped) quotes &= ~bit;
        escaped = !escaped && (backslashes & bit) != 0;
      }
    }
    uint64_t strings = between(quotes) ^ in_string;
    in_string = 0 - (strings >> 63);
    open &= ~strings;
    close &= ~strings;
    if ((open | close) == 0) continue;
    if (depth > count(close)) { /* cannot close here */
      depth += count(open) - count(close);
      continue;
    }
    for (uint64_t marks = open | close; marks != 0; marks &= marks - 1) {
      depth += (open & marks & -marks) != 0 ? 1 : -1;
      if (depth > 0) continue;
      const char *at = p + __builtin_ctzll(marks) + 1;
      return at <= end ? at : NULL;
    }
  }
  return NULL;
}
