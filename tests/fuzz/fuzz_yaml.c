/* Contracts: whatever the bytes, no crash; and a contract that is valid has the same canonical form when read again. */
#include <string.h>

#include "contract/contract.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct arena arena = {0};
  struct contract contract;
  struct problem_list problems;
  char first[DIGEST_HEX], second[DIGEST_HEX];
  if (contract_parse((const char *)data, size, &arena, &contract, &problems) == LYNX_OK) {
    contract_digest(&contract, first);
    lynx_assert(contract_parse((const char *)data, size, &arena, &contract, &problems) == LYNX_OK);
    contract_digest(&contract, second);
    lynx_assert(strcmp(first, second) == 0);
    (void)contract_grade(&problems);
  } else lynx_assert(problems.n_errors > 0);
  arena_release(&arena);
  return 0;
}
