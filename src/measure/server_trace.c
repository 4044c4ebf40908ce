#include "measure/server_trace.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "measure/trace_account.h"
#include "telemetry/cupti_socket.h"
#include "telemetry/process_tree.h"

enum {
  WORDS_MAX = 1 << 20,
  NAMES_MAX = 65536, /* files in the folder */
  GRACE_S = 20,      /* that a profiler has to stop once the user stops the run */
  TRACED_MS = 500,
  START_S = 20,
  STOP_S = 180,
  WRITE_S = 10
};

struct folder_list {
  struct arena arena;
  const char *names[NAMES_MAX];
  size_t n;
};

struct server_trace {
  struct run *run;
  int64_t session, after_ns;
  struct server_trace_place place;
  struct folder_list before;
  pthread_t thread;
  bool started;       /* the thread */
  int64_t stopped_ns; /* when the thread saw that the user stops; 0: not yet */
  /* the thread's, until it has ended */
  bool profiled;
  char why[300];
};

/* --- where it writes --- */

/* The words of /proc/PID/cmdline or environ: each ends in 0. */
static bool read_words(const struct root *root, int64_t pid, const char *what, struct buffer *ret) {
  char path[64];
  buffer_init(ret, WORDS_MAX);
  (void)snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, what);
  return root_read(root, path, ret, NULL) == LYNX_OK && ret->length > 0;
}

static const char *after(const char *word, const char *begins) {
  size_t n = strlen(begins);
  return strncmp(word, begins, n) == 0 ? word + n : NULL;
}

static void keep_folder(struct server_trace_place *ret, const char *folder, size_t n) {
  ret->by_socket = false;
  if (n > 0 && n < sizeof ret->folder) (void)snprintf(ret->folder, sizeof ret->folder, "%.*s", (int)n, folder);
}

/* {"profiler": "torch", "torch_profiler_dir": "/tmp/traces", ...} */
static void read_config(const char *text, size_t n, struct server_trace_place *ret) {
  json_t *config = json_parse(text, n, WORDS_MAX, NULL);
  const char *folder = json_string_value(json_object_get(config, "torch_profiler_dir"));
  if (folder != NULL) keep_folder(ret, folder, strlen(folder));
  json_decref(config);
}

static void read_command(const struct root *root, int64_t pid, struct server_trace_place *ret) {
  struct buffer text;
  const char *value = NULL, *option = NULL;
  if (read_words(root, pid, "cmdline", &text))
    for (const char *word = text.data, *end = text.data + text.length; word < end; word += strnlen(word, (size_t)(end - word)) + 1) {
      size_t n = strnlen(word, (size_t)(end - word));
      if (option != NULL && strcmp(option, "json") == 0) read_config(word, n, ret);
      else if (option != NULL) keep_folder(ret, word, n);
      option = NULL;
      if (strcmp(word, "--profiler-config") == 0) option = "json";
      else if (strcmp(word, "--profiler-config.torch_profiler_dir") == 0) option = "folder";
      else if ((value = after(word, "--profiler-config=")) != NULL) read_config(value, strlen(value), ret);
      else if ((value = after(word, "--profiler-config.torch_profiler_dir=")) != NULL) keep_folder(ret, value, strlen(value));
    }
  buffer_release(&text);
}

static void read_environment(const struct root *root, int64_t pid, struct server_trace_place *ret) {
  static const char *const variables[] = {"VLLM_TORCH_PROFILER_DIR=", "SGLANG_TORCH_PROFILER_DIR=", "LYNXBENCH_CUPTI_FOLDER="};
  struct buffer text;
  if (read_words(root, pid, "environ", &text))
    for (const char *word = text.data, *end = text.data + text.length; word < end; word += strnlen(word, (size_t)(end - word)) + 1)
      for (size_t i = 0; i < LYNX_COUNT(variables); i++) {
        const char *value = after(word, variables[i]);
        if (value == NULL || value[0] == 0 || strlen(value) >= sizeof ret->folder) continue;
        keep_folder(ret, value, strlen(value));
        ret->by_socket = i + 1 == LYNX_COUNT(variables);
      }
  buffer_release(&text);
}

bool server_trace_find(const struct root *root, int64_t pid, struct server_trace_place *ret) {
  struct process_tree tree;
  *ret = (struct server_trace_place){.serving = pid};
  if (pid <= 0) return false;
  process_tree_read(root, pid, &tree);
  int64_t user = process_user(root, pid);
  for (size_t i = 0; i < tree.n && ret->folder[0] == 0; i++) {
    if (user < 0 || process_user(root, tree.pids[i]) != user) continue;
    ret->pid = tree.pids[i];
    read_environment(root, tree.pids[i], ret);
    read_command(root, tree.pids[i], ret);
  }
  if (ret->folder[0] == 0 || ret->folder[0] == '/') return ret->folder[0] != 0;
  /* below the folder that it works in */
  char link[64], cwd[PATH_MAX], whole[2 * PATH_MAX];
  (void)snprintf(link, sizeof link, "/proc/%lld/cwd", (long long)ret->pid);
  if (!root_read_link(root, link, cwd, sizeof cwd) || cwd[0] != '/') return false;
  int n = snprintf(whole, sizeof whole, "%s/%s", cwd, ret->folder);
  if (n <= 0 || (size_t)n >= sizeof ret->folder) return false;
  (void)snprintf(ret->folder, sizeof ret->folder, "%.*s", n, whole);
  return true;
}

/* --- what is in the folder --- */

static void keep_name(void *context, const char *name) {
  struct folder_list *list = context;
  size_t n = strlen(name);
  bool trace = (n > 5 && strcmp(name + n - 5, ".json") == 0) || (n > 8 && strcmp(name + n - 8, ".json.gz") == 0);
  if (trace && list->n < NAMES_MAX) list->names[list->n++] = arena_copy(&list->arena, name);
}

static void path_of(const struct server_trace *t, const char *name, char path[2 * PATH_MAX]) {
  (void)snprintf(path, 2 * PATH_MAX, "/proc/%lld/root%s%s%s", (long long)t->place.pid, t->place.folder, name[0] != 0 ? "/" : "", name);
}

static void list_folder(const struct server_trace *t, struct folder_list *ret) {
  char path[2 * PATH_MAX];
  path_of(t, "", path);
  ret->n = 0;
  (void)root_list(t->run->request->root, path, NAMES_MAX, keep_name, ret); /* it may not be there yet */
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names come sorted. */
static bool was_there(const struct server_trace *t, const char *name) {
  return t->before.n > 0 && bsearch(&name, t->before.names, t->before.n, sizeof t->before.names[0], by_name) != NULL;
}

/* --- the profile --- */

static bool is_stopped(const struct server_trace *t) {
  return atomic_load(t->run->request->stop) != 0;
}

/* A profiler that was begun has a while to end, though the user stops the run; whoever stops it twice does not wait. */
static bool go_on(void *context) {
  struct server_trace *t = context;
  int64_t now = clock_now(&clock_system);
  int stop = atomic_load(t->run->request->stop);
  if (stop == 0) return true;
  if (t->stopped_ns == 0) t->stopped_ns = now;
  return stop == 1 && now - t->stopped_ns < GRACE_S * INT64_C(1000000000);
}

static bool ask(struct server_trace *t, const char *path, int64_t within_s) {
  struct lynx_error error = {0};
  int http_status = 0;
  enum lynx_status status = service_post(&t->run->service, path, "{}", within_s * 1000000000, go_on, t, &http_status, &error);
  if (status == LYNX_OK && http_status >= 200 && http_status < 300) return true;
  if (status == LYNX_OK) (void)snprintf(t->why, sizeof t->why, "%s answers %d", path, http_status);
  else (void)snprintf(t->why, sizeof t->why, "%s: %.200s", path, error.message);
  return false;
}

/* Every process of the tree at once; each answers when its trace is written. */
static void ask_sockets(struct server_trace *t) {
  struct process_tree tree;
  struct pollfd asked[PROCESS_TREE_MAX];
  char line[32];
  size_t n = 0;
  (void)snprintf(line, sizeof line, "trace %d\n", TRACED_MS);
  process_tree_read(t->run->request->root, t->place.serving, &tree);
  for (size_t i = 0; i < tree.n; i++) {
    int fd = cupti_socket_ask(t->run->request->root, tree.pids[i], line);
    if (fd >= 0) asked[n++] = (struct pollfd){.fd = fd, .events = POLLIN};
  }
  int64_t until_ns = clock_now(&clock_system) + STOP_S * INT64_C(1000000000);
  if (n == 0)
    (void)snprintf(t->why, sizeof t->why, "CUPTI's library listens in no process: CUDA_INJECTION64_PATH, or no CUDA was used yet");
  for (size_t i = 0; i < n; i++) {
    char said[256], clean[256];
    int ready = 0;
    while (ready == 0 && clock_now(&clock_system) < until_ns && go_on(t)) ready = poll(&asked[i], 1, 200); /* for all of them together */
    ssize_t got = ready == 1 ? read(asked[i].fd, said, sizeof said - 1) : -1;
    said[got > 0 ? got : 0] = 0;
    said[strcspn(said, "\n")] = 0;
    if (strncmp(said, "ok ", 3) == 0) t->profiled = true;
    else if (t->why[0] == 0)
      (void)snprintf(t->why, sizeof t->why, "CUPTI's library: %s",
                     got > 3 ? text_sanitise(clean, sizeof clean, said + 3, strlen(said + 3)) : "no answer");
    (void)close(asked[i].fd);
  }
  if (t->profiled) t->why[0] = 0; /* of some processes: those that use no device have nothing to record */
}

static void *profile(void *context) {
  struct server_trace *t = context;
  const struct timespec step = {.tv_nsec = 50000000}, moment = {.tv_sec = TRACED_MS / 1000, .tv_nsec = TRACED_MS % 1000 * 1000000L};
  for (int64_t waited = 0; waited < t->after_ns && !is_stopped(t); waited += step.tv_nsec) (void)nanosleep(&step, NULL);
  if (is_stopped(t)) return NULL;
  if (t->place.by_socket) {
    ask_sockets(t);
    return NULL;
  }
  if (!ask(t, "/start_profile", START_S)) return NULL;
  (void)nanosleep(&moment, NULL);
  t->profiled = ask(t, "/stop_profile", STOP_S); /* also where the user stops the run: a profiler is not left running */
  return NULL;
}

struct server_trace *server_trace_begin(struct run *run, int64_t session, const struct server_trace_place *place, int64_t after_ns) {
  run_note(run, "the server's own profiler is asked for half a second: stopping it can keep the server busy for 10 to 30 s "
                "(method.server_profiler: never leaves it alone)");
  struct server_trace *t = xalloc(1, sizeof *t);
  t->run = run;
  t->session = session;
  t->after_ns = after_ns;
  t->place = *place;
  list_folder(t, &t->before);
  t->started = pthread_create(&t->thread, NULL, profile, t) == 0;
  return t;
}

/* --- what the trace says --- */

static bool read_trace(const struct server_trace *t, const char *name) {
  char path[2 * PATH_MAX], where[600];
  struct trace_account account;
  path_of(t, name, path);
  int fd = root_open(t->run->request->root, path);
  bool good = fd >= 0 && trace_account_put(t->run->bundle, t->session, fd, t->run->request->stop, &account);
  if (fd >= 0) (void)close(fd); /* only read */
  if (!good) return false;
  struct process_tree tree;
  process_tree_read(t->run->request->root, t->place.serving, &tree);
  (void)snprintf(where, sizeof where, "%.200s/%.200s: %.2f s of process %lld%s; `lynxbench attribute` of it shows all", t->place.folder,
                 name, account.window_s, (long long)account.process,
                 process_tree_holds(&tree, account.process) ? "" : ", by its own number: no such process is the server's here");
  run_put_event(t->run, EVENT_TRACE, where);
  return true;
}

static size_t read_new(const struct server_trace *t, const struct folder_list *now) {
  size_t n = 0, tried = 0;
  for (size_t i = 0; i < now->n && tried < SERVER_TRACES_MAX && !is_stopped(t); i++) {
    if (was_there(t, now->names[i])) continue;
    tried++;
    n += read_trace(t, now->names[i]);
  }
  return n;
}

static size_t n_new(const struct server_trace *t, const struct folder_list *now) {
  size_t n = 0;
  for (size_t i = 0; i < now->n; i++) n += !was_there(t, now->names[i]);
  return n;
}

static void read_all(struct server_trace *t) {
  struct folder_list *now = xalloc(1, sizeof *now);
  const struct timespec step = {.tv_nsec = 500000000};
  size_t seen = 0, n = 0;
  /* Until a second has brought no more of them: some processes write theirs after the route has answered. */
  for (int k = 0, still = 0; k < 2 * WRITE_S && still < 3 && !is_stopped(t); k++) {
    (void)nanosleep(&step, NULL);
    list_folder(t, now);
    size_t found = n_new(t, now);
    still = found > 0 && found == seen ? still + 1 : 0;
    seen = found;
  }
  n = read_new(t, now);
  if (seen == 0) (void)snprintf(t->why, sizeof t->why, "no trace appeared in %.200s", t->place.folder);
  else if (n == 0)
    (void)snprintf(t->why, sizeof t->why, "the %zu files that appeared in %.200s cannot be read as traces", seen, t->place.folder);
  arena_release(&now->arena);
  free(now);
}

void server_trace_end(struct server_trace *t) {
  if (t == NULL) return;
  if (t->started) (void)pthread_join(t->thread, NULL);
  if (t->profiled) read_all(t);
  if (t->why[0] != 0) {
    char text[400];
    (void)snprintf(text, sizeof text, "the server's own profiler: %s", t->why);
    run_put_event(t->run, EVENT_UNSEEN, text);
  }
  arena_release(&t->before.arena);
  free(t);
}
