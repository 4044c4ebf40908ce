#include "measure/trace_account.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/json.h"
#include "base/root.h"

enum { READ_S = 60, ACCOUNT_MAX = 16 << 20, TEXT_MAX = 400 };
#define TRACE_BYTES_MAX (INT64_C(1) << 30)

static void put_row(struct bundle *bundle, int64_t session, int64_t process, const char *frames, int64_t ns) {
  const struct bundle_stack stack = {session, "trace", process, 0, frames, ns};
  if (ns > 0) bundle_put_stack(bundle, &stack);
}

/* A text of the trace's, as one frame. */
static const char *frame_text(const json_t *object, const char *key, char text[TEXT_MAX]) {
  const char *value = json_string_value(json_object_get(object, key));
  (void)text_sanitise(text, TEXT_MAX, value != NULL ? value : "", value != NULL ? strlen(value) : 0);
  for (char *c = text; *c != 0; c++)
    if (*c == ';') *c = ':';
  return text;
}

static void put_list(struct bundle *bundle, int64_t session, int64_t process, const json_t *list, const char *kind, const char *last) {
  char state[TEXT_MAX], layer[TEXT_MAX], name[TEXT_MAX], frames[3 * TEXT_MAX + 16];
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *one = json_array_get(list, i);
    (void)snprintf(frames, sizeof frames, "%s;%s;%s;%s", kind, frame_text(one, "state", state), frame_text(one, "layer", layer),
                   frame_text(one, last, name));
    put_row(bundle, session, process, frames, json_get_int(one, "ns", 0));
  }
}

static bool put_account(struct bundle *bundle, int64_t session, const struct buffer *text, struct trace_account *ret) {
  json_t *root = json_parse(text->data, text->length, ACCOUNT_MAX, NULL);
  const json_t *trace = json_array_get(json_object_get(root, "traces"), 0);
  int64_t process = json_get_int(trace, "host_process", -1), window_ns = json_get_int(trace, "wall_ns", 0);
  bool good = window_ns > 0 && process > 0 && process < INT32_MAX;
  if (good) {
    *ret = (struct trace_account){process, (double)window_ns / 1e9};
    put_row(bundle, session, process, "window", window_ns);
    put_list(bundle, session, process, json_object_get(trace, "states"), "state", "words");
    put_list(bundle, session, process, json_object_get(trace, "host"), "name", "name");
  }
  json_decref(root);
  return good;
}

/* What it printed, in a file of our own. */
static bool account_of(int fd, const atomic_int *stop, struct buffer *ret) {
  char input[40], out[] = "/tmp/lynxbench-XXXXXX";
  const char *const arguments[] = {"/proc/self/exe", "attribute", "-", "--json", "--quiet", "--top", "40", NULL};
  const char *const environment[] = {"LC_ALL=C.UTF-8", NULL};
  const struct root here = {""};
  struct child child = {.pid = 0};
  int out_fd = mkstemp(out);
  if (out_fd < 0) return false;
  (void)snprintf(input, sizeof input, "/proc/self/fd/%d", fd);
  const struct child_request request = {.arguments = arguments, .environment = environment, .input_path = input, .output_path = out};
  bool good = child_start(&child, &request, NULL) == LYNX_OK;
  good = good && child_wait(&child, READ_S * INT64_C(1000000000), stop) && child.exit_code == 0;
  if (child.pid > 0) child_stop(&child, 1000000000);
  good = good && root_read(&here, out, ret, NULL) == LYNX_OK && ret->length > 0;
  (void)close(out_fd);
  (void)unlink(out);
  return good;
}

bool trace_account_put(struct bundle *bundle, int64_t session, int fd, const atomic_int *stop, struct trace_account *ret) {
  struct buffer text;
  struct stat info;
  buffer_init(&text, ACCOUNT_MAX);
  bool good = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= TRACE_BYTES_MAX && account_of(fd, stop, &text) &&
              put_account(bundle, session, &text, ret);
  buffer_release(&text);
  return good;
}
