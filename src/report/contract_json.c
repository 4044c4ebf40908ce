#include "report/contract_json.h"

#include "base/json.h"

bool json_problems(const struct contract *contract, const struct problem_list *problems, struct buffer *ret) {
  struct json_writer json;
  char digest[DIGEST_HEX];
  bool valid = problems->n_errors == 0;
  if (valid) contract_digest(contract, digest);
  json_begin_object(&json, ret);
  json_put_text(&json, "digest", valid ? digest : NULL);
  json_put_text(&json, "grade", valid ? grade_text(contract_grade(problems)) : NULL);
  json_key(&json, "problems");
  json_open_array(&json);
  for (size_t i = 0; i < problems->n_items; i++) {
    const struct problem *p = &problems->items[i];
    json_open_object(&json);
    json_put_text(&json, "kind", problem_kind_text(p->kind));
    json_put_int(&json, "line", p->line);
    json_put_text(&json, "field", p->field);
    json_put_text(&json, "found", p->found);
    json_put_text(&json, "accepted", p->accepted);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}
