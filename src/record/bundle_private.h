/* record/bundle_private.h: what the writer and the reader share. */
#ifndef RECORD_BUNDLE_PRIVATE_H
#define RECORD_BUNDLE_PRIVATE_H

#include <sqlite3.h>

#include "record/bundle.h"

enum { BUNDLE_SECTIONS = 14, BUNDLE_SALT_BYTES = 16, BUNDLE_APPLICATION_ID = 0x4c594e58 /* "LYNX" */ };

struct bundle_section {
  const char *name;    /* the table */
  const char *schema;  /* its CREATE TABLE, as it must stand in the file */
  const char *columns; /* all of them, in the order that is hashed */
  const char *order;   /* its key */
  const char *insert;
};

extern const struct bundle_section bundle_sections[BUNDLE_SECTIONS];
extern const char bundle_seal_schema[], bundle_section_schema[];

struct bundle {
  sqlite3 *db;
  char path[512];
  sqlite3_stmt *insert[BUNDLE_SECTIONS]; /* writer */
  bool in_transaction;
  struct lynx_error failure; /* writer: the first one */
  struct arena arena;        /* reader: meta values */
};

/* A bundle belongs to one thread, and nobody asks SQLite how much memory it uses: without its locks a row costs half as much. */
void bundle_prepare_sqlite(void);
/* What lies in the file gets no say in what is done with it. */
void bundle_defend(sqlite3 *db);
enum lynx_status bundle_sql_fail(struct bundle *bundle, struct lynx_error *error, const char *doing);
enum lynx_status bundle_exec(struct bundle *bundle, const char *sql, struct lynx_error *error);
/* salt || canonical rows. */
enum lynx_status bundle_section_digest(struct bundle *bundle, const struct bundle_section *section, const uint8_t salt[BUNDLE_SALT_BYTES],
                                       uint8_t ret[DIGEST_BYTES], struct lynx_error *error);
/* Over name, digest of each section in table order, then the end and its reason. */
void bundle_root(const uint8_t digests[BUNDLE_SECTIONS][DIGEST_BYTES], const char *end, const char *why, uint8_t ret[DIGEST_BYTES]);

#endif
