/* Which kind of question a contract asks, and whether what it measures can answer it. */
#include <string.h>
#include <strings.h>

#include "contract/fields_private.h"

const char *question_kind_text(enum question_kind kind) {
  return question_kinds[kind].name;
}

const char *question_kind_words(enum question_kind kind) {
  return question_kinds[kind].help;
}

const char *problem_kind_text(enum problem_kind kind) {
  static const char *const texts[PROBLEM_KINDS] = {
      [PROBLEM_ERROR] = "error", [PROBLEM_WARNING] = "warning", [PROBLEM_UNSTATED] = "unstated", [PROBLEM_ADVICE] = "advice"};
  return texts[kind];
}

/* Words that tell a kind, in English; the first row that the question holds counts. */
static const struct {
  const char *words;
  enum question_kind kind;
} clues[] = {
    {"cost", QUESTION_COST},
    {"price", QUESTION_COST},
    {"cheap", QUESTION_COST},
    {"how many requests", QUESTION_HOW_MANY},
    {"sustain", QUESTION_HOW_MANY},
    {"capacity", QUESTION_HOW_MANY},
    {"saturat", QUESTION_HOW_MANY},
    {"ordered", QUESTION_AS_ORDERED},
    {"as agreed", QUESTION_AS_ORDERED},
    {"promised", QUESTION_AS_ORDERED},
    {"delivered", QUESTION_AS_ORDERED},
    {"by how much", QUESTION_BETTER},
    {"better than", QUESTION_BETTER},
    {"faster than", QUESTION_BETTER},
    {"improve", QUESTION_BETTER},
    {"got better", QUESTION_BETTER},
    {"get better", QUESTION_BETTER},
    {"limits", QUESTION_LIMIT},
    {"bottleneck", QUESTION_LIMIT},
    {"whose", QUESTION_LIMIT},
    {"why ", QUESTION_LIMIT},
    {"which", QUESTION_WHICH},
    {"quanti", QUESTION_PRECISION},
    {"lower precision", QUESTION_PRECISION},
};

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Does it begin a word there? "which" is not in "everywhich". */
static bool holds_words(const char *text, const char *words) {
  size_t n = strlen(words);
  for (const char *at = text; *at != 0; at++)
    if ((at == text || !is_letter(at[-1])) && strncasecmp(at, words, n) == 0) return true;
  return false;
}

static bool has_lower_precision(const struct contract *c) {
  return c->precisions.n_items > 1 && contract_states(c, "accuracy");
}

enum question_kind contract_asks(const struct contract *c) {
  if (contract_states(c, "question_kind")) return (enum question_kind)c->question_kind;
  const char *text = c->question != NULL ? c->question : "";
  if (has_lower_precision(c) && holds_words(text, "precision")) return QUESTION_PRECISION;
  for (size_t i = 0; i < LYNX_COUNT(clues); i++)
    if (holds_words(text, clues[i].words)) return clues[i].kind;
  if (c->regime.load == LOAD_SATURATION || c->regime.load == LOAD_CLIMB) return QUESTION_HOW_MANY;
  if (has_lower_precision(c)) return QUESTION_PRECISION;
  return c->precisions.n_items > 1 ? QUESTION_WHICH : QUESTION_HOW_FAST;
}

enum operating_target contract_target(const struct contract *c) {
  if (contract_states(c, "targets.optimise_for")) return (enum operating_target)c->targets.optimise_for;
  bool full = load_is_closed((enum load_kind)c->regime.load) || c->regime.load == LOAD_SATURATION || c->regime.load == LOAD_OFFLINE;
  return c->slo.n_items > 0 && !full ? TARGET_LATENCY : TARGET_THROUGHPUT;
}

/* --- what is missing for an answer --- */

static const char *lacks_capacity(const struct contract *c) {
  switch (c->regime.load) {
    case LOAD_SATURATION:
    case LOAD_CLIMB: return NULL;
    case LOAD_RAMP:
    case LOAD_OFFLINE:
    case LOAD_REPLAY:
    case LOAD_OBSERVED:
    case LOAD_CLOSED:
    case LOAD_SINGLE_STREAM:
    case LOAD_MULTI_STREAM:
    case LOAD_CONVERSATIONS: return "a load that is raised until it is too much (regime.load: saturation or climb)";
    default: return c->slo.n_items > 0 ? NULL : "an objective that says what is too much (slo), or regime.load: saturation";
  }
}

static const char *lacks_order(const struct contract *c) {
  bool ordered = c->executor.expect.n_items > 0 || contract_states(c, "targets.requests_per_s") ||
                 contract_states(c, "targets.cost_per_million");
  return ordered ? NULL : "what was ordered (executor.expect) or promised (targets)";
}

static const char *lacks_price(const struct contract *c) {
  return contract_states(c, "cost") ? NULL : "a price (cost.price_per_hour)";
}

static const char *lacks_precision(const struct contract *c) {
  if (c->precisions.n_items < 2) return "a second precision (precisions)";
  return contract_states(c, "accuracy") ? NULL : "a gate for accuracy (accuracy)";
}

const char *question_kind_lacks(const struct contract *contract, enum question_kind kind) {
  static const char *(*const rules[QUESTION_KINDS])(const struct contract *) = {[QUESTION_HOW_MANY] = lacks_capacity,
                                                                                [QUESTION_AS_ORDERED] = lacks_order,
                                                                                [QUESTION_COST] = lacks_price,
                                                                                [QUESTION_PRECISION] = lacks_precision};
  return rules[kind] != NULL ? rules[kind](contract) : NULL;
}

void question_check(const struct contract *c, struct problem_list *problems) {
  struct arena *arena = problems->arena;
  enum question_kind kind = contract_asks(c);
  bool stated = contract_states(c, "question_kind");
  const char *lacks = question_kind_lacks(c, kind);
  const char *as = arena_printf(arena, "%s («%s»)", question_kind_text(kind), question_kind_words(kind));
  if (lacks != NULL && stated)
    problem_add(problems, PROBLEM_WARNING, 0, "question_kind", arena_printf(arena, "%s, which no figure of this contract answers", as),
                lacks);
  else if (lacks != NULL) /* it was only taken from its words */
    problem_add(problems, PROBLEM_ADVICE, 0, "question", arena_printf(arena, "taken for %s, which no figure of this contract answers", as),
                arena_printf(arena, "that takes %s", lacks));
  else if (!stated && c->question != NULL)
    problem_add(problems, PROBLEM_ADVICE, 0, "question_kind", "not stated", arena_printf(arena, "the question is taken for %s", as));
  if (!contract_states(c, "targets.optimise_for"))
    problem_add(problems, PROBLEM_ADVICE, 0, "targets.optimise_for", "not stated", "what it is operated for: latency, throughput or cost");
  if (contract_states(c, "targets.cost_per_million") && !contract_states(c, "cost"))
    problem_add(problems, PROBLEM_WARNING, 0, "targets.cost_per_million", "a promise without a price", "cost.price_per_hour beside it");
}
