#include "report/audit_report.h"

#include <string.h>

#include "report/html_page.h"

static const char *verdict_of(const struct audit *a) {
  return a->n_failed > 0 ? "does not hold" : "holds, as far as it can be established";
}

bool text_audit(const struct audit *a, bool color, struct buffer *out) {
  out->shown = true;
  static const char *const colors[] = {[AUDIT_PASSED] = text_colors[TEXT_GOOD],
                                       [AUDIT_FAILED] = text_colors[TEXT_ALARM],
                                       [AUDIT_NOT_ESTABLISHED] = text_colors[TEXT_WARNING]};
  char safe[1200];
  (void)buffer_printf(out, "%s: %s\n", text_sanitise(safe, sizeof safe, a->subject, strlen(a->subject)), verdict_of(a));
  (void)buffer_printf(out, "%zu checks passed, %zu failed, %zu things were not established\n\n", a->n_passed, a->n_failed,
                      a->n_not_established);
  for (size_t i = 0; i < a->n_checks; i++) {
    const struct audit_check *c = &a->checks[i];
    (void)buffer_printf(out, "%s%-15s%s %-13s %s\n", color ? colors[c->verdict] : "", audit_verdict_text(c->verdict),
                        color ? text_colors[TEXT_PLAIN] : "", c->name, text_sanitise(safe, sizeof safe, c->text, strlen(c->text)));
  }
  return !out->overflowed;
}

bool json_audit(const struct audit *a, struct buffer *out) {
  struct json_writer json;
  json_begin_object(&json, out);
  json_put_text(&json, "subject", a->subject);
  json_put_bool(&json, "holds", a->n_failed == 0);
  json_put_int(&json, "passed", (int64_t)a->n_passed);
  json_put_int(&json, "failed", (int64_t)a->n_failed);
  json_put_int(&json, "not_established", (int64_t)a->n_not_established);
  json_key(&json, "checks");
  json_open_array(&json);
  for (size_t i = 0; i < a->n_checks; i++) {
    json_open_object(&json);
    json_put_text(&json, "check", a->checks[i].name);
    json_put_text(&json, "verdict", a->checks[i].verdict == AUDIT_FAILED ? "failed" : audit_verdict_text(a->checks[i].verdict));
    json_put_text(&json, "text", a->checks[i].text);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}

bool html_audit(const struct audit *a, const char *when, struct buffer *out) {
  static const char *const classes[] = {[AUDIT_PASSED] = "good", [AUDIT_FAILED] = "bad", [AUDIT_NOT_ESTABLISHED] = "dim"};
  static const char *const headings[] = {[AUDIT_PASSED] = "What was checked and holds",
                                         [AUDIT_FAILED] = "What does not hold",
                                         [AUDIT_NOT_ESTABLISHED] = "What could not be established"};
  static const enum audit_verdict order[] = {AUDIT_FAILED, AUDIT_PASSED, AUDIT_NOT_ESTABLISHED};
  html_page_begin(out, "Audit");
  html_text(out, "<p class='mono'>", a->subject, "</p>");
  html_text(out, "<p class='dim'>made ", when, " by lynxbench " LYNX_VERSION ", offline, from the record alone</p>");
  html_text(out, a->n_failed > 0 ? "<div class='claim no'><b>It " : "<div class='claim'><b>It ", verdict_of(a), ".</b> ");
  (void)buffer_printf(out, "%zu checks passed, %zu failed, %zu things were not established.</div>", a->n_passed, a->n_failed,
                      a->n_not_established);
  for (size_t k = 0; k < LYNX_COUNT(order); k++) {
    size_t n = order[k] == AUDIT_PASSED ? a->n_passed : order[k] == AUDIT_FAILED ? a->n_failed : a->n_not_established;
    if (n == 0) continue;
    html_text(out, "<h2>", headings[order[k]], "</h2><table>");
    for (size_t i = 0; i < a->n_checks; i++) {
      if (a->checks[i].verdict != order[k]) continue;
      (void)buffer_printf(out, "<tr><td class='%s'>", classes[order[k]]);
      html_text(out, "", a->checks[i].name, "</td>");
      html_text(out, "<td class='v'>", a->checks[i].text, "</td></tr>");
    }
    (void)buffer_text(out, "</table>");
  }
  return buffer_text(out, "</main></body></html>\n");
}
