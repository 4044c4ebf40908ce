#include "verify/configuration.h"

#include <stdio.h>
#include <string.h>

/* --- the workload --- */

struct inputs_digest {
  struct digest digest;
  int64_t n, n_withheld;
};

static enum lynx_status take_input(void *context, int64_t id, const char *text, size_t length) {
  struct inputs_digest *d = context;
  int64_t head[2] = {id, (int64_t)length};
  digest_update(&d->digest, head, sizeof head);
  digest_update(&d->digest, text, length);
  d->n++;
  d->n_withheld += length >= 9 && memcmp(text, "withheld:", 9) == 0;
  return LYNX_OK;
}

static void add_hole(struct configuration *c, const char *text) {
  for (size_t i = 0; i < c->n_holes; i++)
    if (strcmp(c->holes[i], text) == 0) return;
  const char **grown = arena_alloc(&c->arena, c->n_holes + 1, sizeof *grown);
  if (c->n_holes > 0) memcpy(grown, c->holes, c->n_holes * sizeof *grown);
  grown[c->n_holes++] = arena_copy(&c->arena, text);
  c->holes = grown;
}

static enum lynx_status compare_workload(struct bundle *sealed, struct bundle *again, struct configuration *ret, struct lynx_error *error) {
  struct inputs_digest a = {.n = 0}, b = {.n = 0};
  uint8_t one[DIGEST_BYTES], two[DIGEST_BYTES];
  digest_init(&a.digest);
  digest_init(&b.digest);
  enum lynx_status status = bundle_each_input(sealed, take_input, &a, error);
  if (status == LYNX_OK) status = bundle_each_input(again, take_input, &b, error);
  digest_final(&a.digest, one);
  digest_final(&b.digest, two);
  if (a.n == 0 && b.n == 0) add_hole(ret, "prompts: neither has any that could be compared, or both withhold them");
  if (a.n != b.n)
    ret->workload = arena_printf(&ret->arena, "%lld prompts were sealed, %lld were sent again", (long long)a.n, (long long)b.n);
  else if (memcmp(one, two, sizeof one) != 0)
    ret->workload =
        "the prompts are not the same ones: a file that the contract names has changed, or they were withheld under another salt";
  return status;
}

/* --- the executor --- */

static void add_difference(struct configuration *c, const struct contract *contract, const char *precision, const struct difference *d) {
  struct configuration_difference *grown = arena_alloc(&c->arena, c->n_differences + 1, sizeof *grown);
  if (c->n_differences > 0) memcpy(grown, c->differences, c->n_differences * sizeof *grown);
  c->differences = grown;
  grown[c->n_differences++] = (struct configuration_difference){.precision = precision,
                                                                .layer = layer_text(d->layer),
                                                                .owner = contract_owner(contract, d->layer),
                                                                .key = arena_copy(&c->arena, d->key),
                                                                .a = arena_copy(&c->arena, d->a != NULL ? d->a : "(not there)"),
                                                                .b = arena_copy(&c->arena, d->b != NULL ? d->b : "(not there)"),
                                                                .reason = arena_copy(&c->arena, d->reason != NULL ? d->reason : ""),
                                                                .allowed = result_may_change(contract, d->layer, d->key)};
  c->n_not_allowed += !grown[c->n_differences - 1].allowed;
}

static enum lynx_status compare_facts(struct bundle *sealed, struct bundle *again, const struct result *r, const char *precision,
                                      struct configuration *ret, struct lynx_error *error) {
  struct fact_list a = {0}, b = {0};
  struct difference_list differences;
  const char *moment = arena_printf(&ret->arena, "start:%s", precision);
  enum lynx_status status = bundle_facts(sealed, moment, &a, error);
  if (status == LYNX_OK) status = bundle_facts(again, moment, &b, error);
  if (status == LYNX_OK && a.n_items == 0) add_hole(ret, "A: the executor was not captured, or withheld");
  if (status == LYNX_OK && b.n_items == 0) add_hole(ret, "B: the executor was not captured, or withheld");
  if (status == LYNX_OK && a.n_items > 0 && b.n_items > 0) {
    capture_diff(&a, &b, &differences);
    for (size_t i = 0; i < differences.n_items; i++)
      if (differences.items[i].of == FACT_IDENTITY) add_difference(ret, &r->contract, precision, &differences.items[i]);
    for (size_t i = 0; i < differences.n_holes; i++) add_hole(ret, differences.holes[i]);
    if (differences.n_not_comparable > 0)
      add_hole(ret, arena_printf(&ret->arena,
                                 "%zu facts are not shown, under two salts: whether they are the same is not known; arguments "
                                 "among them can be shown (executor.show_arguments)",
                                 differences.n_not_comparable));
    difference_list_release(&differences);
  }
  fact_list_release(&a);
  fact_list_release(&b);
  return status;
}

enum lynx_status configuration_compare(struct bundle *sealed, struct bundle *again, const struct result *sealed_result,
                                       struct configuration *ret, struct lynx_error *error) {
  *ret = (struct configuration){.same = false};
  enum lynx_status status = compare_workload(sealed, again, ret, error);
  for (size_t i = 0; i < sealed_result->n_precisions && status == LYNX_OK; i++)
    if (!sealed_result->precisions[i].unavailable)
      status = compare_facts(sealed, again, sealed_result, sealed_result->precisions[i].name, ret, error);
  ret->same = status == LYNX_OK && ret->n_not_allowed == 0 && ret->workload == NULL;
  return status;
}

void configuration_release(struct configuration *configuration) {
  arena_release(&configuration->arena);
  *configuration = (struct configuration){.same = false};
}
