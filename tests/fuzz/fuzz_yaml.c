/* Contracts: whatever the bytes, no crash; and a contract that is valid has the same canonical form when read again. */
#include <string.h>

#include "contract/contract.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena = {0};
  struct contract contract;
  struct problem_list problems;
  char first[DIGEST_HEX], second[DIGEST_HEX];
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
