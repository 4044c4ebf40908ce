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
    else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) scan->at++;
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
      while (scan.at < scan.end && *scan.at != '\n') scan.at++;
      continue;
    }
    statement = c == '\n' || c == ';' || c == ':' || (statement && (c == ' ' || c == '\t' || c == '\r'));
    scan.at++;
  }
}
