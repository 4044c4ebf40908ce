#include "cli/bundle_file.h"
#include "cli/command.h"
#include "report/text.h"

static const struct option_spec options[] = {{"json", NULL, "the result as JSON: the same bytes from the same bundle, always"}};

static int run(const struct arguments *arguments) {
  struct bundle_file file;
  struct buffer out;
  if (!bundle_file_open(arguments->positional[0], &file)) return EXIT_WRONG_INPUT;
  buffer_init(&out, 64 << 20);
  bool good = arguments->option[0] != NULL ? result_write(&file.result, &out) : text_result(&file.result, color_wanted(stdout), &out);
  good = write_buffer(NULL, &out) && good;
  int64_t n_counted = 0;
  for (size_t i = 0; i < file.result.n_precisions; i++) n_counted += file.result.precisions[i].n_counted;
  buffer_release(&out);
  bundle_file_close(&file);
  return !good ? EXIT_CONDITIONS : n_counted > 0 ? EXIT_HOLDS : EXIT_INCONCLUSIVE;
}

const struct command command_show = {
    .name = "show",
    .summary = "check a bundle and show its figures",
    .usage = "BUNDLE",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "Everything is recomputed from the raw rows, after the seal was checked. A figure that the sample cannot\n"
               "bound is 'unbounded'. An incomplete bundle is shown, and said to be incomplete. Exits with 3 if nothing\n"
               "was counted.",
    .example = "build/lynxbench show build/demo/demo.lynx",
    .run = run};
