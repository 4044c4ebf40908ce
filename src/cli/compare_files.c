#include "cli/compare_files.h"

#include <stdlib.h>
#include <string.h>

#include "cli/capture_target.h"
#include "cli/text_file.h"
#include "report/files_report.h"

struct side {
  struct files_side read;
  struct imported items[COMPARED_FILES_MAX];
};

static bool read_one(struct side *side, const char *path) {
  struct import_file file = {.path = path};
  struct lynx_error error = {0};
  struct buffer text;
  if (file_is_record(path)) {
    complain("lynxbench compare: %s: a bundle of lynxbench; accepted here: results of other tools. Two bundles: lynxbench compare A B\n",
             path);
    return false;
  }
  if (!text_file_read(path, IMPORT_FILE_BYTES_MAX, &text, file.digest)) return false;
  file.text = text.data;
  file.length = text.length;
  enum lynx_status status = import_read(&file, 1, NULL, 1, &side->items[side->read.n], &error);
  buffer_release(&text);
  if (status != LYNX_OK) return report_error(&error), false;
  struct imported *m = &side->items[side->read.n++];
  free(m->requests); /* what is compared are the figures */
  free(m->gaps_s);
  m->requests = NULL;
  m->gaps_s = NULL;
  m->n_requests = m->n_gaps = 0;
  if (m->n_parts <= 1) return true;
  complain("lynxbench compare: %s: holds %zu runs; accepted: a file for each run\n", path, m->n_parts);
  return false;
}

static bool read_side(struct side *side, const char *const *paths, size_t n) {
  side->read.items = side->items;
  for (size_t i = 0; i < n; i++)
    if (!read_one(side, paths[i])) return false;
  return true;
}

/* One run twice would make an interval of nothing. */
static bool all_differ(const struct side *a, const struct side *b) {
  const struct side *sides[] = {a, b};
  for (size_t s = 0; s < 2; s++)
    for (size_t i = 0; i < sides[s]->read.n; i++)
      for (size_t t = s; t < 2; t++)
        for (size_t k = t == s ? i + 1 : 0; k < sides[t]->read.n; k++) {
          const struct import_source *x = &sides[s]->items[i].files[0], *y = &sides[t]->items[k].files[0];
          if (strcmp(x->digest, y->digest) != 0) continue;
          complain("lynxbench compare: '%s' and '%s' are the same bytes; accepted: one file of each run\n", x->name, y->name);
          return false;
        }
  return true;
}

static bool read_environments(const struct compare_files_request *request, struct difference_list *ret, bool *ret_given) {
  struct fact_list before = {0}, after = {0};
  *ret_given = request->environment_before != NULL;
  if ((request->environment_before == NULL) != (request->environment_after == NULL)) {
    complain("lynxbench compare: --env-before and --env-after go together: one file of each\n");
    return false;
  }
  if (!*ret_given) return true;
  bool good = capture_file(request->environment_before, &before) && capture_file(request->environment_after, &after);
  if (good) capture_diff(&before, &after, ret);
  fact_list_release(&before);
  fact_list_release(&after);
  return good;
}

static void release_side(struct side *side) {
  for (size_t i = 0; i < side->read.n; i++) import_release(&side->items[i]);
  free(side);
}

static int exit_of(enum files_verdict verdict) {
  if (verdict == FILES_SAME) return EXIT_HOLDS;
  return verdict == FILES_UNDECIDED || verdict == FILES_OTHER_WORK ? EXIT_INCONCLUSIVE : EXIT_DOES_NOT_HOLD;
}

int compare_files(const struct compare_files_request *request) {
  struct side *before = xalloc(1, sizeof *before), *after = xalloc(1, sizeof *after);
  struct difference_list environments = {0};
  struct files_compared compared;
  struct buffer out;
  bool given = false;
  int code = EXIT_WRONG_INPUT;
  if (read_side(before, request->before, request->n_before) && read_side(after, request->after, request->n_after) &&
      all_differ(before, after) && read_environments(request, &environments, &given)) {
    files_compare(&before->read, &after->read, request->margin, request->confidence, &compared);
    buffer_init(&out, 64 << 20);
    const struct difference_list *known = given ? &environments : NULL;
    bool whole = request->json ? files_json(&compared, &before->read, &after->read, known, &out)
                               : files_text(&compared, &before->read, &after->read, known, &out);
    code = write_buffer(NULL, &out) && whole ? exit_of(compared.verdict) : EXIT_CONDITIONS;
    buffer_release(&out);
    files_compared_release(&compared);
  }
  difference_list_release(&environments);
  release_side(before);
  release_side(after);
  return code;
}
