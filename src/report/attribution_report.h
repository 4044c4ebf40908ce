/* report/attribution_report.h: the time account of traces, for a terminal, as a page, as JSON, as folded stacks and as a Chrome trace. */
#ifndef REPORT_ATTRIBUTION_REPORT_H
#define REPORT_ATTRIBUTION_REPORT_H

#include "attribute/attribution.h"
#include "contract/contract.h"

struct attribution_view {
  const struct attribution *attribution;
  const struct attribution_change *change; /* where there is one */
  const struct contract *contract;         /* whose owners are named; NULL: the usual ones */
  size_t top;                              /* how many names are listed */
  const struct link_speeds *links;         /* of the machine; NULL: not told */
  bool inside;                             /* as HTML: what goes into another page: no head, no style, no end */
};

bool attribution_text(const struct attribution_view *view, bool color, struct buffer *ret);
bool attribution_json(const struct attribution_view *view, struct buffer *ret);
bool attribution_html(const struct attribution_view *view, struct buffer *ret);
/* One slice for every stretch of the account, by layer: opens in Perfetto or chrome://tracing. */
bool attribution_chrome(const struct attributed_trace *trace, const struct account_options *options, struct buffer *ret);

/* How a terminal begins such text; empty where there are no colours. */
struct colours {
  const char *strong, *dim, *bad, *plain;
};
struct colours colours_of(bool color);

const char *attribution_layer_owner(const struct attribution_view *view, enum layer layer);
/* Owner of a part of the window: a team, or who else. Never NULL. */
const char *attribution_owner(const struct attribution_view *view, const struct attribution_cause *cause);
const char *attribution_layer(const struct attribution_cause *cause); /* "-" where it is no layer's */
/* "computing: attention", "idle while the host runs Python outside operators". */
const char *attribution_words(bool on_host, enum account_state state, char *text, size_t size);
/* Of a state in the change of two arms: Python belongs to several layers, which stand in a list of their own. */
const char *attribution_state_layer(const struct account *account, enum account_state state);
const char *attribution_state_owner(const struct attribution_view *view, const struct account *account, enum account_state state);
/* One sentence: is it bound by the hardware or by software? */
void attribution_verdict(const struct attributed_trace *trace, char *text, size_t size);

/* What a reader must know beside the figures, a line each: "- ...", the first perhaps "! ...", a warning. */
void attribution_notes(const struct attribution *attribution, const struct attributed_trace *trace, struct buffer *ret);

#endif
