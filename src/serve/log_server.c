#include "serve/log_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "ledger/blob.h"
#include "ledger/tile.h"
#include "serve/adding.h"
#include "serve/door.h"
#include "serve/reading.h"

enum {
  LOOKED_NAME_MAX = 200,
  BROUGHT_AT_ONCE = 8,
  BROUGHT_FASTER = 16,
  LOOKED_AT_ONCE = 2,
  LOOKED_S = 120,
  ADDED_S = 60,
  WORKERS = 4,
  IDLE_S = 30,
  CONNECTION_BYTES = 65536,
  URL_MAX = 400,
  STOP_WAIT_MS = 5000
};

struct log_server {
  struct ledger *ledger, *files; /* two handles of one ledger: who brings a file, or a cosignature, keeps nobody else waiting */
  pthread_mutex_t lock, files_lock;
  char spool[4096]; /* where files lie while they come, without a name */
  struct door *door;
  struct MHD_Daemon *daemon;
  struct adding *adding;
  struct page_source pages;
  struct reading reading;
  bool read_only;
  struct running *running;
  atomic_int n_brought, n_looking; /* files that come, and those that are looked at */
  atomic_int stopping;
};

/* What one request sends. */
struct upload {
  struct buffer body; /* POST */
  int fd;             /* PUT: of a file without a name; -1: none */
  int64_t length, expected;
  bool refused;                   /* too long, or the disk is full: the rest is read and forgotten */
  struct MHD_PostProcessor *form; /* of a file to be looked at; NULL */
  bool skips;                     /* a part that is not that file's */
  char name[LOOKED_NAME_MAX];     /* as its form calls it */
  struct log_server *server;      /* of the thread that looks */
  struct MHD_Connection *connection;
  bool begun;
  struct served_page page; /* what came of it */
  struct added added;      /* POST add */
};

static const char accepted[] = "accepted: GET checkpoint, tile/..., blob/DIGEST; POST add, cosign; PUT blob/DIGEST that an entry names";

static bool is_reading(const char *method) {
  return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static enum MHD_Result answer_bytes(struct MHD_Connection *connection, unsigned code, const char *type, const struct buffer *bytes) {
  return door_answer(
      connection, code, type,
      MHD_create_response_from_buffer(bytes->length, bytes->data != NULL ? bytes->data : (void *)(uintptr_t) "", MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result answer_error(struct MHD_Connection *connection, unsigned code, const char *text) {
  struct buffer body;
  struct json_writer json;
  buffer_init(&body, 4096);
  json_begin_object(&json, &body);
  json_put_text(&json, "error", text);
  json_close(&json);
  enum MHD_Result result = answer_bytes(connection, code, "application/json", &body);
  buffer_release(&body);
  return result;
}

/* What follows on this connection may be the rest of it: nothing more is read. */
static enum MHD_Result answer_ambiguous(struct MHD_Connection *connection) {
  static const char words[] =
      "{\"error\":\"found no Host, two of Host, Origin or Content-Length, or a header that not everybody reads alike\"}";
  struct MHD_Response *response = MHD_create_response_from_buffer(sizeof words - 1, (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT);
  if (response != NULL) (void)MHD_add_response_header(response, "Connection", "close");
  return door_answer(connection, MHD_HTTP_BAD_REQUEST, "application/json", response);
}

static enum MHD_Result answer_failure(struct MHD_Connection *connection, const struct lynx_error *error) {
  unsigned code = error->status == LYNX_NOT_FOUND ? MHD_HTTP_NOT_FOUND
                  : error->status == LYNX_INPUT   ? MHD_HTTP_BAD_REQUEST
                  : error->status == LYNX_LIMIT   ? MHD_HTTP_CONTENT_TOO_LARGE
                                                  : MHD_HTTP_INTERNAL_SERVER_ERROR;
  return answer_error(connection, code, error->message);
}

/* --- reading --- */

/* Not for everybody: no cache between may give it to others. */
static enum MHD_Result answer_reader(const struct log_server *s, struct MHD_Connection *connection, unsigned code, const char *type,
                                     struct MHD_Response *response) {
  if (response != NULL && s->reading.readers != NULL) (void)MHD_add_response_header(response, "Cache-Control", "private");
  return door_answer(connection, code, type, response);
}

static enum MHD_Result give_bytes(const struct log_server *s, struct MHD_Connection *connection, const char *type,
                                  const struct buffer *bytes) {
  return answer_reader(
      s, connection, MHD_HTTP_OK, type,
      MHD_create_response_from_buffer(bytes->length, bytes->data != NULL ? bytes->data : (void *)(uintptr_t) "", MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result get_checkpoint(struct log_server *s, struct MHD_Connection *connection) {
  struct buffer note;
  struct checkpoint checkpoint;
  struct lynx_error error = {0};
  buffer_init(&note, NOTE_MAX);
  enum lynx_status status = ledger_checkpoint(s->ledger, &note, &checkpoint, &error);
  enum MHD_Result result = status == LYNX_OK ? give_bytes(s, connection, "text/plain; charset=utf-8", &note)
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
  enum MHD_Result result = status == LYNX_OK ? give_bytes(s, connection, "application/octet-stream", &bytes)
                                             : answer_failure(connection, &error);
  buffer_release(&bytes);
  return result;
}

/* A file is sent from the store, a part at a time. */
struct sending {
  struct log_server *server;
  uint8_t digest[DIGEST_BYTES];
  int64_t from; /* where a range begins */
  int64_t part; /* that the buffer holds; -1: none */
  struct buffer bytes;
};

static ssize_t send_some(void *context, uint64_t at, char *to, size_t most) {
  struct sending *x = context;
  struct lynx_error ignored = {0};
  int64_t place = x->from + (int64_t)at, part = place / BLOB_PART;
  size_t within = (size_t)(place % BLOB_PART);
  if (part != x->part) {
    buffer_clear(&x->bytes);
    (void)pthread_mutex_lock(&x->server->lock);
    enum lynx_status status = blob_part(ledger_store(x->server->ledger), x->digest, (uint32_t)part, &x->bytes, &ignored);
    (void)pthread_mutex_unlock(&x->server->lock);
    if (status != LYNX_OK) return MHD_CONTENT_READER_END_WITH_ERROR;
    x->part = part;
  }
  if (within >= x->bytes.length) return MHD_CONTENT_READER_END_OF_STREAM;
  size_t n = x->bytes.length - within < most ? x->bytes.length - within : most;
  memcpy(to, x->bytes.data + within, n);
  return (ssize_t)n;
}

static void sent(void *context) {
  struct sending *x = context;
  buffer_release(&x->bytes);
  free(x);
}

/* "bytes=5-", "bytes=5-9", "bytes=-3": one range; anything else is answered whole. false: beyond the end. */
static bool parse_range(const char *text, int64_t length, int64_t *ret_from, int64_t *ret_n) {
  *ret_from = 0, *ret_n = length;
  if (text == NULL || strncmp(text, "bytes=", 6) != 0 || strchr(text, ',') != NULL) return true;
  const char *first = text + 6, *dash = strchr(first, '-');
  int64_t from = -1, to = -1;
  if (dash == NULL || (dash > first && !number_int64(first, (size_t)(dash - first), &from)) ||
      (dash[1] != 0 && !number_int64(dash + 1, strlen(dash + 1), &to)) || (from < 0 && to < 0) || (to >= 0 && from > to))
    return true;
  if (from < 0) from = to < length ? length - to : 0, to = length - 1;
  if (to < 0 || to >= length) to = length - 1;
  if (from >= length) return false;
  *ret_from = from, *ret_n = to - from + 1;
  return true;
}

static enum MHD_Result get_blob(struct log_server *s, struct MHD_Connection *connection, const char *hex) {
  struct sending *x = calloc(1, sizeof *x);
  int64_t from, n, length = -1;
  char span[80];
  if (x == NULL) return MHD_NO;
  *x = (struct sending){.server = s, .part = -1};
  buffer_init(&x->bytes, BLOB_PART);
  if (hex_decode(hex, x->digest, DIGEST_BYTES)) length = blob_length(ledger_store(s->ledger), x->digest);
  const char *range = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Range");
  bool whole = length >= 0 && parse_range(range, length, &from, &n);
  if (!whole) {
    sent(x);
    return length < 0 ? answer_error(connection, MHD_HTTP_NOT_FOUND, "no such file is kept here")
                      : answer_error(connection, MHD_HTTP_RANGE_NOT_SATISFIABLE, "the file is shorter");
  }
  x->from = from;
  door_allow(s->door, connection, n);
  struct MHD_Response *response = MHD_create_response_from_callback((uint64_t)n, BLOB_PART, send_some, x, sent);
  if (response == NULL) {
    sent(x);
    return MHD_NO;
  }
  (void)MHD_add_response_header(response, "Accept-Ranges", "bytes");
  (void)snprintf(span, sizeof span, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, from, from + n - 1, length);
  if (n < length) (void)MHD_add_response_header(response, "Content-Range", span);
  return answer_reader(s, connection, n < length ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, "application/octet-stream", response);
}

/* --- writing --- */

static void go_on(void *connection) {
  MHD_resume_connection(connection);
}

/* Asked twice: when the entry is there, and when it was added. No worker waits meanwhile. */
static enum MHD_Result post_add(struct log_server *s, struct MHD_Connection *connection, struct upload *upload) {
  const struct bytes envelope = {upload->body.data != NULL ? upload->body.data : "", upload->body.length};
  struct added *added = &upload->added;
  struct buffer text;
  struct json_writer json;
  uint8_t leaf[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  if (!upload->begun) {
    upload->begun = true;
    *added = (struct added){.envelope = envelope, .done = go_on, .context = connection};
    door_allow(s->door, connection, ADDED_S * (int64_t)DOOR_RATE);
    MHD_suspend_connection(connection);
    adding_put(s->adding, added);
    return MHD_YES;
  }
  if (added->status != LYNX_OK) return answer_failure(connection, &added->error);
  merkle_leaf(envelope, leaf);
  buffer_init(&text, 4096);
  json_begin_object(&json, &text);
  json_put_int(&json, "index", (int64_t)added->index);
  json_put_text(&json, "entry", digest_hex(leaf, hex));
  json_close(&json);
  enum MHD_Result result = answer_bytes(connection, MHD_HTTP_OK, "application/json", &text);
  buffer_release(&text);
  return result;
}

static enum MHD_Result post_running(struct log_server *s, struct MHD_Connection *connection, const char *what, const struct buffer *body) {
  const struct bytes bytes = {body->data != NULL ? body->data : "", body->length};
  struct buffer nothing = {.data = NULL};
  struct lynx_error error = {0};
  enum lynx_status status = strcmp(what, "begin") == 0 ? running_begin(s->running, s->ledger, bytes, &error)
                            : strcmp(what, "update") == 0
                                ? running_tell(s->running, bytes, &error)
                                : lynx_fail(&error, LYNX_NOT_FOUND, "accepted: POST running/begin, running/update");
  return status == LYNX_OK ? answer_bytes(connection, MHD_HTTP_OK, "text/plain", &nothing) : answer_failure(connection, &error);
}

static enum MHD_Result post_cosign(struct log_server *s, struct MHD_Connection *connection, const struct buffer *body) {
  struct lynx_error error = {0};
  (void)pthread_mutex_lock(&s->files_lock);
  enum lynx_status status = ledger_refresh(s->files, &error);
  if (status == LYNX_OK) status = ledger_put_cosigned(s->files, (struct bytes){body->data != NULL ? body->data : "", body->length}, &error);
  (void)pthread_mutex_unlock(&s->files_lock);
  if (status != LYNX_OK) return answer_failure(connection, &error);
  /* Who may not read learns nothing of what came meanwhile. */
  if (!reading_allows(&s->reading, connection)) return answer_bytes(connection, MHD_HTTP_OK, "text/plain", &(struct buffer){.data = NULL});
  (void)pthread_mutex_lock(&s->lock);
  enum MHD_Result result = get_checkpoint(s, connection);
  (void)pthread_mutex_unlock(&s->lock);
  return result;
}

struct named {
  int64_t length; /* of what is brought */
  bool named, fits;
};

static bool take_named(void *context, const struct ledger_entry *entry, const char *subject) {
  struct named *n = context;
  if (strcmp(entry->statement.kind, "bundle") != 0 || strcmp(subject, "file") != 0) return true;
  int64_t bytes = statement_file_bytes(&entry->statement);
  n->named = true;
  n->fits = bytes < 0 || bytes == n->length; /* format 1 does not say; of several entries, one is right */
  return !n->fits;
}

/* Only what an admitted entry names may be brought, as long as it says: whoever may sign entries may bring their files, and nobody else
 * anything. */
static struct named look_for(struct log_server *s, const char *hex, int64_t length) {
  uint8_t digest[DIGEST_BYTES];
  struct named named = {.length = length};
  struct lynx_error ignored = {0};
  if (!hex_decode(hex, digest, DIGEST_BYTES) || ledger_each_mention(s->ledger, digest, take_named, &named, &ignored) != LYNX_OK)
    named.named = false;
  return named;
}

static enum MHD_Result put_blob(struct log_server *s, struct MHD_Connection *connection, const char *hex, struct upload *upload) {
  uint8_t digest[DIGEST_BYTES];
  struct lynx_error error = {0};
  struct buffer nothing = {.data = NULL};
  char path[40];
  bool good = hex_decode(hex, digest, DIGEST_BYTES); /* look_for saw to it */
  if (upload->length != upload->expected) return answer_error(connection, MHD_HTTP_BAD_REQUEST, "it was cut off");
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", upload->fd);
  (void)pthread_mutex_lock(&s->files_lock);
  good = good && blob_put_in_steps(ledger_store(s->files), digest, path, &error) == LYNX_OK;
  (void)pthread_mutex_unlock(&s->files_lock);
  return good ? answer_bytes(connection, MHD_HTTP_OK, "text/plain", &nothing) : answer_failure(connection, &error);
}

/* --- pages --- */

static bool takes_gzip(struct MHD_Connection *connection) {
  const char *takes = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
  return takes != NULL && strstr(takes, "gzip") != NULL && strstr(takes, "gzip;q=0") == NULL;
}

/* closed: not for everybody, so that no cache between may give it to others */
static void add_page_headers(struct MHD_Response *response, const struct served_page *page, bool closed) {
  static const char policy[] =
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
      "form-action 'self'; frame-ancestors 'none'";
  (void)MHD_add_response_header(response, "Content-Security-Policy", policy);
  (void)MHD_add_response_header(response, "Referrer-Policy", "same-origin"); /* without one a form says that it comes from nowhere */
  (void)MHD_add_response_header(response, "Cache-Control", page->tag[0] == 0 ? "no-store" : closed ? "private, no-cache" : "no-cache");
  (void)MHD_add_response_header(response, "Vary", closed ? "Accept-Encoding, Cookie, Authorization" : "Accept-Encoding");
  if (page->again) (void)MHD_add_response_header(response, "Refresh", "1");
  else if (page->tag[0] != 0) (void)MHD_add_response_header(response, "ETag", page->tag);
  if (page->compressed) (void)MHD_add_response_header(response, "Content-Encoding", "gzip");
}

/* Takes the page's bytes over. same: as the visitor has it. */
static enum MHD_Result send_page(struct log_server *s, struct MHD_Connection *connection, struct served_page *page, bool same) {
  void *bytes = page->body.data; /* freed by the response from here on */
  size_t length = same ? 0 : page->body.length;
  door_allow(s->door, connection, (int64_t)length);
  struct MHD_Response *response = bytes != NULL ? MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE)
                                                : MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
  if (response == NULL) {
    buffer_release(&page->body);
    return MHD_NO;
  }
  add_page_headers(response, page, s->reading.readers != NULL);
  return door_answer(connection, same ? MHD_HTTP_NOT_MODIFIED : page->status, page->type, response);
}

/* An address with its questions; what a form sends as several is one, with blanks between. */
struct asked {
  char address[URL_MAX];
  bool any, too_long;
};

static enum MHD_Result take_question(void *context, enum MHD_ValueKind kind, const char *key, const char *value) {
  struct asked *a = context;
  size_t n = strlen(a->address);
  (void)kind;
  if (strcmp(key, "q") != 0 || value == NULL) return MHD_YES;
  a->too_long = snprintf(a->address + n, sizeof a->address - n, "%s%s", a->any ? " " : "?q=", value) >= (int)(sizeof a->address - n);
  a->any = true;
  return a->too_long ? MHD_NO : MHD_YES;
}

static enum MHD_Result get_page(struct log_server *s, struct MHD_Connection *connection, const char *url) {
  struct served_page page;
  struct asked asked = {.any = false};
  asked.too_long = snprintf(asked.address, sizeof asked.address, "%s", url) >= (int)sizeof asked.address;
  if (!asked.too_long) (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_question, &asked);
  if (asked.too_long)
    return answer_error(connection, MHD_HTTP_URI_TOO_LONG,
                        "the address or its question (q) is longer than is answered; accepted: some words");
  url = asked.address;
  if (!s->pages.get(s->pages.context, url, takes_gzip(connection), &page)) return answer_error(connection, MHD_HTTP_NOT_FOUND, accepted);
  const char *known = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
  bool same = page.status == MHD_HTTP_OK && known != NULL && page.tag[0] != 0 && strstr(known, page.tag) != NULL;
  return send_page(s, connection, &page, same);
}

/* A thread of its own: a file takes seconds, and a worker that waited would keep its other visitors waiting. */
static void *look_at(void *context) {
  struct upload *upload = context;
  struct log_server *s = upload->server;
  s->pages.look(s->pages.context, upload->fd, upload->name, &s->stopping, &upload->page);
  MHD_resume_connection(upload->connection);
  (void)atomic_fetch_sub(&s->n_looking, 1);
  return NULL;
}

/* The page of a file that was brought: of no address, and nobody else's. It is asked for twice: when the file is there, and when it has been
 * looked at. */
static enum MHD_Result look(struct log_server *s, struct MHD_Connection *connection, struct upload *upload) {
  pthread_t thread;
  pthread_attr_t how;
  if (upload->refused) return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "more bytes than are accepted, or no room for them");
  if (upload->name[0] == 0)
    return answer_error(connection, MHD_HTTP_BAD_REQUEST, "found no file; accepted: multipart/form-data with a field called file");
  if (upload->begun) {
    struct served_page page = upload->page;
    upload->page = (struct served_page){.status = 0};
    return send_page(s, connection, &page, false);
  }
  bool busy = atomic_fetch_add(&s->n_looking, 1) >= LOOKED_AT_ONCE || atomic_load(&s->stopping) != 0;
  if (busy) (void)atomic_fetch_sub(&s->n_looking, 1);
  if (busy) return answer_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "other files are being looked at: try again in a minute");
  door_allow(s->door, connection, LOOKED_S * (int64_t)DOOR_RATE);
  upload->server = s;
  upload->connection = connection;
  upload->begun = true;
  MHD_suspend_connection(connection);
  (void)pthread_attr_init(&how);
  (void)pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  bool started = pthread_create(&thread, &how, look_at, upload) == 0;
  (void)pthread_attr_destroy(&how);
  if (!started) (void)look_at(upload);
  return MHD_YES;
}

/* --- requests --- */

/* Of a form: its file's bytes, to the file without a name. A second file is not looked at. */
static enum MHD_Result take_part(void *context, enum MHD_ValueKind kind, const char *key, const char *name, const char *type,
                                 const char *encoding, const char *data, uint64_t at, size_t length) {
  struct upload *upload = context;
  (void)kind, (void)type, (void)encoding;
  if (at == 0) upload->skips = key == NULL || strcmp(key, "file") != 0 || name == NULL || name[0] == 0 || upload->name[0] != 0;
  if (upload->skips) return MHD_YES;
  if (at == 0) (void)snprintf(upload->name, sizeof upload->name, "%s", name);
  upload->refused = upload->refused || !file_write_all(upload->fd, data, length);
  return MHD_YES;
}

static void receive(struct upload *upload, const char *data, size_t length) {
  upload->length += (int64_t)length;
  if (upload->fd < 0) {
    upload->refused = upload->refused || !buffer_append(&upload->body, data, length);
    return;
  }
  if (upload->form != NULL) {
    upload->refused = upload->refused || upload->length > upload->expected;
    if (!upload->refused) (void)MHD_post_process(upload->form, data, length); /* what is no form has no file */
    return;
  }
  upload->refused = upload->refused || upload->length > upload->expected || !file_write_all(upload->fd, data, length);
}

/* It is gone with whoever has it open, however that ends. */
static int nameless_file(const char *folder) {
  char path[4200];
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  (void)snprintf(path, sizeof path, "%s/.lynxbench-serve-XXXXXX", folder); /* a file system that has none without a name */
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) (void)unlink(path); /* the descriptor keeps it */
  return fd;
}

/* spool NULL: to memory. */
static struct upload *upload_begin(const char *spool, int64_t length) {
  struct upload *upload = calloc(1, sizeof *upload);
  if (upload == NULL) return NULL;
  upload->fd = -1;
  upload->expected = length;
  buffer_init(&upload->body, ENVELOPE_MAX);
  if (spool == NULL) return upload;
  upload->fd = nameless_file(spool);
  upload->refused = upload->fd < 0;
  return upload;
}

static void completed(void *context, struct MHD_Connection *connection, void **request, enum MHD_RequestTerminationCode how) {
  struct upload *upload = *request;
  struct log_server *s = context;
  (void)how;
  door_allow(s->door, connection, -1); /* for its next request */
  if (upload == NULL) return;
  if (upload->form != NULL) {
    (void)MHD_destroy_post_processor(upload->form);
    (void)atomic_fetch_sub(&s->n_brought, 1);
    buffer_release(&upload->page.body);
  }
  if (upload->fd >= 0) (void)close(upload->fd); /* it is thrown away */
  buffer_release(&upload->body);
  free(upload);
  *request = NULL;
}

static enum MHD_Result dispatch(struct log_server *s, struct MHD_Connection *connection, const char *url, const char *method,
                                struct upload *upload) {
  bool reads = is_reading(method);
  if (upload->refused) return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "more bytes than are accepted, or no room for them");
  if (reads && strcmp(url, "checkpoint") == 0) return get_checkpoint(s, connection);
  if (reads && strncmp(url, "tile/", 5) == 0) return get_tile(s, connection, url);
  if (reads && strncmp(url, "blob/", 5) == 0) return get_blob(s, connection, url + 5);
  if (strcmp(method, "POST") == 0 && strncmp(url, "running/", 8) == 0 && s->running != NULL)
    return post_running(s, connection, url + 8, &upload->body);
  if (strcmp(method, "PUT") == 0 && strncmp(url, "blob/", 5) == 0 && upload->fd >= 0) return put_blob(s, connection, url + 5, upload);
  return answer_error(connection, MHD_HTTP_NOT_FOUND, accepted);
}

/* Is it for a page? They have a lock of their own. */
static bool is_page(const struct log_server *s, const char *url, const char *method) {
  bool of_ledger = strcmp(url, "checkpoint") == 0 || strncmp(url, "tile/", 5) == 0 || strncmp(url, "blob/", 5) == 0;
  return is_reading(method) && !of_ledger && s->pages.get != NULL;
}

static int64_t body_length(struct MHD_Connection *connection) {
  const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
  int64_t n = 0;
  return text != NULL && number_int64(text, strlen(text), &n) && n > 0 ? n : 0;
}

static bool is_looking(const struct log_server *s, const char *url, const char *method) {
  return strcmp(method, "POST") == 0 && strcmp(url, "look.html") == 0 && s->pages.look != NULL;
}

static enum MHD_Result begin_looking(struct log_server *s, struct MHD_Connection *connection, int64_t length, void **request) {
  if (!door_is_own_page(connection)) return answer_error(connection, MHD_HTTP_FORBIDDEN, "a page of another place may not ask here");
  if (length > SERVER_LOOKED_MAX)
    return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "more bytes than are looked at here: lynxbench shows it on your machine");
  if (atomic_fetch_add(&s->n_brought, 1) >= BROUGHT_AT_ONCE) {
    (void)atomic_fetch_sub(&s->n_brought, 1);
    return answer_error(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "other files are being brought: try again in a minute");
  }
  struct upload *upload = upload_begin(s->spool, length);
  if (upload != NULL) upload->form = MHD_create_post_processor(connection, CONNECTION_BYTES / 2, take_part, upload);
  *request = upload;
  if (upload != NULL && upload->form != NULL) {
    door_allow(s->door, connection, length / BROUGHT_FASTER); /* who brings it slowly keeps a place from others */
    return MHD_YES;
  }
  (void)atomic_fetch_sub(&s->n_brought, 1);
  return answer_error(connection, MHD_HTTP_BAD_REQUEST, "found no form; accepted: multipart/form-data with a field called file");
}

/* Its head has come. */
static enum MHD_Result begin(struct log_server *s, struct MHD_Connection *connection, const char *url, const char *method,
                             const char *version, void **request) {
  bool looks = is_looking(s, url, method), brings = strcmp(method, "PUT") == 0 && strncmp(url, "blob/", 5) == 0;
  struct named named = {.length = 0};
  const char *wrong = door_refuses(s->door, connection);
  int64_t length = body_length(connection);
  if (wrong == NULL && s->read_only && !is_reading(method) && !looks)
    wrong = "this ledger is only read here: add to the one that it is a copy of";
  if (door_is_ambiguous(connection, version)) return answer_ambiguous(connection);
  if (wrong != NULL) return answer_error(connection, MHD_HTTP_FORBIDDEN, wrong);
  enum MHD_Result answered;
  char shared[URL_MAX];
  bool linked = is_reading(method) && reading_link(&s->reading, url, shared, sizeof shared);
  if (!linked && (is_reading(method) || looks) && reading_stops(&s->reading, connection, url, &answered)) return answered;
  if (brings) {
    (void)pthread_mutex_lock(&s->lock);
    named = look_for(s, url + 5, length);
    (void)pthread_mutex_unlock(&s->lock);
  }
  if (brings && !named.named) return answer_error(connection, MHD_HTTP_FORBIDDEN, "no entry names that file: add the bundle's entry first");
  if (MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding") != NULL)
    return answer_error(connection, MHD_HTTP_LENGTH_REQUIRED, "a body without its length (Content-Length) is not taken");
  if (brings && !named.fits)
    return answer_error(connection, MHD_HTTP_BAD_REQUEST, "its length (Content-Length) is not the one that its entry names");
  if (looks) return begin_looking(s, connection, length, request);
  if (length > (brings ? SERVER_BLOB_MAX : ENVELOPE_MAX))
    return answer_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, "more bytes than are accepted");
  door_allow(s->door, connection, length);
  *request = upload_begin(brings ? s->spool : NULL, length);
  return *request != NULL ? MHD_YES : MHD_NO;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
                              const char *data, size_t *length, void **request) {
  struct log_server *s = context;
  url += *url == '/';
  if (*request == NULL) return begin(s, connection, url, method, version, request);
  if (*length > 0) {
    receive(*request, data, *length);
    *length = 0;
    return MHD_YES;
  }
  struct upload *upload = *request;
  char shared[URL_MAX];
  if (is_reading(method) && reading_link(&s->reading, url, shared, sizeof shared)) url = shared;
  if (is_page(s, url, method) && !upload->refused) return get_page(s, connection, url);
  if (upload->form != NULL) return look(s, connection, upload);
  if (upload->fd >= 0) return dispatch(s, connection, url, method, upload); /* it has a lock of its own */
  if (strcmp(method, "POST") == 0 && strcmp(url, "add") == 0 && !upload->refused) return post_add(s, connection, upload);
  if (strcmp(method, "POST") == 0 && strcmp(url, "cosign") == 0 && !upload->refused) return post_cosign(s, connection, &upload->body);
  (void)pthread_mutex_lock(&s->lock);
  enum MHD_Result result = dispatch(s, connection, url, method, upload);
  (void)pthread_mutex_unlock(&s->lock);
  return result;
}

static enum lynx_status listen_at(struct log_server *s, const struct log_server_at *at, struct lynx_error *error) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)at->port)};
  lynx_error_at(error, at->address, 0, NULL);
  if (inet_pton(AF_INET, at->address, &address.sin_addr) != 1)
    return lynx_fail(error, LYNX_INPUT, "accepted: an IPv4 address, such as 127.0.0.1");
  bool secret = at->certificate != NULL;
  struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)at->certificate},
                                 {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)at->private_key},
                                 {MHD_OPTION_END, 0, NULL}};
  s->daemon = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_AUTO | MHD_USE_ITC | (secret ? (unsigned)MHD_USE_TLS : 0),
      (uint16_t)at->port, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)WORKERS,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)DOOR_PLACES, MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)DOOR_PLACES_PER_ADDRESS,
      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
      MHD_OPTION_NOTIFY_COMPLETED, completed, s, MHD_OPTION_NOTIFY_CONNECTION, door_connection, s->door, MHD_OPTION_ARRAY,
      secret ? tls : tls + 2, MHD_OPTION_END);
  if (s->daemon != NULL) return LYNX_OK;
  return lynx_fail(error, LYNX_IO, "port %d cannot be listened on%s: %s; --port names another", at->port,
                   secret ? ", or the certificate and its key do not fit" : "", strerror(errno));
}

enum lynx_status log_server_start(const struct served_ledger *ledger, const struct log_server_at *at, int *ret_port,
                                  struct log_server **ret, struct lynx_error *error) {
  struct log_server *s = calloc(1, sizeof *s);
  if (s == NULL) return lynx_fail(error, LYNX_LIMIT, "no memory for a server");
  s->ledger = ledger->reads, s->files = ledger->files, s->pages = at->pages, s->read_only = at->read_only;
  s->running = at->running;
  s->reading = (struct reading){at->readers, at->proxy, at->identity_header, at->certificate != NULL};
  (void)snprintf(s->spool, sizeof s->spool, "%s", at->spool);
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)pthread_mutex_init(&s->files_lock, NULL);
  s->door = door_open(at->names, at->n_names);
  enum lynx_status status = s->door != NULL ? at->read_only ? LYNX_OK : adding_start(ledger->adds, at->counted, &s->adding, error)
                                            : lynx_fail(error, LYNX_LIMIT, "no thread for a server");
  if (status == LYNX_OK) status = listen_at(s, at, error);
  if (status != LYNX_OK) {
    log_server_stop(s);
    return status;
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  *ret_port = info != NULL ? info->port : at->port;
  *ret = s;
  return LYNX_OK;
}

static void wait_for_looks(struct log_server *s) {
  const struct timespec step = {.tv_nsec = 20000000};
  while (atomic_load(&s->n_looking) > 0) (void)nanosleep(&step, NULL);
}

void log_server_stop(struct log_server *server) {
  const struct timespec step = {.tv_nsec = 20000000};
  if (server == NULL) return;
  atomic_store(&server->stopping, 1); /* what is looked at is given up, and nothing is looked at from here on */
  if (server->daemon != NULL) {
    int listening = MHD_quiesce_daemon(server->daemon); /* nobody new; who is inside may finish */
    for (int ms = 0; ms < STOP_WAIT_MS && MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections > 0;
         ms += 20)
      (void)nanosleep(&step, NULL);
    adding_stop(server->adding); /* no connection may be suspended when the daemon stops: none waits for its entry, or to be looked at */
    wait_for_looks(server);
    MHD_stop_daemon(server->daemon);
    if (listening >= 0) (void)close(listening); /* nothing was written to it */
  }
  door_close(server->door);
  adding_close(server->adding);
  (void)pthread_mutex_destroy(&server->lock);
  (void)pthread_mutex_destroy(&server->files_lock);
  free(server);
}
