/* What `confirm` tries of a finding, and by what it decides. */
#include "experiment/confirm.h"

#include <math.h>
#include <string.h>

#include "experiment/perturber_table.h"
#include "tests/check.h"

static struct finding finding_of(const char *perturber, double share) {
  struct finding f = {.id = "x", .perturber = perturber, .share = share};
  (void)strcpy(f.named, "encode (/srv/app.py:188)");
  return f;
}

/* What the greater level makes of the whole time, if the share is what it costs. */
static double slowed_by(const struct confirm_plan *plan, double share) {
  const struct perturber *own = perturber_find(plan->perturbers[0], strlen(plan->perturbers[0]));
  return 1 + share * (own->levels[1] - 1) * plan->stretch;
}

/* Small shares are slowed by more, so that each has about the same effect on the whole; great ones as always. */
static void check_levels(void) {
  static const double shares[] = {0.04, 0.05, 0.1, 0.2};
  struct confirm_plan plan;
  char why[600];
  for (size_t i = 0; i < LYNX_COUNT(shares); i++) {
    struct finding f = finding_of("function", shares[i]);
    CHECK(confirm_plan_make(&f, true, NULL, &plan, why, sizeof why));
    CHECK_NEAR(plan.threshold, shares[i] / 3, 1e-12);
    CHECK_NEAR(slowed_by(&plan, shares[i]), 1.3, 1e-12);
  }
  struct finding great = finding_of("function", 0.8), none = finding_of("function", 0);
  CHECK(confirm_plan_make(&great, true, NULL, &plan, why, sizeof why));
  CHECK_NEAR(plan.stretch, 1, 0);
  CHECK(confirm_plan_make(&none, true, NULL, &plan, why, sizeof why)); /* a share that is not known decides nothing by itself */
  CHECK_NEAR(plan.threshold, 0.01, 1e-12);
  CHECK_NEAR(1 + (2.5 - 1) * plan.stretch, 10, 1e-12);
}

/* Of a sleep only the named function's; of a setting none where none is named. */
static void check_named(void) {
  struct confirm_plan plan;
  char why[600];
  struct finding sleeps = finding_of("function", 0.5), setting = finding_of("setting", 0.5);
  sleeps.slowed = "time.sleep";
  CHECK(confirm_plan_make(&sleeps, true, NULL, &plan, why, sizeof why));
  CHECK_TEXT(plan.function, "time.sleep in encode (/srv/app.py:188)");
  sleeps.named[0] = 0;
  CHECK(confirm_plan_make(&sleeps, true, NULL, &plan, why, sizeof why));
  CHECK_TEXT(plan.function, "time.sleep");
  setting.named[0] = 0;
  CHECK(!confirm_is_possible(&setting, true));
  (void)snprintf(setting.named, sizeof setting.named, "OMP_NUM_THREADS=4");
  CHECK(confirm_is_possible(&setting, true) && !confirm_is_possible(&setting, false));
  setting.confirm_by = " --contract STARTS-IT.yaml";
  CHECK(confirm_is_possible(&setting, false));
}

/* What cannot be asked more of is asked what it always is, and what is no share has its own threshold. */
static void check_others(void) {
  struct confirm_plan plan;
  char why[600];
  struct finding disk = finding_of("disk", 0.06), process = finding_of("processor", 0.06), away = finding_of("affinity", 0.06);
  CHECK(confirm_plan_make(&disk, true, NULL, &plan, why, sizeof why));
  CHECK_NEAR(plan.stretch, 0, 0);
  CHECK_NEAR(plan.threshold, 0.02, 1e-12);
  CHECK(confirm_plan_make(&process, true, NULL, &plan, why, sizeof why));
  CHECK_NEAR(plan.threshold, 0.25, 1e-12);
  CHECK(plan.by_process);
  CHECK(confirm_plan_make(&away, true, NULL, &plan, why, sizeof why));
  CHECK_NEAR(plan.threshold, log(1.05), 1e-9);
}

static void check_decisions(void) {
  const struct confirm_plan plan = {.threshold = 0.1};
  struct slope effect = {.estimate = 0.2, .low = 0.11, .high = 0.29, .bounded = true};
  CHECK_INT(confirm_decide(&plan, &effect), CONFIRM_CONFIRMED);
  effect.low = 0.09;
  CHECK_INT(confirm_decide(&plan, &effect), CONFIRM_INCONCLUSIVE);
  effect.low = -0.3, effect.high = 0.09;
  CHECK_INT(confirm_decide(&plan, &effect), CONFIRM_REFUTED);
  effect.bounded = false;
  CHECK_INT(confirm_decide(&plan, &effect), CONFIRM_INCONCLUSIVE);
}

/* What somebody else names as the remedy says nothing of the finding itself. */
static void check_remedy(void) {
  static const struct finding finding = {.id = "few_threads"};
  struct confirm_plan plan;
  struct sensitivities all = {.n = 1};
  struct sensitivity *s = &all.items[0];
  char why[200];
  CHECK(confirm_plan_make(&finding, true, "REMEDY=off", &plan, why, sizeof why));
  CHECK(!confirm_plan_make(&finding, false, "REMEDY=off", &plan, why, sizeof why));
  *s = (struct sensitivity){.target = "setting: with REMEDY=off", .perturber = perturber_find("setting", 7)};
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.08, .low = 0.07, .high = 0.1, .bounded = true};
  CHECK_TEXT(confirm_verdict_text(confirm_judge(&plan, &all, NULL, 0).verdict), "remedied");
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0, .low = -0.01, .high = 0.01, .bounded = true};
  CHECK_TEXT(confirm_verdict_text(confirm_judge(&plan, &all, NULL, 0).verdict), "not remedied");
}

/* Off the critical path until it is slowed by much: the greater level alone would confirm it. */
static void check_bent(void) {
  const struct confirm_plan plan = {.perturbers = {"function"}, .threshold = 0.02};
  struct sensitivities all = {.n = 1};
  struct sensitivity *s = &all.items[0];
  *s = (struct sensitivity){.target = "function: encode", .perturber = perturber_find("function", 8)};
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.06, .low = 0.05, .high = 0.07, .bounded = true};
  s->smaller = (struct slope){.estimate = 0, .low = -0.01, .high = 0.01, .bounded = true};
  s->curvature = (struct slope){.estimate = 0.08, .low = -0.01, .high = 0.17, .bounded = true};
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_CONFIRMED);
  s->curvature.low = 0.05;
  struct confirmation c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_REFUTED);
  CHECK(c.by_smaller);
  CHECK_NEAR(c.effect.high, 0.01, 0);
}

/* Who holds a lock all the time holds no more of it when he is slower: that costs the others nothing, and refutes nothing. */
static void check_saturated(void) {
  struct finding hog = finding_of("function", 0.95);
  const struct confirm_plan plan = {.finding = &hog, .perturbers = {"function"}, .threshold = 0.3};
  struct sensitivities all = {.n = 1};
  struct sensitivity *s = &all.items[0];
  *s = (struct sensitivity){.target = "function: encode", .perturber = perturber_find("function", 8)};
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.1, .low = 0, .high = 0.2, .bounded = true};
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_REFUTED); /* another finding */
  hog.id = "interpreter_lock";
  struct confirmation c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_INCONCLUSIVE);
  CHECK(c.saturated);
  hog.share = 0.5;
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_REFUTED);
  hog.share = 0.95;
  s->of[RESPONSE_THROUGHPUT].low = 0.5, s->of[RESPONSE_THROUGHPUT].high = 0.9;
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_CONFIRMED);
}

/* No function has far more than all of the time: it waits for who waits for it. Of rivals that may be. */
static void check_spinning(void) {
  struct confirm_plan plan = {.perturbers = {"function"}, .threshold = 0.1};
  struct sensitivities all = {.n = 1};
  all.items[0] = (struct sensitivity){.target = "function: acquire_read", .perturber = perturber_find("function", 8)};
  struct slope *e = &all.items[0].of[RESPONSE_THROUGHPUT];
  *e = (struct slope){.estimate = 21.5, .low = 14.9, .high = 28.2, .bounded = true};
  struct confirmation c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_INCONCLUSIVE);
  CHECK(c.impossible);
  e->low = 3.9;
  c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_CONFIRMED);
  CHECK(!c.impossible);
  e->low = 4.1;
  all.items[0].smaller = (struct slope){.estimate = 0.5, .low = 0.42, .high = 0.58, .bounded = true};
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_CONFIRMED); /* the smaller level says what it costs */
  all.items[0].smaller.bounded = false;
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_INCONCLUSIVE);
  all.items[0].perturber = perturber_find("contention", 10);
  plan.perturbers[0] = "contention";
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_CONFIRMED);
}

/* 40 % of independent streams become faster by a tenth: 4 % more. Of work one after another less is gained. */
static void check_gain(void) {
  struct sensitivity streams = {.n_levels = 1, .levels = {{.given = 1.5}}};
  double time = 1 / (0.6 + 0.4 / 1.5), elasticity = (time - 1) / 0.5;
  CHECK_NEAR(sensitivity_gain_at_most(&streams, elasticity), 0.04, 1e-12);
  CHECK(sensitivity_gain_at_most(&streams, 0.4) > 1 / (0.6 + 0.4 / 1.1) - 1);
}

/* A whole process that was slowed in place of code in it confirms nothing of that code; that it costs nothing refutes it. */
static void check_whole_process(void) {
  struct finding f = finding_of("function", 0.5);
  struct confirm_plan plan;
  struct sensitivities all = {.n = 1};
  struct sensitivity *s = &all.items[0];
  char why[600];
  f.otherwise = "processor";
  CHECK(confirm_plan_make(&f, false, NULL, &plan, why, sizeof why));
  CHECK(plan.by_whole && plan.function == NULL && plan.instead != NULL);
  *s = (struct sensitivity){.target = "processor: python3", .perturber = perturber_find("processor", 9)};
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.9, .low = 0.8, .high = 1, .bounded = true};
  struct confirmation c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_INCONCLUSIVE);
  CHECK(c.of_process && !c.absent);
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.1, .low = 0, .high = 0.2, .bounded = true};
  c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_REFUTED);
  CHECK(!c.of_process);
  CHECK(confirm_plan_make(&f, true, NULL, &plan, why, sizeof why)); /* started by lynxbench: the function itself */
  CHECK(!plan.by_whole && plan.function != NULL);
}

/* What was slowed nowhere, since it is not there, takes no time; what could not be found tells nothing. */
static void check_absent(void) {
  struct finding f = finding_of("function", 0.5);
  struct confirm_plan plan;
  struct sensitivities none = {.n = 0};
  char why[600];
  const char *const gone[] = {"function: encode (/srv/app.py:188) " PERTURBER_GONE},
                    *const idle[] = {"function: encode (/srv/app.py:188) " PERTURBER_NOT_CALLED " while the load warmed up"},
                    *const unknown[] = {"function: encode (/srv/app.py:188) was not found: it is made again at every call"};
  CHECK(confirm_plan_make(&f, true, NULL, &plan, why, sizeof why));
  CHECK_INT(confirm_judge(&plan, &none, gone, 1).verdict, CONFIRM_REFUTED);
  CHECK_INT(confirm_judge(&plan, &none, idle, 1).verdict, CONFIRM_REFUTED);
  CHECK(confirm_judge(&plan, &none, gone, 1).absent);
  CHECK_INT(confirm_judge(&plan, &none, unknown, 1).verdict, CONFIRM_INCONCLUSIVE);
  CHECK_INT(confirm_judge(&plan, &none, NULL, 0).verdict, CONFIRM_INCONCLUSIVE);
}

/* Where undisturbed blocks differ by as much as decides, nothing does. By 1.1 at a slowness of 2: 0.1 for each percent. */
static void check_control(void) {
  struct confirm_plan plan = {.perturbers = {"function"}, .threshold = 0.1};
  struct sensitivities all = {.n = 1};
  struct sensitivity *s = &all.items[0];
  *s = (struct sensitivity){.target = "function: encode", .perturber = perturber_find("function", 8), .n_levels = 1};
  s->levels[0].given = 2;
  s->of[RESPONSE_THROUGHPUT] = (struct slope){.estimate = 0.5, .low = 0.4, .high = 0.6, .bounded = true};
  all.control = (struct slope){.estimate = 0.1, .low = 0.09, .high = 0.11, .bounded = true};
  struct confirmation c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_CONFIRMED);
  CHECK(!c.control_moved);
  all.control.low = 0.096; /* ln(1.1) is 0.0953 */
  c = confirm_judge(&plan, &all, NULL, 0);
  CHECK_INT(c.verdict, CONFIRM_INCONCLUSIVE);
  CHECK(c.control_moved);
  all.control = (struct slope){.estimate = -0.2, .low = -0.3, .high = -0.096, .bounded = true};
  CHECK(confirm_judge(&plan, &all, NULL, 0).control_moved);
  all.control.bounded = false;
  CHECK_INT(confirm_judge(&plan, &all, NULL, 0).verdict, CONFIRM_CONFIRMED);
  plan.takes_away = true; /* the threshold itself is of a ratio */
  all.control = (struct slope){.estimate = 0.1, .low = 0.099, .high = 0.11, .bounded = true};
  CHECK(!confirm_judge(&plan, &all, NULL, 0).control_moved);
}

int main(void) {
  check_levels();
  check_others();
  check_decisions();
  check_named();
  check_remedy();
  check_bent();
  check_saturated();
  check_spinning();
  check_gain();
  check_whole_process();
  check_absent();
  check_control();
  return check_end();
}
