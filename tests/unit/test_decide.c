/* Upgrades as text, the bounds of systems whose gain is known exactly, and when nothing may be decided. */
#include "decide/upgrade_judgement.h"

#include <math.h>
#include <string.h>

#include "experiment/perturber_table.h"
#include "tests/check.h"

static void check_text_of(void) {
  struct upgrade u;
  char why[800], text[400];
  CHECK(upgrade_parse(" memory.bandwidth x1.43,memory.capacity 141GB, arithmetic.bf16 x2 ", &u, why, sizeof why));
  CHECK_INT(u.n, 3);
  CHECK_NEAR(u.parts[0].factor, 1.43, 1e-12);
  CHECK(isnan(u.parts[1].factor));
  CHECK_TEXT(u.parts[2].type, "bf16");
  CHECK_TEXT(upgrade_text(&u, text, sizeof text), "memory.bandwidth x1.43, memory.capacity 141GB, arithmetic.bf16 x2");
  static const struct {
    const char *text, *says;
  } bad[] = {{"", "found the resource ''"},
             {"memory.bandwith x2", "found the resource 'memory.bandwith'; accepted: memory.bandwidth"},
             {"memory.bandwidth 2", "memory.bandwidth: found '2'; accepted: a factor as x1.43"},
             {"memory.bandwidth 141GB", "found '141GB'"},
             {"memory.bandwidth x0", "found 'x0'"},
             {"memory.bandwidth x-1", "found 'x-1'"},
             {"memory.bandwidth xnan", "found 'xnan'"},
             {"memory.bandwidth x1e9", "found 'x1e9'"},
             {"memory.bandwidth", "found ''"},
             {"memory.bandwidth x2,", "found the resource ''"},
             {"memory.bandwidth x2, memory.bandwidth x3", "'memory.bandwidth' is there twice"},
             {"memory.capacity -3GB", "or its new size as 141GB"},
             {"arithmetic x2", "found the resource 'arithmetic'"},
             {"arithmetic. x2", "found the resource 'arithmetic.'"},
             {"arithmetic.b\033f x2", "accepted"}};
  for (size_t i = 0; i < LYNX_COUNT(bad); i++) {
    CHECK(!upgrade_parse(bad[i].text, &u, why, sizeof why));
    CHECK_CONTAINS(why, bad[i].says);
  }
}

static void check_devices(void) {
  struct upgrade u;
  const struct device *h100 = device_find("h100 sxm"), *h200 = device_find("H200-SXM");
  CHECK(h100 != NULL && h200 != NULL && device_find("H300") == NULL && device_find("") == NULL);
  device_upgrade(h100, h200, &u);
  for (size_t i = 0; i < u.n; i++) {
    if (strcmp(u.parts[i].resource->name, "memory.bandwidth") == 0) CHECK_NEAR(u.parts[i].factor, 4.8 / 3.35, 1e-12);
    if (strcmp(u.parts[i].type, "bf16") == 0) CHECK_NEAR(u.parts[i].factor, 1, 1e-12);
  }
  CHECK_INT(u.n, 5); /* bf16, fp8, int8, bandwidth, capacity: neither has fp4, and power is no speed */
  CHECK(device_is(h100, "NVIDIA H100 80GB HBM3") && device_is(h200, "NVIDIA H200") && !device_is(h200, "NVIDIA GH200 480GB"));
  CHECK(device_is(device_find("L4"), "NVIDIA L4") && !device_is(device_find("L4"), "NVIDIA L40S"));
  CHECK(device_is(device_find("A10"), "NVIDIA A10") && !device_is(device_find("A10"), "NVIDIA A100-SXM4-80GB"));
  CHECK(device_is(device_find("RTX-4090"), "NVIDIA GeForce RTX 4090") && !device_is(device_find("RTX-4090"), "NVIDIA RTX 6000"));
  CHECK(!device_is(h100, "NVIDIA H100 PCIe") && device_is(device_find("H100-PCIe"), "NVIDIA H100 PCIe") &&
        !device_is(h200, "NVIDIA H200 NVL"));
  CHECK(!device_is(device_find("A100-40GB-SXM"), "NVIDIA A100-SXM4-80GB") && device_is(device_find("L4"), "NVIDIA L4 PCIe"));
  CHECK(!device_is(device_find("RTX-PRO-6000-S"), "Quadro RTX 6000"));
  CHECK(device_is(device_find("MI300X"), "AMD Instinct MI300X") && !device_is(device_find("T4"), "AMD EPYC 7763 64-Core Processor"));
  for (size_t i = 0; i < n_devices; i++) {
    CHECK(device_find(devices[i].name) == &devices[i]); /* no two have the same name */
    CHECK(devices[i].of[DEVICE_BANDWIDTH] > 0.1 && devices[i].of[DEVICE_BANDWIDTH] < 20);
    CHECK(devices[i].of[DEVICE_CAPACITY] >= 16 && devices[i].of[DEVICE_CAPACITY] < 1000);
  }
}

/* E by a level s of systems whose time T(s) is known, and their gain where the resource is twice as fast. */
static void check_bounds(void) {
  static const struct {
    double e[2], gain, serial, concave;
    bool convex;
  } systems[] = {{{0.5, 0.5}, 4 / 3.0, 4 / 3.0, 1.5238, true},      /* serial, a share of one half */
                 {{1, 1}, 1, 2, 2, true},                           /* max(1, s) */
                 {{1, 1}, 1.25, 2, 2, true},                        /* max(0.8, s) */
                 {{0.4739, 0.4167}, 1.5, 1.3107, 1.5, false},       /* two workers of one queue: 1/T = 1 + 1/s */
                 {{0.4297, 0.4857}, 1.0526, 1.2736, 1.4553, true}}; /* 0.7 s + 0.3 / s */
  for (size_t i = 0; i < LYNX_COUNT(systems); i++) {
    const struct resource_bound one = {systems[i].e[0], 1.11, 2};
    double serial = bound_serial(&one, 1), concave = bound_concave(&one, 1);
    CHECK_NEAR(serial, systems[i].serial, 2e-3);
    CHECK_NEAR(concave, systems[i].concave, 6e-3);
    CHECK(concave >= systems[i].gain - 6e-3 && concave >= serial - 1e-9);
    CHECK(serial >= systems[i].gain - 1e-9 || !systems[i].convex);
  }
  /* Exact mean-value analysis, D = 0.2, 1, 0.4, the second made twice as fast; E is from s = 1.1. */
  static const double elasticity[] = {0.625, 0.763, 0.929, 0.997, 1}, gain[] = {1.4545, 1.5572, 1.7290, 1.9054, 1.9861},
                      serial[] = {1.4545, 1.6174, 1.8667, 1.9932, 2};
  for (size_t i = 0; i < LYNX_COUNT(gain); i++) {
    const struct resource_bound one = {elasticity[i], 1.1, 2};
    CHECK_NEAR(bound_serial(&one, 1), serial[i], 3e-3);
    CHECK(bound_serial(&one, 1) >= gain[i] - 3e-3);
  }
  const struct resource_bound two[] = {{0.5, 1.4, 2}, {0.25, 1.4, 1.5}};
  CHECK_NEAR(bound_serial(two, 2), 1 / (1 - 0.25 - 0.25 / 3), 1e-12);
  CHECK_NEAR(bound_concave(two, 2), 1 + 0.7 / 1.2 + 0.5 * 0.35 / 1.1, 1e-12);
  CHECK_NEAR(bound_factor(two, 2), 2, 0);
  const struct resource_bound ties[] = {{0.8, 1.4, 3}, {0.9, 1.4, 3}};
  CHECK(isinf(bound_serial(ties, 2)));
  CHECK_NEAR(bound_elasticity_at(bound_concave(&(struct resource_bound){0.41, 1.4, 1.43}, 1), 1.4, 1.43), 0.41, 1e-12);
  CHECK(isnan(bound_elasticity_at(1.5, 1.4, 1.43)));
}

/* --- judgements --- */

static struct sensitivities measured;
static const char *on = "Intel Xeon"; /* what the run was on */

static void measure(const char *perturber, const char *target, double estimate, double half) {
  struct sensitivity *s = &measured.items[measured.n++];
  *s = (struct sensitivity){.perturber = perturber_find(perturber, strlen(perturber)), .n_blocks = 20, .n_levels = 2};
  (void)snprintf(s->target, sizeof s->target, "%s", target);
  s->of[RESPONSE_THROUGHPUT] = (struct slope){estimate, estimate - half, estimate + half, half / 2, 10, 10, true};
  s->smaller = s->of[RESPONSE_THROUGHPUT];
  s->levels[0] = (struct sensitivity_level){.asked = 1.11, .given = 1.11};
  s->levels[1] = (struct sensitivity_level){.asked = 1.4, .given = 1.4};
  measured.n_blocks += 20;
}

static struct upgrade_judgement judge(const char *text, const char *from, const char *to, const char *executed, double wanted) {
  static struct upgrade u; /* judgements point into it */
  struct upgrade_judgement j;
  char why[800];
  struct upgrade_question q = {.upgrade = &u, .accelerator = on, .on_processor = on[0] == 'I', .executed = executed, .wanted = wanted};
  if (text != NULL) CHECK(upgrade_parse(text, &u, why, sizeof why));
  else {
    q.from = device_find(from);
    q.to = device_find(to);
    device_upgrade(q.from, q.to, &u);
  }
  upgrade_judge(&q, &measured, &j);
  return j;
}

static void check_doubt(const struct upgrade_judgement *j, enum doubt_kind wanted) {
  CHECK_INT(j->decision, DECISION_CANNOT_DECIDE);
  CHECK(j->n_doubts > 0);
  CHECK_INT(j->doubts[0].kind, wanted);
}

/* The host's memory and processors say nothing of a device's; types have several names. */
static void check_on_a_device(void) {
  struct upgrade_judgement j = judge("memory.bandwidth x1.43", NULL, NULL, "bf16", 1.1);
  check_doubt(&j, DOUBT_UNPROBED);
  measured.n = 0;
  measure("processor", "processor: python3", 0.02, 0.01);
  j = judge("arithmetic.bf16 x2", NULL, NULL, "bf16", 1.1);
  check_doubt(&j, DOUBT_UNPROBED);
  measure("gpu", "gpu: 0", 0.95, 0.02);
  j = judge("memory.bandwidth x1.43", NULL, NULL, "bf16", 1.1);
  check_doubt(&j, DOUBT_ONLY_A_TRIAL);
  static const char *const stated[] = {"bf16", "fp16", "float16", "bfloat16", "fp8_e4m3", "", "not stated by the executor"};
  for (size_t i = 0; i < LYNX_COUNT(stated); i++) {
    char type[UPGRADE_TEXT];
    on = "NVIDIA H100 PCIe";
    j = judge(NULL, "H100-PCIe", "H100-SXM", upgrade_type(stated[i], type, sizeof type), 1.1);
    check_doubt(&j, DOUBT_ONLY_A_TRIAL); /* x1.31 of arithmetic, and more of bandwidth */
    CHECK(j.factor > 1.3);
  }
  on = "NVIDIA H100 80GB HBM3";
  measure("gpu", "gpu: 1", 0.5, 0.02); /* each of two */
  j = judge("gpu x1.43", NULL, NULL, "bf16", 1.1);
  CHECK_INT(j.parts[0].n, 2);
  on = "Intel Xeon";
}

/* Workers of one queue, in two processes: X = 1 + 0.32 (v1 - 1) + 0.32 (v2 - 1). Each is slowed by itself; both become faster. */
static void check_processes(void) {
  measured = (struct sensitivities){0};
  double s = 1.43, e = (1 / (1 + 0.32 * (1 / s - 1)) - 1) / (s - 1);
  measure("processor", "processor: a", e, 1e-6);
  measure("processor", "processor: b", e, 1e-6);
  for (int i = 0; i < 2; i++) measured.items[i].levels[1].given = s;
  struct upgrade_judgement j = judge("host.clock x2", NULL, NULL, "", 1.6);
  CHECK(j.upper >= 1.64 - 1e-4 && j.decision == DECISION_CANNOT_DECIDE);
  measured.items[1].curvature = (struct slope){-0.35, -0.4, -0.3, 0.02, 10, 10, true};
  j = judge("host.clock x2", NULL, NULL, "", 1.6);
  CHECK(j.parts[0].falls);
}

/* A latency that waits in a queue gains more than the factor: M/M/1 at 0.9, 1.3 times as fast: 4 times. */
static void check_queue(void) {
  measured = (struct sensitivities){.open_load = true};
  double s = 1.05, e = (0.1 * s / (1 - 0.9 * s) - 1) / (s - 1);
  measure("processor", "processor: a", 0, 0.1);
  measured.items[0].of[RESPONSE_END_TO_END] = (struct slope){e, e, e, 1e-6, 10, 10, true};
  measured.items[0].levels[0].given = measured.items[0].levels[1].given = s;
  struct upgrade_judgement j = judge("host.clock x1.3", NULL, NULL, "", 1.5);
  CHECK_INT(j.decision, DECISION_CANNOT_DECIDE);
  CHECK_NEAR(j.upper, 4, 1e-6);
  j = judge("disk x1.3", NULL, NULL, "", 1.5);
  CHECK(isinf(j.upper) && j.decision == DECISION_CANNOT_DECIDE);
}

static void check_judgements(void) {
  measured = (struct sensitivities){0};
  measure("memory", "memory: traffic", 0.1, 0.05);
  measure("processor", "processor: python3", 0.8, 0.1);
  measure("function", "function: encode (/srv/app.py:188)", 0.6, 0.1);
  struct upgrade_judgement j = judge("memory.bandwidth x1.43", NULL, NULL, "", 1.1);
  CHECK_INT(j.decision, DECISION_DOES_NOT_HELP); /* at most 1 + 0.43 * 0.15 * 1.4 / 1.06 */
  CHECK_NEAR(j.upper, 1 + 0.43 * 0.15 * 1.4 / 1.06, 1e-12);
  CHECK(j.serial < j.concave && j.estimate < j.serial);
  CHECK_TEXT(j.next != NULL ? j.next->target : NULL, "processor: python3");
  CHECK_INT(j.n_alternatives, 2);
  CHECK_TEXT(j.alternatives[0]->target, "function: encode (/srv/app.py:188)");
  j = judge("memory.bandwidth x1.05", NULL, NULL, "", 1.1); /* by its ratio alone */
  CHECK_INT(j.decision, DECISION_DOES_NOT_HELP);
  j = judge("link.host x1.05", NULL, NULL, "", 1.1);
  CHECK_INT(j.decision, DECISION_DOES_NOT_HELP);
  j = judge("link.host x2", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_NO_PERTURBER);
  j = judge("host.cores x1.05", NULL, NULL, "", 1.1); /* a round fewer may gain more than that */
  check_doubt(&j, DOUBT_STEPS);
  j = judge("power.cap x1.05", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_STEPS);
  j = judge("disk x2", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_UNPROBED);
  j = judge("host.clock x2", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_ONLY_A_TRIAL);
  CHECK_NEAR(j.upper, fmin(2, 1 + 0.9 * 1.4 / 1.36), 1e-12);
  CHECK(j.next == NULL || strcmp(j.next->target, "memory: traffic") == 0); /* its own function is no next limit */
  j = judge("memory.bandwidth x1.43, memory.capacity x1.76", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_CAPACITY);
  CHECK(isinf(j.upper));
  j = judge("memory.bandwidth x1.43, memory.capacity x0.9", NULL, NULL, "", 1.1);
  CHECK_INT(j.decision, DECISION_DOES_NOT_HELP);
  j = judge("memory.bandwidth x1.43", NULL, NULL, "", 1.06); /* an interval on both sides: twice as narrow would do it, or so */
  check_doubt(&j, DOUBT_WIDE);
  CHECK(j.doubts[0].times > 1);
  j = judge("arithmetic.fp8 x2", NULL, NULL, "bf16", 1.1); /* another type than was executed */
  check_doubt(&j, DOUBT_OTHER_CODE);
  j = judge("arithmetic.bf16 x2", NULL, NULL, "bf16", 1.1);
  check_doubt(&j, DOUBT_ONLY_A_TRIAL);
  on = "NVIDIA H100 80GB HBM3";
  j = judge(NULL, "A100-80GB-SXM", "H100-SXM", "bf16", 1.1);
  check_doubt(&j, DOUBT_OTHER_DEVICE);
  j = judge(NULL, "H100-SXM", "B200-SXM", "bf16", 1.1);
  check_doubt(&j, DOUBT_OTHER_CODE);
  j = judge(NULL, "H100-SXM", "H200-SXM", "bf16", 1.1);
  check_doubt(&j, DOUBT_CAPACITY);
  check_on_a_device();
}

/* What was not bounded, or waits in a loop, says nothing; what falls is judged by its smaller level. */
static void check_what_says_nothing(void) {
  measured = (struct sensitivities){0};
  measure("memory", "memory: traffic", 0.1, 0.05);
  measured.items[0].of[RESPONSE_THROUGHPUT].bounded = false;
  struct upgrade_judgement j = judge("memory.bandwidth x1.43", NULL, NULL, "", 1.1);
  check_doubt(&j, DOUBT_UNBOUNDED);
  measured.items[0].of[RESPONSE_THROUGHPUT] = (struct slope){9, 8, 10, 0.5, 10, 10, true};
  measured.items[0].smaller = measured.items[0].of[RESPONSE_THROUGHPUT];
  measured.items[0].perturber = perturber_find("gpu", 3);
  on = "NVIDIA H100 80GB HBM3";
  j = judge("gpu x1.43", NULL, NULL, "", 1.1);
  CHECK_INT(j.decision, DECISION_CANNOT_DECIDE);
  on = "Intel Xeon";
  measured = (struct sensitivities){0};
  measure("memory", "memory: traffic", 0.05, 0.01);
  measured.items[0].smaller = (struct slope){0.4, 0.3, 0.5, 0.05, 10, 10, true};
  measured.items[0].curvature = (struct slope){-0.35, -0.4, -0.3, 0.02, 10, 10, true};
  j = judge("memory.bandwidth x1.43", NULL, NULL, "", 1.1);
  CHECK(j.parts[0].falls);
  CHECK_NEAR(j.upper, 1 + 0.43 * 0.5 * 1.11 / (1 + 0.5 * 0.11), 1e-12);
  CHECK_INT(j.decision, DECISION_CANNOT_DECIDE);
  measured = (struct sensitivities){.open_load = true};
  measure("memory", "memory: traffic", 0, 0.01);
  measured.items[0].of[RESPONSE_END_TO_END] = (struct slope){0.05, 0.02, 0.08, 0.01, 10, 10, true};
  j = judge("memory.bandwidth x1.43", NULL, NULL, "", 1.1);
  CHECK_INT(j.figure, RESPONSE_END_TO_END);
  CHECK_NEAR(j.upper, 1 + 0.43 * 0.08 * 1.4 / (1 + 0.08 * 0.4), 1e-12);
}

int main(void) {
  check_text_of();
  check_devices();
  check_bounds();
  check_judgements();
  check_what_says_nothing();
  check_processes();
  check_queue();
  return check_end();
}
