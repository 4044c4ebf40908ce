/* Who asks whom, by TCP connections between this process and one that it started. */
#include "telemetry/connected.h"

#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static const struct root here = {""};

static int listening(struct sockaddr_in *ret_at) {
  socklen_t n = sizeof *ret_at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  *ret_at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)ret_at, sizeof *ret_at) == 0 && listen(fd, 8) == 0);
  CHECK_INT(getsockname(fd, (struct sockaddr *)ret_at, &n), 0);
  return fd;
}

/* The other process: connects twice to that place, and is asked at a place of its own, which it tells first. */
static _Noreturn void be_other(const struct sockaddr_in *to, int tells) {
  struct sockaddr_in own;
  int door = listening(&own), one = socket(AF_INET, SOCK_STREAM, 0), two = socket(AF_INET, SOCK_STREAM, 0);
  bool good = connect(one, (const struct sockaddr *)to, sizeof *to) == 0 && connect(two, (const struct sockaddr *)to, sizeof *to) == 0 &&
              write(tells, &own, sizeof own) == (ssize_t)sizeof own && accept(door, NULL, NULL) >= 0 && write(tells, "x", 1) == 1;
  while (good && pause() == -1)
    ;
  _exit(1);
}

int main(void) {
  struct sockaddr_in door_at, other_at;
  struct process_tree tree = {.pids = {getpid()}, .n = 1};
  size_t asked, asks;
  char byte;
  int ends[2], door = listening(&door_at);
  CHECK_INT(pipe(ends), 0);
  pid_t other = fork();
  if (other == 0) be_other(&door_at, ends[1]);
  int accepted[2] = {accept(door, NULL, NULL), accept(door, NULL, NULL)};
  CHECK(accepted[0] >= 0 && accepted[1] >= 0);
  CHECK_INT(read(ends[0], &other_at, sizeof other_at), (long long)sizeof other_at);
  int to_other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK_INT(connect(to_other, (struct sockaddr *)&other_at, sizeof other_at), 0);
  CHECK_INT(read(ends[0], &byte, 1), 1);
  (void)close(ends[0]);
  (void)close(ends[1]);

  struct connected *c = connected_new();
  connected_read(c, &here, &tree);
  connected_with(c, &here, other, &asked, &asks);
  CHECK_INT(asked, 1);
  CHECK_INT(asks, 2);
  connected_with(c, &here, 1, &asked, &asks); /* somebody else: connected with nothing here */
  CHECK_INT(asked + asks, 0);
  connected_with(c, &here, other, &asked, &asks); /* again, as last read */
  CHECK_INT(asks, 2);
  tree.n = 0;
  connected_read(c, &here, &tree);
  connected_with(c, &here, other, &asked, &asks);
  CHECK_INT(asked + asks, 0);
  connected_free(c);
  (void)kill(other, SIGKILL);
  (void)waitpid(other, NULL, 0);
  return check_end();
}
