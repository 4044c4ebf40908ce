/* The process that serves: its executable, arguments, the environment that matters, limits. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/random.h"
#include "base/state.h"
#include "executor/argument_map.h"
#include "executor/elf_file.h"
#include "executor/layer_map.h"
#include "executor/probe.h"

enum { ENVIRONMENT_MAX = 4 << 20, ARGUMENTS_MAX = 500 };

static const char *proc_path(const struct probe_target *target, const char *file, char *path, size_t size) {
  (void)snprintf(path, size, "/proc/%lld/%s", (long long)target->pid, file);
  return path;
}

/* "GPU-8932f937-...,MIG-...": which exemplars, where "0,1" would be which places of the machine. */
static bool is_by_uuid(const char *name, const char *value, size_t *ret_n) {
  if (strstr(name, "VISIBLE_DEVICES") == NULL || (strncmp(value, "GPU-", 4) != 0 && strncmp(value, "MIG-", 4) != 0)) return false;
  *ret_n = 1;
  for (const char *p = value; *p != 0; p++) *ret_n += *p == ',';
  return true;
}

/* The last parts of a list of paths ("/opt/a/libx.so:/opt/b" -> "libx.so:b"); false where the value is none. Cut where it does not fit. */
static bool last_parts(const char *value, char *ret, size_t size) {
  static const char separators[] = ":, ";
  size_t used = 0;
  ret[0] = 0;
  if (value[0] != '/' || value[1] == 0) return false;
  while (*value != 0) {
    size_t n = strcspn(value, separators), end = n;
    while (end > 0 && value[end - 1] == '/') end--; /* "/opt/lib/" */
    size_t from = end;
    while (from > 0 && value[from - 1] != '/') from--;
    if (used + (end - from) + 2 >= size) return true;
    for (size_t i = from; i < end; i++) ret[used++] = value[i];
    value += n;
    if (*value != 0) ret[used++] = *value++;
    ret[used] = 0;
  }
  return true;
}

/* What a variable says is part of what the executor is; which exemplars it names, and where something lies, is not. */
static void put_variable(const struct probe_target *target, struct fact_list *facts, enum layer layer, const char *name, const char *value,
                         const char *reason) {
  char key[320], parts[2000];
  size_t n = 0;
  (void)snprintf(key, sizeof key, "environment.%s", name);
  if (value_may_be_secret(value)) {
    probe_fact(target, facts, layer, FACT_IDENTITY, key, "(hidden: may be a secret)", "", reason);
    return;
  }
  /* A search path is only where to look: what was found there stands among the libraries. */
  if (strcmp(name, "LD_LIBRARY_PATH") == 0) {
    probe_fact(target, facts, layer, FACT_CONTEXT, key, value, "", reason);
    return;
  }
  bool by_uuid = is_by_uuid(name, value, &n), paths = !by_uuid && last_parts(value, parts, sizeof parts);
  if (by_uuid) probe_printf(target, facts, layer, FACT_IDENTITY, reason, key, "%zu by UUID", n);
  else probe_fact(target, facts, layer, FACT_IDENTITY, key, paths ? parts : value, "", reason);
  if (!by_uuid && !paths) return;
  (void)snprintf(key, sizeof key, "environment.%s.%s", name, by_uuid ? "devices" : "path");
  probe_fact(target, facts, layer, FACT_CONTEXT, key, value, "", reason);
}

static void collect_environment(const struct probe_target *target, struct fact_list *facts) {
  char path[64], key[300];
  struct buffer text;
  buffer_init(&text, ENVIRONMENT_MAX);
  if (root_read(target->root, proc_path(target, "environ", path, sizeof path), &text, NULL) == LYNX_OK) {
    for (size_t at = 0; at < text.length; at += strlen(text.data + at) + 1) {
      char *entry = text.data + at, *equals = strchr(entry, '=');
      enum layer layer;
      const char *reason;
      if (equals == NULL || equals - entry > 200) continue;
      (void)snprintf(key, sizeof key, "%.*s", (int)(equals - entry), entry);
      if (!layer_of_variable(key, &layer, &reason)) continue;
      put_variable(target, facts, layer, key, equals + 1, reason);
    }
  } else
    probe_missing(target, facts, LAYER_RUNTIME, FACT_IDENTITY, "hole.environment", FACT_DENIED,
                  "the serving process's environment may not be read: run as its user or as root", path);
  buffer_wipe(&text); /* it may have held secrets */
}

/* Flags that say where it listens or writes: another port is the same executor. */
static bool is_place(const char *flag) {
  static const char *const names[] = {"--port", "--host", "--address", "--uds", "--log", "--log-file"};
  static const char *const ends[] = {"-port", "-addr", "-address", "-host"};
  size_t n = strlen(flag);
  for (size_t i = 0; i < LYNX_COUNT(names); i++)
    if (strcmp(flag, names[i]) == 0) return true;
  for (size_t i = 0; i < LYNX_COUNT(ends); i++)
    if (n > strlen(ends[i]) && strcmp(flag + n - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

/* Names are taken as flags only where they look like one: "-I/home/x" or "-$SECRET" is a value. */
static bool is_flag_name(const char *text, size_t n) {
  if (n < 2 || n > 60 || text[0] != '-' || strchr("0123456789.", text[1]) != NULL) return false;
  size_t dashes = text[1] == '-' ? 2 : 1;
  if (dashes == 1 && (n > 4 || (n > 2 && text[1] == 'p')))
    return false; /* -ngl, -ctk, -ub; else a letter with its value glued on: -pWORD */
  for (size_t i = dashes; i < n; i++)
    if (!isalnum((unsigned char)text[i]) && strchr("-_.", text[i]) == NULL) return false;
  return n > dashes;
}

/* "--pin"; and "-p": a port where a number follows; else, as of many programs, a password. */
static bool is_password_name(const char *name, const char *argument, const char *next) {
  const char *equals = strchr(argument, '='), *value = equals != NULL ? equals + 1 : next;
  static const char *const words[] = {"--pw", "--pin", "--otp", "--ssn", "--card", "--passcode"};
  for (size_t i = 0; i < LYNX_COUNT(words); i++)
    if (strcasecmp(name, words[i]) == 0) return true;
  return strcmp(name, "-p") == 0 && value[strspn(value, "0123456789")] != 0;
}

/* The interpreter's own options before the script: they take no value but -W, -X, -m, -c. */
static bool is_python_switch(const char *argument) {
  return argument[0] == '-' && argument[1] != 0 && argument[2] == 0 && strchr("bBdEhiIOPqsSuvVx", argument[1]) != NULL;
}

/* What an argument is by where it stands: a flag's value, or one of those that are none's. */
struct place {
  int n;          /* which one of those without a flag; -1: a flag's value */
  bool hide;      /* it follows a flag of a secret */
  bool is_script; /* what an interpreter was told to run, or a server to serve */
};

/* The salt stays in the state folder of who captures, so that what is not shown can be compared there, and guessed nowhere. False: it
 * could not be kept, and is another one each time. */
static bool salted_digest(const char *key, const char *value, char ret[DIGEST_HEX], char source[64]) {
  static uint8_t secret[STATE_SECRET_BYTES];
  static bool has, kept;
  uint8_t bytes[DIGEST_BYTES];
  char hex[DIGEST_HEX];
  struct digest digest = {{0}};
  if (!has) kept = state_secret("argument-salt", secret);
  if (!has) has = kept || random_salt(secret, sizeof secret);
  digest_init(&digest);
  digest_update(&digest, secret, sizeof secret);
  digest_final(&digest, bytes);
  (void)snprintf(source, 64, "/proc/PID/cmdline; salt %.8s", digest_hex(bytes, hex));
  digest_init(&digest);
  digest_update(&digest, secret, sizeof secret);
  digest_update(&digest, key, strlen(key) + 1);
  digest_update(&digest, value, strlen(value));
  digest_final(&digest, bytes);
  (void)digest_hex(bytes, ret);
  return kept;
}

static bool is_asked_for(const struct probe_target *target, const char *name) {
  for (size_t i = 0; i < target->n_show_arguments; i++)
    if (strcmp(target->show_arguments[i], name) == 0) return true;
  return false;
}

static void put_argument(const struct probe_target *target, struct fact_list *facts, const char *name, struct place place,
                         const char *value) {
  static const char from[] = "/proc/PID/cmdline";
  char key[200], digest[DIGEST_HEX], source[64];
  uint8_t bytes[DIGEST_BYTES];
  size_t n = strlen(value);
  const char *slash = strrchr(value, '/');
  const struct argument *known = argument_find(name);
  enum layer layer = known != NULL ? known->layer : LAYER_SERVING;
  enum fact_kind kind = place.n == 0 || is_place(name) ? FACT_CONTEXT : FACT_IDENTITY;
  bool shown = (known != NULL && argument_fits(known, value)) || argument_is_plain(value) || is_asked_for(target, name) ||
               ((place.is_script || place.n == 0) && argument_is_name(value));
  (void)snprintf(key, sizeof key, "process.argument.%s", name);
  for (int i = 2; fact_find(facts, key) != NULL && i < 100; i++)
    (void)snprintf(key, sizeof key, "process.argument.%s.%d", name, i); /* given twice */
  if (place.hide || value_may_be_secret(value)) probe_fact(target, facts, layer, kind, key, "(hidden: may be a secret)", "", from);
  else if (!shown && n > 0) {
    bool kept = salted_digest(key, value, digest, source);
    probe_missing(target, facts, layer, kind, key, FACT_WITHHELD, digest, source);
    if (!kept && fact_find(facts, "hole.argument-salt") == NULL)
      probe_missing(target, facts, LAYER_SERVING, FACT_STATE, "hole.argument-salt", FACT_DENIED,
                    "arguments that are not shown cannot be compared with another capture: the salt cannot be kept "
                    "(argument-salt in lynxbench's state folder: 32 bytes, readable by its owner alone)",
                    source);
  } else if (n > 300) { /* a program in the command line, a long list: known again by its digest */
    digest_of(value, n, bytes);
    probe_printf(target, facts, layer, kind, from, key, "%zu bytes, SHA-256 %s", n, digest_hex(bytes, digest));
  } else if (value[0] == '/' && slash[1] != 0 && kind == FACT_IDENTITY) { /* where it lies is of the exemplar, what it is called is not */
    probe_fact(target, facts, layer, kind, key, slash + 1, "", "/proc/PID/cmdline: the last part of a path");
    (void)snprintf(key + strlen(key), sizeof key - strlen(key), ".path");
    probe_fact(target, facts, layer, FACT_CONTEXT, key, value, "", from);
  } else probe_fact(target, facts, layer, kind, key, value, "", from);
}

/* "vllm serve MODEL": of servers alone; after another program's word stands anything. */
static bool serves(const char *word, const char *before) {
  static const char *const servers[] = {"vllm", "ollama", "sglang", "lmdeploy", "trtllm"};
  const char *slash = strrchr(before, '/'), *base = slash != NULL ? slash + 1 : before;
  if (strcmp(word, "serve") != 0 && strcmp(word, "run") != 0) return false;
  for (size_t i = 0; i < LYNX_COUNT(servers); i++)
    if (strncmp(base, servers[i], strlen(servers[i])) == 0) return true;
  return false;
}

/* One fact for each flag, by its name, so that a flag put in between moves no other; what is no flag by its place among the others.
 * The name it was started by is context: process.executable says what it is. */
static void collect_arguments(const struct probe_target *target, struct fact_list *facts) {
  char path[64], name[80], exe[PATH_MAX];
  struct buffer text;
  struct lynx_error error = {0};
  buffer_init(&text, 4 << 20);
  int n_plain = 0, n_all = 0;
  bool python = root_read_link(target->root, proc_path(target, "exe", path, sizeof path), exe, sizeof exe) &&
                strstr(exe, "/python") != NULL;
  if (root_read(target->root, proc_path(target, "cmdline", path, sizeof path), &text, &error) != LYNX_OK) {
    probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.argument",
                  error.status == LYNX_NOT_FOUND ? FACT_ABSENT : FACT_DENIED, error.message, "/proc/PID/cmdline");
    buffer_release(&text);
    return;
  }
  const struct place of_flag = {.n = -1};
  const char *last_plain = "";
  bool before_script = python, after_secret = false, after_serve = false; /* a flag of a secret may take several values */
  for (size_t at = 0, next; at < text.length; at = next, n_all++) {
    const char *argument = text.data + at, *equals = strchr(argument, '=');
    next = at + strlen(argument) + 1;
    size_t length = equals != NULL ? (size_t)(equals - argument) : strlen(argument);
    if (n_all == ARGUMENTS_MAX) {
      probe_printf(target, facts, LAYER_SERVING, FACT_IDENTITY, "/proc/PID/cmdline", "process.argument.more",
                   "%zu further bytes are not listed", text.length - at);
      break;
    }
    bool flag = n_all > 0 && is_flag_name(argument, length);
    if (!flag) {
      (void)snprintf(name, sizeof name, "%d", n_plain);
      put_argument(target, facts, name, (struct place){n_plain, after_secret, n_plain > 0 && (before_script || after_serve)}, argument);
      after_serve = n_plain > 0 && serves(argument, last_plain);
      last_plain = argument;
      if (n_plain++ > 0) before_script = false;
      continue;
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)length, argument);
    bool secret = variable_is_secret(name) || is_password_name(name, argument, text.data + (next < text.length ? next : at));
    after_secret = secret;
    const struct place of_this = {.n = -1, .hide = secret, .is_script = before_script && strcmp(name, "-m") == 0};
    if (equals != NULL) put_argument(target, facts, name, of_this, equals + 1);
    else if (before_script && is_python_switch(argument)) put_argument(target, facts, name, of_flag, "(given)");
    else if (next < text.length && (secret || !is_flag_name(text.data + next, strcspn(text.data + next, "=")))) {
      put_argument(target, facts, name, of_this, text.data + next);
      next += strlen(text.data + next) + 1;
      if (before_script && (strcmp(name, "-m") == 0 || strcmp(name, "-c") == 0)) before_script = false;
    } else put_argument(target, facts, name, of_flag, "(given)");
  }
  buffer_release(&text);
}

/* What the kernel holds the process to. */
static void collect_limits(const struct probe_target *target, struct fact_list *facts) {
  static const struct {
    const char *word, *key;
  } lines[] = {{"Max open files", "process.limit.open-files"}, {"Max locked memory", "process.limit.locked-memory"}};
  char path[64], value[128];
  struct buffer text;
  buffer_init(&text, 65536);
  if (root_read(target->root, proc_path(target, "limits", path, sizeof path), &text, NULL) == LYNX_OK)
    for (size_t i = 0; i < LYNX_COUNT(lines); i++)
      if (probe_find_line(text.data, lines[i].word, value, sizeof value)) {
        value[strcspn(value, " ")] = 0; /* the soft one */
        probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, lines[i].key, value, "", "/proc/PID/limits");
      }
  buffer_release(&text);
}

/* A process id is used again, within a container at once. */
static void collect_start(const struct probe_target *target, struct fact_list *facts) {
  char path[64], value[64];
  unsigned long long ticks;
  struct buffer text;
  buffer_init(&text, 4096);
  const char *after = root_read(target->root, proc_path(target, "stat", path, sizeof path), &text, NULL) == LYNX_OK
                          ? strrchr(text.data, ')') /* a name may hold anything */
                          : NULL;
  if (after != NULL &&
      sscanf(after + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) == 1) {
    (void)snprintf(value, sizeof value, "%.2f", (double)ticks / (double)sysconf(_SC_CLK_TCK));
    probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.started", value, "s after boot", "/proc/PID/stat");
  }
  buffer_release(&text);
}

static void process_collect(const struct probe_target *target, struct fact_list *facts) {
  char path[64], exe[PATH_MAX], inner[96], id[130], value[64];
  (void)snprintf(value, sizeof value, "%lld", (long long)target->pid);
  probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.id", value, "", "listening socket or contract");
  if (root_read_link(target->root, proc_path(target, "exe", path, sizeof path), exe, sizeof exe)) {
    probe_fact(target, facts, LAYER_SERVING, FACT_CONTEXT, "process.executable", exe, "", "/proc/PID/exe");
    probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.program", strrchr(exe, '/') != NULL ? strrchr(exe, '/') + 1 : exe, "",
               "/proc/PID/exe");
    (void)snprintf(inner, sizeof inner, "/proc/%lld/exe", (long long)target->pid);
    int fd = root_open(target->root, inner);
    if (fd >= 0 && elf_build_id(fd, id, sizeof id))
      probe_fact(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.build-id", id, "", "ELF note");
    if (fd >= 0) (void)close(fd);
  } else probe_missing(target, facts, LAYER_SERVING, FACT_IDENTITY, "process.executable", FACT_DENIED, "may not be read", path);
  collect_start(target, facts);
  collect_arguments(target, facts);
  collect_environment(target, facts);
  collect_limits(target, facts);
  (void)snprintf(value, sizeof value, "%zu", target->n_tree);
  probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.tree", value, "processes, itself and its descendants", "/proc/*/stat");
  struct buffer text;
  buffer_init(&text, 65536);
  if (root_read(target->root, proc_path(target, "status", path, sizeof path), &text, NULL) == LYNX_OK) {
    char line[256];
    if (probe_find_line(text.data, "Cpus_allowed_list", line, sizeof line))
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "process.cpus-allowed", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "Mems_allowed_list", line, sizeof line))
      probe_fact(target, facts, LAYER_SYSTEM, FACT_IDENTITY, "process.memories-allowed", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "Threads", line, sizeof line))
      probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.threads", line, "", "/proc/PID/status");
    if (probe_find_line(text.data, "VmRSS", line, sizeof line))
      probe_fact(target, facts, LAYER_SERVING, FACT_STATE, "process.resident", line, "", "/proc/PID/status");
  }
  buffer_release(&text);
}

const struct probe probe_process;
const struct probe probe_process = {.name = "process",
                                    .summary = "the process that serves: executable, arguments, environment, limits",
                                    .reads = "/proc/PID",
                                    .layer = LAYER_SERVING,
                                    .applies = probe_needs_process,
                                    .collect = process_collect};
