#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/text_file.h"
#include "record/bundle.h"
#include "result/profile.h"
#include "telemetry/metrics.h"

enum { FLAG_OUT, FLAG_FORMAT, FLAG_SOURCE, FLAG_SIGN, FLAG_COMPARE };

static const struct option_spec options[] = {
    [FLAG_OUT] = OPTION("out", "FILE", "the profile (default: standard output)"),
    [FLAG_FORMAT] = OPTION("format", "NAME", "auto, jsonl, mooncake, burstgpt, azure, otlp or access (default: auto)"),
    [FLAG_SOURCE] = OPTION("source", "TEXT", "what it was taken from, in words (default: the file's name)"),
    [FLAG_SIGN] = OPTION("sign", "KEY", "sign it: an Ed25519 private key in PEM"),
    [FLAG_COMPARE] = OPTION("compare", "PROFILE", "how far this one is from another; nothing is written")};

enum { LOG_BYTES_MAX = 1 << 30 };

static void tell(const struct profile *p, const struct request_log *log) {
  complain("%lld request%s", (long long)p->n_requests, LYNX_S(p->n_requests));
  if (p->from[0] != 0) complain(" from %s to %s", p->from, p->to);
  if (isfinite(p->rate_per_s)) complain(", %.4g/s, gaps vary %.3g times as much as Poisson's", p->rate_per_s, p->gap_variation);
  complain("; lengths of %zu; concurrency %s; prefix reuse %s\n", p->n_pairs, isfinite(p->mean_concurrency) ? "known" : "not known",
           isfinite(p->prefix_reuse) ? "known" : "not known");
  if (log->n_skipped > 0) complain("%zu lines were not read; the first: %s\n", log->n_skipped, log->first_skipped);
}

static bool load_profile(const char *path, struct profile *ret) {
  struct buffer text;
  struct lynx_error error = {0};
  if (!read_file(path, 16 << 20, &text)) return false;
  enum lynx_status status = profile_read(text.data, text.length, ret, &error);
  buffer_release(&text);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

static void print_figure(const char *name, const char *sign, double value) {
  if (isfinite(value)) say("%-23s %s%.4f\n", name, sign, value);
  else say("%-23s not known: one of the two does not hold it\n", name);
}

static int print_distance(const struct profile *p, const char *path) {
  struct profile other;
  if (!load_profile(path, &other)) return EXIT_WRONG_INPUT;
  struct profile_distance d = profile_compare(p, &other);
  print_figure("prompt length distance", "", d.prompt_length);
  print_figure("output length distance", "", d.output_length);
  print_figure("arrivals distance", "", d.arrivals);
  print_figure("concurrency", "x", d.concurrency_ratio);
  print_figure("prefix reuse differs by", "", d.prefix_reuse);
  profile_release(&other);
  return EXIT_HOLDS;
}

/* --- an observation --- */

struct counting {
  struct values_of {
    double *at;
    size_t n, room;
  } running, waiting, finished;
};

static void keep(struct values_of *v, double value) {
  v->at = xroom(v->at, v->n, &v->room, sizeof *v->at);
  v->at[v->n++] = value;
}

static enum lynx_status take_sample(void *context, int64_t session, int64_t at_ns, const char *series, double value) {
  struct counting *c = context;
  (void)session, (void)at_ns;
  if (strcmp(series, metrics_series_text(METRICS_RUNNING)) == 0) keep(&c->running, value);
  if (strcmp(series, metrics_series_text(METRICS_WAITING)) == 0) keep(&c->waiting, value);
  if (strcmp(series, metrics_series_text(METRICS_FINISHED)) == 0) keep(&c->finished, value);
  return LYNX_OK;
}

static double mean_of(const struct values_of *v) {
  double sum = 0;
  for (size_t i = 0; i < v->n; i++) sum += v->at[i] / (double)v->n;
  return v->n > 0 ? sum : NAN;
}

static enum lynx_status take_length(void *context, const struct bundle_session *session) {
  *(double *)context = (double)session->counted_ns / 1e9;
  return LYNX_OK;
}

/* Of a watch: its requests, one by one. */
struct watched_log {
  struct bundle *bundle;
  struct request_log log;
  size_t room; /* for its items */
  struct lynx_error *error;
  int64_t start_ns;
};

static enum lynx_status take_watched(void *context, const struct bundle_request *row) {
  struct watched_log *w = context;
  struct request_log *log = &w->log;
  int64_t at_ns = w->start_ns + row->scheduled_ns;
  if (log->n_items == REQUEST_LOG_MAX) return lynx_fail(w->error, LYNX_LIMIT, "more than %d requests", REQUEST_LOG_MAX);
  if (log->n_items == 0) log->first_realtime_ns = at_ns;
  log->items = xroom(log->items, log->n_items, &w->room, sizeof *log->items);
  log->items[log->n_items++] = (struct logged_request){.at_ns = at_ns,
                                                       .duration_ns = row->end_ns >= 0 ? row->end_ns - row->scheduled_ns : -1,
                                                       .prompt_tokens = row->prompt_tokens,
                                                       .output_tokens = row->output_tokens,
                                                       .cached_tokens = -1};
  return LYNX_OK;
}

static enum lynx_status take_window(void *context, const struct bundle_session *session) {
  struct watched_log *w = context;
  w->start_ns = session->start_realtime_ns;
  return session->purpose == PURPOSE_OBSERVE ? bundle_each_request(w->bundle, session->id, take_watched, w, w->error) : LYNX_OK;
}

static int by_time(const void *a, const void *b) {
  const struct logged_request *x = a, *y = b;
  return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static enum lynx_status profile_of_watch(struct bundle *bundle, const char *source, const char *now, struct profile *ret,
                                         struct lynx_error *error) {
  struct watched_log w = {.bundle = bundle, .error = error};
  enum lynx_status status = bundle_each_session(bundle, take_window, &w, error);
  if (status == LYNX_OK && w.log.n_items == 0)
    status = lynx_fail(error, LYNX_INPUT,
                       "it holds no watched request; accepted: a bundle of `lynxbench watch` or `run --observe`, or a log");
  if (status == LYNX_OK) {
    qsort(w.log.items, w.log.n_items, sizeof *w.log.items, by_time);
    int64_t first_ns = w.log.first_realtime_ns = w.log.items[0].at_ns;
    for (size_t i = 0; i < w.log.n_items; i++) w.log.items[i].at_ns -= first_ns;
    profile_of_log(&w.log, source, now, ret);
  }
  request_log_release(&w.log);
  return status;
}

/* From the bundle of `watch` or of `run --observe`. */
static bool profile_of_bundle(const char *path, const char *source, const char *now, struct profile *ret) {
  struct bundle *bundle = NULL;
  struct bundle_seal_info seal;
  struct lynx_error error = {0};
  struct counting c = {0};
  double seconds = 0;
  enum lynx_status status = bundle_open(path, &bundle, &seal, &error);
  const char *before = status == LYNX_OK ? bundle_meta(bundle, "metrics_before") : NULL,
             *after = status == LYNX_OK ? bundle_meta(bundle, "metrics_after") : NULL;
  if (status == LYNX_OK && (before == NULL || after == NULL || bundle_meta(bundle, "watched") != NULL)) {
    status = profile_of_watch(bundle, source, now, ret, &error);
    bundle_close(bundle);
    if (status == LYNX_OK) return true;
    lynx_error_at(&error, path, 0, NULL);
    (void)report_error(&error);
    return false;
  }
  if (status == LYNX_OK) status = bundle_each_session(bundle, take_length, &seconds, &error);
  if (status == LYNX_OK) status = bundle_each_sample(bundle, 0, take_sample, &c, &error);
  for (size_t i = c.finished.n; i-- > 1;) c.finished.at[i] -= c.finished.at[i - 1];
  double running = mean_of(&c.running), waiting = mean_of(&c.waiting);
  if (status == LYNX_OK) {
    struct observation o = {.before = bytes_of(before),
                            .after = bytes_of(after),
                            .seconds = seconds,
                            .mean_in_system = running + (isnan(waiting) ? 0 : waiting),
                            .counts = c.finished.n > 1 ? c.finished.at + 1 : NULL,
                            .n_counts = c.finished.n > 1 ? c.finished.n - 1 : 0};
    status = profile_of_observation(&o, source, now, ret, &error);
  }
  free(c.running.at);
  free(c.waiting.at);
  free(c.finished.at);
  bundle_close(bundle);
  if (status == LYNX_OK) return true;
  lynx_error_at(&error, path, 0, NULL);
  (void)report_error(&error);
  return false;
}

static int finish(const struct arguments *arguments, struct profile *profile) {
  struct buffer out, pem;
  struct lynx_error error = {0};
  const char *other = arguments->option[FLAG_COMPARE], *key = arguments->option[FLAG_SIGN];
  int code;
  if (other != NULL) code = print_distance(profile, other);
  else if (key != NULL) {
    code = EXIT_WRONG_INPUT;
    buffer_init(&out, 16 << 20);
    if (read_file(key, 65536, &pem)) {
      bool made = profile_sign(profile, (struct bytes){pem.data != NULL ? pem.data : "", pem.length}, &out, &error) == LYNX_OK;
      buffer_wipe(&pem);
      if (made) code = write_buffer(arguments->option[FLAG_OUT], &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
      else {
        lynx_error_at(&error, key, 0, "--sign");
        code = report_error(&error);
      }
    }
    buffer_release(&out);
  } else {
    buffer_init(&out, 16 << 20);
    (void)profile_write(profile, &out); /* an overflow is reported below */
    code = write_buffer(arguments->option[FLAG_OUT], &out) ? EXIT_HOLDS : EXIT_CONDITIONS;
    buffer_release(&out);
  }
  profile_release(profile);
  return code;
}

static int run(const struct arguments *arguments) {
  const char *path = arguments->positional[0],
             *format_name = arguments->option[FLAG_FORMAT] != NULL ? arguments->option[FLAG_FORMAT] : "auto";
  enum log_format format;
  struct buffer text;
  struct request_log log;
  struct profile profile;
  struct lynx_error error = {0};
  char now[40];
  if (!log_format_parse(format_name, &format)) {
    complain("lynxbench profile: --format: found '%s', accepted: auto, jsonl, mooncake, burstgpt, azure, otlp or access\n", format_name);
    return EXIT_WRONG_INPUT;
  }
  const char *source = arguments->option[FLAG_SOURCE] != NULL ? arguments->option[FLAG_SOURCE] : path;
  (void)clock_text(now, clock_system.realtime_ns(clock_system.context));
  if (file_is_record(path)) return profile_of_bundle(path, source, now, &profile) ? finish(arguments, &profile) : EXIT_WRONG_INPUT;
  if (!text_file_read(path, LOG_BYTES_MAX, &text, NULL)) return EXIT_WRONG_INPUT;
  enum lynx_status status = request_log_parse(text.data, text.length, format, &log, &error);
  buffer_release(&text);
  if (status != LYNX_OK) {
    lynx_error_at(&error, path, 0, NULL);
    return report_error(&error);
  }
  profile_of_log(&log, source, now, &profile);
  tell(&profile, &log);
  int code = finish(arguments, &profile);
  request_log_release(&log);
  return code;
}

const struct command command_profile = {
    .name = "profile",
    .summary = "summarise real traffic, to generate load or compare runs with it",
    .usage = "LOG",
    .least = 1,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "LOG is a log of requests: lines of JSON (at_s, prompt_tokens, output_tokens), a mooncake, BurstGPT or Azure trace,\n"
               "OTLP JSON spans with gen_ai usage, an access log, or the bundle of a watch (`lynxbench watch`) or an observation (`run "
               "--observe`). The profile "
               "holds lengths, gaps, concurrency and prefix reuse, as far\n"
               "as the log has them; no text of any prompt. Name it in a contract as workload.profile_file: lengths can be drawn\n"
               "from it (distribution: profile), and every claim states the distance between what was run and the profile.\n"
               "It is dated; --sign adds a signature by a key of `openssl genpkey -algorithm ed25519 -out key.pem`, which is\n"
               "checked wherever the profile is read, and named in the claim by its public key.",
    .example = "build/lynxbench profile tests/recorded/traces/azure.csv --out /tmp/profile.json",
    .run = run};
