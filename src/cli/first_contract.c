#include "cli/output.h"
#include "cli/first_contract.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "contract/contract.h"

struct first_contract first_contract_defaults(const char *endpoint, const char *model) {
  return (struct first_contract){.name = "first",
                                 .endpoint = endpoint,
                                 .model = model,
                                 .output_tokens = "64",
                                 .rate = "2",
                                 .warm_up = "10s",
                                 .counted = "60s",
                                 .sessions = "3",
                                 .drain = "30s",
                                 .ready_path = "/v1/models"};
}

/* In double quotes; controls as YAML writes them. */
static const char *quoted(struct arena *arena, const char *text) {
  char *out = arena_alloc(arena, 4 * strlen(text) + 3, 1), *p = out;
  *p++ = '"';
  for (; *text != 0; text++) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') *p++ = '\\';
    if (c < ' ' || c == 0x7f) p += sprintf(p, "\\x%02x", c);
    else *p++ = *text;
  }
  *p = '"';
  return out;
}

static void write_start(struct arena *arena, const char *const *command, struct buffer *out) {
  (void)buffer_text(out, "  start:\n    command: [");
  for (size_t i = 0; command[i] != NULL; i++) (void)buffer_printf(out, "%s%s", i > 0 ? ", " : "", quoted(arena, command[i]));
  (void)buffer_text(out, "]\n    ready_within: 600s\n");
}

static void write_workload(struct arena *arena, const struct first_contract *first, struct buffer *out) {
  (void)buffer_printf(out, "workload:\n  driver: http\n  api: %s\n  model: %s\n  output_tokens: %s\n", first->chat ? "chat" : "completions",
                      quoted(arena, first->model), first->output_tokens);
  (void)buffer_text(out, first->ends_itself
                             ? "  ignore_eos: false            # this server refuses it: answers end where the model ends them\n"
                             : "  ignore_eos: true             # servers that do not know it write shorter answers, which is then "
                               "counted and shown\n");
  (void)buffer_text(out, "  prompts: {count: 64, bytes: 256}   # file: prompts.txt cuts them from a text of yours\n  # profile: the real "
                         "traffic that this represents, in words\n");
  (void)buffer_printf(out, "  %sapi_key_env: %s   # the key itself is never recorded\n\n", first->key_variable != NULL ? "" : "# ",
                      first->key_variable != NULL ? first->key_variable : "OPENAI_API_KEY");
}

static void write_text(struct arena *arena, const struct first_contract *first, struct buffer *out) {
  (void)buffer_printf(out,
                      "# A lynxbench contract: what is measured, how, and what the teams agreed on. `lynxbench lint` explains\n# what is "
                      "wrong and what is left unstated; docs/contract.md describes every field.\nlynxbench: 1\nname: %s\n",
                      quoted(arena, first->name));
  (void)buffer_text(out, "# question: what do the teams want to know?\n\nwhere:\n  environment: development     # production, canary or "
                         "twin; production needs load caps and an abort_slo\n  # load_cap_per_s: 50\n\n");
  (void)buffer_printf(out, "executor:\n  endpoint: %s\n", quoted(arena, first->endpoint));
  (void)buffer_printf(out, "  ready_path: %-16s # answers 200 once the executor can serve\n", first->ready_path);
  if (first->ca_file != NULL) (void)buffer_printf(out, "  ca_file: %s\n", quoted(arena, first->ca_file));
  if (first->pid > 0) (void)buffer_printf(out, "  pid: %lld\n", (long long)first->pid);
  if (first->command != NULL) write_start(arena, first->command, out);
  else
    (void)buffer_text(out, "  # start: {command: [program, argument, \"{precision}\"], environment: [HF_TOKEN]}   # then every session is "
                           "a fresh process; of\n"
                           "  #   your variables it gets the usual ones, those that libraries read, and the named ones\n");
  (void)buffer_text(out, "  # expect: {accelerator.cpu.model: \"...\"}   # "
                         "facts that must hold; `lynxbench capture --endpoint ...` lists them\n\n");
  write_workload(arena, first, out);
  if (first->climb != NULL)
    (void)buffer_printf(out,
                        "regime:\n  load: climb                  # 1 in flight, then twice as many, while the throughput grows; counted at "
                        "the knee\n  concurrency: %s              # at most\n\n",
                        first->climb);
  else if (first->concurrency != NULL)
    (void)buffer_printf(out, "regime:\n  load: closed                 # or poisson, constant (with rate_per_s)\n  concurrency: %s\n\n",
                        first->concurrency);
  else
    (void)buffer_printf(
        out, "regime:\n  load: poisson                # independent users; or constant, or closed (with concurrency)\n  rate_per_s: %s\n\n",
        first->rate);
  if (first->time_to_first_token != NULL)
    (void)buffer_printf(out, "slo:\n  - {metric: time_to_first_token, quantile: 0.99, at_most: %s}\n\n", first->time_to_first_token);
  else
    (void)buffer_text(
        out, "# slo:                         # what good means\n#   - {metric: time_to_first_token, quantile: 0.99, at_most: 500ms}\n\n");
  (void)buffer_printf(out,
                      "precisions: [as-served]        # or [f32, bf16, int8] with executor.start\n\nmethod:\n  warm_up: %s                "
                      " # load that is not counted\n  counted: %s\n  sessions: %s                  # intervals are over sessions: at least "
                      "2\n  drain: %s                   # how long counted requests may take to finish\n  request_timeout: 60s\n  seed: "
                      "1\n  instrument_error_at_most: 0.05 # a figure that lynxbench's own lateness can have changed by more is not "
                      "stated\n  stolen_at_most: "
                      "0.1          # nor if other guests of the host take more than this share of the processors\n",
                      first->warm_up, first->counted, first->sessions, first->drain);
  if (first->attribution_sessions != NULL)
    (void)buffer_printf(out, "  attribution_sessions: %s      # profilers run in these: they count into no figure\n",
                        first->attribution_sessions);
  if (first->leave_server_profiler) (void)buffer_text(out, "  server_profiler: never       # its own profiler is not asked\n");
  if (first->steady_reported) (void)buffer_text(out, "  steady: reported             # too short to require it\n");
  (void)buffer_text(out, "\n");
  (void)buffer_text(out, "# accuracy: {text_file: held-out.txt, at_least_ratio: 0.99}\n# owners: {serving: Inference team}\n# signatories: "
                         "[ML, Platform, Infrastructure, Procurement]\n");
}

bool first_contract_write(const struct first_contract *first, const char *command, struct buffer *ret) {
  struct arena arena = {0};
  struct contract contract;
  struct problem_list problems = {0};
  write_text(&arena, first, ret);
  (void)contract_parse(ret->data, ret->length, &arena, &contract, &problems); /* its problems are reported below */
  if (problems.n_errors > 0) complain("lynxbench %s: what was given does not make a valid contract:\n", command);
  for (size_t i = 0; i < problems.n_items; i++)
    if (problems.items[i].kind == PROBLEM_ERROR)
      complain("  %s: found %s; accepted: %s\n", problems.items[i].field, problems.items[i].found, problems.items[i].accepted);
  bool good = problems.n_errors == 0;
  arena_release(&arena);
  return good;
}
