#include <stdio.h>

#include "executor/capture.h"
#include "executor/difference.h"
#include "report/html.h"
#include "report/html_page.h"

void html_executor(struct buffer *out, const struct result *r, const struct fact_list *facts, const char *precision) {
  html_text(out, "<h2>The executor, by layer and owner</h2><p class='dim'>As captured at the start of the first session at ", precision,
            ".</p>");
  for (size_t i = 0; i < r->n_holes; i++) html_text(out, "<p class='bad'>Not captured: ", r->holes[i], "</p>");
  for (size_t i = 0; i < r->n_departures; i++) html_text(out, "<p class='bad'>Out of contract: ", r->departures[i], "</p>");
  for (size_t i = 0; i < r->n_changed; i++) html_text(out, "<p class='bad'>Changed during the run: ", r->changed[i], "</p>");
  for (int layer = 0; layer < LAYER_COUNT; layer++) {
    size_t n = 0;
    for (size_t i = 0; i < facts->n_items; i++) n += facts->items[i].layer == (enum layer)layer;
    html_text(out, n > 0 ? "<details class='screen'><summary><b>" : "<p><b>", layer_text((enum layer)layer), "</b> <span class='dim'>");
    html_text(out, "", layer_meaning((enum layer)layer), " · ");
    html_text(out, "", contract_owner(&r->contract, (enum layer)layer), "");
    if (n == 0) {
      (void)buffer_text(out, " · no fact</span></p>");
      continue;
    }
    (void)buffer_printf(
        out, " · %zu fact%s</span></summary><table><tr><th scope='col'>fact</th><th scope='col'>value</th><th scope='col'>source</th></tr>",
        n, LYNX_S(n));
    for (size_t i = 0; i < facts->n_items; i++) {
      const struct fact *f = &facts->items[i];
      if (f->layer != (enum layer)layer) continue;
      html_text(out, "<tr><td class='mono'>", f->key, "</td><td class='v'>");
      if (f->status != FACT_READ) (void)buffer_printf(out, "<span class='dim'>%s:</span> ", fact_status_text(f->status));
      html_text(out, "", f->value, " ");
      html_text(out, "", f->unit, "</td><td class='dim v'>");
      html_text(out, "", f->source, "</td></tr>");
    }
    (void)buffer_text(out, "</table></details>");
  }
}

/* One table for each layer, the gravest first. */
static void put_difference_tables(struct buffer *out, const struct difference_list *list, const struct contract *contract, const char *a,
                                  const char *b) {
  int layer = -1;
  for (size_t i = 0; i < list->n_items; i++) {
    const struct difference *d = &list->items[i];
    if (!d->told) continue;
    if ((int)d->layer != layer) {
      if (layer >= 0) (void)buffer_text(out, "</table>");
      html_text(out, "<h3>", layer_text(d->layer), " <span class='dim'>");
      html_text(out, "", contract != NULL ? contract_owner(contract, d->layer) : layer_default_owner(d->layer),
                "</span></h3><table class='even'><tr><th scope='col'>fact</th><th scope='col'>");
      html_text(out, "", a, "</th><th scope='col'>");
      html_text(out, "", b, "</th><th scope='col'>matters</th></tr>");
    }
    layer = (int)d->layer;
    html_text(out, "<tr><td class='mono v'>", d->key, "</td><td class='v'>");
    html_text(out, "", d->a != NULL ? d->a : "-",
              d->order == VERSION_A_NEWER ? " <span class='dim'>newer</span></td><td class='v'>" : "</td><td class='v'>");
    html_text(out, "", d->b != NULL ? d->b : "-", d->order == VERSION_B_NEWER ? " <span class='dim'>newer</span></td><td>" : "</td><td>");
    html_text(out, "", weight_text(d->weight), "<br><span class='dim'>");
    html_text(out, "", d->reason, "</span></td></tr>");
  }
  if (layer >= 0) (void)buffer_text(out, "</table>");
}

bool html_diff(const struct difference_list *list, const char *a_name, const char *b_name, const struct contract *contract,
               struct buffer *ret) {
  html_page_begin(ret, "How two executors differ");
  html_text(ret, "<p>A: <span class='mono'>", a_name, "</span><br>");
  html_text(ret, "B: <span class='mono'>", b_name, "</span></p>");
  if (list->n_identity == 0) (void)buffer_text(ret, "<p>In no fact of their identity: the same executor, as far as it was seen.</p>");
  (void)buffer_text(ret, "<div class='cards'>");
  for (int layer = 0; layer < LAYER_COUNT; layer++) {
    if (list->n_identity_of[layer] + list->n_same[layer] == 0) continue;
    (void)buffer_printf(ret, "<div class='card'><b>%zu</b><span>of %zu facts differ: %s", list->n_identity_of[layer],
                        list->n_identity_of[layer] + list->n_same[layer], layer_text((enum layer)layer));
    html_text(ret, "<br>", contract != NULL ? contract_owner(contract, (enum layer)layer) : layer_default_owner((enum layer)layer),
              "</span></div>");
  }
  (void)buffer_text(ret, "</div>");
  if (list->n_holes > 0) (void)buffer_text(ret, "<h2>Not seen</h2><ul>");
  for (size_t i = 0; i < list->n_holes; i++) html_text(ret, "<li>", list->holes[i], "</li>");
  if (list->n_holes > 0) (void)buffer_text(ret, "</ul>");
  if (list->n_identity > 0) (void)buffer_text(ret, "<h2>Differences</h2>");
  put_difference_tables(ret, list, contract, "A", "B");
  (void)buffer_printf(ret,
                      "<p class='dim'>These are differences, not culprits: what one of them does is for a measurement to say. Made by "
                      "lynxbench %s.</p></main></body></html>\n",
                      LYNX_VERSION);
  return !ret->overflowed;
}

/* What else than the precision differs between the executors of two precisions? */
enum lynx_status html_differences(struct buffer *out, struct bundle *bundle, struct result *r, const struct fact_list *first,
                                  struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  for (size_t i = 1; i < r->n_precisions && status == LYNX_OK; i++) {
    struct fact_list facts = {0};
    struct difference_list differences;
    status = bundle_start_facts(bundle, r->precisions[i].name, &facts, error);
    if (status == LYNX_OK && facts.n_items > 0) {
      capture_diff(first, &facts, &differences);
      html_text(out, "<h3>How the executor at ", r->precisions[i].name, " differs</h3>");
      if (differences.n_identity == 0) (void)buffer_text(out, "<p class='dim'>In no fact of its identity.</p>");
      put_difference_tables(out, &differences, &r->contract, "there", "here");
      difference_list_release(&differences);
    }
    fact_list_release(&facts);
  }
  return status;
}
