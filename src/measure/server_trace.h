/* measure/server_trace.h: a moment of the server's own profiler, asked for by its routes, in a session that counts into no figure.
 *
 * Order    server_trace_find; begin, which returns at once; end, once the load is over: it waits until the trace is written, and puts what
 *          it says into the record (measure/trace_account.h)
 * Sources  inject/cupti.c, loaded by the CUDA driver: LYNXBENCH_CUPTI_FOLDER; it is asked at a socket of the name of the process. vLLM: --profiler-config in the command, before 0.11 VLLM_TORCH_PROFILER_DIR; SGLang: SGLANG_TORCH_PROFILER_DIR.
 *          POST /start_profile and /stop_profile. Both write Kineto traces, one of each process that is profiled
 * Trust    the folder is the server's word: what is in it is opened as the server's own user may, and read in a cage; no file there is
 *          made, changed or removed
 * Limits   stopping takes some ten seconds for each second of profile; SERVER_TRACES_MAX files */
#ifndef MEASURE_SERVER_TRACE_H
#define MEASURE_SERVER_TRACE_H

#include <limits.h>

#include "measure/run_record.h"

enum { SERVER_TRACES_MAX = 8 };

struct server_trace_place {
  int64_t pid;     /* whose command or environment names the folder */
  int64_t serving; /* the first of its tree */
  bool by_socket;  /* of inject/cupti.c */
  char folder[PATH_MAX];
};

/* Of the process, or one that it started. False: its profiler has no folder to write to, so that there are no such routes. */
bool server_trace_find(const struct root *root, int64_t pid, struct server_trace_place *ret);

struct server_trace;

struct server_trace *server_trace_begin(struct run *run, int64_t session, const struct server_trace_place *place, int64_t after_ns);
void server_trace_end(struct server_trace *trace); /* accepts NULL */

#endif
