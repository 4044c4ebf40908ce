#include "result/import_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "result/result_private.h"
#include "stats/quantile.h"

enum { FIGURES_MAX = 4096, TEXTS_MAX = 1000 };

/* --- what readers call --- */

/* Room doubles: of n there is room for the next power of two. */
static bool is_full(size_t n) {
  return (n & (n - 1)) == 0;
}

static void append(struct imported *m, const char ***list, size_t *n, const char *text) {
  if (*n == TEXTS_MAX) return; /* who reads that many reads no more */
  if (is_full(*n)) *list = xgrow((void *)*list, *n > 0 ? 2 * *n : 1, sizeof **list);
  (*list)[(*n)++] = arena_copy(&m->arena, text);
}

void import_lacks(struct imported *imported, const char *text) {
  append(imported, &imported->lacks, &imported->n_lacks, text);
}

void import_against(struct imported *imported, const char *text) {
  append(imported, &imported->against, &imported->n_against, text);
}

void import_figure_add(struct imported *imported, const char *name, const char *formula, const char *unit, double stated) {
  if (!isfinite(stated) || imported->n_figures == FIGURES_MAX) return;
  size_t n = imported->n_figures++;
  if (is_full(n)) imported->figures = xgrow(imported->figures, n > 0 ? 2 * n : 1, sizeof *imported->figures);
  imported->figures[n] = (struct import_figure){arena_copy(&imported->arena, name), formula, unit, stated, NAN};
}

double import_figure_stated(const struct imported *imported, const char *name) {
  for (size_t i = 0; i < imported->n_figures; i++)
    if (strcmp(imported->figures[i].name, name) == 0) return imported->figures[i].stated;
  return NAN;
}

void import_agree(struct imported *imported, const char *what, double stated, const char *from, double derived, double tolerance) {
  double greater = fmax(fabs(stated), fabs(derived));
  if (isnan(stated) || isnan(derived) || fabs(stated - derived) <= tolerance * greater) return;
  import_against(imported, arena_printf(&imported->arena, "%s is stated as %.7g, and %s gives %.7g", what, stated, from, derived));
}

enum lynx_status import_each_line(const struct import_file *file, import_line *visit, void *context, struct lynx_error *error) {
  enum lynx_status status = LYNX_OK;
  long number = 1;
  for (const char *at = file->text; *at != 0 && status == LYNX_OK; number++) {
    size_t length = strcspn(at, "\n");
    if (length > 0) status = visit(context, at, length, error);
    if (status != LYNX_OK) lynx_error_at(error, file->path, number, NULL);
    at += length + (at[length] != 0);
  }
  return status;
}

bool import_request_add(struct imported *imported, const struct import_request *request) {
  if (imported->n_requests == IMPORT_REQUESTS_MAX) return false;
  if (imported->n_requests == imported->room_requests) {
    imported->room_requests = imported->room_requests == 0 ? 256 : 2 * imported->room_requests;
    imported->requests = xgrow(imported->requests, imported->room_requests, sizeof *imported->requests);
  }
  imported->requests[imported->n_requests] = *request;
  imported->requests[imported->n_requests++].reason = request->reason != NULL ? arena_copy(&imported->arena, request->reason) : "";
  return true;
}

void import_release(struct imported *imported) {
  free(imported->requests);
  free(imported->figures);
  free((void *)imported->lacks);
  free((void *)imported->against);
  arena_release(&imported->arena);
  *imported = (struct imported){.reader = ""};
}

/* --- recomputing --- */

/* One value of one request by a tool's formula, in seconds; NaN: it has none. */
static double value_of(const char *formula, const struct import_request *r) {
  double tokens = (double)r->output_tokens, first = r->first_token_s - r->start_s, whole = r->end_s - r->start_s;
  if (!r->ok) return NAN;
  if (strstr(formula, ".ttft.") != NULL) return first;
  if (strstr(formula, "latency.1") != NULL && strstr(formula, "inter_token") == NULL) return whole;
  if (strcmp(formula, "vllm.e2el.1") == 0) return whole;
  if (strcmp(formula, "vllm.tpot.1") == 0 || strcmp(formula, "aiperf.inter_token_latency.1") == 0)
    return r->output_tokens > 1 ? (whole - first) / (tokens - 1) : NAN;
  if (strcmp(formula, "guidellm.itl.1") == 0) return r->output_tokens > 1 ? (r->last_token_s - r->first_token_s) / (tokens - 1) : NAN;
  if (strcmp(formula, "guidellm.tpot.1") == 0) return r->output_tokens > 0 ? (r->last_token_s - r->start_s) / tokens : NAN;
  return NAN;
}

/* What the end of a figure's name asks of its sorted values. */
static double statistic(const char *name, const struct values *v) {
  const char *end = strrchr(name, ' ');
  if (end == NULL || v->n == 0) return NAN;
  double p = strcmp(end, " median") == 0 ? 0.5 : end[1] == 'p' ? strtod(end + 2, NULL) / 100 : NAN;
  if (strcmp(end, " mean") == 0) return quantile_plain_mean(v->at, v->n);
  if (strcmp(end, " min") == 0) return v->at[0];
  if (strcmp(end, " max") == 0) return v->at[v->n - 1];
  if (!(p >= 0) || p > 1 || v->n < 20) return NAN; /* of few values tools' ranks differ by more than anything here */
  double at = p * (double)(v->n - 1);              /* linear between ranks, as numpy does: percentile.numpy.1 */
  size_t low = (size_t)at;
  return low + 1 < v->n ? v->at[low] + (at - (double)low) * (v->at[low + 1] - v->at[low]) : v->at[v->n - 1];
}

static double scale_of(const char *unit) {
  return strcmp(unit, "ms") == 0 ? 1e3 : strcmp(unit, "ns") == 0 ? 1e9 : strcmp(unit, "us") == 0 ? 1e6 : 1;
}

struct totals {
  double from_s, to_s, n_ok, n_failed, prompt_tokens, output_tokens;
};

static struct totals total(const struct imported *imported) {
  struct totals t = {.from_s = INFINITY, .to_s = -INFINITY};
  for (size_t i = 0; i < imported->n_requests; i++) {
    const struct import_request *r = &imported->requests[i];
    t.from_s = fmin(t.from_s, r->start_s);
    t.to_s = fmax(t.to_s, r->end_s);
    t.n_ok += r->ok;
    t.n_failed += !r->ok;
    t.prompt_tokens += r->ok && r->prompt_tokens > 0 ? (double)r->prompt_tokens : 0;
    t.output_tokens += r->ok && r->output_tokens > 0 ? (double)r->output_tokens : 0;
  }
  return t;
}

/* A rate is over the time that the tool says it measured, or from the first send to the last end. */
static double rate_of(const char *name, const struct totals *t, double seconds) {
  if (!(seconds > 0)) return NAN;
  if (strcmp(name, "requests per second") == 0) return t->n_ok / seconds;
  if (strcmp(name, "output tokens per second") == 0 && t->output_tokens > 0) return t->output_tokens / seconds;
  if (strcmp(name, "input tokens per second") == 0 && t->prompt_tokens > 0) return t->prompt_tokens / seconds;
  return NAN;
}

static double count_of(const char *name, const struct totals *t) {
  if (strcmp(name, "requests that went well") == 0) return t->n_ok;
  if (strcmp(name, "requests that failed") == 0) return t->n_failed;
  if (strcmp(name, "output tokens") == 0 && t->output_tokens > 0) return t->output_tokens;
  if (strcmp(name, "input tokens") == 0 && t->prompt_tokens > 0) return t->prompt_tokens;
  return NAN;
}

void import_recompute(struct imported *imported) {
  const struct totals t = total(imported);
  double seconds = imported->seconds > 0 ? imported->seconds : t.to_s - t.from_s;
  struct values v = {0};
  const char *formula = "";
  if (imported->n_requests == 0) return;
  for (size_t i = 0; i < imported->n_figures; i++) {
    struct import_figure *f = &imported->figures[i];
    if (strcmp(formula, f->formula) != 0) { /* figures of one formula follow one another */
      formula = f->formula;
      v.n = 0;
      for (size_t k = 0; k < imported->n_requests; k++) {
        double value = value_of(formula, &imported->requests[k]);
        if (isfinite(value)) values_add(&v, value);
      }
      quantile_sort(v.at, v.n);
    }
    double rate = rate_of(f->name, &t, seconds), count = count_of(f->name, &t);
    f->recomputed = !isnan(rate) ? rate : !isnan(count) ? count : statistic(f->name, &v) * scale_of(f->unit);
    import_agree(imported, arena_printf(&imported->arena, "'%s'", f->name), f->stated, "its own requests", f->recomputed, 0.02);
  }
  values_release(&v);
}

/* --- choosing the reader --- */

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
  if (name != NULL) (void)lynx_fail(error, LYNX_INPUT, "found the format '%.40s'; accepted: %s", name, known);
  else (void)lynx_fail(error, LYNX_INPUT, "no file of a tool that is known; accepted: %s", known);
  arena_release(&arena);
  return NULL;
}

enum lynx_status import_read(const struct import_file *files, size_t n, const char *name, size_t part, struct imported *ret,
                             struct lynx_error *error) {
  *ret = (struct imported){.part = part, .reader = "", .tool = "", .version = "", .model = "", .endpoint = "", .begun = ""};
  lynx_error_at(error, files[0].path, 0, NULL);
  const struct importer *importer = find_importer(&files[0], name, error);
  if (importer == NULL) return error->status;
  for (size_t i = 0; i < n; i++)
    if (!importer->recognise(&files[i])) {
      lynx_error_at(error, files[i].path, 0, NULL);
      return lynx_fail(error, LYNX_INPUT, "not a file of %s; accepted beside %s: %s", importer->name, files[0].path, importer->files);
    }
  ret->reader = importer->name;
  ret->files = arena_alloc(&ret->arena, n, sizeof *ret->files);
  for (ret->n_files = 0; ret->n_files < n; ret->n_files++) {
    const struct import_file *file = &files[ret->n_files];
    const char *slash = strrchr(file->path, '/');
    ret->files[ret->n_files].name = arena_copy(&ret->arena, slash != NULL ? slash + 1 : file->path);
    ret->files[ret->n_files].digest = arena_copy(&ret->arena, file->digest);
  }
  enum lynx_status status = importer->read(files, n, ret, error);
  if (status != LYNX_OK) {
    import_release(ret);
    return status;
  }
  import_recompute(ret);
  import_lacks(ret, "the executor was not captured: what stack this was measured on is not known");
  import_lacks(ret, "no contract was agreed beforehand: the one in the bundle says what the tool's file says");
  if (ret->n_requests == 0) import_lacks(ret, "it holds no requests: none of its figures can be recomputed");
  import_lacks(ret, "how late the instrument was, and whether it was the bottleneck, is not known");
  return LYNX_OK;
}
