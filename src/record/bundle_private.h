/* record/bundle_private.h: what the writer and the reader share. */
#ifndef RECORD_BUNDLE_PRIVATE_H
#define RECORD_BUNDLE_PRIVATE_H

#include <sqlite3.h>

#include "record/bundle.h"

enum { BUNDLE_SALT_BYTES = 16, BUNDLE_APPLICATION_ID = 0x4c594e58 /* "LYNX" */ };

enum bundle_section_index {
  SECTION_META,
  SECTION_INPUT,
  SECTION_FACT,
  SECTION_SESSION,
  SECTION_REQUEST,
  SECTION_PHASE,
  SECTION_SAMPLE,
  SECTION_ACCURACY,
  SECTION_ANSWER,
  SECTION_EVENT,
  SECTION_THREAD,
  SECTION_ACTIVITY,
  SECTION_STACK,
  SECTION_BLOCK,
  BUNDLE_SECTIONS
};

/* --- a row of each table that bundle.h has no struct for --- */

struct meta_row {
  const char *key, *value;
};
struct input_row {
  int64_t id;
  const void *text;
  size_t length;
};
struct fact_row {
  const char *moment;
  struct fact fact;
};
struct session_row {
  struct bundle_session session;
  const char *status; /* its end, and why */
};
struct sample_row {
  int64_t session;
  const char *series;
  int64_t at_ns;
  double value;
};
struct accuracy_row {
  int64_t session;
  const char *measure;
  int64_t window;
  double value;
  int64_t weight;
};
struct answer_row {
  int64_t session, input;
  const void *text;
  size_t length;
};
struct event_row {
  int64_t id, realtime_ns;
  enum event_kind kind;
  const char *text;
};
struct thread_row {
  int64_t session;
  struct thread_name thread;
};
struct activity_row {
  int64_t session;
  struct thread_activity activity;
};

union bundle_row {
  struct meta_row meta;
  struct input_row input;
  struct fact_row fact;
  struct session_row session;
  struct bundle_request request;
  struct bundle_phase phase;
  struct sample_row sample;
  struct accuracy_row accuracy;
  struct answer_row answer;
  struct event_row event;
  struct thread_row thread;
  struct activity_row activity;
  struct bundle_stack stack;
  struct bundle_block block;
};

/* --- the tables (sections.c) --- */

enum column_kind {
  COLUMN_NUMBER, /* int64_t */
  COLUMN_KNOWN,  /* int64_t; below 0: never came about, NULL in the file */
  COLUMN_REAL,   /* double */
  COLUMN_TEXT,   /* const char *; NULL is stored as "" */
  COLUMN_WORD,   /* an enum; text in the file */
  COLUMN_BYTES   /* const void * and a size_t */
};

struct bundle_word {
  const char *(*text)(const void *value);
  bool (*parse)(const char *text, void *ret);
};

struct bundle_column {
  const char *name;
  enum column_kind kind;
  size_t offset; /* of the value in its row */
  size_t length; /* of COLUMN_BYTES: where its number of bytes is */
  const struct bundle_word *words;
};

struct bundle_section {
  const char *name; /* the table */
  const struct bundle_column *columns;
  int n_columns, n_key;             /* the key is the first of them */
  const char *conflict, *otherwise; /* what an INSERT does about a row that is there: in its beginning, and at its end */
  int n_since_6;                    /* of its last columns: files of format 5 have them not */
};

extern const struct bundle_section bundle_sections[BUNDLE_SECTIONS];
extern const char bundle_seal_schema[], bundle_section_schema[];

/* How many of its columns a file of that format has. */
int bundle_n_columns(const struct bundle_section *section, int format);
/* Where a column's value is in a row. */
const void *bundle_column_at(const struct bundle_column *column, const void *row);

enum { BUNDLE_SQL = 1600 };
/* The first n of its names: "session, id". */
const char *bundle_names(const struct bundle_section *section, int n, char ret[BUNDLE_SQL]);
/* Its CREATE TABLE, as it must stand in the file. */
const char *bundle_schema(const struct bundle_section *section, int format, char ret[BUNDLE_SQL]);
/* Every column, in the order that is hashed, by the key; where: "" or " WHERE ...". */
const char *bundle_select(const struct bundle_section *section, int format, const char *where, char ret[BUNDLE_SQL]);
/* A value for every column of this format; conflict and otherwise as in struct bundle_section. */
const char *bundle_insert(const struct bundle_section *section, const char *conflict, const char *otherwise, char ret[BUNDLE_SQL]);

struct bundle {
  sqlite3 *db;
  char path[512];
  int format;                            /* of the file */
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
