/* drivers/transport.h: bytes to and from one non-blocking socket, in the clear or through TLS, with the same four calls.
 * Result   TRANSPORT_OK with a count; RETRY when the socket is not ready; CLOSED at a proper end; ERROR with errno's or
 *          OpenSSL's words in transport->reason
 * Times    read_lag_ns: how long the last segment of a read lay in the kernel; -1 where it cannot be told (TLS, no stamps) */
#ifndef DRIVERS_TRANSPORT_H
#define DRIVERS_TRANSPORT_H

#include <sys/socket.h>

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/status.h"

enum transport_answer { TRANSPORT_OK, TRANSPORT_RETRY, TRANSPORT_CLOSED, TRANSPORT_ERROR };

struct transport_address {
  struct sockaddr_storage address;
  socklen_t length;
  struct endpoint url;
  void *tls_context; /* SSL_CTX */
};

struct transport {
  int fd;           /* -1: closed */
  void *tls;        /* SSL */
  bool wants_write; /* TLS: the handshake or a read waits for writability */
  char reason[160];
};

/* "http://host:port/base", "https://...": resolves the name (blocking; before the run). */
enum lynx_status transport_resolve(const char *url, const char *ca_file, struct transport_address *ret,
                                   struct lynx_error *error) LYNX_MUST_CHECK;
/* Connects to this port of 127.0.0.1 instead; what requests and certificates name stays. */
void transport_address_through(struct transport_address *address, int port);
void transport_address_release(struct transport_address *address);

/* Starts connecting. RETRY: the server's queue is full (Unix sockets say so); nothing is open. */
enum transport_answer transport_open(struct transport *transport, const struct transport_address *address);
/* Called when the socket is writable (or readable, for TLS) until it says OK. */
enum transport_answer transport_connected(struct transport *transport);
enum transport_answer transport_write(struct transport *transport, const char *data, size_t length, size_t *ret_count);
enum transport_answer transport_read(struct transport *transport, const struct lynx_clock *clock, char *data, size_t size,
                                     size_t *ret_count, int64_t *ret_read_lag_ns);
void transport_close(struct transport *transport);

#endif
