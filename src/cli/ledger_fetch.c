#include "cli/ledger_fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/control.h"
#include "base/json.h"
#include "base/root.h"
#include "cli/output.h"

enum { TOKEN_MAX = 200 };
#define TIMEOUT_NS (600 * INT64_C(1000000000))
enum { SLOW_S = 30, TELL_S = 5 };

/* A silent server is not waited for without a word; Ctrl-C ends it. */
struct waiting {
  const char *url;
  int64_t begun_ns, told_s;
};

static bool tell_waiting(void *context) {
  struct waiting *w = context;
  int64_t s = (clock_now(&clock_system) - w->begun_ns) / 1000000000;
  if (s < w->told_s + TELL_S) return true;
  w->told_s = s;
  complain("%s: asked %lld s ago; Ctrl-C stops\n", w->url, (long long)s);
  return true;
}

bool ledger_is_url(const char *address) {
  return strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
}

/* Of a ledger that asks who reads it (`lynxbench ledger reader`). */
static const char *reader_token(void) {
  const char *token = getenv("LYNXBENCH_READER");
  return token != NULL && token[0] != 0 ? token : NULL;
}

/* Static files, over HTTP or in a folder. */
enum lynx_status ledger_fetch(void *context, const char *path, struct buffer *ret, struct lynx_error *error) {
  const char *from = context;
  char where[4200];
  int http_status = 0;
  (void)snprintf(where, sizeof where, "%s%s%s", from, from[strlen(from) - 1] == '/' ? "" : "/", path);
  if (!ledger_is_url(from)) {
    const struct root root = {""};
    return root_read(&root, where, ret, error);
  }
  if (reader_token() != NULL && strlen(reader_token()) >= TOKEN_MAX) {
    lynx_error_at(error, "LYNXBENCH_READER", 0, NULL);
    return lynx_fail(error, LYNX_INPUT, "found %zu bytes; accepted: a token as `lynxbench ledger reader` gives it", strlen(reader_token()));
  }
  struct waiting waiting = {.url = where, .begun_ns = clock_now(&clock_system)};
  const struct control_request request = {.url = where,
                                          .bearer = reader_token(),
                                          .ca_file = getenv("LYNXBENCH_CA_FILE"),
                                          .timeout_ns = TIMEOUT_NS,
                                          .slow_s = SLOW_S,
                                          .go_on = tell_waiting,
                                          .context = &waiting};
  enum lynx_status status = control_fetch(&request, ret, &http_status, error);
  if (status != LYNX_OK || http_status == 200) return status;
  lynx_error_at(error, where, 0, NULL);
  if (http_status == 401)
    return lynx_fail(error, LYNX_INPUT, "it is read with a token only; accepted: LYNXBENCH_READER, as `lynxbench ledger reader` gives it");
  return lynx_fail(error, http_status == 404 ? LYNX_NOT_FOUND : LYNX_PROTOCOL, "HTTP status %d", http_status);
}

enum lynx_status ledger_fetch_blob(struct store *store, const char *from, const uint8_t digest[DIGEST_BYTES], struct lynx_error *error) {
  struct buffer bytes;
  char path[100], hex[DIGEST_HEX];
  if (blob_known(store, digest)) return LYNX_OK;
  (void)snprintf(path, sizeof path, "blob/%s", digest_hex(digest, hex));
  buffer_init(&bytes, (size_t)BLOB_SENT_MAX);
  enum lynx_status status = ledger_fetch((void *)(uintptr_t)from, path, &bytes, error);
  if (status == LYNX_OK) status = blob_put_bytes(store, digest, (struct bytes){bytes.data != NULL ? bytes.data : "", bytes.length}, error);
  if (status != LYNX_OK) lynx_error_at(error, path, 0, NULL);
  buffer_release(&bytes);
  return status;
}

enum lynx_status ledger_send(const char *url, const char *path, struct bytes bytes, const char *file, struct buffer *ret_answer,
                             struct lynx_error *error) {
  char where[4200], words[400];
  struct buffer body;
  int http_status = 0;
  (void)snprintf(where, sizeof where, "%s%s%s", url, url[strlen(url) - 1] == '/' ? "" : "/", path);
  buffer_init(&body, 1 << 20);
  struct waiting waiting = {.url = where, .begun_ns = clock_now(&clock_system)};
  if (!buffer_append(&body, bytes.ptr, bytes.length)) return lynx_fail(error, LYNX_LIMIT, "too much to send at once");
  const struct control_request request = {.url = where,
                                          .ca_file = getenv("LYNXBENCH_CA_FILE"),
                                          .bearer = reader_token(),
                                          .json_body = file == NULL ? body.data : NULL,
                                          .put_file = file,
                                          .timeout_ns = TIMEOUT_NS,
                                          .slow_s = SLOW_S,
                                          .go_on = tell_waiting,
                                          .context = &waiting};
  enum lynx_status status = control_fetch(&request, ret_answer, &http_status, error);
  buffer_release(&body);
  if (status != LYNX_OK || http_status == 200) return status;
  json_t *told = json_parse(ret_answer->data, ret_answer->length, 65536, NULL);
  const char *why = json_get_text(told, "error", "");
  lynx_error_at(error, url, 0, NULL);
  status = lynx_fail(error, http_status < 500 ? LYNX_INPUT : LYNX_PROTOCOL, "refused (HTTP status %d): %s", http_status,
                     text_sanitise(words, sizeof words, why, strlen(why)));
  json_decref(told);
  return status;
}
