/* A garbage collector has threads of its own, and they run much. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attribute/live_shape.h"
#include "attribute/rule.h"

/* Threads as their runtimes call them: of HotSpot (the serial collector works in the VM's own thread), and of .NET. */
static bool collects(const struct live_lane *l) {
  static const char *const names[] = {"VM Thread", "GC Thread", "G1 ",     "ZWorker",        "Shenandoah",
                                      "ParGC",     "CMS ",      ".NET GC", ".NET Server GC", ".NET BGC"};
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strncmp(l->name, names[i], strlen(names[i])) == 0) return true;
  return false;
}

static bool apply(const struct evidence *evidence, struct finding *ret) {
  const struct live *live = evidence->live;
  const struct live_lane *most = NULL;
  double running = 0;
  for (size_t i = 0; i < live->at.n_lanes; i++) {
    const struct live_lane *l = &live->at.lanes[i];
    if (!collects(l)) continue;
    running += l->running;
    if (most == NULL || l->running > most->running) most = l;
  }
  if (most == NULL || running < 0.1) return false;
  double stopped = live->stops.n > 0 ? live->stops.share : 0;
  ret->share = fmin(1, fmax(running / fmax(1, (double)most->n_threads), stopped));
  (void)snprintf(ret->process, sizeof ret->process, "%s", most->program);
  (void)snprintf(ret->named, sizeof ret->named, "%.60s", most->name);
  (void)snprintf(ret->evidence, sizeof ret->evidence,
                 "%.40s of %.40s runs for %.2f of a processor%s: it is the runtime's own, and most of its work is collection%s", most->name,
                 most->program, running, most->n_threads > 1 ? " in several threads" : "",
                 stopped >= 0.05 ? "; meanwhile all answers stop at once, again and again" : "");
  return true;
}

const struct rule rule_collector;
const struct rule rule_collector = {
    .name = "collector",
    .summary = "a garbage collector's threads run much",
    .threshold = "threads that HotSpot or .NET name as the collector's run for a tenth of a processor",
    .needs = NEEDS_THREADS,
    .apply = apply,
    .found = {
        .title = "Garbage collection takes much of the time",
        .rung = RUNG_ACCOUNTED,
        .symptom = LAYER_RUNTIME,
        .contributing = LAYER_BIT(LAYER_RUNTIME) | LAYER_BIT(LAYER_APPLICATION),
        .open = "who makes the garbage: a log of the collector (-Xlog:gc, DOTNET_gcTrace) and an allocation profile name it",
        .next = "let the program make less garbage (reuse buffers, keep less), give the heap more room, or choose a collector that works "
                "beside the program",
        .confirm = "double the heap's size and measure again: collections that come half as often confirm it",
        .bound_holds = "no bound: what is allocated is in the program's own time, too"}};
