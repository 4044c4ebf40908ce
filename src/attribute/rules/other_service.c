/* Threads that work on requests wait in a function of their own for something on the network: another service. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_asks.h"
#include "attribute/live_bound.h"
#include "attribute/live_shape.h"
#include "attribute/rule.h"
#include "executor/layer_map.h"

enum { LEAST_LOOKS = 8 };
#define IDLE 0.4 /* of the processors */

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
  return l->waits[WAIT_NETWORK] * (1 - l->at_rest) / fmax(l->present - l->ready, 1e-9); /* waits for a processor are the load's */
}

/* Of native code, within what a request needs; while nobody here works instead: the service may be the server's other half. */
static bool asks_natively(const struct live *live, const struct live_lane *l) {
  const struct live_place *place = &l->waiting[WAIT_NETWORK];
  return l->waits_in[0] == 0 && place->n >= LEAST_LOOKS && place->share >= 0.3 && l->polls < 0.3 &&
         live_idle_processors(live) >= IDLE * (double)live->n_processors;
}

static bool by_task(const struct live *live, struct finding *ret) {
  const struct live_place *task = &live->tasks[WAIT_NETWORK];
  if (task->n < LEAST_LOOKS || live_idle_processors(live) < IDLE * (double)live->n_processors || live_still_grows(live)) return false;
  ret->share = fmin(1, live_idle_processors(live) / (double)live->n_processors);
  live_name_place(task, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "goroutines wait for the network most in %.120s, in %lld looks, while %.1f processors are idle", ret->named,
                 (long long)task->n, live_idle_processors(live));
  return true;
}

/* By the connections themselves: what was sent last has no answer yet. */
static bool by_connections(const struct live *live, struct finding *ret) {
  const struct live_around *a = &live->around;
  const struct live_lane *own = NULL;
  bool full = live_pool_full(live);
  if (!live_asks_others(live, &own) || live_idle_processors(live) < IDLE * (double)live->n_processors) return false;
  ret->share = full ? a->asks_lasting_open / a->asks_lasting : fmin(1, a->asks / live->in_flight);
  if (ret->share < 0.2) return false;
  if (own != NULL) (void)snprintf(ret->named, sizeof ret->named, "port %.0f (%.40s, pid %.0f)", a->asks_port, own->program, a->asks_pid);
  else (void)snprintf(ret->named, sizeof ret->named, "port %.0f", a->asks_port);
  if (full) {
    ret->title = "Requests wait for a connection to another service";
    (void)snprintf(
        ret->evidence, sizeof ret->evidence,
        "%.3g connection%s to %.100s %s at each look, and on %.0f %% of them an answer is awaited, with %.3g requests in flight: "
        "the others wait for a free one, or for whoever answers there",
        a->asks_lasting, a->asks_lasting < 1.5 ? "" : "s", ret->named, a->asks_lasting < 1.5 ? "is there" : "are there",
        100 * a->asks_lasting_open / a->asks_lasting, live->in_flight);
    (void)snprintf(ret->next, sizeof ret->next, "open more connections (a greater pool), ask for several requests at once, or ask less");
    (void)snprintf(ret->confirm, sizeof ret->confirm, "double the number of connections to %.80s and measure again", ret->named);
    return true;
  }
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "on connections to %.100s that the server made an answer is awaited for %.3g of the %.3g requests in flight, while %.1f "
                 "processors are idle",
                 ret->named, a->asks, live->in_flight, live_idle_processors(live));
  return true;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_lane *best = NULL;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    bool works = l->running >= 0.01 && l->running >= 0.1 * live->at.running, native = asks_natively(live, l),
         named = l->waits_in[0] != 0 && l->waits_share >= 0.3 * l->waits[WAIT_NETWORK] && asks_a_service(l);
    if (!(native || (works && named)) || !is_of_requests(live, l) || l->waits[WAIT_NETWORK] < 0.1 || waiting_share(l) < 0.2) continue;
    if (best == NULL || l->waits[WAIT_NETWORK] > best->waits[WAIT_NETWORK]) best = l;
  }
  if (best == NULL) return by_connections(live, ret) || by_task(live, ret);
  ret->share = fmin(1, waiting_share(best));
  (void)snprintf(ret->process, sizeof ret->process, "%s", best->program);
  live_name_wait(best, WAIT_NETWORK, ret);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "the %lld threads of %.40s that work on requests wait for the network %.0f %% of the time that they are not ready to run, "
                 "most in %.200s",
                 (long long)best->n_threads, best->program, 100 * ret->share, ret->named);
  live_bound(live, &(struct live_work){.processors = 0}, ret);
  return true;
}

const struct rule rule_other_service;
const struct rule rule_other_service = {
    .name = "other_service",
    .summary = "threads that work on requests wait for the network",
    .threshold = "20 % of the time that they are not ready to run, in as many threads as half of the requests in flight, and one function "
                 "of the project's own, or of a package that asks services, that was seen waiting for 30 % of that; "
                 "or by the connections that it made: an answer awaited for 20 % of the requests in flight, or on 80 % of those that stay",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {.title = "Requests wait for another service",
              .rung = RUNG_ACCOUNTED,
              .symptom = LAYER_APPLICATION,
              .contributing = LAYER_BIT(LAYER_APPLICATION) | LAYER_BIT(LAYER_SYSTEM),
              .open = "which service that is, and whether it is slow or far away; or whether it is the next request that is waited for",
              .next = "measure that service by itself; ask it less often, for several requests at once, or before its answer is needed",
              .confirm = "answer that call from memory and measure again",
              .bound_holds = "no bound: what is saved here may be waited for elsewhere"}};
