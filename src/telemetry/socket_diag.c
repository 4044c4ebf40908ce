#include "telemetry/socket_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWERS_MAX = 1024, ESTABLISHED = 1 };

/* True: more comes. */
static bool take_answer(const char *bytes, size_t n, socket_diag_take *take, void *context, bool *ret_whole) {
  for (size_t at = 0; at + sizeof(struct nlmsghdr) <= n;) {
    struct nlmsghdr head;
    (void)memcpy(&head, bytes + at, sizeof head);
    *ret_whole = head.nlmsg_type == NLMSG_DONE;
    if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR || head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > n - at)
      return false;
    take(context, bytes + at + NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN);
    at += NLMSG_ALIGN(head.nlmsg_len);
  }
  return true;
}

static bool ask(const void *question, size_t n, socket_diag_take *take, void *context) {
  static const struct timeval patience = {.tv_usec = 100000};
  char bytes[16384];
  bool whole = false;
  int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return false;
  bool asked = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 && send(fd, question, n, 0) == (ssize_t)n;
  for (int i = 0; asked && i < ANSWERS_MAX; i++) {
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    if (got <= 0 || !take_answer(bytes, (size_t)got, take, context, &whole)) break;
  }
  (void)close(fd); /* only read */
  return whole;
}

static bool ask_connections(unsigned char family, unsigned states, unsigned char also, socket_diag_take *take, void *context) {
  const struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 question;
  } message = {.head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .question = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = also, .idiag_states = states}};
  return ask(&message, sizeof message, take, context);
}

bool socket_diag_connections(unsigned char family, unsigned states, socket_diag_take *take, void *context) {
  return ask_connections(family, states, 0, take, context);
}

bool socket_diag_connections_told(unsigned char family, unsigned states, socket_diag_take *take, void *context) {
  return ask_connections(family, states, 1U << (INET_DIAG_INFO - 1), take, context);
}

bool socket_diag_info(const char *message, size_t length, struct tcp_info *ret) {
  size_t at = NLMSG_ALIGN(sizeof(struct inet_diag_msg));
  for (struct rtattr attribute; at + sizeof attribute <= length; at += RTA_ALIGN(attribute.rta_len)) {
    (void)memcpy(&attribute, message + at, sizeof attribute);
    size_t n = attribute.rta_len;
    if (n < sizeof attribute || n > length - at) return false;
    if (attribute.rta_type != INET_DIAG_INFO) continue;
    if (n - RTA_LENGTH(0) < offsetof(struct tcp_info, tcpi_min_rtt)) return false; /* of Linux before 4.6 */
    (void)memcpy(ret, message + at + RTA_LENGTH(0), n - RTA_LENGTH(0) < sizeof *ret ? n - RTA_LENGTH(0) : sizeof *ret);
    return true;
  }
  return false;
}

int socket_diag_open(void) {
  static const struct timeval patience = {.tv_usec = 20000};
  int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0) return fd;
  (void)close(fd); /* nothing was asked */
  return -1;
}

static bool answer_of(int asks, struct tcp_info *ret) {
  char bytes[4096];
  struct nlmsghdr head;
  ssize_t got = recv(asks, bytes, sizeof bytes, 0);
  if (got < (ssize_t)sizeof head) return false;
  (void)memcpy(&head, bytes, sizeof head);
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > (size_t)got) return false;
  return socket_diag_info(bytes + NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN, ret);
}

bool socket_diag_one(int asks, unsigned char family, const struct inet_diag_sockid *id, struct tcp_info *ret) {
  const struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 question;
  } message = {
      .head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
      .question = {
          .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_ext = 1U << (INET_DIAG_INFO - 1), .idiag_states = ~0U, .id = *id}};
  return send(asks, &message, sizeof message, 0) == (ssize_t)sizeof message && answer_of(asks, ret);
}

bool socket_holds_back(const struct tcp_info *i) {
  bool waits = i->tcpi_notsent_bytes > 0 && i->tcpi_notsent_bytes < i->tcpi_snd_mss, room = i->tcpi_unacked < i->tcpi_snd_cwnd;
  return waits && room && i->tcpi_unacked > 0;
}

bool socket_diag_streams(socket_diag_take *take, void *context) {
  const struct {
    struct nlmsghdr head;
    struct unix_diag_req question;
  } message = {.head = {.nlmsg_len = sizeof message, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
               .question = {.sdiag_family = AF_UNIX, .udiag_states = 1U << ESTABLISHED, .udiag_show = UDIAG_SHOW_PEER}};
  return ask(&message, sizeof message, take, context);
}
