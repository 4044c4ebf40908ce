/* base/xml.h: a text of XML, by expat.
 * Errors   INPUT: not well-formed, or an entity of its own is declared, with the line; LIMIT: larger than 2 GB, no memory; whatever an
 *          element's handler fails with, with the line
 * Limits   nothing outside the text is read
 */
#ifndef BASE_XML_H
#define BASE_XML_H

#include <stddef.h>

#include "base/status.h"

/* Reading ends with the first handler that fails. text NULL: text is of no interest. attributes: name, value, ..., NULL. */
struct xml_handlers {
  enum lynx_status (*begin)(void *context, const char *element, const char *const *attributes, struct lynx_error *error);
  enum lynx_status (*end)(void *context, const char *element, struct lynx_error *error);
  void (*text)(void *context, const char *text, size_t length);
  void *context;
};

enum lynx_status xml_read(const char *text, size_t length, const struct xml_handlers *handlers, struct lynx_error *error) LYNX_MUST_CHECK;

#endif
