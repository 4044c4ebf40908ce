#include <string.h>

#include "base/json.h"
#include "cli/bundle_file.h"
#include "cli/command.h"
#include "executor/capture.h"

#include "report/text.h"

static const struct option_spec options[] = {{"state", NULL, "show differences of state too"}, {"json", NULL, "JSON"}};

/* A capture's JSON, or the start of a bundle's first precision. */
static bool load(const char *path, struct fact_list *ret) {
  struct buffer text;
  struct lynx_error error = {0};
  if (!read_file(path, 256 << 20, &text)) return false;
  enum lynx_status status;
  if (text.length >= 16 && memcmp(text.data, "SQLite format 3", 16) == 0) {
    struct bundle_file file;
    buffer_release(&text);
    if (!bundle_file_open(path, &file)) return false;
    status = LYNX_OK;
    for (size_t i = 0; i < file.result.n_precisions && ret->n_items == 0 && status == LYNX_OK; i++) {
      char moment[80];
      (void)snprintf(moment, sizeof moment, "start:%.60s", file.result.precisions[i].name);
      status = bundle_facts(file.bundle, moment, ret, &error);
    }
    bundle_file_close(&file);
  } else status = capture_read(text.data, text.length, ret, &error);
  buffer_release(&text);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

static bool write_json(const struct difference_list *list, struct buffer *out) {
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
    json_put_text(&json, "owner", layer_default_owner(d->layer));
    json_put_text(&json, "of", d->of == FACT_IDENTITY ? "identity" : "state");
    json_put_text(&json, "key", d->key);
    json_put_text(&json, "a", d->a);
    json_put_text(&json, "b", d->b);
    json_close(&json);
  }
  json_close(&json);
  return json_finish(&json) && buffer_text(out, "\n");
}

static int run(const struct arguments *arguments) {
  struct fact_list a = {0}, b = {0};
  struct difference_list differences = {0};
  struct buffer out;
  int code = EXIT_WRONG_INPUT;
  buffer_init(&out, 256 << 20);
  if (load(arguments->positional[0], &a) && load(arguments->positional[1], &b)) {
    capture_diff(&a, &b, &differences);
    bool good = arguments->option[1] != NULL ? write_json(&differences, &out)
                                             : text_diff(&differences, arguments->option[0] != NULL, color_wanted(stdout), &out);
    good = write_buffer(NULL, &out) && good;
    code = !good ? EXIT_CONDITIONS : differences.n_identity > 0 ? EXIT_DOES_NOT_HOLD : EXIT_HOLDS;
  }
  difference_list_release(&differences);
  fact_list_release(&a);
  fact_list_release(&b);
  buffer_release(&out);
  return code;
}

const struct command command_diff = {
    .name = "diff",
    .summary = "how two executors differ, by layer and owner",
    .usage = "A B",
    .least = 2,
    .most = 2,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "A and B are captures (`lynxbench capture --out`) or bundles. Exits with 0 if they are the same executor,\nwith 1 if they differ.",
    .example = "build/lynxbench capture --out /tmp/a.json; build/lynxbench diff /tmp/a.json /tmp/a.json",
    .run = run};
