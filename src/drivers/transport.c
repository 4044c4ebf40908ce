#include "drivers/transport.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static void say_openssl(char *text, size_t size, const char *what) {
  unsigned long code = ERR_get_error();
  char words[160] = "no reason given";
  if (code != 0) ERR_error_string_n(code, words, sizeof words);
  (void)snprintf(text, size, "%s: %.100s", what, words);
}

static enum lynx_status make_tls(const char *ca_file, struct transport_address *ret, struct lynx_error *error) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  if (context == NULL) return lynx_fail(error, LYNX_IO, "OpenSSL cannot start");
  ret->tls_context = context;
  (void)SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
  bool trusted = ca_file != NULL ? SSL_CTX_load_verify_locations(context, ca_file, NULL) == 1
                                 : SSL_CTX_set_default_verify_paths(context) == 1;
  if (!trusted)
    return lynx_fail(error, LYNX_INPUT, "'%s' holds no certificates that OpenSSL can read",
                     ca_file != NULL ? ca_file : "the system's store");
  return LYNX_OK;
}

static bool accepts(const struct addrinfo *address) {
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), code = 1;
  socklen_t length = sizeof code;
  if (fd < 0) return false;
  if (connect(fd, address->ai_addr, address->ai_addrlen) == 0) code = 0;
  else if (errno == EINPROGRESS) {
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    if (poll(&wait, 1, 2000) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0) code = 1;
  }
  (void)close(fd);
  return code == 0;
}

enum lynx_status transport_resolve(const char *url, const char *ca_file, struct transport_address *ret, struct lynx_error *error) {
  char port[16];
  *ret = (struct transport_address){0};
  enum lynx_status status = endpoint_parse(url, &ret->url, error);
  if (status != LYNX_OK) return status;
  if (ret->url.socket_path[0] != 0) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    memcpy(local.sun_path, ret->url.socket_path, sizeof ret->url.socket_path);
    memcpy(&ret->address, &local, sizeof local);
    ret->length = sizeof local;
    return LYNX_OK;
  }
  (void)snprintf(port, sizeof port, "%d", ret->url.port);
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
  int code = getaddrinfo(ret->url.host, port, &hints, &found);
  if (code != 0 || found == NULL) return lynx_fail(error, LYNX_IO, "%s: %s", ret->url.host, code != 0 ? gai_strerror(code) : "no address");
  const struct addrinfo *chosen = found;
  for (const struct addrinfo *a = found; a != NULL && found->ai_next != NULL; a = a->ai_next)
    if (accepts(a)) { /* localhost is often ::1 first, and the server on 127.0.0.1 */
      chosen = a;
      break;
    }
  memcpy(&ret->address, chosen->ai_addr, chosen->ai_addrlen);
  ret->length = chosen->ai_addrlen;
  freeaddrinfo(found);
  return ret->url.tls ? make_tls(ca_file, ret, error) : LYNX_OK;
}

void transport_address_through(struct transport_address *address, int port) {
  const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  memcpy(&address->address, &here, sizeof here);
  address->length = sizeof here;
}

void transport_address_release(struct transport_address *address) {
  SSL_CTX_free(address->tls_context);
  address->tls_context = NULL;
}

static enum transport_answer fail_errno(struct transport *transport, const char *what) {
  (void)snprintf(transport->reason, sizeof transport->reason, "%s: %s", what, strerror(errno));
  return TRANSPORT_ERROR;
}

enum transport_answer transport_open(struct transport *transport, const struct transport_address *address) {
  *transport = (struct transport){.fd = -1};
  int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(transport, "socket");
  transport->fd = fd;
  int on = 1, stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  if (address->url.socket_path[0] == 0) (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps); /* without it the read lag is unknown, and said to be */
  if (address->url.tls) {
    SSL *tls = SSL_new(address->tls_context);
    if (tls == NULL || SSL_set_fd(tls, fd) != 1 || SSL_set_tlsext_host_name(tls, address->url.host) != 1 ||
        SSL_set1_host(tls, address->url.host) != 1) {
      SSL_free(tls);
      say_openssl(transport->reason, sizeof transport->reason, "TLS");
      return TRANSPORT_ERROR;
    }
    SSL_set_connect_state(tls);
    transport->tls = tls;
  }
  if (connect(fd, (const struct sockaddr *)&address->address, address->length) == 0 || errno == EINPROGRESS) return TRANSPORT_OK;
  if (errno == EAGAIN && address->url.socket_path[0] != 0) { /* a Unix socket says so where TCP would wait */
    transport_close(transport);
    return TRANSPORT_RETRY;
  }
  return fail_errno(transport, "connect");
}

static enum transport_answer tls_answer(struct transport *transport, int result, const char *what) {
  int code = SSL_get_error(transport->tls, result);
  transport->wants_write = code == SSL_ERROR_WANT_WRITE;
  if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) return TRANSPORT_RETRY;
  if (code == SSL_ERROR_ZERO_RETURN) return TRANSPORT_CLOSED;
  long verify = SSL_get_verify_result(transport->tls);
  if (verify != X509_V_OK)
    (void)snprintf(transport->reason, sizeof transport->reason, "%s: %s", what, X509_verify_cert_error_string(verify));
  else say_openssl(transport->reason, sizeof transport->reason, what);
  return TRANSPORT_ERROR;
}

enum transport_answer transport_connected(struct transport *transport) {
  int code = 0;
  socklen_t length = sizeof code;
  if (getsockopt(transport->fd, SOL_SOCKET, SO_ERROR, &code, &length) != 0 || code != 0) {
    errno = code;
    return fail_errno(transport, "connect");
  }
  if (transport->tls == NULL) return TRANSPORT_OK;
  ERR_clear_error();
  int result = SSL_do_handshake(transport->tls);
  if (result == 1) {
    transport->wants_write = false;
    return TRANSPORT_OK;
  }
  enum transport_answer answer = tls_answer(transport, result, "TLS handshake");
  return answer == TRANSPORT_CLOSED ? TRANSPORT_ERROR : answer;
}

enum transport_answer transport_write(struct transport *transport, const char *data, size_t length, size_t *ret_count) {
  *ret_count = 0;
  if (transport->tls != NULL) {
    ERR_clear_error();
    int n = SSL_write(transport->tls, data, length > INT32_MAX ? INT32_MAX : (int)length);
    if (n <= 0) return tls_answer(transport, n, "TLS write");
    *ret_count = (size_t)n;
    return TRANSPORT_OK;
  }
  ssize_t n = send(transport->fd, data, length, MSG_NOSIGNAL);
  if (n >= 0) {
    *ret_count = (size_t)n;
    return TRANSPORT_OK;
  }
  if (errno == EAGAIN || errno == EINTR) return TRANSPORT_RETRY;
  return fail_errno(transport, "write");
}

/* The kernel stamps arrivals with the realtime clock; both clocks are read now, so a step of the wall clock between arrival and
 * now shows as a lag out of all bounds, which counts as unknown. */
static int64_t lag_of(const struct msghdr *message, const struct lynx_clock *clock) {
  for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR((struct msghdr *)(uintptr_t)message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING) continue;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(c), sizeof stamp);
    if (stamp.tv_sec == 0 && stamp.tv_nsec == 0) return -1;
    int64_t lag = clock->realtime_ns(clock->context) - ((int64_t)stamp.tv_sec * 1000000000 + stamp.tv_nsec);
    return lag >= 0 && lag < 60000000000 ? lag : -1;
  }
  return -1;
}

enum transport_answer transport_read(struct transport *transport, const struct lynx_clock *clock, char *data, size_t size,
                                     size_t *ret_count, int64_t *ret_read_lag_ns) {
  *ret_count = 0;
  *ret_read_lag_ns = -1;
  if (transport->tls != NULL) {
    ERR_clear_error();
    int n = SSL_read(transport->tls, data, size > INT32_MAX ? INT32_MAX : (int)size);
    if (n <= 0) return tls_answer(transport, n, "TLS read");
    *ret_count = (size_t)n;
    return TRANSPORT_OK;
  }
  char control[256];
  struct iovec part = {data, size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t n = recvmsg(transport->fd, &message, 0);
  if (n > 0) {
    *ret_count = (size_t)n;
    *ret_read_lag_ns = lag_of(&message, clock);
    return TRANSPORT_OK;
  }
  if (n == 0) return TRANSPORT_CLOSED;
  if (errno == EAGAIN || errno == EINTR) return TRANSPORT_RETRY;
  return fail_errno(transport, "read");
}

void transport_close(struct transport *transport) {
  SSL_free(transport->tls);
  if (transport->fd >= 0) (void)close(transport->fd);
  transport->tls = NULL;
  transport->fd = -1;
}
