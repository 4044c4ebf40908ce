#include "attribute/live_samples.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { BESIDE_MAX = 64, GPUS_MAX = 64 };

enum how { MEAN, SUM, LEAST, INCREASE, COUNT };

static const struct {
  const char *series;
  enum how how;
  double below; /* beyond it no sampler can have seen it */
  size_t place;
} kinds[] = {
#define PLACE(field) offsetof(struct live_around, field)
    {"machine.busy_ratio", MEAN, 1.5, PLACE(busy)},
    {"sampling.cpu_ratio", MEAN, 1.5, PLACE(sampling_cost)},
    {"server.running", MEAN, 1e12, PLACE(running)},
    {"server.waiting", MEAN, 1e12, PLACE(waiting)},
    {"server.preemptions", INCREASE, 1e15, PLACE(preemptions)},
    {"server.cache_use", MEAN, 1.5, PLACE(cache_use)},
    {"wire.round_trip_s", LEAST, 1e4, PLACE(round_trip_s)},
    {"wire.sent_again_per_s", MEAN, 1e12, PLACE(sent_again_hz)},
    {"wire.held", MEAN, 1e6, PLACE(held)},
    {"wire.held", COUNT, 1e6, PLACE(held_looks)},
    {"server.held", MEAN, 1e6, PLACE(held_within)},
    {"server.held", COUNT, 1e6, PLACE(held_within_looks)},
    {"server.held_port", LEAST, 65536, PLACE(held_port)},
    {"server.asks", MEAN, 1e6, PLACE(asks)},
    {"server.asks", COUNT, 1e6, PLACE(asks_looks)},
    {"server.asks_lasting", MEAN, 1e6, PLACE(asks_lasting)},
    {"server.asks_lasting_open", MEAN, 1e6, PLACE(asks_lasting_open)},
    {"server.asks_port", LEAST, 65536, PLACE(asks_port)},
    {"server.asks_pid", LEAST, 1e10, PLACE(asks_pid)},
    {"server.ended_children", MEAN, 1e6, PLACE(ended_children)},
    {"power.package_w", MEAN, 1e7, PLACE(watts)},
    {"machine.temperature_c", MEAN, 1e4, PLACE(temperature_c)},
    {"machine.clock_mhz", MEAN, 1e6, PLACE(clock_mhz)},
    {"power.slowed", SUM, 1e12, PLACE(slowed)},
    {"server.major_faults_per_s", MEAN, 1e12, PLACE(major_faults_hz)},
    {"server.read_bytes_per_s", MEAN, 1e15, PLACE(read_hz)},
    {"disk.busy_ratio", MEAN, 1.5, PLACE(disk_busy)},
    {"server.accept_queue", MEAN, 1e9, PLACE(accept_queue)},
    {"server.accept_full_ratio", MEAN, 1.5, PLACE(accept_full)},
    {"server.dropped_per_s", MEAN, 1e9, PLACE(dropped_hz)},
    {"server.node_run_ratio", MEAN, 1.5, PLACE(node_run)},
    {"server.memory_elsewhere_ratio", MEAN, 1.5, PLACE(memory_elsewhere)},
#undef PLACE
};

/* Series gpu.N.KIND */
enum gpu_kind { GPU_BUSY, GPU_MEMORY_BUSY, GPU_POWER, GPU_TEMPERATURE, GPU_CLOCK, GPU_SLOWED, GPU_POWER_CAPPED, GPU_KINDS };
static const struct {
  const char *name;
  double below;
} gpu_kinds[GPU_KINDS] = {[GPU_BUSY] = {"busy_ratio", 1.5},
                          [GPU_MEMORY_BUSY] = {"memory_busy_ratio", 1.5},
                          [GPU_POWER] = {"power_w", 1e5},
                          [GPU_TEMPERATURE] = {"temperature_c", 1e4},
                          [GPU_CLOCK] = {"clock_mhz", 1e6},
                          [GPU_SLOWED] = {"slowed", 1.5},
                          [GPU_POWER_CAPPED] = {"power_capped", 1.5}};

struct live_samples {
  struct live *live;
  int64_t from_ns, to_ns; /* of the session that is read */
  double sum[LYNX_COUNT(kinds)], n[LYNX_COUNT(kinds)], first[LYNX_COUNT(kinds)], last[LYNX_COUNT(kinds)];
  struct {
    const char *name;
    double sum, n, asked, asks; /* n: samples */
  } beside[BESIDE_MAX];
  size_t n_beside;
  double window_s;
  struct {
    double sum[GPU_KINDS], n[GPU_KINDS];
  } gpus[GPUS_MAX];
};

static double *around_place(struct live_samples *s, size_t k) {
  void *place = (char *)&s->live->around + kinds[k].place;
  return place;
}

struct live_samples *live_samples_new(struct live *live) {
  struct live_samples *s = xalloc(1, sizeof *s);
  s->live = live;
  return s;
}

/* "neighbour.postgres.811": processors in use, of the second or so before; "asked.postgres.811", "asks.postgres.811": connections. */
static void keep_neighbour(struct live_samples *s, const char *series, double value) {
  static const char *const kinds_of[] = {"neighbour.", "asked.", "asks."};
  size_t i = 0, kind = 0;
  while (kind < LYNX_COUNT(kinds_of) && strncmp(series, kinds_of[kind], strlen(kinds_of[kind])) != 0) kind++;
  if (kind == LYNX_COUNT(kinds_of) || !(value < 65536)) return;
  const char *name = series + strlen(kinds_of[kind]);
  while (i < s->n_beside && strcmp(s->beside[i].name, name) != 0) i++;
  if (i == BESIDE_MAX) return;
  if (i == s->n_beside) s->beside[s->n_beside++].name = live_words(&s->live->arena, name);
  s->beside[i].n += kind == 0;
  *(kind == 0 ? &s->beside[i].sum : kind == 1 ? &s->beside[i].asked : &s->beside[i].asks) += value;
}

/* "0.busy_ratio" */
static void keep_gpu(struct live_samples *s, const char *name, double value) {
  char *end;
  unsigned long i = strtoul(name, &end, 10);
  if (end == name || *end != '.' || i >= GPUS_MAX) return;
  for (size_t k = 0; k < GPU_KINDS; k++) {
    if (strcmp(end + 1, gpu_kinds[k].name) != 0 || !(value < gpu_kinds[k].below)) continue;
    s->gpus[i].sum[k] += value;
    s->gpus[i].n[k]++;
  }
}

static enum lynx_status keep_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct live_samples *s = context;
  (void)session;
  if (at_ns <= s->from_ns || at_ns > s->to_ns || !(value >= 0)) return LYNX_OK;
  for (size_t k = 0; k < LYNX_COUNT(kinds); k++) {
    if (strcmp(series, kinds[k].series) != 0 || !(value < kinds[k].below)) continue;
    bool least = kinds[k].how == LEAST;
    s->sum[k] = !least ? s->sum[k] + value : s->n[k] > 0 ? fmin(s->sum[k], value) : value;
    s->n[k]++;
    if (isnan(s->first[k])) s->first[k] = value;
    s->last[k] = value;
  }
  keep_neighbour(s, series, value);
  if (strncmp(series, "gpu.", 4) == 0) keep_gpu(s, series + 4, value);
  return LYNX_OK;
}

bool live_samples_add(struct live_samples *s, struct bundle *bundle, const struct bundle_session *session) {
  s->from_ns = session->warm_up_ns;
  s->to_ns = session->warm_up_ns + session->counted_ns;
  s->window_s += (double)session->counted_ns / 1e9;
  for (size_t k = 0; k < LYNX_COUNT(kinds); k++) s->first[k] = NAN;
  bool good = bundle_each_sample(bundle, session->id, keep_sample, s, NULL) == LYNX_OK;
  for (size_t k = 0; k < LYNX_COUNT(kinds); k++) /* a counter that went back is of a server that was restarted */
    if (kinds[k].how == INCREASE && s->n[k] > 0) {
      double increase = isnan(s->first[k]) ? 0 : fmax(0, s->last[k] - s->first[k]);
      double *total = around_place(s, k);
      *total += increase;
    }
  return good;
}

static void name_neighbours(struct live_samples *s) {
  struct live *live = s->live;
  while (live->n_neighbours < LIVE_NEIGHBOURS_MAX && s->window_s > 0) {
    size_t most = BESIDE_MAX;
    for (size_t i = 0; i < s->n_beside; i++)
      if (s->beside[i].sum > 0 && (most == BESIDE_MAX || s->beside[i].sum > s->beside[most].sum)) most = i;
    if (most == BESIDE_MAX) break;
    /* one sample a second or so: those that it lacks are of seconds in which it did nothing */
    double n = fmax(1, s->beside[most].n);
    live->neighbours[live->n_neighbours++] = (struct live_neighbour){.name = s->beside[most].name,
                                                                     .processors = s->beside[most].sum / fmax(1, s->window_s),
                                                                     .asked = s->beside[most].asked / n,
                                                                     .asks = s->beside[most].asks / n};
    s->beside[most].sum = 0;
  }
}

/* Over the GPUs that told it: the mean of their means, and the greatest; NaN: none did. */
static double gpu_mean(const struct live_samples *s, enum gpu_kind kind, double *ret_n, double *ret_most) {
  double sum = 0, n = 0, most = NAN;
  for (size_t i = 0; i < GPUS_MAX; i++) {
    if (!(s->gpus[i].n[kind] > 0)) continue;
    double mean = s->gpus[i].sum[kind] / s->gpus[i].n[kind];
    sum += mean;
    n++;
    most = fmax(most, mean);
  }
  *ret_n = n;
  *ret_most = most;
  return n > 0 ? sum / n : NAN;
}

static void finish_gpus(const struct live_samples *s, struct live_gpus *ret) {
  double n, told, most;
  ret->busy = gpu_mean(s, GPU_BUSY, &n, &ret->busiest);
  ret->n = (int64_t)n;
  ret->memory_busy = gpu_mean(s, GPU_MEMORY_BUSY, &told, &most);
  ret->watts = gpu_mean(s, GPU_POWER, &told, &most) * (told > 0 ? told : 1);
  (void)gpu_mean(s, GPU_TEMPERATURE, &told, &ret->temperature_c);
  ret->clock_mhz = gpu_mean(s, GPU_CLOCK, &told, &most);
  (void)gpu_mean(s, GPU_SLOWED, &told, &ret->slowed);
  (void)gpu_mean(s, GPU_POWER_CAPPED, &told, &ret->power_capped);
}

void live_samples_finish(struct live_samples *s) {
  for (size_t k = 0; k < LYNX_COUNT(kinds); k++) {
    double *to = around_place(s, k);
    if (!(s->n[k] > 0)) *to = NAN;
    else if (kinds[k].how != INCREASE) *to = kinds[k].how == MEAN ? s->sum[k] / s->n[k] : kinds[k].how == COUNT ? s->n[k] : s->sum[k];
  }
  name_neighbours(s);
  finish_gpus(s, &s->live->around.gpus);
  free(s);
}
