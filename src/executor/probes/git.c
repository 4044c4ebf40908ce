/* The version of the serving code, where it is run from a git checkout: commit, branch, and whether files or what is staged differ from it.
 * Read from git's own files; git is not run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A word of the repository's configuration, as git writes it. */
static bool is_configured(const struct probe_target *target, const char *git, const char *words) {
  char path[4400], common[4300];
  struct buffer text;
  buffer_init(&text, 1 << 20);
  find_common(target, git, common, sizeof common);
  (void)probe_path(path, sizeof path, "%s/config", common);
  bool found = root_read(target->root, path, &text, NULL) == LYNX_OK && strcasestr(text.data, words) != NULL;
  buffer_release(&text);
  return found;
}

/* Git's name of contents: SHA-1 over "blob SIZE", a 0, and the contents. */
static bool has_name(const void *data, size_t length, const uint8_t wanted[GIT_NAME]) {
  char head[40];
  uint8_t found[GIT_NAME];
  int n = snprintf(head, sizeof head, "blob %zu", length);
  digest_sha1((const struct bytes[]){{head, (size_t)n + 1}, {data, length}}, 2, found);
  return memcmp(found, wanted, sizeof found) == 0;
}

/* What is kept for a large file by Git LFS: three lines that name it. */
static bool is_pointed_at(const struct buffer *text, const uint8_t wanted[GIT_NAME]) {
  char pointer[300], hex[DIGEST_HEX];
  uint8_t digest[DIGEST_BYTES];
  digest_of(text->data, text->length, digest);
  int n = snprintf(pointer, sizeof pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %zu\n",
                   digest_hex(digest, hex), text->length);
  return has_name(pointer, (size_t)n, wanted);
}

enum sameness { CONTENTS_SAME, CONTENTS_OTHER, CONTENTS_TOO_LARGE };

/* As they lie there, or as git would take them in: with plain line ends, or by Git LFS. Other filters are not known here. */
static enum sameness compare_file(const struct probe_target *target, const char *path, const uint8_t wanted[GIT_NAME]) {
  struct buffer text;
  buffer_init(&text, FILE_MAX);
  enum lynx_status status = root_read(target->root, path, &text, NULL);
  bool same = status == LYNX_OK && (has_name(text.data, text.length, wanted) || is_pointed_at(&text, wanted));
  if (status == LYNX_OK && !same) {
    size_t kept = 0;
    for (size_t i = 0; i < text.length; i++)
      if (text.data[i] != '\r' || i + 1 == text.length || text.data[i + 1] != '\n') text.data[kept++] = text.data[i];
    same = has_name(text.data, kept, wanted);
  }
  buffer_release(&text);
  return same ? CONTENTS_SAME : status == LYNX_LIMIT ? CONTENTS_TOO_LARGE : CONTENTS_OTHER;
}

/* file: below the root; full: outside of it. */
static enum sameness compare_entry(const struct probe_target *target, const struct git_entry *entry, const char *file, const char *full,
                                   bool by_mode) {
  struct stat info;
  char link[4096];
  bool gone = lstat(full, &info) != 0, is_link = entry->mode >> 12 == 0xa;
  if (gone) return entry->left_out ? CONTENTS_SAME : CONTENTS_OTHER;
  if (is_link != S_ISLNK(info.st_mode) || (!is_link && !S_ISREG(info.st_mode))) return CONTENTS_OTHER;
  if (by_mode && !is_link && ((info.st_mode & S_IXUSR) != 0) != ((entry->mode & S_IXUSR) != 0)) return CONTENTS_OTHER;
  /* Who sets a file's time back moves its other time: both as recorded, it is as it was. */
  if ((uint32_t)info.st_size == entry->size && (uint32_t)info.st_mtim.tv_sec == entry->mtime_s &&
      (uint32_t)info.st_ctim.tv_sec == entry->ctime_s && (entry->mtime_ns == 0 || (uint32_t)info.st_mtim.tv_nsec == entry->mtime_ns) &&
      (entry->ctime_ns == 0 || (uint32_t)info.st_ctim.tv_nsec == entry->ctime_ns))
    return CONTENTS_SAME;
  if (!is_link) return compare_file(target, file, entry->name);
  ssize_t n = readlink(full, link, sizeof link);
  return n >= 0 && has_name(link, (size_t)n, entry->name) ? CONTENTS_SAME : CONTENTS_OTHER;
}

struct changes {
  long n_changed, n_unknown;
  char first[256];
};

/* False where the index is not read, damaged or not whole. */
static bool count_changes(const struct probe_target *target, const struct buffer *text, const char *git, const char *checkout,
                          struct changes *ret) {
  struct git_index index;
  struct git_entry entry;
  bool by_mode = !is_configured(target, git, "filemode = false");
  int more;
  if (!git_index_open(text->data, text->length, &index)) return false;
  while ((more = git_index_next(&index, &entry)) > 0) {
    char file[4300], full[4600];
    if (entry.mode >> 12 == 0xe) continue; /* submodules are left out */
    (void)probe_path(file, sizeof file, "%s/%s", checkout, entry.path);
    enum sameness found = compare_entry(target, &entry, file, root_path(target->root, file, full, sizeof full), by_mode);
    ret->n_unknown += found == CONTENTS_TOO_LARGE;
    if (found == CONTENTS_OTHER && ret->n_changed++ == 0) (void)snprintf(ret->first, sizeof ret->first, "%.200s", entry.path);
  }
  return more == 0;
}

static void put_staged(const struct probe_target *target, struct fact_list *facts, const struct buffer *text, const char *git,
                       const char *commit, bool read) {
  char common[4300];
  uint8_t name[GIT_NAME], committed[GIT_NAME], staged[GIT_NAME];
  find_common(target, git, common, sizeof common);
  const char *why_not = !read ? "git's index is not read (see code.changes)"
                        : !git_index_tree(text->data, text->length, staged)
                            ? "git's index is in a merge, or has whole directories collapsed (a sparse index)"
                        : strlen(commit) != 2 * sizeof name || !hex_decode(commit, name, sizeof name) ||
                                !git_commit_tree(target->root, common, name, committed)
                            ? "the commit's object is not found here, or is damaged: another repository may lend it (alternates)"
                            : NULL;
  if (why_not != NULL)
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.staged", FACT_UNSUPPORTED, why_not, ".git/index, .git/objects");
  else
    probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.staged",
               memcmp(staged, committed, sizeof staged) == 0 ? "none between git's index and the commit"
                                                             : "git's index differs from the commit",
               "", ".git/index, .git/objects");
}

/* What the files, the index and the commit have of one another. */
static void put_changes(const struct probe_target *target, struct fact_list *facts, const char *git, const char *checkout,
                        const char *commit) {
  char path[4400];
  struct buffer text;
  struct changes changes = {.n_changed = 0};
  buffer_init(&text, INDEX_MAX);
  (void)probe_path(path, sizeof path, "%s/index", git);
  bool read = !is_configured(target, git, "objectformat = sha256") && root_read(target->root, path, &text, NULL) == LYNX_OK &&
              count_changes(target, &text, git, checkout, &changes);
  if (!read || (changes.n_changed == 0 && changes.n_unknown > 0))
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes", FACT_UNSUPPORTED,
                  read ? "files that were touched are too large to be looked at"
                       : "git's index is of a kind that is not read (split, SHA-256), too large, or damaged",
                  ".git/index");
  else
    probe_fact(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.changes",
               changes.n_changed == 0 ? "none between the files and git's index" : "files differ from git's index", "", ".git/index");
  /* Which ones is state: somebody who edits a checkout that was not clean does not make another executor each time. */
  if (changes.n_changed > 0)
    probe_printf(target, facts, LAYER_APPLICATION, FACT_STATE, ".git/index", "code.changed-files", "%ld, the first %s", changes.n_changed,
                 changes.first);
  put_staged(target, facts, &text, git, commit, read);
  buffer_release(&text);
}

/* program: inside the process's root; only a checkout that holds it tells of the code that runs. */
static bool look_from(const struct probe_target *target, struct fact_list *facts, char *directory, const char *program) {
  char checkout[4200], git[4300], commit[80], branch[200];
  if (!find_checkout(target, directory, git, sizeof git)) return false;
  size_t n = strlen(directory);
  if (program != NULL && (strncmp(program, directory, n) != 0 || (program[n] != '/' && n > 1))) return false;
  (void)probe_path(checkout, sizeof checkout, "/proc/%lld/root%s", (long long)target->pid, directory);
  if (!read_commit(target, git, commit, sizeof commit, branch, sizeof branch) || !is_digest(commit)) {
    probe_missing(target, facts, LAYER_APPLICATION, FACT_IDENTITY, "code.commit", FACT_UNSUPPORTED,
                  "a git checkout without a commit, or whose references are kept in a form that is not read", ".git/HEAD");
    return true;
  }
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
