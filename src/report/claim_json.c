#include "report/claim_json.h"

#include "base/json.h"
#include "report/standing_report.h"

static void put_claim(const struct answer *answer, const struct claim *claim, const struct standing *standing, struct json_writer *json) {
  json_open_object(json);
  json_put_text(json, "question", answer->question);
  json_put_text(json, "answer", answer->sentence);
  json_put_text(json, "answer_state", answer_state_text(answer->state));
  json_put_text(json, "precision", claim->precision);
  json_put_text(json, "claim", claim->sentence);
  json_put_texts(json, "refused_because", claim->reasons, claim->n_reasons);
  json_put_texts(json, "not_established", claim->caveats, claim->n_caveats);
  json_key(json, "rules");
  json_open_array(json);
  for (size_t k = 0; k < CLAIM_RULES; k++) {
    json_open_object(json);
    json_put_text(json, "rule", claim->rules[k].rule);
    json_put_text(json, "verdict", rule_verdict_text(claim->rules[k].verdict));
    json_put_text(json, "text", claim->rules[k].text);
    json_close(json);
  }
  json_close(json);
  if (standing != NULL) {
    json_key(json, "standing");
    json_standing(standing, json);
  }
  json_close(json);
}

bool json_claims(const struct answer *answer, const struct claim *claims, size_t n, const struct standing *standing, struct buffer *ret) {
  struct json_writer json;
  json_begin(&json, ret);
  json_open_array(&json);
  for (size_t i = 0; i < n; i++) put_claim(answer, &claims[i], standing, &json);
  return json_end_line(&json);
}
