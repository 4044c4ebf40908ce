#include "result/felt.h"

#include <math.h>

#include "result/conditions.h"
#include "stats/special.h"

/* Means over complete sessions. */
struct means {
  double lost, used, ended, peers, rate;
  bool whole; /* every session tells */
};

static struct means means_of(const struct result_precision *p) {
  struct means m = {.whole = p->n_complete > 0};
  double n = (double)p->n_complete;
  for (size_t i = 0; i < p->n_sessions; i++) {
    const struct result_session *s = &p->sessions[i];
    if (!s->complete) continue;
    m.whole = m.whole && isfinite(s->felt.lost) && isfinite(s->felt.used) && isfinite(s->felt.ended) && isfinite(s->felt.beside);
    m.lost += s->felt.lost / n;
    m.used += s->felt.used / n;
    m.ended += s->felt.ended / n;
    m.rate += s->request_rate / n;
  }
  m.peers = NAN; /* a short session may end before they were asked for */
  for (size_t i = 0; i < p->n_sessions; i++)
    if (p->sessions[i].complete) m.peers = fmax(m.peers, p->sessions[i].felt.n_peers);
  return m;
}

static const char *why_not(const struct means *a, const struct means *b) {
  static const double most_ended = 0.05;
  if (!a->whole || !b->whole)
    return "what the server felt of them is not known of every session (it runs elsewhere, or nothing was sampled)";
  if (isnan(a->peers) || isnan(b->peers))
    return "whether the server waits for other processes of this machine is not known: its sockets could not be read (root may)";
  if (a->peers > 0 || b->peers > 0) return "the server waits for other processes of this machine, which may have felt what it did not";
  if (a->ended > most_ended * a->used || b->ended > most_ended * b->used)
    return "the server works in threads that end, whose waits nobody knows";
  return NULL;
}

static void sides_of(const struct contract *contract, const struct result_precision *a, const struct result_precision *b, bool paired,
                     struct arena *arena, struct felt_sides *ret) {
  const struct means x = means_of(a), y = means_of(b);
  *ret = (struct felt_sides){.why_not = why_not(&x, &y), .paired = paired, .closed = load_is_closed((enum load_kind)contract->regime.load)};
  if (contract->regime.load == LOAD_SATURATION) ret->why_not = "a search's points are not judged so";
  if (ret->why_not != NULL) return;
  double each_x = x.used / x.rate, each_y = y.used / y.rate, rate = each_x > each_y ? x.rate : y.rate;
  ret->share_apart = x.rate > 0 && y.rate > 0 ? rate * fabs(each_x - each_y) : INFINITY;
  ret->text = arena_printf(arena, "its threads, together, waited for a processor or a disk %.2g s of each second in A and %.2g s in B",
                           x.lost, y.lost);
}

const struct felt_sides *felt_judge(const struct contract *contract, const struct result_precision *a, const struct result_precision *b,
                                    bool paired, struct arena *arena, const char **felt_text, const char **unlike_text) {
  const char *unlike = conditions_differ(contract, &a->conditions, &b->conditions, arena);
  if (unlike == NULL) return NULL;
  struct felt_sides *sides = arena_alloc(arena, 1, sizeof *sides);
  sides_of(contract, a, b, paired, arena, sides);
  if (sides->why_not == NULL) {
    if (*felt_text == NULL) *felt_text = arena_printf(arena, "%s. Judged by what the server felt: %s", unlike, sides->text);
    return sides;
  }
  if (*unlike_text == NULL) *unlike_text = arena_printf(arena, "%s. Not judged by what the server felt: %s", unlike, sides->why_not);
  return NULL;
}

static double besides(const struct felt_sides *sides, bool throughput) {
  if (sides->paired) return 0;
  bool bounded = sides->share_apart < 1 && ((throughput && sides->closed) || sides->share_apart <= FELT_SHARE_APART_MOST);
  return bounded ? -special_log(1 - sides->share_apart) : INFINITY;
}

struct covariance_comparison felt_compare(const struct felt_sides *sides, bool throughput, const struct felt_values *a,
                                          const struct felt_values *b, double margin, double confidence) {
  const struct covariance_sides s = {.a = a->x,
                                     .b = b->x,
                                     .n_a = a->n,
                                     .n_b = b->n,
                                     .n_conditions = sides->paired ? 2 : 1,
                                     .felt_a = {a->lost, a->beside},
                                     .felt_b = {b->lost, b->beside},
                                     .is_time = {throughput && sides->closed},
                                     .paired = sides->paired,
                                     .besides = besides(sides, throughput)};
  return covariance_compare(&s, margin, confidence);
}

const char *felt_figure_text(const struct covariance_comparison *c, struct arena *arena) {
  if (isnan(c->measured)) return "too few sessions";
  if (isinf(c->explained)) return arena_printf(arena, "measured as %.4g; what conditions did to it is not bounded", c->measured);
  return arena_printf(arena, "measured as %.4g, of which conditions explain at most %.3g %%", c->measured,
                      100 * (special_exp(c->explained) - 1));
}
