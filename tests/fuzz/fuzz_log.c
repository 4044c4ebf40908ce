/* Logs of requests, in every format, and profiles: whatever is read is written and read back the same. */
#include "result/profile.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct request_log log;
  struct profile profile, again;
  struct buffer out, twice;
  if (size == 0) return 0;
  enum log_format format = (enum log_format)(data[0] % (LOG_ACCESS + 1));
  const char *text = (const char *)data + 1;
  if (request_log_parse(text, size - 1, format, &log, NULL) == LYNX_OK) {
    for (size_t i = 1; i < log.n_items; i++) HOLDS(log.items[i].at_ns >= log.items[i - 1].at_ns && log.items[0].at_ns == 0);
    profile_of_log(&log, "fuzz", "", &profile);
    buffer_init(&out, 16 << 20);
    buffer_init(&twice, 16 << 20);
    HOLDS(profile_write(&profile, &out));
    HOLDS(profile_read(out.data, out.length, &again, NULL) == LYNX_OK);
    HOLDS(profile_write(&again, &twice) && twice.length == out.length);
    profile_release(&again);
    profile_release(&profile);
    buffer_release(&out);
    buffer_release(&twice);
    request_log_release(&log);
  }
  if (profile_read(text, size - 1, &profile, NULL) == LYNX_OK) profile_release(&profile);
  return 0;
}
