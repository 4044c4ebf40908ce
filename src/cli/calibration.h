/* cli/calibration.h: where the record of `lynxbench calibrate` lies: $LYNXBENCH_CALIBRATION, or lynxbench/calibration.json in
 * $XDG_STATE_HOME or ~/.local/state. */
#ifndef CLI_CALIBRATION_H
#define CLI_CALIBRATION_H

#include "base/buffer.h"

/* False if this machine has no home to keep it in. */
bool calibration_path(char *path, size_t size);

/* The record, if there is one that was made on this host; initialises the buffer in any case. */
bool calibration_load(struct buffer *ret);

#endif
