/* What every store must do: the same suite on each that this machine has. Arguments: none. */
#include "ledger/store.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static char path[64];

static enum lynx_status put(struct store *s, enum store_space space, const char *key, const char *value) {
  struct lynx_error error = {0};
  return s->table->append(s, space, bytes_of(key), bytes_of(value), &error);
}

static const char *value_of(struct store *s, enum store_space space, const char *key) {
  static struct buffer value;
  struct lynx_error error = {0};
  buffer_release(&value);
  buffer_init(&value, 1000);
  enum lynx_status status = s->table->get(s, space, bytes_of(key), &value, &error);
  return status == LYNX_OK ? value.length > 0 ? value.data : "" : status == LYNX_NOT_FOUND ? "(none)" : "(error)";
}

struct listing {
  char keys[200];
  int n_left;
};

static bool take(void *context, struct bytes key, struct bytes value) {
  struct listing *l = context;
  (void)snprintf(l->keys + strlen(l->keys), sizeof l->keys - strlen(l->keys), "%.*s=%.*s ", (int)key.length, key.ptr, (int)value.length,
                 value.ptr);
  return --l->n_left > 0;
}

static const char *list(struct store *s, const char *prefix, const char *from, bool backwards, int n) {
  static struct listing l;
  struct lynx_error error = {0};
  struct store_range range = {.space = STORE_MENTION, .prefix = bytes_of(prefix), .from = bytes_of(from), .backwards = backwards};
  l = (struct listing){.n_left = n};
  CHECK_INT(s->table->list(s, &range, take, &l, &error), LYNX_OK);
  return l.keys;
}

static void check_rows(struct store *s) {
  struct lynx_error error = {0};
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  CHECK_INT(put(s, STORE_ENTRY, "a", "one"), LYNX_OK);
  CHECK_INT(put(s, STORE_HASH, "a", "another space"), LYNX_OK);
  CHECK_INT(put(s, STORE_ENTRY, "empty", ""), LYNX_OK);
  CHECK_INT(s->table->commit(s, &error), LYNX_OK);
  CHECK_TEXT(value_of(s, STORE_ENTRY, "a"), "one");
  CHECK_TEXT(value_of(s, STORE_HASH, "a"), "another space");
  CHECK_TEXT(value_of(s, STORE_ENTRY, "empty"), "");
  CHECK_TEXT(value_of(s, STORE_ENTRY, "b"), "(none)");
  /* What was aborted was never there. */
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  CHECK_INT(put(s, STORE_ENTRY, "b", "two"), LYNX_OK);
  CHECK_TEXT(value_of(s, STORE_ENTRY, "b"), "two");
  s->table->abort(s);
  CHECK_TEXT(value_of(s, STORE_ENTRY, "b"), "(none)");
  /* A key is written once; what came before it in the transaction goes with it. */
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  CHECK_INT(put(s, STORE_ENTRY, "c", "three"), LYNX_OK);
  enum lynx_status twice = put(s, STORE_ENTRY, "a", "changed");
  if (twice == LYNX_OK) twice = s->table->commit(s, &error); /* which may be where it is said */
  else s->table->abort(s);
  CHECK_INT(twice, LYNX_INPUT);
  CHECK_TEXT(value_of(s, STORE_ENTRY, "a"), "one");
  CHECK_TEXT(value_of(s, STORE_ENTRY, "c"), "(none)");
}

static void check_list(struct store *s) {
  static const char *const keys[] = {"x1", "x2", "x22", "x3", "y", "w", "\xff\xff"};
  struct lynx_error error = {0};
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  for (size_t i = 0; i < LYNX_COUNT(keys); i++) CHECK_INT(put(s, STORE_MENTION, keys[i], "v"), LYNX_OK);
  CHECK_INT(s->table->commit(s, &error), LYNX_OK);
  CHECK_TEXT(list(s, "", "", false, 100), "w=v x1=v x2=v x22=v x3=v y=v \xff\xff=v ");
  CHECK_TEXT(list(s, "x", "", false, 100), "x1=v x2=v x22=v x3=v ");
  CHECK_TEXT(list(s, "x", "x2", false, 100), "x2=v x22=v x3=v ");
  CHECK_TEXT(list(s, "x", "", true, 2), "x3=v x22=v ");
  CHECK_TEXT(list(s, "x", "x22", true, 100), "x22=v x2=v x1=v ");
  CHECK_TEXT(list(s, "", "", true, 1), "\xff\xff=v ");
  CHECK_TEXT(list(s, "z", "", false, 100), "");
}

/* --- more rows than a store gives in one answer --- */

struct counting {
  int next, step;
  bool in_order;
};

static bool count(void *context, struct bytes key, struct bytes value) {
  struct counting *c = context;
  char wanted[16];
  (void)snprintf(wanted, sizeof wanted, "many%06d", c->next);
  c->in_order = c->in_order && bytes_equal(key, wanted) && bytes_equal(value, "v");
  c->next += c->step;
  return true;
}

static void check_many(struct store *s, enum store_space space, int n) {
  struct lynx_error error = {0};
  char key[16];
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  for (int i = 0; i < n; i++) {
    (void)snprintf(key, sizeof key, "many%06d", i);
    CHECK_INT(put(s, space, key, "v"), LYNX_OK);
  }
  CHECK_INT(s->table->commit(s, &error), LYNX_OK);
  const struct store_range forward = {.space = space, .prefix = bytes_of("many")};
  const struct store_range back = {.space = space, .prefix = bytes_of("many"), .from = bytes_of(key), .backwards = true};
  struct counting up = {.next = 0, .step = 1, .in_order = true}, down = {.next = n - 1, .step = -1, .in_order = true};
  CHECK_INT(s->table->list(s, &forward, count, &up, &error), LYNX_OK);
  CHECK_INT(s->table->list(s, &back, count, &down, &error), LYNX_OK);
  CHECK(up.in_order && up.next == n && down.in_order && down.next == -1);
}

/* Two processes, fifty transactions each: none is lost, none is seen in part. */
static void check_two_writers(const char *address) {
  pid_t children[2];
  for (int c = 0; c < 2; c++) {
    children[c] = fork();
    if (children[c] != 0) continue;
    struct store *s = NULL;
    struct lynx_error error = {0};
    bool good = store_open(address, STORE_WRITE, &s, &error) == LYNX_OK;
    for (int i = 0; i < 50 && good; i++) {
      char one[16], two[16];
      (void)snprintf(one, sizeof one, "%d.%d.a", c, i);
      (void)snprintf(two, sizeof two, "%d.%d.b", c, i);
      good = s->table->begin(s, &error) == LYNX_OK && put(s, STORE_CHECKPOINT, one, "1") == LYNX_OK &&
             put(s, STORE_CHECKPOINT, two, "2") == LYNX_OK;
      if (i % 5 == 4) s->table->abort(s);
      else good = good && s->table->commit(s, &error) == LYNX_OK;
    }
    if (s != NULL) s->table->close(s);
    _exit(good ? 0 : 1);
  }
  for (int c = 0; c < 2; c++) {
    int state = 1;
    (void)waitpid(children[c], &state, 0);
    CHECK_INT(state, 0);
  }
  struct store *s = NULL;
  struct lynx_error error = {0};
  CHECK_INT(store_open(address, STORE_WRITE, &s, &error), LYNX_OK);
  if (s == NULL) {
    (void)printf("%s\n", error.message);
    return;
  }
  int n = 0;
  for (int c = 0; c < 2; c++)
    for (int i = 0; i < 50; i++) {
      char one[16], two[16];
      (void)snprintf(one, sizeof one, "%d.%d.a", c, i);
      (void)snprintf(two, sizeof two, "%d.%d.b", c, i);
      bool first = strcmp(value_of(s, STORE_CHECKPOINT, one), "1") == 0, second = strcmp(value_of(s, STORE_CHECKPOINT, two), "2") == 0;
      CHECK(first == second && first == (i % 5 != 4));
      n += first;
    }
  CHECK_INT(n, 80);
  s->table->close(s);
}

/* Killed in the middle of a transaction, again and again: what was committed is there, the rest is not. */
static void check_killed(const char *address) {
  for (int round = 0; round < 8; round++) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
      struct store *s = NULL;
      struct lynx_error error = {0};
      char key[32];
      if (store_open(address, STORE_WRITE, &s, &error) != LYNX_OK) _exit(1);
      for (int i = 0;; i++) {
        (void)snprintf(key, sizeof key, "%d.%d", round, i);
        if (s->table->begin(s, &error) != LYNX_OK || put(s, STORE_BLOB, key, "1") != LYNX_OK) _exit(1);
        (void)snprintf(key, sizeof key, "%d.%d+", round, i);
        if (put(s, STORE_BLOB, key, "2") != LYNX_OK || s->table->commit(s, &error) != LYNX_OK) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1); /* acknowledged */
      }
    }
    (void)close(ready[1]);
    char byte;
    int n = 0;
    while (n < 3 + 5 * round && read(ready[0], &byte, 1) == 1) n++;
    (void)kill(child, SIGKILL);
    while (read(ready[0], &byte, 1) == 1) n++;
    (void)close(ready[0]);
    (void)waitpid(child, NULL, 0);
    struct store *s = NULL;
    struct lynx_error error = {0};
    CHECK_INT(store_open(address, STORE_WRITE, &s, &error), LYNX_OK);
    for (int i = 0; i <= n + 1 && s != NULL; i++) {
      char one[32], two[32];
      (void)snprintf(one, sizeof one, "%d.%d", round, i);
      (void)snprintf(two, sizeof two, "%d.%d+", round, i);
      bool first = strcmp(value_of(s, STORE_BLOB, one), "1") == 0, second = strcmp(value_of(s, STORE_BLOB, two), "2") == 0;
      CHECK(first == second && (first || i >= n));
    }
    if (s != NULL) s->table->close(s);
  }
}

/* A reader sees what was there, and after renew what others added; it adds nothing itself. */
static void check_reader(const char *address) {
  struct store *reader = NULL, *writer = NULL;
  struct lynx_error error = {0}, refused = {0};
  CHECK_INT(store_open(address, STORE_READ, &reader, &error), LYNX_OK);
  CHECK_INT(store_open(address, STORE_WRITE, &writer, &error), LYNX_OK);
  if (reader == NULL || writer == NULL) return;
  CHECK_INT(writer->table->begin(writer, &error), LYNX_OK);
  CHECK_INT(put(writer, STORE_BLOB, "read.1", "1"), LYNX_OK);
  CHECK_INT(writer->table->commit(writer, &error), LYNX_OK);
  CHECK_INT(reader->table->renew(reader, &error), LYNX_OK);
  CHECK_TEXT(value_of(reader, STORE_BLOB, "read.1"), "1");
  writer->table->close(writer);
  CHECK_INT(reader->table->renew(reader, &error), LYNX_OK);
  CHECK_TEXT(value_of(reader, STORE_BLOB, "read.1"), "1");
  bool begun = reader->table->begin(reader, &refused) == LYNX_OK;
  if (begun) begun = put(reader, STORE_BLOB, "read.2", "2") == LYNX_OK && reader->table->commit(reader, &refused) == LYNX_OK;
  CHECK(!begun);
  reader->table->abort(reader);
  CHECK_TEXT(value_of(reader, STORE_BLOB, "read.2"), "(none)");
  reader->table->close(reader);
}

/* A reader that could not be renewed is not open; and is again, once it can be. */
static void check_renewed(void) {
  struct store *s = NULL;
  struct lynx_error error = {0};
  struct buffer value;
  char log[200];
  buffer_init(&value, 100);
  CHECK_INT(store_open(path, STORE_READ, &s, &error), LYNX_OK);
  if (s == NULL) return;
  (void)snprintf(log, sizeof log, "%s-wal", path);
  CHECK_INT(symlink("/nonexistent", log), 0);
  for (int k = 0; k < 2; k++) {
    CHECK_INT(s->table->renew(s, &error), LYNX_INPUT);
    CHECK_INT(s->table->snapshot(s, &error), LYNX_IO);
    CHECK_INT(s->table->get(s, STORE_ENTRY, bytes_of("none"), &value, &error), LYNX_IO);
  }
  CHECK_INT(unlink(log), 0);
  CHECK_INT(s->table->renew(s, &error), LYNX_OK);
  CHECK_INT(s->table->snapshot(s, &error), LYNX_OK);
  s->table->abort(s);
  s->table->close(s);
  buffer_release(&value);
}

/* Two names of one file have two logs: a writer would destroy it. */
static void check_other_name(void) {
  struct store *s = NULL;
  struct lynx_error error = {0};
  char other[200];
  (void)snprintf(other, sizeof other, "%s.other", path);
  CHECK_INT(link(path, other), 0);
  CHECK_INT(store_open(other, STORE_WRITE, &s, &error), LYNX_INPUT);
  CHECK_INT(store_open(other, STORE_READ, &s, &error), LYNX_OK);
  if (s != NULL) s->table->close(s);
  CHECK_INT(unlink(other), 0);
}

/* What one large upload leaves in the log is taken in and cut off. */
static void check_log_is_cut(void) {
  enum { PARTS = 60 };
  struct store *s = NULL;
  struct lynx_error error = {0};
  struct stat info = {.st_size = -1};
  char log[200];
  char *part = malloc(STORE_VALUE_MAX);
  CHECK(part != NULL);
  CHECK_INT(store_open(path, STORE_WRITE, &s, &error), LYNX_OK);
  if (part == NULL || s == NULL) return;
  memset(part, 'x', STORE_VALUE_MAX);
  CHECK_INT(s->table->begin(s, &error), LYNX_OK);
  for (int i = 0; i < PARTS; i++) {
    char key[32];
    (void)snprintf(key, sizeof key, "large.%d", i);
    CHECK_INT(s->table->append(s, STORE_BLOB, bytes_of(key), (struct bytes){part, STORE_VALUE_MAX}, &error), LYNX_OK);
  }
  CHECK_INT(s->table->commit(s, &error), LYNX_OK);
  (void)snprintf(log, sizeof log, "%s-wal", path);
  CHECK_INT(stat(log, &info), 0);
  CHECK(info.st_size < 1 << 20);
  s->table->close(s);
  free(part);
}

static void check_store(const char *address, bool create) {
  struct store *s = NULL;
  struct lynx_error error = {0};
  CHECK_INT(store_open(address, create ? STORE_CREATE : STORE_WRITE, &s, &error), LYNX_OK);
  if (s == NULL) {
    (void)printf("%s\n", error.message);
    return;
  }
  check_rows(s);
  check_list(s);
  check_many(s, STORE_HASH, 3500);
  check_many(s, STORE_BLOB, 100);
  s->table->close(s);
  struct lynx_error again = {0};
  CHECK_INT(store_open(address, STORE_CREATE, &s, &again), LYNX_INPUT); /* a ledger is never begun twice */
  check_two_writers(address);
  check_reader(address);
  check_killed(address);
}

int main(void) {
  struct lynx_error error = {0};
  struct store *s = NULL;
  (void)snprintf(path, sizeof path, "/tmp/lynx-store-%d.db", (int)getpid());
  CHECK_INT(store_open(path, STORE_WRITE, &s, &error), LYNX_NOT_FOUND);
  check_store(path, true);
  check_log_is_cut();
  check_renewed();
  check_other_name();
  char command[300];
  (void)snprintf(command, sizeof command, "rm -f %s %s-wal %s-shm", path, path, path);
  CHECK_INT(system(command), 0);
  const char *postgres = getenv("LYNXBENCH_TEST_POSTGRES"); /* an empty database: tests/e2e/test_postgres.py starts one */
  if (postgres != NULL) check_store(postgres, true);
  return check_end();
}
