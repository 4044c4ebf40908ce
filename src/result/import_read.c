/* Which tool's reader takes the files of an import, and what is made of what it read. */
#include <string.h>

#include "base/known_file.h"
#include "result/import_result.h"

enum { HEAD_MAX = 1 << 16 };

static const struct importer *find_importer(const struct import_file *file, const char *name, struct lynx_error *error) {
  struct arena arena = {0};
  const char *known = "";
  for (size_t i = 0; importers[i] != NULL; i++) {
    if (name != NULL ? strcmp(importers[i]->name, name) == 0 : importers[i]->recognise(file)) {
      arena_release(&arena);
      return importers[i];
    }
    known = arena_printf(&arena, "%s%s%s (%s)", known, i > 0 ? "; " : "", importers[i]->name, importers[i]->files);
  }
  const char *something = known_file_text(file->text, file->length < HEAD_MAX ? file->length : HEAD_MAX, "import");
  if (name != NULL) (void)lynx_fail(error, LYNX_INPUT, "found the format '%.40s'; accepted: %s", name, known);
  else if (something != NULL) (void)lynx_fail(error, LYNX_INPUT, "it is %s", something);
  else (void)lynx_fail(error, LYNX_INPUT, "no file of a tool that is known; accepted: %s", known);
  arena_release(&arena);
  return NULL;
}

static void name_files(struct imported *m, const struct import_file *files, size_t n) {
  m->files = arena_alloc(&m->arena, n, sizeof *m->files);
  for (m->n_files = 0; m->n_files < n; m->n_files++) {
    const char *slash = strrchr(files[m->n_files].path, '/');
    m->files[m->n_files].name = import_words(m, slash != NULL ? slash + 1 : files[m->n_files].path);
    m->files[m->n_files].digest = arena_copy(&m->arena, files[m->n_files].digest);
  }
}

/* What no contract and no row could hold is not what a tool writes. */
static enum lynx_status check_bounds(const struct imported *m, struct lynx_error *error) {
  if (m->n_figures == 0 && m->n_requests == 0) return lynx_fail(error, LYNX_INPUT, "no figure and no request of %s is in it", m->reader);
  if (!(m->seconds >= 0) || m->seconds > TIME_MAX_S) return lynx_fail(error, LYNX_INPUT, "a measurement of %.3g s", m->seconds);
  if (!(m->rate_per_s >= 0) || m->rate_per_s > 1e7) return lynx_fail(error, LYNX_INPUT, "a rate of %.3g requests/s", m->rate_per_s);
  if (m->concurrency < 0 || m->concurrency > 10000000)
    return lynx_fail(error, LYNX_INPUT, "%lld requests at once", (long long)m->concurrency);
  return LYNX_OK;
}

enum lynx_status import_read(const struct import_file *files, size_t n, const char *name, size_t part, struct imported *ret,
                             struct lynx_error *error) {
  *ret = (struct imported){.part = part, .reader = "", .tool = "", .version = "", .model = "", .endpoint = "", .begun = ""};
  const struct importer *importer = find_importer(&files[0], name, error);
  if (importer == NULL) {
    lynx_error_at(error, files[0].path, 0, NULL);
    return error->status;
  }
  for (size_t i = 0; i < n; i++)
    if (!importer->recognise(&files[i])) {
      lynx_error_at(error, files[i].path, 0, NULL);
      return lynx_fail(error, LYNX_INPUT, "not a file of %s; accepted: %s", importer->name, importer->files);
    }
  ret->reader = importer->name;
  name_files(ret, files, n);
  enum lynx_status status = importer->read(files, n, ret, error);
  if (status == LYNX_OK) status = check_bounds(ret, error);
  if (status != LYNX_OK) {
    lynx_error_at(error, files[0].path, 0, NULL); /* where the reader did not say which */
    import_release(ret);
    return status;
  }
  import_check_order(ret);
  import_check_possible(ret);
  import_recompute(ret);
  if (ret->n_outside > 0)
    import_against(ret, arena_printf(&ret->arena, "%zu of its requests have a token before they begin, or after they end", ret->n_outside));
  import_lacks(ret, "the executor was not captured: what stack this was measured on is not known");
  import_lacks(ret, "no contract was agreed beforehand: the one in the bundle says what the tool's file says");
  if (ret->n_requests == 0) import_lacks(ret, "it holds no requests: none of its figures can be recomputed");
  import_lacks(ret, "how late the instrument was, and whether it was the bottleneck, is not known");
  return LYNX_OK;
}
