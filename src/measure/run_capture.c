#include "measure/run_capture.h"

#include <stdio.h>
#include <string.h>

#include "base/secret.h"
#include "executor/capture.h"
#include "executor/disclose.h"
#include "executor/import.h"

/* What was captured on the executor's other hosts, and handed in by the contract. */
static enum lynx_status join_hosts(struct run *run, struct fact_list *facts) {
  const struct text_map *hosts = &run->contract.executor.hosts;
  const struct root root = {""};
  enum lynx_status status = LYNX_OK;
  for (size_t i = 0; i < hosts->n_items && status == LYNX_OK; i++) {
    struct buffer text;
    struct fact_list one = {0};
    if (strcmp(hosts->values[i], "none") == 0) {
      capture_join(facts, hosts->keys[i], NULL);
      continue;
    }
    buffer_init(&text, 64 << 20);
    status = root_read(&root, hosts->values[i], &text, run->error);
    if (status == LYNX_OK) status = capture_import(text.data, text.length, &one, run->error);
    if (status == LYNX_OK) capture_join(facts, hosts->keys[i], &one);
    else lynx_error_at(run->error, hosts->values[i], 0, "executor.hosts");
    buffer_release(&text);
    fact_list_release(&one);
  }
  capture_join_clocks(facts, hosts->keys, hosts->n_items);
  return status;
}

/* A server that was started with a key may tell it of itself: in its own metrics, say. */
static void redact(struct fact_list *facts, const char *bearer) {
  for (size_t i = 0; i < facts->n_items && bearer != NULL; i++) {
    char *value = arena_copy(&facts->arena, facts->items[i].value != NULL ? facts->items[i].value : "");
    secret_redact(value, bearer);
    if (facts->items[i].value != NULL) facts->items[i].value = value;
  }
}

enum lynx_status run_capture(struct run *run, const char *moment, const char *precision) {
  struct fact_list facts = {0};
  struct capture_request request = {.root = run->request->root,
                                    .clock = run->request->clock,
                                    .endpoint = run->contract.executor.endpoint,
                                    .pid = run->contract.executor.pid,
                                    .behind_proxy = run->contract.executor.behind_proxy,
                                    .in_process = run->driver->in_process};
  if (request.in_process) request.endpoint = NULL;
  if (run->driver->describe != NULL) run->workload_pid = run->driver->describe(run->setup.states[0], &facts);
  if (request.in_process) request.pid = run->workload_pid;
  request.hosts_known = run->contract.executor.hosts.n_items > 0;
  request.ask_routes = !run_only_observes(run); /* who only observes sends nothing at all */
  request.show_arguments = run->contract.executor.show_arguments.items;
  request.n_show_arguments = run->contract.executor.show_arguments.n_items;
  request.started_pid = run->service.child.pid;
  capture_run(&request, &facts);
  for (size_t i = 0; i < run->contract.executor.declare.n_items; i++) {
    struct fact fact = {
        .kind = FACT_IDENTITY, .status = FACT_DECLARED, .value = run->contract.executor.declare.values[i], .source = "the contract"};
    const char *name;
    if (!contract_split_key(run->contract.executor.declare.keys[i], &fact.layer, &name)) continue;
    fact.key = arena_printf(&run->arena, "declared.%s", name);
    fact_add(&facts, &fact);
  }
  /* What is asked of it: context, since the same executor may be asked for something else. */
  const char *loads = load_text(run->contract.regime.load);
  fact_add(&facts, &(struct fact){.layer = LAYER_DEMAND,
                                  .kind = FACT_CONTEXT,
                                  .status = FACT_DECLARED,
                                  .key = "demand.load",
                                  .value = loads,
                                  .unit = "",
                                  .source = "the contract"});
  if (run->contract.workload.profile_file != NULL)
    fact_add(&facts, &(struct fact){.layer = LAYER_DEMAND,
                                    .kind = FACT_CONTEXT,
                                    .status = FACT_DECLARED,
                                    .key = "demand.profile",
                                    .value = run->contract.workload.profile_file,
                                    .unit = "",
                                    .source = "the contract"});
  enum lynx_status status = join_hosts(run, &facts);
  redact(&facts, run->bearer);
  fact_sort(&facts);
  if (status == LYNX_OK) bundle_put_facts(run->bundle, arena_printf(&run->arena, "%s:%s", moment, precision), &facts);
  fact_list_release(&facts);
  return status;
}
