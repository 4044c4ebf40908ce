/* attribute/live_shape.h: whose layers a live run's time belongs to: what the threads of the serving processes did while the load
 * was on, by layer and owner, from a bundle's own rows.
 *
 * Shapes   lanes: threads that do the same work, told apart as the kernel names them: a process's main thread, and its other threads
 *          of one name; a server that starts a thread per request has one lane of many threads
 * Units    shares of the counted windows: 1 is one processor, or one thread, all the time
 * Identity of each lane: running + ready + waits = present; the parts of its running time sum to it, `not attributed` being one of them
 * Sources  times by the kernel's own counts (schedstat) in the counted windows, which no profiler disturbs; how running time is
 *          divided, by the profilers' shares in the sessions beside them
 * Limits   interpreted code is divided by who holds the interpreter's lock; libraries by the innermost frame's file. What a wait is
 *          for is known by looks, some hundred a window: a share of 10 % is known to a few percent
 * Result   a pure function of the bundle */
#ifndef ATTRIBUTE_LIVE_SHAPE_H
#define ATTRIBUTE_LIVE_SHAPE_H

#include "base/activity.h"
#include "base/layer.h"
#include "result/figures.h"
#include "result/finding.h"

enum {
  LIVE_LANES_MAX = 64,
  LIVE_PARTS_MAX = 96,
  LIVE_NEIGHBOURS_MAX = 16,
  LIVE_CALLERS_MAX = 6,
  LIVE_FINDINGS_MAX = 16,
  LIVE_NATIVES_MAX = 8,
  LIVE_TRACED_MAX = 8,
  LIVE_TRACED_PARTS = 128
};

/* Kinds of a library's functions, by their names. */
enum live_kernel_kind {
  LIVE_ORDINARY,
  LIVE_GENERIC,    /* kept for processors without vectors */
  LIVE_CONVERTING, /* from one number type to another */
  LIVE_COPYING,    /* within one type: joins, moves */
  LIVE_FALLBACK,   /* for a number type that the library has no kernel for */
  LIVE_KERNEL_KINDS
};

enum live_part_kind { LIVE_PYTHON, LIVE_LIBRARY, LIVE_KERNEL, LIVE_PROGRAM, LIVE_REST };

struct live_part {
  enum live_part_kind kind;
  const char *what;  /* "forward", "libtorch_cpu.so", "the kernel" */
  const char *where; /* "/srv/app.py:188", or the function that called most of it; "" */
  const char *would; /* what would attribute it; "" where it is */
  bool attributed;
  bool spins;          /* it waits for another thread without giving up the processor, by its name */
  const char *inside;  /* of a library: its function with the most of it, by its symbol tables; "" */
  double inside_share; /* of the part */
  enum layer layer;
  double share; /* of the window */
  int64_t n;    /* looks that say so */
};

/* A function of native code. */
struct live_place {
  const char *what, *where; /* as a person says it; its file; "" */
  const char *caller;       /* the function of the program's own that called it, by one look; "" */
  double share;             /* of what is looked at */
  int64_t n;                /* looks that found it */
};

struct live_lane {
  int64_t process, thread; /* of its busiest thread */
  const char *program, *name;
  bool main;
  int64_t n_threads, n_processors; /* the most threads of one window; processors that they may run on, 0: not known */
  double present;                  /* threads that were there, on average, and busy at times */
  double running, system, ready, waits[WAIT_COUNT];
  double of_work[WAIT_COUNT], weighed;   /* waits as a share of the time that a thread is not ready, each weighing as much as it runs */
  double at_work, at_locks;              /* of present and of waits for locks: of its threads that work; others wait for work */
  double busiest;                        /* of its threads: the running and ready share of the one with the most */
  double busiest_other, busiest_timer;   /* of that thread: its waits of no known kind, those for OpenMP's threads among them; its sleeps */
  const char *waits_in, *waits_where;    /* the function that its threads wait in most, by looks that found it there; "" */
  double waits_share;                    /* of the window */
  const char *waits_also;                /* the two that come after it, "step (/srv/app.py:80)"; "" */
  struct live_place waiting[WAIT_COUNT]; /* of native code: the function of the program's own in which most of that is waited, of the looks
                                            at such waits */
  double parked[WAIT_COUNT];             /* of these waits, those of threads that have nothing to do: by the places of runtimes for it */
  double contended;                      /* of waits for locks, those for one that somebody holds, by the functions that wait */
  double at_rest;                        /* of waits for the network, those for the next request or connection: of no request */
  double polls;                          /* of them, those in which the event loop's own timer is due within a second */
  double poll_ms;                        /* in how long, median */
  int64_t n_samples, n_python, n_lock;   /* of profilers: native looks; looks at Python; those that held the interpreter's lock */
  struct live_caller {
    const char *what, *where;
    double share;              /* of the window */
    int64_t n;                 /* looks that found it so */
  } callers[LIVE_CALLERS_MAX]; /* Python functions whose calls run outside of the interpreter's lock, the greatest first */
  size_t n_callers;
  struct live_kernels {
    double share;     /* of the window: running time in such functions */
    const char *most; /* the one with the most of it, with its file; NULL */
    double most_share;
    int64_t n; /* looks that found it so */
  } kernels[LIVE_KERNEL_KINDS];
  struct live_part *parts; /* at most LIVE_PARTS_MAX; NULL: no profiler looked */
  size_t n_parts;
};

/* Work of a kind that a model has none of (code_kind.h), by who wants it. */
struct code_work;
struct live_native {
  const struct code_work *work; /* NULL: what a compiler would have put into its callers */
  size_t lane;
  const char *asker, *where; /* the function of the program's own; its file; "" */
  const char *inside;        /* the function that it is known by */
  double share;              /* of the window */
  int64_t n;                 /* looks that found it so */
};

struct live_neighbour {
  const char *name;
  double processors;
  double asked, asks; /* connections that the server made to it, and it to the server, on average */
};

/* Processes that are alike (live_workers.h); n 0: none were seen. */
struct live_alike {
  size_t n, n_idle;
  const char *program, *where; /* where: the function that all of them are in, "run (/srv/shard.py)" */
  int64_t process;             /* the busiest of them */
  double busiest, idle;        /* processors; idle: of the idle ones, the most */
  int64_t concurrency;
};

/* One account: of the windows at one number of requests in flight. */
struct live_account {
  int64_t concurrency;
  double window_s;
  struct live_lane lanes[LIVE_LANES_MAX]; /* the most running and ready first */
  size_t n_lanes;
  double running, ready; /* of all lanes */
};

/* What surrounded the counted windows, from samples; NaN: not known. */
struct live_around {
  double busy;                                    /* of the machine's processors */
  double sampling_cost;                           /* share of the machine's processor time */
  double running, waiting;                        /* the server's own counts of requests */
  double preemptions, cache_use;                  /* requests that lost their cache to others; share of the cache that is taken */
  double round_trip_s, sent_again_hz;             /* of the client's connections, the least; segments sent again each second */
  double held, held_looks;                        /* of them, connections at whose other end Nagle's algorithm holds bytes; looks */
  double held_within, held_within_looks;          /* the same of the server's own, to one another and to whom it asks */
  double held_port;                               /* of one of these */
  double asks, asks_looks;                        /* connections that it made on which an answer is awaited, to one port; samples */
  double asks_lasting, asks_lasting_open;         /* of those that stay: how many, and how many have a question open */
  double asks_port, asks_pid;                     /* pid: of the serving processes; 0: somebody else */
  double ended_children;                          /* processors that its children used which have ended since */
  double watts, temperature_c, clock_mhz, slowed; /* slowed: how often for heat */
  double major_faults_hz, read_hz, disk_busy;     /* of the serving processes: pages and bytes read from disks each second; a share */
  double accept_queue, accept_full,
      dropped_hz;                    /* connections that wait to be accepted; share of looks that found the queue full; dropped */
  double node_run, memory_elsewhere; /* shares: of running threads on one NUMA node; of its memory on others */
  struct live_gpus {
    int64_t n;                                /* 0: none was seen */
    double busy, busiest, memory_busy, watts; /* mean of all; of the busiest one; mean; of all together */
    double temperature_c, clock_mhz;          /* of the hottest; mean */
    double slowed, power_capped;              /* of the looks, the share that found one so: for heat or its supply; by its limit */
  } gpus;
};

/* What the server's own profiler recorded of one process for a moment: its parts sum to the window. */
struct live_traced {
  int64_t process;
  const char *program; /* "" where the process is none that was sampled */
  double window_s;
  struct live_traced_part {
    const char *state, *what, *where; /* the account's state; words for it, or a function's or range's name; "file.py:12", "" */
    bool named, dropped, attributed;
    enum layer layer;
    double share; /* of the window */
  } * parts;      /* at most LIVE_TRACED_PARTS, the greatest first */
  size_t n_parts;
};

/* The counted requests in the order in which they were sent: the first part of them beside those behind the third. */
struct live_start {
  int64_t n, n_first, n_sessions;           /* n_first 0: too few to tell; n_sessions: each begun so; 1: all as one */
  double first_ns, later_ns, most_later_ns; /* mean time of a request; most: of the slowest later part */
  double excess;                            /* what the first three parts took beyond the later ones, as a share of all requests' time */
};

/* Stops of all answers in flight at once, in the counted windows; 0 of all: there are none, or no tokens to tell by. */
struct live_stops {
  int64_t n;
  double window_s;                   /* that was looked at */
  double mean_ns, longest_ns, share; /* of the window */
  double every_ns;                   /* where they are regular; NaN */
  double gap_ns, longest_gaps_ns;    /* the median gap between tokens; the least of the longest thousandth */
  double of_longest;                 /* share of these that are stops */
  double whole_p99_ns, without_ns;   /* of an answer, and less what it stood */
  double at_first;                   /* share of the stops in which another answer's prompt is worked on, by when its first token comes */
  struct live_stopped {
    const char *program, *name; /* of the thread whose state differs most; NULL: nothing was sampled, or nothing differs */
    int state;                  /* STOPPED_RUNNING, STOPPED_READY, or STOPPED_WAIT + enum wait_kind */
    double inside, outside;     /* shares of the time */
  } thread;
};
enum { STOPPED_RUNNING, STOPPED_READY, STOPPED_WAIT, STOPPED_STATES = STOPPED_WAIT + WAIT_COUNT };

enum { LIVE_BINS = 200, LIVE_TRACKS_MAX = 6, LIVE_MARKS_MAX = 64 };

/* The run over time, in LIVE_BINS bins; times in bins. */
struct live_series {
  int64_t from_ns; /* realtime */
  double bin_ns;
  struct live_track {
    size_t lane; /* of the account */
    double running[LIVE_BINS], ready[LIVE_BINS];
  } tracks[LIVE_TRACKS_MAX];
  size_t n_tracks;                            /* 0: there is nothing to show */
  double busy[LIVE_BINS], waiting[LIVE_BINS]; /* of the processors; requests by the server's own count; NaN: no sample */
  struct live_mark {
    double from, to;
    const char *label;
    bool counted;
  } marks[LIVE_MARKS_MAX];
  size_t n_marks;
};

/* How near it came to the machine's ceilings; NaN: not known. */
struct live_roofline {
  double weight_bytes, parameters; /* of the model */
  double bandwidth, arithmetic;    /* ceilings: bytes/s, operations/s of the type */
  double read_hz, operations_hz;   /* reached: bytes of weights, operations, each second */
  const char *type;                /* "bf16" */
  const char *why;                 /* nothing is said: why; "" */
};

/* A request's life: phases that sum to its mean time; the last is what nothing explains. */
struct live_phase {
  const char *name;
  double mean_ns;
  bool attributed;
};

enum live_bottleneck {
  LIVE_UNDECIDED,
  LIVE_QUOTA,
  LIVE_ALLOWED, /* the processors that it may run on */
  LIVE_PROCESSORS,
  LIVE_ONE_THREAD,
  LIVE_INTERPRETER,
  LIVE_TURNS,
  LIVE_SLEEP,
  LIVE_CLIENT,
  LIVE_FAILING,
  LIVE_GPUS,
  LIVE_LOAD,    /* the climb ended before the throughput did */
  LIVE_PACE,    /* tokens come at a pace, or requests at a rate, that no work sets */
  LIVE_ASKS,    /* all connections to another service wait for an answer */
  LIVE_WORKERS, /* of processes that are alike some do all the work */
  LIVE_MET,     /* an offered rate is answered whole: nothing need be at its limit */
  LIVE_NOBODY   /* no request was counted */
};
enum live_bound { LIVE_NOT_DECIDED, LIVE_HARDWARE, LIVE_SOFTWARE };

struct live {
  struct arena arena;
  const struct result *result; /* borrowed */
  const struct result_precision *precision;
  int64_t n_processors;       /* of the machine; 0: not known */
  struct live_account at;     /* the counted windows */
  double in_flight;           /* requests, in them: as many as a closed loop has; else, by Little, rate times mean time; NaN */
  struct live_account alone;  /* the climb's step of 1 in flight; no lanes where there is none */
  struct live_account beyond; /* the climb's next step above; no lanes where there is none */
  double lock_held;           /* share of time in which an interpreter's lock is held, by looks; NaN: not known */
  struct live_around around;
  struct live_start start;
  struct live_stops stops;
  struct live_roofline roofline;
  struct live_series series;
  struct live_place tasks[WAIT_COUNT]; /* of goroutines that a runtime parked: where most wait, in functions of the program's own */
  int64_t go_processors;               /* on which a Go program runs at once, by its own word; 0: not known, or none */
  struct live_native natives[LIVE_NATIVES_MAX]; /* the greatest share first */
  size_t n_natives;
  struct live_neighbour neighbours[LIVE_NEIGHBOURS_MAX];
  size_t n_neighbours;
  struct interval profiling_cost; /* throughput lost while profilers ran, as a share; NaN */
  struct live_phase phases[16];
  size_t n_phases;
  bool phases_of_server; /* it told them; else they are what the client sees */
  double life_ns;        /* a request's mean time, scheduled to end */
  struct live_traced traced[LIVE_TRACED_MAX];
  size_t n_traced;
  const char **trace_files; /* where the traces lie */
  size_t n_trace_files;
  struct live_alike workers;
  const char **unseen;
  size_t n_unseen;
  struct fact_list facts; /* of the executor at the start */
  enum live_bottleneck bottleneck;
  const char *bottleneck_title, *bottleneck_text; /* "One thread bounds this server."; the figures that say so */
  enum live_bound bound;
  const char *bound_why;
  struct finding findings[LIVE_FINDINGS_MAX]; /* remediable causes, the greatest share first */
  size_t n_findings;
};

/* A copy without what a terminal would take for more than text: a bundle may be anybody's. */
const char *live_words(struct arena *arena, const char *text);
/* Its place, and the function of the library that has most of it. */
const char *live_part_where(struct arena *arena, const struct live_part *part);
/* A linker's name as a person says it: "_ZN2at6native8gelu_cpuE" is at::native::gelu_cpu. */
const char *live_symbol_text(struct arena *arena, const char *symbol);

/* "nap (server), called by pause_between_steps"; there must be one (n > 0). */
void live_name_place(const struct live_place *place, struct finding *ret);
/* Names in the finding what that lane waits in: the Python function that it waits in most, else the native one of such waits. */
void live_name_wait(const struct live_lane *lane, enum wait_kind kind, struct finding *ret);

/* Names in the finding how many threads its libraries may have, "OMP_NUM_THREADS=16, MKL_NUM_THREADS=8", where that is set, and
 * to a number from least to most. */
void live_name_threads(const struct live *live, int64_t least, int64_t most, struct finding *ret);

/* The lane that runs and is ready most; NULL: there is none. */
const struct live_lane *live_busiest(const struct live_account *account);
/* "python main", "VLLM::EngineCore, main": as a person says it. */
const char *live_lane_text(struct arena *arena, const struct live_lane *lane);
const char *live_bound_text(enum live_bound bound);
/* "; the packages take 62 W: 0.8 J for each token"; "; 2 GPUs: busy 40 %, 512 W"; "" where it is not known. */
const char *live_power_text(const struct live *live, struct arena *arena);
/* "profilers cost 3 % [1, 5] of the throughput while they ran; they count into no figure"; to what it is known, where that is little. */
const char *live_profiling_text(const struct live *live, struct arena *arena);
/* "weights are read at 12 GB/s at least, 31 % of this machine's triad (MBU)"; why not. */
const char *live_roofline_text(const struct live *live, struct arena *arena);
/* Of all packages and GPUs, for each token; NaN. */
double live_joules_per_token(const struct live *live);

/* Of the processors that other processes use, those of none that the server asks: that is a part of what is measured. */
double live_other_processors(const struct live *live);
/* The one that the server asks which uses most; NULL: none was seen. */
const struct live_neighbour *live_asked(const struct live *live);
/* "reindex.4711", a neighbour's name: how much of it is its program's; behind it a dot and the process's number, or nothing. */
size_t live_program_length(const char *neighbour);
/* The value of a fact at the start; NULL: it was not read. */
const char *live_fact(const struct live *live, enum layer layer, const char *key);

/* Do like processes have nothing to do, although each could have a request? */
bool live_workers_idle(const struct live *live);

/* Does the climb say that from 1 to 2 in flight throughput grows by less than a tenth, and by less than a fourth at any step after? */
bool live_one_at_a_time(const struct live *live);

/* Of a Python function, "encode (/srv/app.py:188)", the share of its running time in which it held the interpreter's lock, as looks saw
 * it; 1: none saw it outside. */
double live_locked_share(const struct live *live, const char *function);
/* The processors that threads of one interpreter together run on, where these are as one, under more load too, and others are idle: its
 * lock lets one run at a time. 0: no such interpreter. */
double live_python_turns(const struct live *live);
/* Of the machine, those that a quota would let it have; NaN: not known. */
double live_idle_processors(const struct live *live);
double live_spinning_processors(const struct live *live);
/* Of all lanes. */
struct live_kernels live_kernels_of(const struct live *live, enum live_kernel_kind kind);
/* Do such functions run for that share of the running time? Then share and name of the finding are theirs. */
bool live_finds_kernels(const struct live *live, enum live_kernel_kind kind, double least, struct finding *ret);
/* How long its busiest thread waits for its pool of threads (OpenMP), as a share of the window; 0 where it was not seen to have one. */
double live_pool_wait(const struct live_lane *lane);
/* The share of running time in libraries that compute: matrix products and the like run there. NaN: nothing runs. */
double live_computing_share(const struct live *live);
/* By the function's name; by the file it lies in. */
bool live_tokenizes(const struct live_part *part);
bool live_logs(const struct live_part *part);

/* Does throughput still grow at the last step of the climb? Then nothing in the server is its bound yet. */
bool live_still_grows(const struct live *live);
/* How much of their time threads are ready and have no processor; each lane by the weight of what it runs or would run. */
double live_ready_share(const struct live *live);

/* A thread that runs or is ready for that share of the time has no room left. */
#define LIVE_FULL 0.85
/* Threads that take turns run on one processor, and a little while they hand over. */
#define LIVE_ONE_MOST 1.1

#endif
