#include "base/endpoint.h"

#include <string.h>

#include "base/number.h"

static enum lynx_status refuse(struct lynx_error *error, const char *url, const char *why) {
  return lynx_fail(error, LYNX_INPUT, "'%.200s' is not an endpoint (%s); write http://HOST:PORT or https://HOST:PORT", url, why);
}

enum lynx_status endpoint_parse(const char *url, struct endpoint *ret, struct lynx_error *error) {
  struct endpoint e = {.port = 80};
  const char *rest = url + 7;
  if (strncmp(url, "https://", 8) == 0) rest = url + 8, e.tls = true, e.port = 443;
  else if (strncmp(url, "http://", 7) != 0) return refuse(error, url, "it begins with neither http:// nor https://");
  if (strpbrk(url, " \t\r\n\"<>") != NULL) return refuse(error, url, "it holds a blank or a quote");
  const char *slash = strchr(rest, '/');
  size_t n = slash != NULL ? (size_t)(slash - rest) : strlen(rest), n_base = slash != NULL ? strlen(slash) : 0;
  if (memchr(rest, '@', n) != NULL) return refuse(error, url, "it holds a user name; keys go into workload.api_key_env");
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
