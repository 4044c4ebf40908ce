/* report/sensitivity_report.h: what a perturbed run says, for people and for programs. */
#ifndef REPORT_SENSITIVITY_REPORT_H
#define REPORT_SENSITIVITY_REPORT_H

#include "base/json.h"
#include "experiment/sensitivity.h"

/* unprobed: what could not be perturbed, and why; n of them. */
bool sensitivity_text(const struct sensitivities *sensitivities, const struct contract *contract, const char *const *unprobed, size_t n,
                      bool color, struct buffer *ret);
void sensitivity_json(const struct sensitivities *sensitivities, const struct contract *contract, const char *const *unprobed, size_t n,
                      struct json_writer *json);

/* How many blocks, of which length, and what is answered in them. */
void sensitivity_blocks_text(const struct sensitivities *sensitivities, struct buffer *ret);

/* "0.81 [0.74, 0.88]", or without an interval; of what was taken away "x 1.62 [1.5, 1.75]". size >= 64 */
char *sensitivity_slope_text(char *text, size_t size, const struct slope *slope, bool is_ratio);

#endif
