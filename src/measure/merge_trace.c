#include "measure/merge_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"

struct joining {
  struct bundle *run, *out;
  struct bundle_seal_info seal;
  int64_t session;
};

static enum lynx_status take_session(void *context, const struct bundle_session *s) {
  struct joining *j = context;
  bool counted = purpose_measures(s->purpose) || s->purpose == PURPOSE_CERTIFY || s->purpose == PURPOSE_ATTRIBUTE;
  if (s->end == SESSION_COMPLETE && counted) j->session = s->id;
  return LYNX_OK;
}

static enum lynx_status check_run(struct joining *j, struct lynx_error *error) {
  if (j->seal.n_withheld > 0)
    return lynx_fail(error, LYNX_INPUT, "found a copy from which sections were withheld (%s); accepted: the original", j->seal.withheld);
  if (bundle_meta(j->run, "part") != NULL)
    return lynx_fail(error, LYNX_INPUT, "found a part of a run; accepted: the whole (`lynxbench merge PART ...` first)");
  enum lynx_status status = bundle_each_session(j->run, take_session, j, error);
  if (status == LYNX_OK && j->session < 0) return lynx_fail(error, LYNX_INPUT, "found no complete session; accepted: a run that has one");
  return status;
}

static void put_meta(struct joining *j, const char *file) {
  struct buffer text;
  struct json_writer json;
  buffer_init(&text, 65536);
  json_begin_object(&json, &text);
  json_put_text(&json, "run", j->seal.root);
  json_put_text(&json, "file", file);
  json_close(&json);
  lynx_assert(json_finish(&json));
  bundle_put_meta(j->out, "merged_trace", text.data);
  buffer_release(&text);
}

static enum lynx_status write_whole(struct joining *j, int fd, const char *file, struct merge_trace_outcome *ret,
                                    struct lynx_error *error) {
  char where[600];
  enum lynx_status status = bundle_copy(j->run, j->out, "", error);
  if (status != LYNX_OK) return status;
  if (!trace_account_put(j->out, j->session, fd, NULL, &ret->account)) {
    (void)snprintf(error->file, sizeof error->file, "%s", file); /* and not the run's */
    return lynx_fail(error, LYNX_INPUT,
                     "found no trace of spans that names a process (`lynxbench attribute` says what it is); accepted: what "
                     "PyTorch's profiler, Nsight Systems (as SQLite) or ONNX Runtime wrote; "
                     "or another part of the run, as a bundle");
  }
  put_meta(j, file);
  (void)snprintf(where, sizeof where, "%.400s: %.2f s of process %lld, merged by hand; `lynxbench attribute` of it shows all", file,
                 ret->account.window_s, (long long)ret->account.process);
  bundle_put_event(j->out, clock_system.realtime_ns(clock_system.context), EVENT_TRACE, where);
  ret->end = j->seal.end;
  (void)snprintf(ret->why, sizeof ret->why, "%s", j->seal.why);
  return bundle_seal(j->out, ret->end, ret->why, ret->root, error);
}

enum lynx_status merge_trace(const char *run_path, const char *trace_path, const char *out, struct merge_trace_outcome *ret,
                             struct lynx_error *error) {
  struct joining j = {.session = -1};
  *ret = (struct merge_trace_outcome){.end = BUNDLE_UNSEALED};
  int fd = open(trace_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    lynx_error_at(error, trace_path, 0, NULL);
    return lynx_fail(error, LYNX_INPUT, "cannot be read: %s", strerror(errno));
  }
  enum lynx_status status = bundle_open(run_path, &j.run, &j.seal, error);
  if (status == LYNX_OK) status = check_run(&j, error);
  if (status != LYNX_OK) lynx_error_at(error, run_path, 0, NULL);
  if (status == LYNX_OK) {
    status = bundle_create(out, &j.out, error);
    if (status == LYNX_OK) status = write_whole(&j, fd, trace_path, ret, error);
    if (status == LYNX_OK) bundle_close(j.out);
    else if (j.out != NULL || status == LYNX_IO) bundle_remove(j.out, out); /* both can be merged again */
  }
  bundle_close(j.run);
  (void)close(fd); /* only read */
  return status;
}
