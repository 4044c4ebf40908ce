#include "watch/connections.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"

enum { BUCKETS = 1 << 14 };

struct connection_key {
  struct packet_side client, server;
};

struct connection {
  struct connection *next;
  struct connection_key key;
  struct {
    int interface;
    int64_t seen_ns;
  } by[2]; /* what its client sends, and what it is sent */
  int64_t last_ns;
  size_t bytes; /* as they were counted */
  struct conversation *conversation;
};

struct server_address {
  uint8_t address[16];
  bool is_v6;
};

struct connections {
  uint16_t port;
  bool loopback;
  uint64_t seed;
  struct connection *buckets[BUCKETS];
  size_t n;
  struct server_address *at; /* sorted */
  size_t n_at, at_room, held_in_all, bytes_in_all;
  size_t hand; /* the bucket at which the next one that may leave is looked for */
  struct watch_counts counts;
  struct conversation_sink sink;
};

struct connections *connections_open(uint16_t port, uint64_t seed, int64_t resolution_ns,
                                     void (*done)(void *context, const struct watched_request *request), void *context) {
  struct connections *all = xalloc(1, sizeof *all);
  all->port = port;
  all->seed = seed;
  all->sink = (struct conversation_sink){
      .context = context, .done = done, .counts = &all->counts, .held_in_all = &all->held_in_all, .resolution_ns = resolution_ns};
  return all;
}

static int by_address(const void *a, const void *b) {
  const struct server_address *x = a, *y = b;
  return x->is_v6 != y->is_v6 ? x->is_v6 - y->is_v6 : memcmp(x->address, y->address, 16);
}

void connections_address(struct connections *all, const uint8_t address[16], bool is_v6) {
  all->at = xroom(all->at, all->n_at, &all->at_room, sizeof *all->at);
  struct server_address *at = &all->at[all->n_at++];
  *at = (struct server_address){.is_v6 = is_v6};
  memcpy(at->address, address, 16);
  qsort(all->at, all->n_at, sizeof *all->at, by_address); /* at the beginning, and few */
}

void connections_loopback(struct connections *all) {
  all->loopback = true;
}

static bool is_server(const struct connections *all, const struct packet_side *side, bool is_v6) {
  if (side->port != all->port) return false;
  if (all->n_at == 0 && !all->loopback) return true;
  if (all->loopback && !is_v6 && side->address[0] == 127) return true;
  struct server_address wanted = {.is_v6 = is_v6};
  memcpy(wanted.address, side->address, 16);
  return all->n_at > 0 && bsearch(&wanted, all->at, all->n_at, sizeof wanted, by_address) != NULL;
}

/* Mixed with the seed, so that whoever chooses addresses and ports cannot choose the bucket. */
static size_t bucket_of(const struct connections *all, const struct connection_key *key) {
  const unsigned char *p = (const unsigned char *)key;
  uint64_t h = all->seed;
  for (size_t i = 0; i < sizeof *key; i++) {
    h = (h ^ p[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return (size_t)(h % BUCKETS);
}

static void remove_connection(struct connections *all, struct connection **place, int64_t now_ns) {
  struct connection *gone = *place;
  *place = gone->next;
  conversation_close(gone->conversation, now_ns, &all->sink);
  all->bytes_in_all -= gone->bytes;
  free(gone);
  all->n--;
}

static struct connection **find(struct connections *all, const struct connection_key *key) {
  struct connection **place = &all->buckets[bucket_of(all, key)];
  while (*place != NULL && memcmp(&(*place)->key, key, sizeof *key) != 0) place = &(*place)->next;
  return place;
}

/* Room for one more: of those without a request under way, or one that is being sent, one leaves, which is read again when its next request
 * begins. False: all are busy. */
static bool make_room(struct connections *all, int64_t now_ns) {
  for (size_t i = 0; i < BUCKETS; i++) {
    size_t bucket = (all->hand + i) % BUCKETS;
    for (struct connection **place = &all->buckets[bucket]; *place != NULL; place = &(*place)->next) {
      if (conversation_is_busy((*place)->conversation)) continue;
      all->hand = bucket + 1;
      remove_connection(all, place, now_ns);
      return true;
    }
  }
  return false;
}

/* Who takes most of the memory leaves, until there is enough: a stranger's long texts are not to be others' end. */
static void keep_within_memory(struct connections *all, int64_t now_ns) {
  while (all->bytes_in_all > CONNECTIONS_BYTES_MAX) {
    struct connection **most = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
      for (struct connection **place = &all->buckets[i]; *place != NULL; place = &(*place)->next)
        if (most == NULL || (*place)->bytes > (*most)->bytes) most = place;
    if (most == NULL) return;
    conversation_forget((*most)->conversation, &all->sink);
    remove_connection(all, most, now_ns);
    all->counts.n_unfollowed++;
  }
}

/* The first copy of each packet is read, whichever interface shows it. */
static bool is_its_own(struct connection *c, bool from_client, int interface, int64_t at_ns) {
  bool own = c->by[!from_client].interface == interface || c->by[!from_client].seen_ns == 0 ||
             at_ns - c->by[!from_client].seen_ns > CONNECTION_MOVED_NS;
  if (!own) return false;
  c->by[!from_client].interface = interface;
  c->by[!from_client].seen_ns = at_ns;
  return true;
}

void connections_packet(struct connections *all, int interface, enum packet_way way, const uint8_t *packet, size_t captured, size_t whole,
                        int64_t at_ns) {
  struct segment s;
  if (!packet_read(packet, captured, whole, &s)) return;
  /* What comes in and says that our server sent it is forged; so is what goes out to it. */
  bool from_client = way != PACKET_OUT_OF && is_server(all, &s.to, s.is_v6),
       from_server = way != PACKET_INTO && is_server(all, &s.from, s.is_v6);
  if (from_client == from_server) return; /* of another server, or both ports are the same: nobody can tell who asks */
  struct connection_key key;
  memset(&key, 0, sizeof key); /* padding, too: it is compared and mixed as bytes */
  memcpy(key.client.address, (from_client ? &s.from : &s.to)->address, 16);
  memcpy(key.server.address, (from_client ? &s.to : &s.from)->address, 16);
  key.client.port = (from_client ? &s.from : &s.to)->port;
  key.server.port = all->port;
  struct connection **place = find(all, &key);
  if (*place == NULL) {
    if ((s.flags & TCP_RST) != 0 || (s.length == 0 && (s.flags & TCP_SYN) == 0)) return; /* nothing begins with that */
    if (all->n == CONNECTIONS_MAX) {
      if (!make_room(all, at_ns)) {
        all->counts.n_unfollowed += (s.flags & TCP_SYN) != 0;
        return;
      }
      place = find(all, &key); /* its bucket may have changed */
    }
    *place = xalloc(1, sizeof **place);
    **place = (struct connection){.key = key, .conversation = conversation_open()};
    all->n++;
  }
  struct connection *c = *place;
  if (!is_its_own(c, from_client, interface, at_ns)) return;
  c->last_ns = at_ns;
  conversation_segment(c->conversation, &s, from_client, at_ns, &all->sink);
  if (conversation_is_over(c->conversation)) {
    remove_connection(all, place, at_ns);
    return;
  }
  all->bytes_in_all -= c->bytes;
  c->bytes = conversation_bytes(c->conversation);
  all->bytes_in_all += c->bytes;
  keep_within_memory(all, at_ns);
}

void connections_age(struct connections *all, int64_t now_ns) {
  for (size_t i = 0; i < BUCKETS; i++)
    for (struct connection **place = &all->buckets[i]; *place != NULL;) {
      struct connection *c = *place;
      int64_t silent = now_ns - c->last_ns;
      conversation_age(c->conversation, now_ns, &all->sink);
      bool leaves = conversation_is_over(c->conversation) || silent > CONNECTION_STUCK_NS ||
                    (silent > CONNECTION_IDLE_NS && !conversation_is_open(c->conversation));
      if (leaves) remove_connection(all, place, now_ns);
      else place = &c->next;
    }
}

int64_t connections_oldest(const struct connections *all) {
  int64_t oldest = INT64_MAX;
  for (size_t i = 0; i < BUCKETS; i++)
    for (const struct connection *c = all->buckets[i]; c != NULL; c = c->next) {
      int64_t asked = conversation_oldest(c->conversation);
      if (asked < oldest) oldest = asked;
    }
  return oldest;
}

const struct watch_counts *connections_counts(const struct connections *all) {
  return &all->counts;
}

void connections_close(struct connections *all, int64_t now_ns) {
  if (all == NULL) return;
  for (size_t i = 0; i < BUCKETS; i++)
    while (all->buckets[i] != NULL) remove_connection(all, &all->buckets[i], now_ns);
  free(all->at);
  free(all);
}
