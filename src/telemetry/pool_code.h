/* telemetry/pool_code.h: where the code of OpenMP's runtimes lies in processes: a thread that waits there waits for its pool's next work,
 * not for a lock that somebody holds.
 * Limits   GNU's waits are system calls of its own code; LLVM's and Intel's wait by the C library, and are not told so */
#ifndef TELEMETRY_POOL_CODE_H
#define TELEMETRY_POOL_CODE_H

#include "base/root.h"

enum { POOL_CODE_MAX = 64 };

struct pool_code {
  struct pool_range {
    int64_t process;
    unsigned long long from, to;
  } ranges[POOL_CODE_MAX];
  size_t n;
};

/* Reads again what that process has mapped. */
void pool_code_read(const struct root *root, int64_t process, struct pool_code *code);
bool pool_code_holds(const struct pool_code *code, int64_t process, unsigned long long at);

#endif
