#include "base/control.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/endpoint.h"
#include "base/secret.h"

enum { KEY_LEAST = 8 }; /* bytes */

static size_t keep_body(char *data, size_t size, size_t n, void *context) {
  return buffer_append(context, data, size * n) ? size * n : 0;
}

static int ask_go_on(void *context, curl_off_t to_load, curl_off_t loaded, curl_off_t to_send, curl_off_t sent) {
  const struct control_request *request = context;
  (void)to_load, (void)loaded, (void)to_send, (void)sent;
  return request->go_on(request->context) ? 0 : 1;
}

static void watch(CURL *curl, const struct control_request *request) {
  if (request->go_on == NULL) return;
  (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_go_on);
  (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
}

/* How long it may take, and how slow it may be. */
static void limit(CURL *curl, const struct control_request *request) {
  (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(request->timeout_ns / 1000000 + 1));
  if (request->slow_s == 0) return;
  (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)request->slow_s);
}

/* A server may repeat what it was sent, and what it says is quoted and kept. A short key that answers well stands there by chance, too. */
static void star_key(const struct control_request *request, struct buffer *body, long http_status) {
  if (body->data == NULL) (void)buffer_append(body, "", 0);
  if (body->data == NULL || request->bearer == NULL) return;
  if (http_status / 100 != 2) (void)secret_mask_bytes(body->data, body->length, request->bearer);
  else if (strlen(request->bearer) >= KEY_LEAST) (void)secret_redact_bytes(body->data, body->length, request->bearer);
}

enum lynx_status control_fetch(const struct control_request *request, struct buffer *ret_body, int *ret_http_status,
                               struct lynx_error *error) {
  CURL *curl = curl_easy_init();
  if (curl == NULL) return lynx_fail(error, LYNX_LIMIT, "no memory for an HTTP request");
  char why[CURL_ERROR_SIZE] = "", authorization[4096];
  struct curl_slist *headers = curl_slist_append(NULL, "Accept-Encoding: identity");
  if (request->json_body != NULL) headers = curl_slist_append(headers, "Content-Type: application/json");
  if (request->bearer != NULL) {
    (void)snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", request->bearer);
    headers = curl_slist_append(headers, authorization);
  }
  struct endpoint endpoint = {0};
  char local[600];
  if (strncmp(request->url, "http://unix:", 12) == 0 && endpoint_parse(request->url, &endpoint, NULL) == LYNX_OK) {
    (void)snprintf(local, sizeof local, "http://localhost%s", endpoint.base);
    (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, endpoint.socket_path);
  }
  (void)curl_easy_setopt(curl, CURLOPT_URL, endpoint.socket_path[0] != 0 ? local : request->url);
  (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
  (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, request->user_agent);
  (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  limit(curl, request);
  (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
  (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret_body);
  if (request->json_body != NULL) (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->json_body);
  watch(curl, request);

  FILE *file = request->put_file != NULL ? fopen(request->put_file, "re") : NULL;
  struct stat info = {.st_size = 0};
  if (request->put_file != NULL && (file == NULL || fstat(fileno(file), &info) != 0)) {
    (void)lynx_fail(error, LYNX_IO, "%s: %s", request->put_file, strerror(errno));
    if (file != NULL) (void)fclose(file); /* nothing was read */
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return LYNX_IO;
  }
  if (file != NULL) {
    (void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, file);
    (void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)info.st_size);
  }
  if (request->ca_file != NULL) (void)curl_easy_setopt(curl, CURLOPT_CAINFO, request->ca_file);
  CURLcode code = curl_easy_perform(curl);
  long http_status = 0;
  (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http_status);
  if (file != NULL) (void)fclose(file); /* it was read */
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  explicit_bzero(authorization, sizeof authorization);
  if (ret_body->overflowed) return lynx_fail(error, LYNX_LIMIT, "%s answered with more than %zu bytes", request->url, ret_body->limit);
  if (code != CURLE_OK) return lynx_fail(error, LYNX_IO, "%s: %s", request->url, why[0] != 0 ? why : curl_easy_strerror(code));
  star_key(request, ret_body, http_status);
  *ret_http_status = (int)http_status;
  return LYNX_OK;
}
