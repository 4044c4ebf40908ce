#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "cli/capture_target.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/contract_file.h"
#include "cli/improvement_entry.h"
#include "cli/live_pages.h"
#include "cli/option_value.h"
#include "cli/rank_pages.h"
#include "cli/trace_files.h"
#include "executor/link_speeds.h"
#include "report/attribution_report.h"

enum { OUT_MAX = 1 << 30 };

enum {
  FLAG_AGAINST,
  FLAG_WINDOW,
  FLAG_ORPHANS,
  FLAG_DEVICE,
  FLAG_EVENT,
  FLAG_BACK_TO_BACK,
  FLAG_CONTRACT,
  FLAG_MACHINE,
  FLAG_TOP,
  FLAG_HTML,
  FLAG_INSIDE,
  FLAG_FOLDED,
  FLAG_CHROME,
  FLAG_RECORD,
  FLAG_LEDGER,
  FLAG_KEY,
  FLAG_HOOK,
  FLAG_REQUESTS,
  FLAG_RANKS,
  FLAG_PART,
  FLAG_QUIET,
  FLAG_JSON
};

static const struct option_spec options[] = {
    [FLAG_AGAINST] = OPTION("against", "LIST", "compare with these traces of before: names with commas between"),
    [FLAG_WINDOW] = OPTION_WITH("window", "NAME", "auto, steps (the profiler's), device (its first to last work) or trace", VALUE_CHOICE, 0,
                                0, "auto, steps, device, trace"),
    [FLAG_ORPHANS] = OPTION_WITH("orphans", "POLICY", "device work launched before the trace began: apart (default), drop or keep",
                                 VALUE_CHOICE, 0, 0, "apart, drop, keep"),
    [FLAG_DEVICE] = OPTION_WITH("device", "N", "account for this device (default: the busiest)", VALUE_COUNT, 0, INT32_MAX,
                                "the number of a device, 0 or more"),
    [FLAG_EVENT] = OPTION("event", "NAME", "of samples of several events: this one (default: the one that is time, such as cycles)"),
    [FLAG_BACK_TO_BACK] = OPTION_WITH("back-to-back", "TIME",
                                      "how long a device may take to take up waiting work, such as 5us (default: measured)", VALUE_DURATION,
                                      1e-9, 86400, "a duration such as 5us or 800ns"),
    [FLAG_CONTRACT] = OPTION("contract", "FILE", "name the owners of this contract"),
    [FLAG_MACHINE] = OPTION("machine", "FILE", "rates beside its links: collect_env, `nvidia-smi -q` with `topo -m`, or a capture"),
    [FLAG_TOP] = OPTION_WITH("top", "N", "list so many names (default 10)", VALUE_COUNT, 0, INT32_MAX, "a number, 0 or more"),
    [FLAG_HTML] = OPTION("html", "FILE", "write a page that opens anywhere"),
    [FLAG_INSIDE] = SWITCH("inside", "of --html: what goes into another page: no head, no style, no end"),
    [FLAG_FOLDED] = OPTION("folded", "FILE", "write the device's time by call path, for flame graph tools"),
    [FLAG_CHROME] = OPTION("chrome", "FILE", "write the account as a Chrome trace, for Perfetto"),
    [FLAG_RECORD] = OPTION("record", "BUNDLE", "enter the findings in the ledger, as of this run"),
    [FLAG_LEDGER] = OPTION("ledger", "LEDGER",
                           "for --record, and for what experiments said of a run's findings (default: LYNXBENCH_LEDGER)"),
    [FLAG_KEY] = OPTION("key", "FILE", "for --record: the team's private key (default: LYNXBENCH_KEY)"),
    [FLAG_HOOK] = OPTION("hook", "URL|PROGRAM", "for --record: tell somebody of each finding"),
    [FLAG_REQUESTS] = SWITCH("requests", "of a bundle: its requests' phases, instead of the server's threads"),
    [FLAG_RANKS] = SWITCH("ranks", "of ranks of one job, up to 4,096 files: all of them on one page, in place of one for each"),
    [FLAG_PART] = OPTION("part", "FILE", "of ranks: write what a page of all ranks needs of these, to be given to `attribute` later"),
    [FLAG_QUIET] = SWITCH_QUIET,
    [FLAG_JSON] = SWITCH_JSON};

/* "a.json,b.json": cut in place. How many; 0 where there are too many, or an empty one. */
static size_t cut_list(char *list, const char **paths) {
  size_t n = 0;
  for (char *at = list;;) {
    size_t length = strcspn(at, ",");
    bool last = at[length] == 0;
    at[length] = 0;
    if (length == 0 || n == TRACES_MAX) {
      complain("lynxbench attribute: --against: found %s; accepted: up to %d names with commas between\n",
               length == 0 ? "an empty name" : "too many", TRACES_MAX);
      return 0;
    }
    paths[n++] = at;
    if (last) return n;
    at += length + 1;
  }
}

/* --- options --- */

/* The words of a choice stand in the order of its enum. */
static struct account_options account_options_of(const struct arguments *arguments) {
  return (struct account_options){.window = (enum account_window)option_choice(arguments, options, FLAG_WINDOW, WINDOW_AUTO),
                                  .orphans = (enum orphan_policy)option_choice(arguments, options, FLAG_ORPHANS, ORPHANS_APART),
                                  .threshold_ns = option_duration_ns(arguments, FLAG_BACK_TO_BACK, 0)};
}

static bool write_page(const char *path, bool (*make)(const struct attribution_view *, struct buffer *),
                       const struct attribution_view *view) {
  struct buffer page;
  buffer_init(&page, OUT_MAX);
  bool whole = make(view, &page), good = write_buffer(path, &page) && whole;
  buffer_release(&page);
  return good;
}

static bool make_folded(const struct attribution_view *view, struct buffer *ret) {
  bool good = true;
  for (size_t i = 0; i < view->attribution->n_traces && good; i++) {
    const struct attributed_trace *t = &view->attribution->traces[i];
    if (t->content == CONTENT_SAMPLES) good = samples_folded(&t->samples, ret);
    if (t->content != CONTENT_TIMELINE) continue;
    struct call_tree tree;
    call_tree_build(&t->timeline, INT64_MIN, &tree);
    good = call_tree_folded(&tree, &t->timeline, ret);
    call_tree_release(&tree);
  }
  return good;
}

static bool make_chrome(const struct attribution_view *view, struct buffer *ret) {
  if (view->attribution->traces[0].content != CONTENT_TIMELINE) return buffer_text(ret, "{\"traceEvents\":[]}\n");
  return attribution_chrome(&view->attribution->traces[0], &view->attribution->options, ret);
}

static bool write_all(const struct arguments *arguments, const struct attribution_view *view) {
  static bool (*const makers[])(const struct attribution_view *, struct buffer *) = {attribution_html, make_folded, make_chrome};
  static const int options_of[] = {FLAG_HTML, FLAG_FOLDED, FLAG_CHROME};
  struct buffer out;
  buffer_init(&out, OUT_MAX);
  bool whole = arguments->option[FLAG_JSON] != NULL ? attribution_json(view, &out) : attribution_text(view, color_wanted(stdout), &out);
  bool good = write_buffer(NULL, &out) && whole;
  buffer_release(&out);
  for (size_t i = 0; i < LYNX_COUNT(makers) && good; i++)
    if (arguments->option[options_of[i]] != NULL) good = write_page(arguments->option[options_of[i]], makers[i], view);
  return good;
}

/* Requests and samples have no account to compare. */
static bool only_timelines(const struct attribution *a) {
  for (size_t i = 0; i < a->n_traces; i++) {
    if (a->traces[i].content == CONTENT_TIMELINE) continue;
    complain("lynxbench attribute: --against: %s is of %s; accepted: traces of spans on a clock (kineto, nsys, onnxruntime, chrome)\n",
             a->traces[i].path, a->traces[i].content == CONTENT_SAMPLES ? "samples" : "requests");
    return false;
  }
  return true;
}

/* For the owners that it names. */
static bool load_owners(const char *path, struct contract_file *ret) {
  if (!contract_file_read(path, ret)) return false;
  if (ret->problems.n_errors == 0) return true;
  contract_file_print_problems(ret, path, false, false, stderr);
  contract_file_release(ret);
  return false;
}

static struct pen_wanted pen_for(const struct arguments *arguments) {
  return (struct pen_wanted){"attribute", "--record", arguments->option[FLAG_LEDGER], arguments->option[FLAG_KEY],
                             arguments->option[FLAG_HOOK]};
}

/* A bundle of a run whose threads were seen: whose layers its time belongs to; or two of them: what changed. */
static bool try_live(const struct arguments *arguments, int *ret_code) {
  if (arguments->option[FLAG_AGAINST] != NULL && arguments->n_positional == 1)
    return live_pages_try_change(arguments->option[FLAG_AGAINST], arguments->positional[0], arguments->option[FLAG_JSON] != NULL, ret_code);
  static const int of_traces[] = {FLAG_AGAINST,  FLAG_WINDOW, FLAG_ORPHANS, FLAG_DEVICE, FLAG_EVENT,    FLAG_BACK_TO_BACK,
                                  FLAG_CONTRACT, FLAG_TOP,    FLAG_FOLDED,  FLAG_CHROME, FLAG_REQUESTS, FLAG_MACHINE};
  for (size_t i = 0; i < LYNX_COUNT(of_traces); i++)
    if (arguments->option[of_traces[i]] != NULL) return false;
  const struct pen_wanted wanted = pen_for(arguments);
  return arguments->n_positional == 1 && live_pages_try(arguments->positional[0], arguments->option[FLAG_JSON] != NULL,
                                                        arguments->option[FLAG_HTML], arguments->option[FLAG_RECORD], &wanted, ret_code);
}

/* Takes the contract and the list. */
static int all_ranks(const struct arguments *arguments, const struct account_options *told, int64_t device, int64_t top,
                     struct contract_file *take_contract, char *take_list) {
  static const int of_one[] = {FLAG_AGAINST, FLAG_FOLDED, FLAG_CHROME, FLAG_RECORD, FLAG_REQUESTS, FLAG_MACHINE, FLAG_EVENT};
  const struct attribution_view view = {.contract = take_contract != NULL ? &take_contract->contract : NULL,
                                        .top = (size_t)top,
                                        .inside = arguments->option[FLAG_INSIDE] != NULL};
  const struct rank_pages pages = {.paths = arguments->positional,
                                   .n = (size_t)arguments->n_positional,
                                   .options = told,
                                   .device = device,
                                   .view = &view,
                                   .part = arguments->option[FLAG_PART],
                                   .reads_so = arguments->option[FLAG_WINDOW] != NULL || arguments->option[FLAG_ORPHANS] != NULL ||
                                               arguments->option[FLAG_DEVICE] != NULL || arguments->option[FLAG_BACK_TO_BACK] != NULL,
                                   .html = arguments->option[FLAG_HTML],
                                   .json = arguments->option[FLAG_JSON] != NULL,
                                   .quiet = arguments->option[FLAG_QUIET] != NULL};
  int code = EXIT_HOLDS;
  if (pages.part != NULL && (pages.json || pages.html != NULL)) {
    complain("lynxbench attribute: --part: found with %s, accepted: by itself; `attribute` of the part shows it\n",
             pages.json ? "--json" : "--html");
    code = EXIT_WRONG_INPUT;
  }
  for (size_t i = 0; i < LYNX_COUNT(of_one); i++) {
    if (arguments->option[of_one[i]] == NULL) continue;
    complain("lynxbench attribute: --%s: it goes with traces, one page each, and not with a page of all ranks\n", options[of_one[i]].name);
    code = EXIT_WRONG_INPUT;
  }
  if (code == EXIT_HOLDS) code = rank_pages_make(&pages);
  if (take_contract != NULL) contract_file_release(take_contract);
  free(take_list);
  return code;
}

/* False: it was reported. Without a path *ret stays as it is. */
static bool read_links(const char *path, struct link_speeds *links, const struct link_speeds **ret) {
  struct fact_list facts = {0};
  if (path == NULL) return true;
  if (!capture_file(path, &facts)) return false;
  link_speeds_of(&facts, links);
  fact_list_release(&facts);
  *ret = links;
  return true;
}

static bool are_few(const struct arguments *arguments) {
  if (arguments->n_positional > TRACES_MAX)
    complain("lynxbench attribute: found %d files; accepted: up to %d, and with --ranks up to %d ranks of one job\n",
             arguments->n_positional, TRACES_MAX, FILES_MAX);
  return arguments->n_positional <= TRACES_MAX;
}

static int run(const struct arguments *arguments) {
  int code = EXIT_WRONG_INPUT;
  if (arguments->option[FLAG_HOOK] != NULL && arguments->option[FLAG_RECORD] == NULL) {
    complain("lynxbench attribute: --hook: found '%s', accepted: with --record\n", arguments->option[FLAG_HOOK]);
    return EXIT_WRONG_INPUT;
  }
  if (try_live(arguments, &code)) return code;
  const struct account_options told = account_options_of(arguments);
  struct attribution after, before;
  struct attribution_change change;
  struct contract_file contract;
  int64_t device = option_count(arguments, FLAG_DEVICE, -1), top = option_count(arguments, FLAG_TOP, 10);
  const char *against = arguments->option[FLAG_AGAINST], *named = arguments->option[FLAG_CONTRACT];
  bool quiet = arguments->option[FLAG_QUIET] != NULL, has_contract = named != NULL;
  struct link_speeds machine;
  const struct link_speeds *links = NULL;
  if (!read_links(arguments->option[FLAG_MACHINE], &machine, &links) || (named != NULL && !load_owners(named, &contract)))
    return EXIT_WRONG_INPUT;
  attribution_init(&after, &told, device);
  attribution_init(&before, &told, device);
  after.event = before.event = arguments->option[FLAG_EVENT];
  const char *paths[TRACES_MAX];
  char *list = against != NULL ? xcopy(against) : NULL;
  size_t n_before = list != NULL ? cut_list(list, paths) : 0;
  bool good = list == NULL || n_before > 0;
  if (good && rank_pages_are_wanted(arguments->option[FLAG_RANKS], arguments->option[FLAG_PART], arguments->positional,
                                    (size_t)arguments->n_positional))
    return all_ranks(arguments, &told, device, top, has_contract ? &contract : NULL, list);
  good = good && are_few(arguments);
  good = good && trace_files_add(&after, arguments->positional, (size_t)arguments->n_positional, quiet);
  if (good && after.traces[0].content == CONTENT_TIMELINE) before.preferred = after.traces[0].account.device; /* like with like */
  if (good && list != NULL) good = trace_files_add(&before, paths, n_before, quiet);
  if (good && against != NULL) good = only_timelines(&after) && only_timelines(&before);
  if (good) {
    struct attribution_view view = {.attribution = &after,
                                    .contract = has_contract ? &contract.contract : NULL,
                                    .top = (size_t)top,
                                    .links = links,
                                    .inside = arguments->option[FLAG_INSIDE] != NULL};
    attribution_finish(&after);
    if (against != NULL) {
      attribution_finish(&before);
      attribution_compare(&before, &after, &change);
      view.change = &change;
    }
    code = !write_all(arguments, &view) ? EXIT_CONDITIONS : against != NULL && change.abstained ? EXIT_INCONCLUSIVE : EXIT_HOLDS;
    if (against != NULL) attribution_change_release(&change);
    if (arguments->option[FLAG_RECORD] != NULL && (code == EXIT_HOLDS || code == EXIT_INCONCLUSIVE)) {
      /* after all was shown: it stays on the screen even where the ledger does not take it */
      const struct pen_wanted wanted = pen_for(arguments);
      int recorded = findings_record(&wanted, arguments->option[FLAG_RECORD], &after, NULL);
      code = recorded != EXIT_HOLDS ? recorded : code;
    }
  }
  attribution_release(&after);
  attribution_release(&before);
  if (has_contract) contract_file_release(&contract);
  free(list);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  confine_output(ret, arguments->option[FLAG_HTML]);
  confine_output(ret, arguments->option[FLAG_FOLDED]);
  confine_output(ret, arguments->option[FLAG_CHROME]);
  confine_output(ret, arguments->option[FLAG_PART]);
  ret->ledger = ledger_file_address(arguments->option[FLAG_LEDGER]);
  return arguments->option[FLAG_RECORD] == NULL; /* that signs, with a team's key */
}

const struct command command_attribute = {
    .name = "attribute",
    .summary = "account for the time of a trace or a run, by layer and owner",
    .usage = "TRACE ...",
    .least = 1,
    .most = FILES_MAX,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "TRACE is what a profiler wrote: PyTorch (Kineto, .json or .json.gz), Nsight Systems (exported to SQLite), ONNX\n"
               "Runtime, `perf script`, OpenTelemetry or Jaeger spans, or any program's Chrome trace events. Traces of several ranks\n"
               "of one job may be given together, and with --ranks thousands of them; --part reads some of them where they lie, and\n"
               "`attribute` of such parts shows the job. No contract and no run are needed.\n"
               "Of a bundle of `run` or `diagnose` it shows whose layers the serving process's threads spent their time in.\n"
               "Every nanosecond of the window belongs to one state, so that the account sums to the wall; what nothing explains is\n"
               "a state of its own. What it yields is suspected: a trace accounts, only an intervention confirms.\n"
               "With --against it says what changed; it exits with 3 where the two are not the same work.\n"
               "With --record each finding becomes a signed entry of the ledger, with the owners that the run's contract names.",
    .example = "build/lynxbench attribute tests/recorded/profiles/h100-bert.json.gz",
    .confines = confines,
    .run = run};
