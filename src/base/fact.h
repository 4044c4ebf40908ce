/* base/fact.h: one thing known, or known not to be known, about an executor.
 * Shapes   (layer, key, subject) is unique in a list; subject names a library or process where there are several, else ""
 * Units    value is text as the source gave it; unit "" where it has none
 * Memory   a list owns copies in its arena */
#ifndef BASE_FACT_H
#define BASE_FACT_H

#include "base/arena.h"
#include "base/layer.h"

enum fact_status {
  FACT_READ,        /* the source gave this value */
  FACT_ABSENT,      /* the source does not exist here */
  FACT_DENIED,      /* the source exists and may not be read */
  FACT_UNSUPPORTED, /* the source cannot say on this machine */
  FACT_DECLARED,    /* somebody said so; no machine can tell */
  FACT_WITHHELD,    /* there is a value, and only its salted digest is shown: the one who has it can show that it matches */
  FACT_STATUS_COUNT
};

enum fact_kind {
  FACT_IDENTITY, /* part of what the executor is: counts in its fingerprint */
  FACT_STATE,    /* how it was at that moment: recorded, compared apart, not part of its identity */
  FACT_CONTEXT,  /* which exemplar it was (serial number, host name, when it was booted): another one of the same make is the same
                    executor, so not part of its identity either */
  FACT_KIND_COUNT
};

struct fact {
  enum layer layer;
  enum fact_kind kind;
  enum fact_status status;
  const char *key, *value, *unit, *source;
  int64_t at_ns; /* of the capture's monotonic clock */
};

struct fact_list {
  struct arena arena;
  struct fact *items;
  size_t n_items, room;
  uint32_t *slots;                                       /* hash table of index + 1 by key; 0: free */
  size_t n_slots;                                        /* a power of two, or 0 */
  char salt[33];                                         /* of the digests of withheld facts: hexadecimal; "" where it is not known */
  void (*added)(void *context, const struct fact *fact); /* NULL, or told of every fact that was added */
  void *context;
};

/* A key seen before keeps its first value: probes are ordered best source first. Values are cut at 4096 bytes and sanitised. */
void fact_add(struct fact_list *list, const struct fact *fact);
const struct fact *fact_find(const struct fact_list *list, const char *key);
void fact_sort(struct fact_list *list); /* by layer, then key */
void fact_list_release(struct fact_list *list);

const char *fact_status_text(enum fact_status status);
bool fact_status_parse(const char *text, enum fact_status *ret);
const char *fact_kind_text(enum fact_kind kind);
bool fact_kind_parse(const char *text, enum fact_kind *ret);
/* Keys of joined hosts begin with their roles: "server-1/cpu.governor" -> "cpu.governor". A role holds neither '/' nor '.'. */
const char *fact_without_role(const char *key);
/* Is there a value, rather than a reason why not? */
bool fact_is_known(const struct fact *fact);

#endif
