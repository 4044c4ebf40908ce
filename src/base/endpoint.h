/* base/endpoint.h: "http://host:port/base" or "http://unix:/path/to/socket:/base", taken apart.
 * Errors   INPUT: another scheme, no host, a port out of 1..65535, blanks, user names, or parts longer than there is room */
#ifndef BASE_ENDPOINT_H
#define BASE_ENDPOINT_H

#include "base/status.h"

struct endpoint {
  bool tls;
  char host[256]; /* an IPv6 literal without its brackets */
  int port;
  char socket_path[100]; /* of a Unix socket, and then host is "localhost"; else "" */
  char base[256];        /* the path before the routes, without a final slash; "" usually */
};

enum lynx_status endpoint_parse(const char *url, struct endpoint *ret, struct lynx_error *error) LYNX_MUST_CHECK;

/* The address of a route below an endpoint, as base/control.h takes it. */
void endpoint_route(const char *url, const char *path, char *ret, size_t size);

#endif
