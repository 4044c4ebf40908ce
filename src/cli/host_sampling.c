#include "cli/host_sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/number.h"
#include "cli/output.h"
#include "cli/screen.h"
#include "cli/server_look.h"
#include "executor/capture.h"
#include "executor/listening.h"
#include "measure/host_samples.h"
#include "measure/sampling.h"
#include "telemetry/process_tree.h"

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

static bool find_process(const char *url, int64_t pid, const struct root *root, int64_t *ret) {
  struct endpoint endpoint;
  struct lynx_error error = {0};
  *ret = 0;
  if ((pid == 0) == (url == NULL)) {
    complain("lynxbench watch: --samples-only: found %s; accepted: the server's address on this machine, such as http://127.0.0.1:8000, or "
             "--pid N\nnext: lynxbench watch --help\n",
             pid == 0 ? "neither a URL nor --pid" : "a URL and --pid");
    return false;
  }
  *ret = pid;
  if (*ret == (int64_t)getpid()) {
    complain("lynxbench watch: --samples-only: --pid: found this program itself; accepted: the number of the serving process\n");
    return false;
  }
  if (url != NULL && (!server_is_url(url) || endpoint_parse(url, &endpoint, &error) != LYNX_OK)) {
    complain("lynxbench watch: --samples-only: the URL: %s; accepted: http://HOST:PORT\n",
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
    complain("lynxbench watch: --samples-only: the serving process was not found: run it where the server runs, as root or as the server's "
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
      complain("lynxbench watch: --samples-only: %s: cannot be written: %s. What was written before is there\n", s->path, strerror(errno));
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
  if (!there && !quiet) complain("lynxbench watch: --samples-only: process %lld has ended\n", (long long)s->head.process);
  if (!good) return EXIT_CONDITIONS;
  return for_ns > 0 && at_ns < for_ns && there ? EXIT_INTERRUPTED : EXIT_HOLDS;
}

static int sample(struct sampled *s, const struct root *root, int64_t for_ns, bool quiet) {
  s->fd = open(s->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (s->fd < 0) {
    bool exists = errno == EEXIST;
    complain("lynxbench watch: --samples-only: %s: %s\n", s->path,
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

int host_sampling_run(const struct host_sampling *wanted) {
  static const struct root root = {""};
  struct sampled s = {.fd = -1};
  char name[200];
  int64_t process;
  if (!find_process(wanted->url, wanted->pid, &root, &process)) return EXIT_WRONG_INPUT;
  if (!read_head(&root, process, &s)) return EXIT_EXECUTOR;
  (void)snprintf(name, sizeof name, "samples-%.128s.jsonl", s.head.host.name[0] != 0 ? s.head.host.name : "host");
  s.path = wanted->out != NULL ? wanted->out : name;
  return sample(&s, &root, wanted->for_ns, wanted->quiet);
}
