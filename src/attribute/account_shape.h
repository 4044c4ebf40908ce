/* attribute/account_shape.h: what an account is made of: the states of a window's time, and what is kept beside them. */
#ifndef ATTRIBUTE_ACCOUNT_SHAPE_H
#define ATTRIBUTE_ACCOUNT_SHAPE_H

#include "attribute/timeline.h"

enum account_state {
  /* the device (or, without one, the host) computes: by class, in the order of enum work_class */
  STATE_COMPUTE,
  STATE_COMMUNICATION = STATE_COMPUTE + WORK_COMPUTE_END, /* and nothing computes */
  STATE_COPY_TO_DEVICE,                                   /* and nothing computes or communicates */
  STATE_COPY_TO_HOST,
  STATE_COPY_OTHER,
  STATE_SET,
  /* the device does nothing: claimed in this order */
  STATE_PROFILER,  /* the profiler says that it is busy itself */
  STATE_GRAPH,     /* between two nodes of one graph launch */
  STATE_LATENCY,   /* work was handed over: the first moments, up to the threshold, after it was, or after the work before it ended */
  STATE_QUEUED,    /* the same, beyond the threshold: not explained */
  STATE_SYNC,      /* nothing queued, and the host is in a synchronising call */
  STATE_LAUNCH,    /* nothing queued, and the host is in a launch call */
  STATE_COMPILE,   /* nothing queued, and the host compiles or loads code */
  STATE_DATA,      /* ... waits for its data loader */
  STATE_TOKENIZER, /* ... tokenises */
  STATE_ALLOCATE,  /* ... is in an allocation call */
  STATE_COPY_CALL, /* ... is in a copy call */
  STATE_CALL,      /* ... is in another call of the runtime */
  STATE_OPERATOR,  /* ... is in a framework's operator */
  STATE_PYTHON,    /* ... is in Python code outside operators */
  STATE_RANGE,     /* ... is in a range that the program named, and nothing else is recorded */
  STATE_SYSTEM,    /* ... is in a call of the operating system, and nothing else is recorded */
  STATE_NOTHING,   /* nothing is recorded: not explained */
  STATE_COUNT
};

/* What can overlap. */
enum overlap_kind {
  OVERLAP_COMPUTE,
  OVERLAP_COMMUNICATION,
  OVERLAP_COPY,
  OVERLAP_LAUNCH,
  OVERLAP_SYNC,
  OVERLAP_OTHER_CALL,
  OVERLAP_DATA,
  OVERLAP_OPERATOR,
  OVERLAP_PYTHON,
  OVERLAP_COUNT
};

/* tb_plugin's roles, in its order. */
enum account_role { ROLE_KERNEL, ROLE_COPY, ROLE_SET, ROLE_COMMUNICATION, ROLE_RUNTIME, ROLE_DATA, ROLE_OPERATOR, ROLE_OTHER, ROLE_COUNT };

enum copy_way { COPY_WAY_TO_DEVICE, COPY_WAY_TO_HOST, COPY_WAY_WITHIN, COPY_WAY_OTHER, COPY_WAYS };

enum account_window { WINDOW_AUTO, WINDOW_STEPS, WINDOW_DEVICE, WINDOW_TRACE };

enum { BINS_BITS = 5, BINS_OCTAVE = 1 << BINS_BITS, HISTOGRAM_BINS = (64 - BINS_BITS + 1) * BINS_OCTAVE, DEPTH_BINS = 16 };

/* Thirty-two bins to the octave: a quantile is known to within 1.6 %. */
struct histogram {
  int64_t n, sum, least, greatest;
  int64_t bins[HISTOGRAM_BINS];
};

struct stream_account {
  int64_t stream, n_spans, busy_ns, n_overlapping;
  int64_t host_wait_ns, kernel_wait_ns, other_ns; /* HolisticTraceAnalysis's classes of the gaps between its spans */
};

struct account {
  int64_t device;     /* -1: of the host */
  bool device_named;  /* of the host, in a trace that names a device and holds no work of it */
  bool device_unseen; /* of the host, which launches work on a device that the profiler did not record */
  enum account_window window;
  int64_t n_steps, from_ns, to_ns; /* of the window; between steps may be time that does not count */
  struct account_steps {
    int64_t median_ns, longest_ns, longest; /* which one it is, from 1 */
    uint32_t longest_name;                  /* of the timeline */
  } steps;                                  /* of the first thread that marks them; 0: fewer than three */
  int64_t wall_ns, states[STATE_COUNT];
  int64_t overlap[OVERLAP_COUNT][OVERLAP_COUNT]; /* [i][i]: open at all */
  int64_t roles[ROLE_COUNT];
  /* from the first to the last device span, whatever the window */
  int64_t device_total_ns, device_compute_ns, device_communication_ns, device_copy_ns, device_exposed_communication_ns,
      device_exposed_copy_ns;
  int64_t class_busy_ns[WORK_CLASS_COUNT], class_n[WORK_CLASS_COUNT]; /* summed over spans: overlapping ones count each */
  int64_t class_longest_ns[WORK_CLASS_COUNT];                         /* the longest span in the window */
  int64_t depth_ns[DEPTH_BINS];                                       /* time with so much work queued: 0, 1, 2-3, 4-7, ... */
  struct histogram kernels, launches, delays, back_to_back;           /* durations; delay: end of the call to start on the device */
  int64_t threshold_ns;                                               /* of STATE_LATENCY */
  bool threshold_measured;
  struct copied {
    double bytes;
    int64_t n, ns; /* of those that say how many bytes they moved */
  } copied[COPY_WAYS];
  int64_t few_blocks_ns;  /* of the window's computing: in kernels that are known to have fewer blocks than there are multiprocessors */
  double few_blocks_each; /* of these: blocks for each multiprocessor, the mean by time */
  int64_t ran_ahead_ns;   /* the device works so long on what the steps handed over once these are over; 0: not for long */
  int64_t migrated_ns, n_migrated; /* of pages of unified memory, which move by themselves */
  int64_t pageable_ns, pinned_ns;  /* of copies between host and device, where the trace says which memory of the host */
  int64_t earlier_ns; /* of the window's busy time: with nothing on the device but work that was launched before the trace began */
  int64_t n_copies, n_sync_calls, n_queue_empty; /* queue_empty: launches into an idle device with nothing queued */
  struct stream_account *streams;
  size_t n_streams, streams_room;
  int64_t host_own_ns; /* the host in an operator or a call, but for calls while the device is busy or has work waiting, which may wait for
                          it */
  int64_t hidden_data_ns;       /* data loading beneath device work */
  int64_t path_ns[STATE_COUNT]; /* the critical path through host and device, back from the window's end (attribute/critical_path.h) */
};

#endif
