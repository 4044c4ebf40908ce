/* The time account on small random timelines, held against counting nanosecond by nanosecond. */
#include <stdlib.h>

#include "attribute/account.h"
#include "attribute/call_tree.h"
#include "attribute/rule.h"
#include "base/random.h"
#include "base/root.h"
#include "tests/check.h"

enum { LENGTH = 400, SPANS_MAX = 60 };

struct made {
  enum trace_kind kind;
  const char *name;
  int64_t start, duration, thread;
  uint64_t correlation;
};

static const struct made choices[] = {{.kind = TRACE_KERNEL, .name = "sgemm_128"},
                                      {.kind = TRACE_KERNEL, .name = "vectorized_elementwise_kernel"},
                                      {.kind = TRACE_KERNEL, .name = "ncclDevKernel_AllReduce"},
                                      {.kind = TRACE_COPY, .name = "Memcpy HtoD (Pinned -> Device)"},
                                      {.kind = TRACE_SET, .name = "Memset (Device)"},
                                      {.kind = TRACE_RUNTIME, .name = "cudaLaunchKernel"},
                                      {.kind = TRACE_RUNTIME, .name = "cudaDeviceSynchronize"},
                                      {.kind = TRACE_OPERATOR, .name = "aten::mm"},
                                      {.kind = TRACE_OPERATOR, .name = "enumerate(DataLoader)#x.__next__"},
                                      {.kind = TRACE_OPERATOR, .name = "ProfilerStep#1"},
                                      {.kind = TRACE_PYTHON, .name = "f.py(1): g"},
                                      {.kind = TRACE_ANNOTATION, .name = "range"}};

static void add(struct timeline *t, const struct made *m) {
  bool device = kind_on_device(m->kind);
  struct trace_span span = {.kind = m->kind,
                            .name = bytes_of(m->name),
                            .start_ns = m->start,
                            .duration_ns = m->duration,
                            .process = 1,
                            .thread = m->thread,
                            .device = device ? 0 : -1,
                            .stream = device ? m->thread : -1,
                            .correlation = m->correlation,
                            .bytes = -1};
  timeline_add_span(t, &span);
}

static bool open_at(const struct made *m, int64_t ns) {
  return ns >= m->start && ns < m->start + m->duration;
}

/* What tb_plugin's roles and TraceLens's timeline are at one nanosecond, from their definitions. */
static void count_one(const struct made *all, size_t n, int64_t ns, int64_t *roles, int64_t *device, bool *in_step) {
  bool compute = false, set = false, copy = false, communication = false, runtime = false, data = false, op = false;
  *in_step = false;
  for (size_t i = 0; i < n; i++) {
    const struct made *m = &all[i];
    if (!open_at(m, ns)) continue;
    bool nccl = strncmp(m->name, "nccl", 4) == 0, step = strncmp(m->name, "ProfilerStep", 12) == 0,
         loader = strncmp(m->name, "enumerate", 9) == 0;
    compute = compute || (m->kind == TRACE_KERNEL && !nccl);
    communication = communication || nccl;
    copy = copy || m->kind == TRACE_COPY;
    set = set || m->kind == TRACE_SET;
    runtime = runtime || m->kind == TRACE_RUNTIME;
    data = data || loader;
    op = op || m->kind == TRACE_PYTHON || m->kind == TRACE_ANNOTATION || (m->kind == TRACE_OPERATOR && !step && !loader);
    *in_step = *in_step || step;
  }
  if (*in_step)
    roles[compute         ? ROLE_KERNEL
          : copy          ? ROLE_COPY
          : set           ? ROLE_SET
          : communication ? ROLE_COMMUNICATION
          : runtime       ? ROLE_RUNTIME
          : data          ? ROLE_DATA
          : op            ? ROLE_OPERATOR
                          : ROLE_OTHER]++;
  device[0] += compute || set;
  device[1] += communication && !(compute || set);
  device[2] += copy && !(compute || set) && !communication;
  device[3] += compute || set || communication || copy;
}

static void check_random(struct random_stream *random) {
  struct made all[SPANS_MAX];
  size_t n = 5 + (size_t)random_below(random, SPANS_MAX - 5);
  struct timeline t;
  timeline_init(&t, false);
  for (size_t i = 0; i < n; i++) {
    all[i] = choices[random_below(random, sizeof choices / sizeof choices[0])];
    all[i].start = (int64_t)random_below(random, LENGTH);
    all[i].duration = (int64_t)random_below(random, 60);
    all[i].thread = 1 + (int64_t)random_below(random, 3);
    if (all[i].kind == TRACE_RUNTIME || kind_on_device(all[i].kind)) all[i].correlation = random_below(random, 12); /* 0: none */
    add(&t, &all[i]);
  }
  timeline_finish(&t);
  struct account a;
  struct account_options options = {.orphans = ORPHANS_KEEP, .threshold_ns = 5};
  int64_t roles[ROLE_COUNT] = {0}, device[4] = {0}, steps = 0, sum = 0;
  account_run(&t, 0, &options, &a);
  for (int64_t ns = 0; ns < LENGTH + 60; ns++) {
    bool in_step;
    count_one(all, n, ns, roles, device, &in_step);
    steps += in_step;
  }
  for (int i = 0; i < STATE_COUNT; i++) {
    sum += a.states[i];
    CHECK(a.states[i] >= 0 && a.path_ns[i] >= 0);
  }
  CHECK_INT(sum, a.wall_ns); /* it closes */
  CHECK_INT(a.device_compute_ns, device[0]);
  CHECK_INT(a.device_exposed_communication_ns, device[1]);
  CHECK_INT(a.device_exposed_copy_ns, device[2]);
  if (a.window == WINDOW_STEPS) {
    CHECK_INT(a.wall_ns, steps);
    for (int i = 0; i < ROLE_COUNT; i++) CHECK_INT(a.roles[i], roles[i]);
  } else if (a.window == WINDOW_DEVICE) CHECK_INT(account_busy(&a), device[3]);
  for (int i = 0; i < OVERLAP_COUNT; i++)
    for (int k = 0; k < OVERLAP_COUNT; k++) CHECK(a.overlap[i][k] == a.overlap[k][i] && a.overlap[i][k] <= a.overlap[i][i]);
  for (size_t i = 1; i < t.n_spans; i++) CHECK(t.spans[i - 1].start_ns <= t.spans[i].start_ns);
  account_release(&a);
  struct call_tree tree;
  int64_t tree_ns = 0, device_ns = 0;
  call_tree_build(&t, INT64_MIN, &tree);
  for (size_t i = 0; i < tree.n_nodes; i++) tree_ns += tree.nodes[i].device_ns;
  for (size_t i = 0; i < t.n_spans; i++)
    if (kind_on_device((enum trace_kind)t.spans[i].kind) && !(t.spans[i].flags & SPAN_ORPHAN)) device_ns += t.spans[i].duration_ns;
  CHECK_INT(tree_ns, device_ns); /* no device time is lost in the tree */
  call_tree_release(&tree);
  timeline_release(&t);
}

/* By hand: a launch, its latency, a kernel, a late host, a second kernel.
 *   host   |launch 10-20|        |op 40-70 ........|launch 60-70|
 *   device              |k1 24-40|                              |k2 72-90|
 * idle 40-60 is the operator's, 60-70 the launch call's, 70-72 latency. */
static void check_by_hand(void) {
  static const struct made all[] = {
      {.kind = TRACE_RUNTIME, .name = "cudaLaunchKernel", .start = 10, .duration = 10, .thread = 1, .correlation = 1},
      {.kind = TRACE_KERNEL, .name = "sgemm", .start = 24, .duration = 16, .thread = 7, .correlation = 1},
      {.kind = TRACE_OPERATOR, .name = "custom::op", .start = 40, .duration = 30, .thread = 1},
      {.kind = TRACE_RUNTIME, .name = "cudaLaunchKernel", .start = 60, .duration = 10, .thread = 1, .correlation = 2},
      {.kind = TRACE_KERNEL, .name = "sgemm", .start = 72, .duration = 18, .thread = 7, .correlation = 2},
      {.kind = TRACE_KERNEL, .name = "old", .start = 15, .duration = 4, .thread = 7, .correlation = 99}};
  static const struct {
    enum account_state state;
    int64_t ns, path_ns;
  } wanted[] = {{STATE_COMPUTE + WORK_MATRIX, 34, 18},
                {STATE_OPERATOR, 20, 20},
                {STATE_LAUNCH, 10, 10},
                {STATE_LATENCY, 2, 2},
                {STATE_COMMUNICATION, 0, 0}};
  struct timeline t;
  struct account a;
  struct account_options options = {.threshold_ns = 5};
  timeline_init(&t, false);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) add(&t, &all[i]);
  timeline_finish(&t);
  CHECK_INT(t.n_orphans, 1);
  account_run(&t, 0, &options, &a);
  CHECK_INT(a.from_ns, 24); /* the orphan does not open the window */
  CHECK_INT(a.wall_ns, 66);
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    CHECK_INT(a.states[wanted[i].state], wanted[i].ns);
    CHECK_INT(a.path_ns[wanted[i].state], wanted[i].path_ns);
  }
  CHECK_INT(a.n_queue_empty, 2);
  CHECK_NEAR((double)histogram_quantile(&a.kernels, 0.5), 18, 2);
  account_release(&a);
  options.threshold_ns = 1; /* now a nanosecond of the latency is beyond it */
  account_run(&t, 0, &options, &a);
  CHECK_INT(a.states[STATE_LATENCY], 1);
  CHECK_INT(a.states[STATE_QUEUED], 1);
  CHECK_INT(account_unexplained(&a), 1);
  account_release(&a);
  timeline_release(&t);
}

static void check_classes(void) {
  static const struct {
    enum trace_kind kind;
    const char *name;
    enum work_class work;
  } rows[] = {{TRACE_KERNEL, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", WORK_COMMUNICATION},
              {TRACE_KERNEL, "void rcclGenericKernel<1>(args)", WORK_COMMUNICATION},
              {TRACE_KERNEL, "void vllm::cross_device_reduce_1stage<bf16, 2>", WORK_COMMUNICATION},
              {TRACE_KERNEL, "nvjet_tst_192x192_64x4", WORK_MATRIX},
              {TRACE_KERNEL, "Cijk_Alik_Bljk_BBS_BH", WORK_MATRIX},
              {TRACE_KERNEL, "volta_scudnn_128x64_relu_medium_nn_v1", WORK_CONVOLUTION},
              {TRACE_KERNEL, "void flash::flash_fwd_kernel<traits>", WORK_ATTENTION},
              {TRACE_KERNEL, "SyncBatchNorm_kernel", WORK_NORMALISATION}, /* neither a synchronisation ... */
              {TRACE_KERNEL, "convert_fp8_kernel", WORK_CONVERSION},      /* ... nor a convolution */
              {TRACE_KERNEL, "my_own_kernel", WORK_UNKNOWN},
              {TRACE_COPY, "Memcpy DtoH (Device -> Pageable)", WORK_COPY},
              {TRACE_RUNTIME, "cudaStreamWaitEvent", WORK_OTHER_CALL}, /* the stream waits, not the host */
              {TRACE_RUNTIME, "hipGraphLaunch", WORK_LAUNCH},
              {TRACE_RUNTIME, "cudaStreamSynchronize_v3020", WORK_SYNCHRONISE},
              {TRACE_OPERATOR, "aten::addmm", WORK_MATRIX},
              {TRACE_OPERATOR, "aten::topk", WORK_SAMPLING}, /* not aten::to */
              {TRACE_OPERATOR, "aten::to", WORK_UNKNOWN},    /* it may do nothing */
              {TRACE_OPERATOR, "aten::_to_copy", WORK_CONVERSION},
              {TRACE_OPERATOR, "aten::reshape", WORK_UNKNOWN}, /* a view */
              {TRACE_OPERATOR, "autograd::engine::evaluate_function: AddmmBackward0", WORK_MATRIX},
              {TRACE_OPERATOR, "Expand", WORK_LAYOUT},
              {TRACE_OPERATOR, "Exp", WORK_ELEMENTWISE},
              {TRACE_KERNEL, "sm86_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize", WORK_CONVOLUTION},
              {TRACE_KERNEL, "sm50_xmma_pooling_fw_4d_kMAX", WORK_REDUCTION},
              {TRACE_KERNEL, "aclnnMm_TransData_TransData", WORK_LAYOUT},
              {TRACE_KERNEL, "Conv2DBackpropFilter6_MemSet", WORK_SET},
              {TRACE_KERNEL, "aclnnDivs_RealDivAiCore_RealDiv", WORK_ELEMENTWISE},
              {TRACE_RUNTIME, "AscendCL@aclnnMmGetWorkspaceSize", WORK_OTHER_CALL},
              {TRACE_RUNTIME, "AscendCL@aclnnMm", WORK_LAUNCH},
              {TRACE_RUNTIME, "AscendCL@aclopCompileAndExecute", WORK_COMPILE},
              {TRACE_RUNTIME, "cudaMemsetAsync", WORK_OTHER_CALL},
              {TRACE_RUNTIME, "cudaMemcpyAsync", WORK_COPY_CALL},
              {TRACE_KERNEL, "void flashinfer::norm::RMSNormKernel<8>", WORK_NORMALISATION},
              {TRACE_KERNEL, "vllm::rotary_embedding_kernel", WORK_ELEMENTWISE},
              {TRACE_PYTHON, "torch/_dynamo/eval_frame.py(700): __call__", WORK_UNKNOWN}}; /* around compiled code, not compiling */
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    CHECK_TEXT(work_class_text(work_class_of(rows[i].kind, bytes_of(rows[i].name), bytes_of(""))), work_class_text(rows[i].work));
}

/* The document names every state and every finding. */
static void check_document(void) {
  struct root root = {""};
  struct buffer text;
  buffer_init(&text, 1 << 20);
  CHECK(root_read(&root, RECORDED "/../../docs/attribution.md", &text, NULL) == LYNX_OK);
  for (int i = 0; i < STATE_COUNT; i++) CHECK_CONTAINS(text.data, account_state_id((enum account_state)i));
  for (size_t i = 0; rules_all[i] != NULL; i++) {
    CHECK_CONTAINS(text.data, rules_all[i]->name);
    if (rules_all[i]->needs != NEEDS_TRACE) continue; /* some of these say it as they apply */
    CHECK(rules_all[i]->threshold[0] != 0 && rules_all[i]->found.title[0] != 0 && rules_all[i]->found.next[0] != 0 &&
          rules_all[i]->found.confirm[0] != 0 && rules_all[i]->found.open[0] != 0 && rules_all[i]->found.contributing != 0);
  }
  for (size_t i = 0; trace_readers[i] != NULL; i++) CHECK_CONTAINS(text.data, trace_readers[i]->name);
  buffer_release(&text);
}

int main(void) {
  struct random_stream random;
  random_init(&random, 5, "timelines");
  for (int i = 0; i < 2000; i++) check_random(&random);
  check_by_hand();
  check_classes();
  check_document();
  return check_end();
}
