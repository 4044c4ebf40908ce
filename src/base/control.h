/* base/control.h: HTTP that is not measured (liveness, metrics, model lists, accuracy), by libcurl.
 * Errors   IO (refused, timed out, TLS: libcurl's words), LIMIT (a larger body than accepted); an HTTP status is no error
 * Key      the bearer is starred in what comes back, in each of its writings (base/secret.h)
 * Memory   the body is a buffer that the caller initialised with its limit */
#ifndef BASE_CONTROL_H
#define BASE_CONTROL_H

#include "base/buffer.h"

struct control_request {
  const char *url;        /* of a Unix socket: "http://unix:/path/to/socket:/path" */
  const char *json_body;  /* POST; NULL: GET */
  const char *put_file;   /* PUT this file's bytes; NULL: none */
  const char *bearer;     /* NULL: none; never recorded */
  const char *ca_file;    /* NULL: the system's */
  const char *user_agent; /* NULL: none is sent */
  int64_t timeout_ns;
  int slow_s;                   /* given up where fewer than 1 KiB/s come or go for so long; 0: never */
  bool (*go_on)(void *context); /* asked about once a second; false: it is given up. NULL */
  void *context;
};

enum lynx_status control_fetch(const struct control_request *request, struct buffer *ret_body, int *ret_http_status,
                               struct lynx_error *error) LYNX_MUST_CHECK;

#endif
