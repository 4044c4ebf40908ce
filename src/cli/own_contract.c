#include "cli/own_contract.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/state.h"

#define FILE_NAME "own-contracts"
enum { LINE = DIGEST_HEX }; /* a digest and a newline */
#define LINES_MOST 16384    /* then it begins again: the oldest are asked about once more */

/* Ours alone, or nothing is known by it. */
static int open_own(int flags) {
  char path[4096];
  struct stat info;
  if (!state_path(FILE_NAME, path, sizeof path)) return -1;
  if ((flags & O_CREAT) != 0) file_make_parents(path, 0700);
  int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return -1;
  bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 022) == 0;
  if (good && (flags & O_APPEND) != 0 && info.st_size >= (off_t)LINES_MOST * LINE) good = ftruncate(fd, 0) == 0;
  if (good) return fd;
  (void)close(fd);
  return -1;
}

bool own_contract_is_known(const struct contract *contract) {
  char digest[DIGEST_HEX], line[LINE];
  contract_digest(contract, digest);
  int fd = open_own(O_RDONLY);
  bool known = false;
  for (size_t n = 0; fd >= 0 && !known && n < LINES_MOST && read(fd, line, LINE) == LINE; n++)
    known = line[LINE - 1] == '\n' && memcmp(line, digest, LINE - 1) == 0;
  if (fd >= 0) (void)close(fd); /* it was read */
  return known;
}

void own_contract_remember(const struct contract *contract) {
  char line[LINE];
  if (own_contract_is_known(contract)) return;
  contract_digest(contract, line);
  line[LINE - 1] = '\n';
  int fd = open_own(O_WRONLY | O_APPEND | O_CREAT);
  if (fd < 0) return;
  ssize_t written = write(fd, line, LINE); /* a whole line at once, or it is not known later */
  (void)written;
  (void)close(fd); /* what is lost is asked for */
}
