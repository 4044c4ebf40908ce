#include "drivers/answer.h"

#include <stdio.h>
#include <string.h>

void answer_begin(struct answer *answer, const struct http_parser *http, uint32_t slot, size_t input, unsigned flags) {
  *answer = (struct answer){.slot = slot,
                            .input = input,
                            .http = http,
                            .written_ns = -1,
                            .end = {.outcome = OUTCOME_OK, .prompt_tokens = -1, .output_tokens = -1, .flags = flags}};
}

void answer_add_phase(struct answer *answer, const char *name, int64_t from_ns, int64_t took_ns) {
  size_t i = 0;
  while (i < answer->end.n_phases && strcmp(answer->phases[i].name, name) != 0) i++;
  if (i == ANSWER_PHASES || took_ns < 0) return;
  if (i == answer->end.n_phases) answer->end.n_phases++;
  answer->phases[i] = (struct answer_phase){.from_ns = from_ns, .took_ns = took_ns}; /* told again: it was not over then */
  (void)snprintf(answer->phases[i].name, sizeof answer->phases[i].name, "%s", name);
  answer->end.phases = answer->phases;
}
