/* stats/saturation.h: which load is sustained, and the search for the greatest one.
 *
 * Sustained  completions keep up with arrivals: the backlog's growth, as a share of the arrivals, is not above zero. Read from equal parts
 *            of the windows, in two ways. By arrivals less completions: their changes are independent of one another under overload, so
 *            that a t interval holds; below it they pull back, and the variance of their sum is the long-run one (Newey and West 1987,
 *            Bartlett's weights). By completions against the arrivals that the schedule makes expect: under overload these vary by service
 *            times only, not by arrivals. The lower end is the higher of both ways', the upper end that of the first
 *            Not sustained: the whole interval is above an eighth of the resolution, or above zero with an estimate above half
 *            of it. Sustained: it is below half. Between the two more is measured, and at last the estimate decides
 * Search     doubling until a load fails (or `to` passes), halving below the first if that fails. What an overloaded executor completes is
 *            its capacity: the next loads lie about that, else between the greatest that passes and the least that fails. Both loads of the
 *            bracket are then measured again, in turn, for the certificate. All verdicts are kept: where two contradict one another the
 *            split of loads that contradicts the fewest is believed, and the others are measured again
 * Needs      arrivals_needed(resolution): a load of 1 + resolution times the capacity leaves resolution/2 above the threshold with
 *            98.75 % certainty where gaps and service times vary like exponential ones; more even traffic needs fewer
 * Limits     the passing and the failing load are measured, the capacity between them is not. That an executor completes as much under
 *            overload as it can sustain is only where the search looks next: no verdict rests on it */
#ifndef STATS_SATURATION_H
#define STATS_SATURATION_H

#include <stdbool.h>
#include <stddef.h>

enum load_verdict { LOAD_SUSTAINED, LOAD_NOT_SUSTAINED, LOAD_UNDECIDED };

struct growth {
  double estimate, low, high; /* backlog growth as a share of the arrivals */
  size_t n_parts;
  double completed, completed_error; /* completions as a share of the expected arrivals; its standard error */
};

/* What happened in equal parts of windows that began alike. */
struct load_parts {
  const double *changes, *completions; /* n_windows * n_parts; changes: arrivals less completions */
  size_t n_windows, n_parts;
  double n_arrivals; /* in all of them */
  double expected;   /* in one part, by the schedule's rate */
};

/* Fewer arrivals than that say nothing of a load: one that comes late is a backlog of a twentieth already. */
enum { GROWTH_ARRIVALS_LEAST = 20 };
/* Answers that a window must have room for, one behind the other: slots that fill together are done together, and a shorter window sees
 * all of them end, or none. */
enum { WINDOW_ANSWERS_LEAST = 2 };

/* Of fewer than GROWTH_ARRIVALS_LEAST: from -INFINITY to INFINITY. */
struct growth growth_of(const struct load_parts *parts, double confidence);

/* final: no more will be measured, so an undecided load is decided by the estimate, if there are arrivals enough for one. */
enum load_verdict growth_verdict(const struct growth *growth, double resolution, bool final);

double saturation_arrivals_needed(double resolution);
/* And the other way round: what so many arrivals separate. */
double saturation_resolution(double n_arrivals);

/* Windows of so many arrivals each that a search and its certificate take, about: fitted to docs/simulation.txt, where services that vary
 * like exponential ones take up to 1.6 times as many. */
double saturation_windows_needed(double n_arrivals, double resolution, size_t sessions);
/* The finest of the resolution that is wanted, a tenth and a fifth that so many windows most often allow; the coarsest, if none. */
double saturation_affordable(double wanted, double n_arrivals, size_t sessions, double n_windows);
/* The finest of them that two loads so far apart reach, of which the lower one's backlog may grow by `growth`; INFINITY: none. */
double saturation_reached(double wanted, double apart, double growth);

/* --- the search --- */

enum search_end { SEARCH_GOES_ON, SEARCH_FOUND, SEARCH_NOT_SATURATED, SEARCH_NOTHING_SUSTAINED, SEARCH_TOO_LONG };

enum { SEARCH_POINTS_MAX = 60, SEARCH_WINDOWS_MAX = 8192, SEARCH_LOOKS_AGAIN = 3 };

/* What all windows of one load and purpose say together. */
struct load_seen {
  size_t n_windows;
  bool decided;           /* by the interval or an objective; else by the estimate so far */
  bool sure;              /* the whole interval, of the growth or of an objective, says so: it is worth more where verdicts contradict */
  bool sustained;         /* by the estimate where it is not decided */
  bool holds;             /* it is sustained, and nothing of the resolution's size is left open */
  double capacity, error; /* completions/s, and their standard error, where the backlog grows; 0: unknown */
};

struct saturation_point {
  double load;
  struct load_seen search, certificate; /* the certificate's windows are its own, and what counts where there are any */
};

struct saturation_search {
  double from, to, resolution; /* resolution: of the bracket. It may be made coarser between two windows */
  size_t looks, sessions;      /* windows of one load until its estimate decides; of each load of the certificate */
  struct saturation_point points[SEARCH_POINTS_MAX];
  size_t n_points, n_windows;
  double trying;           /* the load being decided; 0: none */
  double passing, failing; /* the bracket of the newest certificate; 0: none. Of `to` alone failing is 0 */
  double again;            /* a load that others contradict: more windows of the kind that it has; n_again: how many still */
  bool again_certify;
  size_t n_again;
  size_t turn;    /* of its windows */
  bool certified; /* both were measured again, and nothing contradicts them */
};

struct load_asked {
  double load;
  bool certify;
};

/* The window to run next; what ended it instead, where that is not SEARCH_GOES_ON. */
enum search_end saturation_next(struct saturation_search *search, struct load_asked *ret);
/* What all windows of that load and purpose say, the last one included. */
void saturation_tell(struct saturation_search *search, const struct load_asked *asked, const struct load_seen *seen);
/* By what was completed where the backlog grew, requests/s; 0: no load has shown it. */
double saturation_capacity(const struct saturation_search *search);
/* Ends a certificate with that window, if it holds? */
bool saturation_is_last(const struct saturation_search *search, const struct load_asked *asked);

#endif
