#include "result/arrivals.h"

/* Requests per second in millionths: an integer, so that the schedule is the same on every machine. */
static uint64_t micro(double per_s) {
  return (uint64_t)(per_s * 1e6 + 0.5);
}

bool arrivals_plan(const struct contract *contract, const struct arrivals_session *session, struct schedule_plan *ret) {
  const struct contract_regime *r = &contract->regime;
  *ret = (struct schedule_plan){.kind = SCHEDULE_CLOSED,
                                .rate_micro = micro(session->rate_per_s),
                                .length_ns = session->warm_up_ns + session->counted_ns + contract->method.drain_ns,
                                .seed = (uint64_t)session->seed,
                                .shape = r->burst_shape};
  switch (session->load) {
    case LOAD_CONSTANT: ret->kind = SCHEDULE_CONSTANT; return true;
    case LOAD_POISSON: ret->kind = SCHEDULE_POISSON; return true;
    case LOAD_BURSTY: ret->kind = SCHEDULE_GAMMA; return true;
    case LOAD_SATURATION: ret->kind = r->search.arrivals == SEARCH_CONSTANT ? SCHEDULE_CONSTANT : SCHEDULE_POISSON; return true;
    case LOAD_RAMP:
      ret->kind = SCHEDULE_RAMP;
      ret->to_rate_micro = micro(r->to_per_s);
      ret->ramp_ns = session->warm_up_ns + session->counted_ns;
      return true;
    default: return false;
  }
}
