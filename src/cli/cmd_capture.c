#include <string.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/number.h"
#include "cli/command.h"
#include "executor/capture.h"
#include "report/text.h"

static const struct option_spec options[] = {{"endpoint", "URL", "find the process that listens there, and capture it"},
                                             {"pid", "N", "capture this serving process"},
                                             {"root", "DIR", "read a recorded /proc and /sys below DIR instead of this machine"},
                                             {"out", "FILE", "write JSON to FILE"},
                                             {"json", NULL, "JSON on standard output"}};

static int run(const struct arguments *arguments) {
  struct root root = {""};
  struct capture_request request = {.root = &root, .clock = &clock_system};
  request.endpoint = argument_option(&command_capture, arguments, "endpoint");
  const char *pid = argument_option(&command_capture, arguments, "pid"), *other = argument_option(&command_capture, arguments, "root"),
             *path = argument_option(&command_capture, arguments, "out");
  bool as_json = argument_option(&command_capture, arguments, "json") != NULL || path != NULL;
  if (other != NULL) root.path = other;
  if (pid != NULL && (!number_int64(pid, strlen(pid), &request.pid) || request.pid < 1)) {
    (void)fprintf(stderr, "lynxbench capture: --pid: found '%s'; accepted: a process id, 1 or more\n", pid);
    return EXIT_WRONG_INPUT;
  }
  struct endpoint endpoint;
  struct lynx_error error = {0};
  if (request.endpoint != NULL && endpoint_parse(request.endpoint, &endpoint, &error) != LYNX_OK) {
    lynx_error_at(&error, NULL, 0, "--endpoint");
    return report_error(&error);
  }
  char proc[64], line[64];
  (void)snprintf(proc, sizeof proc, "/proc/%lld/stat", (long long)request.pid);
  if (pid != NULL && !root_read_line(&root, proc, line, sizeof line)) {
    (void)fprintf(stderr, "lynxbench capture: --pid: found %s; accepted: a process that runs on this machine\n", pid);
    return EXIT_WRONG_INPUT;
  }
  struct fact_list facts = {0};
  struct buffer out;
  char taken[40];
  buffer_init(&out, 64 << 20);
  capture_run(&request, &facts);
  bool good = as_json ? capture_write(&facts, clock_text(taken, clock_system.realtime_ns(NULL)), &out)
                      : text_capture(&facts, color_wanted(stdout), &out);
  good = write_buffer(path, &out) && good;
  buffer_release(&out);
  fact_list_release(&facts);
  return good ? EXIT_HOLDS : EXIT_CONDITIONS;
}

const struct command command_capture = {
    .name = "capture",
    .summary = "read every layer of the executor, as far as it can be seen from here",
    .usage = "",
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details = "What could not be read is listed with its reason; what cannot be seen from this machine is a hole with a\n"
               "name. The fingerprint is a digest of what the executor is; its state at this moment is not part of it.",
    .example = "build/lynxbench capture --json | head -c 300",
    .run = run};
