#include "contract/contract.h"

#include <stdio.h>

#include "tests/check.h"

static const char small[] =
    "lynxbench: 1\nexecutor: {endpoint: \"http://127.0.0.1:8000\"}\nworkload: {model: m}\nregime: {rate_per_s: 2}\n";

struct parsed {
  struct arena arena;
  struct contract contract;
  struct problem_list problems;
  enum lynx_status status;
  char digest[DIGEST_HEX];
};

static struct parsed parse(const char *text) {
  struct parsed p = {0};
  p.status = contract_parse(text, strlen(text), &p.arena, &p.contract, &p.problems);
  if (p.status == LYNX_OK) contract_digest(&p.contract, p.digest);
  return p;
}

static void same_meaning(const char *a, const char *b, bool same) {
  struct parsed x = parse(a), y = parse(b);
  CHECK_INT(x.status, LYNX_OK);
  CHECK_INT(y.status, LYNX_OK);
  check_true((strcmp(x.digest, y.digest) == 0) == same, b, __FILE__, __LINE__);
  arena_release(&x.arena);
  arena_release(&y.arena);
}

/* The problem of this field: its line, what was found and what is accepted. */
static void problem(const char *text, const char *field, int line, const char *found, const char *accepted) {
  struct parsed p = parse(text);
  const struct problem *hit = NULL;
  for (size_t i = 0; i < p.problems.n_items && hit == NULL; i++)
    if (strcmp(p.problems.items[i].field, field) == 0 && p.problems.items[i].kind == PROBLEM_ERROR) hit = &p.problems.items[i];
  check_true(hit != NULL, field, __FILE__, __LINE__);
  if (hit != NULL) {
    CHECK_INT(hit->line, line);
    CHECK_CONTAINS(hit->found, found);
    CHECK_CONTAINS(hit->accepted, accepted);
  }
  arena_release(&p.arena);
}

static void defaults(void) {
  struct parsed p = parse(small);
  CHECK_INT(p.status, LYNX_OK);
  CHECK_INT(p.contract.method.counted_ns, 30000000000);
  CHECK_INT(p.contract.workload.stream, true);
  CHECK_INT(p.contract.regime.load, LOAD_POISSON);
  CHECK_TEXT(p.contract.precisions.items[0], "as-served");
  CHECK(contract_states(&p.contract, "executor.endpoint"));
  CHECK(!contract_states(&p.contract, "executor.start"));
  CHECK(!contract_states(&p.contract, "where.abort_slo"));
  CHECK_INT(contract_grade(&p.problems), GRADE_D);
  CHECK_TEXT(contract_owner(&p.contract, LAYER_FACILITY), "Facilities");
  arena_release(&p.arena);
}

static void digests(void) {
  same_meaning(
      small,
      "# a comment\nregime: {rate_per_s: 2.0}\nworkload: {model: \"m\"}\nexecutor:\n  endpoint: \"http://127.0.0.1:8000\"\nlynxbench: 1\n",
      true); /* order, quotes, spelling */
  same_meaning(small,
               "lynxbench: 1\nexecutor: {endpoint: \"http://127.0.0.1:8000\"}\nworkload: {model: m}\nregime: {rate_per_s: 2}\nmethod: "
               "{counted: 0.5min}\n",
               true); /* a default written out, in another unit */
  same_meaning(small, "lynxbench: 1\nexecutor: {endpoint: \"http://127.0.0.1:8000\"}\nworkload: {model: m}\nregime: {rate_per_s: 2.5}\n",
               false);
  same_meaning(small,
               "lynxbench: 1\nexecutor: {endpoint: \"http://127.0.0.1:8000\"}\nworkload: {model: m}\nregime: {rate_per_s: 2}\nwhere: "
               "{load_cap_per_s: 5}\n",
               false);
  same_meaning("lynxbench: 1\nexecutor: {endpoint: \"http://h:1\", expect: {system.a: x, system.b: z}}\nregime: {rate_per_s: 2}\n",
               "lynxbench: 1\nexecutor: {endpoint: \"http://h:1\", expect: {system.b: z, system.a: x}}\nregime: {rate_per_s: 2}\n", true);
}

#define WITH(more) "lynxbench: 1\nexecutor: {endpoint: \"http://h:1\"}\nregime: {rate_per_s: 2}\n" more

static void problems(void) {
  problem("lynxbench: 2\nregime: {rate_per_s: 1}\n", "lynxbench", 1, "2", "1");
  problem("regime: {rate_per_s: 1}\n", "lynxbench", 1, "nothing", "required");
  problem("lynxbench: 1\nregime: {rate_per_s: fast}\n", "regime.rate_per_s", 2, "fast", "a number");
  problem("lynxbench: 1\nregime: {rate_per_s: \"2\"}\n", "regime.rate_per_s", 2, "the text \"2\"", "without quotes");
  problem("lynxbench: 1\nregime: {rate_per_s: 0}\n", "regime.rate_per_s", 2, "0", "from 0.001");
  problem("lynxbench: 1\nregime: {rate_per_s: [1]}\n", "regime.rate_per_s", 2, "a list", "a number");
  problem(WITH("metod: {sessions: 3}\n"), "metod", 4, "unknown", "did you mean 'method'");
  problem(WITH("method: {sessons: 3}\n"), "method.sessons", 4, "unknown", "did you mean 'sessions'");
  problem(WITH("method: {zzzzzzzz: 3}\n"), "method.zzzzzzzz", 4, "unknown", "the fields here are");
  problem(WITH("method: {counted: 30}\n"), "method.counted", 4, "30", "with its unit");
  problem(WITH("method: {sessions: 1.5}\n"), "method.sessions", 4, "1.5", "whole number");
  problem(WITH("slo: [{metric: ttft, at_most: 1s}]\n"), "slo[0].metric", 4, "ttft", "time_to_first_token");
  problem(WITH("slo: {metric: end_to_end, at_most: 1s}\n"), "slo", 4, "a group", "a list");
  /* What YAML 1.1 and 1.2 read differently. */
  problem(WITH("workload: {stream: no}\n"), "workload.stream", 4, "no", "true or false");
  problem(WITH("workload: {model: no}\n"), "workload.model", 4, "no", "\"no\"");
  problem(WITH("workload: {model: 012}\n"), "workload.model", 4, "012", "in quotes");
  problem(WITH("method: {sessions: 012}\n"), "method.sessions", 4, "012", "write 12");
  problem(WITH("method: {seed: 1e3}\n"), "method.seed", 4, "1e3", "write 1000");
  problem(WITH("method: {seed: 1_000}\n"), "method.seed", 4, "1_000", "write 1000");
  problem(WITH("method: {seed: 0x10}\n"), "method.seed", 4, "0x10", "whole number");
  problem(WITH("name: ~\n"), "name", 4, "~", "leave the field out");
  problem(WITH("name: 1:30\n"), "name", 4, "1:30", "in quotes");
  /* Rules across fields, with the line of the field they name. */
  problem("lynxbench: 1\nexecutor: {endpoint: \"http://h:1\"}\nregime: {load: closed, concurrency: 4, rate_per_s: 2}\n",
          "regime.rate_per_s", 3, "closed", "leave it out");
  problem("lynxbench: 1\nexecutor: {endpoint: \"http://h:1\"}\nregime: {load: closed}\n", "regime.concurrency", 3, "nothing", "needs it");
  problem(WITH("where:\n  load_cap_per_s: 1\n"), "regime.rate_per_s", 3, "above", "within the cap");
  problem(WITH("where: {environment: production}\n"), "where", 4, "production", "must not harm");
  problem(WITH("precisions: [f32, bf16]\n"), "precisions", 4, "several", "{precision}");
  problem(WITH("precisions: [f31]\n"), "precisions[0]", 4, "f31", "bf16");
  problem(WITH("workload: {stream: false}\nslo:\n  - {metric: end_to_end, at_most: 1s}\n  - {metric: time_to_first_token, at_most: 1s}\n"),
          "slo[1].metric", 7, "time_to_first_token", "without a stream");
  problem(WITH("owners: {hardware: us}\n"), "owners", 4, "hardware", "accelerator");

  problem("lynxbench: 1\nexecutor: {endpoint: \"ftp://h\"}\nregime: {rate_per_s: 2}\n", "executor.endpoint", 2, "ftp://h",
          "http://HOST:PORT");
  problem("lynxbench: 1\nexecutor: {endpoint: \"http://h:99999\"}\nregime: {rate_per_s: 2}\n", "executor.endpoint", 2, "port",
          "http://HOST:PORT");

  /* All at once. */
  struct parsed p = parse("lynxbench: 1\nregime: {rate_per_s: x}\nmethod: {sessions: y, counted: z}\nfoo: 1\n");
  CHECK_INT(p.problems.n_errors, 4);
  arena_release(&p.arena);
  /* Too large, and not YAML. */
  struct arena arena = {0};
  struct contract contract;
  struct problem_list list;
  CHECK_INT(contract_parse(small, (size_t)100 << 20, &arena, &contract, &list), LYNX_LIMIT); /* refused by its length alone */
  CHECK_INT(contract_parse("a: [", 4, &arena, &contract, &list), LYNX_INPUT);
  arena_release(&arena);
}

static void warnings(void) {
  struct parsed p = parse(WITH("slo: [{metric: end_to_end, quantile: 0.999, at_most: 1s}]\n"));
  bool told = false;
  for (size_t i = 0; i < p.problems.n_items; i++)
    told = told || (p.problems.items[i].kind == PROBLEM_WARNING && strstr(p.problems.items[i].accepted, "3688") != NULL);
  CHECK(told); /* 180 requests cannot bound a p99.9 */
  arena_release(&p.arena);
}

/* Of the small contract and of what was put in its place. */
static void loads(const char *workload, const char *regime, const char *want) {
  char text[512];
  (void)snprintf(text, sizeof text, "lynxbench: 1\nexecutor: {endpoint: \"http://other:9\"}\nworkload: {%s}\nregime: {%s}\n", workload,
                 regime);
  struct parsed a = parse(small), b = parse(text);
  struct arena arena = {0};
  CHECK_INT(b.status, LYNX_OK);
  const char *difference = contract_difference(&a.contract, &b.contract, CONTRACT_LIKE_LOAD, &arena);
  CHECK_TEXT(difference != NULL ? difference : "none", want);
  arena_release(&arena);
  arena_release(&a.arena);
  arena_release(&b.arena);
}

static void unlike_loads(void) {
  loads("model: m", "rate_per_s: 2.0", "none");
  loads("model: other, temperature: 1, api: chat, output_tokens: 64", "load: poisson, rate_per_s: 2", "none");
  loads("model: m", "rate_per_s: 3", "regime.rate_per_s: A 2, B 3");
  loads("model: m", "load: closed, concurrency: 4", "regime.load: A \"poisson\", B \"closed\"");
  loads("model: m, profile: chats / mails", "rate_per_s: 2", "none");
  loads("model: m, ignore_eos: false", "rate_per_s: 2", "workload.ignore_eos: A true, B false");
  loads("model: m, output_tokens: 9", "rate_per_s: 2", "workload.output_tokens: A 64, B 9");
  loads("model: m, prompts: {bytes: 9, withhold: true}", "rate_per_s: 2", "workload.prompts.bytes: A 256, B 9");
  loads("model: m, prompts: {file: /a/b.txt}", "rate_per_s: 2", "workload.prompts.file: A nothing, B b.txt");
}

int main(void) {
  unlike_loads();
  defaults();
  digests();
  problems();
  warnings();
  return check_end();
}
