/* cli/machine_record.h: what was measured of this machine itself and is kept for every run on it: the records of `lynxbench calibrate`, of the
 * instrument and of the ceilings. Each lies in the file that its variable names (LYNXBENCH_CALIBRATION,
 * LYNXBENCH_ENVELOPE), or in $XDG_STATE_HOME/lynxbench or ~/.local/state/lynxbench. */
#ifndef CLI_MACHINE_RECORD_H
#define CLI_MACHINE_RECORD_H

#include "base/buffer.h"
#include "base/json.h"

struct machine_record {
  const char *variable, *file, *key; /* key: of the number of its format, 1 */
};

extern const struct machine_record record_of_calibration, record_of_envelope;

/* False if this machine has no home to keep it in. */
bool machine_record_path(const struct machine_record *record, char *path, size_t size);

/* Its format, who made it, where and when; the rest is the caller's, and the end. */
void machine_record_begin(const struct machine_record *record, struct json_writer *json, struct buffer *out);

/* Those that were made on this host. */
struct machine_records {
  struct buffer calibration_text, envelope_text;
  const char *calibration, *envelope; /* JSON; NULL: there is none */
};

void machine_records_load(struct machine_records *ret);
void machine_records_release(struct machine_records *records);

#endif
