#include "cli/work_text.h"

#include <inttypes.h>
#include <string.h>

enum { DIGITS_LEAST = 8 }; /* of a digest */

static void put_effect(const struct work_item *item, struct buffer *out) {
  const struct effect_measured *e = &item->effect;
  const struct board_iteration *m = item->measured;
  (void)buffer_printf(out, "             measured by %s, entry %" PRIu64 " (%s): %s", m->by, m->index, m->change, effect_text(e->effect));
  if (e->name[0] != 0) (void)buffer_printf(out, "; %s times %.3f [%.3f, %.3f]", e->name, e->ratio, e->low, e->high);
  (void)buffer_text(out, "\n");
}

static void put_item(const struct board *b, const struct work_item *item, struct buffer *out) {
  const struct board_finding *f = item->finding;
  struct arena arena = {0};
  const char *text, *command;
  (void)buffer_printf(out, "  %5" PRIu64 "  %s%s%s: %s\n", f->index, work_state_text(item->state), item->why[0] != 0 ? ", " : "", item->why,
                      f->title);
  (void)buffer_printf(out, "             %s; of %s, found in %zu run%s%s%s\n", work_whose_now(item, &arena),
                      item->contract->name[0] != 0 ? item->contract->name : item->contract->hex, item->n_seen, LYNX_S(item->n_seen),
                      item->confirmation != NULL ? "; experiment: " : "", item->confirmation != NULL ? item->confirmation->verdict : "");
  if (item->response != NULL) (void)buffer_printf(out, "             %s\n", work_response_words(item, &arena));
  if (item->change != NULL) {
    const struct board_change *c = item->change;
    (void)buffer_printf(out, "             %s by %s: %s%s%s%s%s\n", c->done ? "done" : "started", c->by, c->words,
                        c->commit[0] != 0 ? ", commit " : "", c->commit, c->ticket[0] != 0 ? ", ticket " : "", c->ticket);
  }
  if (item->measured != NULL) put_effect(item, out);
  if (work_next(b, item, &arena, &text, &command)) (void)buffer_printf(out, "             next: %s\n", command);
  arena_release(&arena);
}

static void put_total(const struct board *b, const struct board_contract *c, struct buffer *out) {
  struct work_total t;
  char a[32], z[32];
  if (!work_total(b, c, &t)) return;
  (void)buffer_printf(out, "%s: %s of the run of %.16s to that of %.16s: times %.3f [%.3f, %.3f]", c->name[0] != 0 ? c->name : c->hex,
                      t.effect.name, board_run_time(t.first, a), board_run_time(t.last, z), t.effect.ratio, t.effect.low, t.effect.high);
  (void)buffer_printf(out, ", with %zu measured change%s, %zu of which improved it, and whatever else changed between the two\n",
                      t.n_changes, LYNX_S(t.n_changes), t.n_improved);
}

static bool is_contract(const struct work_filter *filter, const struct board_contract *c) {
  return filter->contract == NULL || strcmp(c->name, filter->contract) == 0 ||
         (strlen(filter->contract) >= DIGITS_LEAST && strncmp(c->hex, filter->contract, strlen(filter->contract)) == 0);
}

bool work_is_wanted(const struct work_filter *filter, const struct work_item *item) {
  if (item->state == WORK_CLOSED && !filter->closed) return false;
  if (filter->owner != NULL && strcmp(filter->owner, item->owner) != 0) return false;
  return (filter->layer == NULL || strcmp(filter->layer, item->layer) == 0) && is_contract(filter, item->contract);
}

void work_text(const struct board *b, const struct work_list *list, const struct work_filter *filter, struct buffer *out) {
  size_t n = 0;
  out->shown = true;
  (void)buffer_printf(out, "%s: %zu finding%s", b->address, list->n_items, LYNX_S(list->n_items));
  for (size_t s = 0; s < WORK_STATES; s++)
    if (list->n[s] > 0) (void)buffer_printf(out, ", %zu %s", list->n[s], work_state_text((enum work_state)s));
  (void)buffer_text(out, "\n");
  for (size_t i = 0; i < list->n_items; i++)
    if (work_is_wanted(filter, &list->items[i])) {
      put_item(b, &list->items[i], out);
      n++;
    }
  if (list->n_items == 0)
    (void)buffer_text(
        out, "next: lynxbench attribute BUNDLE --record BUNDLE enters what it finds; lynxbench iterate open BUNDLE enters your own\n");
  else if (n == 0) (void)buffer_printf(out, "none of them is asked for%s\n", filter->closed ? "" : "; --all lists the closed ones too");
  for (size_t i = 0; i < b->n_contracts && filter->owner == NULL && filter->layer == NULL; i++)
    if (is_contract(filter, &b->contracts[i])) put_total(b, &b->contracts[i], out);
}
