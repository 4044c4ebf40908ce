/* Each kind of question: which words answer it, from a summary made by hand; and which kind a question is taken for. */
#include "result/question_answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/check.h"

static struct contract parse(const char *text, struct arena *arena, struct problem_list *problems) {
  struct contract c;
  CHECK(contract_parse(text, strlen(text), arena, &c, problems) == LYNX_OK);
  for (size_t i = 0; i < problems->n_items; i++)
    if (problems->items[i].kind == PROBLEM_ERROR)
      printf("%s: %s; %s\n", problems->items[i].field, problems->items[i].found, problems->items[i].accepted);
  return c;
}

#define OPEN "lynxbench: 1\nregime: {load: poisson, rate_per_s: 20}\n"
#define CLOSED "lynxbench: 1\nregime: {load: closed, concurrency: 8}\n"
#define SEARCH "lynxbench: 1\nregime: {load: saturation, rate_per_s: 20, to_per_s: 2000}\n"
#define CLIMB "lynxbench: 1\nregime: {load: climb, concurrency: 16}\n"
#define SLO "slo: [{metric: time_to_first_token, quantile: 0.99, at_most: 200ms}]\n"
#define TWO "precisions: [f32, int8]\nexecutor: {start: {command: [server, \"{precision}\"]}}\n"
#define GATE "accuracy: {text_file: t.txt, at_least_ratio: 0.99}\n" TWO

static void check_kinds(void) {
  static const struct {
    const char *text;
    enum question_kind kind;
    const char *lacks; /* NULL: nothing */
  } cases[] = {
      {OPEN, QUESTION_HOW_FAST, NULL},
      {SEARCH, QUESTION_HOW_MANY, NULL},
      {OPEN "question: How many requests a second can it sustain?\n", QUESTION_HOW_MANY, "an objective"},
      {OPEN SLO "question: How many requests a second can it sustain?\n", QUESTION_HOW_MANY, NULL},
      {CLOSED "question: How many requests a second can it sustain?\n", QUESTION_HOW_MANY, "a load that is raised"},
      {CLOSED "question: How many tokens per second do eight users get?\n", QUESTION_HOW_FAST, NULL},
      {CLOSED "question: What does a million tokens cost?\n", QUESTION_COST, "a price"},
      {CLOSED "question: What does a million tokens cost?\ncost: {price_per_hour: 2, currency: EUR}\n", QUESTION_COST, NULL},
      {CLOSED "question: Did we get the machine that we ordered?\n", QUESTION_AS_ORDERED, "what was ordered"},
      {CLOSED "question: Does the mended server answer more requests, and by how much?\n", QUESTION_BETTER, NULL},
      {CLOSED "question: What limits it?\n", QUESTION_LIMIT, NULL},
      {CLOSED "question: Which one?\n", QUESTION_WHICH, NULL},
      {CLOSED GATE "question: What does each precision cost?\n", QUESTION_PRECISION, NULL},
      {CLOSED TWO, QUESTION_WHICH, NULL},
      {CLOSED "question: Is quantisation allowed?\n", QUESTION_PRECISION, "a second precision"},
      {CLOSED "question: What does it cost?\nquestion_kind: how_fast\n", QUESTION_HOW_FAST, NULL},
  };
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    struct arena arena = {0};
    struct problem_list problems;
    const struct contract c = parse(cases[i].text, &arena, &problems);
    CHECK_INT(contract_asks(&c), cases[i].kind);
    const char *lacks = question_kind_lacks(&c, contract_asks(&c));
    bool said = false;
    if (cases[i].lacks == NULL) CHECK(lacks == NULL);
    else CHECK_CONTAINS(lacks, cases[i].lacks);
    for (size_t k = 0; k < problems.n_items; k++)
      said = said || strstr(problems.items[k].found, "which no figure of this contract") != NULL;
    CHECK(said == (cases[i].lacks != NULL)); /* lint says it */
    arena_release(&arena);
  }
}

/* A run of one or two precisions. */
static struct summary_figure figures[2][4];
static struct summary_precision precisions[2];
static struct summary_objective objective;

static struct summary make(double rate) {
  static const char *const names[] = {"f32", "int8"};
  for (size_t i = 0; i < 2; i++) {
    double x = i == 0 ? rate : 2 * rate;
    figures[i][0] = (struct summary_figure){"output throughput", "a", "tokens/s", BETTER_MORE, x, 0.98 * x, 1.02 * x, 5};
    figures[i][1] = (struct summary_figure){"request throughput", "b", "requests/s", BETTER_MORE, x / 16, 0.98 * x / 16, 1.02 * x / 16, 5};
    figures[i][2] = (struct summary_figure){"time to first token, p99", "c", "ns", BETTER_LESS, 1e8, 0.9e8, 1.1e8, 5};
    precisions[i] = (struct summary_precision){
        .name = names[i], .fingerprint = "", .figures = figures[i], .n_figures = 3, .passing = NAN, .failing = NAN, .accuracy_ratio = NAN};
  }
  objective = (struct summary_objective){METRIC_TIME_TO_FIRST_TOKEN, OBJECTIVE_HOLDS, 0.99, 2e8, 1e8, 0.9e8, 1.1e8};
  return (struct summary){.contract = "", .name = "", .precisions = precisions, .n_precisions = 1};
}

static void check_one(const char *text, const struct summary *summary, const struct summary *before, const struct answer_finding *finding,
                      enum answer_state state, const char *sentence) {
  struct arena arena = {0};
  struct problem_list problems;
  struct answer answer;
  const struct contract c = parse(text, &arena, &problems);
  answer_make(
      &(struct answer_evidence){
          .contract = &c, .summary = summary, .before = before, .interleaved = true, .finding = finding, .file = "RUN.lynx"},
      &arena, &answer);
  CHECK_TEXT(answer.sentence, sentence);
  CHECK_INT(answer.state, state);
  CHECK(state != ANSWER_NONE || answer.why[0] != 0);
  arena_release(&arena);
}

static void check_sentences(void) {
  struct summary s = make(1600);
  check_one(CLOSED, &s, NULL, NULL, ANSWER_MEASURED, "Output throughput 1,600 tokens/s [1,568, 1,632], with 8 in flight.");
  precisions[0].objectives = &objective;
  precisions[0].n_objectives = 1;
  check_one(OPEN SLO, &s, NULL, NULL, ANSWER_MEASURED,
            "It holds its objective: time to first token p99 is 100 ms (at most 200 ms), at 20 requests/s.");
  check_one(OPEN SLO "question_kind: how_many\n", &s, NULL, NULL, ANSWER_MEASURED,
            "At least the 20 requests/s that were offered: time to first token p99 is 100 ms (at most 200 ms). More was not tried.");
  objective.verdict = OBJECTIVE_FAILS;
  objective.value = 3e8;
  check_one(OPEN SLO, &s, NULL, NULL, ANSWER_MEASURED,
            "It misses its objective: time to first token p99 is 300 ms (at most 200 ms), at 20 requests/s.");
  check_one(OPEN SLO "question_kind: how_many\n", &s, NULL, NULL, ANSWER_MEASURED,
            "Less than the 20 requests/s that were offered: time to first token p99 is 300 ms (at most 200 ms).");
  check_one(OPEN SLO "targets: {optimise_for: throughput}\n", &s, NULL, NULL, ANSWER_MEASURED,
            "Output throughput 1,600 tokens/s [1,568, 1,632]; it misses its objective: time to first token p99 is 300 ms (at most 200 ms), "
            "at 20 requests/s.");
  s = make(1600);
  precisions[0].passing = 345;
  precisions[0].failing = 460;
  precisions[0].certified = true;
  check_one(SEARCH, &s, NULL, NULL, ANSWER_MEASURED, "At least 345 requests/s. 460 is too much; the limit is in between.");
  precisions[0].failing = NAN;
  check_one(SEARCH, &s, NULL, NULL, ANSWER_MEASURED, "At least 345 requests/s: the greatest load that was tried. The limit was not found.");
  precisions[0].failing = 460;
  precisions[0].no_claim = "no saturation point is certified";
  check_one(SEARCH, &s, NULL, NULL, ANSWER_NONE,
            "Not certified: 345 requests/s were sustained, 460 were not; the limit is in between (no saturation point is certified).");
  s = make(1600);
  check_one(CLOSED "question: What does it cost?\ncost: {price_per_hour: 3.6, currency: EUR}\n", &s, NULL, NULL, ANSWER_MEASURED,
            "EUR 0.625 [0.613, 0.638] per million output tokens, at EUR 3.6 an hour, with 8 in flight.");
  check_one(CLOSED "question: What does it cost?\n", &s, NULL, NULL, ANSWER_NONE,
            "No answer yet: the contract asks for a cost, and lacks a price (cost.price_per_hour).");
  check_one(CLOSED "question_kind: how_many\n", &s, NULL, NULL, ANSWER_NONE,
            "No answer yet: the contract asks how many, and lacks a load that is raised until it is too much (regime.load: saturation or "
            "climb).");
  check_one(CLOSED "question: Which?\n", &s, NULL, NULL, ANSWER_NONE, "No answer yet: one run of one precision has nothing beside it.");
  check_one(CLOSED, NULL, NULL, NULL, ANSWER_NONE, "No answer yet: nothing is measured.");
}

/* What is not shown is not said: of a climb that ended at its cap, of a load that is not answered, of an estimate. */
static void check_limits(void) {
  struct summary s = make(1600);
  precisions[0].knee = 8;
  check_one(CLIMB, &s, NULL, NULL, ANSWER_MEASURED, "100 requests/s [98, 102], with 8 in flight: more in flight bring less than 5 % more.");
  precisions[0].knee = 16;
  check_one(CLIMB, &s, NULL, NULL, ANSWER_MEASURED,
            "At least 100 requests/s [98, 102], with 16 in flight, the most that were allowed. The limit was not found.");
  precisions[0].objectives = &objective;
  precisions[0].n_objectives = 1;
  objective.verdict = OBJECTIVE_FAILS;
  check_one(CLIMB SLO, &s, NULL, NULL, ANSWER_MEASURED,
            "Less than 100 requests/s [98, 102]: with 16 in flight, time to first token p99 is 100 ms (at most 200 ms).");
  objective.verdict = OBJECTIVE_HOLDS;
  precisions[0].knee = 0;
  const char *offered = "lynxbench: 1\nregime: {load: poisson, rate_per_s: 240}\n" SLO "question_kind: how_many\n";
  check_one(offered, &s, NULL, NULL, ANSWER_MEASURED,
            "Less than the 240 requests/s that were offered: 100 requests/s [98, 102] were answered.");
  objective.verdict = OBJECTIVE_MET;
  check_one(
      OPEN SLO "question_kind: how_many\n", &s, NULL, NULL, ANSWER_NONE,
      "No answer yet: at the 20 requests/s that were offered it is not sure that time to first token p99 is 100 ms (at most 200 ms).");
  check_one(OPEN SLO, &s, NULL, NULL, ANSWER_MEASURED,
            "It meets its objectives by the estimate, not for sure: time to first token p99 is 100 ms (at most 200 ms), at 20 requests/s.");
  s = make(1600);
  precisions[0].no_claim = "no saturation point is certified";
  precisions[0].failing = 20;
  check_one(SEARCH, &s, NULL, NULL, ANSWER_NONE,
            "Not certified: no load was sustained; 20 requests/s, the least that failed, were too much.");
}

/* The order of a list decides nothing. */
static void check_precisions(void) {
  struct summary s = make(1600);
  s.n_precisions = 2;
  check_one(CLOSED TWO "question_kind: how_fast\n", &s, NULL, NULL, ANSWER_MEASURED,
            "f32: output throughput 1,600 tokens/s [1,568, 1,632], with 8 in flight. int8: output throughput 3,200 tokens/s [3,136, "
            "3,264], with 8 in flight.");
  static struct summary_objective missed;
  missed = objective;
  missed.verdict = OBJECTIVE_FAILS;
  precisions[1].objectives = &missed;
  precisions[1].n_objectives = 1;
  check_one(CLOSED SLO TWO, &s, NULL, NULL, ANSWER_MEASURED,
            "f32, with 8 in flight: output throughput 1,600 tokens/s [1,568, 1,632]; int8 misses its objective: time to first token p99 is "
            "100 ms (at most 200 ms).");
  s = make(1600);
  s.n_precisions = 2;
  precisions[0].gate = ACCURACY_PASSES;
  precisions[0].accuracy_ratio = 1;
  check_one(CLOSED "accuracy: {text_file: t.txt, at_least_ratio: 0.99, reference: int8}\n" TWO "question_kind: precision\n", &s, NULL, NULL,
            ANSWER_NONE, "No answer yet: no lower precision than the reference has a known accuracy.");
}

static void check_orders(void) {
  struct summary s = make(1600);
  const char *departures[] = {"accelerator.cpu.model (Hardware): expected 'A', found 'B'"};
  const char *ordered = CLOSED "question_kind: as_ordered\nexecutor: {expect: {accelerator.cpu.model: A}}\n";
  s.n_expected = 1;
  check_one(SEARCH "executor: {expect: {accelerator.cpu.model: A}}\nquestion_kind: as_ordered\ntargets: {requests_per_s: 300}\n", &s, NULL,
            NULL, ANSWER_NONE, "Not decided: the ordered facts were found; capacity was promised as 300 requests/s, and was not measured.");
  check_one(ordered, &s, NULL, NULL, ANSWER_MEASURED, "Yes: the ordered fact was found, by what this system reports of itself.");
  s.departures = departures;
  s.n_departures = 1;
  precisions[0].no_claim = "out of contract";
  check_one(ordered, &s, NULL, NULL, ANSWER_NOT_AS_ORDERED, "No: accelerator.cpu.model is 'B'; 'A' was ordered (Hardware).");
  check_one(CLOSED "executor: {expect: {accelerator.cpu.model: A}}\n", &s, NULL, NULL, ANSWER_NONE, "No answer yet: out of contract.");
  s = make(1600);
  precisions[0].passing = 345;
  precisions[0].failing = 460;
  check_one(SEARCH "question_kind: as_ordered\ntargets: {requests_per_s: 500}\n", &s, NULL, NULL, ANSWER_NOT_AS_ORDERED,
            "No: capacity was promised as 500 requests/s, and is at least 345 requests/s; 460 is too much.");
  check_one(SEARCH "question_kind: as_ordered\ntargets: {requests_per_s: 300}\n", &s, NULL, NULL, ANSWER_MEASURED,
            "Yes: what was promised was measured.");
  check_one(CLOSED "question: Is it what we ordered?\n", &s, NULL, NULL, ANSWER_NONE,
            "No answer yet: the contract does not say what was ordered (executor.expect) or promised (targets).");
}

static void check_pairs(void) {
  static struct summary_figure old_figures[3];
  static struct summary_precision old_precision;
  struct summary before = make(400);
  memcpy(old_figures, figures[0], sizeof old_figures);
  old_precision = precisions[0];
  old_precision.figures = old_figures;
  before.precisions = &old_precision;
  struct summary after = make(1600);
  after.started_ns = 1;
  check_one(CLOSED "question_kind: better\n", &after, &before, NULL, ANSWER_MEASURED,
            "Yes: output throughput is 4.00 times [3.89, 4.11] what it was.");
  check_one(CLOSED "question_kind: better\n", &before, &after, NULL, ANSWER_MEASURED,
            "No, it got worse: output throughput is 0.25 times [0.24, 0.26] what it was.");
  check_one(CLOSED "question_kind: better\n", &after, NULL, NULL, ANSWER_NONE,
            "No answer yet: one run has no before and after (it measured 1,600 tokens/s [1,568, 1,632]).");
  after.n_precisions = 2;
  check_one(CLOSED TWO, &after, NULL, NULL, ANSWER_MEASURED,
            "int8, with 8 in flight: output throughput 3,200 tokens/s [3,136, 3,264]; f32 comes next with 1,600 tokens/s [1,568, 1,632].");
  figures[1][0].value = 1610;
  figures[1][0].low = 1590;
  figures[1][0].high = 1630;
  check_one(CLOSED TWO, &after, NULL, NULL, ANSWER_NONE,
            "Not decided: output throughput 1,610 tokens/s [1,590, 1,630] at int8, 1,600 tokens/s [1,568, 1,632] at f32.");
  precisions[1].gate = ACCURACY_PASSES;
  precisions[1].accuracy_ratio = 0.995;
  check_one(CLOSED GATE, &after, NULL, NULL, ANSWER_MEASURED,
            "Yes: int8 keeps 99.5 % of f32's accuracy (at least 99 % is asked). No gain is shown: output throughput 1,610 tokens/s [1,590, "
            "1,630] instead of 1,600 tokens/s [1,568, 1,632].");
  figures[1][0].value = figures[1][0].low = figures[1][0].high = 800;
  check_one(CLOSED GATE, &after, NULL, NULL, ANSWER_MEASURED,
            "Yes: int8 keeps 99.5 % of f32's accuracy (at least 99 % is asked). No gain is shown: output throughput 800 tokens/s [800, "
            "800] instead of 1,600 tokens/s [1,568, 1,632].");
  precisions[1].gate = ACCURACY_FAILS;
  precisions[1].accuracy_ratio = 0.9;
  check_one(CLOSED GATE, &after, NULL, NULL, ANSWER_MEASURED, "No: int8 keeps 90 % of f32's accuracy (at least 99 % is asked).");
  struct answer_finding finding = {"Threads wait for a lock", "serving, ML platform", "suspected", false};
  check_one(CLOSED "question: What limits it?\n", &after, NULL, &finding, ANSWER_NONE,
            "Not confirmed yet: Threads wait for a lock. Whose: serving, ML platform. It is suspected; no experiment has tested it.");
  finding = (struct answer_finding){"Threads wait for a lock", "serving, ML platform", "confirmed", true};
  check_one(CLOSED "question: What limits it?\n", &after, NULL, &finding, ANSWER_MEASURED,
            "Threads wait for a lock. Whose: serving, ML platform. It was confirmed by an experiment.");
}

/* No tile divides a demand by a capacity. */
static void check_tiles(void) {
  static const struct {
    const char *targets;
    enum tile_state capacity, executors;
    const char *measured;
  } cases[] = {{"", TILE_NOT_ASKED, TILE_NOT_ASKED, ""},
               {"targets: {requests_per_s: 300, demand_per_s: 200}\n", TILE_KEPT, TILE_KEPT, "1"},
               {"targets: {requests_per_s: 400, demand_per_s: 400}\n", TILE_UNKNOWN, TILE_NOT_COMPUTED, ""},
               {"targets: {requests_per_s: 460, demand_per_s: 4600}\n", TILE_MISSED, TILE_NOT_COMPUTED, ""}};
  struct summary s = make(1600);
  precisions[0].passing = 345;
  precisions[0].failing = 460;
  for (size_t i = 0; i < LYNX_COUNT(cases); i++) {
    struct arena arena = {0};
    struct problem_list problems;
    struct answer answer;
    const struct contract c = parse(arena_printf(&arena, "%s%s", SEARCH, cases[i].targets), &arena, &problems);
    answer_make(&(struct answer_evidence){.contract = &c, .summary = &s, .file = "R.lynx"}, &arena, &answer);
    CHECK_INT(answer.tiles[TILE_CAPACITY].state, cases[i].capacity);
    CHECK_INT(answer.tiles[TILE_EXECUTORS].state, cases[i].executors);
    CHECK_TEXT(answer.tiles[TILE_EXECUTORS].measured, cases[i].measured);
    arena_release(&arena);
  }
}

/* A section that contracts of before do not know changes no digest. */
static void check_digest(void) {
  struct arena arena = {0};
  struct problem_list problems;
  struct buffer canonical;
  const struct contract c = parse(CLOSED, &arena, &problems), d = parse(CLOSED "targets: {optimise_for: cost}\n", &arena, &problems);
  buffer_init(&canonical, 1 << 20);
  CHECK(contract_canonical(&c, &canonical) && strstr(canonical.data, "targets") == NULL && strstr(canonical.data, "question_kind") == NULL);
  buffer_clear(&canonical);
  CHECK(contract_canonical(&d, &canonical) && strstr(canonical.data, "\"targets\":{\"optimise_for\":\"cost\"}") != NULL);
  buffer_release(&canonical);
  arena_release(&arena);
}

int main(void) {
  check_kinds();
  check_sentences();
  check_limits();
  check_precisions();
  check_orders();
  check_pairs();
  check_tiles();
  check_digest();
  return check_end();
}
