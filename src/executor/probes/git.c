/* The version of the serving code, where it is run from a git checkout: commit, branch, and whether files or what is staged differ from it.
 * Read from git's own files; git is not run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/digest.h"
#include "executor/git_object.h"
#include "executor/probe.h"

enum { INDEX_MAX = 64 << 20, FILE_MAX = 64 << 20 };

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

/* A file whose size and time are as recorded is unchanged; where only the time moved, its contents are looked at. Returns the number of
 * files that differ, or -1. */
static long count_changes(const struct probe_target *target, const struct buffer *text, const char *checkout, char *first,
                          size_t first_size) {
  struct git_index index;
  struct git_entry entry;
  long n_changed = 0;
  int more;
  if (!git_index_open(text->data, text->length, &index)) return -1;
  while ((more = git_index_next(&index, &entry)) > 0) {
    char file[4300], full[4600];
    struct stat info;
    uint32_t kind = entry.mode >> 12;
    if (kind == 0xa || kind == 0xe || entry.assumed) continue; /* symbolic links and submodules are left out */
    (void)probe_path(file, sizeof file, "%s/%s", checkout, entry.path);
    bool gone = lstat(root_path(target->root, file, full, sizeof full), &info) != 0;
    bool touched = gone || (uint32_t)info.st_size != entry.size || (uint32_t)info.st_mtim.tv_sec != entry.mtime_s ||
                   (entry.mtime_ns != 0 && (uint32_t)info.st_mtim.tv_nsec != entry.mtime_ns);
    if (touched && (gone || !same_contents(target, file, entry.name)) && n_changed++ == 0)
      (void)snprintf(first, first_size, "%.200s", entry.path);
  }
  return more == 0 ? n_changed : -1; /* damaged: nothing is known of the rest */
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

/* What the files, the index and the commit have of one another. */
static void put_changes(const struct probe_target *target, struct fact_list *facts, const char *git, const char *checkout,
                        const char *commit) {
  char path[4400], common[4300], first[256] = "";
  uint8_t name[GIT_NAME], committed[GIT_NAME], staged[GIT_NAME];
  struct buffer text;
  buffer_init(&text, INDEX_MAX);
  (void)probe_path(path, sizeof path, "%s/index", git);
  bool read = !is_sha256(target, git) && root_read(target->root, path, &text, NULL) == LYNX_OK;
  long changed = read ? count_changes(target, &text, checkout, first, sizeof first) : -1;
  if (changed < 0)
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes", FACT_UNSUPPORTED,
                  "git's index is of a kind that is not read (SHA-256), too large, or damaged", ".git/index");
  else
    probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes",
               changed == 0 ? "none between the files and git's index" : "files differ from git's index", "", ".git/index");
  /* Which ones is state: somebody who edits a checkout that was not clean does not make another executor each time. */
  if (changed > 0)
    probe_printf(target, facts, LAYER_APPLICATION, FACT_STATE, ".git/index", "code.changed-files", "%ld, the first %s", changed, first);
  find_common(target, git, common, sizeof common);
  bool known = changed >= 0 && strlen(commit) == 2 * sizeof name && hex_decode(commit, name, sizeof name) &&
               git_index_tree(text.data, text.length, staged) && git_commit_tree(target->root, common, name, committed);
  if (known)
    probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.staged",
               memcmp(staged, committed, sizeof staged) == 0 ? "none between git's index and the commit"
                                                             : "git's index differs from the commit",
               "", ".git/index, .git/objects");
  else
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.staged", FACT_UNSUPPORTED,
                  "the commit's object is not found here (another repository lends it), or the index is not read or in a merge",
                  ".git/index, .git/objects");
  buffer_release(&text);
}

/* program: inside the process's root; only a checkout that holds it tells of the code that runs. */
static bool look_from(const struct probe_target *target, struct fact_list *facts, char *directory, const char *program) {
  char checkout[4200], git[4300], commit[80], branch[200];
  if (!find_checkout(target, directory, git, sizeof git)) return false;
  size_t n = strlen(directory);
  if (program != NULL && (strncmp(program, directory, n) != 0 || (program[n] != '/' && n > 1))) return false;
  (void)probe_path(checkout, sizeof checkout, "/proc/%lld/root%s", (long long)target->pid, directory);
  if (!read_commit(target, git, commit, sizeof commit, branch, sizeof branch) || !is_digest(commit)) return false;
  probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.commit", commit, "", ".git/HEAD");
  probe_fact(target, facts, LAYER_APPLICATION, FACT_CONTEXT, "code.checkout", directory, "",
             "the script or working directory of the serving process");
  if (branch[0] != 0) probe_fact(target, facts, LAYER_APPLICATION, FACT_CONTEXT, "code.branch", branch, "", ".git/HEAD");
  put_changes(target, facts, git, checkout, commit);
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
