#include "cli/rank_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/side_by_side.h"
#include "cli/output.h"
#include "cli/trace_files.h"

enum { LINE_MOST = 1 << 28, OUT_MOST = 1 << 30, AT_ONCE = 8 };

/* A pipe is none: what is read of it is gone. */
static bool is_part(const char *path) {
  char head[sizeof RANK_SHARE_MARK - 1];
  return file_head(path, head, sizeof head) == sizeof head && memcmp(head, RANK_SHARE_MARK, sizeof head) == 0;
}

bool rank_pages_are_wanted(const char *ranks, const char *part, const char *const *paths, size_t n) {
  bool wanted = ranks != NULL || part != NULL;
  for (size_t i = 0; i < n && !wanted; i++) wanted = is_part(paths[i]);
  return wanted;
}

static bool fail(struct lynx_error *error, const char *path, int line) {
  lynx_error_at(error, path, line, NULL);
  (void)report_error(error);
  return false;
}

static bool read_line(FILE *file, struct buffer *ret) {
  int c;
  ret->length = 0;
  while ((c = getc_unlocked(file)) != EOF && c != '\n') {
    const char letter = (char)c;
    if (!buffer_append(ret, &letter, 1)) return true;
  }
  return ret->length > 0 || c != EOF;
}

static bool add_part(struct rank_job *job, const char *path) {
  struct lynx_error error = {0};
  struct rank_share share;
  struct buffer line;
  FILE *file = fdopen(file_open_to_read(path), "r");
  bool good = file != NULL;
  if (!good) (void)lynx_fail(&error, LYNX_IO, "cannot be read"), (void)fail(&error, path, 0);
  buffer_init(&line, LINE_MOST);
  for (int n = 1; good && read_line(file, &line); n++) {
    if (line.length == 0) continue;
    if (line.overflowed) (void)lynx_fail(&error, LYNX_LIMIT, "a line of more than %d bytes", LINE_MOST);
    good = !line.overflowed && rank_share_read(line.data, line.length, &share, &error) == LYNX_OK &&
           rank_job_add(job, &share, &error) == LYNX_OK;
    error.line = n; /* of the file; the reader counts lines of the line */
    if (!good) (void)fail(&error, path, n);
  }
  if (file != NULL) (void)fclose(file);
  buffer_release(&line);
  return good;
}

/* Of each trace only what the page needs is kept. */
static bool take_shares(struct rank_job *job, struct attribution *traces) {
  struct lynx_error error = {0};
  bool good = true;
  for (size_t i = 0; i < traces->n_traces && good; i++) {
    struct rank_share share;
    attribution_find(&traces->traces[i], NULL);
    if (!rank_share_take(&traces->traces[i], &share))
      (void)lynx_fail(&error, LYNX_INPUT,
                      "it does not say which rank it is of; accepted: PyTorch's traces of a distributed job (distributedInfo)");
    good = error.status == LYNX_OK && rank_job_add(job, &share, &error) == LYNX_OK;
    if (!good) (void)fail(&error, traces->traces[i].path, 0);
  }
  return good;
}

static bool add_some(const struct rank_pages *p, struct rank_job *job, const char *const *paths, size_t n) {
  struct attribution traces;
  attribution_init(&traces, p->options, p->device);
  bool good = trace_files_add(&traces, paths, n, true) && take_shares(job, &traces);
  attribution_release(&traces);
  return good;
}

static bool add_all(const struct rank_pages *p, struct rank_job *job) {
  const size_t at_once = side_by_side_threads(AT_ONCE);
  bool good = true;
  for (size_t i = 0; i < p->n && good;) {
    size_t n = 0;
    while (i + n < p->n && n < at_once && !is_part(p->paths[i + n])) n++;
    if (n == 0 && p->reads_so) {
      complain("lynxbench attribute: %s is a part, which was read with options of its own; accepted: without --window, --orphans, --device "
               "and --back-to-back\n",
               p->paths[i]);
      return false;
    }
    good = n > 0 ? add_some(p, job, &p->paths[i], n) : add_part(job, p->paths[i]);
    i += n > 0 ? n : 1;
    if (!p->quiet && p->n >= 32 && (i % 32 < at_once || i == p->n)) complain("%zu of %zu ranks read\n", i, p->n);
  }
  return good;
}

static bool write_part(const struct rank_pages *p, const struct rank_job *job) {
  struct buffer out;
  buffer_init(&out, OUT_MOST);
  for (size_t r = 0; r < job->n; r++) rank_share_write(job->ranks[r], &out);
  bool good = write_buffer(p->part, &out);
  buffer_release(&out);
  if (good && !p->quiet)
    complain("%s: %zu rank%s\nnext: lynxbench attribute %s, with the parts of the other ranks behind it\n", p->part, job->n, LYNX_S(job->n),
             shell_word(p->part));
  return good;
}

static bool write_page(const char *path, bool (*make)(const struct rank_job *, const struct attribution_view *, struct buffer *),
                       const struct rank_pages *p, const struct rank_job *job) {
  struct buffer out;
  buffer_init(&out, OUT_MOST);
  bool whole = make(job, p->view, &out), good = write_buffer(path, &out) && whole;
  buffer_release(&out);
  return good;
}

static bool text_of(const struct rank_job *job, const struct attribution_view *view, struct buffer *ret) {
  return ranks_text(job, view, color_wanted(stdout), ret);
}

int rank_pages_make(const struct rank_pages *p) {
  struct rank_job job = {.n = 0};
  struct lynx_error error = {0};
  const char *path = "";
  int code = EXIT_WRONG_INPUT;
  if (!add_all(p, &job)) goto done;
  if (rank_job_finish(&job, &path, &error) != LYNX_OK) {
    (void)fail(&error, path, 0);
    goto done;
  }
  bool good = p->part != NULL ? write_part(p, &job) : write_page(NULL, p->json ? ranks_json : text_of, p, &job);
  if (good && p->html != NULL) good = write_page(p->html, ranks_html, p, &job);
  code = good ? EXIT_HOLDS : EXIT_CONDITIONS;
done:
  rank_job_release(&job);
  return code;
}
