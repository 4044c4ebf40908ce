#include "executor/python_imports.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 300 };

struct scan {
  const char *at, *end;
  void (*visit)(void *context, const char *module);
  void *context;
};

static bool is_name(char c) {
  return isalnum((unsigned char)c) || c == '_' || ((unsigned char)c & 0x80) != 0;
}

/* Blanks, and the ends of lines inside of brackets or after a backslash. */
static void skip_blanks(struct scan *scan, bool lines) {
  while (scan->at < scan->end) {
    char c = *scan->at;
    if (c == '#' && lines)
      while (scan->at < scan->end && *scan->at != '\n') scan->at++;
    else if (c == '\\' && scan->end - scan->at > 1 && scan->at[1] == '\n') scan->at += 2;
    else if (c == ' ' || c == '\t' || c == '\f' || (lines && (c == '\n' || c == '\r'))) scan->at++;
    else return;
  }
}

/* A dotted name; false if there is none or it is too long. */
static bool read_name(struct scan *scan, bool dots, char ret[NAME_MAX_LENGTH]) {
  size_t n = 0;
  while (scan->at < scan->end && (is_name(*scan->at) || (dots && *scan->at == '.'))) {
    if (n + 1 < NAME_MAX_LENGTH) ret[n] = *scan->at;
    n++;
    scan->at++;
  }
  if (n == 0 || n >= NAME_MAX_LENGTH) return false;
  ret[n] = 0;
  return true;
}

static bool take_word(struct scan *scan, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(scan->end - scan->at) <= n || memcmp(scan->at, word, n) != 0 || is_name(scan->at[n])) return false;
  scan->at += n;
  return true;
}

/* "as x", then a comma: is there another name? */
static bool another(struct scan *scan, bool lines) {
  char unused[NAME_MAX_LENGTH];
  skip_blanks(scan, lines);
  if (take_word(scan, "as")) {
    skip_blanks(scan, lines);
    (void)read_name(scan, false, unused);
    skip_blanks(scan, lines);
  }
  if (scan->at >= scan->end || *scan->at != ',') return false;
  scan->at++;
  skip_blanks(scan, lines);
  return true;
}

static void read_import(struct scan *scan) {
  char name[NAME_MAX_LENGTH];
  do {
    skip_blanks(scan, false);
    if (!read_name(scan, true, name)) return;
    scan->visit(scan->context, name);
  } while (another(scan, false));
}

static void read_from(struct scan *scan) {
  char module[NAME_MAX_LENGTH], name[NAME_MAX_LENGTH], whole[2 * NAME_MAX_LENGTH];
  skip_blanks(scan, false);
  if (!read_name(scan, true, module)) return;
  skip_blanks(scan, false);
  if (!take_word(scan, "import")) return;
  skip_blanks(scan, false);
  scan->visit(scan->context, module);
  bool bracket = scan->at < scan->end && *scan->at == '(';
  if (bracket) scan->at++;
  do {
    skip_blanks(scan, bracket);
    if (!read_name(scan, false, name)) return;
    (void)snprintf(whole, sizeof whole, "%s%s%s", module, module[strlen(module) - 1] == '.' ? "" : ".", name);
    if (strlen(whole) < NAME_MAX_LENGTH) scan->visit(scan->context, whole);
  } while (another(scan, bracket));
}

/* import_module("a.b"): at stands behind the word. */
static void read_call(struct scan *scan) {
  char name[NAME_MAX_LENGTH];
  skip_blanks(scan, false);
  if (scan->at >= scan->end || *scan->at != '(') return;
  scan->at++;
  skip_blanks(scan, true);
  if (scan->at >= scan->end || (*scan->at != '"' && *scan->at != '\'')) return;
  char quote = *scan->at++;
  if (read_name(scan, true, name) && scan->at < scan->end && *scan->at == quote) scan->visit(scan->context, name);
}

void python_imports(const char *text, size_t length, void (*visit)(void *context, const char *module), void *context) {
  struct scan scan = {.at = text, .end = text + length, .visit = visit, .context = context};
  if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) scan.at += 3; /* a mark of the byte order */
  bool statement = true; /* nothing but blanks since the line began, or since a ';' or ':' */
  while (scan.at < scan.end) {
    char c = *scan.at;
    if (is_name(c)) {
      if (statement && take_word(&scan, "import")) read_import(&scan);
      else if (statement && take_word(&scan, "from")) read_from(&scan);
      else if (take_word(&scan, "import_module") || take_word(&scan, "__import__")) read_call(&scan);
      else
        while (scan.at < scan.end && is_name(*scan.at)) scan.at++;
      statement = false;
      continue;
    }
    if (c == '#') {
      while (scan.at < scan.end && *scan.at != '\n' && *scan.at != '\r') scan.at++;
      continue;
    }
    statement = c == '\n' || c == '\r' || c == ';' || c == ':' || (statement && (c == ' ' || c == '\t' || c == '\f'));
    scan.at++;
  }
}

/* "import_module(name)": a call whose argument is no text. */
static bool calls_a_name(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  if (at >= end || *at != '(') return false;
  at++;
  while (at < end && isspace((unsigned char)*at)) at++;
  return at < end && *at != '"' && *at != '\'' && *at != ')';
}

const char *python_is_dynamic(const char *text, size_t length) {
  static const char *const always[] = {"sys.path", "runpy", "execfile", "spec_from_file_location", "SourceFileLoader", "sys.meta_path"},
                           *const calls[] = {"exec", "import_module", "__import__"};
  const char *end = text + length;
  for (const char *at = text; at < end; at++) {
    if (*at == '#') {
      while (at < end && *at != '\n') at++;
      continue;
    }
    if (!is_name(*at)) continue;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
      size_t n = strlen(always[i]);
      if ((size_t)(end - at) >= n && memcmp(at, always[i], n) == 0 && (at + n == end || !is_name(at[n]))) return always[i];
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
      size_t n = strlen(calls[i]);
      if ((size_t)(end - at) > n && memcmp(at, calls[i], n) == 0 && !is_name(at[n]) && calls_a_name(at + n, end)) return calls[i];
    }
    while (at + 1 < end && is_name(at[1])) at++;
  }
  return NULL;
}
