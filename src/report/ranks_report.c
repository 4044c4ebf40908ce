#include "report/ranks_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "report/html_page.h"
#include "report/svg.h"

enum { VERDICT = 900, WORDS_MAX = 160, OWNERS = 400, MAP_WIDTH = 1000, MAP_LEFT = 74, MAP_ROWS = 64, MAP_COLUMNS = 128, MAP_LEVELS = 8 };
static const double MAP_MOST = 1.5; /* of the median: the darkest */

static struct rank_wait *waits_of(const struct rank_job *job, size_t rank) {
  return &job->collectives.ranks[rank];
}

static double percent_last(const struct rank_wait *w) {
  return w->n_matched > 0 ? 100 * (double)w->n_last / (double)w->n_matched : 0;
}

struct late_rank {
  int64_t caused_ns;
  size_t at;
};

static int by_caused(const void *a, const void *b) {
  const struct late_rank *x = a, *y = b;
  if (x->caused_ns != y->caused_ns) return x->caused_ns > y->caused_ns ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* Those that the others wait for most first. */
static struct late_rank *latest_first(const struct rank_job *job) {
  struct late_rank *order = xalloc(job->n + 1, sizeof *order);
  for (size_t i = 0; i < job->n; i++) order[i] = (struct late_rank){waits_of(job, i)->caused_ns, i};
  qsort(order, job->n, sizeof *order, by_caused);
  return order;
}

#define HARDLY 0.02 /* of what the traces show */

static void say_waits(const struct rank_job *job, char *text, size_t size) {
  const struct collectives *c = &job->collectives;
  const struct rank_wait *last = collectives_latest(c, NULL), *second = collectives_latest(c, last);
  const double all = c->all.wait_ns > 0 ? (double)c->all.wait_ns : 1;
  if (c->all.n_matched < 10)
    (void)snprintf(text, size, "Only %lld collectives are on all ranks of their group: who waits for whom is not established.",
                   (long long)c->all.n_matched);
  else if (job->waiting < HARDLY)
    (void)snprintf(text, size, "The ranks hardly wait for one another: for %.1f %% of what the traces show, on average.",
                   100 * job->waiting);
  else if (second == NULL || last->caused_ns == 0)
    (void)snprintf(text, size, "Ranks wait for one another for %.1f %% of what the traces show, on average, and for no one of them alone.",
                   100 * job->waiting);
  else {
    int n = snprintf(text, size,
                     "No one rank is late all along: the ranks wait for one another for %.1f %% of what the traces show, on average; "
                     "%.0f %% of that for rank %lld, which alone is last in %lld of its %lld collectives",
                     100 * job->waiting, 100 * (double)last->caused_ns / all, (long long)last->rank, (long long)last->n_last,
                     (long long)last->n_matched);
    if (second->caused_ns > 0)
      n += snprintf(text + n, size - (size_t)n, ", and %.0f %% for rank %lld", 100 * (double)second->caused_ns / all,
                    (long long)second->rank);
    (void)snprintf(text + n, size - (size_t)n, ".");
  }
}

static void make_verdict(const struct rank_job *job, char *text, size_t size) {
  const struct job_cause *most = &job->causes[0];
  char words[WORDS_MAX];
  if (job->has_straggler)
    (void)snprintf(text, size, "Ranks wait for rank %lld: %s.", (long long)collectives_latest(&job->collectives, NULL)->rank,
                   job->straggler.evidence);
  else say_waits(job, text, size);
  size_t n = strlen(text);
  (void)snprintf(text + n, size - n, " Most time on the ranks: %s, %.1f %%.",
                 attribution_words(job->ranks[0]->device < 0, most->cause.state, words, sizeof words), 100 * most->mean);
}

static const char *owners_of(const struct attribution_view *view, const struct rule *rule, char text[OWNERS]) {
  size_t n = 0;
  text[0] = 0;
  for (int l = 0; l < LAYER_COUNT; l++)
    if (rule->found.contributing & LAYER_BIT(l)) {
      n += (size_t)snprintf(text + n, OWNERS - n, "%s%s", n > 0 ? ", " : "", attribution_layer_owner(view, (enum layer)l));
      if (n >= OWNERS) break;
    }
  return text;
}

/* Lines that begin with "- ". */
static void put_notes(const struct rank_job *job, struct buffer *out) {
  const struct group_wait *all = &job->collectives.all;
  size_t n_full = 0, n_other = 0;
  int64_t n_lost = 0;
  for (size_t r = 0; r < job->n; r++) {
    n_full += job->ranks[r]->full;
    n_lost = sum_ns(n_lost, job->ranks[r]->n_lost);
    n_other += job->ranks[r]->window != job->ranks[0]->window;
  }
  if (job->n_missing > 0)
    (void)buffer_printf(out, "- %lld of %lld ranks are missing: what they waited for, and who waited for them, is not seen\n",
                        (long long)job->n_missing, (long long)job->world_size);
  if (job->n_beyond > 0)
    (void)buffer_printf(out, "- %lld of the ranks that were given have a number that a job of %lld has not\n", (long long)job->n_beyond,
                        (long long)job->world_size);
  if (job->worlds_differ) (void)buffer_text(out, "- the traces differ in how many ranks the job has: they may be of several jobs\n");
  if (n_lost > 0)
    (void)buffer_printf(out, "- %lld events of the traces were skipped, or are missing: `attribute` of one of them says which\n",
                        (long long)n_lost);
  if (all->n_unmatched > 0)
    (void)buffer_printf(out,
                        "- %lld collectives are not on all ranks of their group that were given (so are sends and receives), or differ "
                        "in name or size: left out\n",
                        (long long)all->n_unmatched);
  if (n_full > 0) (void)buffer_printf(out, "- of %zu ranks more was recorded than can be kept: what came after is missing\n", n_full);
  if (n_other > 0) (void)buffer_printf(out, "- %zu ranks have another kind of window than the first: shares of unlike windows\n", n_other);
  if (job->n_steps == 0) (void)buffer_text(out, "- no step is on all ranks: there is no table of ranks by steps\n");
  (void)buffer_text(out,
                    "- a rank waits in a collective for what its own takes longer than the shortest of all ranks: that needs no common "
                    "clock\n- own time of a step: what it takes, less what that rank waits in its collectives\n");
}

/* --- text --- */

static void put_causes(struct buffer *out, const struct colours *c, const struct rank_job *job, const struct attribution_view *view) {
  char words[WORDS_MAX], least[24], most[24];
  (void)buffer_printf(out, "\n%s   mean       least (rank)        most (rank)  %-50s %-12s %s%s\n", c->dim,
                      "where the time went, over the ranks", "layer", "owner", c->plain);
  for (size_t i = 0; i < job->n_causes; i++) {
    const struct job_cause *x = &job->causes[i];
    (void)snprintf(least, sizeof least, "(%lld)", (long long)job->ranks[x->least_at]->calls.rank);
    (void)snprintf(most, sizeof most, "(%lld)", (long long)job->ranks[x->greatest_at]->calls.rank);
    (void)buffer_printf(out, "%6.2f %% %8.2f %% %7s %8.2f %% %7s  %-50s %s%-12s%s %s\n", 100 * x->mean, 100 * x->least, least,
                        100 * x->greatest, most, attribution_words(job->ranks[0]->device < 0, x->cause.state, words, sizeof words), c->dim,
                        attribution_layer(&x->cause), c->plain, attribution_owner(view, &x->cause));
  }
}

static void put_groups(struct buffer *out, const struct colours *c, const struct rank_job *job, size_t top) {
  const struct collectives *x = &job->collectives;
  char rate[24];
  (void)buffer_printf(out,
                      "\n%scollectives by process group      ranks    matched        not  transfer ms  waiting ms a rank  bus GB/s%s\n",
                      c->dim, c->plain);
  for (size_t i = 0; i < x->n_groups && i < top; i++) {
    const struct group_wait *g = &x->groups[i];
    if (g->bus_ns > 0) (void)snprintf(rate, sizeof rate, "%.4g", (double)g->bus_bytes / (double)g->bus_ns);
    else (void)snprintf(rate, sizeof rate, "-");
    (void)buffer_printf(out, "  %-30.30s %7lld %10lld %10lld %12.3f %18.3f %9s\n", g->group[0] != 0 ? g->group : "(no name)",
                        (long long)g->n_ranks, (long long)g->n_matched, (long long)g->n_unmatched, (double)g->transfer_ns / 1e6,
                        (double)g->wait_ns / 1e6 / (double)(g->n_ranks > 0 ? g->n_ranks : 1), rate);
  }
  if (x->n_groups > top) (void)buffer_printf(out, "%s  and %zu more (--top)%s\n", c->dim, x->n_groups - top, c->plain);
}

static void put_ranks(struct buffer *out, const struct colours *c, const struct rank_job *job, size_t top) {
  struct late_rank *order = latest_first(job);
  (void)buffer_printf(
      out,
      "\n%sranks, those that the others wait for first\n   rank    window ms  collectives  it waits ms  last alone in  others wait ms%s\n",
      c->dim, c->plain);
  for (size_t i = 0; i < job->n && i < top; i++) {
    const struct rank_wait *w = waits_of(job, order[i].at);
    (void)buffer_printf(out, "%7lld %12.3f %12lld %12.3f %7lld (%2.0f %%) %15.3f\n", (long long)w->rank,
                        (double)job->ranks[order[i].at]->wall_ns / 1e6, (long long)w->n, (double)w->wait_ns / 1e6, (long long)w->n_last,
                        percent_last(w), (double)w->caused_ns / 1e6);
  }
  if (job->n > top) (void)buffer_printf(out, "%s        and %zu more (--top)%s\n", c->dim, job->n - top, c->plain);
  free(order);
}

/* The greatest ratios: in which step which rank was slow. */
static void put_slow_steps(struct buffer *out, const struct colours *c, const struct rank_job *job) {
  enum { SHOWN = 5 };
  struct {
    double ratio;
    size_t rank, column;
  } most[SHOWN] = {{0, 0, 0}};
  size_t n = 0;
  for (size_t r = 0; r < job->n; r++)
    for (size_t k = 0; k < job->n_columns; k++) {
      double ratio = rank_job_ratio(job, r, k);
      if (!(ratio >= 1.1) || (n == SHOWN && ratio <= most[n - 1].ratio)) continue;
      size_t at = n < SHOWN ? n++ : SHOWN - 1;
      for (; at > 0 && most[at - 1].ratio < ratio; at--) most[at] = most[at - 1];
      most[at].ratio = ratio;
      most[at].rank = r;
      most[at].column = k;
    }
  if (job->n_columns == 0) return;
  (void)buffer_printf(out, "\n%s%lld steps on all ranks: own time against the median of the ranks%s\n", c->dim, (long long)job->n_steps,
                      c->plain);
  if (n == 0) (void)buffer_text(out, "  no rank is a tenth above it in any\n");
  for (size_t i = 0; i < n; i++)
    (void)buffer_printf(out, "  x %.2f  rank %lld, step %lld%s: %.3f ms\n", most[i].ratio, (long long)job->ranks[most[i].rank]->calls.rank,
                        (long long)job->first_step[most[i].column], job->n_steps > (int64_t)job->n_columns ? " and those behind it" : "",
                        job->own_ns[most[i].rank * job->n_columns + most[i].column] / 1e6);
}

static void put_findings(struct buffer *out, const struct colours *c, const struct rank_job *job, const struct attribution_view *view) {
  char owners[OWNERS];
  (void)buffer_printf(out, "\n%sfindings%s%s\n", c->strong, c->plain, job->n_findings > 0 || job->has_straggler ? "" : ": none");
  if (job->has_straggler)
    (void)buffer_printf(out, "suspected  %-16s %s; may be of: %s\n           next: %s\n", job->straggler.id, job->straggler.title,
                        owners_of(view, rule_named(job->straggler.id), owners), job->straggler.next);
  for (size_t i = 0; i < job->n_findings; i++) {
    const struct job_finding *f = &job->findings[i];
    (void)buffer_printf(
        out, "suspected  %-16s %s: on %lld of %zu ranks, %.1f to %.1f %% of the window%s%s; may be of: %s\n           next: %s\n",
        f->rule->name, f->rule->found.title, (long long)f->n, job->n, 100 * f->least, 100 * f->greatest, f->named[0] != 0 ? ": " : "",
        f->named, owners_of(view, f->rule, owners), f->rule->found.next);
  }
}

bool ranks_text(const struct rank_job *job, const struct attribution_view *view, bool color, struct buffer *ret) {
  const struct colours c = colours_of(color);
  char verdict[VERDICT];
  double bytes = 0;
  ret->shown = true;
  for (size_t r = 0; r < job->n; r++) bytes += (double)job->ranks[r]->bytes;
  (void)buffer_printf(ret, "%s%zu rank%s%s", c.strong, job->n, LYNX_S(job->n), c.plain);
  if (job->world_size > 0) (void)buffer_printf(ret, " of %lld", (long long)job->world_size);
  (void)buffer_printf(ret, " · %s%s%s · %.1f MB of traces\n", job->ranks[0]->reader, job->ranks[0]->device_name[0] != 0 ? " · " : "",
                      job->ranks[0]->device_name, bytes / 1e6);
  make_verdict(job, verdict, sizeof verdict);
  (void)buffer_printf(ret, "%s%s%s\n", c.strong, verdict, c.plain);
  put_causes(ret, &c, job, view);
  put_ranks(ret, &c, job, view->top);
  put_groups(ret, &c, job, view->top);
  put_slow_steps(ret, &c, job);
  put_findings(ret, &c, job, view);
  (void)buffer_printf(ret, "\n%snotes%s\n", c.strong, c.plain);
  put_notes(job, ret);
  return !ret->overflowed;
}

/* --- JSON --- */

static void json_rank(struct json_writer *json, const struct rank_job *job, size_t r) {
  const struct rank_share *s = job->ranks[r];
  const struct rank_wait *w = waits_of(job, r);
  json_open_object(json);
  json_put_int(json, "rank", w->rank);
  json_put_text(json, "trace", s->path);
  json_put_int(json, "wall_ns", s->wall_ns);
  json_put_int(json, "collectives", w->n);
  json_put_int(json, "matched", w->n_matched);
  json_put_int(json, "busy_ns", w->busy_ns);
  json_put_int(json, "wait_ns", w->wait_ns);
  json_put_int(json, "came_last", w->n_last);
  json_put_int(json, "others_wait_ns", w->caused_ns);
  json_put_double(json, "came_last_by_chance", w->by_chance);
  json_key(json, "own_ns");
  json_open_array(json);
  for (size_t k = 0; k < job->n_columns; k++) json_double(json, job->own_ns[r * job->n_columns + k]);
  json_close(json);
  json_close(json);
}

static void json_account(struct json_writer *json, const struct rank_job *job, const struct attribution_view *view) {
  json_key(json, "account");
  json_open_array(json);
  for (size_t i = 0; i < job->n_causes; i++) {
    const struct job_cause *x = &job->causes[i];
    json_open_object(json);
    json_put_text(json, "state", account_state_id(x->cause.state));
    json_put_text(json, "layer", x->cause.layered ? layer_text(x->cause.layer) : NULL);
    json_put_text(json, "owner", attribution_owner(view, &x->cause));
    json_put_int(json, "ns", x->cause.ns);
    json_put_double(json, "mean_share", x->mean);
    json_put_double(json, "least_share", x->least);
    json_put_int(json, "least_rank", job->ranks[x->least_at]->calls.rank);
    json_put_double(json, "greatest_share", x->greatest);
    json_put_int(json, "greatest_rank", job->ranks[x->greatest_at]->calls.rank);
    json_close(json);
  }
  json_close(json);
}

static void json_groups(struct json_writer *json, const struct rank_job *job) {
  json_key(json, "groups");
  json_open_array(json);
  for (size_t i = 0; i < job->collectives.n_groups; i++) {
    const struct group_wait *g = &job->collectives.groups[i];
    json_open_object(json);
    json_put_text(json, "group", g->group);
    json_put_int(json, "ranks", g->n_ranks);
    json_put_int(json, "matched", g->n_matched);
    json_put_int(json, "unmatched", g->n_unmatched);
    json_put_int(json, "transfer_ns", g->transfer_ns);
    json_put_int(json, "wait_ns", g->wait_ns);
    json_put_int(json, "greatest_skew_ns", g->skew_greatest_ns);
    if (g->bus_ns > 0) json_put_double(json, "bus_bytes_per_s", 1e9 * (double)g->bus_bytes / (double)g->bus_ns);
    json_close(json);
  }
  json_close(json);
}

static void json_findings(struct json_writer *json, const struct rank_job *job, const struct attribution_view *view) {
  char owners[OWNERS];
  json_key(json, "findings");
  json_open_array(json);
  for (size_t i = 0; i < job->n_findings; i++) {
    const struct job_finding *f = &job->findings[i];
    json_open_object(json);
    json_put_text(json, "finding", f->rule->name);
    json_put_int(json, "ranks", f->n);
    json_put_double(json, "least_share", f->least);
    json_put_double(json, "greatest_share", f->greatest);
    json_put_text(json, "named", f->named);
    json_put_text(json, "owners", owners_of(view, f->rule, owners));
    json_close(json);
  }
  json_close(json);
}

bool ranks_json(const struct rank_job *job, const struct attribution_view *view, struct buffer *ret) {
  struct json_writer json;
  char verdict[VERDICT];
  make_verdict(job, verdict, sizeof verdict);
  json_begin_object(&json, ret);
  json_put_text(&json, "verdict", verdict);
  json_put_int(&json, "n_ranks", (int64_t)job->n);
  json_put_int(&json, "world_size", job->world_size);
  json_put_int(&json, "missing", job->n_missing);
  json_put_int(&json, "straggler", job->has_straggler ? collectives_latest(&job->collectives, NULL)->rank : -1);
  json_account(&json, job, view);
  json_groups(&json, job);
  json_findings(&json, job, view);
  json_put_int(&json, "steps", job->n_steps);
  json_key(&json, "first_steps"); /* of each column of own_ns */
  json_open_array(&json);
  for (size_t k = 0; k < job->n_columns; k++) json_int(&json, job->first_step[k]);
  json_close(&json);
  json_key(&json, "ranks");
  json_open_array(&json);
  for (size_t r = 0; r < job->n; r++) json_rank(&json, job, r);
  json_close(&json);
  return json_end_line(&json);
}

/* --- HTML --- */

/* Of a cell of the map, the greatest ratio in it: what is slow is not averaged away. */
static double cell_ratio(const struct rank_job *job, size_t row, size_t n_rows, size_t column, size_t n_columns, size_t *ret_rank,
                         size_t *ret_column) {
  double most = 0;
  for (size_t r = row * job->n / n_rows; r < (row + 1) * job->n / n_rows; r++)
    for (size_t k = column * job->n_columns / n_columns; k < (column + 1) * job->n_columns / n_columns; k++) {
      double ratio = rank_job_ratio(job, r, k);
      if (!(ratio > most)) continue;
      most = ratio;
      *ret_rank = r;
      *ret_column = k;
    }
  return most;
}

static int level_of(double ratio) {
  double level = (ratio - 1) / (MAP_MOST - 1) * MAP_LEVELS;
  return level < 0.5 ? 0 : level > MAP_LEVELS ? MAP_LEVELS : (int)(level + 0.5);
}

static void put_row(struct buffer *out, const struct rank_job *job, size_t row, size_t n_rows, size_t n_columns, double y, double high) {
  const double wide = (double)(MAP_WIDTH - MAP_LEFT - 20) / (double)n_columns;
  for (size_t k = 0; k < n_columns; k++) {
    size_t rank = 0, column = 0;
    double ratio = cell_ratio(job, row, n_rows, k, n_columns, &rank, &column);
    int level = level_of(ratio);
    if (level == 0) continue;
    (void)buffer_printf(out,
                        "<rect x='%.1f' y='%.1f' width='%.2f' height='%.2f' fill='var(--c1)' fill-opacity='%.2f'><title>rank %lld, step "
                        "%lld: %.2f of the median</title></rect>",
                        MAP_LEFT + (double)k * wide, y, wide + 0.1, high + 0.1, (double)level / MAP_LEVELS,
                        (long long)job->ranks[rank]->calls.rank, (long long)job->first_step[column], ratio);
  }
}

static void put_map(struct buffer *out, const struct rank_job *job) {
  if (job->n_columns == 0) return;
  const size_t n_rows = job->n < MAP_ROWS ? job->n : MAP_ROWS, n_columns = job->n_columns < MAP_COLUMNS ? job->n_columns : MAP_COLUMNS;
  const double high = n_rows > 24 ? 8 : 16, bottom = 10 + (double)n_rows * high, right = MAP_WIDTH - 20;
  (void)buffer_printf(
      out,
      "<h2>Own time of each rank in each step</h2><figure><svg viewBox='0 0 %d %.0f' role='img'><title>Own time by rank and "
      "step, against the median of the ranks</title><rect x='%d' y='10' width='%.0f' height='%.1f' fill='none' "
      "stroke='var(--dim)'/>",
      MAP_WIDTH, bottom + 44, MAP_LEFT, right - MAP_LEFT, bottom - 10);
  for (size_t row = 0; row < n_rows; row++) {
    double y = 10 + (double)row * high;
    put_row(out, job, row, n_rows, n_columns, y, high);
    if (row % (n_rows / 8 + 1) == 0)
      (void)buffer_printf(out, "<text class='tick' x='%d' y='%.1f' text-anchor='end'>rank %lld</text>", MAP_LEFT - 6, y + high / 2 + 4,
                          (long long)job->ranks[row * job->n / n_rows]->calls.rank);
  }
  const size_t n_ticks = n_columns < 5 ? n_columns : 5; /* in the middle of their cells */
  for (size_t i = 0; i < n_ticks; i++) {
    size_t cell = n_ticks > 1 ? i * (n_columns - 1) / (n_ticks - 1) : 0;
    (void)buffer_printf(out, "<text class='tick' x='%.1f' y='%.1f' text-anchor='middle'>%lld</text>",
                        MAP_LEFT + (right - MAP_LEFT) * ((double)cell + 0.5) / (double)n_columns, bottom + 16,
                        (long long)job->first_step[cell * job->n_columns / n_columns]);
  }
  (void)buffer_printf(out, "<text class='label' x='%d' y='%.1f' text-anchor='middle'>step</text></svg><figcaption>", MAP_WIDTH / 2,
                      bottom + 36);
  (void)buffer_printf(out,
                      "No colour: the median of the ranks or less; full colour is %.1f times it or more. A cell of several ranks "
                      "or steps shows the slowest of them.</figcaption></figure>",
                      MAP_MOST);
}

static void html_causes(struct buffer *out, const struct rank_job *job, const struct attribution_view *view) {
  char words[WORDS_MAX];
  (void)buffer_text(out, "<h2>Where the time went, over the ranks</h2><table><tr><th scope='col'>state</th><th scope='col' "
                         "class=n>mean</th><th scope='col' class=n>least "
                         "(rank)</th><th scope='col' class=n>most (rank)</th><th scope='col'>layer</th><th scope='col'>owner</th></tr>");
  for (size_t i = 0; i < job->n_causes; i++) {
    const struct job_cause *x = &job->causes[i];
    html_text(out, "<tr><td>", attribution_words(job->ranks[0]->device < 0, x->cause.state, words, sizeof words), "</td>");
    (void)buffer_printf(out, "<td class=n>%.2f %%</td><td class=n>%.2f %% (%lld)</td><td class=n>%.2f %% (%lld)</td>", 100 * x->mean,
                        100 * x->least, (long long)job->ranks[x->least_at]->calls.rank, 100 * x->greatest,
                        (long long)job->ranks[x->greatest_at]->calls.rank);
    html_text(out, "<td class=dim>", attribution_layer(&x->cause), "</td>");
    html_text(out, "<td>", attribution_owner(view, &x->cause), "</td></tr>");
  }
  (void)buffer_text(out, "</table>");
}

static void html_ranks(struct buffer *out, const struct rank_job *job, size_t top) {
  struct late_rank *order = latest_first(job);
  (void)buffer_text(out, "<h2>Ranks, those that the others wait for first</h2><table><tr><th scope='col' class=n>rank</th><th scope='col' "
                         "class=n>window ms</th><th scope='col' "
                         "class=n>collectives</th><th scope='col' class=n>it waits ms</th><th scope='col' class=n>last alone in</th><th "
                         "scope='col' class=n>others wait ms</th></tr>");
  for (size_t i = 0; i < job->n && i < top; i++) {
    const struct rank_wait *w = waits_of(job, order[i].at);
    (void)buffer_printf(out,
                        "<tr><td class=n>%lld</td><td class=n>%.3f</td><td class=n>%lld</td><td class=n>%.3f</td><td class=n>%lld (%.0f "
                        "%%)</td><td class=n>%.3f</td></tr>",
                        (long long)w->rank, (double)job->ranks[order[i].at]->wall_ns / 1e6, (long long)w->n, (double)w->wait_ns / 1e6,
                        (long long)w->n_last, percent_last(w), (double)w->caused_ns / 1e6);
  }
  (void)buffer_printf(out, "</table><p class=dim>%zu of %zu ranks are listed.</p>", job->n < top ? job->n : top, job->n);
  free(order);
}

static void html_groups(struct buffer *out, const struct rank_job *job, size_t top) {
  const struct collectives *x = &job->collectives;
  (void)buffer_text(out, "<h2>Collectives by process group</h2><table><tr><th scope='col'>group</th><th scope='col' class=n>ranks</th><th "
                         "class=n>matched</th><th scope='col' "
                         "class=n>not</th><th scope='col' class=n>transfer ms</th><th scope='col' class=n>waiting ms a rank</th></tr>");
  for (size_t i = 0; i < x->n_groups && i < top; i++) {
    const struct group_wait *g = &x->groups[i];
    char name[84];
    (void)snprintf(name, sizeof name, "%.80s%s", g->group[0] != 0 ? g->group : "(no name)", strlen(g->group) > 80 ? "..." : "");
    html_text(out, "<tr><td class=mono>", name, "</td>");
    (void)buffer_printf(out,
                        "<td class=n>%lld</td><td class=n>%lld</td><td class=n>%lld</td><td class=n>%.3f</td><td class=n>%.3f</td></tr>",
                        (long long)g->n_ranks, (long long)g->n_matched, (long long)g->n_unmatched, (double)g->transfer_ns / 1e6,
                        (double)g->wait_ns / 1e6 / (double)(g->n_ranks > 0 ? g->n_ranks : 1));
  }
  (void)buffer_printf(out, "</table><p class=dim>%zu of %zu groups are listed.</p>", x->n_groups < top ? x->n_groups : top, x->n_groups);
}

static void html_findings(struct buffer *out, const struct rank_job *job, const struct attribution_view *view) {
  char owners[OWNERS];
  if (job->n_findings == 0 && !job->has_straggler) return;
  (void)buffer_text(
      out,
      "<h2>Findings</h2><table><tr><th scope='col'>suspected</th><th scope='col' class=n>ranks</th><th scope='col' class=n>share of the "
      "window</th><th scope='col'>may be "
      "of</th><th scope='col'>next</th></tr>");
  if (job->has_straggler) {
    html_text(out, "<tr><td>", job->straggler.title, "</td><td class=n>1</td><td class=n>");
    (void)buffer_printf(out, "%.1f %%</td>", 100 * job->straggler.share);
    html_text(out, "<td>", owners_of(view, rule_named(job->straggler.id), owners), "</td>");
    html_text(out, "<td>", job->straggler.next, "</td></tr>");
  }
  for (size_t i = 0; i < job->n_findings; i++) {
    const struct job_finding *f = &job->findings[i];
    html_text(out, "<tr><td>", f->rule->found.title, "");
    html_text(out, f->named[0] != 0 ? ": <span class=mono>" : "", f->named, f->named[0] != 0 ? "</span></td>" : "</td>");
    (void)buffer_printf(out, "<td class=n>%lld</td><td class=n>%.1f to %.1f %%</td>", (long long)f->n, 100 * f->least, 100 * f->greatest);
    html_text(out, "<td>", owners_of(view, f->rule, owners), "</td>");
    html_text(out, "<td>", f->rule->found.next, "</td></tr>");
  }
  (void)buffer_text(out, "</table>");
}

bool ranks_html(const struct rank_job *job, const struct attribution_view *view, struct buffer *ret) {
  char verdict[VERDICT];
  struct buffer notes;
  make_verdict(job, verdict, sizeof verdict);
  if (!view->inside) html_page_begin(ret, "Where the ranks' time went");
  (void)buffer_printf(ret, "<p class=dim>%zu rank%s", job->n, LYNX_S(job->n));
  if (job->world_size > 0) (void)buffer_printf(ret, " of %lld", (long long)job->world_size);
  html_text(ret, " · ", job->ranks[0]->reader, "");
  html_text(ret, " · ", job->ranks[0]->device_name[0] != 0 ? job->ranks[0]->device_name : "no device", "</p>");
  html_text(ret, "<p><b>", verdict, "</b></p>");
  put_map(ret, job);
  html_causes(ret, job, view);
  html_ranks(ret, job, view->top);
  html_groups(ret, job, view->top);
  html_findings(ret, job, view);
  buffer_init(&notes, 1 << 16);
  put_notes(job, &notes);
  (void)buffer_text(ret, "<h2>Notes</h2><ul>");
  for (size_t i = 0; i + 2 < notes.length;) {
    size_t n = strcspn(notes.data + i, "\n");
    char line[400];
    (void)snprintf(line, sizeof line, "%.*s", (int)n - 2, notes.data + i + 2);
    html_text(ret, "<li>", line, "</li>");
    i += n + 1;
  }
  buffer_release(&notes);
  (void)buffer_printf(ret, "</ul><p class=dim>Made by lynxbench %s. Who sees a symptom need not own its cause.</p>", LYNX_VERSION);
  if (!view->inside) (void)buffer_text(ret, "</main></body></html>\n");
  return !ret->overflowed;
}
