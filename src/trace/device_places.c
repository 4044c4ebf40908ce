#include "trace/device_places.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/number.h"

/* The first row whose words both names begin with ("" : any). */
static const struct row {
  const char *process, *thread;
  enum place_kind kind;
} rows[] = {
    {"/device:TPU", "XLA Ops", PLACE_WORK},
    {"/device:", "Stream #", PLACE_WORK},
    {"/device:HPU", "", PLACE_WORK}, /* Gaudi: threads are engines */
    {"/device:", "", PLACE_DERIVED},
    {"Ascend Hardware", "Stream", PLACE_WORK},
    {"HCCL", "Group", PLACE_WORK},
    {"Communication", "Group", PLACE_WORK},
    {"HCCL", "", PLACE_DERIVED}, /* the tasks of which those are made */
    {"Communication", "", PLACE_DERIVED},
    {"CANN", "", PLACE_CALLS},
    {"Overlap Analysis", "", PLACE_DERIVED},
    {"GPU", "Stream", PLACE_WORK},
    {"NPU", "Stream", PLACE_WORK},
    {"TPU", "Stream", PLACE_WORK},
    {"XPU", "Stream", PLACE_WORK},
    {"HPU", "Stream", PLACE_WORK},
};

static struct place *place_of(struct device_places *p, int64_t process, int64_t thread) {
  for (size_t i = 0; i < p->n; i++)
    if (p->at[i].process == process && p->at[i].thread == thread) return &p->at[i];
  if (p->n == PLACES_MAX) return NULL;
  p->at[p->n] = (struct place){.process = process, .thread = thread, .device = -1};
  return &p->at[p->n++];
}

static void copy_words(char *to, size_t size, struct bytes from) {
  size_t n = from.length < size - 1 ? from.length : size - 1;
  memcpy(to, from.ptr, n);
  to[n] = 0;
}

static bool begins(const char *text, const char *with) {
  return strncasecmp(text, with, strlen(with)) == 0;
}

/* "GPU", "GPU 0", "NPU:3"; but not "NPU MEM". */
static bool is_process(const char *text, const char *row) {
  size_t n = strlen(row);
  bool words = row[0] == '/' || n > 3;
  return begins(text, row) && (words || text[n + strspn(text + n, " :0123456789")] == 0);
}

/* "/device:GPU:7", "NPU 3": the number at the end; else the devices count up as they are named. */
static int64_t number_of(const char *text) {
  size_t n = strlen(text), digits = 0;
  int64_t number;
  while (digits < n && text[n - digits - 1] >= '0' && text[n - digits - 1] <= '9') digits++;
  return digits > 0 && digits < 6 && number_int64(text + n - digits, digits, &number) ? number : -1;
}

void device_places_tell(struct device_places *p, struct bytes what, int64_t process, int64_t thread, struct bytes name) {
  bool of_thread = bytes_equal(what, "thread_name"), labels = bytes_equal(what, "process_labels");
  if (!of_thread && !labels && !bytes_equal(what, "process_name")) return;
  struct place *place = place_of(p, process, of_thread ? thread : -1);
  p->last.known = false;
  if (place == NULL) return;
  if (labels) copy_words(place->labels, sizeof place->labels, name);
  else copy_words(place->name, sizeof place->name, name);
  if (of_thread || labels || place->device >= 0) return; /* a process may be named again for each of its threads */
  bool collectives = begins(place->name, "HCCL") || begins(place->name, "Communication");
  for (size_t i = 0; i < LYNX_COUNT(rows); i++) {
    if (!is_process(place->name, rows[i].process) || rows[i].kind != PLACE_WORK) continue;
    int64_t number = begins(place->name, "/device:") ? number_of(place->name) : -1;
    place->device = number >= 0 ? number : p->n_devices[collectives]++;
    return;
  }
}

static enum place_kind find(const struct device_places *p, int64_t process, int64_t thread, int64_t *ret_device) {
  const struct place *whole = NULL, *own = NULL;
  for (size_t i = 0; i < p->n; i++) {
    if (p->at[i].process != process) continue;
    if (p->at[i].thread == -1) whole = &p->at[i];
    else if (p->at[i].thread == thread) own = &p->at[i];
  }
  *ret_device = whole != NULL ? whole->device : -1;
  for (size_t i = 0; whole != NULL && i < LYNX_COUNT(rows); i++)
    if (is_process(whole->name, rows[i].process) && begins(own != NULL ? own->name : "", rows[i].thread))
      return rows[i].kind == PLACE_DERIVED && own == NULL ? PLACE_UNNAMED : rows[i].kind;
  return PLACE_UNKNOWN;
}

enum place_kind device_places_find(struct device_places *p, int64_t process, int64_t thread, int64_t *ret_device) {
  if (!p->last.known || p->last.process != process || p->last.thread != thread) {
    p->last.process = process;
    p->last.thread = thread;
    p->last.kind = find(p, process, thread, &p->last.device);
    p->last.known = true;
  }
  *ret_device = p->last.device;
  return p->last.kind;
}

int64_t device_places_host(const struct device_places *p, int64_t process) {
  const struct place *own = NULL, *host = NULL;
  for (size_t i = 0; i < p->n; i++) {
    if (p->at[i].thread != -1) continue;
    if (p->at[i].process == process) own = &p->at[i];
    else if (host == NULL && begins(p->at[i].name, "Python") && begins(p->at[i].labels, "CPU")) host = &p->at[i];
  }
  return own != NULL && host != NULL && begins(own->name, "CANN") ? host->process : process;
}

const char *device_places_thread(const struct device_places *p, int64_t process, int64_t thread) {
  for (size_t i = 0; i < p->n; i++)
    if (p->at[i].process == process && p->at[i].thread == thread) return p->at[i].name;
  return "";
}

enum trace_kind device_work_kind(struct bytes name) {
  static const struct {
    const char *begins;
    enum trace_kind kind;
  } names[] = {{"Memcpy", TRACE_COPY},          {"MEMCPY_", TRACE_COPY},     {"SDMA", TRACE_COPY},          {"Memset", TRACE_SET},
               {"EVENT_", TRACE_SYNC},          {"Notify Wait", TRACE_SYNC}, {"Notify Record", TRACE_SYNC}, {"NOTIFY_", TRACE_SYNC},
               {"Write Value", TRACE_SYNC},     {"WRITE_VALUE", TRACE_SYNC}, {"PROFILING_", TRACE_SYNC},    {"PLACE_HOLDER", TRACE_SYNC},
               {"MODEL_MAINTAINCE", TRACE_SYNC}};
  for (size_t i = 0; i < LYNX_COUNT(names); i++) {
    size_t n = strlen(names[i].begins);
    if (name.length >= n && strncasecmp(name.ptr, names[i].begins, n) == 0) return names[i].kind;
  }
  return TRACE_KERNEL;
}
