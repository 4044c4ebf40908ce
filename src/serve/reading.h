/* serve/reading.h: may this request read? By a token of `readers`, or by the word of a proxy that the operator named.
 * Links    shared/TOKEN.html is the page of one result, for whoever has the link: of address shared/ROOT-LEVEL.html
 * Rule     Authorization: Bearer TOKEN; a cookie; once ?token=TOKEN, which is answered with the cookie; or whom the proxy at that address
 *          names in that header: "", "-" and "(null)", which proxies send where nobody is logged in, are nobody
 * Threads  any */
#ifndef SERVE_READING_H
#define SERVE_READING_H

#include <microhttpd.h>

#include "serve/readers.h"

struct reading {
  struct readers *readers;             /* NULL: everybody reads */
  const char *proxy, *identity_header; /* an IPv4 address; NULL: none */
  bool secret;                         /* by TLS */
};

/* The name of a header in which a proxy can say who somebody is: none that says something else. */
bool reading_header_is_good(const char *name);

bool reading_allows(const struct reading *reading, struct MHD_Connection *connection);
/* True: it was answered, with a cookie or with what it takes. */
bool reading_stops(const struct reading *reading, struct MHD_Connection *connection, const char *url, enum MHD_Result *ret);

/* Is this address a link that is good? Then that is the page's own. */
bool reading_link(const struct reading *reading, const char *url, char *ret_address, size_t size);

#endif
