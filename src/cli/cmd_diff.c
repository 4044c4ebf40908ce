#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/bundle_file.h"
#include "cli/capture_target.h"
#include "cli/command.h"
#include "cli/confine.h"
#include "cli/text_file.h"
#include "executor/capture.h"
#include "executor/difference.h"
#include "executor/import.h"

#include "report/html.h"
#include "report/text.h"

enum { FLAG_STATE, FLAG_JSON, FLAG_HTML, FLAG_ENDPOINT, FLAG_PID };

static const struct option_spec options[] = {
    [FLAG_STATE] = SWITCH("state", "show differences of state and context too"),
    [FLAG_JSON] = SWITCH_JSON,
    [FLAG_HTML] = OPTION("html", "FILE", "write a page that opens anywhere"),
    [FLAG_ENDPOINT] = OPTION("endpoint", "URL", "where an argument is 'now': the process that listens there"),
    [FLAG_PID] = OPTION_WITH("pid", "N", "where an argument is 'now': this process", VALUE_COUNT, 1, INT32_MAX, "a process id, 1 or more")};

struct side {
  struct fact_list facts;
  struct bundle_file file; /* where it is a bundle: its contract names the owners */
  bool is_bundle;
};

static bool load_bundle(const char *path, struct side *side) {
  struct lynx_error error = {0};
  enum lynx_status status = LYNX_OK;
  if (!bundle_file_open(path, &side->file)) return false;
  side->is_bundle = true;
  for (size_t i = 0; i < side->file.result.n_precisions && side->facts.n_items == 0 && status == LYNX_OK; i++)
    status = bundle_start_facts(side->file.bundle, side->file.result.precisions[i].name, &side->facts, &error);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

/* This machine, at this moment. */
static bool load_now(const struct arguments *arguments, struct side *side) {
  struct root root = {""};
  struct capture_request request = {.root = &root, .clock = &clock_system, .ask_routes = true};
  if (!capture_target("diff", arguments->option[FLAG_ENDPOINT], arguments->option[FLAG_PID], &root, &request)) return false;
  capture_run(&request, &side->facts);
  return true;
}

/* A capture, what another tool captured, a bundle (the start of its first precision), or "now". */
static bool load(const char *path, const struct arguments *arguments, struct side *side) {
  struct buffer text;
  if (strcmp(path, "now") == 0) return load_now(arguments, side);
  if (file_is_record(path)) return load_bundle(path, side);
  if (!text_file_read(path, CAPTURE_FILE_MAX, &text, NULL)) return false;
  bool good = capture_text(path, &text, &side->facts);
  buffer_release(&text);
  return good;
}

static void side_release(struct side *side) {
  fact_list_release(&side->facts);
  if (side->is_bundle) bundle_file_close(&side->file);
}

static bool write_json(const struct difference_list *list, const struct contract *contract, struct buffer *out) {
  static const char *const kinds[] = {
      [DIFFERENCE_CHANGED] = "changed", [DIFFERENCE_ONLY_A] = "only in A", [DIFFERENCE_ONLY_B] = "only in B"};
  struct json_writer json;
  json_begin(&json, out);
  json_open_array(&json);
  for (size_t i = 0; i < list->n_items; i++) {
    const struct difference *d = &list->items[i];
    json_open_object(&json);
    json_put_text(&json, "difference", kinds[d->kind]);
    json_put_text(&json, "layer", layer_text(d->layer));
    json_put_text(&json, "owner", contract != NULL ? contract_owner(contract, d->layer) : layer_default_owner(d->layer));
    json_put_text(&json, "of", fact_kind_text(d->of));
    json_put_text(&json, "key", d->key);
    json_put_text(&json, "a", d->a);
    json_put_text(&json, "b", d->b);
    if (d->order != VERSION_NONE) json_put_text(&json, "newer", d->order == VERSION_A_NEWER ? "a" : "b");
    json_put_text(&json, "matters", weight_text(d->weight));
    json_put_text(&json, "reason", d->reason);
    json_close(&json);
  }
  return json_end_line(&json);
}

/* A fact that both sides have, alike or not. */
static bool has_common(const struct difference_list *list) {
  bool common = false;
  for (int i = 0; i < LAYER_COUNT; i++) common = common || list->n_same[i] > 0;
  for (size_t i = 0; i < list->n_items; i++)
    common = common || (list->items[i].kind == DIFFERENCE_CHANGED && list->items[i].of == FACT_IDENTITY);
  return common;
}

static int run(const struct arguments *arguments) {
  struct side a = {.is_bundle = false}, b = {.is_bundle = false};
  struct difference_list differences = {0};
  struct buffer out, page;
  const char *html = arguments->option[FLAG_HTML];
  int code = EXIT_WRONG_INPUT;
  buffer_init(&out, 256 << 20);
  buffer_init(&page, 256 << 20);
  if (load(arguments->positional[0], arguments, &a) && load(arguments->positional[1], arguments, &b)) {
    const struct contract *contract = a.is_bundle ? &a.file.result.contract : b.is_bundle ? &b.file.result.contract : NULL;
    capture_diff(&a.facts, &b.facts, &differences);
    bool good = arguments->option[FLAG_JSON] != NULL
                    ? write_json(&differences, contract, &out)
                    : text_diff(&differences, contract, arguments->option[FLAG_STATE] != NULL, color_wanted(stdout), &out);
    good = write_buffer(NULL, &out) && good;
    if (good && html != NULL) {
      bool whole = html_diff(&differences, arguments->positional[0], arguments->positional[1], contract, &page);
      good = write_buffer(html, &page) && whole;
    }
    bool compared = has_common(&differences);
    if (good && !compared)
      complain(
          "lynxbench diff: the two have no fact of identity in common: nothing can be compared\nnext: lynxbench capture --out FILE, on "
          "either machine\n");
    code = !good ? EXIT_CONDITIONS : !compared ? EXIT_INCONCLUSIVE : differences.n_identity > 0 ? EXIT_DOES_NOT_HOLD : EXIT_HOLDS;
  }
  difference_list_release(&differences);
  side_release(&a);
  side_release(&b);
  buffer_release(&out);
  buffer_release(&page);
  return code;
}

static bool confines(const struct arguments *arguments, struct confinement *ret) {
  for (int i = 0; i < arguments->n_positional; i++)
    if (strcmp(arguments->positional[i], "now") == 0) return false;
  confine_output(ret, arguments->option[FLAG_HTML]);
  return true;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "show how two executors differ, by layer and owner",
    .usage = "A B",
    .least = 2,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "A and B are captures (`lynxbench capture --out`), bundles, what PyTorch's collect_env, `nvidia-smi -q -x`\n"
        "or MLPerf's system description say, or the word 'now' for this machine. Layers stand in the order of their gravest difference;\n"
        "within one, what often matters comes first, with the reason. It names differences, not culprits.\n"
        "Exits with 0 if they are the same executor, with 1 if they differ.",
    .example = "build/lynxbench capture --out /tmp/a.json; build/lynxbench diff /tmp/a.json /tmp/a.json",
    .confines = confines,
    .run = run};
