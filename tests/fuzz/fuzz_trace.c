/* Every trace reader, and the account behind it: no crash, the account closes, and packed bytes read as unpacked ones do. */
#include "attribute/attribution.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attribution attribution;
  struct account_options options = {.threshold_ns = 0};
  struct trace_source source;
  struct lynx_error error = {.status = LYNX_OK};
  size_t failed = 0;
  trace_source_memory((struct bytes){(const char *)data, size}, &source);
  attribution_init(&attribution, &options, -1);
  struct attribution_input input = {.path = "input", .source = &source};
  enum lynx_status status = attribution_add(&attribution, &input, 1, 1, &failed, &error);
  HOLDS((status == LYNX_OK) == (attribution.n_traces == 1));
  HOLDS(status == LYNX_OK || error.status == status);
  if (status == LYNX_OK) {
    const struct attributed_trace *t = &attribution.traces[0];
    attribution_finish(&attribution);
    if (t->content == CONTENT_TIMELINE) {
      int64_t sum = 0;
      for (int i = 0; i < STATE_COUNT; i++) sum += t->account.states[i];
      HOLDS(sum == t->account.wall_ns && account_busy(&t->account) + account_idle(&t->account) == sum);
      struct call_tree tree;
      call_tree_build(&t->timeline, INT64_MIN, &tree);
      call_tree_release(&tree);
      struct attribution_change change;
      attribution_compare(&attribution, &attribution, &change);
      HOLDS(change.difference_ns >= 0 && change.difference_ns <= 0); /* against itself nothing changed */
      attribution_change_release(&change);
    }
    if (t->content == CONTENT_REQUESTS)
      for (size_t i = 0; i < t->requests.n_operations; i++) HOLDS(t->requests.operations[i].on_path_ns >= 0);
    if (t->content == CONTENT_SAMPLES) HOLDS(t->samples.n >= 0 && t->samples.modules.n <= (size_t)t->samples.n);
  }
  attribution_release(&attribution);
  source.release(source.context);
  return 0;
}
