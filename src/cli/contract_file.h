/* cli/contract_file.h: reading a contract for a command, and telling its problems. */
#ifndef CLI_CONTRACT_FILE_H
#define CLI_CONTRACT_FILE_H

#include <stdio.h>

#include "contract/contract.h"

struct contract_file {
  struct buffer text;
  struct arena arena;
  struct contract contract;
  struct problem_list problems;
};

/* False if the file cannot be read (told already). A contract with errors is read as far as it goes. */
bool contract_file_read(const char *path, struct contract_file *ret);
/* The same from memory: what was just written is not read again by its name, under which others may have put something else. */
void contract_file_take(struct buffer text, struct contract_file *ret);
/* Every problem of the kinds wanted, one line each: FILE:LINE: field: found ..., accepted: ... */
void contract_file_print_problems(const struct contract_file *file, const char *path, bool warnings, bool unstated, FILE *to);
void contract_file_release(struct contract_file *file);

#endif
