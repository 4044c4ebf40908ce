#include "experiment/slowed_function.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

extern const char slowed_function_module[]; /* generated from python/sitecustomize.py */

static bool write_file(const struct slowed_function *s, const char *name, const void *data, size_t length) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/%s", s->folder, name);
  return file_create_private(path, data, length) == 0;
}

/* "encode (/srv/app.py:188)" -> "encode|/srv/app.py|188" */
static bool read_name(const char *named, char *ret, size_t size) {
  const char *open = strstr(named, " ("), *close = strrchr(named, ')'), *colon = close;
  while (colon != NULL && colon > named && *colon != ':') colon--;
  if (strcmp(named, "time.sleep") == 0) {
    (void)snprintf(ret, size, "LYNXBENCH_SLOW=time.sleep||");
    return true;
  }
  if (open == NULL || close == NULL || colon <= open || colon >= close) return false;
  int n = snprintf(ret, size, "LYNXBENCH_SLOW=%.*s|%.*s|%.*s", (int)(open - named), named, (int)(colon - open - 2), open + 2,
                   (int)(close - colon - 1), colon + 1);
  return n > 0 && (size_t)n < size;
}

enum lynx_status slowed_function_open(const char *named, const char *path, struct slowed_function *ret, struct lynx_error *error) {
  static const double none = 0;
  const char *temporary = getenv("TMPDIR");
  *ret = (struct slowed_function){.folder = ""};
  if (!read_name(named, ret->slow, sizeof ret->slow))
    return lynx_fail(error, LYNX_INPUT, "found '%.200s'; accepted: a Python function as a finding names it: encode (/srv/app.py:188)",
                     named);
  (void)snprintf(ret->folder, sizeof ret->folder, "%.200s/lynxbench-XXXXXX", temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
  if (mkdtemp(ret->folder) == NULL) {
    ret->folder[0] = 0;
    return lynx_fail(error, LYNX_IO, "no temporary folder can be made (TMPDIR)");
  }
  (void)snprintf(ret->path, sizeof ret->path, "PYTHONPATH=%s%s%.3900s", ret->folder, path[0] != 0 ? ":" : "", path);
  ret->environment[0] = ret->slow;
  ret->environment[1] = ret->path;
  if (write_file(ret, "sitecustomize.py", slowed_function_module, strlen(slowed_function_module)) &&
      write_file(ret, "amount", &none, sizeof none))
    return LYNX_OK;
  slowed_function_close(ret);
  return lynx_fail(error, LYNX_IO, "nothing can be written below %.200s", ret->folder);
}

/* The plain files of a folder, then the folder. */
static void remove_folder(const char *path) {
  DIR *files = opendir(path);
  for (const struct dirent *entry; files != NULL && (entry = readdir(files)) != NULL;)
    if (entry->d_name[0] != '.') (void)unlinkat(dirfd(files), entry->d_name, 0); /* what is no plain file stays, and the folder with it */
  if (files != NULL) (void)closedir(files);
  (void)rmdir(path);
}

void slowed_function_close(struct slowed_function *s) {
  char compiled[300];
  if (s->folder[0] == 0) return;
  (void)snprintf(compiled, sizeof compiled, "%s/__pycache__", s->folder);
  remove_folder(compiled);
  remove_folder(s->folder);
}
