/* Contracts and plans of experiments: whatever the bytes, no crash; and a contract that is valid has the same canonical form when read
 * again. */
#include <string.h>

#include "contract/contract.h"
#include "experiment/experiment_plan.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as_plan(const uint8_t *data, size_t size) {
  static const char *words[] = {"python3", "server.py", "--batch", "8", "--x"};
  const struct contract_start start = {.command = {words, LYNX_COUNT(words)}};
  struct arena arena = {0};
  struct experiment_plan plan;
  struct swap_list facts;
  struct text_list command, environment;
  struct lynx_error error = {0};
  if (experiment_plan_parse((const char *)data, size, &arena, &plan, &error) == LYNX_OK &&
      experiment_plan_facts(&plan, &start, &arena, &facts, &error) == LYNX_OK) {
    HOLDS(facts.n == plan.n);
    for (size_t i = 0; i < facts.n; i++) swap_mix(&facts, (uint64_t)1 << i, &arena, &command, &environment);
  } else HOLDS(error.status != LYNX_OK);
  arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena = {0};
  struct contract contract;
  struct problem_list problems;
  char first[DIGEST_HEX], second[DIGEST_HEX];
  read_as_plan(data, size);
  if (contract_parse((const char *)data, size, &arena, &contract, &problems) == LYNX_OK) {
    contract_digest(&contract, first);
    HOLDS(contract_parse((const char *)data, size, &arena, &contract, &problems) == LYNX_OK);
    contract_digest(&contract, second);
    HOLDS(strcmp(first, second) == 0);
    (void)contract_grade(&problems);
  } else HOLDS(problems.n_errors > 0);
  arena_release(&arena);
  return 0;
}
