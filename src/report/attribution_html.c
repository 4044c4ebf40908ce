#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "report/attribution_report.h"
#include "report/html_page.h"
#include "report/icicle.h"
#include "report/svg.h"

enum { WIDTH = 1000, BINS = 250, STRIP = 180, LEFT = 74 };

static void put_icicle(struct buffer *out, const struct attribution_view *view, const struct attributed_trace *t) {
  struct attribution_cause causes[CAUSES_MAX];
  struct icicle_cell cells[CAUSES_MAX];
  char words[CAUSES_MAX][160];
  size_t n = attribution_causes(t, causes);
  for (size_t i = 0; i < n; i++)
    cells[i] = (struct icicle_cell){.owner = attribution_owner(view, &causes[i]),
                                    .layer = attribution_layer(&causes[i]),
                                    .label = attribution_words(t->account.device < 0, causes[i].state, words[i], sizeof words[i]),
                                    .share = (double)causes[i].ns / (double)t->account.wall_ns,
                                    .color = causes[i].layered ? (int)causes[i].layer % 6 : -1};
  icicle_put(out, cells, n, "Owner, layer and cause of every part of the window", "the window");
}

/* --- timeline: what share of each short stretch went where --- */

enum group { GROUP_COMPUTE, GROUP_COMMUNICATION, GROUP_COPY, GROUP_HAND_OVER, GROUP_SYNC, GROUP_HOST, GROUP_OPEN, GROUP_COUNT };

static const struct {
  const char *words;
  int color;
} groups[GROUP_COUNT] = {{"computing", 0},     {"communication", 3},    {"copies and memory", 2}, {"launching and its latency", 5},
                         {"synchronising", 4}, {"the host is late", 1}, {"unexplained", -1}};

static enum group group_of(enum account_state s) {
  if (s < STATE_COMMUNICATION) return GROUP_COMPUTE;
  if (s == STATE_COMMUNICATION) return GROUP_COMMUNICATION;
  if (s <= STATE_SET) return GROUP_COPY;
  if (s == STATE_GRAPH || s == STATE_LATENCY || s == STATE_LAUNCH) return GROUP_HAND_OVER;
  if (s == STATE_SYNC) return GROUP_SYNC;
  return s == STATE_QUEUED || s == STATE_NOTHING ? GROUP_OPEN : GROUP_HOST;
}

struct strip {
  int64_t from_ns, width_ns;
  double ns[BINS][GROUP_COUNT];
};

static void take_stretch(void *context, enum account_state state, int64_t from_ns, int64_t to_ns) {
  struct strip *s = context;
  while (from_ns < to_ns) {
    int64_t bin = (from_ns - s->from_ns) / s->width_ns, end_ns = s->from_ns + (bin + 1) * s->width_ns;
    if (bin < 0 || bin >= BINS) return;
    if (end_ns > to_ns) end_ns = to_ns;
    s->ns[bin][group_of(state)] += (double)(end_ns - from_ns);
    from_ns = end_ns;
  }
}

static void put_strip(struct buffer *out, const struct attributed_trace *t, const struct account_options *options) {
  const struct account *a = &t->account;
  struct strip *s = xalloc(1, sizeof *s);
  struct account again;
  struct account_options told = *options;
  s->from_ns = a->from_ns;
  s->width_ns = (a->to_ns - a->from_ns) / BINS + 1;
  told.each = take_stretch;
  told.context = s;
  account_run(&t->timeline, a->device, &told, &again);
  account_release(&again);
  double wide = (double)(WIDTH - LEFT - 20) / BINS;
  (void)buffer_printf(out, "<figure><svg viewBox='0 0 %d %d' role='img'><title>Where each stretch of the window went</title>", WIDTH,
                      STRIP + 50);
  for (int b = 0; b < BINS; b++) {
    double y = 10 + STRIP;
    for (int g = 0; g < GROUP_COUNT; g++) {
      double high = s->ns[b][g] / (double)s->width_ns * STRIP;
      if (high < 0.05) continue;
      y -= high;
      if (groups[g].color < 0)
        (void)buffer_printf(out, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='var(--bad)'/>", LEFT + b * wide, y, wide + 0.1,
                            high);
      else
        (void)buffer_printf(out, "<rect x='%.2f' y='%.2f' width='%.2f' height='%.2f' fill='var(--c%d)'/>", LEFT + b * wide, y, wide + 0.1,
                            high, groups[g].color);
    }
  }
  for (int i = 0; i <= 4; i++) {
    double x = LEFT + i * BINS * wide / 4;
    (void)buffer_printf(out, "<text class='tick' x='%.1f' y='%d' text-anchor='%s'>%.4g ms</text>", x, STRIP + 26, i < 4 ? "middle" : "end",
                        (double)(a->to_ns - a->from_ns) * i / 4e6);
    (void)buffer_printf(out, "<text class='tick' x='%d' y='%.1f' text-anchor='end'>%d %%</text>", LEFT - 6, 14 + STRIP * (4 - i) / 4.0,
                        25 * i);
  }
  (void)buffer_printf(out, "<text class='label' x='%d' y='%d' text-anchor='middle'>time in the window</text></svg><figcaption>", WIDTH / 2,
                      STRIP + 44);
  for (int g = 0; g < GROUP_COUNT; g++) {
    if (groups[g].color >= 0) html_key(out, groups[g].color, groups[g].words);
    else (void)buffer_printf(out, "<span class='key'><i class='worse'></i>%s</span>", groups[g].words);
  }
  (void)buffer_text(out, "</figcaption></figure>");
  free(s);
}

/* --- tables --- */

static void put_account(struct buffer *out, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  struct attribution_cause causes[CAUSES_MAX];
  char words[160];
  size_t n = attribution_causes(t, causes);
  double unit = a->window == WINDOW_STEPS ? (double)a->n_steps : 1, share = 1 / (double)a->wall_ns;
  (void)buffer_printf(
      out,
      "<table><tr><th scope='col'>where the time went</th><th scope='col' class=n>share</th><th scope='col' class=n>ms%s</th><th "
      "scope='col'>layer</th><th scope='col'>owner</th></tr>",
      unit > 1 ? " per step" : "");
  for (size_t i = 0; i < n; i++) {
    html_text(out, "<tr><td>", attribution_words(a->device < 0, causes[i].state, words, sizeof words), "");
    (void)buffer_printf(out, "</td><td class=n>%.2f %%</td><td class=n>%.3f</td>", 100 * share * (double)causes[i].ns,
                        (double)causes[i].ns / 1e6 / unit);
    html_text(out, "<td class=dim>", attribution_layer(&causes[i]), "</td>");
    html_text(out, "<td>", attribution_owner(view, &causes[i]), "</td></tr>");
  }
  (void)buffer_printf(
      out,
      "<tr><td class=dim>the window, to the nanosecond</td><td class=n>100 %%</td><td class=n>%.3f</td><td></td><td></td></tr></table>",
      (double)a->wall_ns / 1e6 / unit);
}

static void put_host(struct buffer *out, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  if (t->host.n == 0 || view->top == 0) return;
  (void)buffer_text(
      out, "<h2>What the host was in, by name</h2><table><tr><th scope='col'>function or range</th><th scope='col'>the host "
           "is in</th><th scope='col' "
           "class=n>share</th><th scope='col' class=n>ms</th><th scope='col'>layer of its file</th><th scope='col'>owner</th></tr>");
  for (size_t i = 0; i < t->host.n && i < view->top; i++) {
    const struct host_name *x = &t->host.at[i];
    const struct span_name *name = &t->timeline.names[x->name];
    const struct attribution_cause cause = host_name_cause(x);
    char text[300];
    html_text(out, "<tr><td class='v mono'>", text_sanitise(text, sizeof text, name->text, name->length), "</td>");
    html_text(out, "<td class=dim>", host_name_state(x), "</td>");
    (void)buffer_printf(out, "<td class=n>%.2f %%</td><td class=n>%.3f</td>", 100 * (double)x->ns / (double)a->wall_ns,
                        (double)x->ns / 1e6);
    html_text(out, "<td class=dim>", attribution_layer(&cause), "</td>");
    html_text(out, "<td>", attribution_owner(view, &cause), "</td></tr>");
  }
  (void)buffer_text(out, "</table>");
  if (t->host.n > view->top) (void)buffer_printf(out, "<p class=dim>and %zu more</p>", t->host.n - view->top);
}

static void put_overlaps(struct buffer *out, const struct account *a) {
  (void)buffer_text(out, "<details><summary>What overlapped: no order decides these</summary><table><tr><th scope='col'></th>");
  for (int i = 0; i < OVERLAP_COUNT; i++) html_text(out, "<th scope='col' class=n>", overlap_text((enum overlap_kind)i), "</th>");
  (void)buffer_text(out, "</tr>");
  for (int i = 0; i < OVERLAP_COUNT; i++) {
    html_text(out, "<tr><td>", overlap_text((enum overlap_kind)i), "</td>");
    for (int k = 0; k < OVERLAP_COUNT; k++) {
      if (k < i || a->overlap[i][k] == 0) (void)buffer_text(out, "<td></td>");
      else (void)buffer_printf(out, "<td class=n>%.1f %%</td>", 100 * (double)a->overlap[i][k] / (double)a->wall_ns);
    }
    (void)buffer_text(out, "</tr>");
  }
  (void)buffer_text(out, "</table></details>");
}

static void put_findings(struct buffer *out, const struct attribution_view *view, const struct attributed_trace *t) {
  (void)buffer_text(out, "<h2>Findings</h2><p class=dim>Suspected: a trace accounts; only an intervention confirms.</p>");
  if (t->n_findings == 0) (void)buffer_text(out, "<p>None of the rules applies.</p>");
  for (size_t i = 0; i < t->n_findings; i++) {
    const struct finding *f = &t->findings[i];
    html_text(out, "<div class=claim><b>", f->title, "</b> ");
    html_text(out, "<code class=dim>", f->id, "</code>");
    html_text(out, "<br>", f->evidence, "<ul><li>Shows at ");
    html_text(out, "", layer_text(f->symptom), "; may be caused at ");
    const char *between = "";
    for (int l = 0; l < LAYER_COUNT; l++) {
      if (!(f->contributing & LAYER_BIT(l))) continue;
      html_text(out, between, layer_text((enum layer)l), " (");
      html_text(out, "", attribution_layer_owner(view, (enum layer)l), ")");
      between = ", ";
    }
    if (f->bounded) (void)buffer_printf(out, "</li><li>Gain: at most %.1f %% ", 100 * f->bound);
    else (void)buffer_text(out, "</li><li>Gain: no bound: ");
    html_text(out, "", f->bound_holds, "</li>");
    html_text(out, "<li>Not established: ", f->open, "</li>");
    html_text(out, "<li>Next: ", f->next, "</li>");
    html_text(out, "<li>To confirm: ", f->confirm, "</li></ul></div>");
  }
}

static void put_names(struct buffer *out, const struct attributed_trace *t, const char *title, const struct name_totals *names,
                      bool classes, size_t top) {
  if (names->n == 0 || top == 0) return;
  html_text(out, "<h2>", title, "</h2><table><tr><th scope='col'>name</th>");
  (void)buffer_printf(out,
                      "%s<th scope='col' class=n>count</th><th scope='col' class=n>total ms</th><th scope='col' class=n>mean µs</th></tr>",
                      classes ? "<th scope='col'>class</th>" : "");
  for (size_t i = 0; i < names->n && i < top; i++) {
    const struct name_total *n = &names->at[i];
    const struct span_name *name = &t->timeline.names[n->name];
    char text[300];
    html_text(out, "<tr><td class='v mono'>", text_sanitise(text, sizeof text, name->text, name->length), "</td>");
    if (classes) html_text(out, "<td class=dim>", work_class_text((enum work_class)name->work), "</td>");
    (void)buffer_printf(out, "<td class=n>%lld</td><td class=n>%.3f</td><td class=n>%.2f</td></tr>", (long long)n->n, (double)n->ns / 1e6,
                        (double)n->ns / 1e3 / (double)n->n);
  }
  (void)buffer_text(out, "</table>");
  if (names->n > top) (void)buffer_printf(out, "<p class=dim>and %zu more</p>", names->n - top);
}

static void put_change(struct buffer *out, const struct attribution_view *view) {
  const struct attribution_change *x = view->change;
  const struct account *a = &view->attribution->traces[0].account;
  (void)buffer_printf(out,
                      "<h2>The change</h2><p>From %zu trace%s of before to %zu. Same work: %.0f %% of the operators by name and number, "
                      "%.0f %% by call path.</p>",
                      x->n[0], LYNX_S(x->n[0]), x->n[1], 100 * x->same_names, 100 * x->same_paths);
  if (x->abstained) {
    html_text(out, "<p class=bad>No verdict: ", x->reason, ".</p>");
    return;
  }
  (void)buffer_printf(out, "<div class=cards><div class=card><b>%+.3f ms</b><span>the window%s, from %.3f to %.3f</span></div>",
                      x->difference_ns / 1e6, x->per_step ? " per step" : "", x->wall_ns[0] / 1e6, x->wall_ns[1] / 1e6);
  if (x->bounded)
    (void)buffer_printf(out, "<div class=card><b>[%+.1f, %+.1f]</b><span>its 95 %% interval, ms%s</span></div>", x->low_ns / 1e6,
                        x->high_ns / 1e6, x->low_ns <= 0 && x->high_ns >= 0 ? ": it includes no change at all" : "");
  else (void)buffer_text(out, "<div class=card><b>no interval</b><span>one trace in an arm: give two or more of each</span></div>");
  (void)buffer_printf(out, "<div class=card><b>%+.3f ms</b><span>the greatest change that goes with it: ", x->accounted_ns / 1e6);
  (void)html_escape(out, account_state_words(x->accounted, a->device < 0));
  (void)buffer_printf(
      out,
      "</span></div><div class=card><b>%.2f</b><span>non-additivity: 1 - realised / accounted</span></div></div>"
      "<table><tr><th scope='col'>state</th><th scope='col' class=n>before, ms</th><th scope='col' class=n>after, ms</th><th scope='col' "
      "class=n>change</th><th scope='col'>layer</th><th scope='col'>owner</th></tr>",
      x->non_additivity);
  for (int i = 0; i < STATE_COUNT; i++) {
    double change = x->state_ns[1][i] - x->state_ns[0][i];
    if (fabs(change) < 1000) continue;
    char words[160];
    html_text(out, "<tr><td>", attribution_words(a->device < 0, (enum account_state)i, words, sizeof words), "</td>");
    (void)buffer_printf(out, "<td class=n>%.3f</td><td class=n>%.3f</td><td class=n>%+.3f</td>", x->state_ns[0][i] / 1e6,
                        x->state_ns[1][i] / 1e6, change / 1e6);
    html_text(out, "<td class=dim>", attribution_state_layer(a, (enum account_state)i), "</td>");
    html_text(out, "<td>", attribution_state_owner(view, a, (enum account_state)i), "</td></tr>");
  }
  (void)buffer_text(out, "</table><p class=dim>Changes below a microsecond are left out. Accounting is additive; effect is not.</p>");
}

static void put_notes(struct buffer *out, const struct attribution *attribution, const struct attributed_trace *t) {
  struct buffer notes;
  buffer_init(&notes, 1 << 20);
  attribution_notes(attribution, t, &notes);
  (void)buffer_text(out, "<h2>Notes</h2><ul>");
  for (char *line = notes.data; line != NULL && *line != 0;) {
    size_t n = strcspn(line, "\n");
    bool warns = line[0] == '!', more = line[n] != 0;
    line[n] = 0;
    html_text(out, warns ? "<li class=bad>" : "<li>", line + 2, "</li>");
    line += n + more;
  }
  (void)buffer_text(out, "</ul>");
  buffer_release(&notes);
}

static void put_cards(struct buffer *out, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  double unit = a->window == WINDOW_STEPS ? (double)a->n_steps : 1;
  (void)buffer_printf(out, "<div class=cards><div class=card><b>%.3f ms</b><span>%s</span></div>", (double)a->wall_ns / 1e6 / unit,
                      unit > 1 ? "a step, on average" : "the window");
  if (a->device >= 0)
    (void)buffer_printf(out,
                        "<div class=card><b>%.1f %%</b><span>the device is busy</span></div><div class=card><b>%lld</b><span>kernels, half "
                        "of them below %.1f µs</span></div>",
                        100 * (double)account_busy(a) / (double)a->wall_ns, (long long)a->kernels.n,
                        (double)histogram_quantile(&a->kernels, 0.5) / 1e3);
  (void)buffer_printf(out,
                      "<div class=card><b%s>%.1f %%</b><span>unexplained</span></div><div class=card><b>%zu</b><span>finding%s, "
                      "suspected</span></div></div>",
                      account_unexplained_share(a) > 0.05 ? " class=bad" : "", 100 * account_unexplained_share(a), t->n_findings,
                      LYNX_S(t->n_findings));
}

static void put_requests(struct buffer *out, const struct attribution_view *view, const struct requests *r) {
  double total = r->total_ns > 0 ? (double)r->total_ns : 1;
  (void)buffer_printf(
      out,
      "<div class=cards><div class=card><b>%lld</b><span>requests</span></div><div class=card><b>%.3f ms</b><span>in all</span></div></div>"
      "<table><tr><th scope='col'>service and operation</th><th scope='col' class=n>of the path</th><th scope='col' class=n>on the path, "
      "ms</th><th scope='col' class=n>all "
      "work, "
      "ms</th><th scope='col' "
      "class=n>spans</th><th scope='col'>layer</th><th scope='col'>owner</th></tr>",
      (long long)r->n_roots, (double)r->total_ns / 1e6);
  for (size_t i = 0; i < r->n_operations && i < 5 * view->top; i++) {
    const struct operation_total *o = &r->operations[i];
    enum layer layer;
    bool known = requests_layer(o->service, o->name, &layer);
    html_text(out, "<tr><td>", o->service, ": ");
    html_text(out, "", o->name, "</td>");
    (void)buffer_printf(out, "<td class=n>%.2f %%</td><td class=n>%.3f</td><td class=n>%.3f</td><td class=n>%lld</td>",
                        100 * (double)o->on_path_ns / total, (double)o->on_path_ns / 1e6, (double)o->work_ns / 1e6, (long long)o->n);
    html_text(out, "<td class=dim>", known ? layer_text(layer) : "not attributed", "</td>");
    html_text(out, "<td>", known ? attribution_layer_owner(view, layer) : "nobody yet", "</td></tr>");
  }
  (void)buffer_text(out, "</table><p class=dim>A span's own time on the path is not what removing it would save: another path may then be "
                         "the critical one.</p>");
}

static void put_samples(struct buffer *out, const struct attribution_view *view, const struct samples *s) {
  double total = s->weight > 0 ? (double)s->weight : 1;
  (void)buffer_printf(out,
                      "<div class=cards><div class=card><b>%lld</b><span>samples</span></div></div><table><tr><th "
                      "scope='col'>module</th><th scope='col' class=n>share</th><th scope='col' "
                      "class=n>samples</th><th scope='col'>layer</th><th scope='col'>owner</th></tr>",
                      (long long)s->n);
  for (size_t i = 0; i < s->modules.n && i < 5 * view->top; i++) {
    enum layer layer;
    struct sampled_module m = samples_module(s->modules.items[i].text);
    bool known = samples_layer(m.module, &layer);
    html_text(out, "<tr><td class='v mono'>", m.module, s->processes.n > 1 ? " " : "</td>");
    if (s->processes.n > 1) html_text(out, "<span class=dim>", m.process, "</span></td>");
    (void)buffer_printf(out, "<td class=n>%.2f %%</td><td class=n>%lld</td>", 100 * (double)s->modules.items[i].weight / total,
                        (long long)s->modules.items[i].n);
    html_text(out, "<td class=dim>", known ? layer_text(layer) : "not attributed", "</td>");
    html_text(out, "<td>", known ? attribution_layer_owner(view, layer) : "nobody yet", "</td></tr>");
  }
  (void)buffer_text(out, "</table><p class=dim>Only time on a processor is sampled: waiting is not seen.</p>");
}

bool attribution_html(const struct attribution_view *view, struct buffer *ret) {
  const struct attribution *a = view->attribution;
  char verdict[700];
  if (!view->inside) html_page_begin(ret, "Where the time went");
  if (view->change != NULL) put_change(ret, view);
  for (size_t i = 0; i < a->n_traces; i++) {
    const struct attributed_trace *t = &a->traces[i];
    char key[40];
    (void)snprintf(key, sizeof key, "device.%lld", (long long)t->account.device);
    const char *device = timeline_fact(&t->timeline, key);
    html_text(ret, a->n_traces > 1 || view->change != NULL ? "<h2 class=mono>" : "<p class='dim mono'>", t->path,
              a->n_traces > 1 || view->change != NULL ? "</h2>" : "</p>");
    html_text(ret, "<p class=dim>", t->reader, "");
    if (device != NULL) html_text(ret, " · ", device, "");
    if (t->content != CONTENT_TIMELINE) {
      (void)buffer_text(ret, "</p>");
      if (t->content == CONTENT_REQUESTS) put_requests(ret, view, &t->requests);
      else put_samples(ret, view, &t->samples);
      continue;
    }
    (void)buffer_printf(ret, " · %zu spans</p>", t->timeline.n_spans);
    attribution_verdict(t, verdict, sizeof verdict);
    html_text(ret, "<p><b>", verdict, "</b></p>");
    put_cards(ret, t);
    put_icicle(ret, view, t);
    put_strip(ret, t, &a->options);
    put_account(ret, view, t);
    put_host(ret, view, t);
    put_overlaps(ret, &t->account);
    put_findings(ret, view, t);
    put_names(ret, t, t->account.device < 0 ? "Operators" : "Kernels and copies", &t->names, true, view->top);
    put_names(ret, t, "Ranges that the program named, from begin to end", &t->ranges, false, view->top);
    put_notes(ret, a, t);
  }
  (void)buffer_printf(ret, "<p class=dim>Made by lynxbench %s. Who sees a symptom need not own its cause.</p>", LYNX_VERSION);
  if (!view->inside) (void)buffer_text(ret, "</main></body></html>\n");
  return !ret->overflowed;
}
