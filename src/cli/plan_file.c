#include "cli/plan_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"

enum { PLAN_FILE_MAX = 1 << 20 };

/* As it is written where it begins at the root; else from the folder that the plan is in, whole. */
static const char *from_plan(struct plan_file *file, const char *path) {
  char here[4096];
  const char *end = strrchr(file->path, '/');
  int length = end != NULL ? (int)(end - file->path) : 0;
  if (path[0] == '/') return path;
  if (file->path[0] == '/') return arena_printf(&file->arena, "%.*s/%s", length, file->path, path);
  if (getcwd(here, sizeof here) == NULL) here[0] = 0;
  return arena_printf(&file->arena, "%s/%.*s%s%s", here, length, file->path, length > 0 ? "/" : "", path);
}

/* What environments are built of is part of the plan. */
static bool add_requirements(struct plan_file *file) {
  struct buffer text;
  uint8_t digest[DIGEST_BYTES];
  if (file->plan.requirements == NULL) return true;
  if (!read_file(from_plan(file, file->plan.requirements), PLAN_FILE_MAX, &text)) return false;
  digest_of(text.data, text.length, digest);
  (void)digest_hex(digest, file->built.requirements_digest);
  digest_parts((const struct bytes[]){{file->digest, DIGEST_HEX - 1}, {text.data != NULL ? text.data : "", text.length}}, 2, digest);
  (void)digest_hex(digest, file->digest);
  buffer_release(&text);
  return true;
}

bool plan_file_read(const char *path, struct plan_file *ret) {
  struct buffer text;
  struct lynx_error error = {0};
  uint8_t digest[DIGEST_BYTES];
  *ret = (struct plan_file){.path = path};
  if (!read_file(path, PLAN_FILE_MAX, &text)) return false;
  digest_of(text.data, text.length, digest);
  (void)digest_hex(digest, ret->digest);
  enum lynx_status status = experiment_plan_parse(text.data, text.length, &ret->arena, &ret->plan, &error);
  buffer_release(&text);
  if (status == LYNX_OK) {
    ret->contract = from_plan(ret, ret->plan.contract);
    return add_requirements(ret);
  }
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  complain("next: docs/experiments.md shows such a plan; two contracts that differ in executor.start need none\n");
  return false;
}

void plan_file_release(struct plan_file *file) {
  arena_release(&file->arena);
}

/* --- facts --- */

static bool has_word(const struct text_list *command, const char *word) {
  for (size_t i = 0; i < command->n_items; i++)
    if (strcmp(command->items[i], word) == 0) return true;
  return false;
}

/* The interpreter that environments take the place of. */
static enum lynx_status plan_environments(struct plan_file *file, struct lynx_error *error) {
  const struct experiment_plan *plan = &file->plan;
  const struct text_list *ends[2] = {&plan->ends[0].command, &plan->ends[1].command};
  uint64_t packages = experiment_plan_of_kind(plan, FACTOR_PACKAGE);
  struct built_environments *e = &file->built;
  for (size_t i = 0; i < FACTORIAL_FACTS_MAX; i++)
    if (packages >> i & 1) {
      const struct factor *f = plan->of_fact[i];
      e->packages[e->n++] = (struct built_package){
          f->name, {factor_level_text(f, 0, &file->arena), factor_level_text(f, 1, &file->arena)}, i};
    }
  if (e->n == 0) return LYNX_OK;
  const char *name = strrchr(file->path, '/') != NULL ? strrchr(file->path, '/') + 1 : file->path;
  e->python = plan->python != NULL ? plan->python : ends[0]->items[0];
  size_t n = strlen(name);
  if (text_ends_with(name, ".yaml") || text_ends_with(name, ".yml")) n = (size_t)(strrchr(name, '.') - name);
  e->folder = from_plan(file, plan->folder != NULL ? plan->folder : arena_printf(&file->arena, "%.*s-environments", (int)n, name));
  e->requirements = plan->requirements != NULL ? from_plan(file, plan->requirements) : NULL;
  const char *base = strrchr(e->python, '/') != NULL ? strrchr(e->python, '/') + 1 : e->python;
  bool python = strncmp(base, "python", 6) == 0 || strncmp(base, "pypy", 4) == 0; /* another program would be run with our script */
  if (python && has_word(ends[0], e->python) && has_word(ends[1], e->python)) return LYNX_OK;
  enum lynx_status status = lynx_fail(
      error, LYNX_INPUT,
      "found %.200s; accepted: the word of the start command that is its Python interpreter, such as /srv/venv/bin/python", e->python);
  lynx_error_at(error, file->path, 0, "environments.python");
  return status;
}

int plan_file_facts(struct plan_file *file, const struct contract_start *start, struct swap_list *ret) {
  struct lynx_error error = {0};
  enum lynx_status status = experiment_plan_facts(&file->plan, start, &file->arena, ret, &error);
  if (status == LYNX_OK) status = plan_environments(file, &error);
  lynx_error_at(&error, file->path, 0, NULL);
  if (status != LYNX_OK) return report_error(&error);
  file->facts = ret;
  file->by_hand = experiment_plan_of_kind(&file->plan, FACTOR_BY_HAND);
  if (file->by_hand == 0 || (isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0)) return EXIT_HOLDS;
  complain("%s: factors: found by_hand, and no terminal to ask in; accepted: the same in a terminal, or no such factor\n", file->path);
  return EXIT_WRONG_INPUT;
}

/* --- before, and between sessions --- */

static void tell_building(void *context, const char *text) {
  complain("%s: %s\n", ((const struct plan_file *)context)->path, text);
}

int plan_file_prepare(struct plan_file *file, const atomic_int *stop) {
  struct lynx_error error = {0};
  if (file->built.n == 0 || built_environments_make(&file->built, &file->arena, tell_building, file, stop, &error) == LYNX_OK)
    return EXIT_HOLDS;
  lynx_error_at(&error, file->path, 0, "factors");
  int code = report_error(&error);
  return atomic_load(stop) != 0 ? EXIT_INTERRUPTED : code;
}

/* A line of any length, to its end. */
static bool wait_for_enter(void) {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) == 1)
    if (byte == '\n') return true;
  return false;
}

static const char *cleaned(struct plan_file *file, const char *text) {
  char clean[400];
  return text != NULL ? arena_copy(&file->arena, text_sanitise(clean, sizeof clean, text, strlen(text))) : NULL;
}

bool plan_file_ask(struct plan_file *file, uint64_t facts, int64_t round, const char **ret_said) {
  uint64_t wanted = facts & file->by_hand;
  const char *said = "";
  if (file->by_hand == 0 || (file->asked && wanted == file->at_hand && round == file->round)) return true;
  (void)tcflush(STDIN_FILENO, TCIFLUSH); /* what was pressed before is no answer */
  for (size_t i = 0; i < file->facts->n; i++)
    if (file->by_hand >> i & 1) {
      const struct swap *fact = &file->facts->items[i];
      const char *level = wanted >> i & 1 ? fact->b : fact->a, *how = cleaned(file, file->plan.of_fact[i]->how);
      bool again = file->asked && ((wanted ^ file->at_hand) >> i & 1) == 0;
      said = arena_printf(&file->arena, "%s%s%s: %s", said, said[0] != 0 ? "; " : "", fact->name, level);
      complain("\nby hand: %s: %s «%s»%s%s\n", fact->name, again ? "as it is, but set it again:" : "bring it to", level,
               how != NULL ? ": " : "", how != NULL ? how : "");
    }
  complain("Enter when it is done (the time is not counted); Ctrl-C ends the experiment with what is known\n");
  if (!wait_for_enter()) return false;
  file->at_hand = wanted;
  file->round = round;
  file->asked = true;
  *ret_said = said;
  return true;
}
