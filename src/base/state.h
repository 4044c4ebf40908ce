/* base/state.h: where lynxbench keeps what it knows between runs: $XDG_STATE_HOME/lynxbench, or ~/.local/state/lynxbench. */
#ifndef BASE_STATE_H
#define BASE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: neither is set. */
bool state_path(const char *name, char *path, size_t size);

enum { STATE_SECRET_BYTES = 32 };
/* Random bytes that stay at home: made at their first use, in a file that its owner alone may read; the same ever after. False: there is
 * no such folder, or it cannot be read or written. */
bool state_secret(const char *name, uint8_t ret[STATE_SECRET_BYTES]);

#endif
