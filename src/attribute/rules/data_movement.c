/* Copies that nothing hides. */
#include <stdio.h>
#include <string.h>

#include "attribute/rule.h"

static const char *const ways[COPY_WAYS] = {"to the device", "to the host", "within the device", "of another way"};

/* Which memory of the host it is, where the trace says so. */
static void name_memory(const struct account *a, struct finding *ret) {
  double told = (double)a->pageable_ns + (double)a->pinned_ns;
  size_t n = strlen(ret->evidence);
  if (!(told > 0)) return;
  (void)snprintf(ret->evidence + n, sizeof ret->evidence - n, "; of those with the host %.0f %% by time use pageable memory",
                 100 * (double)a->pageable_ns / told);
  (void)snprintf(ret->open, sizeof ret->open, "what the link could do: the trace does not show it");
  if ((double)a->pageable_ns < 0.05 * told)
    (void)snprintf(
        ret->next, sizeof ret->next,
        "host memory is pinned already: copy without blocking, in fewer and greater pieces; keep tensors on the device; hold the "
        "rate against the link's generation and width");
}

static bool apply(const struct evidence *e, struct finding *ret) {
  const struct account *a = e->account;
  double device = state_share(a, STATE_COPY_TO_DEVICE, STATE_COPY_OTHER), call = state_share(a, STATE_COPY_CALL, STATE_COPY_CALL);
  ret->share = device + call;
  if (a->device < 0 || ret->share < 0.05) return false;
  int64_t moved_ns = 0;
  for (int i = 0; i < COPY_WAYS; i++) moved_ns += a->copied[i].ns;
  if (2 * a->migrated_ns > moved_ns) return false; /* unified_memory says what helps there */
  double to_device = state_share(a, STATE_COPY_TO_DEVICE, STATE_COPY_TO_DEVICE);
  ret->bounded = true;
  ret->bound = ret->share;
  ret->bound_holds = "of this window, if what the host does stays as it is: a copy that no longer blocks lets it run ahead";
  int n = snprintf(ret->evidence, sizeof ret->evidence, "%lld copies in the whole trace", (long long)a->n_copies);
  for (int i = 0; i < COPY_WAYS && n > 0 && (size_t)n < sizeof ret->evidence; i++) {
    const struct copied *c = &a->copied[i];
    if (c->ns > 0)
      n += snprintf(ret->evidence + n, sizeof ret->evidence - (size_t)n, "; %s %.1f MB in %.3f ms, %.4g GB/s", ways[i], c->bytes / 1e6,
                    (double)c->ns / 1e6, c->bytes / (double)c->ns);
  }
  if (n > 0 && (size_t)n < sizeof ret->evidence)
    (void)snprintf(ret->evidence + n, sizeof ret->evidence - (size_t)n,
                   "; exposed to the device %.1f %%, to the host and within the device %.1f %%, and copy calls that leave the device idle "
                   "%.1f %% of the window",
                   100 * to_device, 100 * (device - to_device), 100 * call);
  name_memory(a, ret);
  return true;
}

const struct rule rule_data_movement;
const struct rule rule_data_movement = {
    .name = "data_movement",
    .summary = "copies that nothing hides",
    .threshold = "5 % of the window: our choice",
    .needs = NEEDS_TRACE,
    .apply = apply,
    .found = {
        .rung = RUNG_ACCOUNTED,
        .title = "moves data in the open",
        .symptom = LAYER_ACCELERATOR,
        .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_FRAMEWORK) | LAYER_BIT(LAYER_PROCUREMENT),
        .open = "whether the memory is pinned, and what the link could do: the trace shows neither",
        .next =
            "pin host memory and copy without blocking; keep tensors on the device; hold the rate against the link's generation and width",
        .confirm = "copy the same bytes once more per step: the step that gets longer by as much confirms that copies are not hidden"}};
