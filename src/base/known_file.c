#include "base/known_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"

/* The first row of which all marks are found, within the first `within` bytes (0: anywhere in the head). */
static const struct known_file {
  const char *marks[3];
  size_t within;
  const char *text;
  const char *taken_by; /* the command that takes it; NULL: none */
} files[] = {
    {{"version https://git-lfs.github.com/spec/"}, 64, "a git-lfs pointer, not the file itself: `git lfs pull` fetches it", NULL},
    {{"<!doctype html"}, 512, "a page of HTML, such as a login or an error: fetch the file itself again", NULL},
    {{"<!DOCTYPE html"}, 512, "a page of HTML, such as a login or an error: fetch the file itself again", NULL},
    {{"<html"}, 512, "a page of HTML, such as a login or an error: fetch the file itself again", NULL},
    {{"<?xml", "<Error>"}, 512, "an error message of an object store: fetch the file itself again", NULL},
    {{"rocprofiler-sdk-tool"},
     0,
     "JSON of rocprofv3, which is not read. Accepted from AMD's devices: PyTorch's own profiler (Kineto), which records them",
     NULL},
    {{"\"schema\"", "Chakra"},
     0,
     "an execution trace of Chakra: it has no times of a device. Accepted: the Kineto trace of the same run",
     NULL},
    {{"\"schema\"", "\"nodes\"", "\"ctrl_deps\""},
     0,
     "an execution trace of PyTorch's observer (Chakra): it has no times of a device. Accepted: the Kineto trace of the same run",
     NULL},
    {{"PERFILE2"}, 16, "what `perf record` wrote. Accepted: what `perf script` prints of it (`perf script > stacks.txt`)", NULL},
    {{":::MLLOG"}, 0, "a log of MLPerf LoadGen: `lynxbench import` reads it, with the other file of that run", "import"},
    {{"Collecting environment information"}, 4096, "what collect_env of PyTorch or vLLM printed: `lynxbench diff` reads it", "diff"},
    {{"PyTorch version:", "OS:"}, 0, "what collect_env of PyTorch or vLLM printed: `lynxbench diff` reads it", "diff"},
    {{"\"aiperf_version\""}, 0, "a result of AIPerf: `lynxbench import` reads it", "import"},
    {{"\"input_config\"", "\"request_throughput\""}, 0, "a result of AIPerf or GenAI-Perf: `lynxbench import` reads it", "import"},
    {{"\"request_start_ns\""}, 0, "AIPerf's requests: `lynxbench import` reads them, with its summary", "import"},
    {{"\"load_summary\"", "\"successes\""}, 0, "a result of inference-perf: `lynxbench import` reads it", "import"},
    {{"\"avg_ts\"", "\"n_gen\""}, 0, "what llama-bench printed: `lynxbench import` reads it", "import"},
    {{"threads and", "connections", "Requests/sec"}, 0, "what wrk printed: `lynxbench import` reads it", "import"},
    {{"http_req_duration", "http_reqs"}, 0, "what k6 printed: `lynxbench import` reads it", "import"},
    {{"Status code distribution:", "Requests/sec"}, 0, "what hey printed: `lynxbench import` reads it", "import"},
    {{"accelerators_per_node"}, 0, "MLPerf's description of a system: `lynxbench diff` reads it", "diff"},
    {{"CPU Affinity", "GPU0"}, 0, "what `nvidia-smi topo -m` printed: `lynxbench diff` reads it", "diff"},
    {{"\"benchmarks\"", "\"guidellm"}, 0, "a result of GuideLLM: `lynxbench import` reads it", "import"},
    {{"\"request_throughput\""}, 0, "a result of a benchmark of vLLM or SGLang: `lynxbench import` reads it", "import"},
    {{"Serving Benchmark Result"}, 0, "what a benchmark of vLLM or SGLang printed: `lynxbench import` reads it", "import"},
    {{"| NVIDIA-SMI "}, 0, "what nvidia-smi printed: `lynxbench diff` reads it", "diff"},
    {{"==NVSMI LOG=="}, 0, "what nvidia-smi printed: `lynxbench diff` reads it", "diff"},
    {{"nvidia_smi_log"}, 0, "what nvidia-smi printed: `lynxbench diff` reads it", "diff"},
    {{"ROCm System Management Interface"}, 0, "what rocm-smi printed: `lynxbench diff` reads it", "diff"},
    {{"| AMD-SMI "}, 0, "what amd-smi printed: `lynxbench diff` reads it", "diff"},
    {{"| npu-smi "}, 0, "what npu-smi printed: `lynxbench diff` reads it", "diff"},
    {{"| HL-SMI Version"}, 0, "what hl-smi printed: `lynxbench diff` reads it", "diff"},
    {{"# HELP ", "# TYPE "},
     0,
     "a server's metrics page: `lynxbench compare --instruments RESULT BEFORE AFTER` reads it, before and after a run",
     "compare"},
    {{"lynxbench:", "executor:"}, 4096, "a contract of lynxbench: `lynxbench run` takes it", "run"},
    /* SQLite keeps an application's number in its head. */
    {{"SQLite format 3", "LYNX"}, 72, "a bundle of lynxbench: `lynxbench show` reads it", "show"},
    {{"SQLite format 3", "LYNL"}, 72, "a ledger of lynxbench: `lynxbench ledger list` and `lynxbench audit` read it", "log"},
    {{"SQLite format 3"}, 16, "a database of SQLite; an export of Nsight Systems is a trace: `lynxbench attribute` reads it", "attribute"},
    {{"\"lynx_capture\""}, 0, "a capture of lynxbench: `lynxbench diff` reads it", "diff"},
    {{"\"traceEvents\""}, 0, "a trace: `lynxbench attribute` reads it", "attribute"},
    {{"\"resourceSpans\""}, 0, "a trace of requests (OpenTelemetry): `lynxbench attribute` reads it", "attribute"},
    {{"\"operationName\"", "\"spanID\""}, 0, "a trace of requests (Jaeger): `lynxbench attribute` reads it", "attribute"},
    {{"\037\213"}, 2, "packed with gzip: `gunzip` unpacks it", "attribute"},
    {{"PK\003\004"}, 4, "a ZIP archive: unpack it, and give the file in it", NULL},
    {{"\x28\xb5\x2f\xfd"}, 4, "compressed with zstd: `zstd -d` unpacks it. Accepted as it is: gzip", NULL},
    {{"BZh"}, 3, "compressed with bzip2: `bunzip2` unpacks it. Accepted as it is: gzip", NULL},
    {{"\xfd"
      "7zXZ"},
     5,
     "compressed with xz: `unxz` unpacks it. Accepted as it is: gzip",
     NULL},
    {{"\177ELF"}, 4, "a program", NULL},
};

/* A text with that word at the beginning of a line, whatever else it holds. */
static bool is_contract(const char *head, size_t length) {
  static const char word[] = "lynxbench:";
  size_t n = sizeof word - 1;
  if (memchr(head, 0, length) != NULL) return false;
  for (const char *p = head; (p = memmem(p, length - (size_t)(p - head), word, n)) != NULL; p++)
    if (p == head || p[-1] == '\n') return true;
  return false;
}

const char *known_file_text(const char *head, size_t length, const char *command) {
  if (strcmp(command, "run") == 0 && is_contract(head, length)) return NULL;
  for (size_t i = 0; i < LYNX_COUNT(files); i++) {
    const struct known_file *f = &files[i];
    size_t within = f->within > 0 && f->within < length ? f->within : length;
    bool all = f->taken_by == NULL || strcmp(f->taken_by, command) != 0;
    for (size_t k = 0; k < LYNX_COUNT(f->marks) && f->marks[k] != NULL; k++)
      all = all && memmem(head, within, f->marks[k], strlen(f->marks[k])) != NULL;
    if (all) return f->text;
  }
  return NULL;
}

const char *known_file_at(const char *path, const char *command) {
  enum { HEAD_MAX = 1 << 16 };
  if (path == NULL) return NULL;
  char *head = xalloc(HEAD_MAX, 1);
  size_t n = file_head(path, head, HEAD_MAX);
  const char *text = n > 0 ? known_file_text(head, n, command) : NULL;
  free(head);
  return text;
}
