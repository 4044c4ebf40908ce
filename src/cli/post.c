#include "cli/post.h"

#include <stdlib.h>

#include "base/control.h"

enum { ANSWER_MAX = 65536 };

enum lynx_status post_json(const char *url, const char *body, struct lynx_error *error) {
  struct buffer answer;
  int http_status = 0;
  const struct control_request request = {.url = url, .json_body = body, .ca_file = getenv("LYNXBENCH_CA_FILE"), .timeout_ns = 10000000000};
  buffer_init(&answer, ANSWER_MAX);
  enum lynx_status status = control_fetch(&request, &answer, &http_status, error);
  buffer_release(&answer);
  if (status == LYNX_OK && http_status >= 300) status = lynx_fail(error, LYNX_IO, "it answered with HTTP status %d", http_status);
  return status;
}
