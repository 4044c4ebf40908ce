#include "base/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/random.h"

bool state_path(const char *name, char *path, size_t size) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state != NULL && state[0] == '/') (void)snprintf(path, size, "%s/lynxbench/%s", state, name);
  else if (home != NULL && home[0] == '/') (void)snprintf(path, size, "%s/.local/state/lynxbench/%s", home, name);
  else return false;
  return true;
}

static bool read_secret(const char *path, uint8_t ret[STATE_SECRET_BYTES]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat info; /* what others can read, or could have put there, is no secret */
  bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & 077) == 0 &&
              read(fd, ret, STATE_SECRET_BYTES) == STATE_SECRET_BYTES;
  (void)close(fd);
  return good;
}

/* Of two that make it at once one is kept: the link is made whole or not at all. */
bool state_secret(const char *name, uint8_t ret[STATE_SECRET_BYTES]) {
  char path[4096], temporary[4160];
  if (!state_path(name, path, sizeof path)) return false;
  if (read_secret(path, ret)) return true;
  file_make_parents(path, 0700);
  if (!random_salt(ret, STATE_SECRET_BYTES) || !file_temporary_name(path, temporary, sizeof temporary) ||
      file_create_private(temporary, ret, STATE_SECRET_BYTES) != 0)
    return false;
  bool first = link(temporary, path) == 0;
  (void)unlink(temporary);
  return first || read_secret(path, ret);
}
