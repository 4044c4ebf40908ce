/* serve/door.h: how long a visitor may take, and whom a request says that it is for.
 *
 * Deadlines  a request's head DOOR_HEAD_S after the connection or the last answer; a body, and an answer, DOOR_BODY_S and a second more for
 *            every DOOR_RATE bytes. Whoever is slower is shown the door: an idle time alone would let a byte now and then hold a place
 * Crowds     where more than DOOR_CROWDED places are taken, each newcomer costs the address that has most of them one: a connection whose
 *            head has not come, else the oldest. All of 127.0.0.0/8 is one address. So there is a place for who is new
 * Names      a request's Host must be an address, localhost, or a name that was given; its Origin, where a browser sends one, is that
 *            Host with its port, or a name that was given: a page elsewhere, on another port too, cannot make a visitor's browser read or write here
 * Threads    any */
#ifndef SERVE_DOOR_H
#define SERVE_DOOR_H

#include <microhttpd.h>

#include "base/status.h"

/* Many of one address: a team may be behind one. */
enum {
  DOOR_HEAD_S = 10,
  DOOR_BODY_S = 30,
  DOOR_RATE = 64 << 10,
  DOOR_PLACES = 768,
  DOOR_PLACES_PER_ADDRESS = 256,
  DOOR_CROWDED = 512,
  DOOR_UNREAD = 128 << 10 /* bytes of an answer that the system keeps for a visitor who does not read: it would keep megabytes for each */
};

struct door;

struct door *door_open(const char *const *names, size_t n_names); /* the names live as long as the door; NULL: no memory or thread */
void door_close(struct door *door);                               /* accepts NULL */

/* For MHD_OPTION_NOTIFY_CONNECTION; context: the door. */
void door_connection(void *context, struct MHD_Connection *connection, void **visit, enum MHD_ConnectionNotificationCode what);
/* The visitor has until then for so many bytes, of a body or an answer; -1: for the next request's head. */
void door_allow(struct door *door, struct MHD_Connection *connection, int64_t bytes);
/* A header twice that is only read once, or one that some read and some do not: that is two requests to whoever reads the other one. */
bool door_is_ambiguous(struct MHD_Connection *connection, const char *version);
/* No page asks, or one of this server: of the place that the request is for. */
bool door_is_own_page(struct MHD_Connection *connection);
/* Sends that, and lets it go; NULL: the connection ends. Every answer goes through it. */
enum MHD_Result door_answer(struct MHD_Connection *connection, unsigned code, const char *type, struct MHD_Response *response);
/* NULL, or what is wrong with whom the request is for. */
const char *door_refuses(const struct door *door, struct MHD_Connection *connection);

#endif
