#include "base/endpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

static enum lynx_status refuse(struct lynx_error *error, const char *url, const char *why) {
  return lynx_fail(error, LYNX_INPUT,
                   "'%.200s' is not an endpoint (%s); write http://HOST:PORT, https://HOST:PORT or http://unix:/PATH/TO/SOCKET", url, why);
}

/* "/path/to/socket" or "/path/to/socket:/base" */
static enum lynx_status parse_socket(const char *url, const char *path, struct endpoint *e, struct lynx_error *error) {
  const char *base = strstr(path, ":/");
  size_t n = base != NULL ? (size_t)(base - path) : strlen(path), n_base = base != NULL ? strlen(base + 1) : 0;
  if (path[0] != '/' || n < 2) return refuse(error, url, "the socket's path does not begin with /");
  if (n >= sizeof e->socket_path) return refuse(error, url, "a socket's path has at most 99 bytes");
  while (n_base > 0 && base[n_base] == '/') n_base--;
  if (n_base >= sizeof e->base) return refuse(error, url, "its path is too long");
  memcpy(e->socket_path, path, n);
  memcpy(e->host, "localhost", sizeof "localhost");
  if (n_base > 0) memcpy(e->base, base + 1, n_base);
  return LYNX_OK;
}

enum lynx_status endpoint_parse(const char *url, struct endpoint *ret, struct lynx_error *error) {
  struct endpoint e = {.port = 80};
  const char *rest = url + 7;
  if (strncmp(url, "https://", 8) == 0) rest = url + 8, e.tls = true, e.port = 443;
  else if (strncmp(url, "http://", 7) != 0) return refuse(error, url, "it begins with neither http:// nor https://");
  if (strpbrk(url, " \t\r\n\"<>") != NULL) return refuse(error, url, "it holds a blank or a quote");
  if (!e.tls && strncmp(rest, "unix:", 5) == 0) {
    enum lynx_status status = parse_socket(url, rest + 5, &e, error);
    if (status == LYNX_OK) *ret = e;
    return status;
  }
  const char *slash = strchr(rest, '/');
  size_t n = slash != NULL ? (size_t)(slash - rest) : strlen(rest), n_base = slash != NULL ? strlen(slash) : 0;
  if (memchr(rest, '@', n) != NULL)
    return refuse(error, "(hidden: it may hold a password)", "it holds a user name; keys go into workload.api_key_env");
  const char *bracket = rest[0] == '[' ? memchr(rest, ']', n) : NULL, *after = bracket != NULL ? bracket + 1 : rest;
  const char *colon = memchr(after, ':', n - (size_t)(after - rest));
  const char *host = bracket != NULL ? rest + 1 : rest;
  size_t n_host = bracket != NULL ? (size_t)(bracket - rest) - 1 : colon != NULL ? (size_t)(colon - rest) : n;
  if (n_host == 0 || n_host >= sizeof e.host) return refuse(error, url, "it has no host");
  memcpy(e.host, host, n_host);
  int64_t port = e.port;
  if (colon != NULL && (!number_int64(colon + 1, n - (size_t)(colon - rest) - 1, &port) || port < 1 || port > 65535))
    return refuse(error, url, "the port is not a number from 1 to 65535");
  e.port = (int)port;
  while (n_base > 0 && slash[n_base - 1] == '/') n_base--;
  if (n_base >= sizeof e.base) return refuse(error, url, "its path is too long");
  if (n_base > 0) memcpy(e.base, slash, n_base);
  *ret = e;
  return LYNX_OK;
}

void endpoint_route(const char *url, const char *path, char *ret, size_t size) {
  size_t n = strlen(url);
  while (n > 0 && url[n - 1] == '/') n--;
  bool socket = strncmp(url, "http://unix:", 12) == 0 && strstr(url + 12, ":/") == NULL;
  (void)snprintf(ret, size, "%.*s%s%s", (int)n, url, socket ? ":" : "", path);
}
