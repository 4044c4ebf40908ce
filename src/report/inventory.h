/* report/inventory.h: a capture in the terms of others. What a format asks for and the capture does not know is named, not invented.
 * CycloneDX 1.6 (ML-BOM: model, server, libraries, distributions as components), MLPerf Inference's system description, Markdown */
#ifndef REPORT_INVENTORY_H
#define REPORT_INVENTORY_H

#include "base/buffer.h"
#include "base/fact.h"

/* fingerprint: of the whole capture, also where facts are withheld. */
bool inventory_cyclonedx(const struct fact_list *facts, const char *fingerprint, const char *taken_at, struct buffer *ret);
bool inventory_mlperf(const struct fact_list *facts, struct buffer *ret);
bool inventory_markdown(const struct fact_list *facts, const char *fingerprint, const char *taken_at, struct buffer *ret);

#endif
