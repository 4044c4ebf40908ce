#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/number.h"
#include "base/shell.h"
#include "cli/command.h"
#include "cli/option_value.h"
#include "cli/output.h"
#include "executor/disclose.h"
#include "serve/readers.h"

enum { FLAG_READERS, FLAG_DAYS, FLAG_RESULT, FLAG_LEVEL, FLAG_WITHDRAW, FLAG_JSON };
enum { DAYS_USUAL = 90, DAYS_MAX = 3650, DAY_S = 86400 };

static const struct option_spec options[] = {
    [FLAG_READERS] = OPTION("readers", "FILE", "the file that `serve --readers` reads (default: LYNXBENCH_READERS)"),
    [FLAG_DAYS] = OPTION_WITH("days", "N", "how long the token is good (default: 90)", VALUE_COUNT, 1, DAYS_MAX, "1 to 3650"),
    [FLAG_RESULT] = OPTION("result", "ROOT", "the token is a link to this one result, by its bundle's root: nothing else is read with it"),
    [FLAG_LEVEL] = OPTION("level", "LEVEL",
                          "of --result: public (default: no paths and arguments), shared (no serials, hosts, people), full"),
    [FLAG_WITHDRAW] = SWITCH("withdraw", "take out every token of that name: it is refused within a second"),
    [FLAG_JSON] = SWITCH_JSON};

static int64_t now_s(void) {
  return (int64_t)time(NULL);
}

static void list_json(const struct reader_list *list) {
  struct buffer out;
  struct json_writer json;
  char until[32];
  buffer_init(&out, 16 << 20);
  json_begin(&json, &out);
  json_open_array(&json);
  for (size_t i = 0; i < list->n; i++) {
    json_open_object(&json);
    json_put_text(&json, "name", list->items[i].name);
    json_put_text(&json, "until", reader_time_text(list->items[i].until_s, until));
    if (list->items[i].root[0] != 0) {
      json_put_text(&json, "result", list->items[i].root);
      json_put_text(&json, "level", list->items[i].level);
    }
    json_put_bool(&json, "expired", list->items[i].until_s <= now_s());
    json_close(&json);
  }
  (void)json_end_line(&json);
  (void)write_buffer(NULL, &out); /* a failure was reported */
  buffer_release(&out);
}

static int list_readers(const char *path, bool json) {
  struct reader_list list;
  struct lynx_error error = {0};
  char until[32];
  if (reader_list_read(path, &list, &error) != LYNX_OK) return report_error(&error);
  if (json) list_json(&list);
  else if (list.n == 0) say("%s: nobody\n", path);
  for (size_t i = 0; i < list.n && !json; i++) {
    const struct reader *r = &list.items[i];
    say("%-32s until %s%s", r->name, reader_time_text(r->until_s, until), r->until_s <= now_s() ? " (over)" : "");
    if (r->root[0] != 0) say(": a link to result %.16s, level %s", r->root, r->level);
    say("\n");
  }
  free(list.items);
  return EXIT_HOLDS;
}

static int withdraw(const char *path, const char *name, bool json) {
  struct lynx_error error = {0};
  size_t n = 0;
  if (reader_file_change(path, NULL, name, &n, &error) != LYNX_OK) return report_error(&error);
  if (n == 0)
    complain("lynxbench ledger reader: found '%s'; accepted: a name that is in %s (lynxbench ledger reader --readers FILE)\n", name, path);
  else if (json) say("{\"name\": \"%s\", \"withdrawn\": %zu}\n", name, n);
  else say("%s: %zu token%s withdrawn\n", name, n, LYNX_S(n));
  return n > 0 ? EXIT_HOLDS : EXIT_WRONG_INPUT;
}

/* A token for all that is served, or a link to one result. */
static int add(const char *path, const char *name, int64_t days, const struct reader *link, bool json) {
  struct lynx_error error = {0};
  struct reader reader;
  size_t n = 0;
  char token[READER_TOKEN_MAX], until[32];
  if (!reader_make(name, now_s() + days * DAY_S, &reader, token)) {
    complain("lynxbench ledger reader: the system has no random numbers to give\n");
    return EXIT_CONDITIONS;
  }
  memcpy(reader.root, link->root, sizeof reader.root);
  memcpy(reader.level, link->level, sizeof reader.level);
  if (reader_file_change(path, &reader, NULL, &n, &error) != LYNX_OK) return report_error(&error);
  (void)reader_time_text(reader.until_s, until);
  if (json && link->root[0] != 0)
    say("{\"name\": \"%s\", \"address\": \"shared/%s.html\", \"result\": \"%s\", \"level\": \"%s\", \"until\": \"%s\"}\n", name, token,
        link->root, link->level, until);
  else if (link->root[0] != 0)
    say("the server's address, then /shared/%s.html\nshows result %.16s at the level %s until %s, to whoever has the link. It is "
        "shown this once.\nto withdraw it: lynxbench ledger reader %s --withdraw --readers %s\n",
        token, link->root, link->level, until, shell_word(name), shell_word(path));
  else if (json) say("{\"name\": \"%s\", \"token\": \"%s\", \"until\": \"%s\"}\n", name, token, until); /* none of it needs escaping */
  else
    say("%s\n%s may read until %s. The token is shown this once.\n"
        "in a browser: the server's address, then /?token=%s\nin a command: LYNXBENCH_READER=%s\n",
        token, name, until, token, token);
  explicit_bzero(token, sizeof token);
  if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_HOLDS;
  complain("lynxbench ledger reader: the token could not be written out, and is shown once only\n"
           "next: lynxbench ledger reader %s --withdraw --readers %s\n",
           shell_word(name), shell_word(path));
  return EXIT_CONDITIONS;
}

static bool read_link(const struct arguments *arguments, struct reader *ret) {
  const char *root = arguments->option[FLAG_RESULT], *level = arguments->option[FLAG_LEVEL];
  uint8_t digest[DIGEST_BYTES];
  enum disclosure parsed = DISCLOSE_PUBLIC;
  if (root == NULL && level == NULL) return true;
  if (root == NULL || !hex_decode(root, digest, DIGEST_BYTES)) {
    complain("lynxbench ledger reader: --result: %s%s; accepted: the root of a bundle, 64 digits (lynxbench show BUNDLE)\n",
             root != NULL ? "found " : "missing", root != NULL ? root : "");
    return false;
  }
  if (level != NULL && !disclosure_parse(level, &parsed)) {
    complain("lynxbench ledger reader: --level: found '%s'; accepted: public, shared, full\n", level);
    return false;
  }
  (void)digest_hex(digest, ret->root);
  (void)snprintf(ret->level, sizeof ret->level, "%s", disclosure_text(parsed));
  return true;
}

static int run(const struct arguments *arguments) {
  const char *path = arguments->option[FLAG_READERS] != NULL ? arguments->option[FLAG_READERS] : getenv("LYNXBENCH_READERS"),
             *name = arguments->n_positional > 0 ? arguments->positional[0] : NULL, *days_text = arguments->option[FLAG_DAYS];
  bool json = arguments->option[FLAG_JSON] != NULL;
  int64_t days = option_count(arguments, FLAG_DAYS, DAYS_USUAL);
  if (path == NULL || path[0] == 0) {
    complain("lynxbench ledger reader: --readers: missing; required: the file that `lynxbench serve --readers` reads\n");
    return EXIT_WRONG_INPUT;
  }
  struct reader link = {.until_s = 0};
  if (!read_link(arguments, &link)) return EXIT_WRONG_INPUT;
  if (days_text != NULL && (name == NULL || arguments->option[FLAG_WITHDRAW] != NULL)) {
    complain("lynxbench ledger reader: --days goes with the NAME that a token is made for\n");
    return EXIT_WRONG_INPUT;
  }
  if (name == NULL && arguments->option[FLAG_WITHDRAW] == NULL) return list_readers(path, json);
  if (name == NULL || !reader_name_is_good(name)) {
    complain("lynxbench ledger reader: found '%s'; accepted: a name of letters, digits and . _ - @, of at most %d bytes\n",
             name != NULL ? name : "nothing", READER_NAME_MAX - 1);
    return EXIT_WRONG_INPUT;
  }
  return arguments->option[FLAG_WITHDRAW] != NULL ? withdraw(path, name, json) : add(path, name, days, &link, json);
}

const struct command command_reader = {
    .name = "ledger reader",
    .summary = "give a token for reading what `serve` serves, or withdraw it",
    .usage = "[NAME]",
    .least = 0,
    .most = 1,
    .options = options,
    .n_options = LYNX_COUNT(options),
    .details =
        "Adds a token for NAME to the file of readers and shows it once; the file keeps its digest alone. Without NAME it lists who may\n"
        "read, and until when. With --result it is a link to one result, which can be given to anybody and withdrawn. `lynxbench serve "
        "--readers FILE` reads the file again when it changes.",
    .example = "rm -f /tmp/readers; build/lynxbench ledger reader finance --days 30 --readers /tmp/readers",
    .run = run};
