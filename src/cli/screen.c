#include "cli/output.h"
#include "cli/screen.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_EVERY_S = 10 /* elsewhere than on a terminal */, LINE_MAX_BYTES = 400 };

static atomic_int stop;

static void on_interrupt(int number) {
  (void)number;
  int now = atomic_load(&stop);
  atomic_store(&stop, now == 0 ? 1 : 2);
  static const char once[] = "\nlynxbench: finishing the requests in flight; press Ctrl-C again to abort them\n",
                    twice[] = "\nlynxbench: aborting\n";
  ssize_t written = now == 0 ? write(STDERR_FILENO, once, sizeof once - 1) : write(STDERR_FILENO, twice, sizeof twice - 1);
  (void)written;
}

const atomic_int *screen_catch_interrupts(void) {
  struct sigaction action = {.sa_handler = on_interrupt};
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
  return &stop;
}

void screen_init(struct screen *screen, bool quiet) {
  const char *term = getenv("TERM");
  *screen = (struct screen){.terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0, .quiet = quiet};
}

/* Adds to a line of progress; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) static void add(char line[LINE_MAX_BYTES], size_t *used, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int n = text_vformat(line + *used, LINE_MAX_BYTES - *used, format, values);
  va_end(values);
  if (n > 0) *used = *used + (size_t)n < LINE_MAX_BYTES ? *used + (size_t)n : LINE_MAX_BYTES - 1;
}

void screen_show(void *context, const struct run_progress *p) {
  struct screen *screen = context;
  telling_take(screen->telling, p);
  if (screen->quiet) return;
  bool new_step = strcmp(screen->last_step, p->step) != 0 || screen->last_session != p->session;
  double seconds = p->elapsed_s - screen->last_elapsed;
  double rate = seconds > 0 ? (double)(p->n_tokens - screen->last_tokens) / seconds : 0,
         done = seconds > 0 ? (double)(p->n_done - screen->last_done) / seconds : 0;
  if (screen->last_session != p->session) screen->last_elapsed = 0, screen->last_tokens = screen->last_done = 0, rate = done = 0;
  bool first = !screen->counted && strcmp(p->step, "counted") == 0; /* the first that counts is said at once */
  if (!screen->terminal && !first && time(NULL) - screen->last_line < LINE_EVERY_S) return;
  screen->counted = screen->counted || first;
  if (screen->terminal && !new_step && seconds < 0.5) return;
  char of[32] = "", rate_text[40] = "";
  if (p->n_sessions > 0) (void)snprintf(of, sizeof of, "/%lld", (long long)p->n_sessions);
  bool plain = p->purpose == PURPOSE_MEASURE || p->purpose == PURPOSE_OBSERVE;
  if (p->rate_per_s > 0 && !plain) (void)snprintf(rate_text, sizeof rate_text, " at %.5g/s", p->rate_per_s);
  size_t used = 0;
  char line[LINE_MAX_BYTES];
  add(line, &used, "%s%s[%lld%s] %-5s %s%s%-8s%s", screen->label != NULL ? screen->label : "", screen->label != NULL ? " " : "",
      (long long)p->session, of, p->precision, plain ? "" : purpose_text(p->purpose), plain ? "" : ": ", p->step, rate_text);
  if (p->total_s > 0) {
    double left = p->total_s - p->elapsed_s;
    add(line, &used, " %5.1f of %.0f s, %5.1f requests/s,", p->elapsed_s, p->total_s, done);
    if (p->n_tokens > 0) add(line, &used, " %7.0f tokens/s,", rate);
    add(line, &used, " %d in flight, %lld failed", p->in_flight, p->n_failed);
    double all = (left > 0 ? left : 0) + (double)(p->n_sessions - p->session) * p->total_s;
    if (left > 0 && p->n_sessions > 0) add(line, &used, ", %.0f s left of at least %.0f in all", left, all);
  }
  if (screen->terminal) say_progress(line);
  else complain("%s\n", line);
  screen->last_line = time(NULL);
  (void)snprintf(screen->last_step, sizeof screen->last_step, "%s", p->step);
  screen->last_session = p->session;
  screen->last_elapsed = p->elapsed_s;
  screen->last_tokens = p->n_tokens;
  screen->last_done = p->n_done;
}

void screen_note(void *context, const char *text) {
  (void)context;
  complain("%s\n", text);
}

char *screen_bundle_name(const struct contract *contract, const char *suffix, char *text, size_t size) {
  char stamp[40];
  time_t now = time(NULL);
  struct tm t;
  (void)gmtime_r(&now, &t);
  (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &t);
  size_t n = 0;
  for (const char *p = contract->name; *p != 0 && n < 100 && n + 1 < size; p++) {
    bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') || *p == '_';
    if (plain || n > 0) text[n++] = plain ? *p : '-'; /* a file whose name begins with '-' is taken for an option */
  }
  if (n == 0) n = (size_t)snprintf(text, size, "run");
  (void)snprintf(text + n, size - n, "%s-%s.lynx", suffix, stamp);
  return text;
}
