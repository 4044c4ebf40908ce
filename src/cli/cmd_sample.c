/* sample: the samplers alone, where the server runs and the load does not. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/option_value.h"
#include "cli/screen.h"
#include "cli/server_look.h"
#include "executor/capture.h"
#include "executor/listening.h"
#include "measure/host_samples.h"
#include "measure/sampling.h"
#include "telemetry/process_tree.h"

enum { FLAG_PID, FLAG_FOR, FLAG_OUT, FLAG_QUIET };

static const struct option_spec options[] = {
    [FLAG_PID] = OPTION_WITH("pid", "N", "the serving process (default: the one that listens at the URL)", VALUE_COUNT, 1, INT32_MAX,
                             "the number of the serving process"),
    [FLAG_FOR] = OPTION_WITH("for", "DURATION", "how long (default: until Ctrl-C, or until the process ends)", VALUE_DURATION, 1e-9, 1e9,
                             "a duration, such as 90s or 10min"),
    [FLAG_OUT] = OPTION("out", "FILE", "the file to write (default: samples- and the host's name, .jsonl)"),
    [FLAG_QUIET] = SWITCH_QUIET};

#define STEP_NS 500000000
#define AT_MOST 0.01 /* of the processors, as in a run whose contract says nothing of it */

struct sampled {
  struct sampling *sampling;
  struct host_samples_head head;
  int64_t zero_ns, zero_realtime_ns; /* one moment by the two clocks */
  struct buffer lines;
  int fd;
  const char *path;
  long long n_values, n_threads;
};

static bool find_process(const struct arguments *arguments, const struct root *root, int64_t *ret) {
  const char *pid = arguments->option[FLAG_PID], *url = arguments->n_positional > 0 ? arguments->positional[0] : NULL;
  struct endpoint endpoint;
  struct lynx_error error = {0};
  *ret = 0;
  if ((pid == NULL) == (url == NULL)) {
    complain("lynxbench sample: found %s; accepted: the server's address on this machine, such as http://127.0.0.1:8000, or "
             "--pid N\nnext: lynxbench sample --help\n",
             pid == NULL ? "neither a URL nor --pid" : "a URL and --pid");
    return false;
  }
  *ret = option_count(arguments, FLAG_PID, 0);
  if (*ret == (int64_t)getpid()) {
    complain("lynxbench sample: --pid: found '%s'; accepted: the number of the serving process\n", pid);
    return false;
  }
  if (url != NULL && (!server_is_url(url) || endpoint_parse(url, &endpoint, &error) != LYNX_OK)) {
    complain("lynxbench sample: the URL: %s; accepted: http://HOST:PORT\n",
             error.message[0] != 0 ? error.message : "found no http:// or https://");
    return false;
  }
  if (url != NULL) *ret = capture_is_local(&endpoint) ? capture_find_listener(root, &endpoint) : 0;
  return true;
}

static void read_ports(const struct root *root, struct host_samples_head *head) {
  struct process_tree tree;
  char urls[LISTENING_MAX][LISTENING_URL];
  size_t n = 0;
  process_tree_read(root, head->process, &tree);
  for (size_t i = 0; i < tree.n; i++) n = listening_urls(root, tree.pids[i], urls, n);
  for (size_t i = 0; i < n && head->n_ports < HOST_PORTS_MAX; i++) {
    const char *colon = strrchr(urls[i], ':');
    if (colon != NULL) head->ports[head->n_ports++] = strtoll(colon + 1, NULL, 10);
  }
}

static bool read_head(const struct root *root, int64_t process, struct sampled *s) {
  struct process_stat stat;
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  if (process <= 0 || !process_read(root, process, &stat)) {
    complain("lynxbench sample: the serving process was not found: run it where the server runs, as root or as the server's "
             "user, or give --pid N\n");
    return false;
  }
  s->head = (struct host_samples_head){.process = process, .n_processors = n > 0 ? n : 1};
  host_read(&s->head.host);
  (void)snprintf(s->head.program, sizeof s->head.program, "%s", stat.name);
  read_ports(root, &s->head);
  return true;
}

/* --- what is delivered --- */

static int64_t realtime(const struct sampled *s, int64_t at_ns) {
  return s->zero_realtime_ns + at_ns;
}

static void take_value(void *context, int64_t at_ns, const char *series, double value) {
  struct sampled *s = context;
  host_samples_write_value(realtime(s, at_ns), series, value, &s->lines);
  s->n_values++;
}

static void take_name(void *context, const struct thread_name *name) {
  struct sampled *s = context;
  host_samples_write_name(name, &s->lines);
  s->n_threads++;
}

static void take_activity(void *context, const struct thread_activity *activity) {
  struct sampled *s = context;
  struct thread_activity own = *activity;
  own.at_ns = realtime(s, own.at_ns);
  host_samples_write_activity(&own, &s->lines);
}

/* What was taken is in the file before more is: who kills this loses half a second. */
static bool write_lines(struct sampled *s) {
  for (size_t done = 0; done < s->lines.length;) {
    ssize_t n = write(s->fd, s->lines.data + done, s->lines.length - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      complain("lynxbench sample: %s: cannot be written: %s. What was written before is there\n", s->path, strerror(errno));
      return false;
    }
    done += (size_t)n;
  }
  buffer_clear(&s->lines);
  return true;
}

static bool take_all(struct sampled *s) {
  const struct sampling_taker taker = {s, take_value, take_name, take_activity};
  sampling_take(s->sampling, &taker);
  return write_lines(s);
}

/* --- */

static void show(const struct sampled *s, double at_s, bool quiet) {
  if (!quiet && isatty(STDERR_FILENO))
    complain("\rprocess %lld (%s): %.0f s, %lld values, %lld threads; Ctrl-C ends ", (long long)s->head.process, s->head.program, at_s,
             s->n_values, s->n_threads);
}

/* An exit code. */
static int sample_until(struct sampled *s, const struct root *root, int64_t for_ns, bool quiet) {
  const atomic_int *stop = screen_catch_interrupts();
  const struct timespec step = {.tv_nsec = STEP_NS};
  struct process_stat stat;
  bool good = true, there = true;
  int64_t at_ns = 0;
  while (good && there && atomic_load(stop) == 0 && (for_ns == 0 || at_ns < for_ns)) {
    (void)nanosleep(&step, NULL);
    at_ns = clock_now(&clock_system) - s->zero_ns;
    there = process_read(root, s->head.process, &stat);
    good = take_all(s);
    show(s, (double)at_ns / 1e9, quiet);
  }
  sampling_end(s->sampling);
  good = good && take_all(s);
  host_samples_write_end(realtime(s, clock_now(&clock_system) - s->zero_ns), &s->lines);
  good = good && write_lines(s);
  if (!quiet && isatty(STDERR_FILENO)) complain("\n");
  if (!there && !quiet) complain("lynxbench sample: process %lld has ended\n", (long long)s->head.process);
  if (!good) return EXIT_CONDITIONS;
  return for_ns > 0 && at_ns < for_ns && there ? EXIT_INTERRUPTED : EXIT_HOLDS;
}

static int sample(struct sampled *s, const struct root *root, int64_t for_ns, bool quiet) {
  s->fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (s->fd < 0) {
    bool exists = errno == EEXIST;
    complain("lynxbench sample: %s: %s\n", s->path,
             exists ? "the file exists, and is not overwritten; name another with --out" : strerror(errno));
    return exists ? EXIT_WRONG_INPUT : EXIT_CONDITIONS;
  }
  buffer_init(&s->lines, 64 << 20);
  s->sampling = sampling_open(root, &clock_system, AT_MOST);
  s->zero_ns = clock_now(&clock_system);
  s->zero_realtime_ns = s->zero_ns + clock_offset(&clock_system, &(int64_t){0});
  s->head.begun_ns = s->zero_realtime_ns;
  host_samples_write_head(&s->head, &s->lines);
  sampling_begin(s->sampling, s->zero_ns, s->head.process);
  int code = sample_until(s, root, for_ns, quiet);
  sampling_close(s->sampling);
  buffer_release(&s->lines);
  if (close(s->fd) != 0) code = EXIT_CONDITIONS;
  if (code == EXIT_HOLDS || code == EXIT_INTERRUPTED)
    say("%s: process %lld (%s) on %s, %lld values of %lld threads\nnext: lynxbench merge RUN.lynx %s --out whole.lynx\n", s->path,
        (long long)s->head.process, s->head.program, s->head.host.name, s->n_values, s->n_threads, s->path);
  return code;
}

static int run(const struct arguments *arguments) {
  static const struct root root = {""};
  struct sampled s = {.fd = -1};
  char name[200];
  int64_t for_ns = option_duration_ns(arguments, FLAG_FOR, 0), process;
  if (!find_process(arguments, &root, &process)) return EXIT_WRONG_INPUT;
  if (!read_head(&root, process, &s)) return EXIT_EXECUTOR;
  (void)snprintf(name, sizeof name, "samples-%.128s.jsonl", s.head.host.name[0] != 0 ? s.head.host.name : "host");
  s.path = arguments->option[FLAG_OUT] != NULL ? arguments->option[FLAG_OUT] : name;
  return sample(&s, &root, for_ns, arguments->option[FLAG_QUIET] != NULL);
}

const struct command command_sample = {
    .name = "sample",
    .summary = "sample a server on its own host, while another host loads it",
    .usage = "[URL]",
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Where the server is on another machine than the load, run this there, and `diagnose` or `run` at the load's side meanwhile.\n"
        "`lynxbench merge RUN.lynx FILE --out WHOLE.lynx` then joins both by the two wall clocks, and `attribute WHOLE.lynx` says\n"
        "whose the time is. It reads, and changes nothing. Profilers do not run. A file that breaks off loses half a second.",
    .example = "rm -f /tmp/s.jsonl; build/lynxbench-ref --mode metronome --port 8397 > /dev/null & sleep 1; build/lynxbench sample "
               "http://127.0.0.1:8397 --for 2s --out /tmp/s.jsonl; kill %1",
    .run = run};
