/* The version of the serving code, where it is run from a git checkout: commit, branch, and whether files differ from it. Read from
 * git's own files; git is not run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "executor/probe.h"

enum { INDEX_MAX = 64 << 20, FILE_MAX = 64 << 20, LOOKED_AT_MAX = 200000 };

static bool is_digest(const char *text) {
  size_t n = strspn(text, "0123456789abcdef");
  return text[n] == 0 && (n == 40 || n == 64);
}

/* ".git" is a directory, or in a submodule or a second work tree a file that says where it is. */
static bool find_git(const struct probe_target *target, const char *checkout, char *git, size_t size) {
  char path[4300], line[2000];
  (void)probe_path(path, sizeof path, "%s/.git/HEAD", checkout);
  if (root_read_line(target->root, path, line, sizeof line)) {
    (void)probe_path(git, size, "%s/.git", checkout);
    return true;
  }
  (void)probe_path(path, sizeof path, "%s/.git", checkout);
  if (!root_read_line(target->root, path, line, sizeof line) || strncmp(line, "gitdir: ", 8) != 0) return false;
  if (line[8] == '/') (void)probe_path(git, size, "/proc/%lld/root%s", (long long)target->pid, line + 8);
  else (void)probe_path(git, size, "%s/%s", checkout, line + 8);
  (void)probe_path(path, sizeof path, "%s/HEAD", git);
  return root_read_line(target->root, path, line, sizeof line);
}

/* Goes up from a directory to the checkout that it lies in; paths are inside the process's root. */
static bool find_checkout(const struct probe_target *target, char *directory, char *git, size_t size) {
  char checkout[4200];
  for (int i = 0; i < 40; i++) {
    (void)probe_path(checkout, sizeof checkout, "/proc/%lld/root%s", (long long)target->pid, strcmp(directory, "/") == 0 ? "" : directory);
    if (find_git(target, checkout, git, size)) return true;
    char *slash = strrchr(directory, '/');
    if (slash == NULL || slash == directory) return false;
    *slash = 0;
  }
  return false;
}

/* A second work tree keeps its references with the first. */
static void find_common(const struct probe_target *target, const char *git, char *common, size_t size) {
  char path[4300], line[2000];
  (void)probe_path(common, size, "%s", git);
  (void)probe_path(path, sizeof path, "%s/commondir", git);
  if (!root_read_line(target->root, path, line, sizeof line)) return;
  if (line[0] == '/') (void)probe_path(common, size, "/proc/%lld/root%s", (long long)target->pid, line);
  else (void)probe_path(common, size, "%s/%s", git, line);
}

static bool read_commit(const struct probe_target *target, const char *git, char *commit, size_t size, char *branch, size_t branch_size) {
  char path[4800], head[300], common[4300];
  branch[0] = 0;
  (void)probe_path(path, sizeof path, "%s/HEAD", git);
  if (!root_read_line(target->root, path, head, sizeof head)) return false;
  if (strncmp(head, "ref: ", 5) != 0) {
    (void)snprintf(commit, size, "%.64s", head);
    return true;
  }
  (void)probe_path(branch, branch_size, "%s", strncmp(head + 5, "refs/heads/", 11) == 0 ? head + 16 : head + 5);
  if (strstr(head + 5, "..") != NULL) return false;
  (void)probe_path(path, sizeof path, "%s/%s", git, head + 5);
  if (root_read_line(target->root, path, commit, size)) return true;
  find_common(target, git, common, sizeof common);
  (void)probe_path(path, sizeof path, "%s/%s", common, head + 5);
  if (root_read_line(target->root, path, commit, size)) return true;
  struct buffer packed;
  buffer_init(&packed, INDEX_MAX);
  (void)probe_path(path, sizeof path, "%s/packed-refs", common);
  bool found = false;
  if (root_read(target->root, path, &packed, NULL) == LYNX_OK)
    for (const char *line = packed.data; line != NULL && *line != 0 && !found; line = strchr(line, '\n')) {
      if (*line == '\n' && *++line == 0) break;
      const char *name = strchr(line, ' ');
      if (name == NULL || name - line != 40) continue;
      size_t n = strcspn(name + 1, "\n");
      found = n == strlen(head + 5) && memcmp(name + 1, head + 5, n) == 0;
      if (found) (void)snprintf(commit, size, "%.40s", line);
    }
  buffer_release(&packed);
  return found;
}

static uint32_t number_at(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Git's name of a file's contents: SHA-1 over "blob SIZE", a 0, and the contents. */
static bool same_contents(const struct probe_target *target, const char *path, const uint8_t wanted[20]) {
  struct buffer text;
  char head[40];
  uint8_t found[20];
  buffer_init(&text, FILE_MAX);
  bool same = root_read(target->root, path, &text, NULL) == LYNX_OK;
  if (same) {
    int n = snprintf(head, sizeof head, "blob %zu", text.length);
    digest_sha1((const struct bytes[]){{head, (size_t)n + 1}, {text.data, text.length}}, 2, found);
    same = memcmp(found, wanted, sizeof found) == 0;
  }
  buffer_release(&text);
  return same;
}

/* Index, version 2 and 3: 62 bytes of stat and digest, flags, the path, 1 to 8 zeros up to a multiple of 8. A file whose size and time
 * are as recorded is unchanged; where only the time moved, its contents are looked at. Returns the number of files that differ, or -1. */
static long count_changes(const struct probe_target *target, const char *git, const char *checkout, char *first, size_t first_size) {
  struct buffer index;
  char path[4400];
  long n_changed = -1;
  buffer_init(&index, INDEX_MAX);
  (void)probe_path(path, sizeof path, "%s/index", git);
  if (root_read(target->root, path, &index, NULL) == LYNX_OK && index.length >= 12 && memcmp(index.data, "DIRC", 4) == 0) {
    const uint8_t *data = (const uint8_t *)index.data;
    uint32_t version = number_at(data + 4), n = number_at(data + 8);
    size_t at = 12;
    if (version == 2 || version == 3) n_changed = 0;
    if (n > LOOKED_AT_MAX) n_changed = -1;
    for (uint32_t i = 0; n_changed >= 0 && i < n; i++) {
      if (at + 64 > index.length) {
        n_changed = -1; /* cut off: nothing is known of the rest */
        break;
      }
      const uint8_t *entry = data + at;
      bool extended = version == 3 && (entry[60] & 0x40) != 0;
      size_t name = 62 + (extended ? 2 : 0),
             length = at + name < index.length ? strnlen((const char *)entry + name, index.length - at - name) : 0;
      if (length == 0 || length > 3000) {
        n_changed = -1;
        break;
      }
      char file[4300], full[4600];
      (void)probe_path(file, sizeof file, "%s/%.*s", checkout, (int)length, (const char *)entry + name);
      struct stat info;
      bool link = number_at(entry + 24) >> 12 == 0xa || number_at(entry + 24) >> 12 == 0xe; /* symbolic links and submodules are left out */
      /* Files that git was told to take as unchanged, and those that a sparse checkout leaves out. */
      bool left_out = (entry[60] & 0x80) != 0 || (extended && (entry[62] & 0x40) != 0);
      bool gone = lstat(root_path(target->root, file, full, sizeof full), &info) != 0;
      bool touched = gone || (uint32_t)info.st_size != number_at(entry + 36) || (uint32_t)info.st_mtim.tv_sec != number_at(entry + 8) ||
                     (number_at(entry + 12) != 0 && (uint32_t)info.st_mtim.tv_nsec != number_at(entry + 12));
      if (!link && !left_out && touched && (gone || !same_contents(target, file, entry + 40)) && n_changed++ == 0)
        (void)snprintf(first, first_size, "%.*s", (int)(length > 200 ? 200 : length), (const char *)entry + name);
      at += (name + length + 8) / 8 * 8;
    }
  }
  buffer_release(&index);
  return n_changed;
}

/* A repository whose objects are named by SHA-256 has an index of another shape. */
static bool is_sha256(const struct probe_target *target, const char *git) {
  char path[4400], common[4300];
  struct buffer text;
  buffer_init(&text, 1 << 20);
  find_common(target, git, common, sizeof common);
  (void)probe_path(path, sizeof path, "%s/config", common);
  bool found = root_read(target->root, path, &text, NULL) == LYNX_OK && strcasestr(text.data, "objectformat = sha256") != NULL;
  buffer_release(&text);
  return found;
}

/* program: inside the process's root; only a checkout that holds it tells of the code that runs. */
static bool look_from(const struct probe_target *target, struct fact_list *facts, char *directory, const char *program) {
  char checkout[4200], git[4300], commit[80], branch[200], first[256] = "";
  if (!find_checkout(target, directory, git, sizeof git)) return false;
  size_t n = strlen(directory);
  if (program != NULL && (strncmp(program, directory, n) != 0 || (program[n] != '/' && n > 1))) return false;
  (void)probe_path(checkout, sizeof checkout, "/proc/%lld/root%s", (long long)target->pid, directory);
  if (!read_commit(target, git, commit, sizeof commit, branch, sizeof branch) || !is_digest(commit)) return false;
  probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.commit", commit, "", ".git/HEAD");
  probe_fact(target, facts, LAYER_APPLICATION, FACT_CONTEXT, "code.checkout", directory, "",
             "the script or working directory of the serving process");
  if (branch[0] != 0) probe_fact(target, facts, LAYER_APPLICATION, FACT_CONTEXT, "code.branch", branch, "", ".git/HEAD");
  long changed = is_sha256(target, git) ? -1 : count_changes(target, git, checkout, first, sizeof first);
  if (changed < 0)
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes", FACT_UNSUPPORTED,
                  "git's index is of a kind that is not read (version 4, SHA-256), too large, or damaged", ".git/index");
  else {
    probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes",
               changed == 0 ? "none between the files and git's index" : "files differ from git's index", "", ".git/index");
    /* Which ones is state: somebody who edits a checkout that was not clean does not make another executor each time. */
    if (changed > 0)
      probe_printf(target, facts, LAYER_APPLICATION, FACT_STATE, ".git/index", "code.changed-files", "%ld, the first %s", changed, first);
  }
  return true;
}

/* The script that an interpreter runs, where its path is whole; else the working directory, if the script is named from there or the
 * program itself lies in that checkout. */
static void git_collect(const struct probe_target *target, struct fact_list *facts) {
  char path[64], directory[4096], executable[4096] = "";
  struct buffer arguments;
  bool found = false, relative = false;
  buffer_init(&arguments, 1 << 20);
  (void)snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)target->pid);
  if (root_read(target->root, path, &arguments, NULL) == LYNX_OK) {
    size_t second = strlen(arguments.data) + 1;
    const char *script = second < arguments.length ? arguments.data + second : "";
    const char *slash = strrchr(script, '/');
    size_t n = strlen(script);
    relative = script[0] != '/' && n > 3 && strcmp(script + n - 3, ".py") == 0;
    if (script[0] == '/' && slash > script && n < sizeof directory) {
      (void)snprintf(directory, sizeof directory, "%.*s", (int)(slash - script), script);
      found = look_from(target, facts, directory, NULL);
    }
  }
  buffer_release(&arguments);
  (void)snprintf(path, sizeof path, "/proc/%lld/exe", (long long)target->pid);
  if (!root_read_link(target->root, path, executable, sizeof executable)) executable[0] = 0;
  (void)snprintf(path, sizeof path, "/proc/%lld/cwd", (long long)target->pid);
  if (!found && root_read_link(target->root, path, directory, sizeof directory) && directory[0] == '/')
    found = look_from(target, facts, directory, relative ? NULL : executable);
  if (!found)
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.commit", FACT_ABSENT,
                  "the serving code is not run from a git checkout", "the script and working directory of the serving process");
}

const struct probe probe_git;
const struct probe probe_git = {.name = "git",
                                .summary = "commit and changes of the serving code, where it is a git checkout",
                                .reads = "/proc/PID/cwd, .git",
                                .stage = 1,
                                .layer = LAYER_APPLICATION,
                                .applies = probe_needs_process,
                                .collect = git_collect};
