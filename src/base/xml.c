#include "base/xml.h"

#include <expat.h>
#include <stdint.h>

struct reading {
  const struct xml_handlers *handlers;
  struct lynx_error *error;
  enum lynx_status status;
  XML_Parser parser;
};

static void note(struct reading *r, enum lynx_status status) {
  r->status = status;
  if (status != LYNX_OK) (void)XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL begin(void *context, const XML_Char *element, const XML_Char **attributes) {
  struct reading *r = context;
  if (r->status == LYNX_OK) note(r, r->handlers->begin(r->handlers->context, element, (const char *const *)attributes, r->error));
}

static void XMLCALL end(void *context, const XML_Char *element) {
  struct reading *r = context;
  if (r->status == LYNX_OK) note(r, r->handlers->end(r->handlers->context, element, r->error));
}

static void XMLCALL take_text(void *context, const XML_Char *text, int length) {
  const struct reading *r = context;
  if (r->status == LYNX_OK && length > 0) r->handlers->text(r->handlers->context, text, (size_t)length);
}

/* They have no place in any file that is read here, and a few of them make gigabytes of a line. */
static void XMLCALL refuse_entity(void *context, const XML_Char *name, int is_parameter, const XML_Char *value, int length,
                                  const XML_Char *base, const XML_Char *system, const XML_Char *public_id, const XML_Char *notation) {
  struct reading *r = context;
  (void)is_parameter, (void)value, (void)length, (void)base, (void)system, (void)public_id, (void)notation;
  note(r, lynx_fail(r->error, LYNX_INPUT, "it declares the entity %.40s; accepted: none", name));
}

enum lynx_status xml_read(const char *text, size_t length, const struct xml_handlers *handlers, struct lynx_error *error) {
  struct reading r = {.handlers = handlers, .error = error, .status = LYNX_OK};
  if (length > INT32_MAX) return lynx_fail(error, LYNX_LIMIT, "larger than 2 GB");
  r.parser = XML_ParserCreate(NULL);
  if (r.parser == NULL) return lynx_fail(error, LYNX_LIMIT, "no memory for a parser of XML");
  XML_SetUserData(r.parser, &r);
  XML_SetElementHandler(r.parser, begin, end);
  if (handlers->text != NULL) XML_SetCharacterDataHandler(r.parser, take_text);
  XML_SetEntityDeclHandler(r.parser, refuse_entity);
  if (XML_Parse(r.parser, text, (int)length, 1) != XML_STATUS_OK && r.status == LYNX_OK)
    r.status = lynx_fail(error, LYNX_INPUT, "%s", XML_ErrorString(XML_GetErrorCode(r.parser)));
  if (r.status != LYNX_OK) lynx_error_at(error, NULL, (int)XML_GetCurrentLineNumber(r.parser), NULL);
  XML_ParserFree(r.parser);
  return r.status;
}
