#include "measure/server_trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "telemetry/process_tree.h"

enum {
  WORDS_MAX = 1 << 20,
  NAMES_MAX = 4096, /* files in the folder */
  TRACED_MS = 500,
  START_S = 20,
  STOP_S = 180,
  WRITE_S = 10,
  READ_S = 120,
  ACCOUNT_MAX = 16 << 20,
  TRACE_BYTES_MAX = 1 << 30,
  TEXT_MAX = 400
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
  bool started; /* the thread */
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
  static const char *const variables[] = {"VLLM_TORCH_PROFILER_DIR=", "SGLANG_TORCH_PROFILER_DIR="};
  struct buffer text;
  if (read_words(root, pid, "environ", &text))
    for (const char *word = text.data, *end = text.data + text.length; word < end; word += strnlen(word, (size_t)(end - word)) + 1)
      for (size_t i = 0; i < LYNX_COUNT(variables); i++) {
        const char *value = after(word, variables[i]);
        if (value != NULL) keep_folder(ret, value, strlen(value));
      }
  buffer_release(&text);
}

bool server_trace_find(const struct root *root, int64_t pid, struct server_trace_place *ret) {
  struct process_tree tree;
  *ret = (struct server_trace_place){.pid = 0};
  if (pid <= 0) return false;
  process_tree_read(root, pid, &tree);
  for (size_t i = 0; i < tree.n && ret->folder[0] == 0; i++) {
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

static bool was_there(const struct server_trace *t, const char *name) {
  for (size_t i = 0; i < t->before.n; i++)
    if (strcmp(t->before.names[i], name) == 0) return true;
  return false;
}

/* --- the profile --- */

static bool ask(struct server_trace *t, const char *path, int64_t within_s) {
  struct lynx_error error = {0};
  int http_status = 0;
  enum lynx_status status = service_post(&t->run->service, path, "{}", within_s * 1000000000, &http_status, &error);
  if (status == LYNX_OK && http_status >= 200 && http_status < 300) return true;
  if (status == LYNX_OK) (void)snprintf(t->why, sizeof t->why, "%s answers %d", path, http_status);
  else (void)snprintf(t->why, sizeof t->why, "%s: %.200s", path, error.message);
  return false;
}

static void *profile(void *context) {
  struct server_trace *t = context;
  const struct timespec step = {.tv_nsec = 50000000}, moment = {.tv_sec = TRACED_MS / 1000, .tv_nsec = TRACED_MS % 1000 * 1000000L};
  for (int64_t waited = 0; waited < t->after_ns && atomic_load(t->run->request->stop) == 0; waited += step.tv_nsec)
    (void)nanosleep(&step, NULL);
  if (atomic_load(t->run->request->stop) != 0 || !ask(t, "/start_profile", START_S)) return NULL;
  (void)nanosleep(&moment, NULL);
  t->profiled = ask(t, "/stop_profile", STOP_S); /* also where the user stops the run: a profiler is not left running */
  return NULL;
}

struct server_trace *server_trace_begin(struct run *run, int64_t session, const struct server_trace_place *place, int64_t after_ns) {
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

static void put_row(const struct server_trace *t, int64_t process, const char *frames, int64_t ns) {
  const struct bundle_stack stack = {t->session, "trace", process, 0, frames, ns};
  if (ns > 0) bundle_put_stack(t->run->bundle, &stack);
}

/* A text of the trace's, as one frame. */
static const char *frame_text(const json_t *object, const char *key, char text[TEXT_MAX]) {
  const char *value = json_string_value(json_object_get(object, key));
  (void)text_sanitise(text, TEXT_MAX, value != NULL ? value : "", value != NULL ? strlen(value) : 0);
  for (char *c = text; *c != 0; c++)
    if (*c == ';') *c = ':';
  return text;
}

static void put_list(const struct server_trace *t, int64_t process, const json_t *list, const char *kind, const char *last) {
  char state[TEXT_MAX], layer[TEXT_MAX], name[TEXT_MAX], frames[3 * TEXT_MAX + 16];
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *one = json_array_get(list, i);
    (void)snprintf(frames, sizeof frames, "%s;%s;%s;%s", kind, frame_text(one, "state", state), frame_text(one, "layer", layer),
                   frame_text(one, last, name));
    put_row(t, process, frames, json_get_int(one, "ns", 0));
  }
}

/* False: it is no account. */
static bool put_account(const struct server_trace *t, const char *name, const struct buffer *text) {
  json_t *root = json_parse(text->data, text->length, ACCOUNT_MAX, NULL);
  const json_t *trace = json_array_get(json_object_get(root, "traces"), 0);
  int64_t process = json_get_int(trace, "host_process", -1), window_ns = json_get_int(trace, "wall_ns", 0);
  bool good = window_ns > 0 && process > 0;
  if (good) {
    char where[600];
    put_row(t, process, "window", window_ns);
    put_list(t, process, json_object_get(trace, "states"), "state", "words");
    put_list(t, process, json_object_get(trace, "host"), "name", "name");
    (void)snprintf(where, sizeof where, "%.200s/%.200s: %.2f s of process %lld; `lynxbench attribute` of it shows all", t->place.folder,
                   name, (double)window_ns / 1e9, (long long)process);
    run_put_event(t->run, EVENT_TRACE, where);
  }
  json_decref(root);
  return good;
}

static bool read_out(const char *path, struct buffer *ret) {
  const struct root here = {""};
  return root_read(&here, path, ret, NULL) == LYNX_OK && ret->length > 0;
}

/* By `attribute`, which parses in a cage. */
static bool read_trace(const struct server_trace *t, const char *name) {
  char path[2 * PATH_MAX], input[40], out[] = "/tmp/lynxbench-XXXXXX";
  const char *const arguments[] = {"/proc/self/exe", "attribute", "-", "--json", "--quiet", "--top", "40", NULL};
  const char *const environment[] = {"LC_ALL=C.UTF-8", NULL};
  const struct timespec step = {.tv_nsec = 50000000};
  struct child child = {.pid = 0};
  struct buffer text;
  struct stat info;
  path_of(t, name, path);
  int fd = root_open(t->run->request->root, path), out_fd = mkstemp(out);
  bool good = fd >= 0 && out_fd >= 0 && fstat(fd, &info) == 0 && info.st_size <= TRACE_BYTES_MAX;
  (void)snprintf(input, sizeof input, "/proc/self/fd/%d", fd);
  good = good && child_start(&child, arguments, environment, input, out, NULL) == LYNX_OK;
  for (int k = 0; good && k < READ_S * 20 && child_running(&child); k++) (void)nanosleep(&step, NULL);
  good = good && child.exited && child.exit_code == 0;
  if (child.pid > 0) child_stop(&child, 1000000000);
  buffer_init(&text, ACCOUNT_MAX);
  good = good && read_out(out, &text) && put_account(t, name, &text);
  buffer_release(&text);
  if (fd >= 0) (void)close(fd); /* only read */
  if (out_fd >= 0) (void)close(out_fd);
  if (out_fd >= 0) (void)unlink(out);
  return good;
}

static size_t read_new(const struct server_trace *t, const struct folder_list *now) {
  size_t n = 0, tried = 0;
  for (size_t i = 0; i < now->n && tried < SERVER_TRACES_MAX; i++) {
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
  for (int k = 0, still = 0; k < 2 * WRITE_S && still < 3; k++) {
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
