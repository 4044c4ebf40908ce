#include "cli/work_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool work_is_wanted(const struct work_filter *filter, const struct work_item *item) {
  const struct board_finding *f = item->finding;
  if (item->state == WORK_CLOSED && !filter->closed) return false;
  if (filter->owner != NULL && strcmp(filter->owner, f->owner) != 0) return false;
  if (filter->layer != NULL && strcmp(filter->layer, f->layer) != 0) return false;
  if (filter->contract == NULL) return true;
  return strcmp(item->contract->name, filter->contract) == 0 ||
         (strlen(filter->contract) >= 8 && strncmp(item->contract->hex, filter->contract, strlen(filter->contract)) == 0);
}

static void put_effect(const struct board_iteration *x, struct buffer *out) {
  (void)buffer_printf(out, "             measured: %s; %s times %.3f", effect_text(x->effect), x->figure, x->after_to_before);
  if (isfinite(x->low) && isfinite(x->high)) (void)buffer_printf(out, " [%.3f, %.3f]", x->low, x->high);
  (void)buffer_printf(out, " (%s), by %s, entry %" PRIu64 "\n", x->change, x->by, x->index);
}

static void put_item(const struct board *b, const struct work_item *item, struct buffer *out) {
  const struct board_finding *f = item->finding;
  struct arena arena = {0};
  const char *text, *command;
  (void)buffer_printf(out, "  %5" PRIu64 "  %s%s%s: %s\n", f->index, work_state_text(item->state), item->why[0] != 0 ? ", " : "", item->why,
                      f->title);
  (void)buffer_printf(out, "             %s; of %s, found in %zu run%s%s%s\n", work_whose(f, &arena),
                      item->contract->name[0] != 0 ? item->contract->name : item->contract->hex, item->n_seen, item->n_seen == 1 ? "" : "s",
                      item->confirmation != NULL ? "; experiment: " : "", item->confirmation != NULL ? item->confirmation->verdict : "");
  if (item->change != NULL) {
    const struct board_change *c = item->change;
    (void)buffer_printf(out, "             %s by %s: %s%s%s%s%s\n", c->done ? "done" : "started", c->by, c->words,
                        c->commit[0] != 0 ? ", commit " : "", c->commit, c->ticket[0] != 0 ? ", ticket " : "", c->ticket);
  }
  if (item->measured != NULL) put_effect(item->measured, out);
  if (work_next(b, item, &arena, &text, &command)) (void)buffer_printf(out, "             next: %s\n", command);
  arena_release(&arena);
}

static void put_total(const struct board *b, const struct board_contract *c, struct buffer *out) {
  struct work_total t;
  char a[32], z[32];
  if (!work_total(b, c, &t)) return;
  (void)buffer_printf(out, "%s: %s of the run of %.10s to that of %.10s: times %.3f", c->name[0] != 0 ? c->name : c->hex, t.figure,
                      board_run_time(t.first, a), board_run_time(t.last, z), t.ratio);
  if (isfinite(t.low) && isfinite(t.high)) (void)buffer_printf(out, " [%.3f, %.3f]", t.low, t.high);
  (void)buffer_printf(out, ", with %zu measured change%s, %zu of which improved it, and whatever else changed between the two\n",
                      t.n_changes, t.n_changes == 1 ? "" : "s", t.n_improved);
}

void work_text(const struct board *b, const struct work_list *list, const struct work_filter *filter, struct buffer *out) {
  size_t n = 0;
  (void)buffer_printf(out, "%s: %zu finding%s", b->address, list->n_items, list->n_items == 1 ? "" : "s");
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
  else if (n == 0) (void)buffer_text(out, "none of them is listed here; --all lists the closed ones too\n");
  for (size_t i = 0; i < b->n_contracts; i++) {
    struct work_item any = {.contract = &b->contracts[i], .finding = &(struct board_finding){.owner = "", .layer = ""}};
    struct work_filter of = {.contract = filter->contract};
    if (work_is_wanted(&of, &any)) put_total(b, &b->contracts[i], out);
  }
}
