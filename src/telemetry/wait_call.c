#include "telemetry/wait_call.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* Of fcntl nothing waits but a lock on a file. */
enum wait_kind wait_kind_of_call(long number) {
  static const struct {
    long number;
    enum wait_kind kind;
  } calls[] = {
      {SYS_futex, WAIT_LOCK},           {SYS_nanosleep, WAIT_TIMER},   {SYS_clock_nanosleep, WAIT_TIMER}, {SYS_epoll_pwait, WAIT_NETWORK},
      {SYS_ppoll, WAIT_NETWORK},        {SYS_pselect6, WAIT_NETWORK},  {SYS_recvfrom, WAIT_NETWORK},      {SYS_recvmsg, WAIT_NETWORK},
      {SYS_sendto, WAIT_NETWORK},       {SYS_sendmsg, WAIT_NETWORK},   {SYS_accept, WAIT_NETWORK},        {SYS_accept4, WAIT_NETWORK},
      {SYS_connect, WAIT_NETWORK},      {SYS_fsync, WAIT_DISK},        {SYS_fdatasync, WAIT_DISK},        {SYS_pread64, WAIT_DISK},
      {SYS_pwrite64, WAIT_DISK},        {SYS_io_getevents, WAIT_DISK}, {SYS_preadv, WAIT_DISK},           {SYS_pwritev, WAIT_DISK},
      {SYS_flock, WAIT_LOCK},           {SYS_fcntl, WAIT_LOCK},
#ifdef SYS_epoll_wait /* the older calls that some architectures do not have */
      {SYS_epoll_wait, WAIT_NETWORK},   {SYS_poll, WAIT_NETWORK},      {SYS_select, WAIT_NETWORK},
#endif
#ifdef SYS_epoll_pwait2
      {SYS_epoll_pwait2, WAIT_NETWORK},
#endif
#ifdef SYS_futex_waitv
      {SYS_futex_waitv, WAIT_LOCK},
#endif
  };
  for (size_t i = 0; i < LYNX_COUNT(calls); i++)
    if (calls[i].number == number) return calls[i].kind;
  return WAIT_OTHER;
}

enum wait_kind wait_kind_of_place(const char *place) {
  static const struct {
    const char *part;
    enum wait_kind kind;
  } places[] = {{"futex", WAIT_LOCK},       {"nanosleep", WAIT_TIMER}, {"ep_poll", WAIT_NETWORK},   {"poll_schedule", WAIT_NETWORK},
                {"select", WAIT_NETWORK},   {"sk_wait", WAIT_NETWORK}, {"inet_", WAIT_NETWORK},     {"unix_", WAIT_NETWORK},
                {"io_schedule", WAIT_DISK}, {"folio_wait", WAIT_DISK}, {"wait_on_page", WAIT_DISK}, {"wait_on_buffer", WAIT_DISK},
                {"iomap_dio", WAIT_DISK},   {"direct_IO", WAIT_DISK}};
  for (size_t i = 0; i < LYNX_COUNT(places); i++)
    if (strstr(place, places[i].part) != NULL) return places[i].kind;
  return place[0] == 0 || strcmp(place, "0") == 0 ? WAIT_UNKNOWN : WAIT_OTHER;
}

enum wait_kind wait_kind_of_file(const struct root *root, int64_t process, long number, unsigned long long descriptor) {
  char path[64], file[256];
  bool by_file = number == SYS_read || number == SYS_write || number == SYS_readv || number == SYS_writev;
  (void)snprintf(path, sizeof path, "/proc/%lld/fd/%llu", (long long)process, descriptor);
  if (!by_file || descriptor > INT32_MAX || !root_read_link(root, path, file, sizeof file)) return WAIT_OTHER;
  if (strncmp(file, "socket:", 7) == 0 || strncmp(file, "pipe:", 5) == 0)
    return WAIT_NETWORK; /* another process, or thread, has the other end */
  return file[0] == '/' && strncmp(file, "/dev/", 5) != 0 ? WAIT_DISK : WAIT_OTHER;
}

bool wait_call_read(const struct root *root, int64_t process, int64_t thread, struct wait_call *ret) {
  char path[128];
  unsigned long long words[8];
  (void)snprintf(path, sizeof path, "/proc/%lld/task/%lld/syscall", (long long)process, (long long)thread);
  *ret = (struct wait_call){.number = -1};
  if (!root_read_line(root, path, ret->line, sizeof ret->line)) return false;
  int n = sscanf(ret->line, "%ld 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx", &ret->number, &words[0], &words[1], &words[2],
                 &words[3], &words[4], &words[5], &words[6], &words[7]);
  ret->waits = n == 9 && ret->number >= 0;
  if (!ret->waits) return true;
  for (int i = 0; i < 6; i++) ret->arguments[i] = words[i];
  ret->stack = words[6];
  ret->address = words[7];
  return true;
}

int64_t wait_call_poll_ms(const struct wait_call *call) {
#ifdef SYS_epoll_wait
  if (call->number == SYS_epoll_wait) return (int32_t)call->arguments[3];
  if (call->number == SYS_poll) return (int32_t)call->arguments[2];
#endif
  return call->number == SYS_epoll_pwait ? (int32_t)call->arguments[3] : -1;
}
