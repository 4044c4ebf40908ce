#include "cli/contract_file.h"

#include <string.h>
#include <unistd.h>

#include "base/known_file.h"
#include "cli/command.h"
#include "executor/difference.h"
#include "measure/setup.h"

/* What nobody reads is compared with nothing, which is often a key that was guessed. */
static void warn_of_facts(struct contract_file *file, const char *field, const struct text_map *facts) {
  for (size_t i = 0; i < facts->n_items; i++) {
    enum layer layer;
    const char *name;
    char near[200];
    if (!contract_split_key(facts->keys[i], &layer, &name) || fact_key_is_read(name, near, sizeof near)) continue;
    problem_add(
        &file->problems, PROBLEM_WARNING, 0, field,
        arena_printf(&file->arena, "%s, a fact that no probe reads: %s", facts->keys[i],
                     facts == &file->contract.executor.expect ? "every run will be out of contract" : "it is compared with nothing"),
        near[0] != 0 ? arena_printf(&file->arena, "such a statement, or the key of a fact that is read, such as %s", near)
                     : "such a statement, or the key of a fact that is read (lynxbench capture lists them)");
  }
}

bool contract_file_read(const char *path, struct contract_file *ret) {
  struct buffer text;
  *ret = (struct contract_file){0};
  const char *other = known_file_at(path, "run");
  if (other != NULL) {
    complain("lynxbench: %s: not a contract: it is %s\n", path, other);
    return false;
  }
  if (!read_file(path, CONTRACT_FILE_MAX, &text)) return false;
  contract_file_take(text, ret);
  return true;
}

void contract_file_take(struct buffer text, struct contract_file *ret) {
  *ret = (struct contract_file){.text = text};
  (void)contract_parse(ret->text.data, ret->text.length, &ret->arena, &ret->contract, &ret->problems); /* its problems are in the list */
  setup_check(&ret->contract, &ret->problems);
  const char *tokenizer = ret->contract.workload.prompts.tokenizer;
  if (tokenizer != NULL && strcmp(tokenizer, "server") == 0) tokenizer = NULL;
  const char *files[] = {ret->contract.workload.prompts.file, ret->contract.accuracy.text_file,
                         ret->contract.executor.ca_file,      ret->contract.regime.trace,
                         ret->contract.workload.profile_file, ret->contract.accuracy.references,
                         ret->contract.workload.api_key_file, tokenizer};
  static const char *const fields[] = {"workload.prompts.file", "accuracy.text_file",        "executor.ca_file",
                                       "regime.trace",          "workload.profile_file",     "accuracy.references",
                                       "workload.api_key_file", "workload.prompts.tokenizer"};
  for (size_t i = 0; i < LYNX_COUNT(files); i++)
    if (files[i] != NULL && access(files[i], R_OK) != 0)
      problem_add(&ret->problems, PROBLEM_WARNING, 0, fields[i],
                  arena_printf(&ret->arena, "%s, which cannot be read from this folder", files[i]),
                  "a file that can be, where the contract is run");
  warn_of_facts(ret, "executor.declare", &ret->contract.executor.declare);
  warn_of_facts(ret, "executor.expect", &ret->contract.executor.expect);
}

void contract_file_print_problems(const struct contract_file *file, const char *path, bool warnings, bool unstated, FILE *to) {
  for (size_t i = 0; i < file->problems.n_items; i++) {
    const struct problem *p = &file->problems.items[i];
    bool open = p->kind == PROBLEM_UNSTATED || p->kind == PROBLEM_ADVICE;
    if ((p->kind == PROBLEM_WARNING && !warnings) || (open && !unstated)) continue;
    if (p->line > 0) say_to(to, "%s:%d: ", path, p->line);
    else say_to(to, "%s: ", path);
    if (open) say_to(to, "%s: %s is %s: %s\n", problem_kind_text(p->kind), p->field, p->found, p->accepted);
    else if (p->accepted[0] == 0) {
      bool whole = p->field[0] == 0 || strcmp(p->field, "contract") == 0; /* of the file */
      say_to(to, "%s: %s%s%s\n", problem_kind_text(p->kind), whole ? "" : p->field, whole ? "" : ": ", p->found);
    } else say_to(to, "%s: %s: found %s; accepted: %s\n", problem_kind_text(p->kind), p->field, p->found, p->accepted);
  }
}

void contract_file_release(struct contract_file *file) {
  buffer_release(&file->text);
  arena_release(&file->arena);
}
