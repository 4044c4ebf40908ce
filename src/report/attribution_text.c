#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "executor/link_speeds.h"
#include "report/attribution_report.h"

enum { BAR = 24, WORDS = 160, OUTSIDE_MUCH = 10 };
#define STEP_APART 1.4 /* times the median: a mean over steps is then not what most of them take */

const char *attribution_layer_owner(const struct attribution_view *view, enum layer layer) {
  return view->contract != NULL ? contract_owner(view->contract, layer) : layer_default_owner(layer);
}

const char *attribution_owner(const struct attribution_view *view, const struct attribution_cause *cause) {
  if (cause->state == STATE_PROFILER) return "the profiler itself";
  return cause->layered ? attribution_layer_owner(view, cause->layer) : "nobody yet";
}

const char *attribution_layer(const struct attribution_cause *cause) {
  return cause->layered ? layer_text(cause->layer) : "-";
}

static struct attribution_cause cause_of(const struct account *account, enum account_state state) {
  struct attribution_cause cause = {.state = state, .ns = account->states[state]};
  cause.layered = account_state_layer(state, account->device < 0, &cause.layer);
  return cause;
}

const char *attribution_state_layer(const struct account *account, enum account_state state) {
  struct attribution_cause cause = cause_of(account, state);
  return state == STATE_PYTHON ? "by file" : attribution_layer(&cause);
}

const char *attribution_state_owner(const struct attribution_view *view, const struct account *account, enum account_state state) {
  struct attribution_cause cause = cause_of(account, state);
  return state == STATE_PYTHON ? "by layer, below" : attribution_owner(view, &cause);
}

const char *attribution_words(bool on_host, enum account_state state, char *text, size_t size) {
  const char *before = state >= STATE_COMMUNICATION ? "" : on_host ? "operators: " : "computing: ";
  (void)snprintf(text, size, "%s%s", before, account_state_words(state, on_host));
  return text;
}

/* What a trace without a device's work is of. */
static const char *host_only_text(const struct attributed_trace *trace, char *text, size_t size) {
  const char *device = timeline_fact(&trace->timeline, "device.0");
  if (device != NULL)
    (void)snprintf(
        text, size,
        "This trace names a device (%s) and holds no work of it: whether operators compute here or hand it over is not recorded.", device);
  else if (strcmp(trace->reader, "chrome") == 0)
    (void)snprintf(text, size, "Nothing in this trace says what is a device's: its threads are taken for a host's.");
  else (void)snprintf(text, size, "No device in this trace: the account is of the host.");
  return text;
}

/* What took longest before the window began, or after it ended: it is in no share. NULL: nothing that matters. */
static const struct span *longest_outside(const struct timeline *line, const struct account *a) {
  const struct span *longest = NULL;
  for (size_t i = 0; i < line->n_spans; i++) {
    const struct span *s = &line->spans[i];
    if (line->tracks[s->track].on_device || s->kind == TRACE_SYSTEM || line->names[s->name].work == WORK_STEP) continue;
    if (sum_ns(s->start_ns, s->duration_ns) > a->from_ns && s->start_ns < a->to_ns) continue;
    if (longest == NULL || s->duration_ns > longest->duration_ns) longest = s;
  }
  return longest != NULL && longest->duration_ns >= a->wall_ns / 4 ? longest : NULL;
}

/* The state with most of the window; of ONNX Runtime's other providers, what is not known of them. */
static const char *largest_text(const struct account *a, char *text, size_t size) {
  char words[WORDS];
  int most = 0;
  for (int i = 1; i < STATE_COUNT; i++)
    if (a->states[i] > a->states[most]) most = i;
  double share = 100 * (double)a->states[most] / (a->wall_ns > 0 ? (double)a->wall_ns : 1);
  if (most == STATE_COMPUTE + WORK_DELEGATED)
    (void)snprintf(text, size,
                   "For %.1f %% of the window another provider computes: on which device, and how long that was busy, is not recorded",
                   share);
  else
    (void)snprintf(text, size, "The largest part of the window, %.1f %%: %s", share,
                   attribution_words(true, (enum account_state)most, words, sizeof words));
  return text;
}

static void verdict_of_host(const struct attributed_trace *trace, char *text, size_t size) {
  const struct timeline *line = &trace->timeline;
  const char *said = timeline_fact(line, "profiler.said.0");
  char host[300], part[300], diagnosed[300] = "", lives[300] = "";
  if (said != NULL)
    (void)snprintf(diagnosed, sizeof diagnosed, " The profiler says of itself: \"%.*s\".", (int)(strlen(said) - text_ends_with(said, ".")),
                   said);
  if (line->n_lives > 0)
    (void)snprintf(
        lives, sizeof lives,
        " It holds %lld asynchronous spans, up to %lld at once and of %.3f ms on average: lives of requests or the like, in which "
        "no thread is.",
        (long long)line->n_lives, (long long)line->lives_most, (double)line->lives_sum_ns / (double)line->n_lives / 1e6);
  (void)snprintf(text, size, "%s%s %s.%s It cannot say whether a faster processor would help.", host_only_text(trace, host, sizeof host),
                 lives, largest_text(&trace->account, part, sizeof part), diagnosed);
}

/* A window that is small beside what came before or after it. */
static void add_outside(const struct attributed_trace *trace, char *text, size_t size) {
  const struct account *a = &trace->account;
  const struct span *outside = longest_outside(&trace->timeline, a);
  char said[80];
  if (outside == NULL || outside->duration_ns / OUTSIDE_MUCH < a->wall_ns) return;
  const struct span_name *name = &trace->timeline.names[outside->name];
  (void)snprintf(text, size, " All of this is small: %s the window one %s took %.3f ms.",
                 outside->start_ns < a->from_ns ? "before" : "after", text_sanitise(said, sizeof said, name->text, name->length),
                 (double)outside->duration_ns / 1e6);
}

void attribution_verdict(const struct attributed_trace *trace, char *text, size_t size) {
  const struct account *a = &trace->account;
  double busy = a->wall_ns > 0 ? (double)account_busy(a) / (double)a->wall_ns : 0, host = attribution_host_share(trace);
  if (a->device_unseen) {
    (void)snprintf(
        text, size,
        "The profiler did not record the device: %lld launch calls, and no work of it. What bounds the job is not in this trace; "
        "record it again with the device's activity (in a container, with the rights for it).",
        (long long)trace->timeline.n_launches);
    return;
  }
  if (a->device < 0) {
    verdict_of_host(trace, text, size);
    return;
  }
  const struct bound_shares s = attribution_bound_shares(a);
  int n = 0;
  switch (attribution_bound(a)) {
    case BOUND_DEVICE:
      if (account_few_blocks_share(a) >= 0.5)
        n = snprintf(
            text, size,
            "The device is busy and not full: it computes for %.1f %% of the window, for %.1f %% in kernels with fewer thread blocks "
            "than it has multiprocessors (%.2g for each).",
            100 * s.computing, 100 * account_few_blocks_share(a), a->few_blocks_each);
      else n = snprintf(text, size, "Hardware-bound: the device computes for %.1f %% of the window.", 100 * s.computing);
      break;
    case BOUND_COMMUNICATION:
      n = snprintf(text, size, "Communication-bound: for %.1f %% of the window the device communicates and computes nothing.",
                   100 * s.communicating);
      break;
    case BOUND_COPIES:
      n = snprintf(text, size, "Copy-bound: for %.1f %% of the window the device copies or sets memory and computes nothing.",
                   100 * s.copying);
      break;
    case BOUND_SOFTWARE: n = snprintf(text, size, "Software-bound: the device is busy for only %.1f %% of the window.", 100 * busy); break;
    case BOUND_MIXED:
      n = snprintf(
          text, size,
          "Neither wholly: of the window the device computes for %.1f %%, only communicates for %.1f %%, only copies for %.1f %%, and "
          "does nothing for %.1f %%.",
          100 * s.computing, 100 * s.communicating, 100 * s.copying, 100 * s.idle);
      break;
    case BOUND_FEW: n = snprintf(text, size, "Not established: so few pieces of work say nothing of what bounds it."); break;
    case BOUND_UNKNOWN:
      n = snprintf(text, size, "Not established: %.1f %% of the window is unexplained.", 100 * account_unexplained_share(a));
      break;
  }
  if (host >= 0.01 && n > 0 && (size_t)n < size)
    n += snprintf(text + n, size - (size_t)n,
                  " The one thread that launches spends %.1f %% of the window in operators and in calls that do not wait for the device: "
                  "even an infinitely fast device would save at most %.1f %%.",
                  100 * host, 100 * (1 - host));
  if (n > 0 && (size_t)n < size) add_outside(trace, text + n, size - (size_t)n);
}

static const char *window_words(const struct account *a) {
  return a->window == WINDOW_STEPS    ? "the profiler's steps"
         : a->window == WINDOW_DEVICE ? "first to last work of the device"
                                      : "first to last event";
}

enum { PATH_SHOWN = 300 };

/* A file's name may hold anything. */
static const char *shown_path(const struct attributed_trace *t, char path[PATH_SHOWN]) {
  return text_sanitise(path, PATH_SHOWN, t->path, strlen(t->path));
}

/* Per step where there are steps. */
static double unit(const struct account *a) {
  return a->window == WINDOW_STEPS ? (double)a->n_steps : 1;
}

static char *milliseconds(char *text, size_t size, double ns) {
  (void)snprintf(text, size, "%.3f ms", ns / 1e6);
  return text;
}

static void put_head(struct buffer *out, const struct colours *c, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  char text[700], device[60], key[40], path[PATH_SHOWN];
  (void)snprintf(key, sizeof key, "device.%lld", (long long)a->device);
  const char *name = timeline_fact(&t->timeline, key);
  if (a->device < 0) (void)snprintf(device, sizeof device, "no device: of the host");
  else (void)snprintf(device, sizeof device, "device %lld%s", (long long)a->device, t->n_devices > 1 ? ", the busiest" : "");
  (void)buffer_printf(out, "%s%s%s\n%s%s%s · %s%s%s · %zu spans", c->strong, shown_path(t, path), c->plain, c->dim, t->reader, c->plain,
                      device, name != NULL ? ", " : "", name != NULL ? name : "", t->timeline.n_spans);
  const char *rank = timeline_fact(&t->timeline, "rank"), *ranks = timeline_fact(&t->timeline, "world_size");
  if (rank != NULL && ranks != NULL && rank[0] != '-' && ranks[0] != '-') (void)buffer_printf(out, " · rank %s of %s", rank, ranks);
  (void)buffer_printf(out, "\nwindow: %s, %.3f ms", window_words(a), (double)a->wall_ns / 1e6);
  if (unit(a) > 1)
    (void)buffer_printf(out, " in %lld steps, %.3f ms on average; the account is per step", (long long)a->n_steps,
                        (double)a->wall_ns / 1e6 / unit(a));
  attribution_verdict(t, text, sizeof text);
  (void)buffer_printf(out, "\n%s%s%s\n", c->strong, text, c->plain);
}

static void put_account(struct buffer *out, const struct colours *c, const struct attribution_view *view,
                        const struct attributed_trace *t) {
  const struct account *a = &t->account;
  struct attribution_cause causes[CAUSES_MAX];
  char time[40], words[WORDS];
  size_t n = attribution_causes(t, causes);
  (void)buffer_printf(out, "\n%s  share        time  %-62s %-12s %s%s\n", c->dim, "where the time went", "layer", "owner", c->plain);
  for (size_t i = 0; i < n; i++) {
    const struct attribution_cause *x = &causes[i];
    bool open = !x->layered && x->state != STATE_PROFILER;
    (void)buffer_printf(out, "%6.2f %% %11s  %s%-62s%s %s%-12s%s %s\n", 100 * (double)x->ns / (double)a->wall_ns,
                        milliseconds(time, sizeof time, (double)x->ns / unit(a)), open ? c->bad : "",
                        attribution_words(a->device < 0, x->state, words, sizeof words), open ? c->plain : "", c->dim, attribution_layer(x),
                        c->plain, attribution_owner(view, x));
  }
  (void)buffer_printf(out, "%6.2f %% %11s  %sthe window, to the nanosecond%s\n", 100.0,
                      milliseconds(time, sizeof time, (double)a->wall_ns / unit(a)), c->dim, c->plain);
}

static void put_owners(struct buffer *out, const struct colours *c, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  struct attribution_cause causes[CAUSES_MAX];
  const char *owners[CAUSES_MAX] = {NULL};
  int64_t sums[CAUSES_MAX];
  size_t n_causes = attribution_causes(t, causes), n = 0;
  for (size_t i = 0; i < n_causes; i++) {
    const char *owner = attribution_owner(view, &causes[i]);
    size_t k = 0;
    while (k < n && strcmp(owners[k], owner) != 0) k++;
    if (k == n) owners[n] = owner, sums[n++] = 0;
    sums[k] += causes[i].ns;
  }
  (void)buffer_printf(out, "\n%sby owner of the layer where it shows (who sees a symptom need not own its cause)%s\n", c->dim, c->plain);
  for (size_t left = n; left > 0; left--) {
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
      if (sums[k] > sums[best]) best = k;
    int filled = (int)((double)sums[best] / (double)a->wall_ns * BAR + 0.5);
    (void)buffer_printf(out, "%6.2f %%  %-24.*s %s\n", 100 * (double)sums[best] / (double)a->wall_ns, filled, "########################",
                        owners[best]);
    sums[best] = -1;
  }
}

/* The functions and ranges that the host was in while it decided, with the layer of the file that each lies in. */
static void put_host(struct buffer *out, const struct colours *c, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  char time[40], text[WORDS];
  if (t->host.n == 0 || view->top == 0) return;
  (void)buffer_printf(out, "\n%s  share        time  the host is in     %-45s layer        owner%s\n", c->dim, "function or range",
                      c->plain);
  for (size_t i = 0; i < t->host.n && i < view->top; i++) {
    const struct host_name *x = &t->host.at[i];
    const struct span_name *name = &t->timeline.names[x->name];
    const struct attribution_cause cause = host_name_cause(x);
    (void)buffer_printf(out, "%6.2f %% %11s  %-15s %-48s %s%-12s%s %s\n", 100 * (double)x->ns / (double)a->wall_ns,
                        milliseconds(time, sizeof time, (double)x->ns / unit(a)), host_name_state(x),
                        text_sanitise(text, sizeof text, name->text, name->length), c->dim, attribution_layer(&cause), c->plain,
                        attribution_owner(view, &cause));
  }
  if (t->host.n > view->top) (void)buffer_printf(out, "%s        and %zu more%s\n", c->dim, t->host.n - view->top, c->plain);
}

static void put_findings(struct buffer *out, const struct colours *c, const struct attribution_view *view,
                         const struct attributed_trace *t) {
  (void)buffer_printf(out, "\n%sfindings%s", c->strong, c->plain);
  if (t->n_findings == 0) (void)buffer_printf(out, ": none of the %s's rules applies\n", "account");
  else (void)buffer_printf(out, " %s(suspected: a trace accounts, only an intervention confirms)%s\n", c->dim, c->plain);
  for (size_t i = 0; i < t->n_findings; i++) {
    const struct finding *f = &t->findings[i];
    (void)buffer_printf(out, "%zu. %s%s%s (%s): %s\n   shows at %s; may be caused at ", i + 1, c->strong, f->title, c->plain, f->id,
                        f->evidence, layer_text(f->symptom));
    const char *between = "";
    for (int l = 0; l < LAYER_COUNT; l++) {
      if (!(f->contributing & LAYER_BIT(l))) continue;
      (void)buffer_printf(out, "%s%s (%s)", between, layer_text((enum layer)l), attribution_layer_owner(view, (enum layer)l));
      between = ", ";
    }
    if (f->bounded) (void)buffer_printf(out, "\n   gain: at most %.1f %% %s", 100 * f->bound, f->bound_holds);
    else (void)buffer_printf(out, "\n   gain: no bound (%s)", f->bound_holds);
    (void)buffer_printf(out, "\n   not established: %s\n   next: %s\n   to confirm: %s\n", f->open, f->next, f->confirm);
  }
}

static void put_path(struct buffer *out, const struct colours *c, const struct account *a) {
  int64_t total = 0, device = 0, host = 0;
  if (a->device < 0) return;
  for (int i = 0; i < STATE_COUNT; i++) {
    total += a->path_ns[i];
    if (i < STATE_PROFILER) device += a->path_ns[i];
    else if (i >= STATE_COMPILE && i != STATE_NOTHING) host += a->path_ns[i];
  }
  if (total == 0) return;
  double t = (double)total;
  (void)buffer_printf(
      out,
      "\n%scritical path%s: %.1f %% on the device, %.1f %% launching and its latency, %.1f %% on the host, %.1f %% waking up behind "
      "synchronising calls, %.1f %% not explained\n",
      c->strong, c->plain, 100 * (double)device / t,
      100 * (double)(a->path_ns[STATE_LAUNCH] + a->path_ns[STATE_LATENCY] + a->path_ns[STATE_GRAPH]) / t, 100 * (double)host / t,
      100 * (double)a->path_ns[STATE_SYNC] / t, 100 * (double)(a->path_ns[STATE_QUEUED] + a->path_ns[STATE_NOTHING]) / t);
}

/* As nccl-tests reckons it, so that kinds and numbers of ranks compare with one another and with the link. */
static void put_rates(struct buffer *out, const struct colours *c, const struct attributed_trace *t, size_t top) {
  const struct collective_rates *rates = &t->rates;
  if (rates->n == 0) return;
  (void)buffer_printf(
      out, "\n%s  count  total ms    MB each  ranks   bus GB/s     most  collective (what it waits for other ranks is in it: at least)%s\n",
      c->dim, c->plain);
  for (size_t i = 0; i < rates->n && i < top; i++) {
    const struct collective_rate *r = &rates->items[i];
    char ranks[24] = "-", name[80];
    if (r->ranks > 0) (void)snprintf(ranks, sizeof ranks, "%lld", (long long)r->ranks);
    (void)buffer_printf(out, "%7lld %9.3f %10.4g %6s %10.4g %8.4g  %s\n", (long long)r->n, (double)r->ns / 1e6,
                        r->bytes / (double)r->n / 1e6, ranks, r->median / 1e9, r->greatest / 1e9,
                        text_sanitise(name, sizeof name, r->name, strlen(r->name)));
  }
  if (rates->n > top) (void)buffer_printf(out, "%s  and %zu more (--top)%s\n", c->dim, rates->n - top, c->plain);
}

static void put_link(struct buffer *out, const char *between, const char *text, double most, double used, const char *what) {
  char used_text[120] = "";
  if (text[0] == 0) return;
  if (most > 0 && used > 0) (void)snprintf(used_text, sizeof used_text, "; %s %.4g GB/s, %.0f %%", what, used / 1e9, 100 * used / most);
  if (most > 0) (void)buffer_printf(out, "  %s: %s = %.4g GB/s each way%s\n", between, text, most / 1e9, used_text);
  else (void)buffer_printf(out, "  %s: %s\n", between, text);
}

/* What was reached, beside what the machine's links carry. */
static void put_links(struct buffer *out, const struct colours *c, const struct attribution_view *view, const struct attributed_trace *t) {
  const struct link_speeds *l = view->links;
  double fastest = 0, to_device = 0;
  if (l == NULL || t->account.device < 0) return;
  for (size_t i = 0; i < t->rates.n; i++) fastest = fmax(fastest, t->rates.items[i].greatest);
  const struct copied *copied = &t->account.copied[COPY_WAY_TO_DEVICE];
  if (copied->ns > 0) to_device = copied->bytes / (double)copied->ns * 1e9;
  (void)buffer_printf(out, "\n%slinks of the machine (--machine)%s\n", c->dim, c->plain);
  put_link(out, "between GPUs", l->peer_text, l->peer, fastest, "the fastest collective reached");
  put_link(out, "to the host", l->host_text, l->host, to_device, "copies to the device reached");
  if (l->peer_text[0] == 0 && l->host_text[0] == 0)
    (void)buffer_text(out, "  the file says nothing of them: `nvidia-smi topo -m` and `nvidia-smi -q` do\n");
}

static void put_names(struct buffer *out, const struct colours *c, const struct attributed_trace *t, size_t top) {
  const struct account *a = &t->account;
  if (t->names.n == 0 || top == 0) return;
  (void)buffer_printf(out, "\n%s  count  total ms   mean us  class              %s%s\n", c->dim,
                      a->device < 0 ? "operator or call" : "kernel or copy", c->plain);
  for (size_t i = 0; i < t->names.n && i < top; i++) {
    const struct name_total *n = &t->names.at[i];
    const struct span_name *name = &t->timeline.names[n->name];
    char text[100];
    (void)buffer_printf(out, "%7lld %9.3f %9.2f  %-18s %s%s\n", (long long)n->n, (double)n->ns / 1e6, (double)n->ns / 1e3 / (double)n->n,
                        work_class_text((enum work_class)name->work), text_sanitise(text, sizeof text, name->text, name->length),
                        name->length >= sizeof text ? "..." : "");
  }
  if (t->names.n > top) (void)buffer_printf(out, "%s        and %zu more%s\n", c->dim, t->names.n - top, c->plain);
}

static void put_ranges(struct buffer *out, const struct colours *c, const struct attributed_trace *t, size_t top) {
  if (t->ranges.n == 0 || top == 0) return;
  (void)buffer_printf(out, "\n%s  count  total ms   mean us  range that the program named, from begin to end%s\n", c->dim, c->plain);
  for (size_t i = 0; i < t->ranges.n && i < top; i++) {
    const struct name_total *n = &t->ranges.at[i];
    const struct span_name *name = &t->timeline.names[n->name];
    char text[100];
    (void)buffer_printf(out, "%7lld %9.3f %9.2f  %s\n", (long long)n->n, (double)n->ns / 1e6, (double)n->ns / 1e3 / (double)n->n,
                        text_sanitise(text, sizeof text, name->text, name->length));
  }
  if (t->ranges.n > top) (void)buffer_printf(out, "%s        and %zu more%s\n", c->dim, t->ranges.n - top, c->plain);
}

static void put_losses(struct buffer *out, const struct attributed_trace *t) {
  for (int i = 0; i < TRACE_LOSS_COUNT; i++)
    if (t->timeline.lost[i] > 0)
      (void)buffer_printf(out, "- %lld %s\n", (long long)t->timeline.lost[i], trace_loss_text((enum trace_loss)i));
}

/* What is to be known of the device's spans. */
static void put_device_notes(struct buffer *out, const struct attribution *attribution, const struct attributed_trace *t) {
  const struct account *a = &t->account;
  const struct timeline *line = &t->timeline;
  static const char *const policies[] = {[ORPHANS_APART] = "they count by what they are, but bound no window",
                                         [ORPHANS_DROP] = "they are left out",
                                         [ORPHANS_KEEP] = "they count like any other"};
  if (line->n_orphans > 0 && line->has_calls)
    (void)buffer_printf(out, "- %lld of %lld device spans were launched before the trace began: %s (--orphans)\n",
                        (long long)line->n_orphans, (long long)line->n_device, policies[attribution->options.orphans]);
  if (line->n_orphans > 0 && !line->has_calls)
    (void)buffer_text(out, "- the trace holds no calls of the runtime: why the device waited cannot be told\n");
  if (a->earlier_ns > 0)
    (void)buffer_printf(out, "- for %.1f %% of the window the device does nothing but such work: why it was launched is not in the trace\n",
                        100 * (double)a->earlier_ns / (double)a->wall_ns);
  if (line->n_clipped > 0)
    (void)buffer_printf(out, "- %lld device span%s said to run beyond many later ones of the same stream: cut where the next begins\n",
                        (long long)line->n_clipped, line->n_clipped == 1 ? " is" : "s are");
  if (line->n_unlinked > 0) (void)buffer_printf(out, "- %lld device spans name no call that launched them\n", (long long)line->n_unlinked);
  if (line->n_early > 0)
    (void)buffer_printf(out, "- %lld device spans begin before their launch call does: the two clocks differ\n", (long long)line->n_early);
  int64_t n_overlapping = 0;
  for (size_t i = 0; i < a->n_streams; i++) n_overlapping += a->streams[i].n_overlapping;
  if (n_overlapping > 0)
    (void)buffer_printf(out, "- %lld device spans begin before the one before them on their stream ends: their union counts\n",
                        (long long)n_overlapping);
  if (line->n_graph_launches > 0)
    (void)buffer_printf(out, "- %lld calls launched %lld device spans together (graphs)\n", (long long)line->n_graph_launches,
                        (long long)line->n_graph_spans);
  (void)buffer_printf(out, "- latency of taking up work: up to %.2f us, %s\n", (double)a->threshold_ns / 1e3,
                      a->threshold_measured ? "twice the ninth decile of this device's own back-to-back gaps"
                                            : "declared, not measured (--back-to-back)");
  int64_t deep = 0;
  for (int i = 2; i < DEPTH_BINS; i++) deep += a->depth_ns[i];
  (void)buffer_printf(out,
                      "- launch queue: empty %.1f %% of the window, two or more deep %.1f %%; from the end of a call to the start on the "
                      "device: median %.1f us\n",
                      100 * (double)a->depth_ns[0] / (double)a->wall_ns, 100 * (double)deep / (double)a->wall_ns,
                      (double)histogram_quantile(&a->delays, 0.5) / 1e3);
}

static void put_longest_step(struct buffer *out, const struct timeline *line, const struct account *a) {
  const struct span_name *name = &line->names[a->steps.longest_name];
  char text[80];
  (void)buffer_printf(out, "! %s takes %.3f ms, %.1f times the median step of %.3f ms; a mean over steps hides it\n",
                      text_sanitise(text, sizeof text, name->text, name->length), (double)a->steps.longest_ns / 1e6,
                      (double)a->steps.longest_ns / (double)a->steps.median_ns, (double)a->steps.median_ns / 1e6);
}

static void put_outside(struct buffer *out, const struct timeline *line, const struct account *a) {
  const struct span *longest = longest_outside(line, a);
  char text[120];
  if (longest == NULL) return;
  const struct span_name *name = &line->names[longest->name];
  (void)buffer_printf(out, "! %s the window %s takes %.3f ms, %.1f times the window: it is in no share here\n",
                      longest->start_ns < a->from_ns ? "before" : "after", text_sanitise(text, sizeof text, name->text, name->length),
                      (double)longest->duration_ns / 1e6, (double)longest->duration_ns / (double)a->wall_ns);
}

/* Of the device's work; of a host alone, of what its operators compute. */
static double unclassified_share(const struct account *a) {
  double unknown = (double)a->class_busy_ns[WORK_UNKNOWN], all = 0;
  for (int i = 0; i < WORK_COMPUTE_END; i++) all += a->device < 0 ? (double)a->states[STATE_COMPUTE + i] : (double)a->class_busy_ns[i];
  if (a->device < 0) unknown = (double)a->states[STATE_COMPUTE + WORK_UNKNOWN];
  return all > 0 ? unknown / all : NAN;
}

static void put_ran_ahead(struct buffer *out, const struct account *a) {
  if (a->ran_ahead_ns == 0) return;
  (void)buffer_printf(
      out,
      "! the host hands its %lld steps over and the device works on for %.3f ms behind them: the account is of the device's "
      "work, and not per step (--window steps)\n",
      (long long)a->n_steps, (double)a->ran_ahead_ns / 1e6);
}

void attribution_notes(const struct attribution *attribution, const struct attributed_trace *t, struct buffer *out) {
  const struct account *a = &t->account;
  const struct timeline *line = &t->timeline;
  char digest[DIGEST_HEX];
  double unclassified = unclassified_share(a);
  if (account_unexplained_share(a) > 0.05)
    (void)buffer_printf(out, "! %.1f %% of the window is unexplained: more than 5 %%. What would explain it was not traced.\n",
                        100 * account_unexplained_share(a));
  put_ran_ahead(out, a);
  put_outside(out, line, a);
  put_losses(out, t);
  if (line->full) (void)buffer_text(out, "- the trace holds more spans, threads or names than can be kept: what came after is missing\n");
  if (line->n_cold > 0)
    (void)buffer_printf(
        out, "- %lld launch call%s load%s code: %.3f ms together, where the median launch call takes some %.1f us; counted apart\n",
        (long long)line->n_cold, LYNX_S(line->n_cold), line->n_cold == 1 ? "s" : "", (double)line->cold_ns / 1e6,
        (double)(a->launches.n > 0 ? histogram_quantile(&a->launches, 0.5) : line->cold_median_ns) / 1e3);
  if (line->n_cold_steps > 0 && a->window == WINDOW_STEPS)
    (void)buffer_printf(out, "- the first %s take%s more than three times those behind: the window is without %s\n",
                        line->n_cold_steps == 1 ? "step" : "steps", line->n_cold_steps == 1 ? "s" : "",
                        line->n_cold_steps == 1 ? "it" : "them");
  if (a->window == WINDOW_STEPS && a->steps.median_ns > 0 && (double)a->steps.longest_ns > STEP_APART * (double)a->steps.median_ns)
    put_longest_step(out, line, a);
  if (a->device >= 0) put_device_notes(out, attribution, t);
  if (t->host.cut)
    (void)buffer_text(out, "- so many ranges lie in each other that functions are named for the beginning of the window alone\n");
  if (isfinite(unclassified))
    (void)buffer_printf(out, "- %.1f %% of the computing time is of no known class (rules %d, %.12s)\n", 100 * unclassified,
                        WORK_RULES_VERSION, work_rules_digest(digest));
  (void)buffer_text(out,
                    "- where two things happen at once the order of the states decides: --json holds the overlaps, which no order decides\n"
                    "- a traced run is slower than an untraced one: these are shares, not a measurement of speed\n");
}

static void put_notes(struct buffer *out, const struct colours *c, const struct attribution *attribution,
                      const struct attributed_trace *t) {
  struct buffer notes;
  buffer_init_shown(&notes, 1 << 20);
  attribution_notes(attribution, t, &notes);
  bool warns = notes.length > 0 && notes.data[0] == '!';
  (void)buffer_printf(out, "\n%snotes%s\n%s", c->strong, c->plain, warns ? c->bad : "");
  for (size_t i = 0; i < notes.length; i++) { /* the first line may be a warning */
    if (warns && notes.data[i] == '\n') (void)buffer_text(out, c->plain), warns = false;
    (void)buffer_append(out, notes.data + i, 1);
  }
  buffer_release(&notes);
}

/* First of all how much is nobody's, and what would split it. */
static void put_unattributed(struct buffer *out, const struct colours *c, double share, const char *of, const char *next) {
  if (share > 0)
    (void)buffer_printf(out, "%s%.1f %% of %s is not attributed: nobody's yet.%s What would split it: %s\n", c->strong, 100 * share, of,
                        c->plain, next);
}

/* Requests: the critical path by operation. */
static void put_requests(struct buffer *out, const struct colours *c, const struct attribution_view *view,
                         const struct attributed_trace *t) {
  const struct requests *r = &t->requests;
  char path[PATH_SHOWN];
  double total = r->total_ns > 0 ? (double)r->total_ns : 1;
  (void)buffer_printf(out, "%s%s%s\n%s%s%s · %lld request%s, %zu spans, %.3f ms in all\n", c->strong, shown_path(t, path), c->plain, c->dim,
                      t->reader, c->plain, (long long)r->n_roots, LYNX_S(r->n_roots), r->n_spans, (double)r->total_ns / 1e6);
  put_unattributed(out, c, requests_unattributed(r), "the requests' time",
                   "a trace of the server (its own profiler, `perf script`), spans from inside it, or an executor that says its phases "
                   "(docs/drivers.md)");
  (void)buffer_printf(
      out, "\n%s  share     on the path    all work     spans  service and operation                              layer          owner%s\n",
      c->dim, c->plain);
  for (size_t i = 0; i < r->n_operations && i < 5 * view->top; i++) {
    const struct operation_total *o = &r->operations[i];
    enum layer layer;
    bool known = requests_layer(o->service, o->name, &layer);
    char name[128];
    (void)snprintf(name, sizeof name, "[%s] %s", o->service, o->name);
    (void)buffer_printf(out, "%6.2f %% %11.3f ms %8.3f ms %9lld  %-50s %-14s %s\n", 100 * (double)o->on_path_ns / total,
                        (double)o->on_path_ns / 1e6, (double)o->work_ns / 1e6, (long long)o->n, name,
                        known ? layer_text(layer) : "not attributed", known ? attribution_layer_owner(view, layer) : "nobody yet");
  }
  (void)buffer_printf(out, "\n%snotes%s\n", c->strong, c->plain);
  put_losses(out, t);
  if (r->n_cut > 0) (void)buffer_printf(out, "- %lld spans reach beyond their parent: cut to it\n", (long long)r->n_cut);
  if (r->n_dropped > 0)
    (void)buffer_printf(out, "- %lld spans lie outside their parent: left out, with what is below them\n", (long long)r->n_dropped);
  if (r->n_unreached > 0) (void)buffer_printf(out, "- %lld spans no root reaches: left out\n", (long long)r->n_unreached);
  if (r->full) (void)buffer_text(out, "- more spans than can be kept: what came after is missing\n");
  (void)buffer_text(out, "- a span's own time on the path is not what removing it would save: another path may then be the critical one\n"
                         "- layers come from names (queue, prefill, decode, known servers); what they do not tell is not attributed\n");
}

/* Samples: by the module of the innermost frame, and by the process where there are several. */
static void put_samples(struct buffer *out, const struct colours *c, const struct attribution_view *view,
                        const struct attributed_trace *t) {
  const struct samples *s = &t->samples;
  char path[PATH_SHOWN];
  double total = s->weight > 0 ? (double)s->weight : 1;
  (void)buffer_printf(out, "%s%s%s\n%s%s%s · %lld sample%s of %s over %.3f s\n", c->strong, shown_path(t, path), c->plain, c->dim,
                      t->reader, c->plain, (long long)s->n, LYNX_S(s->n), s->event[0] != 0 ? s->event : "an unnamed event",
                      (double)(s->last_ns - s->first_ns) / 1e9);
  put_unattributed(out, c, samples_unattributed(s), "the samples",
                   2 * s->named > s->weight
                       ? "whose these programs are, which their name does not say; their functions are below"
                       : "symbols and Python frames of these processes (py-spy, perf with -X perf), or the server's own profiler");
  (void)buffer_printf(out, "\n%s  share    samples  module%-55s layer          owner%s\n", c->dim, s->processes.n > 1 ? " and process" : "",
                      c->plain);
  for (size_t i = 0; i < s->modules.n && i < 5 * view->top; i++) {
    enum layer layer;
    struct sampled_module m = samples_module(s->modules.items[i].text);
    bool known = samples_layer(m.module, &layer);
    char name[400];
    (void)snprintf(name, sizeof name, s->processes.n > 1 ? "%s  %s" : "%s", m.module, m.process);
    (void)buffer_printf(out, "%6.2f %% %10lld  %-61s %-14s %s\n", 100 * (double)s->modules.items[i].weight / total,
                        (long long)s->modules.items[i].n, name, known ? layer_text(layer) : "not attributed",
                        known ? attribution_layer_owner(view, layer) : "nobody yet");
  }
  if (s->functions.n > 0) (void)buffer_printf(out, "\n%s  share    samples  innermost function%s\n", c->dim, c->plain);
  for (size_t i = 0; i < s->functions.n && i < view->top; i++)
    (void)buffer_printf(out, "%6.2f %% %10lld  %.100s\n", 100 * (double)s->functions.items[i].weight / total,
                        (long long)s->functions.items[i].n, s->functions.items[i].text);
  (void)buffer_printf(out, "\n%snotes%s\n", c->strong, c->plain);
  put_losses(out, t);
  if (!samples_are_time(s->event))
    (void)buffer_printf(out, "! %s count themselves, not time: who has few of them may take as long; record cycles or cpu-clock\n",
                        s->event);
  if (s->n_other > 0)
    (void)buffer_printf(out, "- %lld samples of other events are left out: they do not add up with these\n", (long long)s->n_other);
  if (s->n_idle > 0)
    (void)buffer_printf(out, "- %lld samples are of idle processors (process 0): they are no work, and are left out\n",
                        (long long)s->n_idle);
  if (s->served > 0 && s->weight > 0)
    (void)buffer_printf(out,
                        "- %.1f %% of the samples are in the C library or in another that anybody calls: they count with their caller\n",
                        100 * (double)s->served / (double)s->weight);
  if (s->full) (void)buffer_text(out, "- more different stacks than can be kept: what came after is missing\n");
  (void)buffer_text(out, "- only what runs on a processor is sampled: waiting is not seen; code that spins while it waits is\n"
                         "- --folded writes the stacks, for flame graph tools\n");
}

static void put_ranks(struct buffer *out, const struct colours *c, const struct attribution *a) {
  const struct collectives *x = &a->collectives;
  (void)buffer_printf(
      out,
      "\n%scollectives over %zu ranks%s: %lld matched, %lld not; transfer %.3f ms; starts apart by %.1f us on average, "
      "%.1f us at most (if the clocks agree)\n",
      c->strong, x->n_ranks, c->plain, (long long)x->all.n_matched, (long long)x->all.n_unmatched, (double)x->all.transfer_ns / 1e6,
      x->all.n_matched > 0 ? (double)x->all.skew_sum_ns / 1e3 / (double)x->all.n_matched : 0, (double)x->all.skew_greatest_ns / 1e3);
  (void)buffer_printf(out, "%s   rank  collectives      busy ms   waiting ms   came last%s\n", c->dim, c->plain);
  for (size_t i = 0; i < x->n_ranks; i++)
    (void)buffer_printf(out, "%7lld %12lld %12.3f %12.3f %11lld\n", (long long)x->ranks[i].rank, (long long)x->ranks[i].n,
                        (double)x->ranks[i].busy_ns / 1e6, (double)x->ranks[i].wait_ns / 1e6, (long long)x->ranks[i].n_last);
}

/* What each layer's states changed by, against what the window changed by. */
static void put_layer_changes(struct buffer *out, const struct colours *c, const struct attribution_view *view) {
  const struct attribution_change *x = view->change;
  double sums[LAYER_COUNT + 1];
  for (int l = 0; l <= LAYER_COUNT; l++) sums[l] = x->layer_ns[1][l] - x->layer_ns[0][l];
  (void)buffer_printf(out, "\n%sby layer, of a change of %+.3f ms%s\n", c->dim, x->difference_ns / 1e6, c->plain);
  for (int l = 0; l <= LAYER_COUNT; l++)
    if (fabs(sums[l]) >= 500)
      (void)buffer_printf(out, "%+9.3f ms  %-12s %s\n", sums[l] / 1e6, l < LAYER_COUNT ? layer_text((enum layer)l) : "-",
                          l < LAYER_COUNT ? attribution_layer_owner(view, (enum layer)l) : "nobody yet");
}

static void put_change(struct buffer *out, const struct colours *c, const struct attribution_view *view) {
  const struct attribution_change *x = view->change;
  const struct account *a = &view->attribution->traces[0].account;
  const char *per = x->per_step ? " per step" : "";
  (void)buffer_printf(out, "%sthe change%s: from %zu trace%s (--against) to %zu\n", c->strong, c->plain, x->n[0], LYNX_S(x->n[0]), x->n[1]);
  (void)buffer_printf(out, "same work: %.0f %% of the operators by name and number, %.0f %% by call path\n", 100 * x->same_names,
                      100 * x->same_paths);
  if (x->abstained) {
    (void)buffer_printf(out, "%sno verdict: %s.%s\n", c->bad, x->reason, c->plain);
    return;
  }
  (void)buffer_printf(out, "window%s: %.3f -> %.3f ms: %+.3f ms", per, x->wall_ns[0] / 1e6, x->wall_ns[1] / 1e6, x->difference_ns / 1e6);
  if (x->bounded)
    (void)buffer_printf(out, ", 95 %% CI [%+.3f, %+.3f]%s", x->low_ns / 1e6, x->high_ns / 1e6,
                        x->low_ns <= 0 && x->high_ns >= 0 ? ": that includes no change at all" : "");
  else (void)buffer_text(out, "; one trace in an arm has no interval: give two or more of each");
  (void)buffer_printf(
      out,
      "\n\n%s     before        after       change  state                                                          layer        owner%s\n",
      c->dim, c->plain);
  bool shown[STATE_COUNT] = {false};
  for (;;) {
    int best = -1;
    for (int i = 0; i < STATE_COUNT; i++)
      if (!shown[i] && fabs(x->state_ns[1][i] - x->state_ns[0][i]) > 0 &&
          (best < 0 || fabs(x->state_ns[1][i] - x->state_ns[0][i]) > fabs(x->state_ns[1][best] - x->state_ns[0][best])))
        best = i;
    if (best < 0) break;
    shown[best] = true;
    char words[WORDS];
    (void)buffer_printf(out, "%8.3f ms %9.3f ms %+9.3f ms  %-62s %-12s %s\n", x->state_ns[0][best] / 1e6, x->state_ns[1][best] / 1e6,
                        (x->state_ns[1][best] - x->state_ns[0][best]) / 1e6,
                        attribution_words(a->device < 0, (enum account_state)best, words, sizeof words),
                        attribution_state_layer(a, (enum account_state)best), attribution_state_owner(view, a, (enum account_state)best));
  }
  put_layer_changes(out, c, view);
  if (fabs(x->accounted_ns) > 0)
    (void)buffer_printf(out,
                        "\nThe greatest change that goes with the window's is %+.3f ms (%s); the window's own is %+.3f "
                        "ms.\nNon-additivity: %.2f (1 - realised / "
                        "accounted): %s\n",
                        x->accounted_ns / 1e6, account_state_words(x->accounted, a->device < 0), x->difference_ns / 1e6, x->non_additivity,
                        x->non_additivity > 0.1 ? "what was saved there came back elsewhere in part. Accounting is additive; effect is not."
                        : x->non_additivity < -0.1 ? "other states changed the same way: that one is not the whole of it."
                                                   : "what was accounted for was realised.");
  if (x->n_names > 0) (void)buffer_printf(out, "\n%s     before        after       change  per unit, by name%s\n", c->dim, c->plain);
  for (size_t i = 0; i < x->n_names && i < view->top; i++) {
    char text[90];
    (void)buffer_printf(out, "%8.3f ms %9.3f ms %+9.3f ms  %s%s\n", x->names[i].ns[0] / 1e6, x->names[i].ns[1] / 1e6,
                        (x->names[i].ns[1] - x->names[i].ns[0]) / 1e6,
                        text_sanitise(text, sizeof text, x->names[i].text, strlen(x->names[i].text)),
                        x->names[i].n[0] <= 0   ? "  (new)"
                        : x->names[i].n[1] <= 0 ? "  (gone)"
                                                : "");
  }
  (void)buffer_text(out, "\n");
}

struct colours colours_of(bool color) {
  return color ? (struct colours){text_colors[TEXT_STRONG], text_colors[TEXT_DIM], text_colors[TEXT_BAD], text_colors[TEXT_PLAIN]}
               : (struct colours){"", "", "", ""};
}

bool attribution_text(const struct attribution_view *view, bool color, struct buffer *out) {
  out->shown = true;
  const struct colours c = colours_of(color);
  const struct attribution *a = view->attribution;
  if (view->change != NULL) put_change(out, &c, view);
  for (size_t i = 0; i < a->n_traces; i++) {
    const struct attributed_trace *t = &a->traces[i];
    if (i > 0) (void)buffer_text(out, "\n");
    if (t->content != CONTENT_TIMELINE) {
      (t->content == CONTENT_REQUESTS ? put_requests : put_samples)(out, &c, view, t);
      continue;
    }
    put_head(out, &c, t);
    put_account(out, &c, view, t);
    put_owners(out, &c, view, t);
    put_host(out, &c, view, t);
    if (t->n_devices > 1) (void)buffer_printf(out, "\n%zu devices are traced; --device chooses another\n", t->n_devices);
    put_path(out, &c, &t->account);
    put_findings(out, &c, view, t);
    put_rates(out, &c, t, view->top);
    put_links(out, &c, view, t);
    put_names(out, &c, t, view->top);
    put_ranges(out, &c, t, view->top);
    put_notes(out, &c, a, t);
  }
  if (a->ranks) put_ranks(out, &c, a);
  return !out->overflowed;
}
