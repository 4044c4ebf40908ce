/* What comes over a connection to a ledger that is served: any bytes. A real server on a socket, a real ledger behind it; whatever is
 * asked, it answers or closes, and the ledger stays as it was. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ledger/ledger.h"
#include "serve/log_server.h"
#include "tests/fuzz/holds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAIT_MS = 20 }; /* after it, nothing more is expected of an open connection */

static struct ledger *ledger, *files, *adds;
static struct running *running;
static int port;
static char folder[] = "/tmp/lynx-fuzz-serve-XXXXXX";

static void clean_up(void) {
  char command[100];
  (void)snprintf(command, sizeof command, "rm -rf %s", folder);
  (void)!system(command);
}

/* Of a file that a form brought: its bytes are there, and its name ends. */
static void look(void *context, int fd, const char *name, const atomic_int *stop, struct served_page *ret) {
  char some[64];
  (void)context;
  (void)stop;
  HOLDS(name[0] != 0 && strlen(name) < 200);
  HOLDS(lseek(fd, 0, SEEK_SET) == 0 && read(fd, some, sizeof some) >= 0);
  *ret = (struct served_page){.status = 200, .type = "text/plain"};
  buffer_init(&ret->body, 100);
  (void)buffer_text(&ret->body, "looked");
}

static bool no_page(void *context, const char *address, bool compressed, struct served_page *ret) {
  (void)context, (void)address, (void)compressed, (void)ret;
  return false;
}

static void begin(void) {
  static const uint8_t seed[SIGNATURE_KEY_BYTES] = {7};
  struct signing_key *key = signing_key_of_seed(seed);
  struct signer admin = {.name = "ml", .key = key};
  struct lynx_error error = {0};
  struct log_server *server;
  static const char *const names[] = {"ledger.example"};
  char path[80];
  HOLDS(mkdtemp(folder) != NULL && atexit(clean_up) == 0);
  (void)snprintf(path, sizeof path, "%s/a.ledger", folder);
  const struct ledger_start start = {.origin = "a.ledger", .admin = &admin, .log_key = key};
  HOLDS(ledger_create(path, &start, &error) == LYNX_OK);
  HOLDS(ledger_open(path, STORE_WRITE, key, &ledger, &error) == LYNX_OK && ledger_open(path, STORE_WRITE, key, &files, &error) == LYNX_OK);
  const struct log_server_at at = {.address = "127.0.0.1",
                                   .spool = folder,
                                   .names = names,
                                   .n_names = 1,
                                   .pages = {no_page, look, NULL},
                                   .running = running = running_open()};
  HOLDS(ledger_open(path, STORE_WRITE, key, &adds, &error) == LYNX_OK);
  const struct served_ledger served = {ledger, adds, files};
  HOLDS(log_server_start(&served, &at, &port, &server, &error) == LYNX_OK);
}

static void say(const uint8_t *data, size_t size) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char answer[4096];
  if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0) {
    if (fd >= 0) (void)close(fd);
    return;
  }
  size_t sent = 0;
  for (ssize_t n = 1; sent < size && n > 0; sent += n > 0 ? (size_t)n : 0) n = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
  (void)shutdown(fd, SHUT_WR);
  while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WAIT_MS) == 1 && recv(fd, answer, sizeof answer, 0) > 0)
    ;
  (void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (ledger == NULL) begin();
  struct lynx_error error = {0};
  static struct running_run runs[RUNNING_MAX];
  HOLDS(running_tell(running, (struct bytes){(const char *)data, size}, &error) != LYNX_OK); /* nobody has begun */
  HOLDS(running_list(running, runs) == 0);
  say(data, size);
  HOLDS(ledger_policy(ledger)->number == 1);
  return 0;
}
