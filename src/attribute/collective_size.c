#include "attribute/collective_size.h"

#include <ctype.h>
#include <string.h>

enum { NAME_MAX_BYTES = 80 };

int64_t collective_bytes(const struct trace_span *s) {
  int64_t elements = s->elements > s->out_elements ? s->elements : s->out_elements, bytes;
  if (elements <= 0 || s->element_bytes <= 0 || __builtin_mul_overflow(elements, s->element_bytes, &bytes)) return 0;
  return bytes;
}

/* "_allgather_base", "reduce_scatter_tensor_coalesced", "all_to_allv": without what parts words. */
static void plain_name(struct bytes name, char ret[NAME_MAX_BYTES]) {
  size_t n = 0;
  for (size_t i = 0; i < name.length && n < NAME_MAX_BYTES - 1; i++)
    if (isalpha((unsigned char)name.ptr[i])) ret[n++] = (char)tolower((unsigned char)name.ptr[i]);
  ret[n] = 0;
}

int64_t collective_bus_bytes(struct bytes name, int64_t bytes, int64_t ranks) {
  static const struct {
    const char *name;
    int times; /* of (n - 1) / n; 0: all of S */
  } kinds[] = {{"allreduce", 2}, {"allgather", 1}, {"reducescatter", 1}, {"alltoall", 1}, {"gather", 1},
               {"scatter", 1},   {"broadcast", 0}, {"reduce", 0},        {"send", 0},     {"recv", 0}};
  char plain[NAME_MAX_BYTES];
  plain_name(name, plain);
  for (size_t i = 0; i < LYNX_COUNT(kinds); i++) {
    if (strstr(plain, kinds[i].name) == NULL) continue;
    if (bytes <= 0 || (kinds[i].times > 0 && ranks < 2)) return 0;
    return kinds[i].times == 0 ? bytes : (int64_t)((double)kinds[i].times * (double)(ranks - 1) / (double)ranks * (double)bytes);
  }
  return 0;
}
