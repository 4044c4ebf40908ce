/* cli/state.h: where lynxbench keeps what it knows between runs: $XDG_STATE_HOME/lynxbench, or ~/.local/state/lynxbench. */
#ifndef CLI_STATE_H
#define CLI_STATE_H

#include <stdbool.h>
#include <stddef.h>

/* False: neither is set. */
bool state_path(const char *name, char *path, size_t size);

#endif
