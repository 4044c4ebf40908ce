#include "attribute/rank_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"

enum lynx_status rank_job_add(struct rank_job *job, struct rank_share *take_share, struct lynx_error *error) {
  if (job->n == JOB_RANKS_MAX) {
    rank_share_release(take_share);
    return lynx_fail(error, LYNX_LIMIT, "more than %d ranks", JOB_RANKS_MAX);
  }
  job->ranks = xroom(job->ranks, job->n, &job->room, sizeof(struct rank_share *));
  struct rank_share *own = xalloc(1, sizeof *own);
  *own = *take_share;
  job->ranks[job->n++] = own;
  return LYNX_OK;
}

static int by_rank(const void *a, const void *b) {
  const struct rank_share *x = *(const struct rank_share *const *)a, *y = *(const struct rank_share *const *)b;
  return (x->calls.rank > y->calls.rank) - (x->calls.rank < y->calls.rank);
}

/* --- where the time went --- */

static struct job_cause *cause_of(struct rank_job *job, const struct attribution_cause *of) {
  for (size_t i = 0; i < job->n_causes; i++) {
    const struct attribution_cause *c = &job->causes[i].cause;
    if (c->state == of->state && c->layered == of->layered && (!c->layered || c->layer == of->layer)) return &job->causes[i];
  }
  if (job->n_causes == CAUSES_MAX) return NULL;
  struct job_cause *ret = &job->causes[job->n_causes++];
  *ret = (struct job_cause){.cause = *of};
  ret->cause.ns = 0;
  return ret;
}

static double share_of(const struct rank_share *rank, const struct attribution_cause *of) {
  for (size_t i = 0; i < rank->n_causes; i++) {
    const struct attribution_cause *c = &rank->causes[i];
    if (c->state == of->state && c->layered == of->layered && (!c->layered || c->layer == of->layer))
      return (double)c->ns / (double)rank->wall_ns;
  }
  return 0;
}

static void spread_of(const struct rank_job *job, struct job_cause *cause) {
  double sum = 0;
  for (size_t r = 0; r < job->n; r++) {
    double share = share_of(job->ranks[r], &cause->cause);
    sum += share;
    if (r == 0 || share < cause->least) cause->least = share, cause->least_at = r;
    if (r == 0 || share > cause->greatest) cause->greatest = share, cause->greatest_at = r;
  }
  cause->mean = fmin(fmax(sum / (double)job->n, cause->least), cause->greatest); /* whatever was rounded */
}

static int by_mean(const void *a, const void *b) {
  const struct job_cause *x = a, *y = b;
  if (x->mean != y->mean) return x->mean > y->mean ? -1 : 1;
  if (x->cause.state != y->cause.state) return x->cause.state < y->cause.state ? -1 : 1;
  int of_x = x->cause.layered ? (int)x->cause.layer : -1, of_y = y->cause.layered ? (int)y->cause.layer : -1;
  return (of_x > of_y) - (of_x < of_y);
}

static void add_accounts(struct rank_job *job) {
  for (size_t r = 0; r < job->n; r++)
    for (size_t i = 0; i < job->ranks[r]->n_causes; i++) {
      struct job_cause *c = cause_of(job, &job->ranks[r]->causes[i]);
      if (c != NULL) c->cause.ns = sum_ns(c->cause.ns, job->ranks[r]->causes[i].ns);
    }
  for (size_t i = 0; i < job->n_causes; i++) spread_of(job, &job->causes[i]);
  qsort(job->causes, job->n_causes, sizeof job->causes[0], by_mean);
}

/* --- steps --- */

static const struct rank_step *step_numbered(const struct rank_share *rank, int64_t number) {
  size_t low = 0, high = rank->n_steps;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (rank->steps[middle].number < number) low = middle + 1;
    else high = middle;
  }
  return low < rank->n_steps && rank->steps[low].number == number ? &rank->steps[low] : NULL;
}

/* The one in which it begins; NULL: in none. */
static const struct rank_step *step_at(const struct rank_share *rank, int64_t at_ns) {
  size_t low = 0, high = rank->n_steps;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (rank->steps[middle].start_ns <= at_ns) low = middle + 1;
    else high = middle;
  }
  const struct rank_step *s = low > 0 ? &rank->steps[low - 1] : NULL;
  return s != NULL && at_ns < sum_ns(s->start_ns, s->duration_ns) ? s : NULL;
}

struct columns {
  struct rank_job *job;
  struct waits {
    struct wait {
      int64_t from_ns, to_ns;
    } * at;
    size_t n, room;
  } * waits;       /* of each rank */
  int64_t *common; /* numbers of the steps that all ranks show */
  size_t n;
};

static bool all_show(const struct rank_job *job, int64_t number) {
  for (size_t r = 1; r < job->n; r++)
    if (step_numbered(job->ranks[r], number) == NULL) return false;
  return true;
}

static double *own_of(const struct columns *c, size_t rank, int64_t number) {
  size_t low = 0, high = c->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (c->common[middle] < number) low = middle + 1;
    else high = middle;
  }
  if (low == c->n || c->common[low] != number) return NULL;
  return &c->job->own_ns[rank * c->job->n_columns + low * c->job->n_columns / c->n];
}

static void make_columns(struct columns *c) {
  struct rank_job *job = c->job;
  const struct rank_share *first = job->ranks[0];
  c->common = xalloc(first->n_steps + 1, sizeof *c->common);
  for (size_t i = 0; i < first->n_steps; i++)
    if (all_show(job, first->steps[i].number)) c->common[c->n++] = first->steps[i].number;
  job->n_steps = (int64_t)c->n;
  job->n_columns = c->n < JOB_COLUMNS_MAX ? c->n : JOB_COLUMNS_MAX;
  job->own_ns = xalloc(job->n * job->n_columns + 1, sizeof *job->own_ns);
  job->median_ns = xalloc(job->n_columns + 1, sizeof *job->median_ns);
  for (size_t i = c->n; i-- > 0;) job->first_step[i * job->n_columns / c->n] = c->common[i];
  for (size_t r = 0; r < job->n; r++)
    for (size_t i = 0; i < c->n; i++) *own_of(c, r, c->common[i]) += (double)step_numbered(job->ranks[r], c->common[i])->duration_ns;
}

static void take_wait(void *context, const struct collective_call *call, int64_t wait_ns) {
  const struct columns *c = context;
  struct waits *w = &c->waits[call->rank];
  if (wait_ns > 0) {
    w->at = xroom(w->at, w->n, &w->room, sizeof *w->at);
    w->at[w->n++] = (struct wait){call->start_ns, sum_ns(call->start_ns, wait_ns)};
  }
  const struct rank_step *step = step_at(c->job->ranks[call->rank], call->start_ns);
  double *own = step != NULL ? own_of(c, call->rank, step->number) : NULL;
  if (own != NULL) *own -= (double)wait_ns;
}

static int by_start(const void *a, const void *b) {
  const struct wait *x = a, *y = b;
  return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Their union: collectives of several streams wait at once. */
static double waited_ns(struct waits *w) {
  double sum = 0;
  int64_t until = INT64_MIN;
  if (w->n > 0) qsort(w->at, w->n, sizeof *w->at, by_start);
  for (size_t i = 0; i < w->n; i++) {
    int64_t from = w->at[i].from_ns > until ? w->at[i].from_ns : until;
    if (w->at[i].to_ns <= from) continue;
    sum += (double)w->at[i].to_ns - (double)from;
    until = w->at[i].to_ns;
  }
  return sum;
}

static void find_waiting(struct columns *c) {
  struct rank_job *job = c->job;
  for (size_t r = 0; r < job->n; r++) {
    double share = waited_ns(&c->waits[r]) / (double)job->ranks[r]->shown_ns;
    job->waiting += fmin(1, share) / (double)job->n;
    free(c->waits[r].at);
  }
  free(c->waits);
}

static void find_medians(struct rank_job *job) {
  double *values = xalloc(job->n + 1, sizeof *values);
  for (size_t c = 0; c < job->n_columns; c++) {
    for (size_t r = 0; r < job->n; r++) {
      double *own = &job->own_ns[r * job->n_columns + c];
      *own = fmax(*own, 0); /* collectives of several streams wait at once */
      values[r] = *own;
    }
    quantile_sort(values, job->n);
    job->median_ns[c] = (values[(job->n - 1) / 2] + values[job->n / 2]) / 2;
  }
  free(values);
}

double rank_job_ratio(const struct rank_job *job, size_t rank, size_t column) {
  double median = job->median_ns[column];
  return median > 0 ? job->own_ns[rank * job->n_columns + column] / median : NAN;
}

/* --- findings --- */

/* By the very rule that judges ranks whose traces are given together. */
static void find_straggler(struct rank_job *job) {
  struct account mean = {.device = job->ranks[0]->device};
  double wall = 0;
  for (size_t r = 0; r < job->n; r++) wall += (double)job->ranks[r]->shown_ns / (double)job->n;
  mean.wall_ns = mean.device_total_ns = (int64_t)wall;
  const struct evidence evidence = {.account = &mean, .collectives = &job->collectives};
  const struct rule *rule = rule_named("straggler");
  if (rule == NULL) return;
  job->straggler = rule->found;
  job->straggler.id = rule->name;
  job->straggler.rung = RUNG_ACCOUNTED;
  job->has_straggler = rule->apply(&evidence, &job->straggler);
}

static void add_finding(struct rank_job *job, const struct rank_finding *f) {
  size_t k = 0;
  while (k < job->n_findings && strcmp(job->findings[k].rule->name, f->id) != 0) k++;
  if (k == FINDINGS_MAX) return;
  struct job_finding *of = &job->findings[k];
  if (k == job->n_findings) {
    job->n_findings++;
    *of = (struct job_finding){.rule = rule_named(f->id), .least = f->share, .greatest = -1};
  }
  of->n++;
  of->least = fmin(of->least, f->share);
  if (f->share > of->greatest) of->greatest = f->share, of->named = f->named;
}

static int by_greatest(const void *a, const void *b) {
  const struct job_finding *x = a, *y = b;
  if (x->greatest != y->greatest) return x->greatest > y->greatest ? -1 : 1;
  return strcmp(x->rule->name, y->rule->name);
}

static void count_ranks(struct rank_job *job) {
  int64_t within = 0;
  for (size_t r = 0; r < job->n; r++) {
    int64_t world = job->ranks[r]->world_size;
    job->worlds_differ = job->worlds_differ || world != job->ranks[0]->world_size;
    if (world > job->world_size && world <= JOB_RANKS_MAX) job->world_size = world;
  }
  for (size_t r = 0; r < job->n; r++) within += job->ranks[r]->calls.rank < job->world_size;
  job->n_beyond = job->world_size > 0 ? (int64_t)job->n - within : 0;
  job->n_missing = job->world_size > within ? job->world_size - within : 0;
}

enum lynx_status rank_job_finish(struct rank_job *job, const char **ret_path, struct lynx_error *error) {
  qsort(job->ranks, job->n, sizeof(struct rank_share *), by_rank);
  for (size_t r = 1; r < job->n; r++) {
    *ret_path = job->ranks[r]->path;
    if (job->ranks[r]->calls.rank == job->ranks[r - 1]->calls.rank)
      return lynx_fail(error, LYNX_INPUT, "it is of rank %lld, as %.300s is; accepted: one trace of each rank",
                       (long long)job->ranks[r]->calls.rank, job->ranks[r - 1]->path);
  }
  struct columns columns = {.job = job, .waits = xalloc(job->n + 1, sizeof *columns.waits)};
  struct rank_calls *calls = xalloc(job->n + 1, sizeof *calls);
  for (size_t r = 0; r < job->n; r++) calls[r] = job->ranks[r]->calls;
  count_ranks(job);
  add_accounts(job);
  if (job->n > 0) make_columns(&columns);
  collectives_match(calls, job->n, take_wait, &columns, &job->collectives);
  find_waiting(&columns);
  find_medians(job);
  if (job->n > 0) find_straggler(job);
  for (size_t r = 0; r < job->n; r++)
    for (size_t i = 0; i < job->ranks[r]->n_findings; i++) add_finding(job, &job->ranks[r]->findings[i]);
  qsort(job->findings, job->n_findings, sizeof job->findings[0], by_greatest);
  free(columns.common);
  free(calls);
  return LYNX_OK;
}

void rank_job_release(struct rank_job *job) {
  for (size_t r = 0; r < job->n; r++) rank_share_release(job->ranks[r]), free(job->ranks[r]);
  free(job->ranks);
  free(job->own_ns);
  free(job->median_ns);
  collectives_release(&job->collectives);
  *job = (struct rank_job){.n = 0};
}
