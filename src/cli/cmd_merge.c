#include <stdio.h>

#include "base/json.h"
#include "cli/command.h"
#include "measure/merge.h"

enum { FLAG_OUT, FLAG_JSON };

static const struct option_spec options[] = {
    [FLAG_OUT] = {"out", "FILE", "the whole (default: merged.lynx)"}, [FLAG_JSON] = {"json", NULL, "JSON"}};

static void tell(const struct merge_outcome *o, const char *out) {
  (void)printf("%s: %s (%s), %lld requests, root %.16s\nnext: lynxbench show %s\n", out, bundle_end_text(o->end), o->why,
               (long long)o->n_requests, o->root, out);
}

static bool tell_json(const struct merge_outcome *o, const char *out) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 65536);
  json_begin(&json, &text);
  json_open_object(&json);
  json_put_text(&json, "bundle", out);
  json_put_text(&json, "ended", bundle_end_text(o->end));
  json_put_text(&json, "why", o->why);
  json_put_text(&json, "root", o->root);
  json_put_int(&json, "parts", o->n_parts);
  json_put_int(&json, "requests", o->n_requests);
  json_close(&json);
  bool good = json_finish(&json) && buffer_text(&text, "\n") && write_buffer(NULL, &text);
  buffer_release(&text);
  return good;
}

static int run(const struct arguments *arguments) {
  struct merge_outcome outcome;
  struct lynx_error error = {0};
  const char *out = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : "merged.lynx";
  if (merge_parts(arguments->positional, (size_t)arguments->n_positional, out, &outcome, &error) != LYNX_OK) return report_error(&error);
  if (arguments->option[FLAG_JSON] == NULL) tell(&outcome, out);
  else if (!tell_json(&outcome, out)) return EXIT_CONDITIONS;
  return outcome.end == BUNDLE_COMPLETE ? EXIT_HOLDS : EXIT_INTERRUPTED;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "join the parts of a run from several load hosts",
    .usage = "PART ...",
    .least = 1,
    .most = ARGUMENTS_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Each PART was made by `lynxbench run CONTRACT --part K/N --start TIME` on a load host of its own. Every arrival of the\n"
               "contract's schedule is then there once, from the host that sent it; audit holds that against the schedule. A part that is\n"
               "missing or incomplete makes the whole incomplete (exit code 130), not wrong.",
    .example = "rm -f /tmp/m*.lynx; s=@$(( $(date +%s) + 3 )); build/lynxbench-ref --mode metronome --port 8396 > /dev/null & sleep 1; "
               "printf 'lynxbench: 1\\nname: two hosts\\nexecutor: {endpoint: \"http://127.0.0.1:8396\"}\\nworkload: {output_tokens: 4, "
               "prompts: {count: 4, bytes: 16}}\\n"
               "regime: {load: constant, rate_per_s: 40}\\nmethod: {warm_up: 0s, counted: 1s, sessions: 2, drain: 1s, request_timeout: "
               "5s}\\n' > /tmp/m.yaml; "
               "build/lynxbench run /tmp/m.yaml --part 1/2 --start $s --out /tmp/m.lynx --quiet & "
               "build/lynxbench run /tmp/m.yaml --part 2/2 --start $s --out /tmp/m.lynx --quiet; sleep 1; kill %1; "
               "build/lynxbench merge /tmp/m.part1.lynx /tmp/m.part2.lynx --out /tmp/mw.lynx",
    .run = run};
