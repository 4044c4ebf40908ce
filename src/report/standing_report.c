#include "report/standing_report.h"

#include <inttypes.h>
#include <string.h>

#include "report/html_page.h"

static void put_clean(struct buffer *out, const char *text) {
  char safe[600];
  (void)buffer_text(out, text_sanitise(safe, sizeof safe, text, strlen(text)));
}

static const struct standing_signature *signature_by(const struct standing *s, const char *team) {
  for (size_t i = 0; i < s->n_signatures; i++)
    if (strcmp(s->signatures[i].team, team) == 0) return &s->signatures[i];
  return NULL;
}

static void put_missing(const struct standing *s, struct buffer *out) {
  for (size_t i = 0; i < s->n_missing; i++) {
    (void)buffer_text(out, i == 0 ? ": not signed before it by " : ", ");
    put_clean(out, s->missing[i]);
    if (signature_by(s, s->missing[i]) != NULL) (void)buffer_text(out, " (who signed, but not demonstrably before)");
  }
}

bool standing_sentence(const struct standing *s, struct buffer *out) {
  char origin[NOTE_NAME_MAX];
  (void)buffer_printf(out, "By the ledger %s at %" PRIu64 " entries: ", text_sanitise(origin, sizeof origin, s->origin, strlen(s->origin)),
                      s->n_entries);
  if (!s->recorded) (void)buffer_text(out, "this bundle is not in it; ");
  if (s->n_rivals > 0)
    (void)buffer_printf(out, "%zu OTHER BUNDLE%s ENTERED UNDER THE SAME INTENT, and a run has one; ", s->n_rivals,
                        s->n_rivals == 1 ? " WAS" : "S WERE");
  (void)buffer_printf(out, "the contract %s%s", s->agreement == AGREEMENT_NOBODY ? "" : "was ", agreement_text(s->agreement));
  put_missing(s, out);
  size_t n_reserved = 0;
  for (size_t i = 0; i < s->n_signatures; i++) n_reserved += s->signatures[i].reservation[0] != 0;
  if (n_reserved > 0) (void)buffer_printf(out, ", with %zu reservation%s", n_reserved, LYNX_S(n_reserved));
  (void)buffer_printf(out, "; %zu run%s of it started, %zu sealed, %zu abandoned", s->n_started, LYNX_S(s->n_started), s->n_sealed,
                      s->n_abandoned);
  if (s->n_verifications == 0) (void)buffer_text(out, "; no other team has verified it yet");
  else
    (void)buffer_printf(out, "; reproduced by %zu, not reproduced by %zu, inconclusive %zu", s->n_reproduced, s->n_not_reproduced,
                        s->n_inconclusive);
  if (s->n_contests > 0) (void)buffer_printf(out, "; %zu contest%s, %zu open", s->n_contests, LYNX_S(s->n_contests), s->n_open);
  return buffer_text(out, ".");
}

static void put_reservation(struct buffer *out, const char *text) {
  if (text[0] == 0) return;
  (void)buffer_text(out, ", with the reservation: ");
  put_clean(out, text);
}

bool text_standing(const struct standing *s, bool color, struct buffer *out) {
  out->shown = true;
  const char *bold = color ? text_colors[TEXT_STRONG] : "", *plain = color ? text_colors[TEXT_PLAIN] : "";
  (void)buffer_printf(out, "\n%sStanding%s\n", bold, plain);
  (void)standing_sentence(s, out);
  (void)buffer_text(out, "\n");
  for (size_t i = 0; i < s->n_signatures; i++) {
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", s->signatures[i].index);
    put_clean(out, s->signatures[i].team);
    (void)buffer_text(out, s->signatures[i].before_run ? " signed the contract before this run"
                                                       : " signed the contract; not demonstrably before this run");
    put_reservation(out, s->signatures[i].reservation);
    (void)buffer_text(out, "\n");
  }
  if (s->recorded) {
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", s->index);
    put_clean(out, s->recorded_by);
    (void)buffer_text(out, " recorded this bundle\n");
  }
  for (size_t i = 0; i < s->n_rivals; i++) {
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", s->rivals[i].index);
    put_clean(out, s->rivals[i].by);
    (void)buffer_printf(out, " recorded another bundle, %.16s, under the same intent\n", s->rivals[i].bundle);
  }
  for (size_t i = 0; i < s->n_bundle_signatures; i++) {
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", s->bundle_signatures[i].index);
    put_clean(out, s->bundle_signatures[i].team);
    (void)buffer_text(out, " signed this bundle");
    put_reservation(out, s->bundle_signatures[i].reservation);
    (void)buffer_text(out, "\n");
  }
  for (size_t i = 0; i < s->n_verifications; i++) {
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", s->verifications[i].index);
    put_clean(out, s->verifications[i].by);
    (void)buffer_text(out, " verified: ");
    put_clean(out, s->verifications[i].decision);
    (void)buffer_text(out, strcmp(s->verifications[i].by, s->recorded ? s->recorded_by : "") == 0 ? " (its own result)\n" : "\n");
  }
  for (size_t i = 0; i < s->n_contests; i++) {
    const struct standing_contest *c = &s->contests[i];
    (void)buffer_printf(out, "  entry %-6" PRIu64 " ", c->index);
    put_clean(out, c->by);
    (void)buffer_text(out, " contests the ");
    put_clean(out, c->ground);
    (void)buffer_text(out, ": ");
    put_clean(out, c->text);
    (void)buffer_text(out, c->closed != NULL ? "; closed: " : "; open");
    if (c->closed != NULL) put_clean(out, c->closed);
    (void)buffer_text(out, "\n");
  }
  return !out->overflowed;
}

static void json_signatures(struct json_writer *json, const char *key, const struct standing_signature *items, size_t n) {
  json_key(json, key);
  json_open_array(json);
  for (size_t i = 0; i < n; i++) {
    json_open_object(json);
    json_put_text(json, "by", items[i].team);
    json_put_int(json, "entry", (int64_t)items[i].index);
    json_put_text(json, "reservation", items[i].reservation);
    json_put_bool(json, "before_run", items[i].before_run);
    json_close(json);
  }
  json_close(json);
}

void json_standing(const struct standing *s, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "ledger", s->origin);
  json_put_int(json, "entries", (int64_t)s->n_entries);
  json_put_bool(json, "recorded", s->recorded);
  if (s->recorded) json_put_int(json, "entry", (int64_t)s->index);
  json_put_text(json, "agreement", agreement_text(s->agreement));
  json_put_bool(json, "agreed", s->agreement == AGREEMENT_BY_ORDER || s->agreement == AGREEMENT_WITNESSED);
  json_put_bool(json, "witnessed", s->agreement == AGREEMENT_WITNESSED);
  json_key(json, "rivals");
  json_open_array(json);
  for (size_t i = 0; i < s->n_rivals; i++) {
    json_open_object(json);
    json_put_text(json, "by", s->rivals[i].by);
    json_put_text(json, "bundle", s->rivals[i].bundle);
    json_put_int(json, "entry", (int64_t)s->rivals[i].index);
    json_close(json);
  }
  json_close(json);
  json_key(json, "missing");
  json_open_array(json);
  for (size_t i = 0; i < s->n_missing; i++) json_text(json, s->missing[i]);
  json_close(json);
  json_signatures(json, "contract_signatures", s->signatures, s->n_signatures);
  json_signatures(json, "bundle_signatures", s->bundle_signatures, s->n_bundle_signatures);
  json_put_int(json, "runs_started", (int64_t)s->n_started);
  json_put_int(json, "runs_sealed", (int64_t)s->n_sealed);
  json_put_int(json, "runs_abandoned", (int64_t)s->n_abandoned);
  json_key(json, "verifications");
  json_open_array(json);
  for (size_t i = 0; i < s->n_verifications; i++) {
    json_open_object(json);
    json_put_text(json, "by", s->verifications[i].by);
    json_put_text(json, "decision", s->verifications[i].decision);
    json_put_int(json, "entry", (int64_t)s->verifications[i].index);
    json_close(json);
  }
  json_close(json);
  json_key(json, "contests");
  json_open_array(json);
  for (size_t i = 0; i < s->n_contests; i++) {
    const struct standing_contest *c = &s->contests[i];
    json_open_object(json);
    json_put_text(json, "by", c->by);
    json_put_text(json, "ground", c->ground);
    json_put_text(json, "text", c->text);
    json_put_text(json, "layer", c->layer);
    json_put_text(json, "owner", c->owner);
    json_put_text(json, "entry_digest", c->leaf);
    json_put_int(json, "entry", (int64_t)c->index);
    json_put_text(json, "closed", c->closed);
    json_close(json);
  }
  json_close(json);
  json_close(json);
}

static void html_row(struct buffer *out, uint64_t index, const char *by, const char *what, const char *detail) {
  (void)buffer_printf(out, "<tr><td>%" PRIu64 "</td>", index);
  html_text(out, "<td>", by, "</td>");
  html_text(out, "<td>", what, "");
  html_text(out, detail[0] != 0 ? ": " : "", detail, "</td></tr>");
}

void html_standing(const struct standing *s, struct buffer *out) {
  struct buffer sentence;
  buffer_init(&sentence, 65536);
  (void)standing_sentence(s, &sentence);
  (void)buffer_text(out, "<h2>Standing</h2>");
  html_text(out,
            s->n_open > 0 || s->n_not_reproduced > 0 || s->agreement == AGREEMENT_MISSING || s->agreement == AGREEMENT_UNANSWERED ||
                    s->is_rival
                ? "<p class='bad'>"
                : "<p>",
            sentence.data != NULL ? sentence.data : "", "</p>");
  buffer_release(&sentence);
  (void)buffer_text(out, "<table><tr><th scope='col'>entry</th><th scope='col'>team</th><th scope='col'></th></tr>");
  for (size_t i = 0; i < s->n_signatures; i++) {
    bool reserved = s->signatures[i].reservation[0] != 0;
    html_row(out, s->signatures[i].index, s->signatures[i].team,
             s->signatures[i].before_run
                 ? reserved ? "signed the contract before this run, with the reservation" : "signed the contract before this run"
             : reserved ? "signed the contract, not demonstrably before this run, with the reservation"
                        : "signed the contract, not demonstrably before this run",
             s->signatures[i].reservation);
  }
  if (s->recorded) html_row(out, s->index, s->recorded_by, "recorded this bundle", "");
  for (size_t i = 0; i < s->n_bundle_signatures; i++)
    html_row(out, s->bundle_signatures[i].index, s->bundle_signatures[i].team, "signed this bundle", s->bundle_signatures[i].reservation);
  for (size_t i = 0; i < s->n_verifications; i++)
    html_row(out, s->verifications[i].index, s->verifications[i].by, "verified", s->verifications[i].decision);
  for (size_t i = 0; i < s->n_contests; i++) {
    const struct standing_contest *c = &s->contests[i];
    html_row(out, c->index, c->by, c->closed != NULL ? "contested; closed" : "contests; open", c->text);
    if (c->closed != NULL) html_text(out, "<tr><td></td><td></td><td class='dim'>", c->closed, "</td></tr>");
  }
  (void)buffer_text(out, "</table>");
}
