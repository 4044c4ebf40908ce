#include "base/host.h"

#include <string.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/root.h"

void host_read(struct host *ret) {
  static const struct root root = {""};
  struct timex clock = {.modes = 0};
  int state = adjtimex(&clock);
  *ret = (struct host){.clock_synchronised = state >= 0 && state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0,
                       .clock_off_at_most_us = state >= 0 ? (int64_t)clock.maxerror : -1};
  (void)gethostname(ret->name, sizeof ret->name - 1); /* an unnamed host stays unnamed */
  if (!root_read_line(&root, "/proc/sys/kernel/random/boot_id", ret->boot, sizeof ret->boot)) ret->boot[0] = 0;
}

void host_write(const struct host *host, struct json_writer *json) {
  json_put_text(json, "host", host->name);
  json_put_text(json, "boot", host->boot);
  json_put_bool(json, "clock_synchronised", host->clock_synchronised);
  json_put_int(json, "clock_off_at_most_us", host->clock_off_at_most_us);
}

void host_from_json(const json_t *object, struct host *ret) {
  const char *name = json_get_text(object, "host", ""), *boot = json_get_text(object, "boot", "");
  (void)text_sanitise(ret->name, sizeof ret->name, name, strlen(name));
  (void)text_sanitise(ret->boot, sizeof ret->boot, boot, strlen(boot));
  ret->clock_synchronised = json_get_bool(object, "clock_synchronised", false);
  ret->clock_off_at_most_us = json_get_int(object, "clock_off_at_most_us", -1);
  if (ret->clock_off_at_most_us < -1) ret->clock_off_at_most_us = -1;
}
