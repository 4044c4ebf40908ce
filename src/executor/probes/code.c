/* The serving process's own code: the script it was started with and what that imports from outside the installed packages, by digest. A
 * server that was edited in place has the same version, packages and arguments; it is another executor. Files are read, none is run. */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/digest.h"
#include "executor/file_digest.h"
#include "executor/probe.h"
#include "executor/python_imports.h"

enum { FILES_MAX = 1000, LISTED_MAX = 200, FOLDERS_MAX = 32, SOURCE_MAX = 4 << 20, TOTAL_MAX = 64 << 20, PARENTS_MAX = 8, PTH_MAX = 200 };
static const int64_t program_budget = INT64_C(1) << 30;

struct source_file {
  const char *path; /* inside the process's root */
  const char *name; /* from the folder it was found in */
  uint8_t digest[DIGEST_BYTES];
  struct buffer text; /* until it was looked into for its imports */
};

struct code {
  const struct probe_target *target;
  struct fact_list *facts;
  int64_t pid; /* whose arguments name the script: the process's, or of the one that spawned it */
  struct arena arena;
  const char *folders[FOLDERS_MAX]; /* where imports are looked for, in their order */
  size_t n_folders, n_files, n_read;
  struct source_file *files; /* FILES_MAX; those from n_read on were not looked into for their imports */
  size_t total;
  const char *gap;    /* why not everything is known; NULL: everything that was asked for was read */
  const char *folder; /* while a file's imports are looked for: its own, for relative ones */
  uint32_t uid, gid;  /* of the process: what it may not read is no code of its own */
  double started;     /* when the process was, in seconds since 1970; 0: unknown */
  struct buffer late; /* names of files that were written after that */
};

static char *inside(const struct code *code, char *path, size_t size, const char *file) {
  return probe_path(path, size, "/proc/%lld/root%s", (long long)code->pid, file);
}

static bool read_of_process(const struct code *code, const char *file, struct buffer *ret) {
  char path[64];
  return root_read(code->target->root, probe_path(path, sizeof path, "/proc/%lld/%s", (long long)code->pid, file), ret, NULL) == LYNX_OK;
}

/* Packages that were installed are known by their records, and Python's own library by its version. */
static bool is_installed(const char *path) {
  return strstr(path, "/site-packages") != NULL || strstr(path, "/dist-packages") != NULL || strstr(path, "/lib/python3") != NULL;
}

static void add_folder(struct code *code, const char *folder, size_t length) {
  if (length == 0 || length >= PATH_MAX || folder[0] != '/') return;
  while (length > 1 && folder[length - 1] == '/') length--;
  const char *kept = arena_text(&code->arena, folder, length);
  if (is_installed(kept)) return;
  for (size_t i = 0; i < code->n_folders; i++)
    if (strcmp(code->folders[i], kept) == 0) return;
  if (code->n_folders < FOLDERS_MAX) code->folders[code->n_folders++] = kept;
  else code->gap = "more folders are searched for modules than are followed";
}

/* --- files --- */

static double started_at(const struct code *code) {
  char line[128];
  struct buffer text;
  double ticks = 0, boot = 0;
  buffer_init(&text, 1 << 20);
  if (read_of_process(code, "stat", &text)) {
    const char *at = strrchr(text.data, ')'); /* a name may hold anything; field 22 is the 20th behind it */
    for (int field = 0; at != NULL && field < 20; field++) at = strchr(at + 1, ' ');
    if (at != NULL) ticks = strtod(at, NULL);
  }
  buffer_clear(&text);
  if (root_read(code->target->root, "/proc/stat", &text, NULL) == LYNX_OK && probe_find_line(text.data, "btime", line, sizeof line))
    boot = strtod(line, NULL);
  buffer_release(&text);
  return ticks > 0 && boot > 0 ? boot + ticks / (double)sysconf(_SC_CLK_TCK) : 0;
}

/* By owner, group and mode: other groups and lists of access would allow more, and are not asked. Root reads all. */
static bool may_read(const struct code *code, const struct stat *info) {
  if (code->uid == 0) return true;
  if (info->st_uid == code->uid) return (info->st_mode & S_IRUSR) != 0;
  return (info->st_mode & (info->st_gid == code->gid ? S_IRGRP : S_IROTH)) != 0;
}

static void read_owner(struct code *code) {
  char line[128];
  struct buffer text;
  code->uid = code->gid = UINT32_MAX; /* nobody's */
  buffer_init(&text, 65536);
  if (read_of_process(code, "status", &text)) {
    /* real, effective, saved, of files: the second */
    unsigned real, effective;
    if (probe_find_line(text.data, "Uid", line, sizeof line) && sscanf(line, "%u %u", &real, &effective) == 2) code->uid = effective;
    if (probe_find_line(text.data, "Gid", line, sizeof line) && sscanf(line, "%u %u", &real, &effective) == 2) code->gid = effective;
  }
  buffer_release(&text);
}

/* Reads a source file whole. False: there is none. */
static bool read_source(struct code *code, const char *path, const char *name, struct buffer *ret) {
  char full[PATH_MAX + 64];
  struct stat info;
  int fd = root_open(code->target->root, inside(code, full, sizeof full, path));
  bool good = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (fd >= 0) (void)close(fd);
  if (!good || !may_read(code, &info)) return false;
  /* The kernel gives the second of its start. */
  if (code->started > 0 && (double)info.st_ctime > code->started + 2) (void)buffer_printf(&code->late, "%s ", name);
  if (root_read(code->target->root, full, ret, NULL) == LYNX_OK) return true;
  code->gap = "a source file cannot be read or is larger than 4 MiB";
  return false;
}

/* Adds a file if it is there and was not seen before. False: there is none. */
static bool add_file(struct code *code, const char *path, const char *name) {
  for (size_t i = 0; i < code->n_files; i++)
    if (strcmp(code->files[i].path, path) == 0) return true;
  if (is_installed(path)) return false;
  if (code->n_files == FILES_MAX || code->total > TOTAL_MAX) {
    code->gap = "it has more than 1,000 files or 64 MiB of source";
    return false;
  }
  struct source_file *file = &code->files[code->n_files];
  struct buffer *text = &file->text;
  buffer_init(text, SOURCE_MAX);
  if (!read_source(code, path, name, text)) {
    buffer_release(text);
    return false;
  }
  code->n_files++;
  file->path = arena_copy(&code->arena, path);
  file->name = arena_copy(&code->arena, name);
  /* "#!" says where the interpreter lies, and only the kernel reads it. */
  size_t skipped = text->length > 2 && memcmp(text->data, "#!", 2) == 0 ? strcspn(text->data, "\n") : 0;
  if (skipped > text->length) skipped = text->length;
  digest_of(text->data + skipped, text->length - skipped, file->digest);
  code->total += text->length;
  return true;
}

/* "a.b.c" below a folder: a/__init__.py or a.py, and so on. False if its first part is not there. */
static bool resolve(struct code *code, const char *folder, const char *module) {
  char path[PATH_MAX], file[PATH_MAX + 16];
  size_t base = strlen(folder), used;
  bool found = false;
  if (base + strlen(module) + 16 >= sizeof path) return false;
  (void)snprintf(path, sizeof path, "%s", base == 1 ? "" : folder);
  used = strlen(path);
  size_t root = used;
  for (const char *part = module; *part != 0;) {
    size_t n = strcspn(part, ".");
    used += (size_t)snprintf(path + used, sizeof path - used, "/%.*s", (int)n, part);
    (void)snprintf(file, sizeof file, "%s/__init__.py", path);
    bool package = add_file(code, file, file + root + 1);
    if (!package) {
      (void)snprintf(file, sizeof file, "%s.py", path);
      if (add_file(code, file, file + root + 1)) return true;
    }
    found = found || package;
    part += n;
    if (*part == '.') part++;
  }
  return found;
}

static void add_import(void *context, const char *module) {
  struct code *code = context;
  if (module[0] != '.') {
    for (size_t i = 0; i < code->n_folders; i++)
      if (resolve(code, code->folders[i], module)) return;
    return;
  }
  char folder[PATH_MAX];
  (void)snprintf(folder, sizeof folder, "%s", code->folder);
  for (module++; *module == '.'; module++) {
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder) return;
    *slash = 0;
  }
  (void)resolve(code, folder, module);
}

static void add_imports_of(struct code *code, const char *path, const char *text, size_t length) {
  const char *slash = strrchr(path, '/');
  size_t n = slash != NULL ? (size_t)(slash - path) : 0;
  code->folder = arena_text(&code->arena, n > 0 ? path : "/", n > 0 ? n : 1);
  python_imports(text, length, add_import, code);
}

static void follow(struct code *code) {
  for (; code->n_read < code->n_files; code->n_read++) {
    struct source_file *file = &code->files[code->n_read];
    const char *word = python_is_dynamic(file->text.data, file->text.length);
    if (word != NULL && code->gap == NULL)
      code->gap = arena_printf(&code->arena, "%.200s chooses what it runs as it runs (%s): not all of it can be known by its text",
                               file->name, word);
    add_imports_of(code, file->path, file->text.data, file->text.length);
    buffer_release(&file->text);
  }
}

/* --- where it begins --- */

struct command {
  const char *items[512];
  size_t n;
};

static void split(const struct buffer *text, struct command *ret) {
  *ret = (struct command){.n = 0};
  for (size_t at = 0; at < text->length && ret->n < LYNX_COUNT(ret->items); at += strlen(text->data + at) + 1)
    ret->items[ret->n++] = text->data + at;
}

/* The place of the script, of the module behind -m, or of the program behind -c; n where there is none. */
static size_t first_argument(const struct command *command, char *ret_how) {
  *ret_how = ' ';
  for (size_t i = 1; i < command->n; i++) {
    const char *argument = command->items[i];
    if (argument[0] != '-' || argument[1] == 0) return i;
    if (strncmp(argument, "--", 2) == 0) continue; /* --check-hash-based-pycs default: its value is taken for the script, and is none */
    size_t n = strlen(argument);
    for (size_t k = 1; k < n; k++) {
      char c = argument[k];
      if (c != 'm' && c != 'c' && c != 'W' && c != 'X') continue;
      bool glued = k + 1 < n;
      if (c == 'W' || c == 'X') {
        i += glued ? 0 : 1;
        break;
      }
      *ret_how = c;
      return glued ? command->n : i + 1;
    }
  }
  return command->n;
}

/* "python -c from multiprocessing.spawn import spawn_main": what it runs, its parent was started with. */
static bool is_spawned(const struct command *command) {
  for (size_t i = 1; i < command->n && i < 6; i++)
    if (strncmp(command->items[i], "from multiprocessing.", 21) == 0) return true;
  return false;
}

static int64_t parent_of(const struct code *code) {
  char line[64];
  struct buffer text;
  buffer_init(&text, 65536);
  bool found = read_of_process(code, "status", &text) && probe_find_line(text.data, "PPid", line, sizeof line);
  buffer_release(&text);
  return found ? strtoll(line, NULL, 10) : 0;
}

/* A path as the process would take it. */
static const char *absolute(struct code *code, const char *directory, const char *path) {
  if (path[0] == '/') return path;
  while (strncmp(path, "./", 2) == 0) path += 2;
  return arena_printf(&code->arena, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, path);
}

static const char *last_part(const char *path) {
  return strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
}

/* Python looks for modules beside the file that a link names. */
static const char *target_of(struct code *code, const char *path) {
  char full[PATH_MAX + 64], link[PATH_MAX];
  for (int i = 0; i < 8; i++) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL || !root_read_link(code->target->root, inside(code, full, sizeof full, path), link, sizeof link)) break;
    path = link[0] == '/' ? arena_copy(&code->arena, link) : arena_printf(&code->arena, "%.*s/%s", (int)(slash - path), path, link);
  }
  return path;
}

static void add_script(struct code *code, const char *path) {
  path = target_of(code, path);
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return;
  const char *package = arena_printf(&code->arena, "%s/__main__.py", path); /* a folder may be run as a script */
  if (add_file(code, package, "__main__.py")) {
    add_folder(code, path, strlen(path));
    return;
  }
  add_folder(code, path, slash > path ? (size_t)(slash - path) : 1);
  if (!is_installed(path) && !add_file(code, path, slash + 1)) code->gap = "the script that it was started with cannot be read";
}

/* "app.main:create" of uvicorn, gunicorn, hypercorn: a module, and the name in it. */
static bool is_module_and_name(const char *argument) {
  size_t n = strspn(argument, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
  return n > 0 && n < 300 && !isdigit((unsigned char)argument[0]) && argument[n] == ':' &&
         (isalpha((unsigned char)argument[n + 1]) || argument[n + 1] == '_');
}

/* What a launcher was told to run (torchrun server.py, uvicorn app:app). */
static void add_arguments(struct code *code, const struct command *command, size_t from, const char *directory) {
  char module[300];
  for (size_t i = from; i < command->n; i++) {
    const char *argument = command->items[i];
    size_t n = strlen(argument);
    if (strncmp(argument, "--app-dir", 9) == 0) {
      const char *value = argument[9] == '=' ? argument + 10 : i + 1 < command->n ? command->items[i + 1] : "";
      const char *folder = absolute(code, directory, value);
      add_folder(code, folder, strlen(folder));
    } else if (n > 3 && n < PATH_MAX && strcmp(argument + n - 3, ".py") == 0) {
      const char *path = absolute(code, directory, argument);
      if (add_file(code, path, last_part(path))) add_folder(code, path, (size_t)(strrchr(path, '/') - path));
    } else if (is_module_and_name(argument)) {
      (void)snprintf(module, sizeof module, "%.*s", (int)strcspn(argument, ":"), argument);
      add_folder(code, directory, strlen(directory)); /* these launchers put it in front */
      add_import(code, module);
    }
  }
}

static void add_search_path(struct code *code, const char *directory) {
  char list[131072]; /* what the kernel takes of one variable */
  if (!probe_variable(code->target, code->pid, "PYTHONPATH", list, sizeof list)) return;
  for (const char *part = list;; part++) {
    size_t n = strcspn(part, ":");
    const char *folder = absolute(code, directory, arena_text(&code->arena, part, n));
    add_folder(code, folder, strlen(folder));
    part += n;
    if (*part == 0) break;
  }
}

/* Lines of NAME.pth that are paths: packages that were installed «editable» lie there. */
struct site {
  struct code *code;
  const char *path;
};

static void add_path_file(void *context, const char *name) {
  struct site *site = context;
  char path[PATH_MAX + 400], full[PATH_MAX + 500];
  size_t n = strlen(name);
  struct buffer text;
  if (n < 5 || strcmp(name + n - 4, ".pth") != 0) return;
  buffer_init(&text, 65536);
  (void)snprintf(path, sizeof path, "%s/%s", site->path, name);
  if (root_read(site->code->target->root, inside(site->code, full, sizeof full, path), &text, NULL) == LYNX_OK)
    for (const char *line = text.data; *line != 0; line += strcspn(line, "\n"), line += *line == '\n') {
      size_t length = strcspn(line, "\r\n");
      if (line[0] == '/') add_folder(site->code, line, length);
    }
  buffer_release(&text);
}

static void add_editable(struct code *code) {
  char path[PATH_MAX];
  for (size_t i = 0; i < code->facts->n_items; i++) {
    const struct fact *fact = &code->facts->items[i];
    if (strncmp(fact->key, "python.path.", 12) != 0 || fact->value == NULL) continue;
    struct site site = {code, fact->value};
    (void)root_list(code->target->root, inside(code, path, sizeof path, fact->value), 10000, add_path_file, &site);
  }
}

/* --- facts --- */

static int by_name(const void *a, const void *b) {
  const struct source_file *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order != 0 ? order : strcmp(x->path, y->path);
}

static void put_files(struct code *code) {
  static const char source[] = "the script, and what it imports from outside the installed packages";
  char hex[DIGEST_HEX], key[330];
  uint8_t whole[DIGEST_BYTES];
  struct digest all = {{0}};
  qsort(code->files, code->n_files, sizeof code->files[0], by_name);
  digest_init(&all);
  for (size_t i = 0; i < code->n_files; i++) {
    const struct source_file *file = &code->files[i];
    digest_update(&all, file->name, strlen(file->name) + 1);
    digest_update(&all, file->digest, sizeof file->digest);
    (void)snprintf(key, sizeof key, "code.file.%.300s", file->name);
    for (int twice = 2; i < LISTED_MAX && fact_find(code->facts, key) != NULL && twice < 100; twice++)
      (void)snprintf(key, sizeof key, "code.file.%.300s.%d", file->name, twice);
    if (i < LISTED_MAX)
      probe_printf(code->target, code->facts, LAYER_APPLICATION, FACT_IDENTITY, source, key, "SHA-256 %s", digest_hex(file->digest, hex));
  }
  digest_final(&all, whole);
  if (code->n_files == 0) return; /* the hole says why */
  probe_printf(code->target, code->facts, LAYER_APPLICATION, FACT_IDENTITY, source, "code.files", "%zu files, digest %s", code->n_files,
               digest_hex(whole, hex));
  if (code->late.length > 0)
    probe_printf(code->target, code->facts, LAYER_APPLICATION, FACT_STATE, "modification times", "code.written-after-start",
                 "%.*s(what runs may be older than what lies there)", (int)code->late.length, code->late.data);
}

static void put_gap(const struct code *code, const char *why) {
  probe_missing(code->target, code->facts, LAYER_APPLICATION, FACT_IDENTITY, "hole.code", FACT_UNSUPPORTED, why, "/proc/PID/cmdline");
}

/* The kernel tells a working directory as it lies for us: below the process's root, where that is another. */
static void leave_root(const struct code *code, char *directory) {
  char path[64], root[PATH_MAX];
  (void)snprintf(path, sizeof path, "/proc/%lld/root", (long long)code->pid);
  if (!root_read_link(code->target->root, path, root, sizeof root) || strcmp(root, "/") == 0) return;
  size_t n = strlen(root);
  if (strncmp(directory, root, n) != 0 || (directory[n] != '/' && directory[n] != 0)) return;
  memmove(directory, directory[n] != 0 ? directory + n : "/", strlen(directory[n] != 0 ? directory + n : "/") + 1);
}

static void collect_python(struct code *code) {
  char directory[PATH_MAX], path[64], how;
  struct buffer text;
  struct command command;
  buffer_init(&text, 4 << 20);
  for (int i = 0; i < PARENTS_MAX; i++) {
    buffer_clear(&text);
    if (!read_of_process(code, "cmdline", &text) || text.length == 0) break;
    split(&text, &command);
    int64_t parent = is_spawned(&command) ? parent_of(code) : 0;
    if (parent <= 1) break;
    code->pid = parent;
  }
  (void)snprintf(path, sizeof path, "/proc/%lld/cwd", (long long)code->pid);
  bool known = text.length > 0 && root_read_link(code->target->root, path, directory, sizeof directory) && directory[0] == '/';
  if (known) leave_root(code, directory);
  if (!known) {
    put_gap(code, "its command line or working directory may not be read: run as its user or as root");
    buffer_release(&text);
    return;
  }
  split(&text, &command);
  size_t at = first_argument(&command, &how);
  const char *first = at < command.n ? command.items[at] : "";
  if (how == ' ' && first[0] != 0 && strcmp(first, "-") != 0) add_script(code, absolute(code, directory, first));
  else add_folder(code, directory, strlen(directory));
  add_search_path(code, directory);
  add_editable(code);
  add_arguments(code, &command, at + 1, directory);
  if (how == 'm') {
    add_import(code, first);
    if (strlen(first) < 280) add_import(code, arena_printf(&code->arena, "%s.__main__", first));
  } else if (how == 'c') add_imports_of(code, absolute(code, directory, "-c"), first, strlen(first));
  else if (first[0] == 0 || strcmp(first, "-") == 0) code->gap = "its program was given on standard input";
  follow(code);
  put_files(code);
  if (code->gap != NULL) put_gap(code, code->gap);
  buffer_release(&text);
}

/* A program without a build-id (Go, Rust, a static build) is known by its bytes. */
static void collect_program(struct code *code, const char *program) {
  static const char *const interpreters[] = {"node",  "deno", "bun", "ruby",     "perl", "php", "java", "dotnet",
                                             "julia", "R",    "lua", "beam.smp", "bash", "sh",  "dash"};
  char path[64], hex[DIGEST_HEX], why[200];
  for (size_t i = 0; i < LYNX_COUNT(interpreters); i++) {
    size_t n = strlen(interpreters[i]);
    if (strncmp(program, interpreters[i], n) != 0 || isalpha((unsigned char)program[n])) continue;
    (void)snprintf(why, sizeof why, "the server is run by %.60s, and which files it loads is known for Python only", program);
    put_gap(code, why);
    return;
  }
  if (fact_find(code->facts, "process.build-id") != NULL) return;
  int64_t budget = program_budget;
  int fd = root_open(code->target->root, probe_path(path, sizeof path, "/proc/%lld/exe", (long long)code->pid));
  if (fd >= 0 && file_digest(fd, &budget, hex))
    probe_printf(code->target, code->facts, LAYER_APPLICATION, FACT_IDENTITY, "/proc/PID/exe", "code.program", "SHA-256 %s", hex);
  else put_gap(code, "the program has no build-id, and its file cannot be read or is larger than 1 GiB");
  if (fd >= 0) (void)close(fd);
}

static void code_collect(const struct probe_target *target, struct fact_list *facts) {
  struct code code = {.target = target, .facts = facts, .pid = target->pid};
  char path[64], exe[PATH_MAX];
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)target->pid);
  if (!root_read_link(target->root, path, exe, sizeof exe)) {
    put_gap(&code, "the program that runs may not be looked at: run as its user or as root");
    return;
  }
  buffer_init(&code.late, 2000);
  code.files = arena_alloc(&code.arena, FILES_MAX, sizeof code.files[0]);
  code.started = started_at(&code);
  read_owner(&code);
  const char *program = last_part(exe);
  if (strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0) collect_python(&code);
  else collect_program(&code, program);
  buffer_release(&code.late);
  arena_release(&code.arena);
}

const struct probe probe_code;
const struct probe probe_code = {.name = "code",
                                 .summary = "the serving process's own code: the script and what it imports, by digest",
                                 .reads = "/proc/PID/cmdline, the script, its modules, *.pth",
                                 .stage = 2,
                                 .layer = LAYER_APPLICATION,
                                 .applies = probe_needs_process,
                                 .collect = code_collect};
