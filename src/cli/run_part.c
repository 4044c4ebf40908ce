#include "cli/output.h"
#include "cli/run_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "measure/merge.h"

#define GREATEST_S ((int64_t)8000000000) /* the year 2223: in nanoseconds that fits */

static bool read_number(const char *text, size_t length, int64_t *ret) {
  return text != NULL && number_int64(text, length, ret);
}

/* What launchers tell each process: its rank from 0, and how many there are. The innermost first: mpirun in a batch script of Slurm
 * inherits the script's own. */
static bool ask_launcher(struct run_part *ret) {
  static const struct {
    const char *rank, *size;
  } known[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
               {"PMI_RANK", "PMI_SIZE"},
               {"SLURM_PROCID", "SLURM_NTASKS"},
               {"JOB_COMPLETION_INDEX", "LYNXBENCH_PARTS"}}; /* an Indexed Job of Kubernetes, which tells no number of them */
  for (size_t i = 0; i < LYNX_COUNT(known); i++) {
    const char *rank = getenv(known[i].rank), *size = getenv(known[i].size);
    if (rank == NULL || size == NULL) continue;
    if (!read_number(rank, strlen(rank), &ret->number) || !read_number(size, strlen(size), &ret->count)) return false;
    ret->number++;
    return true;
  }
  return false;
}

static bool read_start(const char *text, int64_t *ret_ns) {
  int64_t seconds;
  struct tm when = {0};
  if (text[0] == '@' && read_number(text + 1, strlen(text + 1), &seconds) && seconds > 0 && seconds < GREATEST_S) {
    *ret_ns = seconds * 1000000000;
    return true;
  }
  const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &when);
  if (end == NULL || *end != 0) return false;
  const int day = when.tm_mday; /* the 31st of February is no day */
  seconds = (int64_t)timegm(&when);
  if (when.tm_mday != day) return false;
  *ret_ns = seconds * 1000000000;
  return seconds > 0 && seconds < GREATEST_S;
}

bool run_part_read(const char *part, const char *start, struct run_part *ret) {
  *ret = (struct run_part){.count = 0};
  if (part == NULL && start == NULL) return true;
  if (part == NULL || start == NULL) {
    complain("lynxbench run: --part and --start belong together: which host this is, and when all of them begin\n");
    return false;
  }
  const char *slash = strchr(part, '/');
  bool told = strcmp(part, "auto") == 0 ? ask_launcher(ret)
                                        : slash != NULL && read_number(part, (size_t)(slash - part), &ret->number) &&
                                              read_number(slash + 1, strlen(slash + 1), &ret->count);
  if (!told || ret->number < 1 || ret->count < ret->number || ret->count > MERGE_PARTS_MAX) {
    complain(
        "lynxbench run: --part: found '%s'%s; accepted: K/N with 1 <= K <= N <= %d, or auto under a launcher that sets SLURM_PROCID and "
        "SLURM_NTASKS, OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK and PMI_SIZE, or JOB_COMPLETION_INDEX beside LYNXBENCH_PARTS\n",
        part, strcmp(part, "auto") == 0 ? ", and no launcher says which" : "", MERGE_PARTS_MAX);
    return false;
  }
  if (read_start(start, &ret->start_realtime_ns)) return true;
  complain("lynxbench run: --start: found '%s'; accepted: a time such as 2026-11-22T03:30:00Z, or @ and seconds since 1970\n", start);
  return false;
}

const char *run_part_path(const char *out, const struct run_part *part, char *text, size_t size) {
  size_t n = strlen(out);
  bool ends = n > 5 && strcmp(out + n - 5, ".lynx") == 0;
  (void)snprintf(text, size, "%.*s.part%lld.lynx", (int)(ends ? n - 5 : n), out, (long long)part->number);
  return text;
}
