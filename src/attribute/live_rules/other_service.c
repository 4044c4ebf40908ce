/* Threads that work on requests wait in a function of their own for something on the network: another service. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_bound.h"
#include "attribute/live_rule.h"
#include "executor/layer_map.h"

/* An event loop waits there for whatever comes; a thread for each request waits for what that request needs. */
static bool is_of_requests(const struct live *live, const struct live_lane *l) {
  return !l->main && l->n_threads >= 2 && 2 * (double)l->n_threads >= live->in_flight;
}

/* Does it wait in the project's own code, or in a package that asks other services? A server's own reader waits for the next request. */
static bool asks_a_service(const struct live_lane *l) {
  static const char *const clients[] = {"/requests/", "/urllib3/",  "/httpx/",   "/httpcore/",   "/grpc/",     "/redis/",
                                        "/psycopg/",  "/psycopg2/", "/pymongo/", "/sqlalchemy/", "/botocore/", "/elasticsearch/"};
  char file[256];
  enum layer layer;
  (void)snprintf(file, sizeof file, "%.*s", (int)strcspn(l->waits_where, ":"), l->waits_where);
  for (size_t i = 0; i < LYNX_COUNT(clients); i++)
    if (strstr(file, "-packages/") != NULL && strstr(file, clients[i]) != NULL) return true;
  return layer_of_python_file(file, &layer) == PYTHON_FILE_KNOWN && layer == LAYER_APPLICATION;
}

static double waiting_share(const struct live_lane *l) {
  return l->waits[WAIT_NETWORK] / fmax(l->present - l->ready, 1e-9); /* waits for a processor are the load's */
}

static bool apply(const struct live *live, struct finding *ret) {
  const struct live_lane *best = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    bool works = l->running >= 0.01 && l->running >= 0.1 * live->at.running,
         named = l->waits_in[0] != 0 && l->waits_share >= 0.3 * l->waits[WAIT_NETWORK] && asks_a_service(l);
    if (!works || !named || !is_of_requests(live, l) || l->waits[WAIT_NETWORK] < 0.1 || waiting_share(l) < 0.2) continue;
    if (best == NULL || l->waits[WAIT_NETWORK] > best->waits[WAIT_NETWORK]) best = l;
  }
  if (best == NULL) return false;
  ret->share = fmin(1, waiting_share(best));
  (void)snprintf(ret->process, sizeof ret->process, "%s", best->program);
  (void)snprintf(ret->named, sizeof ret->named, "%.80s (%.140s)", best->waits_in, best->waits_where);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the %lld threads of %.40s that work on requests wait for the network %.0f %% of the time that they are not ready to run, "
                 "most in %.200s",
                 (long long)best->n_threads, best->program, 100 * ret->share, ret->named);
  live_bound(live, &(struct live_work){.processors = 0}, ret);
  return true;
}

const struct live_rule live_rule_other_service;
const struct live_rule live_rule_other_service = {
    .name = "other_service",
    .summary = "threads that work on requests wait for the network",
    .threshold = "20 % of the time that they are not ready to run, in as many threads as half of the requests in flight, and one function "
                 "of the project's own, or of a package that asks services, that was seen waiting for 30 % of that",
    .apply = apply,
    .found = {.title = "Requests wait for another service",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SYSTEM),
              .open = "which service that is, and whether it is slow or far away; or whether it is the next request that is waited for",
              .next = "measure that service by itself; ask it less often, for several requests at once, or before its answer is needed",
              .confirm = "answer that call from memory and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
