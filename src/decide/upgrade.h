/* decide/upgrade.h: an upgrade as a list of resources, each with the factor by which it becomes faster or larger.
 *
 * decide holds what a purchase is decided by: bounds of an upgrade, what lets no bound hold, a table of devices. It opens no files and
 * prints nothing: results in, judgements out.
 *
 * Text     "memory.bandwidth x1.43, memory.capacity 141GB": comma-separated; a factor above 0 after "x", or of a capacity its new size.
 *          After "arithmetic." any type, as the executor names it
 * Factor   of speed: 2 takes half of the time. Below 1 the resource becomes slower
 * Errors   false, with what was found and what is accepted */
#ifndef DECIDE_UPGRADE_H
#define DECIDE_UPGRADE_H

#include "base/status.h"

enum { UPGRADE_PARTS_MAX = 16, UPGRADE_TEXT = 48 };

/* A kind of resource. Perturbers (experiment/perturber.h) whose elasticity is that of the resource, or of more than it: each bounds what
 * the resource can gain. The first that was measured is used. */
struct resource {
  const char *name;
  const char *measured_by[2];
  bool of_device;   /* of what computes: where that is no processor of the host, only the device itself (gpu) says what it costs */
  bool is_capacity; /* nothing gets faster by it until something fits: no elasticity sees that */
  bool has_steps;   /* of more of it more may be gained than its factor (a round fewer, a clock that rises): no ratio bounds it */
};

struct upgrade_part {
  const struct resource *resource;
  char type[UPGRADE_TEXT]; /* of arithmetic: "bf16"; else "" */
  double factor;           /* NAN: a capacity of which the size before is not known */
  char size[UPGRADE_TEXT]; /* of a capacity: as it was written */
};

struct upgrade {
  struct upgrade_part parts[UPGRADE_PARTS_MAX];
  size_t n;
};

extern const struct resource resources[];
extern const size_t n_resources;
const struct resource *resource_find(const char *name, size_t length); /* NULL: there is none of that name */

/* "bfloat16" -> "bf16", "half" -> "fp16", "fp8_e4m3" -> "fp8"; what is no such name as it is; "" where none was stated. size >= UPGRADE_TEXT. */
char *upgrade_type(const char *stated, char *text, size_t size);

bool upgrade_parse(const char *text, struct upgrade *ret, char *why, size_t size) LYNX_MUST_CHECK;
/* "memory.bandwidth", "arithmetic.bf16". size >= 2 * UPGRADE_TEXT. Returns text. */
char *upgrade_part_name(const struct upgrade_part *part, char *text, size_t size);
/* "memory.bandwidth x1.43, memory.capacity x1.76" */
char *upgrade_text(const struct upgrade *upgrade, char *text, size_t size);

#endif
