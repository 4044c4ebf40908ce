/* Each finding is planted once: its rule finds it, and finds nothing in a device that is kept busy. */
#include <stdlib.h>

#include "attribute/attribution.h"
#include "tests/check.h"

struct plan {
  struct timeline timeline;
  int64_t now_us, device_us; /* where the host is; until when the device is busy */
  uint64_t correlation;
};

static void put(struct plan *p, enum trace_kind kind, const char *name, int64_t start_us, int64_t duration_us, uint64_t correlation) {
  bool device = kind_on_device(kind);
  struct trace_span span = {.kind = kind,
                            .name = bytes_of(name),
                            .start_ns = start_us * 1000,
                            .duration_ns = duration_us * 1000,
                            .process = 1,
                            .thread = 1,
                            .device = device ? 0 : -1,
                            .stream = device ? 7 : -1,
                            .correlation = correlation,
                            .bytes = 1 << 20,
                            .blocks_each = strcmp(name, "one_block") == 0 ? 0.01 : 0};
  timeline_add_span(&p->timeline, &span);
}

/* The host calls for call_us; the device begins 3 us after that, or when it is free. */
static void launch(struct plan *p, enum trace_kind kind, const char *name, int64_t call_us, int64_t work_us) {
  put(p, TRACE_RUNTIME, "cudaLaunchKernel", p->now_us, call_us, ++p->correlation);
  p->now_us += call_us;
  int64_t begins = p->now_us + 3 > p->device_us + 1 ? p->now_us + 3 : p->device_us + 1;
  put(p, kind, name, begins, work_us, p->correlation);
  p->device_us = begins + work_us;
}

static void host(struct plan *p, enum trace_kind kind, const char *name, int64_t duration_us) {
  put(p, kind, name, p->now_us, duration_us, 0);
  p->now_us += duration_us;
}

/* The host waits until the device is done, and tail_us longer. */
static void wait_for_device(struct plan *p, int64_t tail_us) {
  int64_t until = p->device_us > p->now_us ? p->device_us : p->now_us;
  put(p, TRACE_RUNTIME, "cudaDeviceSynchronize", p->now_us, until - p->now_us + tail_us, ++p->correlation);
  p->now_us = until + tail_us;
}

static void busy(struct plan *p) {
  for (int i = 0; i < 10; i++) launch(p, TRACE_KERNEL, "sgemm", 5, 300);
}

static void launch_bound(struct plan *p) {
  launch(p, TRACE_KERNEL, "sgemm", 10, 2);
}

static void host_bound(struct plan *p) {
  host(p, TRACE_OPERATOR, "custom::op", 80);
  launch(p, TRACE_KERNEL, "sgemm", 5, 100);
  p->now_us = p->device_us;
}

static void data_loader(struct plan *p) {
  host(p, TRACE_OPERATOR, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 500);
  launch(p, TRACE_KERNEL, "sgemm", 5, 500);
  p->now_us = p->device_us;
}

static void tokenizer(struct plan *p) {
  host(p, TRACE_PYTHON, "transformers/tokenization_utils.py(1): tokenize", 200);
  launch(p, TRACE_KERNEL, "sgemm", 5, 800);
  p->now_us = p->device_us;
}

static void data_movement(struct plan *p) {
  launch(p, TRACE_COPY, "Memcpy HtoD (Pageable -> Device)", 5, 300);
  launch(p, TRACE_KERNEL, "sgemm", 5, 600);
}

static void communication(struct plan *p) {
  launch(p, TRACE_KERNEL, "ncclDevKernel_AllReduce", 5, 300);
  launch(p, TRACE_KERNEL, "sgemm", 5, 600);
}

static void small_kernels(struct plan *p) {
  for (int i = 0; i < 20; i++) launch(p, TRACE_KERNEL, "sgemm", 2, 6);
}

static void few_blocks(struct plan *p) {
  launch(p, TRACE_KERNEL, "one_block", 5, 300);
  for (int i = 0; i < 2; i++) launch(p, TRACE_KERNEL, "sgemm", 5, 300);
}

static void unified_memory(struct plan *p) {
  launch(p, TRACE_COPY, "Memcpy HtoD (Unified Memory)", 5, 300);
  launch(p, TRACE_KERNEL, "sgemm", 5, 600);
}

static void conversion(struct plan *p) {
  launch(p, TRACE_KERNEL, "convert_fp8_kernel", 5, 200);
  launch(p, TRACE_KERNEL, "sgemm", 5, 600);
}

static void compilation(struct plan *p) {
  host(p, TRACE_PYTHON, "torch/_inductor/compile_fx.py(9): compile_fx", 400);
  launch(p, TRACE_KERNEL, "sgemm", 5, 600);
  p->now_us = p->device_us;
}

static void synchronisation(struct plan *p) {
  launch(p, TRACE_KERNEL, "sgemm", 5, 400);
  wait_for_device(p, 100);
}

static void straggling(struct plan *p) {
  busy(p);
}

static bool found(const struct finding *findings, size_t n, const char *id) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(findings[i].id, id) == 0) return true;
  return false;
}

static size_t run(void (*iteration)(struct plan *), const struct collectives *collectives, struct finding *findings,
                  struct account *account) {
  struct plan p = {.now_us = 100};
  struct account_options options = {.threshold_ns = 5000};
  timeline_init(&p.timeline, false);
  for (int i = 0; i < 40; i++) iteration(&p);
  timeline_finish(&p.timeline);
  account_run(&p.timeline, 0, &options, account);
  struct evidence evidence = {.timeline = &p.timeline, .account = account, .collectives = collectives};
  size_t n = rules_run(&evidence, findings, FINDINGS_MAX);
  timeline_release(&p.timeline);
  return n;
}

int main(void) {
  static const struct {
    const char *id;
    void (*iteration)(struct plan *);
    double share; /* what was planted, within a tenth of the window */
  } rows[] = {{"launch_bound", launch_bound, 0.86},    {"host_bound", host_bound, 0.42},          {"data_loader", data_loader, 0.49},
              {"tokenizer", tokenizer, 0.2},           {"data_movement", data_movement, 0.33},    {"communication", communication, 0.33},
              {"small_kernels", small_kernels, 0.86},  {"few_blocks", few_blocks, 0.33},          {"conversion", conversion, 0.25},
              {"compilation", compilation, 0.4},       {"synchronisation", synchronisation, 0.2}, {"straggler", straggling, 0.1},
              {"unified_memory", unified_memory, 0.33}};
  struct rank_wait ranks[2] = {{.rank = 0, .n = 100, .wait_ns = 24000000, .n_matched = 100, .by_chance = 50},
                               {.rank = 1, .n = 100, .n_matched = 100, .n_last = 95, .n_kept = 95, .caused_ns = 24000000, .by_chance = 50}};
  struct collectives late = {.n_ranks = 2, .ranks = ranks, .all = {.n_matched = 100, .wait_ns = 24000000}}, even = late;
  struct rank_wait even_ranks[2] = {
      {.rank = 0, .n = 100, .wait_ns = 12000000, .n_matched = 100, .n_last = 50, .n_kept = 50, .caused_ns = 12000000, .by_chance = 50},
      {.rank = 1, .n = 100, .wait_ns = 12000000, .n_matched = 100, .n_last = 50, .n_kept = 50, .caused_ns = 12000000, .by_chance = 50}};
  even.ranks = even_ranks;
  struct finding findings[FINDINGS_MAX];
  struct account account;
  size_t n_rules = 0;
  for (size_t i = 0; rules_all[i] != NULL; i++) n_rules += rules_all[i]->needs == NEEDS_TRACE;
  CHECK_INT(n_rules, sizeof rows / sizeof rows[0]); /* every one of a trace is planted */
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    size_t n = run(rows[i].iteration, strcmp(rows[i].id, "straggler") == 0 ? &late : NULL, findings, &account);
    if (!found(findings, n, rows[i].id)) (void)printf("%s:\n", rows[i].id);
    CHECK(found(findings, n, rows[i].id));
    for (size_t k = 0; k < n; k++) {
      CHECK(findings[k].share >= 0 && findings[k].share <= 1 && findings[k].rung == RUNG_ACCOUNTED);
      CHECK(!findings[k].bounded || findings[k].bound <= 1);
      CHECK(findings[k].evidence[0] != 0 && findings[k].bound_holds != NULL);
      CHECK(k == 0 || findings[k - 1].share >= findings[k].share); /* the greatest first */
      if (strcmp(findings[k].id, rows[i].id) == 0) {
        if (fabs(findings[k].share - rows[i].share) > 0.1) (void)printf("%s:\n", rows[i].id);
        CHECK_NEAR(findings[k].share, rows[i].share, 0.1);
      }
    }
    account_release(&account);
  }
  CHECK_INT(run(busy, NULL, findings, &account), 0); /* kept busy: nothing to find */
  CHECK_INT(attribution_bound(&account), BOUND_DEVICE);
  account_release(&account);
  CHECK_INT(run(busy, &even, findings, &account), 0); /* late in turn: no one rank */
  account_release(&account);
  CHECK(run(data_loader, NULL, findings, &account) > 0);
  CHECK_INT(attribution_bound(&account), BOUND_MIXED);
  account_release(&account);
  CHECK(run(launch_bound, NULL, findings, &account) > 0);
  CHECK_INT(attribution_bound(&account), BOUND_SOFTWARE);
  account_release(&account);
  return check_end();
}
