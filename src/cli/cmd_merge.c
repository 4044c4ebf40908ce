#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/shell.h"
#include "cli/command.h"
#include "measure/host_samples.h"
#include "measure/merge.h"
#include "measure/merge_samples.h"
#include "measure/merge_trace.h"

enum { FLAG_OUT, FLAG_ANY_PORT, FLAG_JSON };

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the whole (default: merged.lynx)"),
    [FLAG_ANY_PORT] = SWITCH("any-port", "of SAMPLES: a forwarder is in between, so that the server listens at another port"),
    [FLAG_JSON] = SWITCH_JSON};

static void tell(const struct merge_outcome *o, const char *out) {
  say("%s: %s (%s), %lld requests, root %.16s\nnext: lynxbench show %s\n", out, bundle_end_text(o->end), o->why, (long long)o->n_requests,
      o->root, shell_word(out));
}

/* What both kinds have; the object stays open. */
static void begin_json(struct json_writer *json, struct buffer *text, const char *out, enum bundle_end end, const char *why,
                       const char *root) {
  buffer_init(text, 65536);
  json_begin_object(json, text);
  json_put_text(json, "bundle", out);
  json_put_text(json, "ended", bundle_end_text(end));
  json_put_text(json, "why", why);
  json_put_text(json, "root", root);
}

static bool end_json(struct json_writer *json, struct buffer *text) {
  json_close(json);
  bool good = json_finish(json) && buffer_text(text, "\n") && write_buffer(NULL, text);
  buffer_release(text);
  return good;
}

static bool tell_json(const struct merge_outcome *o, const char *out) {
  struct buffer text;
  struct json_writer json;
  begin_json(&json, &text, out, o->end, o->why, o->root);
  json_put_int(&json, "parts", o->n_parts);
  json_put_int(&json, "requests", o->n_requests);
  return end_json(&json, &text);
}

/* What `lynxbench watch --samples-only` writes begins so; of a pipe nothing is taken. */
static bool is_samples(const char *path) {
  static const char begins[] = "{\"lynx_samples\":";
  char head[sizeof begins - 1];
  return file_head(path, head, sizeof head) == sizeof head && memcmp(head, begins, sizeof head) == 0;
}

static void tell_samples(const struct merge_samples_outcome *o, const char *out) {
  say("%s: %s (%s), with %lld values and %lld looks at threads of '%s' in %lld of %lld counted windows, root %.16s\n"
      "next: lynxbench attribute %s; lynxbench show %s\n",
      out, bundle_end_text(o->end), o->why, (long long)o->n_values, (long long)o->n_activities, o->host, (long long)o->n_covered,
      (long long)o->n_windows, o->root, shell_word(out), shell_word(out));
}

static bool tell_samples_json(const struct merge_samples_outcome *o, const char *out) {
  struct buffer text;
  struct json_writer json;
  begin_json(&json, &text, out, o->end, o->why, o->root);
  json_put_text(&json, "host", o->host);
  json_put_int(&json, "values", o->n_values);
  json_put_int(&json, "activities", o->n_activities);
  json_put_int(&json, "counted_windows", o->n_windows);
  json_put_int(&json, "covered_windows", o->n_covered);
  return end_json(&json, &text);
}

/* What cannot be written is the machine's fault; what cannot be read, the input's. */
static int fail(const struct lynx_error *error, const char *out) {
  int code = report_error(error);
  return error->status == LYNX_IO && strcmp(error->file, out) == 0 ? EXIT_CONDITIONS : code;
}

static int join_samples(const struct arguments *arguments, const char *out) {
  struct merge_samples_outcome outcome;
  struct lynx_error error = {0};
  struct buffer text;
  const char *path = arguments->positional[1];
  if (arguments->n_positional != 2) {
    complain("lynxbench merge: found samples among %d files; accepted: RUN.lynx and one file of `lynxbench watch --samples-only`\n",
             arguments->n_positional);
    return EXIT_WRONG_INPUT;
  }
  if (!read_file(path, HOST_SAMPLES_MAX, &text)) return EXIT_WRONG_INPUT;
  const struct merge_samples_request request = {.run_path = arguments->positional[0],
                                                .samples_path = path,
                                                .out = out,
                                                .samples = text.data,
                                                .length = text.length,
                                                .any_port = arguments->option[FLAG_ANY_PORT] != NULL};
  enum lynx_status status = merge_samples(&request, &outcome, &error);
  buffer_release(&text);
  if (status != LYNX_OK) return fail(&error, out);
  if (arguments->option[FLAG_JSON] == NULL) tell_samples(&outcome, out);
  else if (!tell_samples_json(&outcome, out)) return EXIT_CONDITIONS;
  return outcome.end == BUNDLE_COMPLETE ? EXIT_HOLDS : EXIT_INTERRUPTED;
}

static int join_trace(const struct arguments *arguments, const char *out) {
  struct merge_trace_outcome o;
  struct lynx_error error = {0};
  if (merge_trace(arguments->positional[0], arguments->positional[1], out, &o, &error) != LYNX_OK) return fail(&error, out);
  if (arguments->option[FLAG_JSON] != NULL) {
    struct buffer text;
    struct json_writer json;
    begin_json(&json, &text, out, o.end, o.why, o.root);
    json_put_int(&json, "process", o.account.process);
    json_put_double(&json, "window_s", o.account.window_s);
    if (!end_json(&json, &text)) return EXIT_CONDITIONS;
  } else
    say("%s: %s (%s), with the account of a trace of %.2f s of process %lld, root %.16s\nnext: lynxbench attribute %s\n", out,
        bundle_end_text(o.end), o.why, o.account.window_s, (long long)o.account.process, o.root, shell_word(out));
  return o.end == BUNDLE_COMPLETE ? EXIT_HOLDS : EXIT_INTERRUPTED;
}

static int run(const struct arguments *arguments) {
  struct merge_outcome outcome;
  struct lynx_error error = {0};
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : "merged.lynx";
  for (int i = 1; i < arguments->n_positional; i++)
    if (is_samples(arguments->positional[i])) return join_samples(arguments, out);
  if (arguments->n_positional == 2 && bundle_is(arguments->positional[0]) && !bundle_is(arguments->positional[1]))
    return join_trace(arguments, out);
  if (merge_parts(arguments->positional, (size_t)arguments->n_positional, out, &outcome, &error) != LYNX_OK) return fail(&error, out);
  if (arguments->option[FLAG_JSON] == NULL) tell(&outcome, out);
  else if (!tell_json(&outcome, out)) return EXIT_CONDITIONS;
  return outcome.end == BUNDLE_COMPLETE ? EXIT_HOLDS : EXIT_INTERRUPTED;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "join the parts of a run from several hosts",
    .usage = "PART ... | RUN SAMPLES | RUN TRACE",
    .least = 1,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Each PART was made by `lynxbench run CONTRACT --part K/N --start TIME` on a load host of its own. Every arrival of the\n"
               "contract's schedule is then there once, from the host that sent it; audit holds that against the schedule. A part that is\n"
               "missing or incomplete makes the whole incomplete (exit code 130), not wrong.\n"
               "With a RUN whose server is on another host, and the SAMPLES that `lynxbench watch --samples-only` took there meanwhile, "
               "both are one\n"
               "bundle, which `attribute` accounts for. What the run sampled of its own machine is then named client.*\n"
               "With a RUN and a TRACE that a profiler wrote of its server (PyTorch, ONNX Runtime, Nsight Systems), `attribute` of the\n"
               "whole shows the trace's account beside the run's threads.",
    .example = "rm -f /tmp/m*.lynx; s=@$(( $(date +%s) + 6 )); build/lynxbench-ref --mode metronome --port 8396 > /dev/null & sleep 1; "
               "printf 'lynxbench: 1\\nname: two hosts\\nexecutor: {endpoint: \"http://127.0.0.1:8396\"}\\nworkload: {output_tokens: 4, "
               "prompts: {count: 4, bytes: 16}}\\n"
               "regime: {load: constant, rate_per_s: 40}\\nmethod: {warm_up: 0s, counted: 1s, sessions: 2, drain: 1s, request_timeout: "
               "5s}\\n' > /tmp/m.yaml; "
               "build/lynxbench run /tmp/m.yaml --part 1/2 --start $s --out /tmp/m.lynx --quiet & "
               "build/lynxbench run /tmp/m.yaml --part 2/2 --start $s --out /tmp/m.lynx --quiet; sleep 1; kill %1; "
               "build/lynxbench merge /tmp/m.part1.lynx /tmp/m.part2.lynx --out /tmp/mw.lynx",
    .run = run};
