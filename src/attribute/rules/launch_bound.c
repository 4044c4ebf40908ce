/* Kernels so short that launching them takes longer: the device waits for the next launch call. */
#include <stdio.h>

#include "attribute/rule.h"

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  double share = state_share(a, STATE_LAUNCH, STATE_LAUNCH) + state_share(a, STATE_LATENCY, STATE_LATENCY);
  int64_t kernel = histogram_quantile(&a->kernels, 0.5), launch = histogram_quantile(&a->launches, 0.5);
  if (a->device < 0 || a->launches.n < 20 || share < 0.1) return false;
  if (kernel > launch + a->threshold_ns) return false;             /* long enough to hide the next launch */
  if (a->launches.sum / a->launches.n > 10 * launch) return false; /* a few that took long, and not their number */
  ret->share = share;
  ret->bounded = true;
  ret->bound = share;
  ret->bound_holds = "of this window, if what the device does stays as it is: these states would at best vanish";
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%lld launches; the median kernel takes %.1f us, the median launch call %.1f us; %lld launches (%.0f %%) met an idle "
                 "device with an empty "
                 "queue; launching and its latency take %.1f %% of the window",
                 (long long)a->launches.n, (double)kernel / 1e3, (double)launch / 1e3, (long long)a->n_queue_empty,
                 100.0 * (double)a->n_queue_empty / (double)a->launches.n, 100 * share);
  return true;
}

const struct rule rule_launch_bound;
const struct rule rule_launch_bound = {
    .name = "launch_bound",
    .summary = "short kernels, one launch call each",
    .threshold =
        "launch calls and their latency claim 10 % of the window, and the median kernel is no longer than the median launch call and "
        "the device's own latency; the mean launch call takes at most ten times the median one: our choice, after the launch statistics of "
        "HolisticTraceAnalysis",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "bound by launching kernels",
        .symptom = LAYER_ACCELERATOR,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_SYSTEM),
        .open = "whether the launches are many because the batch is small, because operators are not fused, or because the driver is slow",
        .next = "capture the step as a graph (CUDA graphs, HIP graphs), compile to fuse operators, or enlarge the batch",
        .confirm = "capture a graph, or double the batch: throughput that nearly doubles confirms it"}};
