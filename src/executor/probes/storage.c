/* The disks: what holds the file system that the model is read from (or, where that is not known, the root), and how it is set. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "executor/probe.h"

static const char *storage_applies(const struct probe_target *target) {
  return target->root->path[0] == 0 ? NULL : "a recorded tree lies on our own disk";
}

static void put_device(const struct probe_target *target, struct fact_list *facts, unsigned major_number, unsigned minor_number) {
  static const struct {
    const char *file, *key, *unit;
  } files[] = {{"queue/rotational", "storage.rotational", ""},         {"queue/scheduler", "storage.scheduler", ""},
               {"queue/read_ahead_kb", "storage.read-ahead", "kB"},    {"queue/nr_requests", "storage.queue-depth", ""},
               {"queue/max_sectors_kb", "storage.request-most", "kB"}, {"device/model", "storage.model", ""},
               {"size", "storage.size", "sectors of 512 bytes"}};
  char directory[96], whole[120], path[200], link[400];
  (void)snprintf(directory, sizeof directory, "/sys/dev/block/%u:%u", major_number, minor_number);
  /* A partition's settings stand with its disk. */
  (void)snprintf(whole, sizeof whole, "%s/partition", directory);
  char line[16];
  bool partition = root_read_line(target->root, whole, line, sizeof line);
  if (root_read_link(target->root, directory, link, sizeof link) && strrchr(link, '/') != NULL)
    probe_fact(target, facts, LAYER_SYSTEM, FACT_CONTEXT, "storage.device", strrchr(link, '/') + 1, "", directory);
  for (size_t i = 0; i < LYNX_COUNT(files); i++) {
    (void)snprintf(path, sizeof path, "%s%s/%s", directory, partition && strcmp(files[i].file, "size") != 0 ? "/.." : "", files[i].file);
    (void)probe_file_if(target, facts, LAYER_SYSTEM, FACT_IDENTITY, files[i].key, path, files[i].unit);
  }
}

/* mountinfo: id parent major:minor root mount-point options - type source super-options */
static void put_mount(const struct probe_target *target, struct fact_list *facts, unsigned major_number, unsigned minor_number) {
  struct buffer text;
  char wanted[32];
  buffer_init(&text, 4 << 20);
  (void)snprintf(wanted, sizeof wanted, "%u:%u", major_number, minor_number);
  char path[64] = "/proc/self/mountinfo"; /* where the process mounts it, with the options that it sees */
  if (target->pid > 0) (void)snprintf(path, sizeof path, "/proc/%lld/mountinfo", (long long)target->pid);
  if (root_read(target->root, path, &text, NULL) == LYNX_OK)
    for (const char *line = text.data; line != NULL && *line != 0; line = strchr(line, '\n')) {
      if (*line == '\n' && *++line == 0) break;
      char device[32], options[200], type[64];
      if (sscanf(line, "%*s %*s %31s %*s %*s %199s", device, options) != 2 || strcmp(device, wanted) != 0) continue;
      const char *dash = strstr(line, " - ");
      if (dash == NULL || sscanf(dash, " - %63s", type) != 1) continue;
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "storage.file-system", type, "", "/proc/self/mountinfo");
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "storage.mount-options", options, "", "/proc/self/mountinfo");
      break;
    }
  buffer_release(&text);
}

static void storage_collect(const struct probe_target *target, struct fact_list *facts) {
  const struct fact *model = fact_find(facts, "model.path");
  char path[4200] = "/";
  struct stat info;
  if (model != NULL && fact_is_known(model) && model->value[0] == '/') {
    if (target->pid > 0) (void)snprintf(path, sizeof path, "/proc/%lld/root%s", (long long)target->pid, model->value);
    else (void)snprintf(path, sizeof path, "%s", model->value);
  }
  if (stat(path, &info) != 0) {
    probe_missing(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "storage.file-system", FACT_DENIED, "the model's file may not be looked at",
                  path);
    return;
  }
  probe_fact(target, facts, LAYER_SYSTEM, FACT_STATE, "storage.holds",
             model != NULL && strcmp(path, "/") != 0 ? "the model" : "the root file system (where the model lies is not known)", "",
             "capture");
  put_mount(target, facts, major(info.st_dev), minor(info.st_dev));
  put_device(target, facts, major(info.st_dev), minor(info.st_dev));
}

const struct probe probe_storage;
const struct probe probe_storage = {.name = "storage",
                                    .summary = "the file system and disk that hold the model",
                                    .reads = "/proc/self/mountinfo, /sys/dev/block",
                                    .stage = 2,
                                    .layer = LAYER_SYSTEM,
                                    .applies = storage_applies,
                                    .collect = storage_collect};
