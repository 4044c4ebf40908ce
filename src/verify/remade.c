#include "verify/remade.h"

#include <inttypes.h>
#include <string.h>

#include "measure/inputs.h"

#define REMADE_BYTES_MAX ((int64_t)64 << 20)

/* NULL: they can be made of the contract and its seed alone. */
static const char *why_not(const struct contract *c) {
  const struct contract_prompts *p = &c->workload.prompts;
  if (p->withhold) return "they are withheld: the bundle holds salted digests of them";
  if (p->file != NULL || p->format != PROMPTS_TEXT) return "they come out of a file";
  if (p->tokens > 0) return "they are of so many tokens, which a tokenizer counts";
  if (p->image != NULL) return "they come with pictures";
  if (c->regime.load == LOAD_REPLAY) return "they follow a trace";
  if (c->workload.profile_file != NULL) return "their lengths are a profile's";
  if (contract_states(c, "accuracy") && c->accuracy.references != NULL) return "they come with the references of accuracy";
  bool many = c->regime.load == LOAD_CONVERSATIONS || p->count > REMADE_BYTES_MAX / (p->bytes > 0 ? p->bytes : 1) / 8;
  return many ? "they are too many, or each holds those before it" : NULL;
}

struct comparing {
  const struct inputs *made;
  int64_t n, other; /* other: the first that differs; -1: none */
};

static enum lynx_status compare_input(void *context, int64_t id, const char *text, size_t length) {
  struct comparing *c = context;
  bool known = id == c->n && (size_t)id < c->made->n_items;
  const struct driver_input *made = known ? &c->made->items[id] : NULL;
  bool same = known && made->length == length && memcmp(made->prompt, text, length) == 0;
  if (!same && c->other < 0) c->other = id;
  c->n++;
  return LYNX_OK;
}

enum prompts_remade prompts_remake(struct bundle *bundle, const struct contract *contract, struct arena *arena, const char **ret_text) {
  struct inputs made = {.items = NULL};
  struct lynx_error error = {0};
  *ret_text = why_not(contract);
  if (*ret_text != NULL) return PROMPTS_NOT_REMADE;
  struct comparing c = {.made = &made, .other = -1};
  enum lynx_status status = inputs_make(contract, NULL, &made, &error);
  if (status == LYNX_OK) status = bundle_each_input(bundle, compare_input, &c, &error);
  bool missing = status == LYNX_OK && c.other < 0 && c.n != (int64_t)made.n_items;
  inputs_release(&made);
  if (status != LYNX_OK) {
    *ret_text = arena_printf(arena, "they cannot be made again: %s", error.message);
    return PROMPTS_NOT_REMADE;
  }
  if (c.other >= 0 || missing) {
    *ret_text = missing ? arena_printf(arena, "%" PRId64 " prompts are there, and the contract and its seed make another number", c.n)
                        : arena_printf(arena, "prompt %" PRId64 " is not the one that the contract and its seed make", c.other);
    return PROMPTS_OTHER;
  }
  *ret_text = arena_printf(arena, "%" PRId64 " prompt%s: those that the contract and its seed make, made again here", c.n, LYNX_S(c.n));
  return PROMPTS_SAME;
}
