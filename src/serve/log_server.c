#include "serve/log_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "ledger/blob.h"
#include "ledger/tile.h"

enum { CONNECTIONS_MAX = 64, IDLE_S = 30, CONNECTION_BYTES = 65536 };

struct log_server {
  struct ledger *ledger;
  struct MHD_Daemon *daemon;
};

/* What one request sends. */
struct upload {
  struct buffer body; /* POST */
  int fd;             /* PUT; -1: none */
  char path[64];      /* of it */
  int64_t length;
  bool refused; /* too long, or the disk is full: the rest is read and forgotten */
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type, struct MHD_Response *response) {
  if (response == NULL) return MHD_NO;
  (void)MHD_add_response_header(response, "Content-Type", type);
  (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  enum MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result answer_bytes(struct MHD_Connection *connection, unsigned code, const char *type, const struct buffer *bytes) {
  return answer(
      connection, code, type,
      MHD_create_response_from_buffer(bytes->length, bytes->data != NULL ? bytes->data : (void *)(uintptr_t) "", MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned code, const char *text) {
  struct buffer body;
  struct json_writer json;
  buffer_init(&body, 4096);
  json_begin(&json, &body);
  json_open_object(&json);
  json_put_text(&json, "error", text);
  json_close(&json);
  enum MHD_Result result = answer_bytes(connection, code, "application/json", &body);
  buffer_release(&body);
  return result;
}

static enum MHD_Result answer_failure(struct MHD_Connection *connection, const struct lynx_error *error) {
  unsigned code = error->status == LYNX_NOT_FOUND ? MHD_HTTP_NOT_FOUND
                  : error->status == LYNX_INPUT   ? MHD_HTTP_BAD_REQUEST
                  : error->status == LYNX_LIMIT   ? MHD_HTTP_CONTENT_TOO_LARGE
                                                  : MHD_HTTP_INTERNAL_SERVER_ERROR;
  return answer_error(connection, code, error->message);
}

/* --- reading --- */

static enum MHD_Result get_checkpoint(struct log_server *s, struct MHD_Connection *connection) {
  struct buffer note;
  struct checkpoint checkpoint;
  struct lynx_error error = {0};
  buffer_init(&note, NOTE_MAX);
  enum lynx_status status = ledger_checkpoint(s->ledger, &note, &checkpoint, &error);
  enum MHD_Result result = status == LYNX_OK ? answer_bytes(connection, MHD_HTTP_OK, "text/plain; charset=utf-8", &note)
                                             : answer_failure(connection, &error);
  buffer_release(&note);
  return result;
}

/* "tile/entries/x001/234.p/17": by making the path of what it may mean, and comparing. */
static bool parse_tile(const char *url, int *ret_level, uint64_t *ret_index, unsigned *ret_width) {
  char again[TILE_PATH_MAX];
  const char *p = url + strlen("tile/"), *partial = strstr(p, ".p/");
  int64_t level = -1, part, width = TILE_WIDTH;
  const char *slash = strchr(p, '/');
  if (slash == NULL || (strncmp(p, "entries/", 8) != 0 && !number_int64(p, (size_t)(slash - p), &level))) return false;
  if (partial != NULL && !number_int64(partial + 3, strlen(partial + 3), &width)) return false;
  if (level < -1 || level > 7 || width < 1 || width > TILE_WIDTH) return false;
  *ret_index = 0;
  for (p = slash + 1; *p != 0 && p != partial; p += *p == '/') {
    if (*p == 'x') p++;
    if (strlen(p) < 3 || !number_int64(p, 3, &part) || part < 0 || *ret_index > UINT64_MAX / 2000) return false;
    *ret_index = *ret_index * 1000 + (uint64_t)part;
    p += 3;
    if (*p != '/' && *p != 0 && p != partial) return false;
  }
  *ret_level = (int)level;
  *ret_width = (unsigned)width;
  return strcmp(tile_path(*ret_level, *ret_index, *ret_width, again), url) == 0;
}

static enum MHD_Result get_tile(struct log_server *s, struct MHD_Connection *connection, const char *url) {
  struct buffer bytes;
  struct checkpoint checkpoint;
  struct lynx_error error = {0};
  int level;
  uint64_t index;
  unsigned width;
  if (!parse_tile(url, &level, &index, &width)) return answer_error(connection, MHD_HTTP_NOT_FOUND, "no such tile");
  enum lynx_status status = ledger_checkpoint(s->ledger, NULL, &checkpoint, &error);
  if (status == LYNX_OK) {
    uint64_t n = level > 0 ? checkpoint.size >> (8 * level) : checkpoint.size;
    if (index > n / TILE_WIDTH || index * TILE_WIDTH + width > n)
      return answer_error(connection, MHD_HTTP_NOT_FOUND, "the tree is not that large yet");
  }
  buffer_init(&bytes, TILE_ENTRIES_MAX);
  if (status == LYNX_OK) status = tile_read(s->ledger, level, index, width, &bytes, &error);
  enum MHD_Result result = status == LYNX_OK ? answer_bytes(connection, MHD_HTTP_OK, "application/octet-stream", &bytes)
                                             : answer_failure(connection, &error);
  buffer_release(&bytes);
  return result;
}

static enum MHD_Result get_blob(struct log_server *s, struct MHD_Connection *connection, const char *hex) {
  uint8_t digest[DIGEST_BYTES];
  struct lynx_error error = {0};
  char folder[] = "/tmp/lynxbench-serve-XXXXXX", path[80];
  if (!hex_decode(hex, digest, DIGEST_BYTES) || !blob_known(ledger_store(s->ledger), digest))
    return answer_error(connection, MHD_HTTP_NOT_FOUND, "no such file is kept here");
  if (mkdtemp(folder) == NULL) return answer_error(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(errno));
  (void)snprintf(path, sizeof path, "%s/blob", folder);
  enum lynx_status status = blob_get_file(ledger_store(s->ledger), digest, path, &error);
  int fd = status == LYNX_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  (void)unlink(path); /* the descriptor keeps it as long as it is sent */
  (void)rmdir(folder);
  off_t length = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
  if (length < 0) return answer_failure(connection, &error);
  return answer(connection, MHD_HTTP_OK, "application/octet-stream", MHD_create_response_from_fd((size_t)length, fd));
}

/* --- writing --- */

static enum MHD_Result post_add(struct log_server *s, struct MHD_Connection *connection, const struct buffer *body) {
  struct bytes envelope = {body->data != NULL ? body->data : "", body->length};
  struct lynx_error error = {0};
  struct buffer text;
  struct json_writer json;
  uint64_t index = 0;
  uint8_t leaf[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  if (ledger_add(s->ledger, &envelope, 1, &index, &error) != LYNX_OK) return answer_failure(connection, &error);
  merkle_leaf(envelope, leaf);
  buffer_init(&text, 4096);
  json_begin(&json, &text);
  json_open_object(&json);
  json_put_int(&json, "index", (int64_t)index);
  json_put_text(&json, "entry", digest_hex(leaf, hex));
  json_close(&json);
  enum MHD_Result result = answer_bytes(connection, MHD_HTTP_OK, "application/json", &text);
  buffer_release(&text);
  return result;
}

static enum MHD_Result post_cosign(struct log_server *s, struct MHD_Connection *connection, const struct buffer *body) {
  struct lynx_error error = {0};
  if (ledger_put_cosigned(s->ledger, (struct bytes){body->data != NULL ? body->data : "", body->length}, &error) != LYNX_OK)
    return answer_failure(connection, &error);
  return get_checkpoint(s, connection);
}

static bool take_named(void *context, const struct ledger_entry *entry, const char *subject) {
  bool *named = context;
  *named = *named || (strcmp(entry->statement.kind, "bundle") == 0 && strcmp(subject, "file") == 0);
  return !*named;
}

/* Only what an admitted entry names may be brought: whoever may sign entries may bring their files, and nobody else anything. */
static bool is_named(struct log_server *s, const char *hex) {
  uint8_t digest[DIGEST_BYTES];
  bool named = false;
  struct lynx_error ignored = {0};
  return hex_decode(hex, digest, DIGEST_BYTES) && ledger_each_mention(s->ledger, digest, take_named, &named, &ignored) == LYNX_OK && named;
}

static enum MHD_Result put_blob(struct log_server *s, struct MHD_Connection *connection, const char *hex, struct upload *upload) {
  uint8_t digest[DIGEST_BYTES];
  struct lynx_error error = {0};
  struct buffer nothing = {.data = NULL};
  bool good = hex_decode(hex, digest, DIGEST_BYTES); /* is_named saw to it */
  if (!good || blob_put_as(ledger_store(s->ledger), digest, upload->path, &error) != LYNX_OK) return answer_failure(connection, &error);
  return answer_bytes(connection, MHD_HTTP_OK, "text/plain", &nothing);
}

/* --- requests --- */

static void receive(struct upload *upload, const char *data, size_t length) {
  upload->length += (int64_t)length;
  if (upload->fd < 0) {
    upload->refused = upload->refused || !buffer_append(&upload->body, data, length);
    return;
  }
  upload->refused = upload->refused || upload->length > SERVER_BLOB_MAX || !file_write_all(upload->fd, data, length);
}

static struct upload *upload_begin(bool to_file) {
  struct upload *upload = calloc(1, sizeof *upload);
  if (upload == NULL) return NULL;
  upload->fd = -1;
  buffer_init(&upload->body, ENVELOPE_MAX);
  if (!to_file) return upload;
  (void)snprintf(upload->path, sizeof upload->path, "/tmp/lynxbench-serve-XXXXXX");
  upload->fd = mkostemp(upload->path, O_CLOEXEC);
  upload->refused = upload->fd < 0;
  return upload;
}

static void completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how) {
  struct upload *upload = *request;
  (void)context, (void)connection, (void)how;
  if (upload == NULL) return;
  if (upload->fd >= 0) {
    (void)close(upload->fd); /* it is thrown away */
    (void)unlink(upload->path);
  }
  buffer_release(&upload->body);
  free(upload);
  *request = NULL;
}

static enum MHD_Result dispatch(struct log_server *s, struct MHD_Connection *connection, const char *url, const char *method,
                                struct upload *upload) {
  bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
  if (upload->refused) return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "more bytes than are accepted, or no room for them");
  if (reads && strcmp(url, "checkpoint") == 0) return get_checkpoint(s, connection);
  if (reads && strncmp(url, "tile/", 5) == 0) return get_tile(s, connection, url);
  if (reads && strncmp(url, "blob/", 5) == 0) return get_blob(s, connection, url + 5);
  if (strcmp(method, "POST") == 0 && strcmp(url, "add") == 0) return post_add(s, connection, &upload->body);
  if (strcmp(method, "POST") == 0 && strcmp(url, "cosign") == 0) return post_cosign(s, connection, &upload->body);
  if (strcmp(method, "PUT") == 0 && strncmp(url, "blob/", 5) == 0 && upload->fd >= 0) return put_blob(s, connection, url + 5, upload);
  return answer_error(connection, MHD_HTTP_NOT_FOUND,
                      "accepted: GET checkpoint, tile/..., blob/DIGEST; POST add, cosign; PUT blob/DIGEST that an entry names");
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                              const char *data, size_t *length, void **request) {
  struct log_server *s = context;
  (void)version;
  url += *url == '/';
  if (*request == NULL) { /* its head alone has come */
    bool brings = strcmp(method, "PUT") == 0 && strncmp(url, "blob/", 5) == 0;
    if (brings && !is_named(s, url + 5))
      return answer_error(connection, MHD_HTTP_FORBIDDEN, "no entry names that file: add the bundle's entry first");
    *request = upload_begin(brings);
    return *request != NULL ? MHD_YES : MHD_NO;
  }
  if (*length > 0) {
    receive(*request, data, *length);
    *length = 0;
    return MHD_YES;
  }
  return dispatch(s, connection, url, method, *request);
}

enum lynx_status log_server_start(struct ledger *ledger, const char *address, int port, int *ret_port, struct log_server **ret,
                                  struct lynx_error *error) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  lynx_error_at(error, address, 0, NULL);
  if (inet_pton(AF_INET, address, &at.sin_addr) != 1) return lynx_fail(error, LYNX_INPUT, "accepted: an IPv4 address, such as 127.0.0.1");
  struct log_server *s = calloc(1, sizeof *s);
  if (s == NULL) return lynx_fail(error, LYNX_LIMIT, "no memory for a server");
  s->ledger = ledger;
  s->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &at,
                               MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                               MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
                               MHD_OPTION_END);
  if (s->daemon == NULL) {
    free(s);
    return lynx_fail(error, LYNX_IO, "port %d cannot be listened on: %s", port, strerror(errno));
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  *ret_port = info != NULL ? info->port : port;
  *ret = s;
  return LYNX_OK;
}

void log_server_stop(struct log_server *server) {
  if (server == NULL) return;
  MHD_stop_daemon(server->daemon);
  free(server);
}
