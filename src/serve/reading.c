#include "serve/reading.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/shown.h"
#include "serve/door.h"

static const char cookie_name[] = "lynxbench_reader";

/* The site's own files say nothing of the ledger. */
static bool is_open_to_all(const char *url) {
  return strcmp(url, "style.css") == 0 || strcmp(url, "script.js") == 0;
}

static bool is_of_proxy(const struct reading *r, struct MHD_Connection *connection) {
  char text[INET_ADDRSTRLEN] = "";
  if (r->proxy == NULL) return false;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const struct sockaddr_in *address = info != NULL ? (const struct sockaddr_in *)(const void *)info->client_addr : NULL;
  return address != NULL && address->sin_family == AF_INET && inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) != NULL &&
         strcmp(text, r->proxy) == 0;
}

/* Does it name somebody? Proxies write one of these words, or blanks, where nobody was asked. A name has a letter or a digit, and nothing
 * that only misleads. */
static bool is_a_name(const char *who) {
  static const char *const nobody[] = {"(null)", "null", "nil", "none", "undefined", "anonymous", "unknown", "unauthenticated"};
  bool letters = false;
  for (const unsigned char *p = (const unsigned char *)who; *p != 0;) {
    size_t n = utf8_length(p, strlen((const char *)p));
    if (n == 0 || text_misleads(p, n)) return false;
    letters = letters || (n == 1 && isalnum(*p) != 0) || (n == 2 && *p >= 0xc3) ||
              (n == 3 && *p != 0xe2 && memcmp(p, "\xe3\x80\x80", 3) != 0) || n == 4;
    p += n;
  }
  for (size_t i = 0; i < LYNX_COUNT(nobody) && letters; i++) letters = strcasecmp(who, nobody[i]) != 0;
  return letters;
}

/* A proxy that the operator named has asked who it is. */
static bool is_named_by_proxy(const struct reading *r, struct MHD_Connection *connection) {
  const char *who = is_of_proxy(r, connection) ? MHD_lookup_connection_value(connection, MHD_HEADER_KIND, r->identity_header) : NULL;
  return who != NULL && is_a_name(who);
}

bool reading_header_is_good(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  static const char *const others[] = {"Host",   "Connection", "Accept", "Cookie",         "Authorization",     "User-Agent",
                                       "Origin", "Referer",    "Range",  "Content-Length", "Transfer-Encoding", "Accept-Encoding"};
  bool good = name[0] != 0 && strlen(name) < 100 && strspn(name, letters) == strlen(name);
  for (size_t i = 0; i < LYNX_COUNT(others) && good; i++) good = strcasecmp(name, others[i]) != 0;
  return good;
}

/* To the visitor: by TLS here, or at the proxy. */
static bool is_secret(const struct reading *r, struct MHD_Connection *connection) {
  const char *by = is_of_proxy(r, connection) ? MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Forwarded-Proto") : NULL;
  return r->secret || (by != NULL && strcmp(by, "https") == 0);
}

static bool is_admitted(const struct reading *r, const char *token, int64_t *ret_left_s) {
  int64_t until, now = (int64_t)time(NULL);
  if (token == NULL || !readers_admit(r->readers, token, now, &until)) return false;
  *ret_left_s = until - now;
  return true;
}

bool reading_allows(const struct reading *r, struct MHD_Connection *connection) {
  int64_t left;
  if (r->readers == NULL) return true;
  const char *authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
  const char *bearer = authorization != NULL && strncasecmp(authorization, "Bearer ", 7) == 0 ? authorization + 7 : NULL;
  return is_admitted(r, bearer, &left) || is_admitted(r, MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, cookie_name), &left) ||
         is_named_by_proxy(r, connection);
}

/* A token in an address becomes a cookie, and the address is asked for without it. The address is the visitor's: only what is plainly one of
 * ours is repeated. */
static enum MHD_Result give_cookie(const struct reading *r, struct MHD_Connection *connection, const char *url, const char *token,
                                   int64_t left_s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const char *last = strrchr(url, '/') != NULL ? strrchr(url, '/') + 1 : url;
  char cookie[300], place[220];
  bool plain = strspn(last, letters) == strlen(last) && strlen(last) < 200;
  (void)snprintf(place, sizeof place, "./%s", plain ? last : "");
  (void)snprintf(cookie, sizeof cookie, "%s=%.80s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s", cookie_name, token, (long long)left_s,
                 is_secret(r, connection) ? "; Secure" : "");
  struct MHD_Response *response = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (response == NULL) return MHD_NO;
  (void)MHD_add_response_header(response, "Set-Cookie", cookie);
  (void)MHD_add_response_header(response, "Location", place);
  (void)MHD_add_response_header(response, "Cache-Control", "no-store");
  (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
  return door_answer(connection, MHD_HTTP_SEE_OTHER, "text/plain", response);
}

static enum MHD_Result ask_for_token(struct MHD_Connection *connection) {
  static const char page[] =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
      "<title>A token is needed</title><link rel=\"stylesheet\" href=\"/style.css\"><main><h1>A token is needed</h1>"
      "<p>Whoever runs this server chose who may read it. Open the link that you were given, which ends in <code>?token=</code> and "
      "your token, or ask them for one: <code>lynxbench ledger reader NAME</code> makes it.</p></main></html>\n";
  static const char words[] =
      "{\"error\": \"it is read with a token only: Authorization: Bearer, as `lynxbench ledger reader` gives it\"}\n";
  const char *takes = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
  bool browser = takes != NULL && strstr(takes, "text/html") != NULL;
  const char *text = browser ? page : words;
  struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
  if (response == NULL) return MHD_NO;
  (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
  (void)MHD_add_response_header(response, "Cache-Control", "no-store");
  (void)MHD_add_response_header(response, "Content-Security-Policy", "default-src 'none'; style-src 'self'; frame-ancestors 'none'");
  return door_answer(connection, MHD_HTTP_UNAUTHORIZED, browser ? "text/html; charset=utf-8" : "application/json", response);
}

bool reading_stops(const struct reading *r, struct MHD_Connection *connection, const char *url, enum MHD_Result *ret) {
  int64_t left;
  if (r->readers == NULL || is_open_to_all(url)) return false;
  const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
  if (is_admitted(r, token, &left)) {
    *ret = give_cookie(r, connection, url, token, left);
    return true;
  }
  if (reading_allows(r, connection)) return false;
  *ret = ask_for_token(connection);
  return true;
}

bool reading_link(const struct reading *r, const char *url, char *ret_address, size_t size) {
  static const char before[] = "shared/", after[] = ".html";
  struct reader link;
  char token[READER_TOKEN_MAX];
  size_t length = strlen(url), around = strlen(before) + strlen(after);
  if (r->readers == NULL || length <= around || length - around >= sizeof token || strncmp(url, before, strlen(before)) != 0 ||
      strcmp(url + length - strlen(after), after) != 0)
    return false;
  (void)snprintf(token, sizeof token, "%.*s", (int)(length - around), url + strlen(before));
  if (!readers_link(r->readers, token, (int64_t)time(NULL), &link)) return false;
  (void)snprintf(ret_address, size, "shared/%s-%s.html", link.root, link.level);
  return true;
}
