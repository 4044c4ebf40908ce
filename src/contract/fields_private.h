/* contract/fields_private.h: one row per field. */
#ifndef CONTRACT_FIELDS_PRIVATE_H
#define CONTRACT_FIELDS_PRIVATE_H

#include "contract/contract.h"

enum field_type {
  FIELD_TEXT,     /* const char * */
  FIELD_BOOL,     /* bool */
  FIELD_INTEGER,  /* int64_t */
  FIELD_NUMBER,   /* double */
  FIELD_DURATION, /* int64_t, ns */
  FIELD_CHOICE,   /* int: an index into choices */
  FIELD_TEXTS,    /* struct text_list */
  FIELD_MAP,      /* struct text_map */
  FIELD_SECTION,  /* an embedded struct with a table of its own */
  FIELD_SECTIONS  /* struct item_list of such structs */
};

struct field_choice {
  const char *name, *help;
};

struct field_table;

struct field {
  const char *name;
  enum field_type type;
  size_t offset;
  const char *fallback;         /* as it would be written; NULL: no default */
  const char *least, *greatest; /* likewise; NULL: no bound */
  const struct field_choice *choices;
  size_t n_choices;
  const struct field_table *table; /* of a section */
  bool required;
  bool later;    /* a section that contracts of before do not know: left out, it is not in the canonical form */
  bool disclose; /* left out, it is listed as unstated and lowers the grade */
  const char *help, *example;
};

struct field_table {
  const char *name;
  size_t size; /* of the struct */
  const struct field *fields;
  size_t n_fields;
};

extern const struct field_table contract_table;

/* The value of a field in a struct: a pointer to it. */
static inline void *field_at(void *section, const struct field *field) {
  return (char *)section + field->offset;
}

static inline const void *field_of(const void *section, const struct field *field) {
  return (const char *)section + field->offset;
}

static inline bool field_is_set(const void *section, size_t index) {
  return (*(const uint64_t *)section >> index & 1) != 0;
}

/* A section with a required field is optional as a whole: left out, it says nothing at all. */
bool field_table_demands(const struct field_table *table);

void contract_check(const struct contract *contract, struct problem_list *problems);
/* Can its question be answered by what it measures? */
void question_check(const struct contract *contract, struct problem_list *problems);

extern const struct field_choice question_kinds[QUESTION_KINDS];

#endif
