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
  int interface;
  int64_t last_ns;
  size_t bytes; /* as they were counted */
  struct conversation *conversation;
};

struct connections {
  uint16_t port;
  uint64_t seed;
  struct connection *buckets[BUCKETS];
  size_t n;
  struct {
    uint8_t address[16];
    bool is_v6;
  } at[CONNECTIONS_ADDRESSES_MAX];
  size_t n_at, held_in_all, bytes_in_all;
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

void connections_address(struct connections *all, const uint8_t address[16], bool is_v6) {
  if (all->n_at == CONNECTIONS_ADDRESSES_MAX) return;
  memcpy(all->at[all->n_at].address, address, 16);
  all->at[all->n_at++].is_v6 = is_v6;
}

static bool is_server(const struct connections *all, const struct packet_side *side, bool is_v6) {
  if (side->port != all->port) return false;
  bool found = all->n_at == 0;
  for (size_t i = 0; i < all->n_at && !found; i++) found = all->at[i].is_v6 == is_v6 && memcmp(all->at[i].address, side->address, 16) == 0;
  return found;
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

/* Room for one more: of those without a request under way one leaves, which is read again when its next request begins. False: all are
 * busy. */
static bool make_room(struct connections *all, int64_t now_ns) {
  for (size_t i = 0; i < BUCKETS; i++) {
    size_t bucket = (all->hand + i) % BUCKETS;
    for (struct connection **place = &all->buckets[bucket]; *place != NULL; place = &(*place)->next) {
      if (conversation_is_open((*place)->conversation)) continue;
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

void connections_packet(struct connections *all, int interface, const uint8_t *packet, size_t captured, size_t whole, int64_t at_ns) {
  struct segment s;
  if (!packet_read(packet, captured, whole, &s)) return;
  bool from_client = is_server(all, &s.to, s.is_v6), from_server = is_server(all, &s.from, s.is_v6);
  if (from_client == from_server) return; /* of another server, or both ports are the same: nobody can tell who asks */
  struct connection_key key;
  memset(&key, 0, sizeof key); /* padding, too: it is compared and mixed as bytes */
  memcpy(key.client.address, (from_client ? &s.from : &s.to)->address, 16);
  memcpy(key.server.address, (from_client ? &s.to : &s.from)->address, 16);
  key.client.port = (from_client ? &s.from : &s.to)->port;
  key.server.port = all->port;
  struct connection **place = find(all, &key);
  if (*place == NULL) {
    if ((s.flags & TCP_RST) != 0) return;
    if (all->n == CONNECTIONS_MAX) {
      if (!make_room(all, at_ns)) {
        all->counts.n_unfollowed += (s.flags & TCP_SYN) != 0;
        return;
      }
      place = find(all, &key); /* its bucket may have changed */
    }
    *place = xalloc(1, sizeof **place);
    **place = (struct connection){.key = key, .interface = interface, .conversation = conversation_open()};
    all->n++;
    all->counts.n_connections++;
  }
  struct connection *c = *place;
  if (c->interface != interface) return;
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
      bool leaves = silent > CONNECTION_STUCK_NS || (silent > CONNECTION_IDLE_NS && !conversation_is_open(c->conversation));
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
  free(all);
}
