/* decide/cost.h: what the work of a run costs, and which of two executors costs less for the same work.
 *
 * Useful     what a run gives each second: output tokens of the answers that ended in the window and met every objective; of a search those
 *            of its certificate's passing load; such requests where answers hold no tokens
 * Million    price per hour / (3600 x useful x sold) x 10^6. All of the price is put on what is written; what is read is reported beside it
 * Interval   of logarithms, each as it is, by the root of the sum of squares: the error of the price; the interval of `useful` over the
 *            sessions, no narrower than a request of a window; of a certificate also the resolution and the load that failed
 * Break-even the price of B at which both cost the same: A's price x B's useful / A's, x the shares sold
 * Refused    what supports no claim has no price; and what is bought must be alike: table of reasons in cost.c
 * Source     ../docs/decide.md, «What it costs» */
#ifndef DECIDE_COST_H
#define DECIDE_COST_H

#include "result/result.h"

struct cost_price {
  double per_hour;               /* > 0 */
  double error;                  /* as a share: 0.05 is +-5 % */
  double sold;                   /* the share of the hours that is used: 0 < sold <= 1 */
  const char *currency, *source; /* "" where nobody says */
  bool of_other;                 /* nobody states one of this run: it is that of the other */
};

struct cost_side {
  struct cost_price price;
  struct interval useful;  /* each second */
  struct interval million; /* of the currency */
  struct interval joules;  /* for each, by the power that the contract states; NAN without it */
  const char *unit;        /* "output tokens", "requests" */
  const char *point;       /* at which load, in words */
  double read_per_written; /* prompt tokens for each output token; NAN: not known */
  bool certified;          /* at the load of a certificate */
  bool can_be_certified;   /* an open or closed load, whose greatest could be searched */
  double cache_hits;       /* of prompts, as the server tells; NAN */
  bool has_objectives;
};

/* Why there is no figure, or nothing to compare, and what would help; why NULL: there is one. In the arena. */
struct cost_doubt {
  const char *why, *next;
};
struct cost_doubt cost_of_run(struct result *result, const struct cost_price *price, struct arena *arena, struct cost_side *ret);

enum cost_decision { COST_B_LESS, COST_B_MORE, COST_NOT_DECIDED };

struct cost_comparison {
  enum cost_decision decision;
  struct interval useful_ratio; /* B / A */
  struct interval cost_ratio;   /* B / A, for the same work */
  struct interval break_even;   /* price of B per hour */
  bool same_source;             /* one source, or one price: the errors of the prices cancel */
};

struct cost_doubt cost_compare(const struct result *a, const struct result *b, const struct cost_side *side_a,
                               const struct cost_side *side_b, struct arena *arena, struct cost_comparison *ret);

#endif
