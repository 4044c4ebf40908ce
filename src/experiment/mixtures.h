/* experiment/mixtures.h: sessions of mixtures of two executors, as they are in a bundle, one after the other.
 *
 * A session's block names the facts that it had of B. Whoever planned the sessions asks for them again, in the same order.
 * Figure   ln of the throughput of a session's counted window; under an open load, which sends as much whatever is answered, the negative
 *          of ln of the median end-to-end latency. More is better in both */
#ifndef EXPERIMENT_MIXTURES_H
#define EXPERIMENT_MIXTURES_H

#include "experiment/sensitivity.h"
#include "stats/rounds.h"

enum { MIXTURE_SESSIONS_MAX = 100000 };

/* What is known of all sessions that were asked for. */
struct mixtures_seen {
  enum response response;
  bool tokens;           /* a throughput is of tokens; else of answers */
  double seconds;        /* of all counted windows */
  const char *failed;    /* why the first mixture that was asked for and did not run did not; NULL: all did */
  uint64_t failed_facts; /* of that mixture */
};

struct mixtures {
  struct bundle *bundle;
  const struct contract *contract;
  struct arena *arena;
  struct mixture_session *sessions;
  size_t n, room, at;
  struct mixtures_seen seen;
};

/* Texts go into the arena. mixtures_close follows in every case. */
enum lynx_status mixtures_open(struct bundle *bundle, const struct contract *contract, struct arena *arena, struct mixtures *ret,
                               struct lynx_error *error) LYNX_MUST_CHECK;
void mixtures_close(struct mixtures *mixtures);
/* Without those behind that id. */
void mixtures_until(struct mixtures *mixtures, int64_t last);

/* A measure_facts of struct mixtures. No more: there is no further session, or it is not one of these facts. Cannot run: it was tried
 * twice, and did not run or answered nothing. */
enum measured mixtures_next(void *mixtures, uint64_t facts, int64_t round, struct session_figure *ret);

/* The target of a session's block: "facts: 1 4", numbers from 1; "" for A itself. */
void mixture_target(uint64_t facts, char ret[TARGET_NAME]);
/* NaN: nothing was answered. */
struct session_figure mixture_figure(const struct session_response *response);
/* What a mean of figures is: tokens or answers each second, or seconds. */
double mixture_level(enum response response, double figure);

#endif
