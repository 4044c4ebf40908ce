#include "cli/show_claim.h"

#include <inttypes.h>
#include <string.h>

#include "report/answer_report.h"
#include "report/claim_json.h"
#include "report/standing_report.h"
#include "report/text.h"

/* Was a claim made for each precision that there could be one of? What this machine cannot do is reported, and is no failure. */
static bool all_made(const struct result *result, const struct claim *claims) {
  size_t n_made = 0, n_wanted = 0;
  for (size_t i = 0; i < result->n_precisions; i++) {
    n_made += claims[i].sentence != NULL;
    n_wanted += !result->precisions[i].unavailable;
  }
  return n_made == n_wanted && n_made > 0;
}

static void write_text(const struct answer *answer, const struct result *result, const struct claim *claims,
                       const struct standing *standing, struct buffer *out) {
  answer_text(answer, color_wanted(stdout), out);
  for (size_t i = 0; i < result->n_precisions; i++) {
    (void)buffer_text(out, "\n");
    (void)text_claim(result, &claims[i], color_wanted(stdout), out);
  }
  if (standing != NULL) (void)text_standing(standing, color_wanted(stdout), out);
  else if (result->contract.signatories.n_items > 0)
    (void)buffer_text(out, "\nNo ledger was asked (--ledger): whether its signatories agreed before the run, and who verified or "
                           "contested it, is not known.\n");
}

/* The ledger holds what the run really gave: whoever sends this file has taken its intent. */
static void refuse_rival(struct result *result, struct claim *claims, const struct standing *s) {
  const struct standing_rival *r = &s->rivals[0];
  const char *reason = arena_printf(&result->arena,
                                    "entry %" PRIu64
                                    " of the ledger %s, by %s, is another bundle (%.16s) under the intent that this one names: "
                                    "one run has one bundle; ask for that one",
                                    r->index, s->origin, r->by, r->bundle);
  for (size_t i = 0; i < result->n_precisions; i++) claim_refuse(result, &claims[i], reason);
}

int show_claim(struct bundle_file *file, const struct standing *standing, bool as_json) {
  struct buffer out;
  buffer_init(&out, 64 << 20);
  struct claim *claims = claim_build_all(&file->result);
  if (standing != NULL && standing->is_rival) refuse_rival(&file->result, claims, standing);
  struct answer answer;
  answer_of_result(&file->result, &answer);
  if (standing != NULL && standing->is_rival) answer_refuse(&answer, claims[0].reasons[0]);
  if (strstr(answer.next, "--claim") != NULL) answer.next = ""; /* it is below */
  if (as_json) (void)json_claims(&answer, claims, file->result.n_precisions, standing, &out);
  else write_text(&answer, &file->result, claims, standing, &out);
  bool good = write_buffer(NULL, &out); /* one that overflowed, too, is reported here */
  bool holds = all_made(&file->result, claims);
  buffer_release(&out);
  return !good ? EXIT_CONDITIONS : holds ? EXIT_HOLDS : EXIT_DOES_NOT_HOLD;
}
