/* Lines of ranks: no crash; what was read is written and read again as the same bytes; and every page of it is whole. */
#include <stdint.h>
#include <string.h>

#include "report/ranks_report.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct rank_share *share) {
  struct buffer once, twice;
  struct rank_share again;
  buffer_init(&once, 1 << 26);
  buffer_init(&twice, 1 << 26);
  rank_share_write(share, &once);
  HOLDS(rank_share_read(once.data, once.length, &again, NULL) == LYNX_OK);
  rank_share_write(&again, &twice);
  HOLDS(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
  rank_share_release(&again);
  buffer_release(&once);
  buffer_release(&twice);
}

static void check_pages(const struct rank_job *job) {
  static bool (*const pages[])(const struct rank_job *, const struct attribution_view *, struct buffer *) = {ranks_json, ranks_html};
  const struct attribution_view view = {.top = 10};
  struct buffer out;
  for (size_t i = 0; i <= LYNX_COUNT(pages); i++) {
    buffer_init(&out, 1 << 26);
    HOLDS(i < LYNX_COUNT(pages) ? pages[i](job, &view, &out) : ranks_text(job, &view, false, &out));
    buffer_release(&out);
  }
}

/* A line for each rank. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct rank_job job = {.n = 0};
  struct lynx_error error = {0};
  const char *text = (const char *)data, *path;
  for (size_t at = 0; at < size && job.n < 8;) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t n = end != NULL ? (size_t)(end - text) - at : size - at;
    struct rank_share share;
    if (rank_share_read(text + at, n, &share, &error) == LYNX_OK) {
      check_again(&share);
      HOLDS(rank_job_add(&job, &share, &error) == LYNX_OK);
    }
    at += n + 1;
  }
  if (job.n > 0 && rank_job_finish(&job, &path, &error) == LYNX_OK) check_pages(&job);
  rank_job_release(&job);
  return 0;
}
