#include "cli/state.h"

#include <stdio.h>
#include <stdlib.h>

bool state_path(const char *name, char *path, size_t size) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state != NULL && state[0] == '/') (void)snprintf(path, size, "%s/lynxbench/%s", state, name);
  else if (home != NULL && home[0] == '/') (void)snprintf(path, size, "%s/.local/state/lynxbench/%s", home, name);
  else return false;
  return true;
}
