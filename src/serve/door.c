#include "serve/door.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"

struct visit {
  int fd;
  uint32_t address; /* of the network */
  bool in_head, leaving;
  int64_t begun_ns, until_ns;
  struct visit *next;
};

struct door {
  const char *const *names;
  size_t n_names;
  pthread_mutex_t lock;
  pthread_cond_t closing;
  pthread_t watch;
  bool closed;
  struct visit *visits;
  size_t n_visits; /* that are not leaving */
};

static int64_t until(int64_t bytes) {
  int64_t seconds = bytes < 0 ? DOOR_HEAD_S : DOOR_BODY_S + bytes / DOOR_RATE;
  return clock_now(&clock_system) + seconds * 1000000000;
}

/* Its socket is shut; what serves it finds that out, and closes it. */
static void *watch(void *context) {
  struct door *door = context;
  (void)pthread_mutex_lock(&door->lock);
  while (!door->closed) {
    int64_t now = clock_now(&clock_system);
    for (struct visit *v = door->visits; v != NULL; v = v->next)
      if (v->until_ns < now) (void)shutdown(v->fd, SHUT_RDWR);
    struct timespec next = {.tv_sec = now / 1000000000 + 1, .tv_nsec = now % 1000000000};
    (void)pthread_cond_timedwait(&door->closing, &door->lock, &next);
  }
  (void)pthread_mutex_unlock(&door->lock);
  return NULL;
}

struct door *door_open(const char *const *names, size_t n_names) {
  struct door *door = calloc(1, sizeof *door);
  pthread_condattr_t how;
  if (door == NULL) return NULL;
  door->names = names;
  door->n_names = n_names;
  (void)pthread_mutex_init(&door->lock, NULL);
  (void)pthread_condattr_init(&how);
  (void)pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&door->closing, &how);
  (void)pthread_condattr_destroy(&how);
  if (pthread_create(&door->watch, NULL, watch, door) == 0) return door;
  free(door);
  return NULL;
}

void door_close(struct door *door) {
  if (door == NULL) return;
  (void)pthread_mutex_lock(&door->lock);
  door->closed = true;
  (void)pthread_cond_signal(&door->closing);
  (void)pthread_mutex_unlock(&door->lock);
  (void)pthread_join(door->watch, NULL);
  (void)pthread_mutex_destroy(&door->lock);
  (void)pthread_cond_destroy(&door->closing);
  free(door);
}

/* --- a crowd --- */

static uint32_t address_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const struct sockaddr_in *from = info != NULL ? (const struct sockaddr_in *)(const void *)info->client_addr : NULL;
  uint32_t address = from != NULL && from->sin_family == AF_INET ? ntohl(from->sin_addr.s_addr) : 0;
  return address >> 24 == 127 ? 127U << 24 : address;
}

static size_t places_of(const struct door *door, uint32_t address) {
  size_t n = 0;
  for (const struct visit *v = door->visits; v != NULL; v = v->next) n += !v->leaving && v->address == address;
  return n;
}

/* Of the address with most places: the oldest whose head has not come, else the oldest of all, which is the slowest: requests are short. */
static struct visit *who_leaves(const struct door *door, const struct visit *newcomer) {
  struct visit *leaves = NULL;
  uint32_t counted = 0, crowd = 0;
  size_t most = 0;
  for (const struct visit *v = door->visits; v != NULL; v = v->next) {
    if (v->leaving || (most > 0 && v->address == counted)) continue;
    counted = v->address;
    size_t n = places_of(door, counted);
    if (n > most) most = n, crowd = counted;
  }
  for (struct visit *v = door->visits; v != NULL; v = v->next) {
    if (v->leaving || v->address != crowd || v == newcomer) continue;
    if (leaves == NULL || v->in_head > leaves->in_head || (v->in_head == leaves->in_head && v->begun_ns < leaves->begun_ns)) leaves = v;
  }
  return leaves;
}

static void make_room(struct door *door, const struct visit *newcomer) {
  struct visit *leaves = door->n_visits > DOOR_CROWDED ? who_leaves(door, newcomer) : NULL;
  if (leaves == NULL) return;
  leaves->leaving = true;
  door->n_visits--;
  (void)shutdown(leaves->fd, SHUT_RDWR);
}

void door_connection(void *context, struct MHD_Connection *connection, void **socket_context, enum MHD_ConnectionNotificationCode what) {
  struct door *door = context;
  struct visit *v = *socket_context;
  (void)pthread_mutex_lock(&door->lock);
  if (what == MHD_CONNECTION_NOTIFY_STARTED && (v = calloc(1, sizeof *v)) != NULL) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const int kept = DOOR_UNREAD;
    if (info != NULL) (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &kept, sizeof kept); /* else it is as it was */
    *v = (struct visit){.fd = info != NULL ? info->connect_fd : -1,
                        .address = address_of(connection),
                        .in_head = true,
                        .begun_ns = clock_now(&clock_system),
                        .until_ns = until(-1),
                        .next = door->visits};
    door->visits = v;
    door->n_visits++;
    *socket_context = v;
    make_room(door, v);
  } else if (what == MHD_CONNECTION_NOTIFY_CLOSED && v != NULL) {
    struct visit **at = &door->visits;
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    door->n_visits -= !v->leaving;
    free(v);
    *socket_context = NULL;
  }
  (void)pthread_mutex_unlock(&door->lock);
}

void door_allow(struct door *door, struct MHD_Connection *connection, int64_t bytes) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  struct visit *v = info != NULL ? info->socket_context : NULL;
  if (v == NULL) return;
  (void)pthread_mutex_lock(&door->lock);
  v->until_ns = until(bytes);
  v->in_head = bytes < 0;
  (void)pthread_mutex_unlock(&door->lock);
}

/* Nothing, or the number of a port. */
static bool is_port(const char *text) {
  size_t n = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
  return text[0] == 0 || (n > 0 && n <= 5 && text[n + 1] == 0);
}

/* "name:port", "1.2.3.4", "[::1]:80". given: a name that was given, and neither an address nor localhost. */
static bool is_ours(const struct door *door, const char *host, bool given) {
  char name[256];
  struct in6_addr address;
  bool bracketed = host[0] == '[';
  const char *from = host + (bracketed ? 1 : 0);
  size_t n = strcspn(from, bracketed ? "]" : ":");
  if (n == 0 || n >= sizeof name || (bracketed && from[n] != ']') || !is_port(from + n + (bracketed ? 1 : 0))) return false;
  memcpy(name, from, n);
  name[n] = 0;
  if (!given && inet_pton(bracketed ? AF_INET6 : AF_INET, name, &address) == 1) return true;
  if (!given && !bracketed && strcasecmp(name, "localhost") == 0) return true;
  for (size_t i = 0; i < door->n_names && !bracketed; i++)
    if (strcasecmp(name, door->names[i]) == 0) return true;
  return false;
}

static const char *header_of(struct MHD_Connection *connection, const char *name) {
  return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* What follows the scheme; NULL: none is named ("null" of a page without a place, too). */
static const char *origin_of(struct MHD_Connection *connection) {
  const char *origin = header_of(connection, "Origin"), *from = origin != NULL ? strstr(origin, "://") : NULL;
  return from != NULL ? from + 3 : NULL;
}

bool door_is_own_page(struct MHD_Connection *connection) {
  const char *host = header_of(connection, "Host"), *from = origin_of(connection);
  return header_of(connection, "Origin") == NULL || (from != NULL && host != NULL && strcasecmp(from, host) == 0);
}

enum { SINGLE_HEADERS = 3 };

struct headers {
  int n[SINGLE_HEADERS];
  bool odd; /* a name or a value that others read as another */
};

/* RFC 9110, 5.6.2: what a name is made of. A blank before the colon, or a 0 within a value, hides a header from one of two readers. */
static enum MHD_Result look_at_header(void *context, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value,
                                      size_t value_size) {
  static const char *const singles[SINGLE_HEADERS] = {"Host", "Origin", "Content-Length"};
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
  struct headers *h = context;
  (void)kind;
  h->odd = h->odd || key_size == 0 || strspn(key, letters) != key_size || (value != NULL && memchr(value, 0, value_size) != NULL);
  for (size_t i = 0; i < value_size && value != NULL; i++) h->odd = h->odd || value[i] == '\r' || value[i] == '\n';
  for (size_t i = 0; i < SINGLE_HEADERS; i++) h->n[i] += strcasecmp(key, singles[i]) == 0;
  return MHD_YES;
}

bool door_is_ambiguous(struct MHD_Connection *connection, const char *version) {
  struct headers h = {.odd = false};
  (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at_header, &h);
  bool wrong = h.odd || (h.n[0] == 0 && strcmp(version, "HTTP/1.0") != 0);
  for (size_t i = 0; i < SINGLE_HEADERS; i++) wrong = wrong || h.n[i] > 1;
  return wrong;
}

const char *door_refuses(const struct door *door, struct MHD_Connection *connection) {
  const char *host = header_of(connection, "Host"), *from = origin_of(connection);
  if (host != NULL && !is_ours(door, host, false)) return "this server does not go by that name: its keeper gives it one by --name";
  if (!door_is_own_page(connection) && (from == NULL || !is_ours(door, from, true))) return "a page of another place may not ask here";
  return NULL;
}

/* A length may be what is left of another one: some libmicrohttpd end a value at a 0 byte. What follows is then no second request, so that
 * a connection ends with the first request that names a length. */
enum MHD_Result door_answer(struct MHD_Connection *connection, unsigned code, const char *type, struct MHD_Response *response) {
  const char *length = header_of(connection, "Content-Length");
  if (response == NULL) return MHD_NO;
  (void)MHD_add_response_header(response, "Content-Type", type);
  (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (length != NULL) (void)MHD_add_response_header(response, "Connection", "close");
  enum MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}
