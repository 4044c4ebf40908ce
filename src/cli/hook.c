#include "cli/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "cli/ledger_fetch.h"
#include "cli/output.h"
#include "cli/post.h"

enum { BODY_MAX = 4 * ENVELOPE_MAX, PROGRAM_SECONDS = 30 };

static void put_texts(struct json_writer *json, json_t *object) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    bool ours = strcmp(key, "kind") == 0 || strcmp(key, "entry") == 0 || strcmp(key, "by") == 0 || strcmp(key, "ledger") == 0 ||
                strcmp(key, "envelope") == 0 || strcmp(key, "index") == 0;
    if (json_is_string(value) && !ours) json_put_text(json, key, json_string_value(value));
  }
}

static bool write_body(const struct ledger_file *file, const struct ledger_entry *entry, struct buffer *ret) {
  struct json_writer json;
  char hex[DIGEST_HEX];
  json_begin_object(&json, ret);
  json_put_text(&json, "kind", entry->statement.kind);
  json_put_text(&json, "entry", digest_hex(entry->leaf, hex));
  json_put_int(&json, "index", (int64_t)entry->index);
  json_put_text(&json, "by", entry->signer);
  json_put_text(&json, "ledger", ledger_policy(file->ledger)->origin);
  put_texts(&json, (json_t *)(uintptr_t)entry->statement.predicate);
  put_texts(&json, json_object_get(entry->statement.predicate, "symptom")); /* layer, owner */
  json_key(&json, "envelope");
  json_made(&json, entry->bytes);
  return json_end_line(&json);
}

static enum lynx_status wait_for(struct child *child, const char *program, struct lynx_error *error) {
  if (!child_wait(child, PROGRAM_SECONDS * INT64_C(1000000000), NULL)) {
    child_stop(child, 1000000000);
    return lynx_fail(error, LYNX_IO, "%s did not end in %d s", program, PROGRAM_SECONDS);
  }
  return child->exit_code == 0 ? LYNX_OK : lynx_fail(error, LYNX_IO, "%s exited with %d", program, child->exit_code);
}

static bool tell_program(const char *program, const struct buffer *body, struct lynx_error *error) {
  char folder[4100], path[4200], home[4100], search[4100];
  const char *const arguments[] = {program, NULL};
  const char *const environment[] = {search, home, NULL};
  struct child child = {.pid = 0};
  if (!make_folder(folder, sizeof folder)) {
    (void)lynx_fail(error, LYNX_IO, "there is no folder to work in");
    return false;
  }
  (void)snprintf(search, sizeof search, "PATH=%s", getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
  (void)snprintf(home, sizeof home, "HOME=%s", getenv("HOME") != NULL ? getenv("HOME") : "/");
  (void)snprintf(path, sizeof path, "%s/entry.json", folder);
  enum lynx_status status = write_output(path, body->data, body->length) ? LYNX_OK : lynx_fail(error, LYNX_IO, "nothing could be written");
  const struct child_request request = {
      .arguments = arguments, .environment = environment, .users = true, .input_path = path, .output_path = "/dev/null"};
  if (status == LYNX_OK) status = child_start(&child, &request, error);
  (void)unlink(path); /* it is open by now */
  (void)rmdir(folder);
  if (status == LYNX_OK) status = wait_for(&child, program, error);
  return status == LYNX_OK;
}

/* An address without what is often secret in it: who asks, and the path. */
static void show_hook(const char *hook, char *text, size_t size) {
  if (!ledger_is_url(hook)) {
    (void)snprintf(text, size, "%s", hook);
    return;
  }
  const char *host = strstr(hook, "://") + 3, *end = host + strcspn(host, "/?#"), *at = memchr(host, '@', (size_t)(end - host));
  for (const char *next = at; next != NULL; next = memchr(at + 1, '@', (size_t)(end - at - 1))) at = next;
  if (at != NULL) host = at + 1;
  (void)snprintf(text, size, "%.*s%.*s/...", (int)(strstr(hook, "://") + 3 - hook), hook, (int)(end - host), host);
}

bool hook_tell(const char *command, const char *hook, const struct ledger_file *file, uint64_t index) {
  struct arena arena = {0};
  struct ledger_entry entry = {0};
  struct lynx_error error = {0};
  struct buffer body;
  char shown[300];
  show_hook(hook, shown, sizeof shown);
  buffer_init(&body, BODY_MAX);
  bool good = ledger_read_entry(file->ledger, index, &arena, &entry, &error) == LYNX_OK && write_body(file, &entry, &body) &&
              (ledger_is_url(hook) ? post_json(hook, body.data, &error) == LYNX_OK : tell_program(hook, &body, &error));
  if (good) complain("%s was told\n", shown);
  else
    complain("lynxbench %s: the hook %s was not told (%s): tell them otherwise; the entry remains\n", command, shown,
             error.message[0] != 0 ? error.message : "the entry cannot be written as JSON");
  statement_release(&entry.statement);
  arena_release(&arena);
  buffer_release(&body);
  return good;
}
