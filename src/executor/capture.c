#include "executor/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/endpoint.h"
#include "base/json.h"
#include "base/number.h"
#include "executor/listening.h"
#include "executor/probe_run.h"

/* --- which process serves --- */

struct search {
  const struct root *root;
  const char *table;
  int port;
  const char *address; /* as the kernel prints it; "": any */
  bool exact;          /* one that listens on just that address was found */
  unsigned long long inodes[64];
  size_t n_inodes;
  int64_t pid;
  char wanted[64];
  const char *at_pid;
};

static void find_inodes(struct search *search, const char *path) {
  struct buffer text;
  buffer_init(&text, 16 << 20);
  if (root_read(search->root, path, &text, NULL) == LYNX_OK)
    for (const char *line = text.data; line != NULL && *line != 0; line = strchr(line, '\n')) {
      if (*line == '\n' && *++line == 0) break;
      struct listening l;
      if (!listening_line(line, &l) || (int)l.port != search->port || search->n_inodes == LYNX_COUNT(search->inodes)) continue;
      /* Two may listen on one port of two addresses: the one that was asked for, else who listens on all. */
      bool any = strspn(l.address, "0") == strlen(l.address),
           asked = search->address[0] != 0 && strcasecmp(l.address, search->address) == 0;
      if (search->address[0] != 0 && !any && !asked && strlen(l.address) == strlen(search->address)) continue;
      if (asked && !search->exact) {
        search->exact = true;
        search->n_inodes = 0;
      }
      if (!search->exact || asked) search->inodes[search->n_inodes++] = l.inode;
    }
  buffer_release(&text);
}

static void look_at_descriptor(void *context, const char *name) {
  struct search *search = context;
  char path[128], target[128];
  (void)snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", search->at_pid, name);
  if (!root_read_link(search->root, path, target, sizeof target)) return;
  for (size_t i = 0; i < search->n_inodes; i++) {
    (void)snprintf(search->wanted, sizeof search->wanted, "socket:[%llu]", search->inodes[i]);
    int64_t pid;
    if (strcmp(target, search->wanted) == 0 && number_int64(search->at_pid, strlen(search->at_pid), &pid) &&
        (search->pid == 0 || pid < search->pid))
      search->pid = pid;
  }
}

static void look_at_process(void *context, const char *name) {
  struct search *search = context;
  if (name[0] < '0' || name[0] > '9') return;
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%.20s/fd", name);
  search->at_pid = name;
  (void)root_list(search->root, path, 65536, look_at_descriptor, search); /* another user's process: not readable, and not listed */
}

/* Num RefCount Protocol Flags Type St Inode Path: flags 00010000 where it listens. */
static void find_socket(struct search *search, const char *socket_path) {
  struct buffer text;
  buffer_init(&text, 16 << 20);
  size_t n = strlen(socket_path);
  if (root_read(search->root, "/proc/net/unix", &text, NULL) == LYNX_OK)
    for (const char *line = text.data; line != NULL && *line != 0; line = strchr(line, '\n')) {
      if (*line == '\n' && *++line == 0) break;
      unsigned flags;
      unsigned long long inode;
      int at = 0;
      if (sscanf(line, "%*s %*x %*x %x %*x %*x %llu %n", &flags, &inode, &at) != 2 || flags != 0x10000 || at == 0) continue;
      if (strncmp(line + at, socket_path, n) == 0 && (line[at + (int)n] == '\n' || line[at + (int)n] == 0) &&
          search->n_inodes < LYNX_COUNT(search->inodes))
        search->inodes[search->n_inodes++] = inode;
    }
  buffer_release(&text);
}

int64_t capture_find_listener(const struct root *root, const struct endpoint *endpoint) {
  struct in_addr address;
  char hex[16] = "";
  const char *host = endpoint->host;
  if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &address) == 1)
    (void)snprintf(hex, sizeof hex, "%08X", address.s_addr); /* in the byte order that /proc/net/tcp prints */
  struct search search = {.root = root, .port = endpoint->port, .address = hex};
  if (endpoint->socket_path[0] != 0) find_socket(&search, endpoint->socket_path);
  else {
    find_inodes(&search, "/proc/net/tcp");
    find_inodes(&search, "/proc/net/tcp6");
  }
  if (search.n_inodes > 0) (void)root_list(root, "/proc", 65536, look_at_process, &search);
  return search.pid;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b) {
  if (a == NULL || b == NULL || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET)
    return memcmp(&((const struct sockaddr_in *)a)->sin_addr, &((const struct sockaddr_in *)b)->sin_addr, sizeof(struct in_addr)) == 0;
  if (a->sa_family == AF_INET6)
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
  return false;
}

static const int64_t DEADLINE_NS = 5000000000; /* of the look-up and, where the request has no other, of each probe */

enum place { PLACE_LOCAL = 'l', PLACE_REMOTE = 'r', PLACE_UNRESOLVED = 'u', PLACE_LATE = 't' };

/* Does the endpoint's host stand for this machine? Loopback, or an address of one of its interfaces. */
static enum place look_up(const char *host) {
  struct addrinfo *found = NULL;
  struct ifaddrs *interfaces = NULL;
  if (getaddrinfo(host, NULL, &(struct addrinfo){.ai_socktype = SOCK_STREAM}, &found) != 0) return PLACE_UNRESOLVED;
  const struct sockaddr *a = found->ai_addr;
  const struct in_addr v4 = a->sa_family == AF_INET ? ((const struct sockaddr_in *)a)->sin_addr : (struct in_addr){.s_addr = 1};
  const struct in6_addr v6 = a->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)a)->sin6_addr : (struct in6_addr){{{1}}};
  bool local = (a->sa_family == AF_INET && (ntohl(v4.s_addr) >> 24) == 127) || v4.s_addr == INADDR_ANY || IN6_IS_ADDR_LOOPBACK(&v6) ||
               IN6_IS_ADDR_UNSPECIFIED(&v6);
  if (!local && getifaddrs(&interfaces) == 0)
    for (const struct ifaddrs *i = interfaces; i != NULL && !local; i = i->ifa_next) local = same_address(i->ifa_addr, a);
  freeifaddrs(interfaces);
  freeaddrinfo(found);
  return local ? PLACE_LOCAL : PLACE_REMOTE;
}

/* A name server that does not answer is waited for half a minute by the resolver, which takes no deadline: it is asked in a child. */
static enum place place_of(const char *host) {
  int ends[2];
  char place = PLACE_UNRESOLVED;
  if (pipe(ends) != 0) return look_up(host);
  pid_t pid = fork();
  if (pid == 0) {
    place = (char)look_up(host);
    _exit(write(ends[1], &place, 1) == 1 ? 0 : 1);
  }
  (void)close(ends[1]);
  if (pid < 0) place = (char)look_up(host);
  else {
    int64_t until_ns = clock_now(&clock_system) + DEADLINE_NS;
    int ready = -1;
    for (int64_t left; ready < 0 && (left = until_ns - clock_now(&clock_system)) > 0;)
      ready = poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, (int)(left / 1000000 + 1)); /* again after a signal */
    if (ready <= 0) place = PLACE_LATE;
    else if (read(ends[0], &place, 1) != 1) place = PLACE_UNRESOLVED;
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  (void)close(ends[0]);
  return (enum place)place;
}

/* --- the capture --- */

static void add_hole(const struct probe_target *target, struct fact_list *facts, const char *key, const char *what) {
  probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, key, FACT_ABSENT, what, "capture");
}

/* A listener that only passes bytes on: what serves is behind it. */
static bool forwards(const struct root *root, int64_t pid, char *name, size_t size) {
  static const char *const known[] = {"socat", "docker-proxy", "nginx",        "haproxy",     "envoy",   "traefik",
                                      "caddy", "apache",       "httpd",        "varnishd",    "stunnel", "ssh",
                                      "sshd",  "kubectl",      "rootlessport", "slirp4netns", "pasta",   "conmon"};
  char path[64], exe[512];
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
  if (!root_read_link(root, path, exe, sizeof exe)) return false;
  const char *slash = strrchr(exe, '/');
  (void)snprintf(name, size, "%.100s", slash != NULL ? slash + 1 : exe);
  size_t n = strlen(name);
  while (n > 0 && strchr("0123456789.-", name[n - 1]) != NULL) n--; /* socat1, stunnel4, apache2 */
  for (size_t i = 0; i < LYNX_COUNT(known); i++)
    if (strlen(known[i]) == n && memcmp(name, known[i], n) == 0) return true;
  return false;
}

static void find_serving_process(const struct capture_request *request, struct probe_target *target, struct fact_list *facts) {
  char text[400], name[128];
  struct endpoint endpoint;
  target->pid = request->pid;
  if (request->in_process) {
    if (request->pid == 0) target->why_not = "the workload runs inside lynxbench";
    return;
  }
  if (request->endpoint == NULL) {
    target->why_not = "no endpoint was given";
    if (request->pid == 0)
      add_hole(target, facts, "hole.serving-process", "no endpoint and no process id were given: what serves is not captured");
    return;
  }
  if (endpoint_parse(request->endpoint, &endpoint, NULL) != LYNX_OK) {
    (void)snprintf(text, sizeof text, "'%.200s' is not an endpoint: what serves is not captured", request->endpoint);
    add_hole(target, facts, "hole.serving-process", text);
    target->why_not = "the endpoint is not http://HOST:PORT";
    return;
  }
  if (request->behind_proxy) {
    (void)snprintf(text, sizeof text, "%.200s is a proxy: the servers behind it are not captured", request->endpoint);
    add_hole(target, facts, "hole.behind-proxy", text);
  }
  enum place place = PLACE_LOCAL;
  char where[128];
  if (endpoint.socket_path[0] != 0) (void)snprintf(where, sizeof where, "%s", endpoint.socket_path);
  else (void)snprintf(where, sizeof where, "port %d", endpoint.port);
  if (endpoint.socket_path[0] == 0) place = place_of(endpoint.host);
  /* A process of this host may have a network of its own, with addresses of its own. */
  if (place == PLACE_REMOTE && request->pid > 0 && !listening_here(request->root, request->pid)) place = PLACE_LOCAL;
  if (place != PLACE_LOCAL) {
    (void)snprintf(text, sizeof text,
                   place == PLACE_REMOTE ? "%.200s is on another host: nothing of the machine that serves is captured"
                   : place == PLACE_LATE ? "%.200s: no name server answered in time: nothing of what serves is captured"
                                         : "%.200s does not resolve to an address: nothing of what serves is captured",
                   request->endpoint);
    if (!request->hosts_known) add_hole(target, facts, "hole.remote-host", text);
    target->why_not = place == PLACE_REMOTE ? "the endpoint is on another host" : "the endpoint's host has no address that is known";
    return;
  }
  int64_t listener = capture_find_listener(request->root, &endpoint);
  if (target->pid == 0) target->pid = listener > 0 ? listener : request->started_pid;
  if (listener > 0 && request->pid == 0 && !request->behind_proxy && forwards(request->root, listener, name, sizeof name)) {
    (void)snprintf(text, sizeof text,
                   "%s is held by %.100s, which passes requests on: the server behind it is not captured (give executor.pid, or say "
                   "behind_proxy)",
                   where, name);
    add_hole(target, facts, "hole.behind-proxy", text);
  }
  if (listener > 0 || request->pid > 0) return;
  (void)snprintf(text, sizeof text, "%s listens on this machine in a process that is not visible from here: %s, or give executor.pid",
                 where,
                 geteuid() != 0 ? "it may be another user's; run as root, or as its user"
                                : "root sees the processes of its own container only; start this one in the host's (docker: --pid=host "
                                  "--cap-add=SYS_PTRACE) or in the server's");
  add_hole(target, facts, "hole.serving-process", text);
  target->why_not = "the process that listens is not visible";
}

bool capture_is_local(const struct endpoint *endpoint) {
  return endpoint->socket_path[0] != 0 || place_of(endpoint->host) == PLACE_LOCAL;
}

struct descent {
  const struct root *root;
  struct family {
    int64_t pid, parent;
  } * all;
  size_t n;
};

enum { PROCESSES_MAX = 65536, TREE_MAX = 256, PROBES_MAX = 64 };

static void note_parent(void *context, const char *name) {
  struct descent *descent = context;
  char path[64];
  struct buffer text;
  int64_t pid, parent;
  if (!number_int64(name, strlen(name), &pid) || descent->n >= PROCESSES_MAX) return;
  (void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  buffer_init(&text, 4096);
  const char *after = root_read(descent->root, path, &text, NULL) == LYNX_OK ? strrchr(text.data, ')') : NULL;
  bool good = after != NULL && sscanf(after + 1, " %*c %" SCNd64, &parent) == 1; /* the name before it may hold anything, lines too */
  buffer_release(&text);
  if (!good) return;
  if (descent->n % 1024 == 0) descent->all = xgrow(descent->all, descent->n + 1024, sizeof *descent->all);
  descent->all[descent->n++] = (struct family){pid, parent};
}

/* The serving process and all that descend from it: servers keep their engine and its workers in children. */
static size_t find_tree(const struct root *root, int64_t pid, int64_t tree[TREE_MAX]) {
  struct descent descent = {.root = root};
  size_t n = 0;
  if (pid <= 0) return 0;
  tree[n++] = pid;
  (void)root_list(root, "/proc", PROCESSES_MAX, note_parent, &descent);
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < descent.n && n < TREE_MAX; k++)
      if (descent.all[k].parent == tree[i] && descent.all[k].pid != pid) tree[n++] = descent.all[k].pid;
  free(descent.all);
  return n;
}

void capture_run(const struct capture_request *request, struct fact_list *ret) {
  int64_t tree[TREE_MAX];
  struct probe_target target = {.root = request->root,
                                .clock = request->clock,
                                .tree = tree,
                                .digest_budget = request->digest_budget,
                                .digest_anew = request->digest_anew,
                                .ask_libraries = request->ask_libraries,
                                .show_arguments = request->show_arguments,
                                .n_show_arguments = request->n_show_arguments};
  find_serving_process(request, &target, ret);
  target.n_tree = find_tree(request->root, target.pid, tree);
  if (request->ask_routes) target.endpoint = request->endpoint;
  const struct probe *in_order[PROBES_MAX + 1];
  size_t n = 0;
  for (int stage = 0; stage <= 2; stage++)
    for (size_t i = 0; probes_all[i] != NULL && n < PROBES_MAX; i++)
      if (probes_all[i]->stage == stage) in_order[n++] = probes_all[i];
  in_order[n] = NULL;
  probes_run(in_order, &target, request->deadline_ns > 0 ? request->deadline_ns : DEADLINE_NS, ret);
  fact_sort(ret);
}

static bool add_to_digest(struct digest *digest, const struct fact_list *facts, int layer) {
  bool any = false;
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *fact = &facts->items[i];
    if (fact->kind != FACT_IDENTITY || (layer >= 0 && fact->layer != (enum layer)layer)) continue;
    any = true;
    const char *parts[] = {layer_text(fact->layer), fact->key, fact_status_text(fact->status),
                           fact_is_known(fact) || fact->status == FACT_WITHHELD ? fact->value : "", fact->unit};
    for (size_t k = 0; k < LYNX_COUNT(parts); k++) digest_update(digest, parts[k], strlen(parts[k]) + 1); /* the final 0 separates */
  }
  return any;
}

static bool fingerprint(const struct fact_list *facts, int layer, char ret[DIGEST_HEX]) {
  struct digest digest = {{0}};
  uint8_t result[DIGEST_BYTES];
  digest_init(&digest);
  bool any = add_to_digest(&digest, facts, layer);
  digest_final(&digest, result);
  digest_hex(result, ret);
  return any;
}

void capture_fingerprint(const struct fact_list *facts, char ret[DIGEST_HEX]) {
  (void)fingerprint(facts, -1, ret); /* an empty capture has one too */
}

bool capture_fingerprint_layer(const struct fact_list *facts, enum layer layer, char ret[DIGEST_HEX]) {
  return fingerprint(facts, (int)layer, ret);
}

/* --- files --- */

bool capture_write(const struct fact_list *facts, const struct capture_head *head, struct buffer *ret) {
  char whole[DIGEST_HEX];
  struct json_writer json;
  capture_fingerprint(facts, whole);
  json_begin_object(&json, ret);
  json_put_int(&json, "lynx_capture", 1);
  json_put_text(&json, "taken_at", head->taken_at);
  json_put_text(&json, "fingerprint", head->fingerprint != NULL ? head->fingerprint : whole);
  json_key(&json, "fingerprints");
  json_open_object(&json);
  for (int layer = 0; layer < LAYER_COUNT; layer++) {
    char of_layer[DIGEST_HEX];
    if (capture_fingerprint_layer(facts, (enum layer)layer, of_layer)) json_put_text(&json, layer_text((enum layer)layer), of_layer);
  }
  json_close(&json);
  json_put_text(&json, "disclosed", head->disclosed != NULL ? head->disclosed : "full");
  if (facts->salt[0] != 0) json_put_text(&json, "salt", facts->salt);
  json_key(&json, "facts");
  json_open_array(&json);
  for (size_t i = 0; i < facts->n_items; i++) {
    const struct fact *fact = &facts->items[i];
    json_open_object(&json);
    json_put_text(&json, "layer", layer_text(fact->layer));
    json_put_text(&json, "key", fact->key);
    json_put_text(&json, "kind", fact_kind_text(fact->kind));
    json_put_text(&json, "status", fact_status_text(fact->status));
    json_put_text(&json, "value", fact->value);
    if (fact->unit[0] != 0) json_put_text(&json, "unit", fact->unit);
    json_put_text(&json, "source", fact->source);
    json_close(&json);
  }
  json_close(&json);
  return json_end_line(&json);
}

enum lynx_status capture_read(const char *json, size_t length, struct fact_list *ret, struct lynx_error *error) {
  json_t *root = json_parse(json, length, 32 << 20, error);
  if (root == NULL) return error != NULL && error->status != LYNX_OK ? error->status : LYNX_INPUT;
  enum lynx_status status = LYNX_OK;
  if (json_get_int(root, "lynx_capture", 0) != 1)
    status = lynx_fail(error, LYNX_INPUT, "not a capture made by 'lynxbench capture --json' ('lynx_capture' is not 1)");
  const char *salt = json_get_text(root, "salt", "");
  if (strlen(salt) == sizeof ret->salt - 1 && strspn(salt, "0123456789abcdef") == strlen(salt))
    (void)snprintf(ret->salt, sizeof ret->salt, "%s", salt);
  size_t i;
  json_t *item;
  if (status == LYNX_OK && json_array_size(json_object_get(root, "facts")) == 0)
    status = lynx_fail(error, LYNX_INPUT, "'facts' is not a list of facts, or holds none");
  json_array_foreach(json_object_get(root, "facts"), i, item) {
    struct fact fact = {.key = json_get_text(item, "key", ""),
                        .value = json_get_text(item, "value", ""),
                        .unit = json_get_text(item, "unit", ""),
                        .source = json_get_text(item, "source", "")};
    if (status != LYNX_OK) break;
    if (fact.key[0] == 0 || !layer_parse(json_get_text(item, "layer", ""), &fact.layer) ||
        !fact_status_parse(json_get_text(item, "status", ""), &fact.status) ||
        !fact_kind_parse(json_get_text(item, "kind", "identity"), &fact.kind))
      status = lynx_fail(error, LYNX_INPUT, "facts[%zu] lacks a known layer, key, kind or status", i);
    else if (i >= 100000) status = lynx_fail(error, LYNX_LIMIT, "more than 100000 facts");
    else fact_add(ret, &fact);
  }
  fact_sort(ret);
  /* Where nothing is withheld, what was written by hand shows. */
  const char *said = json_get_text(root, "fingerprint", "");
  char found[DIGEST_HEX];
  capture_fingerprint(ret, found);
  if (status == LYNX_OK && said[0] != 0 && strcmp(json_get_text(root, "disclosed", "full"), "full") == 0 && strcmp(said, found) != 0)
    status = lynx_fail(error, LYNX_INPUT, "the facts do not have the fingerprint that the file says (%.12s, found %.12s): it was edited",
                       said, found);
  json_decref(root);
  return status;
}
