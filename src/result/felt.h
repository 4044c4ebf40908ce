/* result/felt.h: two sides whose surroundings were unlike, judged by what the server felt of them.
 *
 * What neighbours use is no condition of a server that does not feel it: one that waits for its model's timer runs on, whatever else computes.
 * So the sides are compared by the analysis of covariance, with what each session's server lost (struct result_felt) as the condition.
 * Time      while none of its threads waits for a processor a server gets on as ever, so that it loses of a closed loop's throughput at most
 *           the share of time that its threads lost together
 * Besides   neighbours also slow what runs, by caches, memory and the other half of a core, without any wait. Side by side (paired) that is
 *           a second condition: the machine's other use. Else it is bounded by what an answer took of the processors on either side: the
 *           lost share x = answers/s * the difference costs at most -ln(1 - x) of a closed loop's throughput. Of latencies, and of open
 *           loops, where queues multiply it, nothing is known of more than SHARE_APART_MOST
 * Not so    where a session lacks such figures; where the server waits for other processes of this machine, which feel for themselves; where
 *           threads came and ended (processors of theirs above a twentieth of all); in searches for saturation */
#ifndef RESULT_FELT_H
#define RESULT_FELT_H

#include "result/result.h"
#include "stats/covariance.h"

#define FELT_SHARE_APART_MOST 0.01

struct felt_sides {
  const char *why_not; /* the conditions cannot be judged by what was felt; NULL: they can */
  const char *text;    /* "its threads lost 0.31 s of each second in A, 0.002 s in B" */
  double share_apart;  /* x, above */
  bool closed, paired;
};

/* The sides, where their conditions differ and can be judged so; else NULL. The first sentence of each kind stays:
 * felt_text «<what differs>. Judged by …», unlike_text «<what differs>. Not judged …» (both NULL before the first call). */
const struct felt_sides *felt_judge(const struct contract *contract, const struct result_precision *a, const struct result_precision *b,
                                    bool paired, struct arena *arena, const char **felt_text, const char **unlike_text);

/* One figure's values of the sessions, and what each felt. */
struct felt_values {
  const double *x, *lost, *beside;
  size_t n;
};
struct covariance_comparison felt_compare(const struct felt_sides *sides, bool throughput, const struct felt_values *a,
                                          const struct felt_values *b, double margin, double confidence);

/* "measured as 1.4, of which conditions can explain up to 38 %" */
const char *felt_figure_text(const struct covariance_comparison *comparison, struct arena *arena);

#endif
