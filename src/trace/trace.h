/* trace/trace.h: traces of other tools, read as a stream into one event model.
 *
 * trace turns the bytes of a profiler's file into spans, samples and facts, and counts what was lost or unknown. It keeps nothing and
 * judges nothing: what the events mean is for attribute to say. It does no I/O but through the source it is handed.
 *
 * Order    a source; trace_sniff; reader->read with a sink; the source's release
 * Units    int64 nanoseconds, read from the decimals as they stand, never through a double
 * Errors   INPUT: not this format at all; LIMIT; IO from the source. What is damaged inside is skipped and counted, not an error
 * Memory   one window of the file (a few MB), whatever its size */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/buffer.h"

enum trace_kind {
  TRACE_OPERATOR,          /* a framework's operator on a host thread */
  TRACE_RUNTIME,           /* a call of the device's runtime or driver on a host thread */
  TRACE_KERNEL,            /* on the device */
  TRACE_COPY,              /* on the device */
  TRACE_SET,               /* on the device */
  TRACE_SYNC,              /* the device's record of a synchronisation: when a stream waited */
  TRACE_ANNOTATION,        /* a range that the program named, on a host thread */
  TRACE_DEVICE_ANNOTATION, /* the same range, as it shows on the device */
  TRACE_PYTHON,            /* a Python function */
  TRACE_OVERHEAD,          /* the profiler's own cost, or lazy loading that it reports */
  TRACE_SYSTEM,            /* a call of the operating system, on a host thread: most often it waits there */
  TRACE_REQUEST,           /* a span of a distributed trace */
  TRACE_OTHER,
  TRACE_KIND_COUNT
};

struct trace_span {
  enum trace_kind kind;
  struct bytes name, type;        /* type: what kind of operator, where the name is only an instance's; else empty */
  int64_t start_ns, duration_ns;  /* duration >= 0 */
  bool asynchronous;              /* it may overlap others of its thread, and ends wherever */
  int64_t process, thread;        /* of the host */
  int64_t device, stream;         /* of device work; -1: not known */
  uint64_t correlation;           /* joins a host call with what it made the device do; 0: none */
  int64_t scope;                  /* correlations are numbered apart in each scope (a process), where a file holds several */
  int64_t bytes;                  /* moved; -1: not known */
  struct bytes collective, group; /* "allreduce"; the process group */
  struct bytes members;           /* of the group, as the trace writes them: names may be used again; empty: not told */
  int64_t elements, sequence;     /* of a collective, going in; -1: not known */
  int64_t out_elements, element_bytes, group_size; /* the same; 0 or less: not known */
  double blocks_each;                              /* of a kernel: thread blocks for each multiprocessor of its device; 0: not known */
  struct bytes trace_id, id, parent;               /* of a request's span */
};

/* One end of an arrow from who hands work over to who takes it up. */
struct trace_flow {
  enum trace_flow_kind {
    FLOW_LAUNCH,  /* from a call of the runtime to what it made the device do */
    FLOW_HANDOVER /* from one thread of the host to another, which launches for it */
  } kind;
  bool begins;
  uint64_t id;                    /* of its kind; both ends have it */
  int64_t at_ns, process, thread; /* within the span of the host */
  int64_t device, stream;         /* the end of a launch: at the start of a span there; else -1 */
};

struct trace_frame {
  struct bytes symbol, module;
};

struct trace_sample {
  struct bytes command, event;
  int64_t process, thread;          /* -1: not known */
  int64_t at_ns, weight;            /* weight: the period where it is printed, else 1 */
  const struct trace_frame *frames; /* innermost first */
  size_t n_frames;
};

enum trace_loss {
  TRACE_LOSS_DAMAGED,   /* could not be read: skipped up to the next event */
  TRACE_LOSS_TRUNCATED, /* the file ends inside an event */
  TRACE_LOSS_LARGE,     /* a member behind the events that is larger than the limit: not read */
  TRACE_LOSS_TIMES,     /* without a start, or with a negative duration: skipped */
  TRACE_LOSS_UNPAIRED,  /* a begin without its end, or an end without its begin: skipped */
  TRACE_LOSS_UNKNOWN,   /* of a kind that is not known: kept as other */
  TRACE_LOSS_UNUSED,    /* counters, flows, instants: read and not used */
  TRACE_LOSS_DERIVED,   /* the same device work again, by scopes, modules or tasks */
  TRACE_LOSS_UNNAMED,   /* a device's, named only behind its events, or never: kept as other */
  TRACE_LOSS_FULL,      /* the profiler's own limit was reached: events after it are missing */
  TRACE_LOSS_COUNT
};

/* Slots may be NULL. */
struct trace_sink {
  void *context;
  void (*span)(void *context, const struct trace_span *span);
  void (*flow)(void *context, const struct trace_flow *flow);
  void (*sample)(void *context, const struct trace_sample *sample);
  void (*fact)(void *context, const char *key, struct bytes value); /* "device.0", "rank", "cuda_runtime_version" ... */
  void (*lost)(void *context, enum trace_loss what, int64_t n);
  bool (*progress)(void *progress_context, int64_t bytes_done); /* false: stop here; what was read stays */
  void *progress_context;
};

struct trace_source {
  void *context;
  /* Up to room bytes: how many, 0 at the end, -1 and the error. */
  ptrdiff_t (*read)(void *context, char *to, size_t room, struct lynx_error *error);
  int64_t (*done)(void *context); /* bytes of the file taken so far (of the compressed file, where it is compressed) */
  void (*release)(void *context);
  const char *path; /* for formats that are databases; NULL where there is no file */
};

struct trace_reader {
  const char *name, *summary;
  /* Required. 0: not this; 100: certainly. The head is what the file begins with, at most TRACE_HEAD bytes. */
  int (*sniff)(const char *head, size_t length);
  /* Required. */
  enum lynx_status (*read)(struct trace_source *source, const struct trace_sink *sink, struct lynx_error *error);
  bool operators_compute; /* on the host an operator is its kernel's time, and not what calls others */
};

enum { TRACE_HEAD = 1 << 16, TRACE_EVENT_MAX = 64 << 20 };

extern const struct trace_reader *const trace_readers[]; /* generated from src/trace/readers; ends in NULL */

/* For sniffing: the first byte that is no blank; 0 where there is none. */
char trace_first(const char *head, size_t length);

/* The reader that is surest; NULL where none knows the head. */
const struct trace_reader *trace_sniff(const char *head, size_t length);

/* Sources. The descriptor is taken: release closes it. A file that begins as gzip is unpacked on the way. */
enum lynx_status trace_source_file(int take_descriptor, const char *path, struct trace_source *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
void trace_source_memory(struct bytes bytes, struct trace_source *ret); /* borrows; release frees only the source */
/* What the source begins with, without taking it. */
enum lynx_status trace_source_head(struct trace_source *source, char head[TRACE_HEAD], size_t *ret_length,
                                   struct lynx_error *error) LYNX_MUST_CHECK;

const char *trace_kind_text(enum trace_kind kind);
const char *trace_loss_text(enum trace_loss loss); /* what happened, and what was done about it */

#endif
